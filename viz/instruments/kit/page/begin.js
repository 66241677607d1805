// The life of an instrument in the page: a view once, filled by each packet; what other views and Python ask of it.

import { eventId, make } from "../common.js";
import { heading, headOf } from "../save/origin.js";
import { CSS } from "./given.js";
import { hear, TURN } from "./linked.js";
import { part, whole } from "./packets.js";
import { learn, say } from "../words.js";

const KEPT = 64e6;   // bytes of parts that a page keeps; older ones are let go, and asked for again when needed

function letGo(needed) {
  const all = globalThis.attentionAtlas.parts;
  let held = 0;
  for (const bytes of all.values()) held += bytes.length;
  for (const [id, bytes] of all) {
    if (held <= KEPT) break;
    if (needed.has(id)) continue;
    all.delete(id);
    held -= bytes.length;
  }
}

const views = new WeakMap();

/**
 * What takes each packet of an instrument, (root, packet, component), and returns what lets go. `instrument` is what its entry file
 * exports: `build(root)` makes a view with `drawn` (see keepDrawn) once, `accept(view, packet)` fills it; `turned(view, header, chosen)`,
 * where its packets may carry a stack of heads, gives the header of another one.
 */
export const starter = (instrument, sheet) => function begin(root, packet, component) {
  letGo(packet.parts);
  dress(root, CSS + sheet);
  const { language } = packet.header;
  let view = views.get(root);
  if (view && view.language !== language) { letGoOf(view, root); root.replaceChildren(); view = null; }   // the visitor chose another language
  learn(language ? JSON.parse(new TextDecoder().decode(part(packet, "language"))) : {});
  if (!view) {
    views.set(root, (view = instrument.build(root)));
    view.language = language;
    view.still = hear(view, (chosen) => turnTo(instrument, view, chosen), TURN);
  }
  view.component = component;
  if (!view.ahead || !("turn" in packet.header) || packet.header.turn === view.ahead) {   // the answer to an older choice would turn the view back
    view.ahead = null;
    view.latest = whole(packet);
    view.group = view.latest.header.group ?? "";
    view.exact = view.latest.header.exact !== false;
    instrument.accept(view, named(view.latest));
    view.awaits?.(view.latest.header.asked);
  }
  return () => {
    if (root.isConnected) return;   // Streamlit also lets go of a packet that a later one overtook: the picture stays
    letGoOf(view, root);
  };
};

function letGoOf(view, root) { view.drawn.stop(); view.deaf?.(); view.still(); views.delete(root); }

/** The CSS of the kit and of the instrument, once in each shadow root. */
function dress(root, css) {
  const home = root.getRootNode();
  if (home.querySelector("style[data-atlas]")) return;
  const style = make("style", "");
  style.dataset.atlas = "";
  style.textContent = css;
  root.before(style);
}

/** The packet as it is shown. On a page that stands alone its heading is told above it, and "this head" has a name. */
function named(packet) {
  if (!globalThis.attentionAtlas.tell) return packet;
  const { header } = packet, name = headOf(header), sentences = header.say;
  globalThis.attentionAtlas.tell(heading(header));
  return name && sentences ? { ...packet, header: { ...header, say: Object.fromEntries(Object.entries(sentences).map(([id, words]) => [id, words.replaceAll(say("this head"), name)])) } } : packet;
}

const PATIENCE = 20000;   // milliseconds until a file is given up whose numbers do not come

/** Resolves when the picture holds every number as it is: what was rounded on its way is asked for again. */
export function exactly(view) {
  if (view.exact !== false || globalThis.attentionAtlas.tell) return undefined;
  const id = eventId();
  return new Promise((done, failed) => {
    const late = setTimeout(() => failed(new Error("the server did not send the exact numbers")), PATIENCE);
    view.awaits = (asked) => { if (asked === id) { clearTimeout(late); view.awaits = null; done(); } };
    view.component.setTriggerValue("exact", id);
  });
}

/** Another head was chosen in the grid, {at: [layer, head], name, id}: drawn from the stack at once; Python's own packet follows. */
function turnTo({ turned, accept }, view, chosen) {
  const { header, parts } = view.latest, other = header.stack && turned(view, header, chosen);
  if (!other) return;
  view.ahead = chosen.id;
  view.exact = header.stack.kind === "f32";
  accept(view, named({ header: other, parts }));
}
