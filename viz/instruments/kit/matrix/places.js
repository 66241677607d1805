// Where the cells, the labels and the rim of a matrix are, and which of them the pointer is on.

import { cut, leftBelow, magnify, probe, spotOn } from "../common.js";

export const LABEL = 13;      // pixels of the type of a label
export const THIN = 17;       // of the closest labels
export const LARGEST = 48;    // of the largest cell
const NARROWED = 0.8;         // of its usual width, of the narrowest type: a name that needs more is cut
const WIDEST = 3.5;           // of its height, of a cell in Present, where a picture has more width than height

/** A name as long as there is room for. */
function shortened(pen, name, most) {
  let letters = name.length;
  while (letters > 2 && pen.measureText(name).width > most) name = cut(name, --letters);
  return name;
}

export function place(view) {
  const times = magnify(view, view.frame), width = (view.root.clientWidth - view.aside) / times;
  if (width <= 0 || !view.rows || !view.cols) return;
  const phone = width < 560, pen = probe, { rows, cols, rim } = view;
  pen.font = `${LABEL}px ${view.theme.font}`;
  const widest = (names, most) => Math.min(most, Math.ceil(Math.max(...names.map((n) => pen.measureText(n).width))));
  const side = widest(view.queryNames, Math.min(190, Math.max(84, 0.34 * width))), up = view.up = widest(view.keyNames, phone ? 84 : 130);
  view.rowNames = view.queryNames.map((name) => shortened(pen, name, side / NARROWED));
  pen.font = `600 12px ${view.theme.font}`;
  view.axisNames = view.axis.map((name, axis) => (phone ? plainAxis(view, axis) : name));
  const corner = Math.ceil(Math.max(...view.axisNames.map((name) => pen.measureText(`${name} \u2192`).width)));
  view.left = Math.max(side + 12, Math.min(corner + 10, 150), rim.bottom ? 66 : 0);
  const below = leftBelow(view.root, view.frame) / times - 4 - rim.bottom;
  const most = (top) => Math.min(view.height ?? (phone ? 420 : 560), Math.max(120, below - top));
  const fit = (top, right) => Math.min(phone ? 40 : LARGEST, (width - view.left - right - 2) / cols, most(top) / rows);
  const widen = (cell, right) => (below === Infinity ? cell : Math.max(cell, Math.min(WIDEST * cell, (width - view.left - right - 2) / cols)));
  let cell = fit(42, Math.max(6, rim.right)), wide = widen(cell, Math.max(6, rim.right));
  view.flat = up <= wide - 6;
  view.top = Math.max(42, view.flat ? 28 : Math.ceil(up * 0.71) + 18);
  view.right = Math.max(rim.right, view.flat ? 6 : Math.ceil(up * 0.71) + 6);
  if (!view.flat) { cell = fit(view.top, view.right); wide = widen(cell, view.right); }
  view.fitted = cell >= 8 ? Math.floor(cell) : cell;
  view.unit = view.fitted * view.zoom;
  view.across = wide > cell ? Math.floor(wide) * view.zoom : view.unit;   // a cell is as wide as high, but in Present
  view.smaller.hidden = view.larger.hidden = view.fitted >= 14 && view.zoom === 1;
  view.smaller.disabled = view.zoom <= 1;
  view.larger.disabled = view.unit >= LARGEST;
  const w = view.left + cols * view.across + view.right, h = view.top + rows * view.unit + 4 + rim.bottom;
  Object.assign(view.root.dataset, { place: [view.left, view.top, view.unit].map((v) => v.toFixed(2)).join(), across: view.across.toFixed(2), zoom: view.zoom.toFixed(2) });   // where cells begin, for tests
  view.room = width;
  view.width = Math.min(w, width);
  view.tall = Math.min(h, view.top + most(view.top) + 4 + rim.bottom);
  view.scroller.style.overflow = w > width + 1 || h > view.tall + 1 ? "auto" : "hidden";
  view.bar.style.width = `${Math.max(view.width, Math.min(width, 280)) * times + view.aside}px`;
  view.scroller.style.width = `${view.width}px`;
  view.scroller.style.height = `${view.tall}px`;
  view.sheet.style.width = `${w}px`;
  view.sheet.style.height = `${h}px`;
  view.seenW = view.scroller.clientWidth || view.width;
  view.seenH = view.scroller.clientHeight || view.tall;
  view.edgeX = rim.right ? view.seenW - view.right : view.seenW;        // where cells end and the rim begins
  view.edgeY = rim.bottom ? view.seenH - rim.bottom - 4 : view.seenH;
}

/** The place under the pointer: a cell; for a view that tells of lines also the line of a label or of the rim. */
export function placeAt(view, event) {
  const { left, top, unit, across, scroller } = view, [x, y] = spotOn(view.pane, event), above = y < top && !view.flat;
  const c = Math.floor((x - left - (above ? top - 7 - y : 0) + scroller.scrollLeft) / across), r = Math.floor((y - top + scroller.scrollTop) / unit);
  const row = y >= top && y < view.edgeY && r >= 0 && r < view.rows, col = x >= left && (x < view.edgeX || above) && c >= 0 && c < view.cols;
  if (row && col) return [r, c];
  if (!view.hooks.lines) return null;
  return row ? [r, -1] : col ? [-1, c] : null;
}

export function cellAt(view, event) {
  const at = placeAt(view, event);
  return at && Math.min(...at) >= 0 ? at : null;
}

/** "written word (query)" -> "query": the role, where the name of an axis says it in brackets. */
export const plainAxis = (view, axis) => view.axis[axis].match(/\(([^)]+)\)$/)?.[1] ?? view.axis[axis];

export const xOf = (view, c) => view.left + c * view.across - view.scroller.scrollLeft;
export const yOf = (view, r) => view.top + r * view.unit - view.scroller.scrollTop;

/** Whether a row or a column of this place belongs to a word that has no counterpart here. */
export const isLone = ({ head, first }, r, c) => Boolean(head.lone) && (head.lone[0].includes(r + first[0]) || head.lone[1].includes(c + first[1]));

export const inWhole = (view, at) => at.map((i, axis) => (i < 0 ? i : i + view.first[axis]));   // of a window: in the whole text
