// Pointing at a node, walking from node to node, choosing one; and the words that go with it.

import { cut, eventId, inPercent, percent, speak } from "../kit/common.js";
import { tellPython } from "../kit/page/linked.js";
import { remember } from "../kit/page/url_state.js";
import { hold } from "../kit/shell.js";
import { draw, reveal } from "./draw.js";
import { figure } from "./place.js";
import { mark, say } from "../kit/words.js";

const STATE_WORDS = { open: mark("open"), finished: mark("a text ends here"), pruned: mark("pruned"), best: mark("on the best path"), now: mark("you are here") };

/** A probability also where it is small: 62%, 0.031%. */
const chanceWords = (p) => (p > 0 && p < 0.005 ? inPercent(Number((p * 100).toPrecision(2))) : percent(p));

/** The pointer, the finger or the keyboard is at node `i`; -1 is nowhere. `how`: "mouse", "touch" or "key". */
export function pointAt(view, i, how = "mouse") {
  const { root, tip, tree } = view;
  if (i === view.hover && how === view.how) return;
  Object.assign(view, { hover: i, how });
  root.dataset.hover = i < 0 ? "" : i;
  view.frame.style.cursor = i < 0 ? "default" : "pointer";
  tip.hidden = i < 0;
  draw(view);
  if (i < 0) { view.said.textContent = ""; root.dataset.spot = ""; return; }
  const chance = tree.chances[i], token = { word: cut(tree.tokens[i], 600) }, known = chance !== -1;
  const facts = `${known ? say("probability {p}, ") : ""}${say("score {score}, ")}${say(STATE_WORDS[view.state(i)])}`, numbers = { p: chanceWords(chance), score: figure(tree.scores[i]) };
  speak(view.tipHead, `{token}: ${facts}`, { token, ...numbers });
  view.reason.textContent = tree.says[i];
  view.more.textContent = how !== "touch" ? "" : view.armed ? say("Tap again to compare with it.") : i !== view.chosen ? say("Tap again to choose it.") : "";
  beside(view, i);
  speak(view.said, `{path} \u2013 {token}: ${facts}${tree.says[i] ? ", {says}" : ""}`, { token, path: { word: root.dataset.path }, says: { word: tree.says[i] }, ...numbers });
}

/** The tip under the node, or above it where the page has no room below. */
function beside(view, i) {
  const { spot, frame, tip, root } = view, x = (spot.x[i] - frame.scrollLeft) * view.times, y = (spot.y[i] - frame.scrollTop) * view.times, down = (spot.roomy ? 34 : 20) * view.times;
  root.dataset.spot = `${Math.round(x + (spot.long[i] * view.times) / 2)},${Math.round(y)}`;
  tip.style.left = `${Math.max(0, Math.min(x - 8, root.clientWidth - tip.offsetWidth))}px`;
  const below = frame.getBoundingClientRect().top + y + down + tip.offsetHeight <= innerHeight - 4;
  tip.style.top = `${below || y < tip.offsetHeight + 16 ? y + down : y - 20 - tip.offsetHeight}px`;
}

// ---------------------------------------------------------------- keyboard

export function steerTree(view, event) {
  const { tree, spot } = view, { key } = event, count = tree?.tokens.length ?? 0;
  const here = view.hover >= 0 ? view.hover : -1, column = here >= 0 ? spot.columns[tree.steps[here]].nodes : [];
  const goals = {
    ArrowLeft: () => tree.parents[here], ArrowRight: () => tree.children[here][0],
    ArrowUp: () => column[column.indexOf(here) - 1], ArrowDown: () => column[column.indexOf(here) + 1],
  };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Escape") { arm(view, false); pointAt(view, -1); }
  else if (key === "Enter" || key === " ") { if (here >= 0) chooseNode(view, here, view.armed || event.shiftKey); }
  else if (view.head.compares && (key === "b" || key === "B")) { if (here >= 0) chooseNode(view, here, true); }
  else if (key === "Home" || key === "End") { if (count) walkTo(view, key === "Home" ? 0 : count - 1); }
  else if (goals[key]) { if (count) walkTo(view, here < 0 ? startAt(view) : goals[key]() ?? -1); }
  else return;
  hold(event);
}

/** Where the keyboard begins: the node that is chosen, where the reader stands, the best end, the first. */
export const startAt = (view) => view.chosen ?? (view.restingPath().at(-1) ?? 0);

export function walkTo(view, i) {
  if (i < 0) return;
  reveal(view, i);
  pointAt(view, i, "key");
}

/** Whether the node lies in the frame as it is scrolled now. */
export function inSight({ frame, spot }, i) {
  const x = spot.x[i] - frame.scrollLeft, y = spot.y[i] - frame.scrollTop;
  return x > 0 && x + spot.long[i] < frame.clientWidth && y > 0 && y < frame.clientHeight;
}

/** The next node that is chosen is the one to compare with, or is not: for a finger, that has no Shift. */
export function arm(view, on) {
  view.armed = on;
  view.root.dataset.armed = on;
  view.compare.setAttribute("aria-pressed", String(on));
  view.compare.textContent = on ? say("Choose the other text") : say("Compare with\u2026");
}

export function chooseNode(view, i, second = false) {
  if (second && view.head.compares) {
    arm(view, false);
    view.more.textContent = "";
    view.component.setStateValue("second", { at: [i], id: eventId() });
    return;
  }
  view.chosen = i;
  view.root.dataset.chosen = i;
  view.more.textContent = "";
  draw(view);
  remember(view, String(i));
  tellPython(view, "node", [i]);
}
