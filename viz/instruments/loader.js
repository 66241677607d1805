// Registered with Streamlit for every instrument; sent with each update, so it stays tiny.
const box = (globalThis.attentionAtlas ??= { parts: new Map(), modules: new Map() });
const turns = new WeakMap();

export default async function (component) {
  const root = component.parentElement.querySelector(".atlas"), { data } = component;
  const bytes = data.slice ? data.slice() : new Uint8Array(data);
  const body = 4 + new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, body)));
  for (const [id, [at, length]] of Object.entries(header.parts)) box.parts.set(id, bytes.slice(body + at, body + at + length));
  const turn = (turns.get(root) ?? 0) + 1;
  turns.set(root, turn);
  const lost = () => header.needs.find((id) => !box.parts.has(id));
  for (let i = 0; i < 20 && lost(); i++) await new Promise((done) => setTimeout(done, 25));
  if (lost()) return component.setTriggerValue("lost", lost());
  const parts = new Map(header.needs.map((id) => [id, box.parts.get(id)]));
  if (!box.modules.has(header.code)) box.modules.set(header.code, import(URL.createObjectURL(new Blob([parts.get(header.kit), parts.get(header.code)], { type: "text/javascript" }))));
  const module = await box.modules.get(header.code);
  return turns.get(root) === turn ? module.default(root, { header, parts }, component) : undefined;
}
