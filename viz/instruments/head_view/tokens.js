// Labels on both sides, the touched token's weights beside the others, and the headings.

import { css, cut, inkOn, percent } from "../kit/common.js";
import { LEAST } from "./data.js";
import { SIDES } from "./place.js";

/** Which labels are drawn now: the touched token and what it looks at come first, then those that always stand. */
function chosenLabels(view, port, at, side) {
  const pos = view.pos[side], extent = view.extent[side], taken = new Uint8Array(Math.ceil(port.seen) + 2), drawn = [];
  const place = (i) => {
    const a = pos[i] - port.from - extent[i] / 2, b = a + extent[i];
    if (b < 0 || a > port.seen) return;
    const first = Math.max(0, Math.floor(a) + 1), last = Math.min(taken.length - 1, Math.ceil(b) - 1);
    for (let p = first; p < last; p++) if (taken[p]) return;
    taken.fill(1, first, last);
    drawn.push(i);
  };
  if (at?.side === side) place(at.index);
  if (view.mark?.side === side) place(view.mark.index);
  if (at && at.side !== side) {
    const { top } = view.looks;
    [...top.keys()].filter((i) => top[i] >= 0.02).sort((a, b) => top[b] - top[a]).forEach(place);
  }
  view.regular[side].forEach((i) => { if (!drawn.includes(i)) place(i); });
  return drawn;
}

/** How strong the ink of a label is: what the touched token does not look at steps back. */
function inkOf(view, side, i, at) {
  if (view.options.hideSpecial && view.special[side][i]) return 0.25;
  if (view.options.hideFirst && side === "key" && i === 0) return 0.25;
  if (!at) return 0.88;
  if (at.side === side) return at.index === i ? 1 : 0.5;
  const weight = view.looks.top[i];
  return weight >= 0.05 ? 1 : weight >= 0.01 ? 0.75 : 0.45;
}

export function paintTokens(pen, view, port, at) {
  let tightest = Infinity, count = 0;
  for (const side of SIDES) {
    const drawn = chosenLabels(view, port, at, side).sort((a, b) => view.pos[side][a] - view.pos[side][b]);
    drawn.forEach((i, n) => {
      paintLabel(pen, view, side, i, port, at);
      if (n) tightest = Math.min(tightest, view.pos[side][i] - view.pos[side][drawn[n - 1]] - (view.extent[side][i] + view.extent[side][drawn[n - 1]]) / 2);
    });
    count += drawn.length;
    if (view.segments) paintSegments(pen, view, side, port);
    if (at && at.side !== side) { paintStrips(pen, view, side, drawn, port); paintBeyond(pen, view, side, port); }
  }
  if (pen === view.over.getContext("2d")) Object.assign(view.root.dataset, { labels: count, gap: Number.isFinite(tightest) ? tightest.toFixed(1) : "" });
}

/** The middle of a label, `depth` pixels from the ends of the lines outwards. */
function spot(view, side, i, port, depth) {
  const along = view.pos[side][i] - port.from, across = view.cross[side] + view.outward[side] * depth;
  return view.columns ? [across, along] : [along, across];
}

function shortLabel(pen, text, most) {
  if (pen.measureText(text).width <= most) return text;
  const signs = [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)].map((s) => s.segment);
  while (signs.length > 1 && pen.measureText(`${signs.join("")}\u2026`).width > most) signs.pop();
  return `${signs.join("")}\u2026`;
}

function paintLabel(pen, view, side, i, port, at) {
  const { theme, columns, size } = view, me = at?.side === side && at.index === i, marked = view.mark?.side === side && view.mark.index === i;
  pen.font = `500 ${size.toFixed(1)}px ${theme.heading}`;
  pen.direction = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(view.words[side][i]) ? "rtl" : "ltr";   // each token for itself
  const text = columns ? shortLabel(pen, view.text[side][i], view.label[side]) : view.text[side][i];
  const wide = Math.min(pen.measureText(text).width, columns ? view.label[side] : Infinity) + 8, tall = Math.max(15, Math.min(size * 1.35, columns ? view.extent[side][i] + 4 : 99));
  const [x, y] = columns ? spot(view, side, i, port, 8 + wide / 2 - 4) : spot(view, side, i, port, size * 0.8 + 2);
  const weight = at && at.side !== side && view.on.size === 1 ? view.looks.top[i] : 0;
  let ink = css(theme.ink, inkOf(view, side, i, at));
  const box = () => { pen.beginPath(); pen.roundRect(x - wide / 2, y - tall / 2, wide, tall, 4); };
  if (weight >= 0.02) {
    const shade = view.single ? theme.sequential[Math.round(Math.min(1, weight) * 255)] : blend(theme.paper, view.inks[view.looks.by[i]].rgb, Math.min(1, weight));
    pen.fillStyle = css(shade);
    box(); pen.fill();
    ink = inkOn(shade, theme);
  }
  if (me || marked) {
    pen.strokeStyle = me ? theme.text : theme.primary;
    pen.lineWidth = me ? 2 : 1.5;
    box(); pen.stroke();
  }
  pen.fillStyle = ink;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  pen.fillText(text, x, y + 0.5);
  pen.direction = "ltr";
}

