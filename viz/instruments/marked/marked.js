// A text whose words carry bars, labels and colours; a stretch of it can be marked by touching its first word and its last.

import { inPercent, keepDrawn, make, percent, readTheme, swatch, visible } from "../kit/common.js";
import { saveMenu } from "../kit/save/save.js";
import { group, keepFocus, shell, status } from "../kit/shell.js";
import { say } from "../kit/words.js";

export function build(root) {
  const view = shell(root, "marked");
  view.legend = make("div", "legend", root);
  view.row = group("row", root);
  view.sentence = status("p", "sentence quiet", root);
  view.drawn = keepDrawn(root, () => {});
  return view;
}

export function accept(view, packet) {
  const { header: head } = packet;
  Object.assign(view, { head, packet, theme: readTheme(view.root), span: head.span });
  view.colours = view.theme.categorical;
  view.root.classList.toggle("room", getComputedStyle(view.root).getPropertyValue("--atlas-chrome").trim() === "none");
  view.root.classList.toggle("many", head.words.length > 45);
  view.root.classList.toggle("single", !head.names[1]);
  view.title.textContent = head.title;
  view.bar.hidden = !head.title && !head.above && !head.notes;
  view.legend.replaceChildren();
  head.names.forEach((name, i) => { if (name) swatch(view.legend, "", name).firstChild.style.background = view.colours[i]; });
  keepFocus(view, () => (view.words ?? []).map(({ box }) => box), () => {
    view.words = head.words.map((word, i) => card(view, word, i));
    view.row.replaceChildren(...grouped(view));
    view.row.setAttribute("aria-label", head.hint || say("Text"));
  }, { preventScroll: true });
  view.sentence.textContent = head.hint;
  paint(view);
  if (head.above || head.notes) saveMenu(view, view.tools, saving(view));
}

/** Words that touch stay on one line. */
function grouped(view) {
  const groups = [];
  view.words.forEach(({ box }, i) => {
    if (!view.head.glued.includes(i) || !groups.length) groups.push(make("div", "group"));
    groups.at(-1).append(box);
  });
  return groups;
}

/** One word between its two bars, with its label. */
function card(view, word, i) {
  const { head } = view, box = make(head.pick ? "button" : "div", "word");
  const name = visible(word), told = [name];
  box.dataset.i = i;
  box.classList.toggle("glued", head.glued.includes(i));
  box.classList.toggle("quiet-word", head.quiet.includes(i));
  if (head.names[0]) column(view, box, "up", head.above, 0, i, told);
  make("span", "text", box, name);
  if (head.names[1]) column(view, box, "down", head.below, 1, i, told);
  if (head.notes) {
    make("span", "note", box, head.notes[i]);
    if (head.notes[i]) told.push(head.notes[i]);
  }
  const sentence = told.join(", ");
  box.setAttribute("aria-label", sentence);
  box.onpointerenter = box.onfocus = () => { view.sentence.textContent = told.length > 1 ? sentence : head.hint; };
  box.onpointerleave = box.onblur = () => { view.sentence.textContent = head.hint; };
  if (head.pick) {
    box.type = "button";
    box.onclick = () => touch(view, i);
    box.onkeydown = (event) => { if (event.key === " " || event.key === "Enter") event.stopPropagation(); };   // the page steps with the same keys
  }
  return { box };
}

function column(view, box, side, values, hue, i, told) {
  const place = make("span", side, box);
  if (!values) return;
  const share = values[i], bar = make("i", "", place), number = make("span", "share", place);
  bar.style.height = `calc(${Math.min(1, share / view.head.most).toFixed(4)} * (100% - 1.15em))`;
  bar.style.background = view.colours[hue];
  number.textContent = share >= Math.max(0.005, 0.03 * view.head.most) ? percent(share) : "";
  if (side === "up") place.append(bar); else place.prepend(bar);
  told.push(`${view.head.names[hue]} ${inPercent((100 * share).toFixed(1))}`);
}

/** A touch begins a stretch; a touch on another word ends it. */
function touch(view, i) {
  const [first, last] = view.span ?? [-1, -1];
  view.span = view.head.pick === "span" && first === last && first >= 0 ? [Math.min(first, i), Math.max(first, i)] : [i, i];
  paint(view);
  view.component.setStateValue("span", view.span);
}

function paint(view) {
  const { head, span, colours } = view;
  view.words.forEach(({ box }, i) => {
    const on = Boolean(span) && span[0] <= i && i <= span[1], hue = head.hues?.[i];
    box.classList.toggle("on", on);
    box.classList.toggle("first", on && i === span[0]);
    box.classList.toggle("last", on && i === span[1]);
    if (head.pick) box.setAttribute("aria-pressed", on);
    box.style.setProperty("--hue", hue === null || hue === undefined ? "transparent" : colours[hue % 8]);
    box.classList.toggle("framed", hue >= 8);
    box.classList.toggle("coloured", hue !== null && hue !== undefined);
  });
  view.root.dataset.span = span ? span.join("-") : "";
}

function saving(view) {
  const { head } = view, n = head.words.length;
  const columns = [["word", head.words], [head.names[0], head.above], [head.names[1], head.below], ["label", head.notes]].filter(([, values]) => values);
  const numbers = columns.filter(([, values]) => typeof values[0] === "number");
  return {
    name: head.title || say("Marked text"),
    header: () => ({ span: view.span }),
    rows: () => [columns.map(([name]) => name), ...head.words.map((_, i) => columns.map(([, values]) => values[i]))],
    arrays: () => ({
      words: { shape: [n], values: head.words },
      ...Object.fromEntries(numbers.map(([name, values]) => [name, { shape: [n], values: Float32Array.from(values), axes: ["word"] }])),
    }),
  };
}
