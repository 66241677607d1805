// The sentence about a touched word: what it gives its attention to, or what gives most to it. Same words, same thresholds, wherever it stands.

import { percent, speak } from "./common.js";

export const CLEAR = 0.05;      // a weight from here on is told

/**
 * Speaks the sentence of `say` (Sentences of words.py) about the word `me`. `looks` are [{word, weight, self}]: what it may look at, or
 * with `column` what may look at it; `self` is the word itself. `say.torn` is for a column with a number that is not finite.
 */
export function tellLook(view, say, me, looks, column = false) {
  const ranked = [...looks].sort((a, b) => b.weight - a.weight), [top] = ranked;
  view.root.dataset.top = top ? `${top.word}:${top.weight.toFixed(2)}` : "";
  speak(view.sentence, ...(column ? got : given)(say, { word: me }, ranked));
}

const isBroken = (ranked) => ranked.some(({ weight }) => !Number.isFinite(weight));

function got(say, key, ranked) {
  const [top] = ranked;
  if (say.torn && isBroken(ranked)) return [say.torn, { key }];
  if (!top || Number.isNaN(top.weight)) return [say.unseen, { key, word: { word: "\u2013" }, percent: percent(0) }];
  return [top.weight < CLEAR ? say.unseen : say.key, { key, word: top, percent: percent(top.weight) }];
}

function given(say, word, ranked) {
  const [top, second] = ranked;
  if (!top) return [say.shut, { word }];
  if (isBroken(ranked)) return [say.broken, { word }];
  const parts = { word, key: top, percent: percent(top.weight) };
  if (!second) return [say.only, parts];
  if (top.weight >= 0.5) return [top.self ? say.itself : say.looks, parts];
  if (top.weight + second.weight >= 0.6 && second.weight >= 0.2) return [say.two, { ...parts, key2: second, percent2: percent(second.weight) }];
  const total = ranked.reduce((sum, { weight }) => sum + weight, 0);
  let held = 0, count = 0;
  for (const { weight } of ranked) { if (held >= 0.9 * total - 1e-6) break; held += weight; count += 1; }
  return [say.spreads, { ...parts, count }];
}
