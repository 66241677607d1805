// A picture under cells: which row is chosen, what is touched, and what stands where.

import { keepDrawn, make, readTheme } from "../kit/common.js";
import { hear, pointOthers, tellPython, tellTouched } from "../kit/page/linked.js";
import { emptied, readOne } from "../kit/page/packets.js";
import { keepAddress, recall, remember } from "../kit/page/url_state.js";
import { saveMenu } from "../kit/save/save.js";
import { button, choice, drawing, hold, shell, status } from "../kit/shell.js";
import { fit, ladderOf, paintCells, readPixels, shadeCells, tellBeside } from "./paint.js";
import { saving } from "./save.js";
import { hideTip, legend, showTip, tell } from "./tell.js";
import { mark, say, spoken } from "../kit/words.js";

const WAYS = { query: mark("What it looks at"), key: mark("What looks at it") };

export function build(root) {
  const view = shell(root, "picture", { at: { side: "query", index: 0 }, form: "one", guest: null, cursor: 0, identity: "" });
  view.way = choice(view.tools, say("Direction"), spoken(WAYS), (side) => { view.at = { side, index: view.at.index }; show(view); keep(view); });
  view.forms = choice(view.tools, say("Form"), { one: say("One"), all: say("A picture for each") }, (form) => { view.form = form; show(view); keep(view); });
  view.body = make("div", "body", root);
  view.asks = list("asks", view.body);
  view.stage = make("div", "stage", view.body);
  view.beside = list("beside", view.stage);
  view.frame = make("div", "canvas", view.stage);
  view.canvas = drawing(view.frame);
  view.cells = list("cells", view.frame);
  view.all = make("div", "all", view.body);
  view.sentence = status("p", "sentence", root);
  view.legend = make("div", "legend quiet", root);
  view.tip = make("div", "tip", root);
  view.tip.hidden = true;
  view.drawn = keepDrawn(root, () => show(view));
  view.deaf = hear(view, (at) => { view.guest = at; show(view); });
  view.body.onpointerover = (event) => { const key = keyOf(event); if (key && event.pointerType === "mouse") over(view, key); };
  view.body.onpointerleave = () => { hideTip(view); pointOthers(view, null); };
  view.body.addEventListener("focusin", (event) => { const key = keyOf(event); if (key?.matches(":focus-visible")) over(view, key); });
  view.body.addEventListener("focusout", () => hideTip(view));
  view.body.onclick = (event) => press(view, event);
  view.body.onkeydown = (event) => walk(view, event);
  return view;
}

function list(className, parent) {
  const box = make("div", className, parent);
  box.setAttribute("role", "listbox");
  return box;
}

const keyOf = (event) => event.target.closest(".key");

export function accept(view, packet) {
  const { header } = packet, identity = JSON.stringify([header.asks, header.keys, header.cells]), first = !view.identity, matrix = readOne(packet, header.at);
  const head = { ...header, limit: header.limit ?? largest(matrix, header.special) };
  Object.assign(view, { head, packet, matrix, theme: readTheme(view.root), image: readPixels(packet) });
  view.ramp = ladderOf(view);
  view.root.style.setProperty("--line", view.theme.line);
  view.root.style.setProperty("--hatch", view.theme.hatch);
  view.title.textContent = head.title;
  if (identity !== view.identity) {
    view.identity = identity;
    view.at = { side: "query", index: head.selected ?? 0 };
    view.cursor = head.special;
    view.form = head.form ?? "one";
    if (first) restore(view, recall(head));
    fill(view);
  } else if (!view.sent || head.echo === view.sent) view.at.index = head.selected ?? 0;
  show(view);
  legend(view);
  saveMenu(view, view.tools, saving(view));
  keepAddress(view);
}

/** Another head of the stack: its own title and scale, and what was chosen stays chosen. */
export const turned = (view, head, { at, name }) => ({ ...emptied(head), at, limit: null, title: head.titled.replace("{head}", name), selected: view.at.index });

/** The largest weight on a cell, as picture.py measures it. */
function largest({ cols, values, allowed }, special) {
  return values.reduce((most, v, i) => (i % cols >= special && allowed[i] && Number.isFinite(v) && v > most ? v : most), 0) || 1;
}

/** "all.q3": the form, from or to, which row. */
function restore(view, text) {
  const found = /^(one|all)\.([qk])(\d+)$/.exec(text ?? "");
  if (!found || Number(found[3]) >= view.matrix.rows) return;
  view.form = found[1];
  view.at = { side: found[2] === "k" && !view.head.asks ? "key" : "query", index: Number(found[3]) };
}

const keep = (view) => {
  remember(view, `${view.form}.${view.at.side[0]}${view.at.index}`);
  tellTouched(view, view.at);
};

// ---------------------------------------------------------------- what stands there

function option(className, i, words) {
  const one = make("div", className);
  one.setAttribute("role", "option");
  one.dataset.i = i;
  one.tabIndex = -1;
  if (words !== undefined) writeWord(one, words);
  return one;
}

