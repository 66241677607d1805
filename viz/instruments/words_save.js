// What the word picture saves: the picture with its sentence, and the weights of the words that are drawn.

function saveWords(view, packet) {
  const { head, matrix } = view;
  saveMenu(view, view.foot, {
    name: head.caption || `Attention ${view.targets.slice(0, 6).map((w) => w.word).join(" ")}`,
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

/** Caption, the whole stage (more of it than is seen where it scrolls), sentence and note, one under the other. */
function wordsSheet(view) {
  const tall = (element) => (element.textContent ? element.offsetHeight + 8 : 0);
  const { caption, stage, sentence, note } = view, top = tall(caption), middle = top + stage.offsetHeight + 12;
  const width = Math.max(stage.offsetWidth, sentence.offsetWidth, caption.textContent ? caption.offsetWidth : 0);
  return { size: [width, middle + sentence.offsetHeight + tall(note)], top, middle };
}

function paintWords(pen, view) {
  const { size: [width, height], top, middle } = wordsSheet(view), { caption, stage, sentence, note, theme } = view;
  const at = (y, element, home = element) => {
    pen.save();
    pen.translate(element === sentence ? (width - sentence.offsetWidth) / 2 : 0, y);
    paintElement(pen, element, home, theme);
    pen.restore();
  };
  at(0, caption);
  pen.save();
  pen.translate(0, top);
  if (view.targets[0]?.box) (view.one ? paintArcs : paintLines)(pen, view, theme, view.touched);
  pen.restore();
  at(top, stage);
  at(middle, sentence);
  at(height - note.offsetHeight, note);
}
