// What the plane saves: both boards and what stands beside them, the vectors, scores, weights and the mix.

import { paintAt, paintElement } from "../kit/save/dom_pen.js";
import { paintBoard } from "./paint.js";
import { say } from "../kit/words.js";

export function savingPlane(view, packet) {
  const { head, root } = view, names = head.points.map(({ name }) => name), words = head.task === "sum";
  return {
    name: head.title || say("Vectors"), code: head.python, bar: view.title, packet,
    changed: () => ({ header: { ...packet.header, points: head.points.map((point, i) => ({ ...point, at: view.points[i] })), values: head.values && view.values }, parts: packet.parts }),
    size: () => { const { width, height } = root.getBoundingClientRect(); return [width, height]; },
    paint: (pen) => {
      paintElement(pen, root, root, view.theme);
      for (const where of [view.left, view.right]) if (!where.box.hidden) paintAt(pen, where.field, root, (wide) => paintBoard(view, where, pen, wide));
    },
    rows: () => words
      ? [["word", "x", "y"], ...names.map((name, i) => [name, ...view.points[i]]), ["sum", ...view.found.target]]
      : [["name", "role", "x", "y", "score", "weight"], ...points(view)],
    arrays: () => {
      const flat = (rows) => Float64Array.from(rows.flat()), { found } = view;
      const all = { names: { shape: [names.length], values: names }, points: { shape: [names.length, 2], values: flat(view.points), axes: ["point", "axis"] } };
      if (words) return { ...all, sum: { shape: [2], values: flat(found.target), axes: ["axis"] } };
      const { scores, weights } = found.every[head.drawn_score];
      return {
        ...all, scores: { shape: [scores.length], values: flat(scores), axes: ["key"] }, weights: { shape: [weights.length], values: flat(weights), axes: ["key"] },
        mix: { shape: [found.mix.length], values: flat(found.mix), axes: ["axis"] }, ...(view.values.length ? { values: { shape: [view.values.length, 2], values: flat(view.values), axes: ["key", "axis"] } } : {}),
      };
    },
  };
}

function points(view) {
  const { head, found } = view, { scores, weights } = found.every[head.drawn_score];
  let key = -1;
  return head.points.map(({ name, role }, i) => [name, role, ...view.points[i], ...(role === "key" ? [scores[(key += 1)], weights[key]] : ["", ""])]);
}
