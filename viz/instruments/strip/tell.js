// What is said about the touched token: the sentence, the legend, the share under the pointer.

import { cut, enlarged, make, percent, ramp, speak, swatch } from "../kit/common.js";
import { exactness } from "../kit/save/npz.js";
import { tellLook } from "../kit/tell.js";
import { look } from "./text.js";
import { mark, say } from "../kit/words.js";

const TORN = mark("{key} gets a number that is not finite: its column of the tensor is broken.");

/** The sentence under the text, made from the row (or column) of the touched unit. */
export function tell(view, { side, index }, { weights, may }) {
  const name = (of, i) => view.sides[of].words[i].trim() || view.sides[of].words[i], other = side === "query" ? "key" : "query";
  const looks = [...weights.keys()].filter((i) => may[i]).map((i) => ({ word: name(other, i), weight: weights[i], self: !view.two && i === index }));
  tellLook(view, { ...view.head.say, torn: say(TORN) }, name(side, index), looks, side === "key");
}

export function legend(view) {
  const { legend: box, matrix, sides } = view, words = [...sides.query.words, ...sides.key.words];
  box.replaceChildren();
  if (!words.length) return;
  ramp(box, view.theme.sequential, "0", "1");
  swatch(box, view.mode === "lines" ? "now" : "ring", view.mode === "lines" ? say("the word being read") : say("touched"));
  if (matrix.allowed.includes(0)) swatch(box, "shut", say("masked"));
  if (matrix.values.some((v) => !Number.isFinite(v))) swatch(box, "cross", say("not a finite number"));
  if (words.some((word) => /^ +\S/.test(word))) make("span", "entry", box, say("\u00b7 a space that belongs to its token"));
  if (exactness(matrix)) make("span", "entry", box).textContent = say("weights {exactness}", { exactness: exactness(matrix, say) });
  const hint = make("span", "entry hint", box);
  hint.dataset.unsaved = "";
  hint.textContent = view.mode === "lines" ? say("Point at a word for its share.") : say("Click a word to hold it, then point at others for their shares.");
}

export function showTip(view, tok) {
  const { side, index } = view.at, other = side === "query" ? "key" : "query", i = Number(tok.dataset.i);
  const { weights, may } = look(view, side, index), pieces = view.sides[other].pieces[i];
  const ends = side === "query" ? [view.sides.query.words[index], view.sides.key.words[i]] : [view.sides.query.words[i], view.sides.key.words[index]];
  const [query, key] = ends.map((word) => ({ word: cut(word.trim() || word, 200) }));
  const share = may[i] ? percent(weights[i]) : say("masked");
  speak(view.tip, `{query} \u2192 {key} {share}${pieces > 1 ? say(" ({pieces} pieces, one character)") : ""}`, { query, key, share, pieces });
  view.root.dataset.tip = share;
  view.tip.hidden = false;
  const home = view.root.getBoundingClientRect(), box = tok.getBoundingClientRect();
  const times = enlarged(), x = (box.left - home.left + box.width / 2) / times - view.tip.offsetWidth / 2, y = (box.top - home.top) / times - view.tip.offsetHeight - 6;
  view.tip.style.left = `${Math.max(0, Math.min(home.width / times - view.tip.offsetWidth, x))}px`;
  view.tip.style.top = `${y > -30 ? y : (box.bottom - home.top) / times + 6}px`;
}
