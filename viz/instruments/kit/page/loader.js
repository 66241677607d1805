// Sent with each update of each instrument: boot.js came before the first packet of the visit, and does the rest.
export default async function (component) {
  const { data } = component, bytes = data.slice ? data.slice() : new Uint8Array(data), box = globalThis;
  const rest = 4 + new DataView(bytes.buffer).getUint32(0, true);
  if (rest > 4) box.atlasBoot ??= import(URL.createObjectURL(new Blob([bytes.subarray(4, rest)], { type: "text/javascript" })));
  for (let i = 0; i < 80 && !box.atlasBoot; i++) await new Promise((done) => setTimeout(done, 25));
  if (!box.atlasBoot) return component.setTriggerValue("lost", "boot");
  return (await box.atlasBoot).default(component, bytes.subarray(rest));
}
