// Vectors in the plane to drag or to walk: a query among keys with the weights it gives and the mix of the values; or words that are added.

import { eventId, inPercent, keepDrawn, leftBelow, make, readTheme, sharp, speak, visible } from "../kit/common.js";
import { saveMenu } from "../kit/save/save.js";
import { button, drawing, hold, status } from "../kit/shell.js";
import { paintBoard } from "./paint.js";
import { decimal2, keyNames, solve } from "./rules.js";
import { savingPlane } from "./save.js";
import { say } from "../kit/words.js";

const STEP = 0.1, PAUSE = 350;    // of an arrow key; milliseconds after the last one until Python hears
const NARROW = 310;               // pixels of a board where boards stand one under the other: the table below it has to be in view
const within = (v, limit) => Math.round(Math.min(limit, Math.max(-limit, v)) * 100) / 100;
/** 0.8404 -> "84%", 0.0042 -> "0.4%": as viz.labels.percent writes it. */
const portion = (v) => (v >= 0.0995 ? inPercent((100 * v).toFixed(0)) : v >= 0.0005 ? inPercent((100 * v).toFixed(1)) : `<${inPercent(0.1)}`);

export function build(root) {
  root.classList.add("plane");
  const view = { root, points: [], values: [], dragged: null, pending: null };
  view.title = make("div", "title", root);
  view.flow = make("div", "flow", root);
  view.left = board(view, "points");
  view.rows = make("div", "rows", view.flow);
  view.right = board(view, "values");
  view.foot = make("div", "foot", root);
  view.told = status("p", "told", view.foot);
  view.tools = make("div", "tools", view.foot);
  view.drawn = keepDrawn(root, () => draw(view));
  return view;
}

export function accept(view, packet) {
  const head = view.head = packet.header;
  view.theme = readTheme(view.root);
  view.colours = view.theme.categorical;
  const other = view.base !== head.base, walking = !other && view.said !== state(view);
  if (other || (!view.dragged && !walking && (!view.pending || view.pending === head.echo))) {   // an answer to an older move would throw the points back
    view.points = head.points.map(({ at }) => at);
    view.values = (head.values ?? []).map((at) => at);
    view.pending = null;
    view.said = state(view);
  }
  if (other) { view.left.grips.replaceChildren(); view.right.grips.replaceChildren(); view.base = head.base; }
  view.title.textContent = head.title;
  view.title.hidden = !head.title;
  view.left.caption.textContent = head.captions[0];
  view.right.caption.textContent = head.captions[1];
  view.right.box.hidden = !view.values.length || head.blind;
  view.rows.hidden = view.tools.hidden = head.blind;
  grips(view, view.left, head.points.map(({ name, movable }) => movable && name));
  grips(view, view.right, head.values && head.movable_values ? keyNames(head).map((name) => say("value of {name}", { name })) : []);
  buildRows(view);
  draw(view);
  saveMenu(view, view.tools, savingPlane(view, packet));
}

const state = (view) => JSON.stringify([view.points, view.values]);

// ---------------------------------------------------------------- two boards

function board(view, what) {
  const box = make("figure", "board", view.flow), made = { what, box, caption: make("figcaption", "quiet", box), field: make("div", "field", box) };
  made.canvas = drawing(made.field);
  made.grips = make("div", "grips", made.field);
  made.canvas.onclick = (event) => { const first = made.grips.querySelector("button"); if (first && what === "points") { put(view, made, Number(first.dataset.point), placeAt(view, made, event)); first.focus({ preventScroll: true }); commit(view); } };
  return made;
}

/** A button over each point that may move: what the pointer takes, and what Tab and the arrow keys reach. */
function grips(view, where, names) {
  names.forEach((name, i) => {
    if (!name || where.grips.querySelector(`[data-point="${i}"]`)) return;
    const grip = button(where.grips, "grip");
    grip.dataset.point = i;
    grip.dataset.name = visible(name);
    grip.onpointerdown = (event) => {
      if (event.button) return;
      grip.focus({ preventScroll: true });
      grip.setPointerCapture(event.pointerId);
      view.dragged = grip;
    };
    grip.onpointermove = (event) => { if (view.dragged === grip) put(view, where, i, placeAt(view, where, event)); };
    grip.onpointerup = grip.onpointercancel = grip.onlostpointercapture = () => { if (view.dragged === grip) { view.dragged = null; commit(view); } };
    grip.onkeydown = (event) => walk(view, where, i, event);
    grip.onblur = () => commit(view);
  });
}

function placeAt(view, where, event) {
  const box = where.field.getBoundingClientRect(), { limit } = view.head;
  return [((event.clientX - box.left) / box.width * 2 - 1) * limit, (1 - (event.clientY - box.top) / box.height * 2) * limit];
}

function put(view, where, i, at) {
  const { limit } = view.head;
  view[where.what] = view[where.what].map((old, k) => (k === i ? at.map((v) => within(v, limit)) : old));
  view.drawn.ask();
}

function walk(view, where, i, event) {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
  if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
  hold(event);
  const step = event.shiftKey ? STEP / 10 : STEP;
  put(view, where, i, view[where.what][i].map((v, c) => v + way[c] * step));
  clearTimeout(view.later);
  view.later = setTimeout(() => commit(view), PAUSE);
}

/** What was moved reaches Python once, when it is let go. */
function commit(view) {
  clearTimeout(view.later);
  if (view.said === state(view)) return;
  view.said = state(view);
  view.pending = eventId();
  view.component.setStateValue("moved", { id: view.pending, base: view.base, points: view.points, values: view.values });
}

// ---------------------------------------------------------------- what is said beside them

