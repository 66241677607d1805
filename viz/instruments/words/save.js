// What the word picture saves: the picture with its sentence, and the weights of the words that are drawn.

import { codeOf } from "../kit/page/packets.js";
import { paintElement } from "../kit/save/dom_pen.js";
import { matrixArrays, matrixRows } from "../kit/save/npz.js";
import { saveMenu } from "../kit/save/save.js";
import { paintArcs, paintLines } from "./paint.js";

export function saveWords(view, packet) {
  const { head, matrix } = view;
  saveMenu(view, view.foot, {
    size: () => wordsSheet(view).size,
    paint: (pen) => paintWords(pen, view),
    arrays: () => { const { words, drawn } = drawnRows(view); return matrixArrays(drawn, words, head.keys); },
    rows: () => { const { words, drawn } = drawnRows(view); return matrixRows(drawn, words, head.keys); },
    code: codeOf(head),
    packet,
    header: () => ({ start: [view.touched.side, view.touched.index], height: null }),
  });

  /** The rows of the matrix that belong to drawn words, in the order of the words. */
  function drawnRows() {
    const words = [], rows = [];
    view.rows.forEach((row, i) => { if (row >= 0) { rows.push(row); words.push(view.targets[i].word); } });
    const gather = (from) => rows.reduce((out, row, i) => { out.set(from.subarray(row * matrix.cols, (row + 1) * matrix.cols), i * matrix.cols); return out; }, new from.constructor(rows.length * matrix.cols));
    return { words, drawn: { ...matrix, rows: rows.length, values: gather(matrix.values), allowed: gather(matrix.allowed) } };
  }
}

/** The whole stage (more of it than is seen where it scrolls), sentence and note, one under the other. */
function wordsSheet(view) {
  const tall = (element) => (element.textContent ? element.offsetHeight + 8 : 0);
  const { stage, sentence, note } = view, middle = stage.offsetHeight + 12;
  return { size: [Math.max(stage.offsetWidth, sentence.offsetWidth), middle + sentence.offsetHeight + tall(note)], middle };
}

function paintWords(pen, view) {
  const { size: [width, height], middle } = wordsSheet(view), { stage, sentence, note, theme } = view;
  const at = (y, element, home = element) => {
    pen.save();
    pen.translate(element === sentence ? (width - sentence.offsetWidth) / 2 : 0, y);
    paintElement(pen, element, home, theme);
    pen.restore();
  };
  if (view.targets[0]?.box) (view.one ? paintArcs : paintLines)(pen, view, theme, view.touched);
  at(0, stage);
  at(middle, sentence);
  at(height - note.offsetHeight, note);
}
