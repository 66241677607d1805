// Bars at the rim of a pattern: the weight that each key receives (below), how spread each query looks (at the right).

import { clipped, css, percent, rgb } from "../kit/common.js";
import { shownColumn, shownRow } from "../kit/matrix/paint.js";
import { plainAxis, xOf, yOf } from "../kit/matrix/places.js";
import { say } from "../kit/words.js";

export const RIM = { right: 64, bottom: 52 };     // pixels beside and below the cells
const BAR = { right: 44, bottom: 30, gap: 7, thick: 16 };

/**
 * From the weights as shown: `received` of each key (the sum of its column), `entropy` of each query in bits, `most`,
 * the entropy of an even look at all that the query may see, and `totals`, the sum of each row. A row with a value that is no number has none.
 */
export function readMargins({ rows, cols, values, allowed }) {
  const received = new Float64Array(cols), entropy = new Float64Array(rows), most = new Float64Array(rows), totals = new Float64Array(rows);
  for (let r = 0; r < rows; r++) {
    let sum = 0, part = 0, open = 0;
    for (let c = 0, i = r * cols; c < cols; c++, i++) {
      const w = values[i];
      open += allowed[i];
      if (!allowed[i] || w === 0) continue;
      sum += w;
      part -= w * Math.log2(w);
      received[c] += Number.isFinite(w) ? w : 0;
    }
    totals[r] = sum;
    most[r] = open > 1 ? Math.log2(open) : 0;
    entropy[r] = sum > 0 ? Math.max(0, part / sum + Math.log2(sum)) : sum === 0 ? 0 : NaN;   // of the shares w / sum
  }
  return { received, entropy, most, totals, bits: Math.max(...most), top: Math.max(...received) };
}

/** Where a bar begins beside its cell, and how thick it is. */
function barOf(unit) {
  const thick = Math.min(BAR.thick, unit < 6 ? Math.max(0.5, unit) : unit - 2);
  return [(unit - thick) / 2, thick];
}

/** Entropy of row `r`: a bar, and a tick at the largest possible. */
function queryBar(pen, view, r, colour) {
  const { margins, unit, edgeX } = view, i = view.first[0] + r, y = yOf(view, r), x = edgeX + BAR.gap, [inset, thick] = barOf(unit);
  const long = (bits) => (margins.bits ? (bits / margins.bits) * BAR.right : 0);
  pen.fillStyle = colour;
  if (margins.entropy[i] > 0) pen.fillRect(x, y + inset, Math.max(1, long(margins.entropy[i])), thick);
  pen.fillStyle = css(rgb(view.theme.text), 0.6);
  pen.fillRect(x + long(margins.most[i]), y, 1, unit);
}

/** The weight that column `c` receives. */
function keyBar(pen, view, c, colour) {
  const { margins, across, edgeY } = view, weight = margins.received[view.first[1] + c], [inset, thick] = barOf(across);
  pen.fillStyle = colour;
  if (weight > 0) pen.fillRect(xOf(view, c) + inset, edgeY + BAR.gap, thick, Math.max(1, (weight / margins.top) * BAR.bottom));
}

function withinRim(pen, { edgeX, edgeY, left, top }, atRight, draw) {
  if (atRight) clipped(pen, edgeX, top - 1, BAR.gap + BAR.right + 3, edgeY - top + 2, draw);
  else clipped(pen, left - 1, edgeY, edgeX - left + 2, BAR.gap + BAR.bottom + 2, draw);
}

/** The bars of all rows and columns that are seen. */
export function paintMargins(pen, view) {
  const ink = css(rgb(view.theme.text), 0.34);
  withinRim(pen, view, true, () => { for (let r = 0; r < view.rows; r++) if (shownRow(view, r)) queryBar(pen, view, r, ink); });
  withinRim(pen, view, false, () => { for (let c = 0; c < view.cols; c++) if (shownColumn(view, c)) keyBar(pen, view, c, ink); });
}

/** The bars of one place, over the others. */
export function paintMarked(pen, view, [r, c]) {
  const accent = view.theme.dark ? css(view.theme.sequential[190]) : view.theme.primary;
  if (r >= 0) withinRim(pen, view, true, () => queryBar(pen, view, r, accent));
  if (c >= 0) withinRim(pen, view, false, () => keyBar(pen, view, c, accent));
}

/** The two axes of the bars: a line at nothing, and their names with the number at the other end. */
export function paintMarginNames(pen, view) {
  const { margins, theme, edgeX, edgeY, left, top } = view, quiet = css(rgb(theme.text), 0.62);
  pen.fillStyle = theme.border;
  pen.fillRect(edgeX + BAR.gap - 1, top, 1, edgeY - top);
  pen.fillRect(left, edgeY + BAR.gap - 1, edgeX - left, 1);
  pen.fillStyle = quiet; pen.textBaseline = "middle";
  const write = (words, x, y, most, weight = "") => { pen.font = `${weight}12px ${theme.font}`; pen.fillText(words, x, y, most); };
  pen.textAlign = "left";
  write(say("entropy"), edgeX + BAR.gap, edgeY + BAR.gap + 8, RIM.right - BAR.gap, "600 ");
  write(say("0\u2013{n} bits", { n: margins.bits.toFixed(1) }), edgeX + BAR.gap, edgeY + BAR.gap + 23, RIM.right - BAR.gap);
  pen.textAlign = "right";
  write(say("received"), left - 8, edgeY + BAR.gap + 8, left - 8, "600 ");
  write(`0\u2013${short(margins.top)}`, left - 8, edgeY + BAR.gap + 23, left - 8);
}

const short = (number) => String(Number(number.toPrecision(number < 0.1 ? 1 : 2)));

/** What the bars of a place say, as facts for the tip: [name, value]. */
export function marginFacts(view, [r, c]) {
  const { margins } = view, facts = [], about = view.data.kind === "f32" ? "" : "\u2248 ";
  if (r >= 0) {
    const bits = margins.entropy[r], most = margins.most[r].toFixed(2);
    view.root.dataset.entropy = bits;
    facts.push([say("entropy of this {unit}", { unit: plainAxis(view, 0) }), Number.isFinite(bits) ? say("{bits} of at most {most} bits", { bits: `${about}${bits.toFixed(2)}`, most }) : say("not a finite number")]);
  }
  if (r >= 0 && view.head.sink && Number.isFinite(margins.totals[r])) {
    view.root.dataset.sunk = 1 - margins.totals[r];
    facts.push([say("taken by the learned sink"), say("{share}; the keys have {rest}", { share: `${about}${percent(Math.max(0, 1 - margins.totals[r]))}`, rest: percent(margins.totals[r]) })]);
  }
  if (c >= 0) {
    const all = margins.received.reduce((sum, w) => sum + w, 0);
    view.root.dataset.received = margins.received[c];
    facts.push([say("received by this {unit}", { unit: plainAxis(view, 1) }), say("{number}, {share} of all", { number: `${about}${margins.received[c].toPrecision(3)}`, share: percent(all ? margins.received[c] / all : 0) })]);
  }
  return facts;
}
