// What a sketch saves: the doodle that the model reads, as pixels and as the text that can be read again.

import { say } from "../kit/words.js";

const LARGE = 280, UNDER = 44;

export function saving(view) {
  const { head: { side, doodle }, pixels, theme } = view;
  return {
    name: view.head.title || say("Doodle"),
    size: () => [LARGE, LARGE + UNDER],
    paint(pen) {
      pen.imageSmoothingEnabled = false;
      pen.drawImage(view.image, 0, 0, LARGE, LARGE);
      Object.assign(pen, { font: `13px ${theme.font}`, fillStyle: theme.text, textAlign: "left", textBaseline: "middle" });
      pen.fillText(say("What the model reads: {side} \u00d7 {side} pixels", { side }), 0, LARGE + 16);
      pen.fillText(say("white: 255, black: 0"), 0, LARGE + 34);
    },
    header: () => ({ hint: "" }),
    arrays: () => ({
      brightness: { shape: [side, side], values: Float32Array.from(pixels, (v) => v / 255), axes: ["row", "column"] },
      doodle: { shape: [1], values: [doodle] },
    }),
    rows: () => [["row", "column", "brightness (0 to 255)"], ...Array.from(pixels, (v, i) => [Math.floor(i / side), i % side, v])],
  };
}
