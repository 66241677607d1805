// Registered with Streamlit for every instrument; sent with each update, so it stays tiny.
const box = (globalThis.attentionAtlas ??= {});
const roots = new WeakMap();
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export default async function (component) {
  const root = component.parentElement.querySelector(".atlas");
  const data = component.data;
  const bytes = data.slice ? data.slice() : new Uint8Array(data);
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const body = bytes.subarray(4 + size);
  const turn = (roots.get(root) ?? 0) + 1;
  roots.set(root, turn);
  const { version } = header;
  if (header.code && !box[version]) {
    const [start, length] = header.code;
    const url = URL.createObjectURL(new Blob([body.subarray(start, start + length)], { type: "text/javascript" }));
    box[version] = import(url);
  }
  for (let i = 0; i < 20 && !box[version]; i++) await wait(25);
  if (!box[version]) return component.setTriggerValue("code", version);
  const module = await box[version];
  if (roots.get(root) !== turn) return undefined;
  return module.default(root, { header, body }, component);
}
