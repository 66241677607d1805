// A long text as a whole, and the window into it that the heatmap shows.
//
// The picture is pooled: each dot is the largest of its cells (the largest size, where a scale is centred), so a
// single strong look of 1024 tokens is still there. The brush over it can be dragged, resized at its corner, and
// moved and resized by keyboard.

import { hatching, make, pixels, rgb, sharp, spotOn } from "../kit/common.js";
import { drawing, hold, status, walkable } from "../kit/shell.js";
import { shade } from "./tell.js";
import { inside, showWindow } from "./window.js";
import { say } from "../kit/words.js";

const DOTS = 256, SIDE = 240, BESIDE = 680;
const ROOM = 24;                          // a brush of fewer pixels has its handle outside, so that it can still be dragged itself

export function overview(view) {
  const box = { view };
  box.element = make("div", "overview");
  view.body.prepend(box.element);
  box.caption = make("div", "quiet", box.element);
  box.field = make("div", "field", box.element);
  box.canvas = drawing(box.field);
  box.brush = walkable("brush", box.field);
  box.brush.setAttribute("aria-roledescription", say("window into the text"));
  box.handle = make("div", "handle", box.brush);
  box.said = status("div", "said", box.element);
  box.note = make("div", "quiet", box.element);
  box.element.hidden = true;
  box.brush.onkeydown = (event) => brushKey(box, event);
  box.brush.onpointerdown = (event) => grab(box, event, event.target === box.handle);
  box.field.onpointerdown = (event) => { if (event.pointerType === "mouse" && event.button === 0) { centre(box, event); grab(box, event, false); } };
  box.field.onclick = (event) => { if (!box.grabbed) centre(box, event); box.grabbed = false; };
  return box;
}

export function moveWindow(box, to) {
  const { view } = box, next = inside(view, { ...view.window, ...to });
  if (JSON.stringify(next) === JSON.stringify(view.window)) return;
  view.window = next;
  showWindow(view);
}

// ---------------------------------------------------------------- the picture

/** The matrix pooled to at most DOTS a side: {rows, cols, side, values, open}; NaN where a value is not finite. */
function pooled({ rows, cols }, { values, centred }, allowed) {
  const side = Math.max(1, Math.ceil(Math.max(rows, cols) / DOTS)), tall = Math.ceil(rows / side), wide = Math.ceil(cols / side);
  const out = new Float32Array(tall * wide), open = new Uint8Array(tall * wide);
  for (let r = 0, i = 0; r < rows; r++) for (let c = 0; c < cols; c++, i++) {
    if (!allowed[i]) continue;
    const at = Math.floor(r / side) * wide + Math.floor(c / side), v = values[i], best = out[at];
    if (!open[at] || !Number.isFinite(v) || (centred ? Math.abs(v) > Math.abs(best) : v > best)) out[at] = Number.isFinite(v) && !Number.isNaN(best) ? v : NaN;
    open[at] = 1;
  }
  return { rows: tall, cols: wide, side, values: out, open };
}

export function paintOverview(box) {
  const { view } = box, { now, theme, data } = view;
  const small = pooled(data, now, data.allowed), broken = rgb(theme.text);
  const shades = new Uint8ClampedArray(small.values.length * 4);
  small.values.forEach((value, i) => { if (small.open[i]) shades.set([...(Number.isNaN(value) ? broken : shade(view, value)), 255], i * 4); });
  Object.assign(box, { image: pixels(shades, small.cols, small.rows), small });
  box.caption.textContent = say("All {rows} \u00d7 {cols}", { rows: data.rows, cols: data.cols });
  box.note.textContent = small.side > 1 ? say("Each dot is the largest of {side} \u00d7 {side} cells. Drag the window, or move it with the arrow keys; Shift makes it smaller or larger.", { side: small.side }) : say("Drag the window, or move it with the arrow keys; Shift makes it smaller or larger.");
}

