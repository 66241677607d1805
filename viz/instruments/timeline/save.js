// What the timeline saves.

import { paintElement } from "../kit/save/dom_pen.js";
import { paintCurves, TELL } from "./paint.js";

export function saving(view) {
  const { head, packet, root, theme } = view, names = ["p", "surprise", "entropy"];
  const column = (name) => Float32Array.from(head.moments, (moment) => moment[name]);
  return {
    name: head.title || "Steps", bar: view.bar, code: head.python, packet,
    size: () => { const { width, height } = root.getBoundingClientRect(); return [width, height]; },
    paint: (pen) => {
      paintElement(pen, root, root, theme);
      if (view.field.hidden) return;
      const home = root.getBoundingClientRect(), spot = view.field.getBoundingClientRect();
      pen.save();
      pen.translate(spot.left - home.left, spot.top - home.top);
      paintCurves(view, pen);
      pen.restore();
    },
    rows: () => [["step", "token", "probability", "surprisal, bits", "entropy, bits", "why"],
      ...head.moments.map((m, i) => [i + 1, m.token, m.p, m.surprise, m.entropy, m.why])],
    arrays: () => ({
      tokens: { shape: [head.moments.length], values: head.moments.map(({ token }) => token) },
      ...Object.fromEntries(names.map((name) => [TELL[name], { shape: [head.moments.length], values: column(name), axes: ["step"] }])),
    }),
  };
}
