// How a matrix looks: cells, labels and what the pointer marks, on a canvas or on a pen that writes SVG.

import { clipped, css, hatching, inkOn, rgb, sharp, strokeCross } from "../common.js";
import { LABEL, THIN, xOf, yOf } from "./places.js";

const LANE = 18;   // pixels that a label takes across its line

export function drawBase(view) {
  if (!view.rows || !view.cols || !view.unit) return;
  const began = performance.now();
  paintMatrix(sharp(view.base, view.seenW, view.seenH), view);
  view.root.dataset.drawn = (performance.now() - began).toFixed(2);
}

/** Cells, labels and rim as they are seen, without what the pointer does. */
export function paintMatrix(pen, view) {
  const { left, top, unit, across, rows, cols, theme } = view, x0 = xOf(view, 0), y0 = yOf(view, 0), w = cols * across, h = rows * unit;
  pen.save();
  pen.beginPath(); pen.rect(left, top, view.edgeX - left, view.edgeY - top); pen.clip();
  paintCells(pen, view, x0, y0, w, h);
  pen.beginPath();
  for (const [r, from, to] of view.shut) pen.rect(x0 + from * across, y0 + r * unit, (to - from) * across, unit);
  pen.fillStyle = theme.background; pen.fill();
  pen.fillStyle = hatching(pen, theme); pen.fill();
  paintLone(pen, view, x0, y0, w, h);
  if (unit >= 12) {
    pen.strokeStyle = theme.lines ?? theme.background; pen.lineWidth = 1;
    pen.beginPath();
    for (let c = 1; c < cols; c++) { pen.moveTo(x0 + c * across, y0); pen.lineTo(x0 + c * across, y0 + h); }
    for (let r = 1; r < rows; r++) { pen.moveTo(x0, y0 + r * unit); pen.lineTo(x0 + w, y0 + r * unit); }
    pen.stroke();
  }
  for (const i of view.broken ?? []) cross(pen, view, Math.floor(i / cols), i % cols);
  if (view.texts && unit >= 30) writeCells(pen, view);
  pen.strokeStyle = theme.border; pen.lineWidth = 1;
  pen.strokeRect(x0 - 0.5, y0 - 0.5, w + 1, h + 1);
  pen.restore();
  drawLabels(pen, view);
  view.hooks.rim?.(pen, view);
}

/** Rows and columns of words that have no counterpart: one grey, which is no value and no mask. */
function paintLone(pen, { head: { lone: [rows, cols] = [[], []] }, first, unit, across, theme }, x0, y0, w, h) {
  pen.beginPath();
  for (const r of rows) pen.rect(x0, y0 + (r - first[0]) * unit, w, unit);
  for (const c of cols) pen.rect(x0 + (c - first[1]) * across, y0, across, h);
  pen.fillStyle = theme.background; pen.fill();
  pen.fillStyle = css(rgb(theme.text), 0.12); pen.fill();
}

function paintCells(pen, view, x0, y0, w, h) {
  const { unit, across, rows, cols, shades } = view;
  if (!pen.vector || Math.max(rows, cols) > 64) {
    pen.imageSmoothingEnabled = unit * (globalThis.devicePixelRatio || 1) < 1;
    pen.drawImage(view.image, x0, y0, w, h);
    return;
  }
  for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) {
    const i = r * cols + c;
    if (!view.allowed[i]) continue;
    pen.fillStyle = css([...shades.subarray(i * 4, i * 4 + 3)]);
    pen.fillRect(x0 + c * across, y0 + r * unit, across, unit);
  }
}

function cross(pen, view, r, c) {
  const x = xOf(view, c), y = yOf(view, r), { unit: u, across } = view, gap = u > 10 ? 4 : 0;
  pen.fillStyle = view.theme.background; pen.fillRect(x, y, across, u);
  pen.strokeStyle = view.theme.text; pen.lineWidth = u > 10 ? 1.5 : 1;
  strokeCross(pen, x + gap, y + gap, across - 2 * gap, u - 2 * gap);
}

function writeCells(pen, view) {
  pen.font = `12px ${view.theme.font}`; pen.textAlign = "center"; pen.textBaseline = "middle";
  for (let r = 0; r < view.rows; r++) for (let c = 0; c < view.cols; c++) {
    const i = r * view.cols + c, text = view.texts(i);
    if (!text) continue;
    pen.fillStyle = inkOn([...view.shades.slice(i * 4, i * 4 + 3)], view.theme);
    pen.globalAlpha = /[1-9\u221e]/.test(text) ? 1 : 0.45;       // what rounds to nothing steps back
    pen.fillText(text, xOf(view, c) + view.across / 2, yOf(view, r) + view.unit / 2 + 0.5);
  }
  pen.globalAlpha = 1;
}

/** The pen in the place of a label: in its middle line, at the end that the cells are at. */
function atLabel(pen, view, axis, i, strong, paint) {
  const { theme, left, top } = view, row = axis === "query", name = row ? view.rowNames[i] : view.keyNames[i], turned = !row && !view.flat;
  pen.save();
  pen.font = `${strong ? "600 " : ""}${LABEL}px ${theme.font}`;
  pen.textBaseline = "middle";
  pen.textAlign = row ? "right" : turned ? "left" : "center";
  if (row) pen.translate(left - 8, yOf(view, i) + view.unit / 2);
  else pen.translate(xOf(view, i) + view.across / 2, turned ? top - 7 : top - 14);
  if (turned) pen.rotate(-Math.PI / 4);
  const most = row ? left - 12 : view.up + 2, width = Math.min(pen.measureText(name).width, most) + 8;
  paint({ name, most, width, x: row ? 4 - width : turned ? -4 : -width / 2 });
  pen.restore();
}

