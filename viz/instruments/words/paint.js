// Lines and arcs of the word picture, on one canvas behind the words.

export const CLEAR = 0.05;      // a weight from here on gets its percentage
const FAINT = 0.12;      // lines of the words that are not touched

/** The lines of text in which the words stand, from above: {top, bottom, gaps}, gaps being where one may pass between two words or beside them. */
export function linesOf(words) {
  const lines = [];
  for (const { box: { x, y, w, h } } of words) {
    const line = lines.find((other) => Math.abs(other.middle - y - h / 2) < h / 2) ?? lines[lines.push({ middle: y + h / 2, top: Infinity, bottom: 0, boxes: [] }) - 1];
    Object.assign(line, { top: Math.min(line.top, y), bottom: Math.max(line.bottom, y + h) });
    line.boxes.push([x, x + w]);
  }
  for (const line of lines) {
    const sorted = line.boxes.sort((a, b) => a[0] - b[0]);
    line.gaps = [sorted[0][0] - 5, ...sorted.slice(1).map(([x], i) => (x + sorted[i][1]) / 2), sorted.at(-1)[1] + 5];
  }
  return lines.sort((a, b) => a.top - b.top);
}

/** From `from` down to `to`, straight through each of `lines` of words on the way, at the gap nearest to the way: never behind a word. */
function curve(pen, from, to, bend, lines = []) {
  let at = from;
  const bow = (end, least) => {
    const by = least(end.y - at.y);
    pen.bezierCurveTo(at.x, at.y + by, end.x, end.y - by, end.x, end.y);
    at = end;
  };
  pen.beginPath();
  pen.moveTo(from.x, from.y);
  for (const { top, bottom, gaps } of lines.filter((line) => line.top > from.y && line.bottom < to.y)) {
    const wish = at.x + (to.x - at.x) * ((top - at.y) / (to.y - at.y)), x = gaps.reduce((best, gap) => (Math.abs(gap - wish) < Math.abs(best - wish) ? gap : best));
    bow({ x, y: top }, (tall) => tall * 0.5);
    pen.lineTo(x, bottom);
    at = { x, y: bottom };
  }
  bow(to, bend);
  pen.stroke();
}

/** Two rows: from the bottom of a source word to the top of a target word. */
export function paintLines(pen, view, theme, touched) {
  const { sources, targets, matrix, rows } = view, lines = [...view.lines.source, ...view.lines.target];
  const crowded = view.root.dataset.flow === "wrap", faint = crowded ? 0.3 : FAINT;
  const line = (target, source, weight, strong) => {
    const from = sources[source].box, to = targets[target].box;
    const a = { x: from.x + from.w / 2, y: from.y + from.h + 3 }, b = { x: to.x + to.w / 2, y: to.y - 3 };
    pen.strokeStyle = strong ? theme.line : theme.text;
    pen.globalAlpha = strong ? 0.22 + 0.78 * weight : (0.05 + 0.1 * weight) * (crowded ? 0.5 : 1);
    pen.lineWidth = strong ? 1 + 5 * weight : 1 + weight;
    curve(pen, a, b, (tall) => Math.max(24, tall * 0.5), lines);
  };
  pen.lineCap = "round";
  const strong = [];
  rows.forEach((row, target) => {
    if (row < 0) return;
    for (let source = 0; source < matrix.cols; source++) {
      const weight = matrix.values[row * matrix.cols + source];
      const mine = touched.side === "target" ? touched.index === target : touched.index === source;
      if (mine && weight >= 0.015) strong.push([weight, target, source]);
      else if (!mine && weight >= faint) line(target, source, weight, false);
    }
  });
  strong.sort((a, b) => a[0] - b[0]).forEach(([weight, target, source]) => line(target, source, weight, true));
  pen.globalAlpha = 1;
}

/** One flowing row: arcs above the line within a line, curves between lines. */
export function paintArcs(pen, view, theme, touched) {
  const { targets, matrix, rows, rise } = view;
  const row = rows[touched.index];
  if (row < 0) return;
  const from = targets[touched.index].box;
  const looks = [];
  for (let key = 0; key < matrix.cols; key++) {
    const weight = matrix.values[row * matrix.cols + key];
    if (key !== touched.index && weight >= 0.01) looks.push([weight, targets[key].box]);
  }
  const bend = (tall) => Math.max(14, tall * 0.45);
  pen.lineCap = "round";
  for (const [weight, to] of looks.sort((a, b) => a[0] - b[0])) {
    pen.strokeStyle = theme.line;
    pen.globalAlpha = 0.22 + 0.78 * weight;
    pen.lineWidth = 1 + 5 * weight;
    const a = { x: from.x + from.w / 2, y: from.y - 2 }, b = { x: to.x + to.w / 2, y: to.y - 2 };
    if (Math.abs(a.y - b.y) < from.h / 2) {
      const up = Math.min(rise, 12 + Math.abs(a.x - b.x) * 0.16);
      pen.beginPath();
      pen.moveTo(a.x, a.y);
      pen.bezierCurveTo(a.x, a.y - up * 1.3, b.x, b.y - up * 1.3, b.x, b.y);
      pen.stroke();
    } else if (b.y < a.y) {
      curve(pen, { x: b.x, y: to.y + to.h + 2 }, a, bend, view.lines.target);
    } else {
      curve(pen, { x: a.x, y: from.y + from.h + 2 }, b, bend, view.lines.target);
    }
  }
  pen.globalAlpha = 1;
}
