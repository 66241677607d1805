// What the timeline saves.

import { paintAt, paintElement } from "../kit/save/dom_pen.js";
import { paintCurves, TELL } from "./paint.js";
import { say } from "../kit/words.js";

export function saving(view) {
  const { head, root, theme } = view, names = ["p", "surprise", "entropy"];
  const column = (name) => Float32Array.from(head.moments, (moment) => moment[name]);
  return {
    name: head.title || say("Steps"), bar: view.bar,
    size: () => { const { width, height } = root.getBoundingClientRect(); return [width, height]; },
    paint: (pen) => {
      paintElement(pen, root, root, theme);
      if (!view.field.hidden) paintAt(pen, view.field, root, () => paintCurves(view, pen));
    },
    rows: () => [["step", "token", "probability", "surprisal, bits", "entropy, bits", "why"],
      ...head.moments.map((m, i) => [i + 1, m.token, m.p, m.surprise, m.entropy, m.note])],
    arrays: () => ({
      tokens: { shape: [head.moments.length], values: head.moments.map(({ token }) => token) },
      ...Object.fromEntries(names.map((name) => [TELL[name], { shape: [head.moments.length], values: column(name), axes: ["step"] }])),
    }),
  };
}