function buildRows(view) {
  const { head, rows } = view, words = head.task === "sum";
  const names = words ? head.points.filter((_, i) => ![...head.plus, ...head.minus].includes(i)).map(({ name }) => name) : keyNames(head);
  rows.replaceChildren(...(words ? [{ label: "distance" }] : head.scores).map((score, n) => {
    const table = make("div", "table"), several = head.scores.length > 1;
    table.classList.toggle("shown", several && n === head.drawn_score);
    table.classList.toggle("distances", words);
    const top = make("div", "row top quiet", table);
    for (const text of words ? ["", say("distance from the sum"), ""] : [several ? score.label : say("key"), say("score s"), say("weight a")]) make("span", "", top, text);
    names.forEach((_, i) => {
      const row = make("div", "row", table), name = make("span", "name", row);
      make("i", "", name).style.background = words ? "transparent" : view.colours[i % view.colours.length];
      make("span", "", name);
      make("b", "score", row);
      const weight = make("span", "weight", row), bar = make("span", "bar-of", weight);
      make("i", "", bar).style.background = words ? view.theme.text : view.colours[i % view.colours.length];
      make("b", "", weight);
    });
    return table;
  }));
}

function fill(view) {
  const { head, rows, found } = view, names = keyNames(head);
  [...rows.children].forEach((table, n) => [...table.querySelectorAll(".row:not(.top)")].forEach((row, i) => {
    const [name, score, weight] = row.children, [word, value, share] = head.task === "sum"
      ? [head.points[found.order[i][0]].name, found.order[i][1], null] : [names[i], found.every[n].scores[i], found.every[n].weights[i]];
    name.lastChild.textContent = visible(word);
    score.textContent = decimal2(value);
    weight.hidden = share === null;
    if (share === null) return;
    weight.querySelector("i").style.width = `${share * 100}%`;
    weight.lastChild.textContent = portion(share);
  }));
  tell(view);
}

function tell(view) {
  if (view.head.blind) { view.told.replaceChildren(); return; }
  const { head, found } = view, word = (i) => ({ word: head.points[i].name });
  const place = (at) => `(${at.map((v) => decimal2(v)).join(", ")})`;
  if (head.task === "sum") {
    const [first, far] = found.order[0] ?? [], parts = { place: place(found.target), near: first === undefined ? "" : word(first), far: decimal2(far ?? 0) };
    const [one, ...others] = head.plus.map((i) => ["+", i]), terms = [one, ...head.minus.map((i) => ["\u2212", i]), ...others].filter(Boolean).map(([sign, i], n) => { parts[`w${n}`] = word(i); return `${n || sign !== "+" ? `${sign} ` : ""}{w${n}}`; });
    speak(view.told, say("{sum} = {place}; nearest: {near}, {far} away.", { sum: terms.join(" ") }), parts);
    return;
  }
  const best = found.weights.indexOf(Math.max(...found.weights)), names = keyNames(head);
  speak(view.told, say("The query gives {key} most: {share}.") + (view.values.length ? say(" The weighted sum of the values is {mix}.") : ""),
    { key: { word: names[best] }, share: portion(found.weights[best]), mix: place(found.mix) });
}

// ---------------------------------------------------------------- drawing

function draw(view) {
  if (!view.head || !view.root.clientWidth) return;
  const began = performance.now(), { root, head, left, right } = view;
  view.found = solve(view);
  const { text, boards } = measure(view);
  root.style.setProperty("--board", `${boards}px`);
  view.text = text;
  for (const where of [left, right]) {
    if (where.box.hidden) continue;
    paintBoard(view, where, sharp(where.canvas, boards, boards), boards);
    for (const grip of where.grips.children) {
      const i = Number(grip.dataset.point), at = view[where.what][i];
      grip.style.left = `${(at[0] / head.limit + 1) * boards / 2}px`;
      grip.style.top = `${(1 - at[1] / head.limit) * boards / 2}px`;
      grip.setAttribute("aria-label", say("{name} at {x}, {y}: drag, or move with the arrow keys", { name: grip.dataset.name, x: decimal2(at[0]), y: decimal2(at[1]) }));
    }
  }
  fill(view);
  const { every, weights, mix, target, order } = view.found;
  Object.assign(root.dataset, { points: JSON.stringify(view.points), values: JSON.stringify(view.values), found: head.blind ? "" : JSON.stringify(target ? { target, order } : { every, weights, mix }), drawn: (performance.now() - began).toFixed(2) });
}

/** How large a board is: two and what stands between them side by side, two and that below, or one under the other. */
function measure({ root, head, right }) {
  const text = parseFloat(getComputedStyle(root).fontSize) / 16, wide = root.clientWidth, two = !right.box.hidden, left = leftBelow(root);
  const least = 250 * text, gap = 28, rows = Math.max(1, head.scores.length > 1 ? 2 : 1);
  const besides = (columns) => (wide - least * columns - gap * (two ? 2 : 1)) / (two ? 2 : 1), tight = rows > 1 && besides(rows) < 240;
  const beside = besides(tight ? 1 : rows);
  const layout = beside >= 240 ? "row" : wide >= 560 && two ? "pair" : "stack";
  const table = layout === "pair" && head.scores.length ? head.points.length * 24 * text : 0;   // it stands below the boards
  const most = Math.min(head.height ?? 360, Math.max(180, left - 40 * text - table));
  root.dataset.layout = layout;
  root.toggleAttribute("data-tight", layout === "row" ? tight : layout === "pair" && left < Infinity);
  return { text, boards: Math.floor(Math.min(most, layout === "row" ? beside : layout === "pair" ? (wide - gap) / 2 : Math.min(wide, NARROW))) };
}
