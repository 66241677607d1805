// Cells to allow and forbid: click, drag, rectangles, whole rows and columns, presets; each finished stroke reaches Python.

import { css, make, readTheme, speak, swatch, visible } from "../kit/common.js";
import { inviting, matrixView, recolour, setMatrix, tool } from "../kit/matrix/matrix.js";
import { drawBase, drawOver } from "../kit/matrix/paint.js";
import { placeAt, yOf } from "../kit/matrix/places.js";
import { part, readRuns, writeRuns } from "../kit/page/packets.js";
import { button, group } from "../kit/shell.js";
import { saveMask } from "./save.js";
import { mark, say } from "../kit/words.js";

const HELP = mark("Shift with arrows spans a rectangle, R takes the row, C the column, Control Z undoes, Control Y redoes.");

/** What a cell is called: of a mask, or of a drawing, in which a row without a stroke is nothing special. */
const WORDS = {
  mask: {
    name: mark("Mask"), keys: mark("Arrow keys walk, Space allows or masks,"), presets: mark("Masks by name"), on: mark("may attend"), off: mark("masked"), count: mark("{n} of {total} cells allowed"),
    yes: mark("{query} may attend to {key}"), no: mark("{query} may not attend to {key}"),
    row: mark("{query} may attend to {open} of {cols}. Click: to all"), fullRow: mark("{query} may attend to all {cols}. Click: to none"),
    column: mark("{open} of {rows} may attend to {key}. Click: all"), fullColumn: mark("All {rows} may attend to {key}. Click: none"),
  },
  drawing: {
    name: mark("Drawing"), keys: mark("Arrow keys walk, Space draws or wipes out,"), presets: mark("Drawings by name"), on: mark("drawn{cell}"), off: "", count: mark("{n} of {total} cells drawn"),
    yes: mark("{query} looks at {key}: drawn"), no: mark("{query}, {key}: not drawn"),
    row: mark("Row {query}: {open} of {cols} drawn. Click: all"), fullRow: mark("Row {query}: all {cols} drawn. Click: none"),
    column: mark("Column {key}: {open} of {rows} drawn. Click: all"), fullColumn: mark("Column {key}: all {rows} drawn. Click: none"),
  },
};

export function build(root) {
  const view = matrixView(root, {
    lines: true,
    tell: (tip, at) => tell(view, tip, at),
    pick: (at, byKey) => { if (byKey) { press(view, at, false); lift(view); } },
    press: (_, event) => start(view, placeAt(view, event), event),
    drag: (at) => drag(view, at),
    lift: () => lift(view),
    key: (event) => shortcut(view, event),
    rim: (pen) => { if (view.words === WORDS.mask) markEmpty(pen, view); },
  });
  root.classList.add("editor");
  view.presets = group("presets");
  root.insertBefore(view.presets, view.body);
  view.undo = tool(view, say("Undo"), say("Undo"), () => turnBack(view, view.past, view.future));
  view.redo = tool(view, say("Redo"), say("Redo"), () => turnBack(view, view.future, view.past));
  view.again = tool(view, say("Start again"), say("Start again"), () => become(view, view.start));
  view.box = tool(view, say("Rectangle"), say("Rectangle: drag from corner to corner (or hold Shift)"), () => { view.boxes = !view.boxes; summary(view); });
  view.frame.addEventListener("keydown", (event) => { if (spans(event) && !view.stroke && view.hover && Math.min(...view.hover) >= 0) press(view, view.hover, true); }, true);
  view.frame.addEventListener("keydown", (event) => { if (spans(event) && view.stroke) drag(view, view.hover); });
  view.frame.addEventListener("keyup", (event) => { if (event.key === "Shift") lift(view); });
  view.frame.addEventListener("blur", () => lift(view));
  return view;
}

const spans = (event) => event.shiftKey && event.key.startsWith("Arrow");

