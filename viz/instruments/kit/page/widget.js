// A picture as a module of its own: an anywidget (`render`), and `draw` for a page that imports it. It follows boot.js in one text.
const OWN = "%%OWN%%";         // {packet, caption} of this module's own picture, the packet in base64; or neither
const THEMES = "%%THEMES%%";   // the colours and fonts of both themes, as declarations

const decoded = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

/** The bytes of a packet that came as bytes, as a view on them, or in base64; nothing: the module's own. */
function bytesOf(packet) {
  if (typeof packet === "string" && packet) return decoded(packet);
  if (packet instanceof ArrayBuffer) return new Uint8Array(packet);
  if (packet?.byteLength) return new Uint8Array(packet.buffer, packet.byteOffset, packet.byteLength);
  return decoded(OWN.packet);
}

/** Whether `element` is on a dark ground: the first colour behind it that is not transparent. */
function isDark(element) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    if (alpha > 0.5) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110;
  }
  return getComputedStyle(document.documentElement).colorScheme.startsWith("dark");
}

/** Draws the picture of `packet` into `el`; `touched(selected)` hears of what is chosen in it, {name: value}. Returns what takes it away. */
function show(el, packet, caption = "", touched = () => {}) {
  const host = document.createElement("div"), home = host.attachShadow({ mode: "open" }), line = document.createElement("p"), root = document.createElement("div");
  host.dataset.lmSuppressShortcuts = "true";   // the arrow keys are the picture's, not the notebook's
  line.textContent = caption;
  line.style.cssText = "margin: 0 0 12px; font: 400 0.875rem/1.4 var(--st-font); color: var(--st-text-color); overflow-wrap: anywhere";
  line.hidden = !caption;
  root.className = "atlas";
  root.translate = false;
  home.append(line, root);
  el.append(host);
  const component = {
    parentElement: home,
    setStateValue(name, value) {
      const { at, id, ...rest } = Array.isArray(value) || Object(value) !== value ? { at: value } : value;
      touched({ [name]: at === undefined ? rest : at });
    },
    setTriggerValue() {},
    touch: touched,
  };
  let mode, gone = () => {};
  const dress = async () => {
    for (let i = 0; i < 250 && !el.isConnected; i++) await new Promise((done) => setTimeout(done, 20));   // until then it has no ground and no width
    const now = isDark(el) ? "dark" : "light";
    if (now === mode) return;
    mode = now;
    host.style.cssText = `display: block; color-scheme: ${mode}; padding: 12px; border-radius: 8px; background: var(--st-background-color); ${THEMES[mode]}`;
    gone = (await receive(component, bytesOf(packet))) ?? gone;
  };
  const watch = new MutationObserver(dress), scheme = matchMedia("(prefers-color-scheme: dark)");
  for (const part of [document.documentElement, document.body]) watch.observe(part, { attributes: true });
  scheme.addEventListener("change", dress);
  dress();
  return () => { watch.disconnect(); scheme.removeEventListener("change", dress); host.remove(); gone(); };
}

function render({ model, el }) {
  const touched = (selected) => {
    model.set("selected", selected);
    try { model.save_changes(); } catch { /* a page without Python keeps nothing */ }
  };
  return show(el, model.get("_packet") ?? model.get("packet"), model.get("caption") ?? OWN.caption, touched);
}

/** An element that shows a picture: the module's own, or another of its kind, as a packet file has it. `touched(selected)` is called with what is chosen in it. */
export function draw({ packet, caption } = OWN, touched = undefined) {
  const el = document.createElement("div");
  show(el, packet, caption, touched);
  return el;
}

export default { render };
