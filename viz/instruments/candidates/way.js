// How a token came to its probability: one line about the row that is pointed at, and a table of it that can be opened.

import { make, visible } from "../kit/common.js";
import { typeset } from "../kit/equation.js";
import { button } from "../kit/shell.js";
import { say } from "../kit/words.js";

export const shownName = (row) => (row.id === null ? row.token : visible(row.token).replace(/^ (?=\S)/, "\u00b7"));

export function buildWay(view, root) {
  view.way = make("div", "way", root);
  view.line = button(view.way, "line", "", () => openWay(view, view.table.hidden));
  view.line.setAttribute("aria-expanded", "false");
  view.table = make("table", "stages", view.way);
  view.table.hidden = true;
  const rowOf = (event) => { const row = event.target.closest(".row"); return row ? Number(row.dataset.row) : null; };
  view.rows.onpointerover = (event) => { view.over = rowOf(event); tellWay(view); };
  view.rows.onpointerleave = () => { view.over = null; tellWay(view); };
  view.rows.addEventListener("focusin", (event) => { view.held = rowOf(event); tellWay(view); });   // browsers know no onfocusin
  view.rows.addEventListener("focusout", () => { view.held = null; tellWay(view); });
  view.rows.onclick = (event) => { view.held = rowOf(event); tellWay(view); };   // a finger leaves when it lifts; what it touched stays
}

function openWay(view, open) {
  view.table.hidden = !open;
  view.line.setAttribute("aria-expanded", String(open));
  view.root.dataset.open = open ? "way" : "";
}

/** About the row under the pointer, else the one that was touched or has the focus, else the taken one. */
export function tellWay(view) {
  const { rows, taken_id: taken } = view.head, known = (i) => i !== null && i !== undefined && rows[i]?.way;
  const found = [view.over, view.held, rows.findIndex((row) => row.id === taken)].find(known), row = rows[found];
  view.way.hidden = !row;
  view.root.dataset.way = row?.id ?? "";
  if (!row) return;
  const name = make("b", "");
  name.textContent = shownName(row);
  view.line.replaceChildren(name, " ");
  typeset(view.line, row.way.line);
  view.table.replaceChildren();
  make("caption", "sr", view.table).textContent = say("How {token} came to its probability", { token: visible(row.token) });
  const body = make("tbody", "", view.table);
  for (const [title, put, result] of row.way.stages) {
    const line = make("tr", result === "cut" ? "cut" : "", body), th = make("th", "", line);
    th.scope = "row";
    typeset(th, title);
    typeset(make("td", "put", line), put);
    typeset(make("td", "result", line), result);
  }
}
