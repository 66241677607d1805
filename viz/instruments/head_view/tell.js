// What is touched, and the sentence about it.

import { percent, speak } from "../kit/common.js";
import { headName, looksOf } from "./data.js";
import { drawTouched } from "./paint.js";
import { tokenText } from "./place.js";
import { say } from "../kit/words.js";

/** What is touched: under the pointer, else where another view points, else what was pinned by click or key. */
export function settle(view) {
  const at = view.hover ?? view.linked ?? view.pinned;
  view.touched = at && view.words[at.side][at.index] !== undefined ? at : null;
  view.looks = view.touched ? { side: view.touched.side, ...looksOf(view, view.touched.side, view.touched.index) } : null;
  const { root, touched, pinned } = view, name = (spot) => (spot ? `${spot.side}:${spot.index}` : "");
  Object.assign(root.dataset, { touched: name(touched), pinned: name(pinned), mark: name(view.mark), beyond: "", weights: touched ? [...view.looks.top].map((w) => w.toFixed(3)).join(" ") : "" });
  drawTouched(view);
  tellTouched(view);
}

function tellTouched(view) {
  const { touched, looks, names, on, head } = view, set = (template, parts = {}) => speak(view.sentence, template, parts);
  if (!view.rows || !view.cols) return set(say("There are no words to look at yet."));
  if (!on.size) return set(say("No head is shown: switch one on."));
  if (!touched) return set(say("Touch a word to see where it looks, or by which words it is looked at."));
  const word = { word: tokenText(view.words[touched.side][touched.index]) }, { reading } = head;
  const query = touched.side === "query", single = on.size === 1, far = query ? "key" : "query";
  const who = (h) => (view.single ? say("this head") : headName(names[h]));
  if (!looks.open) return set(query ? maskedRow(reading, single) : say("{word} is masked in every row."), { word });
  if (looks.broken) return set(notFinite(query, looks.broken), { word });
  const apart = looks.hidden >= 0.005 ? say(" Hidden: {share} of its weight.", { share: percent(looks.hidden) }) : "";
  const best = single ? bestOf(view, [...on][0], looks) : (query ? [...on].flatMap((h) => bestOf(view, h, looks).slice(0, 1)) : bestHeads(looks)).sort((a, b) => b.weight - a.weight);
  const clear = best.filter(({ weight }, i) => weight >= 0.05 || i === 0).slice(0, 3);
  if (!clear.length) return set(query ? say("What {word} attends to is hidden.") : say("What {word} is attended to by is hidden."), { word });
  const parts = { word };
  clear.forEach((b, i) => { parts[`other${i}`] = { word: tokenText(view.words[far][b.index]) }; parts[`percent${i}`] = percent(b.weight); parts[`head${i}`] = who(b.h); });
  const listed = (piece) => clear.map((_, i) => piece(i)).join(clear.length === 2 ? say(" and ") : ", ");
  const holes = (i) => ({ percent: `{percent${i}}`, other: `{other${i}}`, head: who(clear[i].h) });
  if (query && single) {
    const list = listed((i) => (i ? say("{percent} to {other}", holes(i)) : say("{percent} of its attention to {other}", holes(i)))), given = { head: who(clear[0].h), list };
    return set((reading ? say("Reading {word}, {head} gives {list}.", given) : say("Writing {word}, {head} gives {list}.", given)) + apart, parts);
  }
  if (query) {
    const given = { list: listed((i) => say("{head} gives {percent} to {other}", holes(i))) + (on.size > clear.length ? say("; the other heads are less clear") : "") };
    return set((reading ? say("Reading {word}: {list}.", given) : say("Writing {word}: {list}.", given)) + apart, parts);
  }
  const given = { list: listed((i) => (single ? say("{other} ({percent})", holes(i)) : say("{other} ({percent} by {head})", holes(i)))) };
  return set((reading ? say("{word} gets most attention while reading {list}.", given) : say("{word} gets most attention while writing {list}.", given)) + apart, parts);
}

function maskedRow(reading, single) {
  if (reading) return single ? say("Reading {word}, every key is masked for this head.") : say("Reading {word}, every key is masked for these heads.");
  return single ? say("Writing {word}, every key is masked for this head.") : say("Writing {word}, every key is masked for these heads.");
}

function notFinite(query, n) {
  if (n === 1) return query ? say("The row of {word} holds a number that is not finite.") : say("The column of {word} holds a number that is not finite.");
  return query ? say("The row of {word} holds {n} numbers that are not finite.", { n }) : say("The column of {word} holds {n} numbers that are not finite.", { n });
}

/** The strongest looks of one head, largest first. */
function bestOf(view, h, looks) {
  const line = looks.weights[h];
  return [...line.keys()].filter((i) => line[i] > 0).sort((a, b) => line[b] - line[a] || a - b).slice(0, 3).map((index) => ({ h, index, weight: line[index] }));
}

/** For each token of the other side the head that looks most: a word is named once, however many heads agree. */
const bestHeads = ({ top, by }) => [...top.keys()].filter((i) => top[i] > 0).map((index) => ({ h: by[index], index, weight: top[index] }));
