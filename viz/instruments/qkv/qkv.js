// Five pictures of one row of a head, one after the other: word, query key value, score, softmax, mixture.

import { css, keepDrawn, make, percent, ramp, readTheme, sharp, speak, visible } from "../kit/common.js";
import { paintAt, paintElement } from "../kit/save/dom_pen.js";
import { saveMenu } from "../kit/save/save.js";
import { button, drawing, group, hold, shell, status } from "../kit/shell.js";
import { mark, say } from "../kit/words.js";

const SCENES = [mark("Word"), mark("Query, key, value"), mark("Score"), mark("Softmax"), mark("Mixture")], SECONDS = 8, STRIP = 18;
const FROM = { query: 1, key: 1, value: 1, score: 2, weight: 3, output: 4 };   // the scene that brings each row

export function build(root) {
  const view = shell(root, "qkv", { scene: 0, playing: false, identity: "", strips: [] });
  view.stops = group("stops", root, say("Scenes"));
  view.scenes = SCENES.map((name, i) => {
    const one = button(view.stops, "stop", `${i + 1}  ${say(name)}`, () => go(view, i, false));
    make("i", "progress", one);
    return one;
  });
  view.told = status("p", "told", root);
  view.stage = make("div", "stage", root);
  view.tape = group("tape", root, say("Playback"));
  view.back = button(view.tape, "step", "\u2039", () => go(view, view.scene - 1, false), say("Previous scene"));
  view.play = button(view.tape, "play", "", () => toggle(view));
  view.next = button(view.tape, "step", "\u203a", () => go(view, view.scene + 1, false), say("Next scene"));
  root.addEventListener("keydown", (event) => onKey(view, event));
  view.drawn = keepDrawn(root, () => paintStrips(view));
  const stop = view.drawn.stop;
  view.drawn.stop = () => { clearTimeout(view.timer); stop(); };
  return view;
}

export function accept(view, packet) {
  const { header: head } = packet, identity = JSON.stringify([head.word, head.keys, head.q, head.weights]);
  Object.assign(view, { head, packet, theme: readTheme(view.root) });
  view.title.textContent = head.title;
  fill(view);
  if (identity !== view.identity) {
    view.identity = identity;
    go(view, 0, !matchMedia("(prefers-reduced-motion: reduce)").matches);
  } else show(view);
  saveMenu(view, view.tools, saving(view));
}

