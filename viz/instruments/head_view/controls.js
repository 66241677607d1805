// Chips that switch heads, and the options: layout, threshold, strongest, what is hidden, sentence pairs.

import { make, visible } from "../kit/common.js";
import { fold } from "./account.js";
import { flip, onlyHead, rechoose, relayout, rescale, setHeads, toggleHead } from "./changes.js";
import { headName, LEAST } from "./data.js";

const THRESHOLDS = [LEAST, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
const STRONGEST = [0, 1, 2, 3, 5, 10];
const PAIRS = ["A\u2192A", "A\u2192B", "B\u2192A", "B\u2192B"];

/** A switch that stays down: `pressed` is its state, read by screen readers and by CSS. */
function pill(parent, text, label, act) {
  const button = make("button", "pill", parent);
  button.type = "button";
  button.textContent = text;
  if (label) { button.setAttribute("aria-label", label); button.title = label; }
  button.onclick = act;
  return button;
}

export function buildControls(view) {
  view.bar = make("div", "bar", view.root);
  view.heading = make("div", "title", view.bar);
  view.more = pill(view.bar, "Options", "", () => { view.open = !view.open; fold(view); });
  view.saveAt = make("div", "saving", view.bar);
  view.chips = make("div", "chips", view.root);
  view.chips.setAttribute("role", "group");
  view.chips.setAttribute("aria-label", "Heads. Click switches one on or off, double click or Shift shows only this one.");
  view.tools = make("div", "tools", view.root);
  const { tools } = view;

  const shape = make("span", "joined", tools);
  shape.setAttribute("role", "group");
  shape.setAttribute("aria-label", "Layout");
  view.asColumns = pill(shape, "Columns", "", () => relayout(view, "columns"));
  view.asRows = pill(shape, "Rows", "", () => relayout(view, "rows"));
  view.smaller = pill(shape, "\u2212", "Closer together", () => rescale(view, 1 / 1.5));
  view.larger = pill(shape, "+", "Further apart", () => rescale(view, 1.5));

  const slide = make("label", "field", tools);
  view.fromText = make("span", "", slide);
  view.from = make("input", "", slide);
  Object.assign(view.from, { type: "range", min: 0, max: THRESHOLDS.length - 1, step: 1, value: 0 });
  view.from.oninput = () => { view.options.from = THRESHOLDS[view.from.value]; rechoose(view); };

  const best = make("label", "field", tools);
  make("span", "", best).textContent = "Show";
  view.best = make("select", "", best);
  for (const count of STRONGEST) {
    const option = make("option", "", view.best);
    option.value = count;
    option.textContent = count === 0 ? "all lines" : `top ${count} a word`;
  }
  view.best.onchange = () => { view.options.top = Number(view.best.value); rechoose(view); };

  view.hideFirst = pill(tools, "Hide first token", "Hide lines to the first token (attention sink)", () => flip(view, "hideFirst"));
  view.hideSpecial = pill(tools, "Hide special tokens", "Hide lines from and to special tokens", () => flip(view, "hideSpecial"));
  view.pairs = make("span", "joined", tools);
  view.pairs.setAttribute("role", "group");
  view.pairs.setAttribute("aria-label", "Lines between the two sentences");
  view.pairPills = PAIRS.map((text, p) => pill(view.pairs, text, `From sentence ${text[0]} to sentence ${text[2]}`, () => {
    const { pairs } = view.options;
    if (!pairs.delete(p)) pairs.add(p);
    rechoose(view);
  }));
}

/** The chips of this packet's heads; nothing for a single one. */
export function buildChips(view) {
  const { chips, names } = view;
  chips.replaceChildren();
  chips.hidden = names.length < 2;
  view.headPills = [];
  if (chips.hidden) return;
  view.headPills = names.map((name, h) => {
    const chip = pill(chips, "", "", (event) => (event.shiftKey ? onlyHead(view, h) : toggleHead(view, h)));
    chip.classList.add("chip");
    chip.dataset.head = h;
    chip.ondblclick = () => onlyHead(view, h);
    make("canvas", "", chip).setAttribute("aria-hidden", "true");
    make("span", "", chip).textContent = typeof name === "number" ? name : visible(name);
    chip.setAttribute("aria-label", headName(name));
    chip.onkeydown = (event) => { if (event.shiftKey && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); onlyHead(view, h); } };
    return chip;
  });
  view.all = pill(chips, "All", "All heads", () => setHeads(view, names.map((_, h) => h)));
  view.none = pill(chips, "None", "No head", () => setHeads(view, []));
}
