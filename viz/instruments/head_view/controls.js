// Chips that switch heads, and the options: layout, threshold, strongest, what is hidden, sentence pairs.

import { make, visible } from "../kit/common.js";
import { button, drawing, group, offer } from "../kit/shell.js";
import { fold } from "./account.js";
import { flip, onlyHead, rechoose, relayout, rescale, setHeads, toggleHead } from "./changes.js";
import { headName, LEAST } from "./data.js";
import { say } from "../kit/words.js";

const THRESHOLDS = [LEAST, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
const STRONGEST = [0, 1, 2, 3, 5, 10];
const PAIRS = ["A\u2192A", "A\u2192B", "B\u2192A", "B\u2192B"];

/** A switch that stays down where `aria-pressed` says so. */
const pill = (parent, text, label, act) => button(parent, "pill", text, act, label);

export function buildControls(view) {
  view.bar = make("div", "bar", view.root);
  view.heading = make("div", "title", view.bar);
  view.more = pill(view.bar, say("Options"), "", () => { view.open = !view.open; fold(view); });
  view.saveAt = make("div", "saving", view.bar);
  view.chips = group("chips", view.root, say("Heads. Click switches one on or off, double click or Shift shows only this one."));
  view.tools = make("div", "tools", view.root);
  const { tools } = view;

  const shape = group("joined", tools, say("Layout"), "span");
  view.asColumns = pill(shape, say("Columns"), "", () => relayout(view, "columns"));
  view.asRows = pill(shape, say("Rows"), "", () => relayout(view, "rows"));
  view.smaller = pill(shape, "\u2212", say("Closer together"), () => rescale(view, 1 / 1.5));
  view.larger = pill(shape, "+", say("Further apart"), () => rescale(view, 1.5));

  const slide = make("label", "field", tools);
  view.fromText = make("span", "", slide);
  view.from = make("input", "", slide);
  Object.assign(view.from, { type: "range", min: 0, max: THRESHOLDS.length - 1, step: 1, value: 0 });
  view.from.oninput = () => { view.options.from = THRESHOLDS[view.from.value]; rechoose(view); };

  const best = make("label", "field", tools);
  make("span", "", best, say("Show"));
  view.best = make("select", "", best);
  offer(view.best, STRONGEST.map((count) => [count, count === 0 ? say("all lines") : say("top {n} a word", { n: count })]));
  view.best.onchange = () => { view.options.top = Number(view.best.value); rechoose(view); };

  view.hideFirst = pill(tools, say("Hide first token"), say("Hide lines to the first token (attention sink)"), () => flip(view, "hideFirst"));
  view.hideSpecial = pill(tools, say("Hide special tokens"), say("Hide lines from and to special tokens"), () => flip(view, "hideSpecial"));
  view.pairs = group("joined", tools, say("Lines between the two sentences"), "span");
  view.pairPills = PAIRS.map((text, p) => pill(view.pairs, text, say("From sentence {from} to sentence {to}", { from: text[0], to: text[2] }), () => {
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
    drawing(chip);
    make("span", "", chip, typeof name === "number" ? name : visible(name));
    chip.setAttribute("aria-label", headName(name));
    chip.onkeydown = (event) => { if (event.shiftKey && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); onlyHead(view, h); } };
    return chip;
  });
  view.all = pill(chips, say("All"), say("All heads"), () => setHeads(view, names.map((_, h) => h)));
  view.none = pill(chips, say("None"), say("None of the heads"), () => setHeads(view, []));
}
