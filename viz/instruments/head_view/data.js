// Which cells become lines, what is left out, and what a touched token gives or gets. Numbers only, no drawing.

import { say } from "../kit/words.js";

export const LEAST = 4 / 255;    // a weight below this is no visible line
export const CLASSES = 32;       // opacities of lines: a redraw is 32 strokes a head
const REASONS = ["", "first", "special", "pair"];

/** One head as the view needs it: its cells from LEAST on in row order, the sum of all, how many are not finite. */
export function readHead(matrix) {
  const { rows, cols, values, allowed } = matrix, at = [];
  const starts = new Uint32Array(rows + 1);
  let total = 0, broken = 0;
  for (let q = 0, i = 0; q < rows; q++) {
    starts[q] = at.length;
    for (let k = 0; k < cols; k++, i++) {
      if (!allowed[i]) continue;
      const w = values[i];
      if (!Number.isFinite(w)) { broken += 1; continue; }
      total += w;
      if (w >= LEAST) at.push(i);
    }
  }
  starts[rows] = at.length;
  return { matrix, cells: Uint32Array.from(at), starts, total, broken };
}

/** Why a cell is left out: 0 it is not; else an index of REASONS. What the visitor hides comes before the pair filter. */
function leftOut(view, q, k) {
  const { options, special, segments } = view;
  if (options.hideFirst && k === 0) return 1;
  if (options.hideSpecial && (special.query[q] || special.key[k])) return 2;
  if (segments && options.pairs.size < 4) {
    const from = segments[0][q], to = segments[1][k];
    if (from !== null && to !== null && !options.pairs.has(from * 2 + to)) return 3;
  }
  return 0;
}

/** view.lines: for each head that is on its lines, weakest first; view.account: the share of all weight behind each reason. */
export function chooseLines(view) {
  const { heads, on, options, rows, cols } = view;
  const why = new Uint8Array(rows * cols), sums = new Float64Array(REASONS.length);
  if (options.hideFirst || options.hideSpecial || (view.segments && options.pairs.size < 4)) {
    for (let q = 0, i = 0; q < rows; q++) for (let k = 0; k < cols; k++, i++) why[i] = leftOut(view, q, k);
  }
  view.why = why;
  let total = 0, shown = 0, count = 0;
  view.lines = heads.map((head, h) => {
    if (!on.has(h)) return null;
    const { values, allowed } = head.matrix;
    total += head.total;
    for (let i = 0; i < why.length; i++) if (why[i] && allowed[i] && Number.isFinite(values[i])) sums[why[i]] += values[i];
    const kept = [];
    for (let q = 0; q < rows; q++) {
      const row = [];
      for (let j = head.starts[q]; j < head.starts[q + 1]; j++) {
        const i = head.cells[j];
        if (!why[i] && values[i] >= options.from) row.push(i);
      }
      if (options.top && row.length > options.top) row.sort((a, b) => values[b] - values[a] || a - b).length = options.top;
      kept.push(...row);
    }
    for (const i of kept) shown += values[i];
    count += kept.length;
    kept.sort((a, b) => values[a] - values[b]);
    return Uint32Array.from(kept);
  });
  const share = (part) => (total > 0 ? part / total : 0);
  view.count = count;
  view.account = { shown: share(shown), first: share(sums[1]), special: share(sums[2]), pair: share(sums[3]) };
  view.account.faint = total > 0 ? Math.max(0, 1 - Object.values(view.account).reduce((sum, part) => sum + part, 0)) : 0;
}

export const classOf = (weight) => Math.min(CLASSES - 1, Math.floor(Math.min(1, weight) * CLASSES));

/** What `index` of `side` gives to (query) or gets from (key) each token of the other side: one array a head that is on.
 *  NaN marks what is not finite; -1 what is forbidden or left out. `hidden`: the share of its weight that is left out. */
export function looksOf(view, side, index) {
  const { rows, cols, heads, on, why } = view, count = side === "query" ? cols : rows;
  const looks = { weights: heads.map(() => null), top: new Float32Array(count), by: new Int16Array(count).fill(-1), hidden: 0, open: 0, broken: 0 };
  let all = 0, out = 0;
  heads.forEach(({ matrix: { values, allowed } }, h) => {
    if (!on.has(h)) return;
    const line = (looks.weights[h] = new Float32Array(count));
    for (let o = 0; o < count; o++) {
      const i = side === "query" ? index * cols + o : o * cols + index;
      line[o] = -1;
      if (!allowed[i]) continue;
      looks.open += 1;
      if (!Number.isFinite(values[i])) { looks.broken += 1; line[o] = NaN; continue; }
      all += values[i];
      if (why[i]) { out += values[i]; continue; }
      line[o] = values[i];
      if (looks.by[o] < 0 || values[i] > looks.top[o]) { looks.top[o] = values[i]; looks.by[o] = h; }
    }
  });
  looks.hidden = all > 0 ? out / all : 0;
  return looks;
}

export const headName = (name) => (typeof name === "number" ? say("head {name}", { name }) : name);
