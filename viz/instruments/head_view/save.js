// What is saved: the picture as it is, the weights of the heads that are on, and the lines drawn.

import { css, rgb } from "../kit/common.js";
import { saveMenu } from "../kit/save/save.js";
import { headName, looksOf } from "./data.js";
import { clipBelow, fadeOf, paintOver, strokeAll } from "./paint.js";
import { portOf, SIDES } from "./place.js";
import { settle } from "./tell.js";
import { say } from "../kit/words.js";

const SAVED_AT_MOST = 4096;   // pixels along; a longer sheet is saved as the window that is seen

/** The picture with the heads named above it and the share of weight below, since chips and notes are not on the canvas. */
function savedPicture(view) {
  const whole = view.length <= SAVED_AT_MOST, along = whole ? view.length : view.seen, legend = view.names.length > 1;
  const size = view.columns ? [view.paneW, along] : [along, view.paneH], top = legend ? 26 : 0;
  return { size: [Math.ceil(size[0]), Math.ceil(size[1] + top + 26)], port: { from: whole ? 0 : portOf(view), seen: along }, top, legend };
}

function paintSaved(pen, view) {
  const { size: [width, height], port, top, legend } = savedPicture(view), { theme } = view, seen = [view.paneW, view.paneH];
  pen.textBaseline = "middle"; pen.textAlign = "left";
  if (legend) paintLegend(pen, view, top - 13);
  pen.save();
  pen.translate(0, top);
  [view.paneW, view.paneH] = view.columns ? [width, port.seen] : [port.seen, view.paneH];
  const at = (view.touched = view.pinned);
  view.looks = at ? { side: at.side, ...looksOf(view, at.side, at.index) } : null;
  view.fade = at ? fadeOf(view) : 1;
  clipBelow(pen, view);
  strokeAll(pen, view, port);
  pen.restore();
  view.fade = 1;
  paintOver(pen, view, port, at);
  [view.paneW, view.paneH] = seen;
  pen.restore();
  pen.font = `12px ${theme.font}`; pen.fillStyle = css(rgb(theme.text), 0.66); pen.textAlign = "left"; pen.textBaseline = "middle";
  pen.fillText(view.note.textContent, 8, height - 12, width - 16);
  settle(view);
}

function paintLegend(pen, view, y) {
  let x = 8;
  pen.font = `600 12px ${view.theme.font}`;
  view.names.forEach((name, h) => {
    if (!view.on.has(h)) return;
    const text = headName(name);
    pen.strokeStyle = view.inks[h].colour; pen.lineWidth = 3;
    pen.setLineDash?.(view.inks[h].dash);
    pen.beginPath(); pen.moveTo(x, y); pen.lineTo(x + 22, y); pen.stroke();
    pen.setLineDash?.([]);
    pen.fillStyle = view.theme.text;
    pen.fillText(text, x + 28, y);
    x += 28 + pen.measureText(text).width + 16;
  });
}

/** [layer, head] of the heads that are on, where their layer is known; of joined heads the layer. */
function headsOn({ head: { at }, names, on }) {
  if (!at?.length) return [];
  const layer = at.flat()[0], shown = [...on].map((h) => names[h]).filter(Number.isInteger).sort((a, b) => a - b);
  return shown.length ? shown.map((head) => [layer, head]) : [layer];
}

/** The weights of the heads that are on, as they were sent, and which of them are drawn as lines. */
function savedArrays(view) {
  const { rows, cols, lines, names } = view, on = [...view.on].sort((a, b) => a - b), cells = rows * cols;
  const weights = new Float32Array(on.length * cells), drawn = new Uint8Array(on.length * cells);
  on.forEach((h, n) => {
    weights.set(view.heads[h].matrix.values, n * cells);
    for (const i of lines[h]) drawn[n * cells + i] = 1;
  });
  const axes = ["head", "query", "key"], shape = [on.length, rows, cols];
  return {
    weights: { shape, values: weights, axes }, drawn: { shape, values: drawn, axes, bool: true },
    heads: { shape: [on.length], values: on.map((h) => String(names[h])), axes: ["head"] },
    queries: { shape: [rows], values: view.words.query, axes: ["query"] }, keys: { shape: [cols], values: view.words.key, axes: ["key"] },
  };
}

/** One line of text for each line of the picture. */
function savedRows(view) {
  const out = [["head", "query position", "query", "key position", "key", "weight"]];
  view.lines.forEach((cells, h) => {
    for (const i of [...(cells ?? [])].sort((a, b) => a - b)) {
      const q = Math.floor(i / view.cols), k = i % view.cols, { values, kind, step } = view.heads[h].matrix;
      const digits = kind === "f32" ? 7 : kind === "f16" ? 3 : Math.ceil(-Math.log10(step));
      out.push([view.names[h], q, view.words.query[q], k, view.words.key[k], Number(values[i].toPrecision(digits))]);
    }
  });
  return out;
}

/** Changes of the header with which a page that stands alone opens as the picture is now. */
function asSeen(view) {
  const { pinned, layout, on, options } = view;
  return {
    selected: pinned && [SIDES.indexOf(pinned.side), pinned.index], layout, tell: false,
    now: { on: [...on], options: { ...options, layout: null, pairs: [...options.pairs] } },
  };
}

export function offerSaving(view, packet) {
  saveMenu(view, view.saveAt, {
    name: view.head.title || say("Lines of attention"), at: headsOn(view), size: () => savedPicture(view).size, paint: (pen) => paintSaved(pen, view),
    arrays: () => savedArrays(view), rows: () => savedRows(view), packet, header: () => asSeen(view),
  });
}
