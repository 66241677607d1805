// Once a visit: keeps the parts of all packets, starts each instrument's code, hands every packet to it.
const box = (globalThis.attentionAtlas ??= { parts: new Map(), modules: new Map() });
const turns = new WeakMap();
const inflated = async (bytes) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());

export default async function receive(component, bytes) {
  const root = component.parentElement.querySelector(".atlas"), view = new DataView(bytes.buffer, bytes.byteOffset);
  const body = 4 + view.getUint32(0, true), turn = (turns.get(root) ?? 0) + 1;
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, body)));
  turns.set(root, turn);
  const sent = Object.entries(header.parts).map(([id, [at, length, deflated]]) => [id, bytes.slice(body + at, body + at + length), deflated]);
  for (const [id, part, deflated] of sent) if (!deflated) box.parts.set(id, part);
  for (const [id, part, deflated] of sent) if (deflated) box.parts.set(id, await inflated(part));
  const lost = () => header.needs.find((id) => !box.parts.has(id));
  for (let i = 0; i < 20 && lost(); i++) await new Promise((done) => setTimeout(done, 25));
  if (lost()) return component.setTriggerValue("lost", lost());
  const parts = new Map(header.needs.map((id) => [id, box.parts.get(id)])), code = [parts.get(header.kit), parts.get(header.code)];
  if (!box.modules.has(header.code)) box.modules.set(header.code, import(URL.createObjectURL(new Blob(code, { type: "text/javascript" }))));
  const module = await box.modules.get(header.code);
  return turns.get(root) === turn ? module.default(root, { header, parts }, component) : undefined;
}
