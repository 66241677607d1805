// A run as the packets that the app's pictures draw: their words come from Python (site.py), their numbers from the run in this page.

import { readRuns, writeRuns } from "../../../instruments/kit/page/packets.js";
import { mark, say } from "../../../languages/words.js";

const THUMB = 32;   // as in grid.py
let last = 0;

const runsOf = (cells) => Uint8Array.from(atob(writeRuns(cells)), (c) => c.charCodeAt(0));

/** The cells that the editor of masks sent. */
export const cellsOf = (runs, total) => readRuns(Uint8Array.from(atob(runs), (c) => c.charCodeAt(0)), total);

/** A picture to draw, with its parts, whose bytes go to `box`. */
function told(box, key, header, parts, code) {
  const names = {};
  for (const [name, bytes] of Object.entries(parts)) {
    const id = `live-${++last}`;
    box.parts.set(id, bytes);
    names[name] = id;
  }
  const lasting = { kit: code.kit, code: code.code, ...(code.language && { language: code.language }) };   // a language where the page is not in English
  return { key, header: { ...header, ...names, ...lasting }, parts: Object.fromEntries([...Object.values(names), ...Object.values(lasting)].map((id) => [id, [null, 0]])) };
}

/** The numbers of allowed cells, of all heads one after the other. */
function open(weights, allowed, each) {
  if (!allowed.includes(0)) return weights;
  return weights.filter((_, i) => allowed[i % each]);
}

/** The largest number of each block, at most 32 blocks each way, from 0 to 254. */
export function pooled(weights, rows, cols) {
  const high = Math.min(rows, THUMB), wide = Math.min(cols, THUMB), out = new Uint8Array((weights.length / (rows * cols)) * high * wide);
  for (let at = 0, to = 0; at < weights.length; at += rows * cols, to += high * wide) for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) {
    const cell = to + blockOf(r, rows, high) * wide + blockOf(c, cols, wide);
    out[cell] = Math.max(out[cell], Math.round(weights[at + r * cols + c] * 254));
  }
  return { shape: [high, wide], bytes: out };
}

/** The block of a row: block b begins at floor(b * rows / blocks). */
const blockOf = (row, rows, blocks) => Math.floor(((row + 1) * blocks - 1) / rows);

/** The word that is touched first: the one with the largest weight on another word of the text, the first token left out. */
function clearest({ shape: [, heads, rows, cols], weights, special: [, added] }, [layer, head], one) {
  const at = (layer * heads + head) * rows * cols;
  let best = 0, found = 0;
  for (let r = 0; r < rows; r++) for (let c = one && cols > 2 ? 1 : 0; c < cols; c++) if (!(one && c === r) && !added.includes(c) && weights[at + r * cols + c] > best + 1e-3) { best = weights[at + r * cols + c]; found = r; }
  return ["target", found];
}

/** The words with what one head does there; the other heads come along, for the grid. */
export function words(box, kind, found, chosen, turn, origin) {
  const { shape, weights, allowed, queries, keys, special } = found, [, , rows, cols] = shape, one = kind.words.header.layout === "one";
  const drawn = queries.slice(0, one ? rows : Math.max(1, rows - 1));   // END is written, and no word
  const header = {
    ...kind.words.header, keys, words: one ? null : drawn, rows: drawn.map((_, r) => r), start: clearest(found, chosen, one), special: [special[0].filter((i) => i < drawn.length), special[1]],
    group: "live", stack: { shape, kind: "f32", step: 0 }, at: chosen, turn, origin, exact: true,
  };
  const parts = { "stack.values": new Uint8Array(open(weights, allowed, rows * cols).slice().buffer) };
  if (allowed.includes(0)) parts["stack.allowed"] = runsOf(allowed);
  return told(box, `words ${found.kind}`, header, parts, kind.words);
}

/** All heads as tiles; `changes` (one number for each) colours them. */
export function grid(box, kind, found, chosen, turn, origin, changes) {
  const { shape: [layers, heads, rows, cols], weights, allowed, queries, keys } = found, { shape, bytes } = pooled(weights, rows, cols), may = pooled(Float32Array.from(allowed), rows, cols).bytes.map((v) => v && 1);
  const header = {
    ...kind.grid.header, size: [layers, heads], shape, tokens: [rows, cols], queries, keys: keys === queries ? null : keys, group: "live", selected: chosen, echo: turn, origin, exact: true,
    measures: changes ? [say(CHANGE)] : [], ...(changes && { arranged: "layers.m0" }), place: `live ${found.kind}${changes ? " changed" : ""}`,
  };
  const each = shape[0] * shape[1], parts = { thumbs: may.includes(0) ? bytes.filter((_, i) => may[i % each]) : bytes, allowed: runsOf(may) };
  if (changes) parts.numbers = new Uint8Array(changes.buffer);
  return told(box, `grid ${found.kind}${changes ? " changed" : ""}`, header, parts, kind.grid);
}

const CHANGE = mark("change of attention (JS divergence, bits)");

/** The mask as cells to allow and mask; `trained` is that of the model. */
export function mask(box, kind, found, trained, base) {
  const { shape: [, , rows, cols], allowed, queries } = found, header = { ...kind.mask.header, queries, keys: null, shape: [rows, cols], base, presets: PRESETS.map(([name]) => say(name)) };
  const parts = { start: runsOf(trained), now: runsOf(allowed) };
  PRESETS.forEach(([, may], i) => { parts[`preset${i}`] = runsOf(Uint8Array.from({ length: rows * cols }, (_, cell) => Number(may(Math.floor(cell / cols), cell % cols)))); });
  return told(box, "mask", header, parts, kind.mask);
}

const PRESETS = [[mark("all"), () => true], [mark("causal"), (q, k) => k <= q], [mark("window of 3"), (q, k) => Math.abs(q - k) < 2], [mark("itself only"), (q, k) => q === k]];

/** How far the attention of each head has moved, in bits from 0 to 1: the mean over its rows of the Jensen-Shannon divergence. */
export function divergences(before, after) {
  const [layers, heads, rows, cols] = before.shape, out = new Float32Array(layers * heads);
  for (let h = 0; h < out.length; h++) {
    let sum = 0;
    for (let i = h * rows * cols; i < (h + 1) * rows * cols; i++) {
      const p = before.weights[i], q = after.weights[i], m = (p + q) / 2;
      sum += (p ? p * Math.log2(p / m) : 0) / 2 + (q ? q * Math.log2(q / m) : 0) / 2;
    }
    out[h] = Math.max(0, sum / rows);
  }
  return out;
}
