// A plan of boxes and arrows: a touch or Enter opens a box; the arrow keys go from one to the next, as the data flows.

import { eventId, keepDrawn, make, readTheme, sharp, visible } from "../kit/common.js";
import { saveMenu } from "../kit/save/save.js";
import { button, drawing, group, rove, shell } from "../kit/shell.js";
import { paintPlan, savingDiagram, thumb } from "./paint.js";
import { say } from "../kit/words.js";

export function build(root) {
  const view = shell(root, "diagram", { buttons: new Map(), pending: null, shown: "" });
  view.field = group("field", root);
  view.canvas = drawing(view.field);
  view.texts = make("div", "", view.field);
  view.boxes = make("div", "", view.field);
  view.boxes.onclick = (event) => { const button = event.target.closest("button"); if (button) pick(view, button.dataset.name); };
  view.boxes.onkeydown = (event) => walk(view, event);
  view.drawn = keepDrawn(root, () => draw(view));
  return view;
}

export function accept(view, packet) {
  const head = packet.header;
  Object.assign(view, { head, packet, theme: readTheme(view.root) });
  view.colours = view.theme.categorical;
  view.title.textContent = head.title;
  view.bar.hidden = false;
  if (!view.pending || view.pending === head.echo) { view.pending = null; view.shown = head.selected; }   // the answer to an older touch says nothing
  view.field.style.height = `${head.rows * head.row}px`;
  view.field.setAttribute("aria-label", say("{title}: {n} boxes, up and down go from one to the next", { title: head.title || say("Plan"), n: head.nodes.length }));
  fillBoxes(view);
  fillTexts(view);
  draw(view);
  saveMenu(view, view.tools, savingDiagram(view));
}

const percentOf = (value) => `${value}%`;
const pixels = (view, rows) => `${rows * view.head.row}px`;

function lay(view, element, [x, y], [w, h]) {
  Object.assign(element.style, { left: percentOf(x - w / 2), top: pixels(view, y - h / 2), width: percentOf(w), height: pixels(view, h) });
}

function fillBoxes(view) {
  const { head, buttons } = view, known = new Set(head.nodes.map(({ name }) => name));
  for (const [name, button] of buttons) if (!known.has(name)) { button.remove(); buttons.delete(name); }
  head.nodes.forEach((node, i) => {
    const button = buttons.get(node.name) ?? box(view, node.name);
    view.boxes.append(button);                                     // in the order of computing
    button.firstChild.textContent = node.label;
    button.classList.toggle("small", node.small);
    button.classList.toggle("struck", !!node.struck);
    button.style.setProperty("--hue", view.colours[node.hue % view.colours.length]);
    button.setAttribute("aria-label", node.tooltip || node.label);
    button.title = node.tooltip;
    lay(view, button, node.at, node.size);
    if (node.small) Object.assign(button.style, { width: pixels(view, node.size[1]), left: `calc(${percentOf(node.at[0])} - ${pixels(view, node.size[1] / 2)})` });
    thumb(view, button, node, i);
  });
  mark(view);
}

function box(view, name) {
  const made = button(null, "box");
  made.dataset.name = name;
  make("span", "label", made);
  drawing(made, "thumb");
  view.buttons.set(name, made);
  return made;
}

/** The box that is open; one box at a time is reached with Tab. */
function mark(view) {
  const { head, buttons, shown } = view, reached = buttons.has(shown) ? shown : head.nodes[0]?.name;
  for (const [name, button] of buttons) {
    button.tabIndex = name === reached ? 0 : -1;
    button.setAttribute("aria-pressed", String(name === shown));
  }
  Object.assign(view.root.dataset, { selected: shown, boxes: head.nodes.length });
}

function pick(view, name) {
  view.shown = name;
  view.pending = eventId();
  mark(view);
  view.component.setStateValue("box", { name, id: view.pending });
}

function walk(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  rove(view, event, view.head.nodes.map(({ name }) => view.buttons.get(name)), steps, { preventScroll: true });
}

function fillTexts(view) {
  const { head } = view;
  view.texts.replaceChildren(...head.texts.map(({ words, at, wide, quiet, marked }) => {
    const line = make("div", quiet ? "text quiet" : "text words");
    words.forEach((word, i) => {
      const span = make("span", i === marked ? "marked" : "", line);
      span.textContent = quiet ? word : visible(word);
    });
    lay(view, line, at, [wide, 1]);
    line.title = words.join(" ");
    return line;
  }));
}

/** The words for which a line has no room give way to "…" before its last one. */
function fit(text) {
  const words = [...text.children].filter((span) => !span.classList.contains("more"));
  text.querySelector(".more")?.remove();
  for (const word of words) word.hidden = false;
  if (text.scrollWidth <= text.clientWidth || words.length < 3) return;
  const more = make("span", "more", text, "…");
  text.insertBefore(more, words.at(-1));
  for (const word of words.slice(1, -1).reverse()) if (text.scrollWidth > text.clientWidth) word.hidden = true;
}

function draw(view) {
  if (!view.head || !view.root.clientWidth) return;
  const wide = view.field.clientWidth, tall = view.head.rows * view.head.row;
  view.root.classList.toggle("narrow", wide < 34 * parseFloat(getComputedStyle(view.root).fontSize));
  for (const text of view.texts.children) fit(text);
  paintPlan(view, sharp(view.canvas, wide, tall), wide);
}
