// A plan of boxes and arrows: a touch or Enter opens a box; the arrow keys go from one to the next, as the data flows.

import { eventId, keepDrawn, make, readTheme, sharp, visible } from "../kit/common.js";
import { PALETTES } from "../kit/page/given.js";
import { saveMenu } from "../kit/save/save.js";
import { paintPlan, savingDiagram, thumb } from "./paint.js";

export function build(root) {
  root.classList.add("diagram");
  const view = { root, buttons: new Map(), pending: null, shown: "" };
  view.bar = make("div", "head", root);
  view.title = make("div", "title", view.bar);
  view.tools = make("div", "tools", view.bar);
  view.field = make("div", "field", root);
  view.field.setAttribute("role", "group");
  view.canvas = make("canvas", "", view.field);
  view.canvas.setAttribute("aria-hidden", "true");
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
  view.colours = PALETTES[view.theme.dark ? "dark" : "light"].categorical;
  view.title.textContent = head.title;
  view.bar.hidden = false;
  if (!view.pending || view.pending === head.echo) { view.pending = null; view.shown = head.selected; }   // the answer to an older touch says nothing
  view.field.style.height = `${head.rows * head.row}px`;
  view.field.setAttribute("aria-label", `${head.title || "Plan"}: ${head.nodes.length} boxes, up and down go from one to the next`);
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
    button.setAttribute("aria-label", node.told || node.label);
    button.title = node.told;
    lay(view, button, node.at, node.size);
    if (node.small) Object.assign(button.style, { width: pixels(view, node.size[1]), left: `calc(${percentOf(node.at[0])} - ${pixels(view, node.size[1] / 2)})` });
    thumb(view, button, node, i);
  });
  mark(view);
}

function box(view, name) {
  const button = make("button", "box");
  button.type = "button";
  button.dataset.name = name;
  make("span", "label", button);
  make("canvas", "thumb", button).setAttribute("aria-hidden", "true");
  view.buttons.set(name, button);
  return button;
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
  const names = view.head.nodes.map(({ name }) => name), at = names.indexOf(view.root.getRootNode().activeElement?.dataset.name);
  const to = { ArrowUp: at + 1, ArrowRight: at + 1, ArrowDown: at - 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();                                         // a page may step with the same keys
  const next = view.buttons.get(names[Math.max(0, Math.min(to, names.length - 1))]);
  for (const button of view.buttons.values()) button.tabIndex = button === next ? 0 : -1;
  next.focus({ preventScroll: true });
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
  const more = make("span", "more", text);
  more.textContent = "…";
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
