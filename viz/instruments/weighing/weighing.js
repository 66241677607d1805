// Words to weigh: a slider each, the softmax of all of them as shading, words that weigh too little vanish.

import { css, inkOn, inPercent, keepDrawn, make, readTheme, speak, visible } from "../kit/common.js";
import { saveMenu } from "../kit/save/save.js";
import { group, shell, status } from "../kit/shell.js";
import { say } from "../kit/words.js";

export function build(root) {
  const view = shell(root, "weighing", { identity: "" });
  view.row = group("row", root);
  view.sentence = status("p", "sentence", root);
  view.drawn = keepDrawn(root, () => {});
  return view;
}

export function accept(view, packet) {
  const { header: head } = packet, identity = JSON.stringify([head.words, head.covered, head.most]);
  Object.assign(view, { head, packet, theme: readTheme(view.root) });
  view.title.textContent = head.title;
  if (identity !== view.identity) {
    view.identity = identity;
    view.words = head.words.map((word, i) => card(view, word, i));
    view.row.replaceChildren(...view.words.map((one) => one.box));
    view.row.setAttribute("aria-label", say("Words, each with a slider for its score"));
  }
  if (!view.held) head.raw.forEach((value, i) => { view.words[i].slider.value = value; });
  view.root.dataset.covered = head.covered;
  shade(view);
  if (!head.covered) saveMenu(view, view.tools, saving(view));
}

/** One word: its text, its weight, its slider with the number beside it. */
function card(view, word, i) {
  const box = make("div", "word"), text = make("div", "text", box), share = make("div", "share", box);
  text.textContent = visible(word);
  const slider = make("input", "slider", box), number = make("div", "raw quiet", box);
  slider.type = "range"; slider.min = 0; slider.max = view.head.most; slider.step = 0.1;
  slider.setAttribute("aria-label", say("Score of {word}", { word: visible(word) }));
  slider.oninput = () => { view.held = true; shade(view); };
  slider.onchange = () => { view.held = false; view.component.setStateValue("raw", values(view)); };
  slider.onkeydown = (event) => event.stopPropagation();   // the page steps with the same keys
  box.dataset.i = i;
  return { box, text, share, slider, number };
}

const values = (view) => view.words.map((one) => Math.round(Number(one.slider.value) * 10) / 10);

function weights(raw) {
  const top = Math.max(...raw), powers = raw.map((value) => Math.exp(value - top)), sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function shade(view) {
  const { head, theme, words } = view;
  if (head.covered) {
    words.forEach(({ box, text, share, number }, i) => {
      text.style.background = text.style.color = ""; share.textContent = "";
      number.textContent = head.raw[i].toFixed(1);
      box.classList.remove("gone");
    });
    view.sentence.textContent = "";
    return;
  }
  const raw = values(view), share = (view.now = weights(raw));
  words.forEach((one, i) => {
    const colour = theme.sequential[Math.round(255 * share[i])], gone = head.threshold !== null && share[i] < head.threshold;
    one.text.style.background = css(colour);
    one.text.style.color = inkOn(colour, theme);
    one.share.textContent = inPercent((100 * share[i]).toFixed(1));
    one.number.textContent = raw[i].toFixed(1);
    one.slider.setAttribute("aria-valuetext", say("{score}, weight {share} percent", { score: raw[i].toFixed(1), share: (100 * share[i]).toFixed(1) }));
    one.box.classList.toggle("gone", gone);
  });
  const left = words.filter((one) => !one.box.classList.contains("gone"));
  view.root.dataset.weights = share.map((value) => value.toFixed(4)).join(" ");
  view.root.dataset.kept = left.map((one) => one.box.dataset.i).join(" ");
  const seen = left.map((one) => one.text.textContent).join(" ");
  if (head.threshold === null) { view.sentence.textContent = ""; return; }
  if (left.length) speak(view.sentence, say("What is left to read: {words}"), { words: { word: seen } });
  else view.sentence.textContent = say("No word is left.");
}

function saving(view) {
  const raw = () => Float32Array.from(values(view)), n = view.words.length;
  return {
    name: view.head.title || say("Weighed words"),
    header: () => ({ raw: values(view) }),
    rows: () => [["word", "importance", "weight"], ...view.head.words.map((word, i) => [word, values(view)[i], view.now[i]])],
    arrays: () => ({
      words: { shape: [n], values: view.head.words },
      importance: { shape: [n], values: raw(), axes: ["word"] },
      weight: { shape: [n], values: Float32Array.from(view.now), axes: ["word"] },
    }),
  };
}