const blend = (one, other, share) => one.map((v, c) => Math.round(v + (other[c] - v) * share));

// ---------------------------------------------------------------- weights beside the tokens

/** One head: its percentage. Several: a small bar for each head at the head's own place, and the strongest with its name. */
function paintStrips(pen, view, side, drawn, port) {
  const { looks, columns, theme } = view, pos = view.pos[side], start = view.label[side] + 14;
  const loud = new Set(drawn);
  if (!columns) {                 // percentages of neighbours may touch: the largest come first
    const taken = [];
    loud.clear();
    drawn.filter((i) => looks.top[i] >= 0.02).sort((a, b) => looks.top[b] - looks.top[a]).slice(0, 12).forEach((i) => {
      const half = view.on.size > 1 && view.names.length > 1 ? 30 : 20;
      if (taken.every((p) => Math.abs(p - pos[i]) >= half * 2)) { taken.push(pos[i]); loud.add(i); }
    });
  }
  for (let i = 0; i < pos.length; i++) {
    const along = pos[i] - port.from;
    if (along < -30 || along > port.seen + 30) continue;
    if (view.slot && (drawn.includes(i) || columns)) paintBars(pen, view, side, i, along, start);
    if (!loud.has(i) || !(looks.top[i] >= 0.01) || !view.talk) continue;
    const named = view.on.size > 1, name = view.names[looks.by[i]], text = `${named ? `${typeof name === "number" ? `H${name}` : cut(name, 6)} ` : ""}${percent(looks.top[i]).replace("under ", "<").replace("over ", ">")}`;
    pen.font = `600 12px ${theme.font}`;
    pen.fillStyle = css(theme.ink, 0.85);
    pen.textBaseline = "middle";
    const depth = columns ? start + view.slot * view.names.length + (view.slot ? 4 : -4) : view.label[side] + view.slot + 14, [x, y] = spot(view, side, i, port, depth);
    pen.textAlign = columns ? (view.outward[side] < 0 ? "right" : "left") : "center";
    const half = pen.measureText(text).width / 2;      // the first and the last token's stay inside the picture
    pen.fillText(text, columns ? x : Math.max(half, Math.min(port.seen - half, x)), y + 0.5);
  }
}

function paintBars(pen, view, side, i, along, start) {
  const { looks, columns, names, theme } = view, tall = columns ? Math.min(view.pitch - 3, 15) : view.slot - 4;
  const unit = columns ? view.slot : Math.min(10, Math.max(2.5, (view.extent[side][i] - 4) / names.length)), bar = Math.max(1.5, unit - (unit > 5 ? 3 : 1));
  const foot = columns ? along + tall / 2 : view.cross[side] + view.outward[side] * (view.label[side] + 6) + (view.outward[side] > 0 ? tall : 0);
  const left = columns ? view.cross[side] + (view.outward[side] < 0 ? -start - unit * names.length : start) : along - (unit * names.length) / 2;
  if (!(looks.top[i] >= 0.01) && !looks.broken) return;
  pen.fillStyle = css(theme.ink, 0.2);
  pen.fillRect(left, foot, unit * names.length, 1);
  looks.weights.forEach((line, h) => {
    if (!line) return;
    const weight = line[i], x = left + h * unit + (unit - bar) / 2;
    pen.fillStyle = view.inks[h].colour;
    if (Number.isNaN(weight)) {
      pen.strokeStyle = theme.text; pen.lineWidth = 1;
      pen.beginPath(); pen.moveTo(x, foot - bar - 1); pen.lineTo(x + bar, foot - 1); pen.moveTo(x + bar, foot - bar - 1); pen.lineTo(x, foot - 1); pen.stroke();
    } else if (weight >= LEAST) {
      const high = Math.max(1.5, Math.min(1, weight) * tall);
      pen.fillRect(x, foot - high, bar, high);
    }
  });
}