export function accept(view, packet) {
  const head = view.head = packet.header, [rows, cols] = head.shape;
  view.words = head.drawing ? WORDS.drawing : WORDS.mask;
  view.presets.setAttribute("aria-label", say(view.words.presets));
  view.theme = readTheme(view.root);
  if (head.drawing) view.theme = { ...view.theme, hatch: "transparent", lines: view.theme.border };
  if (view.key !== head.base) {
    view.key = head.base;
    view.start = readRuns(part(packet, "start"), rows * cols);
    view.now = readRuns(part(packet, "now"), rows * cols);
    view.past = []; view.future = []; view.stroke = null;
  }
  setMatrix(view, {
    rows, cols, queries: head.queries, keys: head.keys ?? head.queries, axis: head.axis, title: inviting(head), height: head.height,
    allowed: view.now, shades: shades(view, rows * cols), theme: view.theme,
  });
  view.presets.replaceChildren(...(head.presets ?? []).map((name, i) => preset(view, visible(name), readRuns(part(packet, `preset${i}`), rows * cols))));
  view.presets.hidden = !view.presets.childElementCount;
  view.frame.setAttribute("aria-label", say("{title}: {rows} {query} rows, {cols} {key} columns. {keys} {help}", { title: head.title || say(view.words.name), rows, query: head.axis[0], cols, key: head.axis[1], keys: say(view.words.keys), help: say(HELP) }));
  summary(view);
  if (rows && cols) saveMask(view, packet);
}

// ---------------------------------------------------------------- presets and what is said

function preset(view, name, mask) {
  return Object.assign(button(null, "tool", name, () => become(view, mask)), { mask });
}

function shades(view, total) {
  const out = new Uint8ClampedArray(total * 4), colour = view.theme.sequential[view.theme.dark ? 130 : 110];
  for (let i = 0; i < total; i++) out.set([...colour, 255], i * 4);
  return out;
}

const same = (one, other) => one.every((v, i) => v === other[i]);
const rowOf = (view, r) => view.now.subarray(r * view.cols, (r + 1) * view.cols);

function summary(view) {
  const total = view.now.length, open = view.now.reduce((sum, v) => sum + v, 0), { legend, theme, words } = view;
  const empty = Array.from({ length: view.rows }, (_, r) => r).filter((r) => view.cols && !rowOf(view, r).includes(1));
  legend.replaceChildren();
  view.root.style.setProperty("--hatch", theme.hatch);
  view.root.style.setProperty("--warm", css(warm(theme)));
  swatch(legend, "", say(words.on, { cell: "" })).querySelector("i").style.background = css(theme.sequential[theme.dark ? 130 : 110]);
  if (words.off) swatch(legend, "shut", say(words.off));
  make("span", "entry", legend).textContent = say(words.count, { n: open, total });
  if (empty.length && words === WORDS.mask) swatch(legend, "nothing", empty.length === 1 ? say("1 row allows nothing") : say("{n} rows allow nothing", { n: empty.length }));
  view.undo.disabled = !view.past.length;
  view.redo.disabled = !view.future.length;
  view.again.disabled = same(view.now, view.start);
  view.box.setAttribute("aria-pressed", String(Boolean(view.boxes)));
  for (const button of view.presets.children) button.setAttribute("aria-pressed", String(same(view.now, button.mask)));
  Object.assign(view.root.dataset, { allowed: open, mask: writeRuns(view.now), empty: empty.join(","), past: view.past.length, future: view.future.length });
}

const warm = (theme) => theme.diverging[theme.dark ? 60 : 40];

/** A row that allows nothing: framed and named, for its output is zeros. */
function markEmpty(pen, view) {
  const { left, top, unit, across, cols, theme } = view, wide = Math.min(cols * across, view.edgeX - left);
  pen.save();
  pen.beginPath(); pen.rect(left - 6, top - 2, wide + 8, view.edgeY - top + 4); pen.clip();
  for (let r = 0; r < view.rows; r++) {
    if (rowOf(view, r).includes(1)) continue;
    const y = yOf(view, r), words = say("allows nothing");
    pen.strokeStyle = pen.fillStyle = css(warm(theme)); pen.lineWidth = 2;
    pen.setLineDash([5, 4]); pen.strokeRect(left + 1, y + 1, wide - 2, Math.max(1, unit - 2)); pen.setLineDash([]);
    pen.fillRect(left - 5, y, 4, unit);
    pen.font = `600 12px ${theme.font}`; pen.textAlign = "left"; pen.textBaseline = "middle";
    const long = pen.measureText(words).width;
    if (unit < 16 || long + 16 > wide) continue;
    pen.fillStyle = theme.background; pen.fillRect(left + 6, y + unit / 2 - 8, long + 8, 16);
    pen.fillStyle = css(warm(theme)); pen.fillText(words, left + 10, y + unit / 2 + 0.5);
  }
  pen.restore();
}

