// A labelled grid of cells on canvas, shared by the heatmap and the mask editor.
//
// The sheet is as large as all cells; the two canvases are as large as what is seen of it and stick to its
// corner, so labels stay in place while cells scroll, and 512 tokens cost no more canvas than 12.
// A place is [row, column]; -1 for one of them is a whole line of cells.

import { cut, keepDrawn, make, pixels, visible } from "../common.js";
import { pointOthers } from "../page/linked.js";
import { button, hold, shell, status, walkable } from "../shell.js";
import { drawBase, drawOver } from "./paint.js";
import { cellAt, inWhole, isLone, LARGEST, place, placeAt, xOf, yOf } from "./places.js";
import { say } from "../words.js";

export function matrixView(root, hooks) {
  const view = shell(root, "matrix", { hooks, zoom: 1, hover: null, linked: null, cell: null, first: [0, 0], rim: { right: 0, bottom: 0 }, aside: 0 });
  view.body = make("div", "body", root);
  view.frame = walkable("frame", view.body);
  view.scroller = make("div", "scroller", view.frame);
  view.sheet = make("div", "sheet", view.scroller);
  view.pane = make("div", "pane", view.sheet);
  view.base = make("canvas", "", view.pane);
  view.over = make("canvas", "", view.pane);
  view.tip = status("div", "tip", view.frame);
  view.legend = make("div", "legend quiet", root);
  view.sizes = make("span", "pair", view.tools);
  view.smaller = tool(view, "\u2212", say("Smaller cells"), () => zoom(view, 1 / 1.5), view.sizes);
  view.larger = tool(view, "+", say("Larger cells"), () => zoom(view, 1.5), view.sizes);
  view.drawn = keepDrawn(root, () => redraw(view));
  view.scroller.onscroll = () => { drawBase(view); if (view.walked) drawOver(view); else point(view, null); };
  view.pane.onpointermove = (event) => {
    hooks.drag?.(cellAt(view, event));
    if (event.pointerType === "mouse") { view.walked = false; point(view, placeAt(view, event)); }
  };
  view.pane.onpointerleave = () => point(view, null);
  view.pane.onpointerdown = (event) => { if (hooks.press && event.button === 0) hooks.press(cellAt(view, event), event, view); };
  view.pane.onpointerup = view.pane.onpointercancel = () => hooks.lift?.();
  view.pane.onclick = (event) => { const at = placeAt(view, event); point(view, at); if (at && Math.min(...at) >= 0) hooks.pick(at); };
  view.frame.onkeydown = (event) => steer(view, event);
  view.frame.onblur = () => point(view, null);
  return view;
}

export const tool = (view, text, label, act, where = view.tools) => button(where, "tool", text, act, label);

/** The title, and behind it what one can do here. */
export const inviting = ({ title, hint }) => [title, hint].filter(Boolean).join(": ");

/** New contents: {rows, cols, queries, keys, axis, title, height, shades, allowed, broken, texts, theme, and `first`, where a window begins}. */
export function setMatrix(view, contents) {
  const size = `${contents.rows}x${contents.cols}`, first = contents.first ?? [0, 0];
  if (view.size !== size || String(first) !== String(view.first)) { point(view, null); view.linked = null; }   // other cells are there now
  if (view.size !== size) { view.zoom = 1; view.size = size; }
  const { title, ...others } = contents;
  Object.assign(view, others);
  view.title.textContent = title;
  view.queryNames = contents.queries.map((w) => cut(visible(w), 28));
  view.keyNames = contents.keys.map((w) => cut(visible(w), 16));
  recolour(view, contents.shades);
  redraw(view);
  if (view.hover) tellAt(view, view.hover);   // of the new numbers
}

function redraw(view) {
  view.hooks.before?.();
  place(view); drawBase(view); drawOver(view);
  view.hooks.after?.();
}

