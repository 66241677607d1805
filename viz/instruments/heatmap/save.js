// What a heatmap saves: the picture as it is now, and exactly the numbers that it shows.

import { clipped, css, hatching, rgb, strokeCross } from "../kit/common.js";
import { paintChoice, paintMatrix } from "../kit/matrix/paint.js";
import { closed, colours, ends, hasLone, known, LONE } from "./tell.js";
import { windowOf } from "./window.js";
import { say } from "../kit/words.js";

const SCALE_WIDTH = 136;

/** The contents of the menu "Save" (see save.js). */
export const savedHeatmap = (view) => ({
  size: () => [Math.max(view.seenW, 300), view.seenH + 34],
  paint: (pen) => paintSaved(pen, view),
  arrays: () => savedArrays(view),
  rows: () => savedRows(view),
  header: () => ({ selected: view.chosen ?? null, numbers: Boolean(view.numbers), lens: view.now.id, window: view.long ? view.window : null }),
});

function paintSaved(pen, view) {
  paintMatrix(pen, view);
  clipped(pen, view.left - 3, view.top - 3, view.edgeX - view.left + 6, view.edgeY - view.top + 6, () => paintChoice(pen, view));
  pen.save();
  pen.translate(0, view.seenH + 18);
  paintScale(pen, view);
  pen.restore();
}

/** The legend, drawn: the scale with its ends, what is hatched or crossed, how exact the numbers are. */
function paintScale(pen, view) {
  const { theme, now } = view, [from, to] = ends(now), quiet = css(rgb(theme.text), 0.75), ladderNow = colours(view);
  let x = 0;
  pen.font = `13px ${theme.font}`; pen.textBaseline = "middle"; pen.textAlign = "left";
  const write = (words) => { pen.fillStyle = quiet; pen.fillText(words, x, 0); x += pen.measureText(words).width + 7; };
  if (now.label) { write(now.label); x += 8; }
  write(from);
  for (let i = 0; i < 64; i++) {
    pen.fillStyle = css(ladderNow[Math.round((i / 63) * 255)]);
    pen.fillRect(x + (i * SCALE_WIDTH) / 64, -6, SCALE_WIDTH / 64 + 0.4, 12);
  }
  pen.strokeStyle = theme.border; pen.lineWidth = 1; pen.strokeRect(x, -6, SCALE_WIDTH, 12);
  x += SCALE_WIDTH + 7;
  write(to);
  for (const [there, fill, words] of [[view.shut.length, hatching(pen, theme), closed(view)], [hasLone(view), css(rgb(theme.text), 0.12), LONE]]) {
    if (!there) continue;
    x += 10;
    pen.fillStyle = fill; pen.fillRect(x, -6, 16, 12); pen.strokeRect(x, -6, 16, 12);
    x += 23; write(words);
  }
  if (view.broken.length) {
    x += 10;
    pen.strokeStyle = theme.text;
    strokeCross(pen, x, -6, 12);
    x += 20; write(say("not a finite number"));
  }
  if (known(now)) { x += 10; write(known(now, say)); }
}

// ---------------------------------------------------------------- numbers

const PLURAL = { weight: "weights", score: "scores", difference: "differences", contribution: "contributions" };

/** What rows and columns are called in a file: query and key in a pattern, layer and head where they are these. */
const axesOf = (view) => (view.axis[0].includes("query") ? ["query", "key"] : view.axis);
const LABELS = { query: "queries", key: "keys" };

function savedArrays(view) {
  const { r, c, h, w } = view.window, shape = [h, w], axes = axesOf(view), [row, column] = axes, out = {};
  for (const lens of view.lenses) {
    out[PLURAL[lens.id]] = { shape, values: windowOf(view, lens.values), axes };
    if (lens.kind === "steps") out[`${PLURAL[lens.id]}_step`] = { shape: [1], values: Float32Array.of(lens.step), axes: ["one"] };
  }
  out.allowed = { shape, values: windowOf(view, view.data.allowed), axes, bool: true };
  out[LABELS[row] ?? row] = { shape: [h], values: view.words.queries.slice(r, r + h), axes: [row] };
  out[LABELS[column] ?? column] = { shape: [w], values: view.words.keys.slice(c, c + w), axes: [column] };
  if (h < view.data.rows || w < view.data.cols) {
    out[`${row}_positions`] = { shape: [h], values: Float32Array.from({ length: h }, (_, i) => r + i), axes: [row] };
    out[`${column}_positions`] = { shape: [w], values: Float32Array.from({ length: w }, (_, i) => c + i), axes: [column] };
  }
  if (view.margins) {
    out.received = { shape: [w], values: Float32Array.from(view.margins.received.subarray(c, c + w)), axes: [column] };
    out.entropy_bits = { shape: [h], values: Float32Array.from(view.margins.entropy.subarray(r, r + h)), axes: [row] };
  }
  return out;
}

function savedRows(view) {
  const { r, c, h, w } = view.window, names = view.lenses.map((lens) => (known(lens) ? `${lens.id} (${known(lens)})` : lens.id));
  const [row, column] = axesOf(view);
  const rows = [[`${row} position`, `${column} position`, row, column, ...names, ...(view.shut.length ? ["allowed"] : [])]];
  for (let q = r; q < r + h; q++) for (let k = c; k < c + w; k++) {
    const i = q * view.data.cols + k, open = view.data.allowed[i];
    rows.push([q, k, view.words.queries[q], view.words.keys[k], ...view.lenses.map((lens) => (open ? lens.values[i] : "")), ...(view.shut.length ? [open] : [])]);
  }
  return rows;
}
