// What is said of the chosen row: the sentence, the legend, the share under the pointer.

import { enlarged, make, percent, ramp, speak, swatch } from "../kit/common.js";
import { exactness } from "../kit/save/npz.js";
import { tellLook } from "../kit/tell.js";
import { isDifference, look, told } from "./paint.js";
import { mark, say } from "../kit/words.js";

const TORN = mark("{key} gets a number that is not finite: its column of the tensor is broken.");
const name = ({ head }, side, i) => (side === "query" && head.asks ? head.asks[i] : head.keys[i]);

export function tell(view, at) {
  const { head, sentence, matrix, root } = view, { side, index } = at, other = side === "query" ? "key" : "query";
  root.dataset.rows = String(matrix.rows);
  if (!matrix.rows) { speak(sentence, head.say.empty, {}); return; }
  const { weights, may } = look(view, at);
  const looks = [...weights.keys()].filter((i) => may[i]).map((i) => ({ word: name(view, other, i), weight: weights[i], self: !head.asks && i === index }));
  if (isDifference(head)) return tellDifference(view, name(view, side, index), looks);
  tellLook(view, { ...head.say, torn: say(TORN) }, name(view, side, index), looks, side === "key");
}

function tellDifference({ head, sentence }, word, looks) {
  const top = looks.reduce((most, one) => (!most || Math.abs(one.weight) > Math.abs(most.weight) ? one : most), null);
  if (!top) return speak(sentence, head.say.shut, { word: { word } });
  speak(sentence, head.say.differs, { word: { word }, key: top, percent: told(head, top.weight), total: percent(looks.reduce((sum, { weight }) => sum + Math.abs(weight), 0)) });
}

export function legend(view) {
  const { legend: box, matrix, head } = view;
  box.replaceChildren();
  if (!matrix.rows) return;
  const centred = isDifference(head), end = `${Number(head.limit.toPrecision(2))}`;
  make("span", "entry", box, centred ? say("difference") : say("weight"));
  ramp(box, view.ramp, centred ? `\u2212${end}` : "0", centred ? `+${end}` : end);
  if (!head.asks) swatch(box, "ring", say("chosen"));
  if (matrix.allowed.includes(0)) swatch(box, "shut", say("masked"));
  if (matrix.values.some((v) => !Number.isFinite(v))) swatch(box, "cross", say("not a finite number"));
  if (exactness(matrix)) make("span", "entry", box).textContent = say("weights {exactness}", { exactness: exactness(matrix, say) });
  const hint = make("span", "entry hint", box, head.hint || (head.asks ? say("Choose a word, point at a cell for its weight.") : say("Click a cell to see what it looks at.")));
  hint.dataset.unsaved = "";
}

export function showTip(view, key) {
  const { side, index } = view.at, i = Number(key.dataset.i), { weights, may } = look(view, view.at);
  const [query, to] = (side === "query" ? [name(view, "query", index), name(view, "key", i)] : [name(view, "query", i), name(view, "key", index)]).map((word) => ({ word }));
  const share = may[i] ? told(view.head, weights[i]) : say("masked");
  speak(view.tip, "{query} \u2192 {to} {share}", { query, to, share });
  view.root.dataset.tip = share;
  view.tip.hidden = false;
  const home = view.root.getBoundingClientRect(), box = key.getBoundingClientRect(), times = enlarged();
  const x = (box.left - home.left + box.width / 2) / times - view.tip.offsetWidth / 2, y = (box.top - home.top) / times - view.tip.offsetHeight - 6;
  view.tip.style.left = `${Math.max(0, Math.min(home.width / times - view.tip.offsetWidth, x))}px`;
  view.tip.style.top = `${y > -30 ? y : (box.bottom - home.top) / times + 6}px`;
}

export function hideTip(view) { view.tip.hidden = true; view.root.dataset.tip = ""; }
