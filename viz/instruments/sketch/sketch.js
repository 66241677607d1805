// A canvas to draw on: strokes as they are drawn, undo and redo, ready-made doodles; each finished stroke reaches Python.

import { keepDrawn, leftBelow, make, pixels, readTheme, sharp, spotOn } from "../kit/common.js";
import { part } from "../kit/page/packets.js";
import { saveMenu } from "../kit/save/save.js";
import { button, drawing, group, hold, shell, status } from "../kit/shell.js";
import { saving } from "./save.js";
import { say } from "../kit/words.js";

const SIDE = 1000, NEAR = 4, WIDE = 16 / 304, LARGEST = 360, READ = 112, THUMB = 44, MOST = 8000, FINGER = 240;   // parts of the canvas; how far apart points are; width of a line; pixels of canvases; points; pixels that a finger wants, where nothing stands beside
const READS = "What the model reads";

export function build(root) {
  const view = shell(root, "sketch", { base: null, past: [], future: [], stroke: null });
  view.undo = button(view.tools, "tool", say("Undo"), () => turnBack(view, view.past, view.future));
  view.redo = button(view.tools, "tool", say("Redo"), () => turnBack(view, view.future, view.past));
  view.clear = button(view.tools, "tool", say("Clear"), () => become(view, { on: "empty", strokes: [] }));
  view.body = make("div", "body", root);
  view.pane = make("div", "pane", view.body);
  view.pane.tabIndex = 0;
  view.pane.setAttribute("role", "img");
  view.canvas = drawing(view.pane);
  view.invite = make("div", "invite", view.pane, say("Draw here"));
  view.side = make("div", "side", view.body);
  view.read = make("div", "read", view.side);
  view.small = drawing(view.read);
  view.told = status("div", "quiet", view.read);
  view.samples = group("samples", view.side, say("Ready-made doodles"));
  view.drawn = keepDrawn(root, () => show(view));
  view.pane.onpointerdown = (event) => start(view, event);
  view.pane.onpointermove = (event) => draw(view, event);
  view.pane.onpointerup = (event) => lift(view, event);
  view.pane.onpointercancel = (event) => lift(view, event, true);
  view.pane.onkeydown = (event) => shortcut(view, event);
  return view;
}

export function accept(view, packet) {
  const { header: head } = packet, image = (name) => grey(part(packet, name), head.side), alone = Boolean(globalThis.attentionAtlas.tell);
  Object.assign(view, { head, packet, theme: readTheme(view.root), alone, image: image("now"), pixels: part(packet, "now") });
  view.starts = { given: image("given"), empty: null, ...Object.fromEntries(head.samples.map((name, i) => [`sample:${name}`, image(`sample${i}`)])) };
  view.blank = { given: !part(packet, "given").some(Boolean), empty: true };
  if (view.base !== head.base) Object.assign(view, { base: head.base, now: { on: head.start, strokes: head.strokes }, past: [], future: [], stroke: null });
  view.title.textContent = [head.title, alone ? "" : head.hint].filter(Boolean).join(": ");
  const names = head.samples.join("\n");
  if (view.names !== names) { view.names = names; view.thumbs = head.samples.map((name) => sample(view, name)); view.samples.replaceChildren(...view.thumbs); }
  view.samples.hidden = alone || !head.samples.length;
  view.pane.setAttribute("aria-label", say("{title}: drawn on with mouse, finger or pen. By keyboard, choose a ready-made doodle; Control Z undoes.", { title: head.title || say("Canvas") }));
  view.root.dataset.doodle = head.doodle;
  view.root.dataset.bare = String(!head.preview);
  (head.preview ? view.bar : view.side).append(view.tools);   // without a second picture what one can do stands beside the canvas
  view.bar.hidden = !head.preview && !view.title.textContent;
  show(view);
  saveMenu(view, view.tools, saving(view));
}

/** Bytes of grey pixels as an image. */
function grey(bytes, side) {
  const out = new Uint8ClampedArray(side * side * 4);
  for (let i = 0; i < side * side; i++) out.set([bytes[i], bytes[i], bytes[i], 255], 4 * i);
  return pixels(out, side, side);
}

function sample(view, name) {
  const one = button(null, "sample", "", () => become(view, { on: name, strokes: [] }));
  one.canvas = drawing(one);
  make("span", "", one, name).dir = "auto";
  return one;
}

const startOf = ({ starts }, on) => (on in starts ? starts[on] : starts[`sample:${on}`] ?? null);

// ---------------------------------------------------------------- drawing