function refresh(view) {
  view.allowed = view.now;
  recolour(view, view.shades);
  drawBase(view); drawOver(view);
  summary(view);
  if (view.hover) tell(view, view.tip, view.hover);
}

// ---------------------------------------------------------------- strokes

/** The pointer goes down: on a label it takes the whole row or column, on a cell a stroke or a rectangle begins. */
function start(view, at, event) {
  if (!at) return;
  if (Math.min(...at) < 0) { line(view, at); return; }
  view.pane.setPointerCapture(event.pointerId);
  press(view, at, event.shiftKey || view.boxes);
}

function press(view, at, box) {
  const before = view.now.slice();
  view.stroke = { value: view.now[at[0] * view.cols + at[1]] ? 0 : 1, from: at, at, box, before };
  drag(view, at);
}

/** Every cell on the straight way from the last one, for a fast pointer leaves no holes; or the rectangle from the first. */
function drag(view, at) {
  const { stroke, cols } = view;
  if (!stroke || !at || Math.min(...at) < 0) return;
  if (stroke.box) {
    view.now.set(stroke.before);
    const [top, bottom] = [stroke.from[0], at[0]].sort((a, b) => a - b), [left, right] = [stroke.from[1], at[1]].sort((a, b) => a - b);
    for (let r = top; r <= bottom; r++) view.now.fill(stroke.value, r * cols + left, r * cols + right + 1);
  } else {
    const [r0, c0] = stroke.at, steps = Math.max(Math.abs(at[0] - r0), Math.abs(at[1] - c0), 1);
    for (let k = 0; k <= steps; k++) view.now[Math.round(r0 + ((at[0] - r0) * k) / steps) * cols + Math.round(c0 + ((at[1] - c0) * k) / steps)] = stroke.value;
  }
  stroke.at = at;
  refresh(view);
}

function lift(view) {
  if (!view.stroke) return;
  const { before } = view.stroke;
  view.stroke = null;
  if (same(before, view.now)) return;
  finish(view, before);
}

/** A whole row [r, -1] or column [-1, c]: allowed, or, if all of it is, forbidden. */
function line(view, [r, c]) {
  const before = view.now.slice(), { cols, rows } = view;
  const cells = r >= 0 ? Array.from({ length: cols }, (_, k) => r * cols + k) : Array.from({ length: rows }, (_, k) => k * cols + c);
  const value = cells.every((i) => view.now[i]) ? 0 : 1;
  for (const i of cells) view.now[i] = value;
  finish(view, before);
}

/** All cells at once: a preset, or the mask as it was handed in. */
function become(view, mask) {
  if (same(view.now, mask)) return;
  const before = view.now;
  view.now = mask.slice();
  finish(view, before);
}

function finish(view, before) {
  view.past.push(before);
  view.future = [];
  refresh(view); commit(view);
}

/** Undo and redo: the last of `from` becomes the mask, the mask the last of `to`. */
function turnBack(view, from, to) {
  if (!from.length || view.stroke) return;
  to.push(view.now);
  view.now = from.pop();
  refresh(view); commit(view);
}

function commit(view) {
  view.component.setStateValue("mask", { base: view.key, runs: writeRuns(view.now) });
}

function shortcut(view, event) {
  const key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
  if (control && key === "z" && !event.shiftKey) turnBack(view, view.past, view.future);
  else if (control && (key === "y" || key === "z")) turnBack(view, view.future, view.past);
  else if (!control && !event.altKey && (key === "r" || key === "c") && view.hover) {
    const [r, c] = view.hover;
    if ((key === "r" ? r : c) >= 0) line(view, key === "r" ? [r, -1] : [-1, c]);
  } else return false;
  return true;
}

function tell(view, tip, [r, c]) {
  const query = { word: view.queries[r] ?? "" }, key = { word: view.keys[c] ?? "" }, { words } = view;
  if (c < 0) {
    const open = rowOf(view, r).reduce((sum, v) => sum + v, 0);
    speak(tip, say(open === view.cols ? words.fullRow : words.row), { query, open, cols: view.cols });
  } else if (r < 0) {
    let open = 0;
    for (let k = 0; k < view.rows; k++) open += view.now[k * view.cols + c];
    speak(tip, say(open === view.rows ? words.fullColumn : words.column), { key, open, rows: view.rows });
  } else speak(tip, say(view.now[r * view.cols + c] ? words.yes : words.no), { query, key });
}
