// Lines on canvas: in 32 opacities, so that a redraw is at most 32 strokes a head, however many tokens there are.

import { sharp } from "../kit/common.js";
import { CLASSES, classOf } from "./data.js";
import { portOf } from "./place.js";
import { paintHeadings, paintTokens } from "./tokens.js";

const DASHED_AT_MOST = 3000;   // dashes in the picture of all lines; above, colour and the touched token tell heads apart

/** Moves the pen to the ends of one line; the curve leaves both tokens straight, so neighbours stay apart. */
function traceLine(pen, view, q, k, from) {
  const a = view.pos.query[q] - from, b = view.pos.key[k] - from, { query: x, key: y } = view.cross, bend = (y - x) * 0.42;
  if (view.columns) { pen.moveTo(x, a); pen.bezierCurveTo(x + bend, a, y - bend, b, y, b); }
  else { pen.moveTo(a, x); pen.bezierCurveTo(a, x + bend, b, y - bend, b, y); }
}

/** Heads that look alike lie side by side instead of one upon the other: how far each is moved along. */
export function shiftHeads(view) {
  const on = [...view.on].sort((a, b) => a - b), room = view.columns ? view.pitch * 0.62 : Math.min(view.size * 0.9, view.pitch * 0.5);
  const apart = Math.min(2.6, room / Math.max(1, on.length));
  view.shift = view.names.map((_, h) => (view.on.has(h) ? (on.indexOf(h) - (on.length - 1) / 2) * apart : 0));
}

/** The lines `cells` (weakest first) of head `h`, those that cross the window from..from + seen. */
function strokeHead(pen, view, h, cells, { from, seen }, dashed) {
  const { values } = view.heads[h].matrix, { cols, pos } = view, ink = view.inks[h];
  pen.strokeStyle = ink.colour;
  pen.setLineDash?.(dashed ? ink.dash : []);
  pen.lineCap = dashed && ink.dash.length ? "butt" : "round";
  for (let at = 0; at < cells.length;) {
    const level = classOf(values[cells[at]]), middle = (level + 0.5) / CLASSES;
    pen.globalAlpha = (view.fade ?? 1) * (0.08 + 0.92 * middle ** 0.75);
    pen.lineWidth = 0.9 + 2.4 * middle;
    pen.beginPath();
    for (; at < cells.length && classOf(values[cells[at]]) === level; at++) {
      const q = Math.floor(cells[at] / cols), k = cells[at] % cols, a = pos.query[q] - from, b = pos.key[k] - from;
      if (Math.max(a, b) >= 0 && Math.min(a, b) <= seen) traceLine(pen, view, q, k, from - view.shift[h]);
    }
    pen.stroke();
  }
  pen.setLineDash?.([]);
  pen.globalAlpha = 1;
}

/** The heads in turn, each by its weakest lines first. */
export function strokeAll(pen, view, port) {
  const dashed = view.on.size > 1 && view.count <= DASHED_AT_MOST;
  view.lines.forEach((cells, h) => { if (cells?.length) strokeHead(pen, view, h, cells, port, dashed); });
}

/** The lines of one token. */
function strokeTouched(pen, view, { side, index }, port) {
  let count = 0;
  view.lines.forEach((cells, h) => {
    if (!cells) return;
    const mine = cells.filter((i) => (side === "query" ? Math.floor(i / view.cols) : i % view.cols) === index);
    count += mine.length;
    if (mine.length) strokeHead(pen, view, h, mine, port, view.on.size > 1);
  });
  return count;
}

/** Keeps lines and labels out of the heading of the columns. */
export function clipBelow(pen, view) {
  pen.save();
  pen.beginPath();
  pen.rect(0, view.columns ? view.top - 4 : 0, view.paneW, view.paneH - (view.columns ? view.top - 4 : 0));
  pen.clip();
}

/** All lines, on the lower canvas: again only when something else than the pointer changes. */
export function drawLines(view) {
  if (!view.pos || !view.lines) return;
  const began = performance.now(), pen = sharp(view.base, view.paneW, view.paneH);
  clipBelow(pen, view);
  strokeAll(pen, view, { from: portOf(view), seen: view.seen });
  pen.restore();
  Object.assign(view.root.dataset, { drawn: (performance.now() - began).toFixed(2), lines: view.count });
}

/** The touched token's lines, all labels, strips and headings, on the upper canvas; the lower one fades by CSS. */
export function drawTouched(view) {
  if (!view.pos || !view.lines) return;
  const began = performance.now(), pen = sharp(view.over, view.paneW, view.paneH), port = { from: portOf(view), seen: view.seen };
  const at = view.touched;
  view.base.style.opacity = at ? fadeOf(view) : 1;
  view.root.dataset.touchedLines = paintOver(pen, view, port, at);
  view.root.dataset.touching = (performance.now() - began).toFixed(2);
}

/** How much of the other lines stays while a token is touched. */
export const fadeOf = (view) => (view.theme.dark ? 0.16 : 0.12);

/** Everything but the faded lines; returns how many lines the touched token has. */
export function paintOver(pen, view, port, at) {
  clipBelow(pen, view);
  const count = at ? strokeTouched(pen, view, at, port) : 0;
  paintTokens(pen, view, port, at);
  pen.restore();
  paintHeadings(pen, view);
  return count;
}