/** What the touched token looks at outside the window, said at the edge: a mean over the heads that are on. */
function paintBeyond(pen, view, side, port) {
  const { looks, theme, columns } = view, pos = view.pos[side], low = columns ? view.top - 4 : 0, sums = [0, 0];
  for (const line of looks.weights) line?.forEach((weight, i) => {
    const along = pos[i] - port.from;
    if (weight > 0 && along < low) sums[0] += weight;
    if (weight > 0 && along > port.seen) sums[1] += weight;
  });
  view.root.dataset.beyond = sums.map((sum) => (sum / view.on.size).toFixed(3)).join();
  sums.forEach((sum, end) => {
    const share = looks.side === "query" ? percent(sum / view.on.size) : (sum / view.on.size).toFixed(2);
    if (sum / view.on.size < 0.01) return;
    const text = columns ? `${end ? "\u2193" : "\u2191"} ${share}` : end ? `${share} \u2192` : `\u2190 ${share}`;
    pen.font = `600 12px ${theme.font}`;
    const wide = pen.measureText(text).width + 14, across = view.cross[side] - view.outward[side] * (columns ? wide / 2 + 4 : 16);
    const along = end ? port.seen - (columns ? 13 : wide / 2 + 2) : low + (columns ? 13 : wide / 2 + 2), [x, y] = columns ? [across, along] : [along, across];
    pen.fillStyle = theme.text;
    pen.beginPath(); pen.roundRect(x - wide / 2, y - 10, wide, 20, 10); pen.fill();
    pen.fillStyle = theme.background;
    pen.textAlign = "center"; pen.textBaseline = "middle";
    pen.fillText(text, x, y + 0.5);
  });
}

// ---------------------------------------------------------------- headings and segments

/** The letter of each sentence of a pair where it begins, and a rule between. */
function paintSegments(pen, view, side, port) {
  const marks = view.segments[SIDES.indexOf(side)], pos = view.pos[side], { theme } = view;
  marks.forEach((mark, i) => {
    const before = i ? marks[i - 1] : null;
    if (mark === null || mark === before) return;
    const edge = i && before !== null ? (pos[i] + pos[i - 1]) / 2 - port.from : null, far = view.label[side] + 10;
    if (edge !== null) {
      pen.strokeStyle = css(theme.ink, 0.35); pen.lineWidth = 1;
      pen.beginPath();
      const [a, b] = [view.cross[side] + view.outward[side] * 4, view.cross[side] + view.outward[side] * far];
      if (view.columns) { pen.moveTo(a, edge); pen.lineTo(b, edge); } else { pen.moveTo(edge, a); pen.lineTo(edge, b); }
      pen.stroke();
    }
    const [x, y] = view.columns ? spot(view, side, i, port, -7) : [pos[i] - port.from, view.cross[side] - view.outward[side] * 9];
    pen.fillStyle = theme.background;
    pen.beginPath(); pen.roundRect(x - 7, y - 8, 14, 16, 4); pen.fill();
    pen.font = `700 12px ${theme.font}`; pen.fillStyle = css(theme.ink, 0.66);
    pen.textAlign = "center"; pen.textBaseline = "middle";
    pen.fillText("AB"[mark], x, y + 0.5);
  });
}

export function paintHeadings(pen, view) {
  const { theme, columns } = view;
  pen.textBaseline = "middle";
  SIDES.forEach((side, s) => {
    pen.font = `600 12px ${theme.font}`; pen.fillStyle = css(theme.ink, 0.62);
    const name = view.head.axis[s], out = view.outward[side];
    if (!columns) {
      const right = view.fromRight[side], free = (view.paneW - Math.abs(view.pos[side].at(-1) - view.pos[side][0])) / 2 - view.size * 3;
      pen.textAlign = right ? "right" : "left";   // beside its row where there is room, else at the edge
      return pen.fillText(name, right ? view.paneW - 6 : 6, free > pen.measureText(name).width + 12 ? view.cross[side] + out * (view.size * 0.8 + 2) : side === "key" ? 9 : view.breadth - 9);
    }
    pen.textAlign = out < 0 ? "right" : "left";
    pen.fillText(name, view.cross[side] + out * 8, 12);
    if (!view.slot || view.slot < 8 || !view.touched || view.touched.side === side) return;
    pen.font = `600 10px ${theme.font}`;
    pen.textAlign = "center";
    const start = view.label[side] + 14, left = view.cross[side] + (out < 0 ? -start - view.slot * view.names.length : start);
    view.names.forEach((name_, h) => {
      const middle = left + (h + 0.5) * view.slot, on = view.on.has(h);
      pen.fillStyle = css(theme.ink, on ? 0.85 : 0.3);
      pen.fillText(typeof name_ === "number" ? String(name_) : cut(name_, 2), middle, 10);
      if (!on) return;
      pen.fillStyle = view.inks[h].colour;
      pen.fillRect(middle - view.slot / 2 + 1.5, 18, view.slot - 3, 3);
    });
  });
}
