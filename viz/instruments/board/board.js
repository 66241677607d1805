// Number grids as on a blackboard: lines of matrices, one word marked through all of them, a cell that tells how it came about.

import { keepDrawn, make, readTheme } from "../kit/common.js";
import { saveMenu } from "../kit/save/save.js";
import { choice, status } from "../kit/shell.js";
import { gridOf } from "./cells.js";
import { heldPlace, restoreFocus } from "./edit.js";
import { tell } from "./tell.js";
import { indexed } from "./write.js";
import { say } from "../kit/words.js";

export function build(root) {
  root.classList.add("board");
  const view = { root, pinned: null, editing: null, inks: new Map() };
  view.lines = make("div", "lines", root);
  view.foot = make("div", "foot", root);
  view.told = status("p", "told", view.foot);
  view.tools = make("div", "tools", view.foot);
  view.switch = choice(view.tools, say("Words as"), { columns: say("words in columns"), rows: say("in rows, PyTorch") }, (name) => view.component.setStateValue("turn", name));
  view.drawn = keepDrawn(root, () => {});
  root.onpointerleave = () => tell(view, view.pinned);
  return view;
}

export function accept(view, packet) {
  const { header: head } = packet, focus = heldPlace(view);
  const shape = JSON.stringify([head.lines.map((line) => line.flatMap((item) => item.unit ?? item).flatMap((item) => item.stack ?? item).map((item) => [item.name, item.size])), head.pin, head.convention]);
  Object.assign(view, { head, packet, theme: readTheme(view.root), grids: new Map(), inks: new Map() });
  if (shape !== view.shape) view.pinned = head.pin;
  view.shape = shape;
  view.root.classList.toggle("large", Boolean(head.large));
  view.switch.box.hidden = !head.convention;
  view.switch.set(head.convention);
  view.rebuilding = true;
  view.lines.replaceChildren(...head.lines.map((line) => lineOf(view, line)));
  view.rebuilding = false;
  view.root.dataset.convention = head.convention;
  view.root.dataset.grids = [...view.grids.keys()].join(" ");
  tell(view, view.pinned);
  restoreFocus(view, focus);
  saveMenu(view, view.tools, saving(view));
}

function lineOf(view, items) {
  const line = make("div", "line");
  for (const item of items) {
    if (item.unit) place(view, make("div", "unit", line), item.unit);
    else place(view, line, [item]);
  }
  return line;
}

function place(view, parent, items) {
  for (const item of items) {
    if (item.sign !== undefined) signOf(parent, item);
    else if (item.stack) place(view, make("div", "stack", parent), item.stack);
    else gridOf(view, parent, item);
  }
}

function signOf(parent, { sign, says }) {
  const box = make("div", "sign", parent);
  if (says) indexed(make("span", "says", box), says);
  make("span", "arrow", box, sign);
}

// ---------------------------------------------------------------- saving

/** On a page that stands alone nobody computes anew: nothing can be changed, chosen or turned there. */
function still(item) {
  const [inner] = ["unit", "stack"].filter((name) => item[name]);
  return inner ? { ...item, [inner]: item[inner].map(still) } : item.size ? { ...item, edit: false, words: [] } : item;
}

function saving(view) {
  const grids = [...view.grids.values()].filter(({ head }) => head.values);
  return {
    name: say("Number grids"),
    header: () => ({ convention: "", lines: view.head.lines.map((line) => line.map(still)) }),
    rows: () => [["matrix", "row", "column", "value"], ...grids.flatMap(({ head }) => head.values.flatMap((row, i) => row.map((value, j) => [head.name, i + 1, j + 1, value])))],
    arrays: () => Object.fromEntries(grids.flatMap(({ head }) => [
      [head.name, { shape: head.size, values: Float32Array.from(head.values.flat()), axes: ["row", "column"] }],
      ...["rows", "columns"].filter((side) => head[side].length).map((side) => [`${head.name}.${side}`, { shape: [head[side].length], values: head[side] }]),
    ])),
  };
}
