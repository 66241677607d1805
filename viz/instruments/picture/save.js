// What a picture saves: the page as it stands with its canvases, the weights, and the pixels they lie on.

import { paintAt, paintElement } from "../kit/save/dom_pen.js";
import { exactness, matrixArrays } from "../kit/save/npz.js";

export function saving(view) {
  const { root, bar, theme } = view;
  return {
    bar,
    size: () => [root.clientWidth, root.scrollHeight],
    paint(pen) {
      for (const canvas of root.querySelectorAll("canvas")) if (canvas.getClientRects().length) paintAt(pen, canvas, root, (w) => paintImage(pen, canvas, w));
      paintElement(pen, root, root, theme);
    },
    header: () => ({ selected: view.at.index, url: null }),
    arrays: () => ({
      ...matrixArrays(view.matrix, view.head.asks ?? view.head.keys, view.head.keys),
      pixels: { shape: view.head.image, values: view.image.bytes, axes: ["row", "column", "colour"].slice(0, view.head.image.length) },
      cells: { shape: [2], values: Int32Array.from(view.head.cells), axes: ["rows, columns"] },
    }),
    rows: () => savedRows(view),
  };
}

function paintImage(pen, canvas, w) {
  pen.imageSmoothingEnabled = false;
  pen.drawImage(canvas.image, 0, 0, w, (w * canvas.clientHeight) / canvas.clientWidth);
}

function savedRows({ matrix, head }) {
  const known = exactness(matrix), [, across] = head.cells, out = [["query position", "key position", "query", "key", "cell row", "cell column", known ? `weight (${known})` : "weight"]];
  for (let q = 0, i = 0; q < matrix.rows; q++) for (let k = 0; k < matrix.cols; k++, i++) {
    const cell = k - head.special, place = cell < 0 ? ["", ""] : [Math.floor(cell / across), cell % across];
    out.push([q, k, (head.asks ?? head.keys)[q], head.keys[k], ...place, matrix.allowed[i] ? matrix.values[i] : ""]);
  }
  return out;
}
