// What is touched, and the sentence about it.

import { percent, speak } from "../kit/common.js";
import { headName, looksOf } from "./data.js";
import { drawTouched } from "./paint.js";
import { tokenText } from "./place.js";

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
  if (!view.rows || !view.cols) return set("There are no words to look at yet.");
  if (!on.size) return set("No head is shown: switch one on.");
  if (!touched) return set("Touch a word to see where it looks, or by which words it is looked at.");
  const word = { word: tokenText(view.words[touched.side][touched.index]) }, verb = head.reading ? "Reading" : "Writing", doing = verb.toLowerCase();
  const query = touched.side === "query", single = on.size === 1, far = query ? "key" : "query";
  const who = (h) => (view.single ? "this head" : headName(names[h]));
  if (!looks.open) return set(query ? `${verb} {word}, every key is masked for ${single ? "this head" : "these heads"}.` : `{word} is masked in every row.`, { word });
  if (looks.broken) return set(`${query ? "The row" : "The column"} of {word} holds ${looks.broken === 1 ? "a number that is" : `${looks.broken} numbers that are`} not finite.`, { word });
  const apart = looks.hidden >= 0.005 ? ` Hidden: ${percent(looks.hidden)} of its weight.` : "";
  const best = single ? bestOf(view, [...on][0], looks) : (query ? [...on].flatMap((h) => bestOf(view, h, looks).slice(0, 1)) : bestHeads(looks)).sort((a, b) => b.weight - a.weight);
  const clear = best.filter(({ weight }, i) => weight >= 0.05 || i === 0).slice(0, 3);
  if (!clear.length) return set(`What {word} ${query ? "attends to" : "is attended to by"} is hidden.`, { word });
  const parts = { word };
  clear.forEach((b, i) => { parts[`other${i}`] = { word: tokenText(view.words[far][b.index]) }; parts[`percent${i}`] = percent(b.weight); parts[`head${i}`] = who(b.h); });
  const listed = (piece) => clear.map((_, i) => piece(i)).join(clear.length === 2 ? " and " : ", ");
  if (query && single) return set(`${verb} {word}, ${who(clear[0].h)} gives ${listed((i) => `{percent${i}}${i ? "" : " of its attention"} to {other${i}}`)}.${apart}`, parts);
  if (query) return set(`${verb} {word}: ${listed((i) => `${who(clear[i].h)} gives {percent${i}} to {other${i}}`)}${on.size > clear.length ? "; the other heads are less clear" : ""}.${apart}`, parts);
  return set(`{word} gets most attention while ${doing} ${listed((i) => `{other${i}} ({percent${i}}${single ? "" : ` by ${who(clear[i].h)}`})`)}.${apart}`, parts);
}

/** The strongest looks of one head, largest first. */
function bestOf(view, h, looks) {
  const line = looks.weights[h];
  return [...line.keys()].filter((i) => line[i] > 0).sort((a, b) => line[b] - line[a] || a - b).slice(0, 3).map((index) => ({ h, index, weight: line[index] }));
}

/** For each token of the other side the head that looks most: a word is named once, however many heads agree. */
const bestHeads = ({ top, by }) => [...top.keys()].filter((i) => top[i] > 0).map((index) => ({ h: by[index], index, weight: top[index] }));
