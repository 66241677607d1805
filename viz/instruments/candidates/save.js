// What the bars save: the picture, the table, the numbers.

import { paintElement } from "../kit/save/dom_pen.js";
import { say } from "../kit/words.js";

export function saving(view) {
  const { head, root, theme } = view, rows = head.rows, told = rows.some((row) => row.way), stages = 1 + head.filters.length;
  const column = (name) => Float32Array.from(rows, (row) => row[name]);
  return {
    name: say("What comes next, step {n}", { n: head.step + 1 }), bar: view.bar,
    size: () => { const { width, height } = root.getBoundingClientRect(); return [width, height]; },
    paint: (pen) => paintElement(pen, root, root, theme),
    rows: () => [["token", "id", "probability", "after filters", "cut", "taken", ...(told ? ["logit", ...head.filters, "cut by the rule"] : [])],
      ...rows.map((row) => [row.token, row.id ?? "", row.before, row.after, row.cut, row.id === head.taken_id ? "taken" : "",
        ...(row.way ? [...row.way.scores.map((score) => score ?? ""), row.way.rule] : [])])],
    arrays: () => ({
      tokens: { shape: [rows.length], values: rows.map((row) => row.token) },
      ids: { shape: [rows.length], values: Int32Array.from(rows, (row) => row.id ?? -1), axes: ["candidate"] },
      before: { shape: [rows.length], values: column("before"), axes: ["candidate"] },
      after: { shape: [rows.length], values: column("after"), axes: ["candidate"] },
      ...(told ? { scores: { shape: [rows.length, stages], axes: ["candidate", "stage"],
        values: Float32Array.from(rows.flatMap(({ way }) => (way ? way.scores.map((score) => score ?? -Infinity) : Array(stages).fill(NaN)))) } } : {}),
    }),
  };
}