function onKey(view, event) {
  const to = { ArrowRight: view.scene + 1, ArrowLeft: view.scene - 1, Home: 0, End: SCENES.length - 1 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (to !== undefined) { hold(event); go(view, to, false); }
  else if (event.key === " " && !event.target.closest("button")) { hold(event); toggle(view); }
  else if (event.key === " ") event.stopPropagation();   // the button's own key, not the page's
}

function toggle(view) {
  if (view.playing) return go(view, view.scene, false);
  go(view, view.scene === SCENES.length - 1 ? 0 : view.scene, true);
}

/** Show a scene; while it plays the next one follows by itself. */
function go(view, scene, playing) {
  view.scene = Math.max(0, Math.min(SCENES.length - 1, scene));
  view.playing = playing;
  clearTimeout(view.timer);
  if (playing) view.timer = setTimeout(() => go(view, view.scene + 1, view.scene + 1 < SCENES.length - 1), 1000 * SECONDS);
  show(view);
}

const numbered = (value) => (value < 0 ? "\u2212" : "") + Math.abs(value).toFixed(2);

/** The words that are read as columns, and a row for each thing that the scenes bring. */
function fill(view) {
  const { head, theme } = view, { columns } = head, largest = top(head);
  view.strips = [];
  const table = make("div", "table");
  table.style.setProperty("--columns", columns.length);
  const row = (name, label, cell) => {
    const place = make("div", `row ${name}`, table);
    place.dataset.from = FROM[name] ?? 0;
    make("span", "label quiet", place, label);
    for (const at of columns) cell(make("div", at === largest ? "cell largest" : "cell", place), at);
  };
  const strip = (parent, values, spread, weight = 1) => view.strips.push({ canvas: drawing(parent, "strip"), values, spread, weight });
  const most = (rows) => Math.max(1e-9, ...rows.flat().map(Math.abs));
  const asking = make("div", "row query", table);
  make("span", "label quiet", asking, head.writing ? say("writes") : say("word"));
  const asked = make("div", "asked", asking);
  make("b", "word", asked, visible(head.word));
  const query = make("div", "own", asked);
  query.dataset.from = FROM.query;
  make("span", "quiet", query, say("its query q"));
  strip(query, head.q, most([head.q]));
  row("read", say("reads"), (cell, at) => make("span", "word", cell, visible(head.keys[at])));
  row("key", say("key k"), (cell, at) => strip(cell, head.k[at], most(head.k)));
  row("score", say("score {formula}", { formula: head.formula }), (cell, at) => make("span", "number", cell, head.scores[at] === null ? say("masked") : numbered(head.scores[at])));
  row("weight", say("weight"), (cell, at) => {
    const bar = make("i", "bar", cell);
    bar.style.height = `${Math.max(1, 34 * head.weights[at])}px`;
    bar.style.backgroundColor = css(theme.sequential[Math.round(90 + 165 * Math.min(1, head.weights[at]))]);
    make("b", "number", cell, percent(head.weights[at]));
  });
  row("value", say("value v"), (cell, at) => strip(cell, head.v[at], most(head.v), head.weights[at]));
  const mixed = make("div", "row output", table);
  mixed.dataset.from = FROM.output;
  make("span", "label quiet", mixed, say("weight × v, added up"));
  const out = make("div", "asked", mixed);
  const own = make("div", "own", out);
  make("span", "quiet", own, say("output of this head"));
  strip(own, head.output, most(head.v));
  const legend = make("div", "legend quiet");
  legend.dataset.from = FROM.query;
  make("span", "", legend, say("each stripe is one number"));
  ramp(legend, theme.diverging, say("negative"), say("positive"));
  view.stage.replaceChildren(table, legend);
}

const top = (head) => head.weights.indexOf(Math.max(...head.weights));

function show(view) {
  const { head, scene, playing, root } = view, at = top(head);
  Object.assign(root.dataset, { scene: scene + 1, playing });
  view.scenes.forEach((one, i) => { one.setAttribute("aria-current", i === scene ? "step" : "false"); one.classList.toggle("playing", playing && i === scene); });
  view.play.textContent = playing ? say("Pause") : scene === SCENES.length - 1 ? say("Play again") : say("Play");
  view.back.disabled = scene === 0;
  view.next.disabled = scene === SCENES.length - 1;
  for (const part of view.stage.querySelectorAll("[data-from]")) part.classList.toggle("coming", Number(part.dataset.from) > scene);
  const rest = head.columns.length < head.keys.length ? say(" Shown are the {n} of {total} tokens with the largest weights; the others get {rest} together.", { n: head.columns.length, total: head.keys.length }) : "";
  const sentences = [
    head.writing
      ? say("The model is about to write {word}. That position, and every token that it has read, is a vector of {width} numbers.")
      : say("The model reads {word}. This position, and every other one, is a vector of {width} numbers."),
    say("Learned matrices make shorter vectors of {d} numbers: one query for {word}, what it looks for; for each token a key, what it can be found by, and a value, what it passes on."),
    say("Score: {steps}. The largest is {best}, for {key}.", { steps: [say("the query times a key, number by number, added up"), ...head.steps].join(", ") }),
    (head.sunk ? say("Softmax turns the scores into attention weights: none is negative, and together with the {sunk} that a learned sink takes they are 100%. {key} gets {weight}.") : say("Softmax turns the scores into attention weights: none is negative, and together they are 100%. {key} gets {weight}.")) + rest,
    say("The output of the head: each value times its weight, added up. The value of {key} has the largest part in it, {weight}. The next layers read this output."),
  ];
  speak(view.told, sentences[scene], {
    word: { word: head.word }, key: { word: head.keys[at] }, width: head.width, d: head.q.length,
    sunk: percent(head.sunk), best: numbered(head.scores[at]), weight: percent(head.weights[at]), rest: percent(head.rest),
  });
  paintStrips(view);
}

function paintStrips(view) {
  if (!view.head) return;
  for (const { canvas, ...strip } of view.strips) {
    const wide = canvas.parentElement.clientWidth;
    if (wide) paintStrip(view, sharp(canvas, wide, STRIP), { ...strip, wide });
  }
}

/** Numbers as cells around 0; in the last scene a value is as strong as its weight. */
function paintStrip(view, pen, { values, spread, weight, wide }) {
  const { theme, scene } = view, by = scene === SCENES.length - 1 ? weight : 1, each = wide / values.length;
  values.forEach((value, i) => {
    pen.fillStyle = css(theme.diverging[Math.max(0, Math.min(255, Math.round(127.5 + 127.5 * by * value / spread)))]);
    pen.fillRect(i * each, 0, each + 0.3, STRIP);
  });
}

function saving(view) {
  const { head, root, theme } = view, n = head.keys.length, d = head.q.length;
  const flat = (rows) => Float32Array.from(rows.flat());
  return {
    name: head.title || say("Query, key, value"), bar: view.bar,
    size: () => [root.clientWidth, root.scrollHeight],
    paint: (pen) => {
      paintElement(pen, root, root, theme);
      for (const { canvas, ...strip } of view.strips) if (canvas.getClientRects().length && !canvas.closest(".coming")) paintAt(pen, canvas, root, (wide) => paintStrip(view, pen, { ...strip, wide }));
    },
    rows: () => [["key", "score", "weight"], ...head.keys.map((key, i) => [key, head.scores[i] ?? "", head.weights[i]])],
    arrays: () => ({
      keys: { shape: [n], values: head.keys },
      q: { shape: [d], values: Float32Array.from(head.q), axes: ["feature"] },
      k: { shape: [n, d], values: flat(head.k), axes: ["key", "feature"] },
      v: { shape: [n, d], values: flat(head.v), axes: ["key", "feature"] },
      scores: { shape: [n], values: Float32Array.from(head.scores, (score) => score ?? -Infinity), axes: ["key"] },
      weights: { shape: [n], values: Float32Array.from(head.weights), axes: ["key"] },
      output: { shape: [d], values: Float32Array.from(head.output), axes: ["feature"] },
    }),
  };
}
