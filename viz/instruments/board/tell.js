// What a cell tells of how it came about.

import { indexed } from "./write.js";

/** The cell's arithmetic, and a light on the row and the column that made it; without a cell the page's own hint. */
export function tell(view, at) {
  for (const lit of view.root.querySelectorAll(".lit, .told-of")) lit.classList.remove("lit", "told-of");
  const grid = at && view.grids.get(at[0]), text = grid?.head.explanations?.[at[1]]?.[at[2]];
  view.told.replaceChildren();
  indexed(view.told, text ?? view.head.hint);
  view.root.dataset.told = text ? at.join(" ") : "";
  if (!text) return;
  grid.cells[at[1]][at[2]].classList.add("told-of");
  for (const [name, line, by] of grid.head.uses) light(view.grids.get(name), line, by === "row" ? at[1] : by === "column" ? at[2] : by);
}

function light(grid, line, place) {
  if (!grid) return;
  const cells = line === "row" ? grid.cells[place] ?? [] : grid.cells.map((row) => row[place]);
  for (const cell of cells) cell?.classList.add("lit");
}

export function pin(view, at) {
  view.pinned = view.grids.get(at[0])?.head.explanations?.[at[1]]?.[at[2]] ? at : null;
  tell(view, view.pinned);
}
