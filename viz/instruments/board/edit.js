// A weight that is changed in place: typed, or counted up and down; it stays open while the page answers.

import { eventId, make } from "../kit/common.js";
import { button, focused } from "../kit/shell.js";
import { show } from "./write.js";
import { say } from "../kit/words.js";

export function edit(view, grid, i, j, held = null) {
  const cell = grid.cells[i]?.[j], { head } = grid;
  if (!cell || cell.querySelector("input")) return;
  const before = head.values[i][j], input = make("input", "entry");
  let shut = false;
  view.editing = [head.name, i, j];
  input.value = held ?? String(before);
  input.setAttribute("aria-label", say("{name}, row {i}, column {j}", { name: head.name, i: i + 1, j: j + 1 }));
  input.autocomplete = "off";
  input.spellcheck = false;
  const count = make("div", "count");
  for (const [sign, by] of [["\u2212", -1], ["+", 1]]) {
    const sided = button(count, "", sign, (event) => { event.stopPropagation(); step(by); });
    sided.setAttribute("aria-label", by > 0 ? say("One more") : say("One less"));
    sided.onpointerdown = (event) => event.preventDefault();   // the number keeps the focus
  }
  const typed = () => { const text = input.value.replace("\u2212", "-").replace(",", ".").trim(), value = Number(text); return text !== "" && Number.isFinite(value) ? value : head.values[i][j]; };
  const limited = (value) => Math.max(-view.head.most, Math.min(view.head.most, Math.round(value * 100) / 100));
  const send = (value) => {
    if (value !== view.asked) view.component.setStateValue("edit", { grid: head.name, at: [i, j], value, id: eventId() });
    view.asked = value;
  };
  const step = (by) => { const value = limited(typed() + by); input.value = String(value); send(value); };
  const close = (keep) => {
    if (shut || view.rebuilding) return;
    shut = true;
    view.editing = null;
    const value = keep ? limited(typed()) : before;
    show(view, cell, head, value);
    if (keep && value !== before) send(value);
  };
  view.asked = held === null ? before : view.asked;
  input.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === "Enter") { close(true); cell.focus(); }
    else if (event.key === "Escape") { close(false); cell.focus(); }
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") { event.preventDefault(); step(event.key === "ArrowUp" ? 1 : -1); }
  };
  input.onblur = () => close(true);
  input.onclick = (event) => event.stopPropagation();
  input.style.color = cell.style.color;
  cell.style.color = "transparent";   // its own text keeps the cell as wide as it was
  cell.append(input, count);
  input.focus({ preventScroll: true });
  if (held === null) input.select();
}

/** Which cell has the focus, or is open with what text. */
export function heldPlace(view) {
  if (view.editing) return { at: view.editing, text: view.root.querySelector("input.entry")?.value };
  const active = focused(view);
  if (active?.dataset?.at) return { at: [active.dataset.grid, ...active.dataset.at.split(",").map(Number)] };
  return active?.dataset?.word ? { word: active.dataset.word } : null;
}

export function restoreFocus(view, focus) {
  if (!focus) return;
  if (focus.word) { view.root.querySelector(`button[data-word="${focus.word}"]`)?.focus({ preventScroll: true }); return; }
  const [name, i, j] = focus.at, grid = view.grids.get(name);
  view.editing = null;
  if (focus.text !== undefined && grid?.head.edit) edit(view, grid, i, j, focus.text);
  else grid?.cells[i]?.[j]?.focus({ preventScroll: true });
}