/** A word; one without letters has a name for a screen reader. */
function writeWord(box, word) {
  make("span", "word", box, word).dir = "auto";
  if (!word.trim()) make("span", "sr", box, word.includes("\n") ? say("a line break") : say("blank"));
}

/** The words that ask, the keys beside the picture, the cells on it. */
function fill(view) {
  const { head: { asks, keys, special, cells: [down, across], names } } = view;
  const beside = keys.slice(0, special).map((name, i) => option("key special", i, name)), cells = keys.slice(special).map((_, i) => option("key cell", special + i));
  for (const one of beside) make("span", "share", one);
  view.keys = [...beside, ...cells];
  view.beside.replaceChildren(...beside);
  view.cells.replaceChildren(...cells);
  view.cells.style.gridTemplate = `repeat(${down}, 1fr) / repeat(${across}, 1fr)`;
  view.words = (asks ?? []).map((word, i) => option("ask", i, word));
  view.asks.replaceChildren(...view.words);
  view.small = (asks ?? []).map((word, i) => {
    const one = button(null, "small", "", () => { view.form = "one"; choose(view, i); view.words[i].focus({ preventScroll: true }); });
    one.canvas = drawing(one);
    writeWord(one, word);
    one.aside = make("span", "aside quiet", one);
    return one;
  });
  view.all.replaceChildren(...view.small);
  view.asks.setAttribute("aria-label", names[0] || say("What was written"));
  view.beside.setAttribute("aria-label", say("Beside the picture"));
  view.cells.setAttribute("aria-label", names[1] || view.head.title || say("Cells of the picture"));
}

/** The chosen row, or the one that another view of the group points at. */
function current(view) {
  const heard = view.guest?.[view.at.side];
  return Number.isInteger(heard) && heard < view.matrix.rows ? { ...view.at, index: heard } : view.at;
}

function show(view) {
  const { head, root, words, keys, form } = view, at = current(view), asking = Boolean(head.asks), all = asking && form === "all";
  if (!head) return;
  view.way.box.hidden = asking;
  view.forms.box.hidden = !asking || words.length < 2;
  view.way.set(at.side); view.forms.set(all ? "all" : "one");
  view.asks.hidden = !asking || all;
  view.beside.hidden = !head.special;
  view.stage.hidden = all; view.all.hidden = !all;
  Object.assign(root.dataset, { at: (head.at ?? []).join(","), form: all ? "all" : "one", side: at.side, selected: String(at.index), ground: head.ground });
  words.forEach((one, i) => { one.setAttribute("aria-selected", String(i === at.index)); one.tabIndex = i === at.index ? 0 : -1; });
  keys.forEach((one, i) => { one.tabIndex = i === view.cursor ? 0 : -1; });
  if (head.special && view.cursor >= head.special) keys[0].tabIndex = 0;
  fit(view);
  if (all) { view.small.forEach((one, i) => paintCells(view, one.canvas, i)); tellBeside(view); }
  shadeCells(view, at);
  const heard = view.guest?.[at.side === "query" ? "key" : "query"];
  keys.forEach((one, i) => one.classList.toggle("heard", i === heard));
  tell(view, at);
}

// ---------------------------------------------------------------- touching

function over(view, key) {
  const i = Number(key.dataset.i), { side, index } = view.at;
  view.guest = null;
  showTip(view, key);
  pointOthers(view, side === "query" ? { query: index, key: i } : { query: i, key: index });
}

function press(view, event) {
  const word = event.target.closest(".ask"), key = keyOf(event);
  if (word) choose(view, Number(word.dataset.i));
  else if (key) {
    view.cursor = Number(key.dataset.i);
    if (view.head.asks) { show(view); over(view, key); } else { choose(view, view.cursor); tellPython(view, "query", [view.cursor]); if (event.pointerType === "touch") over(view, key); }
  }
}

function choose(view, index) {
  hideTip(view);
  view.guest = null;
  view.at = { ...view.at, index };
  show(view);
  pointOthers(view, { [view.at.side]: index });
  keep(view);
}

function walk(view, event) {
  const one = event.target.closest("[role=option]");
  if (!one) return;
  const word = one.matches(".ask"), special = view.head.special, across = view.head.cells[1], i = Number(one.dataset.i);
  const sheet = word ? view.words : one.matches(".special") ? view.keys.slice(0, special) : view.keys.slice(special), at = sheet.indexOf(one);
  const row = at - (at % across), cell = one.matches(".cell");
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + (cell ? across : 1), ArrowUp: at - (cell ? across : 1), Home: cell && !event.ctrlKey ? row : 0, End: cell && !event.ctrlKey ? row + across - 1 : sheet.length - 1 }[event.key];
  if (event.key === "Enter" || event.key === " ") press(view, event);
  else if (event.key === "Escape") hideTip(view);
  else if (to === undefined) return;
  hold(event);
  const goal = sheet[to];
  if (to === undefined || !goal || (cell && event.key.endsWith("t") && to - (to % across) !== row)) return;
  if (word) choose(view, to);
  else { view.cursor = Number(goal.dataset.i); for (const key of view.keys) key.tabIndex = key === goal ? 0 : -1; }
  goal.focus({ preventScroll: !word });
}