/** `shades` is RGBA of every cell, row after row; the runs of forbidden cells are found again. */
export function recolour(view, shades) {
  view.image = pixels(shades, view.cols, view.rows);
  if (!view.rows || !view.cols) return;
  view.shades = shades;
  view.shut = [];
  for (let r = 0; r < view.rows; r++) {
    for (let c = 0, from = -1; c <= view.cols; c++) {
      const shut = c < view.cols && !view.allowed[r * view.cols + c] && !isLone(view, r, c);
      if (shut && from < 0) from = c;
      if (!shut && from >= 0) { view.shut.push([r, from, c]); from = -1; }
    }
  }
}

/** Cells `factor` times as large; what is at (x, y) of the pane, or in the middle, stays there. */
export function zoom(view, factor, x = (view.left + view.edgeX) / 2, y = (view.top + view.edgeY) / 2) {
  const { scroller, left, top, unit, across } = view;
  const c = (x - left + scroller.scrollLeft) / across, r = (y - top + scroller.scrollTop) / unit;
  view.zoom = Math.max(1, Math.min(Math.max(1, LARGEST / view.fitted), view.zoom * factor));
  place(view);
  scroller.scrollLeft = c * view.across - (x - left);
  scroller.scrollTop = r * view.unit - (y - top);
  drawBase(view); drawOver(view);
  view.hooks.after?.();
}

// ---------------------------------------------------------------- touching

function point(view, at) {
  if (String(at) === String(view.hover)) return;
  view.hover = at;
  const whole = at && inWhole(view, at);
  view.root.dataset.hover = whole ? whole.join(",") : "";
  drawOver(view);
  pointOthers(view, whole && { ...(whole[0] >= 0 && { query: whole[0] }), ...(whole[1] >= 0 && { key: whole[1] }) });
  view.tip.hidden = !at;
  if (at) tellAt(view, at);
}

/** The tip of a place, beside it and inside the instrument. */
function tellAt(view, at) {
  view.hooks.tell(view.tip, at);
  const x = at[1] < 0 ? view.left : xOf(view, at[1]) + view.across, y = at[0] < 0 ? view.top : yOf(view, at[0]);
  const w = view.tip.offsetWidth, h = view.tip.offsetHeight;
  const beside = x + w + 12 < view.room ? x + 10 : x - view.across - w - 10;
  view.tip.style.left = `${Math.max(0, Math.min(beside, view.room - w))}px`;
  view.tip.style.top = `${y - h - 8 > view.top ? y - h - 8 : y + view.unit + 8}px`;   // never over the names of the keys
}

function steer(view, event) {
  const at = (view.hover ?? view.cell ?? [0, 0]).map((i) => Math.max(0, i)), [r, c] = at, whole = event.ctrlKey || event.metaKey;
  if (event.target !== view.frame || !view.rows || !view.cols) return;
  const goal = {
    ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1],
    Home: [whole ? 0 : r, 0], End: [whole ? view.rows - 1 : r, view.cols - 1],
  }[event.key];
  if (goal) walkTo(view, view.hover || !event.key.startsWith("Arrow") ? goal : at);
  else if (event.key === "Enter" || event.key === " ") { if (view.hover && Math.min(...view.hover) >= 0) view.hooks.pick(view.hover, true); }
  else if (event.key === "Escape") point(view, null);
  else if (!view.hooks.key?.(event)) return;
  hold(event);
}

function walkTo(view, goal) {
  const [r, c] = view.hooks.beyond?.(goal) ?? goal, { scroller, unit, across } = view;
  const to = [Math.max(0, Math.min(view.rows - 1, r)), Math.max(0, Math.min(view.cols - 1, c))];
  view.walked = true;
  scroller.scrollLeft = Math.max(Math.min(scroller.scrollLeft, to[1] * across), (to[1] + 1) * across - (view.edgeX - view.left));
  scroller.scrollTop = Math.max(Math.min(scroller.scrollTop, to[0] * unit), (to[0] + 1) * unit - (view.edgeY - view.top));
  drawBase(view);
  point(view, to);
}
