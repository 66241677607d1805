// The window into a long text whose cells are drawn; of a short text it is all of it.

import { cut, speak } from "../kit/common.js";
import { inviting, setMatrix } from "../kit/matrix/matrix.js";
import { plainAxis } from "../kit/matrix/places.js";
import { inCell, shade } from "./tell.js";
import { say } from "../kit/words.js";

const WHOLE = 128;                        // up to so many tokens no overview is needed
const SMALLEST = 8, LARGEST_WINDOW = 128;

/** The window that is open: kept while the text is as long as it was, and moved to a cell that was chosen outside of it. */
export function openWindow(view) {
  const { rows, cols } = view.data, long = Math.max(rows, cols) > WHOLE, size = `${rows}x${cols}`;
  const start = Math.max(rows, cols) > 512 ? 48 : 32;
  if (view.whole !== size) view.window = long ? inside(view, view.head.window ?? { r: 0, c: 0, h: start, w: start }) : { r: 0, c: 0, h: rows, w: cols };
  const fresh = view.whole !== size || String(view.chosen) !== String(view.followed);
  view.whole = size;
  view.followed = view.chosen;
  if (long && view.chosen && fresh && !contains(view.window, view.chosen)) {
    const { h, w } = view.window, [r, c] = view.chosen;
    view.window = inside(view, { r: Math.round(r - h / 2), c: Math.round(c - w / 2), h, w });
  }
  return long;
}

export const contains = ({ r, c, h, w }, at) => at[0] >= r && at[0] < r + h && at[1] >= c && at[1] < c + w;

/** A window of a size that can be drawn, moved to where the text is. */
export function inside({ data: { rows, cols } }, { r, c, h, w }) {
  const size = (n, all) => Math.max(Math.min(SMALLEST, all), Math.min(Math.round(n), LARGEST_WINDOW, all));
  const tall = size(h, rows), wide = size(w, cols);
  const at = (x, n, all) => Math.max(0, Math.min(Math.round(x), all - n));
  return { r: at(r, tall, rows), c: at(c, wide, cols), h: tall, w: wide };
}

/** The cells of the window, row after row. */
export function windowOf({ window: { r, c, h, w }, data }, values) {
  const out = new values.constructor(h * w);
  for (let i = 0; i < h; i++) out.set(values.subarray((r + i) * data.cols + c, (r + i) * data.cols + c + w), i * w);
  return out;
}

/** The window of the matrix (all of it up to 128 tokens) becomes the contents of the grid. */
export function showWindow(view) {
  const { head, data, now, theme, words, window: { r, c, h, w } } = view;
  const values = windowOf(view, now.values), allowed = windowOf(view, data.allowed), shades = new Uint8ClampedArray(h * w * 4), broken = [];
  values.forEach((value, i) => {
    const fine = Number.isFinite(value);
    if (!fine) broken.push(i);
    shades.set([...shade(view, fine ? value : 0), 255], i * 4);
  });
  const places = now.centred ? (now.limit >= 10 ? 0 : now.limit >= 1 ? 1 : 2) : now.limit >= 10 ? 1 : -1;
  view.cell = view.chosen && contains(view.window, view.chosen) ? [view.chosen[0] - r, view.chosen[1] - c] : null;
  if (view.long) announce(view.box); else view.aside = 0;
  setMatrix(view, {
    rows: h, cols: w, queries: words.queries.slice(r, r + h), keys: words.keys.slice(c, c + w), axis: head.axis,
    first: [r, c], title: inviting(head), height: head.height, allowed, shades, broken, theme,
    texts: view.numbers && Math.max(h, w) <= 32 && ((i) => (allowed[i] && Number.isFinite(values[i]) ? inCell(values[i], places) : "")),
  });
  view.frame.setAttribute("aria-label", say("{title}: {rows} {query} rows, {cols} {key} columns, {name}. Arrow keys walk over the cells, Enter chooses one, plus and minus zoom.", { title: head.title || say("Heatmap"), rows: h, query: head.axis[0], cols: w, key: head.axis[1], name: now.name }));
}

/** Which tokens the window shows, in words. */
function announce(box) {
  const { view } = box, { r, c, h, w } = view.window, { queries, keys } = view.words;
  const span = (words, from, n) => [`${from}\u2013${from + n - 1}`, { word: cut(words[from], 16) }, { word: cut(words[from + n - 1], 16) }];
  const [rows, first, last] = span(queries, r, h), [cols, start, end] = span(keys, c, w);
  view.root.dataset.window = `${rows.replace("\u2013", "-")},${cols.replace("\u2013", "-")}`;
  speak(box.said, say("{query} {rows}, {first} to {last}; {key} {cols}, {start} to {end}", { query: plainAxis(view, 0), key: plainAxis(view, 1) }), { rows, first, last, cols, start, end });
  box.brush.setAttribute("aria-label", say("Window: {place}. Arrow keys move it, with Shift they make it smaller or larger.", { place: box.said.textContent }));
}