/** Sizes and draws the overview; says how much width it takes beside the heatmap. */
export function placeOverview(box) {
  const { view } = box, { rows, cols } = view.data, room = view.root.clientWidth, most = Math.max(rows, cols);
  const side = Math.min(SIDE, room - 32);
  view.aside = room >= BESIDE ? SIDE + 28 : 0;
  box.element.style.width = view.aside ? `${SIDE}px` : "100%";
  if (side <= 0) return;
  box.w = Math.max(24, (side * cols) / most); box.h = Math.max(24, (side * rows) / most);
  Object.assign(box.field.style, { width: `${box.w}px`, height: `${box.h}px` });
  const pen = sharp(box.canvas, box.w, box.h);
  pen.fillStyle = hatching(pen, view.theme);
  if (view.data.allowed.includes(0)) pen.fillRect(0, 0, box.w, box.h);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(box.image, 0, 0, (box.w * box.small.cols * box.small.side) / cols, (box.h * box.small.rows * box.small.side) / rows);
  pen.strokeStyle = view.theme.border;
  pen.strokeRect(0.5, 0.5, box.w - 1, box.h - 1);
  const at = view.chosen;
  if (at) {
    pen.beginPath(); pen.arc(((at[1] + 0.5) / cols) * box.w, ((at[0] + 0.5) / rows) * box.h, 3.5, 0, 7);
    pen.fillStyle = view.theme.text; pen.fill();
    pen.lineWidth = 1.5; pen.strokeStyle = view.theme.background; pen.stroke();
  }
  const { r, c, h, w } = view.window, tall = (h / rows) * box.h, wide = (w / cols) * box.w;
  Object.assign(box.brush.style, { left: `${(c / cols) * box.w}px`, top: `${(r / rows) * box.h}px`, width: `${wide}px`, height: `${tall}px` });
  box.brush.classList.toggle("narrow", Math.min(tall, wide) < ROOM);
}

// ---------------------------------------------------------------- the brush

function under(box, event) {
  const [x, y] = spotOn(box.field, event), { rows, cols } = box.view.data;
  return [(y / box.h) * rows, (x / box.w) * cols];
}

function centre(box, event) {
  const [r, c] = under(box, event), { h, w } = box.view.window;
  moveWindow(box, { r: r - h / 2, c: c - w / 2 });
}

/** From a press on the brush (or its corner) to the release: the window follows. */
function grab(box, event, corner) {
  if (event.button !== 0) return;
  event.stopPropagation();
  box.grabbed = true;
  box.brush.setPointerCapture(event.pointerId);
  const from = under(box, event), at = { ...box.view.window };
  box.brush.onpointermove = (moved) => {
    const [r, c] = under(box, moved), down = r - from[0], right = c - from[1];
    if (corner) moveWindow(box, { r: at.r, c: at.c, h: Math.min(at.h + down, box.view.data.rows - at.r), w: Math.min(at.w + right, box.view.data.cols - at.c) });
    else moveWindow(box, { r: at.r + down, c: at.c + right });
  };
  box.brush.onpointerup = box.brush.onpointercancel = () => { box.brush.onpointermove = null; };
}

function brushKey(box, event) {
  const { r, c, h, w } = box.view.window, { rows, cols } = box.view.data, down = Math.max(1, Math.round(h / 4)), right = Math.max(1, Math.round(w / 4));
  const to = (event.shiftKey ? {
    ArrowDown: { h: h + 8 }, ArrowUp: { h: h - 8 }, ArrowRight: { w: w + 8 }, ArrowLeft: { w: w - 8 },
  } : {
    ArrowDown: { r: r + down }, ArrowUp: { r: r - down }, ArrowRight: { c: c + right }, ArrowLeft: { c: c - right },
    PageDown: { r: r + h }, PageUp: { r: r - h }, Home: { r: 0, c: 0 }, End: { r: rows, c: cols },
  })[event.key];
  if (!to) return;
  hold(event);
  moveWindow(box, to);
}
