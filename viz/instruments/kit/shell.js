// What stands around every picture and how it is reached: the bar, buttons, sentences that are read out, arrow keys, the focus.

import { make } from "./common.js";

/** A view with the bar above its picture: a title and tools. `more` is what the view holds from the start. */
export function shell(root, name, more = {}, heading = "div") {
  root.classList.add(name);
  const view = { root, ...more };
  view.bar = make("div", "head", root);
  view.title = make(heading, "title", view.bar);
  view.tools = make("div", "tools", view.bar);
  return view;
}

/** `label`: what it is called where its text does not say so. */
export function button(parent, className, text, act, label = "") {
  const made = make("button", className, parent);
  made.type = "button";
  if (text) made.textContent = text;
  if (label) made.setAttribute("aria-label", label);
  if (label && label !== text) made.title = label;
  if (act) made.onclick = act;
  return made;
}

/** Elements that belong together, by a name that is read out. */
export function group(className, parent, label, tag = "div") {
  const box = make(tag, className, parent);
  box.setAttribute("role", "group");
  if (label) box.setAttribute("aria-label", label);
  return box;
}

/** A few buttons of which one is pressed, {value: words}: a switch that a finger and a keyboard reach. */
export function choice(parent, label, words, act) {
  const box = group("switch", parent, label);
  const buttons = Object.entries(words).map(([value, text]) => {
    const one = button(box, "", text, () => act(value));
    one.dataset.value = value;
    return one;
  });
  return { box, set(value) { for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.value === value)); } };
}

/** What is drawn for the eye; others are told elsewhere. */
export function drawing(parent, className = "") {
  const canvas = make("canvas", className, parent);
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

/** A picture that Tab reaches and in which the arrow keys walk. */
export function walkable(className, parent) {
  const frame = make("div", className, parent);
  frame.tabIndex = 0;
  frame.setAttribute("role", "application");
  return frame;
}

/** The choices of a select, [value, words] each. */
export const offer = (select, entries) => select.replaceChildren(...entries.map(([value, words]) => Object.assign(make("option", "", null, words), { value })));

/** A place whose words are read out when they change. */
export function status(tag, className, parent) {
  const place = make(tag, className, parent);
  place.setAttribute("role", "status");
  return place;
}

// ---------------------------------------------------------------- keyboard

/** This key is the instrument's: a page may step with the same keys. */
export function hold(event) {
  event.preventDefault();
  event.stopPropagation();
}

export const focused = (view) => view.root.getRootNode().activeElement;

/** Arrow keys walk over `list`, of which Tab reaches one; `steps` says how far each key goes: {ArrowDown: 1, End: Infinity}. */
export function rove(view, event, list, steps, how = {}) {
  const at = list.indexOf(focused(view)), step = steps[event.key];
  if (step === undefined || at < 0) return;
  hold(event);
  const next = list[Math.max(0, Math.min(at + step, list.length - 1))];
  for (const one of list) one.tabIndex = one === next ? 0 : -1;
  next.focus(how);
}

/** Draws anew what `list()` holds; what stands in the place of the one that had the focus has it then. */
export function keepFocus(view, list, draw, how = {}) {
  const at = [...list()].indexOf(focused(view));
  draw();
  if (at >= 0) [...list()].at(Math.min(at, list().length - 1))?.focus(how);
}