/** Which labels are written: each, or each second, third .. where lines are too close. */
const everyLabel = (view, axis) => Math.max(1, Math.ceil(THIN / (axis === "query" ? view.unit : view.across)));

function coverLabel(pen, view, axis, i, strong, lane) {
  atLabel(pen, view, axis, i, strong, ({ width, x }) => { pen.fillStyle = view.theme.background; pen.fillRect(x, -lane / 2, width, lane); });
}

/** A label in bold, in place of its own and of those so near that it would cover a part of them. */
function strongLabel(pen, view, axis, i) {
  const row = axis === "query", apart = (row ? view.unit : view.across) * (row || view.flat ? 1 : Math.SQRT1_2), every = everyLabel(view, axis), n = row ? view.rows : view.cols;
  const lane = every > 1 ? LANE : Math.min(LANE, apart);
  for (let near = 0; every > 1 && near < n; near += every) if (near !== i && Math.abs(near - i) * apart < LANE) coverLabel(pen, view, axis, near, false, LABEL + 1);
  coverLabel(pen, view, axis, i, true, lane);
  label(pen, view, axis, i, true);
}

function label(pen, view, axis, i, strong) {
  atLabel(pen, view, axis, i, strong, ({ name, most }) => {
    pen.fillStyle = strong ? view.theme.text : css(rgb(view.theme.text), 0.78);
    pen.fillText(name, 0, 0, most);
  });
}

function drawLabels(pen, view) {
  const { left, top, across, rows, cols, theme } = view, every = everyLabel(view, "query"), each = everyLabel(view, "key");
  clipped(pen, 0, top - 5, left, view.edgeY - top + 10, () => { for (let r = 0; r < rows; r += every) if (shownRow(view, r)) label(pen, view, "query", r, false); });
  clipped(pen, left - 4, 0, view.seenW - left + 4, top, () => {
    for (let c = 0; c < cols; c += each) if (xOf(view, c) > left - across * 0.9 && xOf(view, c) < view.edgeX - 1) label(pen, view, "key", c, false);
  });
  pen.font = `600 12px ${theme.font}`; pen.fillStyle = css(rgb(theme.text), 0.62);
  pen.textBaseline = "middle"; pen.textAlign = "right";
  pen.fillText(`${view.axisNames[1]} \u2192`, left - 8, top - 30, left - 8);
  pen.fillText(`${view.axisNames[0]} \u2193`, left - 8, top - 13, left - 8);
}

/** What the pointer, another view's pointer and the choice mark: outlines and strong labels. Colours stay as they are: they are numbers. */
export function drawOver(view) {
  if (!view.unit || !view.rows || !view.cols) return;
  const { theme, left, top } = view, pen = sharp(view.over, view.seenW, view.seenH), at = view.hover ?? view.linked;
  for (const [r, c] of [view.cell, at].filter(Boolean)) {
    if (r >= 0 && shownRow(view, r)) strongLabel(pen, view, "query", r);
    if (c >= 0 && shownColumn(view, c)) clipped(pen, 0, 0, view.seenW, top - 1, () => strongLabel(pen, view, "key", c));
  }
  clipped(pen, left - 3, top - 3, view.edgeX - left + 6, view.edgeY - top + 6, () => {
    paintChoice(pen, view);
    if (at) lines(pen, view, at, theme.text, 0.6);
    if (at && Math.min(...at) >= 0) outline(pen, view, at, theme.accent ?? theme.primary);
  });
  view.hooks.rimOver?.(pen, view, at ?? view.cell);
  view.root.dataset.emphasis = at ?? view.cell ?? "";
}

export const shownRow = (view, r) => yOf(view, r) > view.top - view.unit && yOf(view, r) < view.edgeY;
export const shownColumn = (view, c) => xOf(view, c) > view.left - view.across && xOf(view, c) < view.edgeX;

export function paintChoice(pen, view) {
  if (!view.cell) return;
  lines(pen, view, view.cell, view.theme.accent ?? view.theme.primary, 0.55);
  outline(pen, view, view.cell, view.theme.text);
}

function lines(pen, view, [r, c], colour, alpha) {
  const { unit, across } = view;
  pen.strokeStyle = css(rgb(colour), alpha); pen.lineWidth = 1;
  if (r >= 0 && shownRow(view, r)) pen.strokeRect(xOf(view, 0) - 0.5, yOf(view, r) - 0.5, view.cols * across + 1, unit + 1);
  if (c >= 0 && shownColumn(view, c)) pen.strokeRect(xOf(view, c) - 0.5, yOf(view, 0) - 0.5, across + 1, view.rows * unit + 1);
}

function outline(pen, view, [r, c], colour) {
  if (!shownRow(view, r) || !shownColumn(view, c)) return;
  const { unit, across } = view, grow = unit < 10 ? 2 : 0;
  for (const [width, ink] of [[4, view.theme.background], [2, colour]]) {
    pen.lineWidth = width; pen.strokeStyle = ink;
    pen.strokeRect(xOf(view, c) - grow, yOf(view, r) - grow, across + grow * 2, unit + grow * 2);
  }
}
