// Lines and arcs of the word picture, on one canvas behind the words.

const CLEAR = 0.05;      // a weight from here on gets its percentage
const FAINT = 0.12;      // lines of the words that are not touched

function curve(pen, from, to, bend) {
  pen.beginPath();
  pen.moveTo(from.x, from.y);
  pen.bezierCurveTo(from.x, from.y + bend, to.x, to.y - bend, to.x, to.y);
  pen.stroke();
}

/** Two rows: from the bottom of a source word to the top of a target word. */
function paintLines(pen, view, theme, touched) {
  const { sources, targets, matrix, rows } = view;
  const crowded = view.root.dataset.flow === "wrap", faint = crowded ? 0.3 : FAINT;
  const line = (target, source, weight, strong) => {
    const from = sources[source].box, to = targets[target].box;
    const a = { x: from.x + from.w / 2, y: from.y + from.h + 3 }, b = { x: to.x + to.w / 2, y: to.y - 3 };
    pen.strokeStyle = strong ? theme.line : theme.text;
    pen.globalAlpha = strong ? 0.22 + 0.78 * weight : (0.05 + 0.1 * weight) * (crowded ? 0.5 : 1);
    pen.lineWidth = strong ? 1 + 5 * weight : 1 + weight;
    curve(pen, a, b, Math.max(24, (b.y - a.y) * 0.5));
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
function paintArcs(pen, view, theme, touched) {
  const { targets, matrix, rows, rise } = view;
  const row = rows[touched.index];
  if (row < 0) return;
  const from = targets[touched.index].box;
  const looks = [];
  for (let key = 0; key < matrix.cols; key++) {
    const weight = matrix.values[row * matrix.cols + key];
    if (key !== touched.index && weight >= 0.01) looks.push([weight, targets[key].box]);
  }
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
      curve(pen, { x: b.x, y: to.y + to.h + 2 }, a, Math.max(14, (a.y - to.y - to.h) * 0.45));
    } else {
      curve(pen, { x: a.x, y: from.y + from.h + 2 }, b, Math.max(14, (b.y - from.y - from.h) * 0.45));
    }
  }
  pen.globalAlpha = 1;
}
