// What is said about the touched token: the sentence, the legend, the share under the pointer.

import { cut, enlarged, make, percent, ramp, speak, swatch } from "../kit/common.js";
import { exactness } from "../kit/save/npz.js";
import { look, SHARE } from "./text.js";

/** The sentence under the text, made from the row (or column) of the touched unit. */
export function tell(view, { side, index }, { weights, may }) {
  const { say: words } = view.head, name = (of, i) => ({ word: view.sides[of].words[i].trim() || view.sides[of].words[i] });
  const other = side === "query" ? "key" : "query";
  const ranked = [...weights.keys()].filter((i) => may[i]).sort((a, b) => weights[b] - weights[a]), [top, second] = ranked;
  view.root.dataset.top = top === undefined ? "" : `${name(other, top).word}:${weights[top].toFixed(2)}`;
  const set = (template, parts) => speak(view.sentence, template, parts);
  const broken = ranked.some((i) => !Number.isFinite(weights[i])), best = weights[top];
  if (side === "key") {
    if (broken) return set("{key} gets a number that is not finite: its column of the tensor is broken.", { key: name(side, index) });
    const parts = { key: name(side, index), word: top === undefined ? { word: "\u2013" } : name(other, top), percent: top === undefined ? "0 %" : percent(best) };
    return set(top === undefined || best < SHARE ? words.unseen : words.key, parts);
  }
  const parts = { word: name(side, index) };
  if (top === undefined) return set(words.shut, parts);
  if (broken) return set(words.broken, parts);
  Object.assign(parts, { key: name(other, top), percent: percent(best) });
  if (ranked.length === 1) return set(words.only, parts);
  if (best >= 0.5) return set(!view.two && top === index ? words.itself : words.looks, parts);
  Object.assign(parts, { key2: name(other, second), percent2: percent(weights[second]) });
  if (best + weights[second] >= 0.6 && weights[second] >= 0.2) return set(words.two, parts);
  const total = ranked.reduce((sum, i) => sum + weights[i], 0);
  let held = 0, count = 0;
  for (const i of ranked) { if (held >= 0.9 * total - 1e-6) break; held += weights[i]; count += 1; }
  return set(words.spreads, { ...parts, count });
}

export function legend(view) {
  const { legend: box, matrix, sides } = view, words = [...sides.query.words, ...sides.key.words];
  box.replaceChildren();
  if (!words.length) return;
  ramp(box, view.theme.sequential, "0", "1");
  swatch(box, view.mode === "lines" ? "now" : "ring", view.mode === "lines" ? "the word being read" : "touched");
  if (matrix.allowed.includes(0)) swatch(box, "shut", "masked");
  if (matrix.values.some((v) => !Number.isFinite(v))) swatch(box, "cross", "not a finite number");
  if (words.some((word) => /^ +\S/.test(word))) make("span", "entry", box).textContent = "\u00b7 a space that belongs to its token";
  if (exactness(matrix)) make("span", "entry", box).textContent = `weights ${exactness(matrix)}`;
  const hint = make("span", "entry hint", box);
  hint.dataset.unsaved = "";
  hint.textContent = view.mode === "lines" ? "Point at a word for its share." : "Click a word to hold it, then point at others for their shares.";
}

export function showTip(view, tok) {
  const { side, index } = view.at, other = side === "query" ? "key" : "query", i = Number(tok.dataset.i);
  const { weights, may } = look(view, side, index), pieces = view.sides[other].pieces[i];
  const ends = side === "query" ? [view.sides.query.words[index], view.sides.key.words[i]] : [view.sides.query.words[i], view.sides.key.words[index]];
  const [query, key] = ends.map((word) => ({ word: cut(word.trim() || word, 200) }));
  const share = may[i] ? percent(weights[i]) : "masked";
  speak(view.tip, `{query} \u2192 {key} {share}${pieces > 1 ? " ({pieces} pieces, one character)" : ""}`, { query, key, share, pieces });
  view.root.dataset.tip = share;
  view.tip.hidden = false;
  const home = view.root.getBoundingClientRect(), box = tok.getBoundingClientRect();
  const times = enlarged(), x = (box.left - home.left + box.width / 2) / times - view.tip.offsetWidth / 2, y = (box.top - home.top) / times - view.tip.offsetHeight - 6;
  view.tip.style.left = `${Math.max(0, Math.min(home.width / times - view.tip.offsetWidth, x))}px`;
  view.tip.style.top = `${y > -30 ? y : (box.bottom - home.top) / times + 6}px`;
}
