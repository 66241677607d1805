// One matrix of the board: caption with name and shape, words along its sides, a cell for each number.

import { cut, make } from "../kit/common.js";
import { hold } from "../kit/shell.js";
import { edit } from "./edit.js";
import { pin, tell } from "./tell.js";
import { indexed, show, written } from "./write.js";
import { say } from "../kit/words.js";

export function gridOf(view, parent, head) {
  const box = make("div", "grid", parent), [n, m] = head.size;
  caption(make("div", "caption", box), head);
  const table = make("table", "", box);
  const grid = { head, cells: [], box };
  if (head.columns.length) {
    const row = make("tr", "", make("thead", "", table));
    if (head.rows.length) make("td", "corner", row);
    head.columns.forEach((word, j) => label(view, row, head, "column", j, word));
    if (head.sums?.includes("row")) make("th", "sum", row, say("sum"));
  }
  const body = make("tbody", "", table);
  for (let i = 0; i < n; i++) {
    const row = make("tr", "", body);
    if (head.rows.length) label(view, row, head, "row", i, head.rows[i]);
    grid.cells.push(Array.from({ length: m }, (_, j) => cellOf(view, row, grid, i, j)));
    if (head.sums?.includes("row")) make("td", "sum", row, written(sum(head.values[i]), 2));
  }
  if (head.sums?.includes("column")) {
    const row = make("tr", "sums", body);
    if (head.rows.length) make("th", "sum", row, say("sum"));
    for (let j = 0; j < m; j++) make("td", "sum", row, written(sum(head.values.map((each) => each[j])), 2));
  }
  if (head.note) make("div", "quiet note", box, head.note);
  table.setAttribute("aria-label", `${head.name}, ${head.shape}`);
  view.grids.set(head.name, grid);
  return grid;
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

function caption(element, { name, shape }) {
  indexed(make("b", "name", element), name);
  make("span", "quiet shape", element, shape);
}

function label(view, row, head, side, place, word) {
  const cell = make("th", `word ${side}`, row), marked = head.marked.some(([line, at]) => line === side && at === place);
  cell.scope = side === "row" ? "row" : "col";
  cell.classList.toggle("marked", marked);
  const button = head.words.includes(side) ? make("button", "", cell) : make("span", "", cell);
  button.textContent = cut(word, 9);
  button.title = word;
  if (button.type === undefined) return;
  button.type = "button";
  button.setAttribute("aria-pressed", String(marked));
  button.dataset.word = place;
  button.onclick = () => view.component.setStateValue("word", place);
}

function cellOf(view, row, grid, i, j) {
  const { head } = grid, cell = make("td", "cell", row), at = [head.name, i, j];
  const marked = head.marked.some(([line, place]) => place === (line === "row" ? i : j));
  cell.classList.toggle("marked", marked);
  Object.assign(cell.dataset, { grid: head.name, at: `${i},${j}` });
  if (head.covered) { cell.textContent = "?"; cell.classList.add("covered"); return cell; }
  if (head.shut?.[i]?.[j]) { cell.classList.add("shut"); cell.style.setProperty("--hatch", view.theme.hatch); cell.setAttribute("aria-label", say("left out")); return cell; }
  show(view, cell, head, head.values[i][j]);
  const told = head.explanations?.[i]?.[j];
  if (!told && !head.edit) return cell;
  cell.tabIndex = 0;
  cell.setAttribute("role", "button");
  cell.classList.add(head.edit ? "edit" : "tells");
  if (head.edit) cell.title = say("Touch to change");
  cell.onpointerenter = (event) => { if (told && event.pointerType === "mouse") tell(view, at); };
  cell.onclick = () => (head.edit ? edit(view, grid, i, j) : pin(view, at));
  cell.onkeydown = (event) => {
    if (event.target !== cell) return;
    if (event.key === "Enter" || event.key === " ") { hold(event); cell.click(); }
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
    const next = (down || right) && grid.cells[i + down]?.[j + right];
    if (next) { hold(event); next.focus(); }
  };
  cell.onfocus = () => { if (told) tell(view, at); };
  return cell;
}
