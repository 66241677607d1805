// What a heatmap says in words: numbers as exact as they were sent, the tip, the legend.

import { cut, make, ramp, speak, swatch } from "../kit/common.js";
import { inWhole, isLone, plainAxis } from "../kit/matrix/places.js";
import { marginFacts } from "./margins.js";
import { fill, mark, say } from "../kit/words.js";

/** As many digits as were sent: float32 seven, float16 three, else what the step allows. */
function printed({ kind, step }, value) {
  if (Number.isNaN(value)) return say("not a finite number");
  if (!Number.isFinite(value)) return value > 0 ? "+\u221e" : "\u2212\u221e";
  if (kind === "steps") return `\u2248 ${value.toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 0.01)))}`.replace("-", "\u2212");
  return String(Number(value.toPrecision(kind === "f32" ? 7 : 3))).replace("-", "\u2212");
}

/** A value short enough for a cell: ".98", "1.7"; only an exact zero is written "0". */
export function inCell(value, places) {
  if (value === 0) return "0";
  if (places < 0) return value.toFixed(2).replace(/^0/, "");
  return value.toFixed(places).replace(/^-(?=[0.]+$)/, "").replace("-", "\u2212");
}

/** The tip of a place: the words whole, the number of the lens in use, below it the other numbers and the bars. */
export function tellPlace(view, tip, at) {
  const [r, c] = inWhole(view, at), { data, now } = view, i = r * data.cols + c;
  const query = { word: cut(view.words.queries[r] ?? "", 600) }, key = { word: cut(view.words.keys[c] ?? "", 600) };
  for (const name of ["value", "received", "entropy", "sunk", "score", ...view.lenses.map((lens) => lens.id)]) delete view.root.dataset[name];
  const facts = [], line = make("div", "");
  if (r >= 0 && c >= 0) {
    const shut = !data.allowed[i];
    view.root.dataset.value = shut ? "masked" : String(now.values[i]);
    const alone = shut || view.lenses.length === 1;
    speak(line, alone ? "{query} \u2192 {key} {value}" : "{query} \u2192 {key}", { query, key, value: !shut ? printed(now, now.values[i]) : isLone({ head: view.head, first: [0, 0] }, r, c) ? say(LONE) : closed(view) });
    for (const lens of shut ? [] : view.lenses) {
      view.root.dataset[lens.id] = String(lens.values[i]);
      if (!alone) facts.push([lens.name, printed(lens, lens.values[i]), lens === now]);
    }
    if (!shut && !("score" in view.root.dataset)) facts.push(...scoreFact(view, r, view.lenses[0].values[i]));
  } else speak(line, r >= 0 ? `{word} ${plainAxis(view, 0)} ${r}` : `{word} ${plainAxis(view, 1)} ${c}`, { word: r >= 0 ? query : key });
  if (view.margins) facts.push(...marginFacts(view, [r, c]));
  const list = make("div", "facts");
  if (facts.length) line.append(pause(". "));
  for (const [name, value, main] of facts) {
    make("span", main ? "main" : "", list).append(name, pause());
    make("b", main ? "main" : "", list).textContent = value;
    list.append(pause("; "));
  }
  tip.replaceChildren(line, ...(facts.length ? [list] : []));
}

/** Heard, not seen: where the parts of a tip end. */
function pause(mark = ": ") {
  const heard = make("span", "sr");
  heard.textContent = mark;
  return heard;
}

/** The score from which a weight came: ln(weight) + ln(denominator), to as many places as the weight allows. */
function scoreFact({ logSums, data: { kind, step }, root }, row, weight) {
  if (!logSums || !(weight > 0)) return [];
  const score = Math.log(weight) + logSums[row], rounded = kind !== "f32";
  const places = Math.floor(-Math.log10(rounded ? (kind === "steps" ? step : 1e-3 * weight) / weight : 1e-6 * Math.max(1, Math.abs(logSums[row]))));
  if (places < 1) return [];
  root.dataset.score = String(score);
  return [[say("score"), `${rounded ? "\u2248 " : ""}${score.toFixed(Math.min(places, 4))}`.replace("-", "\u2212"), false]];
}

export const LONE = mark("no counterpart");

/** What a hatched cell is. */
export const closed = ({ head: { shut } }) => shut || say("masked");

/** Scale, what is hatched or crossed, how exact the numbers are. */
export function tellScale(view, broken) {
  const { legend: box, now, theme } = view;
  box.replaceChildren();
  box.hidden = !view.data.rows || !view.data.cols;
  if (now.label) make("span", "entry", box, now.label);
  ramp(box, colours(view), ...ends(now));
  if (hasShut(view)) swatch(box, "shut", closed(view));
  if (hasLone(view)) swatch(box, "lone", say(LONE));
  if (broken) swatch(box, "cross", say("not a finite number"));
  if (view.margins && view.head.sink) make("span", "entry", box, say("rows add up to less than 1: a learned sink takes the rest"));
  if (known(now)) make("span", "entry", box, known(now, say));
  view.root.style.setProperty("--hatch", theme.hatch);
}

export const hasLone = ({ head }) => head.lone.some((places) => places.length);
const hasShut = ({ head, data }) => data.allowed.some((may, i) => !may && !isLone({ head, first: [0, 0] }, Math.floor(i / data.cols), i % data.cols));
export const colours = ({ now, theme }) => (now.centred ? theme.diverging : theme.sequential);

/** The two ends of a scale as text. */
export function ends({ centred, limit }) {
  const nice = Number(limit.toPrecision(3));
  return centred ? [`\u2212${nice}`, `${nice}`] : ["0", `${nice}`];
}

/** How exact the numbers of a lens are: in English for a file, by `word` of words.js for the screen. */
export const known = ({ kind, step }, word = fill) => (kind === "steps" ? word(mark("values in steps of {step}"), { step: Number(step.toPrecision(2)) }) : kind === "f16" ? word(mark("values to three digits")) : "");

export function shade(view, value) {
  const { centred, limit } = view.now, x = centred ? (value / limit + 1) / 2 : value / limit;
  return colours(view)[Math.round(Math.min(1, Math.max(0, x)) * 255)];
}
