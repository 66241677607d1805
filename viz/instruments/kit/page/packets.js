// Packets: what they carry, and their numbers as the pictures need them.

/** Alternating run lengths (True first) as base-128 varints -> one byte a cell. */
export function readRuns(bytes, total) {
  const mask = new Uint8Array(total);
  let at = 0, on = 1, length = 0, shift = 0;
  for (const byte of bytes) {
    length += (byte & 127) * 2 ** shift;
    if (byte & 128) { shift += 7; continue; }
    if (on) mask.fill(1, at, at + length);
    at += length; on ^= 1; length = 0; shift = 0;
  }
  return mask;
}

export function writeRuns(mask) {
  const out = [];
  const push = (n) => { while (n > 127) { out.push((n & 127) | 128); n >>>= 7; } out.push(n); };
  let on = 1, length = 0;
  for (const cell of mask) {
    if (cell === on) { length += 1; continue; }
    push(length); on = cell; length = 1;
  }
  push(length);
  return btoa(String.fromCharCode(...out));
}

/** The packet with what is steady in its header, which travels as a part, back in its place. */
export function whole({ header: { steady, ...lively }, parts }) {
  if (!steady) return { header: lively, parts };
  const others = new Map([...parts].filter(([id]) => id !== steady));
  return { header: { ...JSON.parse(new TextDecoder().decode(parts.get(steady))), ...lively }, parts: others };
}

/** The lines of Python that make a picture again; in those of a stack the numbers of layer and head are still open. */
export function codeOf({ python, at }) {
  const [layer, head] = [at ?? []].flat(2);   // of some instruments `at` is one number
  return (python ?? "").replaceAll("\u0001", layer).replaceAll("\u0002", head);
}

export const part = (packet, name) => packet.parts.get(packet.header[name]);

function halfToFloat(h) {
  const sign = h & 0x8000 ? -1 : 1, exponent = (h >> 10) & 31, fraction = h & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
}

/** Whole numbers as steps.py packs them: a parameter k for each 64, then for each number its upper bits as zeros, a one, its k lowest bits. */
function readSteps(bytes, total) {
  const out = new Uint16Array(total);
  for (let i = 0, at = Math.ceil(total / 64) * 8; i < total; i++) {
    const byte = at >> 3, shift = at & 7, k = bytes[i >> 6];
    const four = (bytes[byte] << 24) | (bytes[byte + 1] << 16) | (bytes[byte + 2] << 8) | bytes[byte + 3];
    const next = shift ? (four << shift) | (bytes[byte + 4] >> (8 - shift)) : four;   // the 32 bits from here
    const zeros = Math.clz32(next);
    if (zeros > 15) { out[i] = next & 0xffff; at += 32; continue; }
    out[i] = (zeros << k) | (k ? (next << (zeros + 1)) >>> (32 - k) : 0);
    at += zeros + 1 + k;
  }
  return out;
}

/** {rows, cols, values: Float32Array, allowed: Uint8Array, kind, step}; forbidden cells hold 0. `prefix` says which, if there are several. */
export function readMatrix(packet, prefix = "") {
  const field = (name) => packet.header[prefix + name], bytes = (name) => part(packet, prefix + name);
  const [rows, cols] = field("shape"), kind = field("kind"), step = field("step"), total = rows * cols;
  const allowed = bytes("allowed") ? readRuns(bytes("allowed"), total) : new Uint8Array(total).fill(1);
  const count = allowed.reduce((sum, v) => sum + v, 0);
  const sent = readCells(bytes("values"), count, kind), finite = bytes("bad") && readRuns(bytes("bad"), count);
  const values = spread(sent, finite, allowed, 0, numberOf(kind, step, field("signed"))), rounded = field("rounded");
  return { rows, cols, values, allowed, ...(rounded ? { kind: "steps", step: rounded } : { kind, step }) };
}

const readCells = (raw, count, kind) => ({
  f32: () => new Float32Array(raw.buffer),
  f16: () => new Uint16Array(raw.buffer),
  u8: () => raw,
  steps: () => readSteps(raw, count),
})[kind]();

const numberOf = (kind, step, signed) => ({
  f32: (v) => v,
  f16: halfToFloat,
  u8: (v) => (v === 255 ? NaN : v * step),
  steps: signed ? (v) => (v & 1 ? -(v + 1) / 2 : v / 2) * step : (v) => v * step,
})[kind];

/** The numbers from `at` on, each in its allowed cell. */
function spread(sent, finite, allowed, at, number) {
  const values = new Float32Array(allowed.length);
  for (let i = 0; i < values.length; i++) {
    if (!allowed[i]) continue;
    values[i] = finite && !finite[at] ? NaN : number(sent[at]);
    at += 1;
  }
  return values;
}

const stacks = new WeakMap();   // bytes of a stack -> what was read from them

/** One head, [layer, head], of the stack that a packet carries; as readMatrix gives it. */
function readStacked(packet, [layer, head]) {
  const { shape: [layers, heads, rows, cols], kind, step } = packet.header.stack, raw = part(packet, "stack.values");
  let read = stacks.get(raw);
  if (!read) {
    const runs = part(packet, "stack.allowed"), bad = part(packet, "stack.bad");
    const allowed = runs ? readRuns(runs, rows * cols) : new Uint8Array(rows * cols).fill(1), each = allowed.reduce((sum, v) => sum + v, 0);
    const count = layers * heads * each;
    stacks.set(raw, (read = { sent: readCells(raw, count, kind), finite: bad && readRuns(bad, count), allowed, each }));
  }
  const values = spread(read.sent, read.finite, read.allowed, (layer * heads + head) * read.each, numberOf(kind, step, false));
  return { rows, cols, values, allowed: read.allowed, kind: kind === "u8" ? "steps" : kind, step };
}

/** The head `at` of a packet: its own numbers where it brings them, else those of the stack. */
export const readOne = (packet, at, prefix = "") => (`${prefix}values` in packet.header ? readMatrix(packet, prefix) : readStacked(packet, at));

const OWN = /^(h\d+\.)?(shape|kind|step|bound|signed|values|allowed|bad|rounded)$/;

/** The header without the numbers of the head that was there. */
export const emptied = (header) => Object.fromEntries(Object.entries(header).filter(([name]) => !OWN.test(name)));

/** The packet for a page of its own: the heads that it shows, without the others of their stack. */
export function single(packet) {
  const { stack, turn, ...header } = packet.header, { at } = header;
  if (!stack) return packet;
  const parts = new Map([...packet.parts].filter(([id]) => id !== header["stack.values"] && id !== header["stack.bad"]));
  const several = Array.isArray(at[0]);
  for (const [i, place] of (several ? at : [at]).entries()) {
    const prefix = several ? `h${i}.` : "", id = `stack-${place}`;
    if (`${prefix}values` in header) continue;
    const { rows, cols, values, allowed, kind, step } = readStacked(packet, place);
    parts.set(id, new Uint8Array(values.filter((_, cell) => allowed[cell]).buffer));
    Object.assign(header, { [`${prefix}shape`]: [rows, cols], [`${prefix}kind`]: "f32", [`${prefix}step`]: 0, [`${prefix}values`]: id });
    if (header["stack.allowed"]) header[`${prefix}allowed`] = header["stack.allowed"];
    if (kind === "steps") header[`${prefix}rounded`] = step;
  }
  for (const name of ["values", "bad", "allowed"]) delete header[`stack.${name}`];
  return { header: { ...header, python: codeOf(packet.header) }, parts };
}
