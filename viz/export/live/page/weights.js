// The file of a model, as pack.py writes it: its description, and its weights as Float32Array by name.

const inflated = async (bytes) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());

/** The content of a model's script that was fetched: between its two backticks, without the escapes of a template literal. */
export function unescaped(script) {
  const out = new Uint8Array(script.length), end = script.lastIndexOf(0x60);
  let length = 0;
  for (let i = script.indexOf(0x60) + 1; i < end; i++) {
    const byte = script[i];
    out[length++] = byte === 0x5c ? (script[++i] === 0x72 ? 0x0d : script[i]) : byte;
  }
  return out.subarray(0, length);
}

/** The same content where the browser read the script: characters of x-user-defined, a byte each. */
export function bytesOf(text) {
  const out = new Uint8Array(text.length);
  for (let i = 0; i < out.length; i++) out[i] = text.charCodeAt(i);   // U+F780 to U+F7FF are the bytes from 128 on
  return out;
}

function halves() {
  const table = new Float32Array(65536);
  for (let h = 0; h < 65536; h++) {
    const exponent = (h >> 10) & 31, fraction = h & 1023;
    table[h] = (h & 0x8000 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  }
  return table;
}

/** {name, family, config, ids, tokenizer, weights}: each weight as {shape, values}. */
export async function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), parts = [];
  for (let at = 0; at < bytes.length; at += 4 + view.getUint32(at, true)) parts.push(bytes.subarray(at + 4, at + 4 + view.getUint32(at, true)));
  const [described, scales, high] = await Promise.all(parts.slice(0, 3).map(inflated)), low = parts[3];
  const { tensors, ...model } = JSON.parse(new TextDecoder().decode(described)), scale = new Float32Array(scales.buffer), half = halves();
  const weights = {};
  let atHigh = 0, atLow = 0, atScale = 0;
  for (const [name, shape, kind] of tensors) {
    const count = shape.reduce((product, n) => product * n, 1), width = shape.at(-1), values = new Float32Array(count);
    if (kind === "half") for (let i = 0; i < count; i++) values[i] = half[(high[atHigh + i] << 8) | low[atLow + i]];
    else if (kind === "byte") for (let i = 0; i < count; i++) values[i] = ((high[atHigh + i] << 24) >> 24) * scale[atScale + Math.floor(i / width)];
    else for (let i = 0; i < count; i++) values[i] = (((high[atHigh + i] << 24) >> 16) | low[atLow + i]) * scale[atScale + Math.floor(i / width)];
    if (kind !== "half") atScale += count / width;
    if (kind !== "byte") atLow += count;
    atHigh += count;
    weights[name] = { shape, values };
  }
  return { ...model, weights };
}