function show(view) {
  const { root, head, now, alone } = view, wide = root.clientWidth;
  if (!head || !wide) return;
  const beside = wide >= 480 ? view.side.offsetWidth || 0 : 0, room = Math.max(160, leftBelow(root, view.body));
  const high = Math.max(head.height ?? LARGEST, head.preview || beside ? 0 : FINGER);
  view.size = Math.min(high, beside ? wide - READ - 40 : wide - 4, room);
  root.dataset.narrow = String(!beside);
  paintCanvas(view);
  view.read.hidden = !head.preview;
  if (head.preview) paintImage(view.small, view.image, READ);
  view.canvas.image = view.image;
  view.thumbs.forEach((one, i) => paintImage(one.canvas, view.starts[`sample:${head.samples[i]}`], THUMB));
  for (const [one, list] of [[view.undo, view.past], [view.redo, view.future]]) { one.disabled = !list.length; one.hidden = alone; }
  view.clear.hidden = alone;
  view.clear.disabled = empty(view);
  view.invite.hidden = alone || !empty(view) || Boolean(view.stroke);
  view.told.textContent = say("What the model reads: {side} \u00d7 {side} pixels", { side: head.side });
  view.thumbs.forEach((one, i) => one.setAttribute("aria-pressed", String(now.on === head.samples[i] && !now.strokes.length)));
  Object.assign(root.dataset, { strokes: now.strokes.length, on: now.on, past: view.past.length });
}

const empty = ({ now, blank }) => !now.strokes.length && Boolean(blank[now.on]);

function paintImage(canvas, image, size) {
  const pen = sharp(canvas, size, size);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(image, 0, 0, size, size);
  canvas.image = image;
}

/** What is drawn on, and the strokes on it, one point a dot. */
function paintCanvas(view) {
  const { size, now, stroke } = view, pen = sharp(view.canvas, size, size), image = startOf(view, now.on), unit = size / SIDE;
  pen.fillStyle = "#000";
  pen.fillRect(0, 0, size, size);
  pen.imageSmoothingEnabled = false;
  if (image) pen.drawImage(image, 0, 0, size, size);
  Object.assign(pen, { strokeStyle: "#fff", lineWidth: WIDE * size, lineCap: "round", lineJoin: "round" });
  for (const line of stroke ? [...now.strokes, stroke.points] : now.strokes) {
    pen.beginPath();
    pen.moveTo(line[0] * unit, line[1] * unit);
    for (let i = 0; i < line.length; i += 2) pen.lineTo(line[i] * unit, line[i + 1] * unit + (line.length === 2 ? 0.01 : 0));
    pen.stroke();
  }
}

function spot(view, event) {
  const [x, y] = spotOn(view.pane, event), clip = (part) => Math.round(Math.min(1, Math.max(0, part / view.size)) * SIDE);
  return [clip(x - view.pane.clientLeft), clip(y - view.pane.clientTop)];
}

const points = ({ now, stroke }) => [...now.strokes, stroke?.points ?? []].reduce((sum, line) => sum + line.length / 2, 0);

function start(view, event) {
  if (view.alone || view.stroke || event.button > 0) return;
  event.preventDefault();
  view.pane.focus({ preventScroll: true, focusVisible: false });
  view.pane.setPointerCapture(event.pointerId);
  view.stroke = { id: event.pointerId, points: spot(view, event) };
  view.invite.hidden = true;
  paintCanvas(view);
}

function draw(view, event) {
  const { stroke } = view;
  if (!stroke || stroke.id !== event.pointerId) return;
  const all = event.getCoalescedEvents?.() ?? [];
  for (const one of all.length ? all : [event]) {
    const [x, y] = spot(view, one), [before, under] = stroke.points.slice(-2);
    if (Math.hypot(x - before, y - under) >= NEAR && points(view) < MOST) stroke.points.push(x, y);
  }
  paintCanvas(view);
}

function lift(view, event, lost = false) {
  const { stroke, now } = view;
  if (!stroke || stroke.id !== event.pointerId) return;
  view.stroke = null;
  if (lost && stroke.points.length < 4) return show(view);   // the page scrolled instead
  become(view, { on: now.on, strokes: [...now.strokes, stroke.points] });
}

// ---------------------------------------------------------------- what was before

function become(view, next) {
  view.past.push(view.now);
  view.future = [];
  view.now = next;
  tell(view);
}

function turnBack(view, from, to) {
  if (!from.length || view.stroke) return;
  to.push(view.now);
  view.now = from.pop();
  tell(view);
}

function tell(view) {
  show(view);
  view.component.setStateValue("drawing", { base: view.base, ...view.now });
}

function shortcut(view, event) {
  const key = event.key.toLowerCase();
  if (view.alone || !(event.ctrlKey || event.metaKey) || (key !== "z" && key !== "y")) return;
  hold(event);
  if (key === "z" && !event.shiftKey) turnBack(view, view.past, view.future); else turnBack(view, view.future, view.past);
}
