// The page in which a visitor's own sentence runs: what is typed, what is changed, and the app's pictures of it.

import { arrange, draw, place } from "../../../classroom/page/draw.js";
import { say, speakPage, writeNumber } from "../../../languages/words.js";
import { admitCode } from "../../page/parts.js";
import { isOpen, run } from "./models.js";
import { cellsOf, divergences, grid, mask, words } from "./packets.js";

speakPage();

const at = (id) => document.getElementById(id), box = globalThis.attentionAtlas, { models, licences, lesson, languages = {} } = JSON.parse(at("data-live").textContent);
const make = (tag, parent, text = "", more = {}) => {
  const made = Object.assign(document.createElement(tag), { textContent: text, ...more });
  parent?.append(made);
  return made;
};
const asked = new URLSearchParams(location.hash.slice(1));
const view = { model: models[0], kind: null, head: [0, 0], turn: null, zero: [], mask: null, plain: null, found: null, ran: "", undone: 0, texts: new Map() };

/** Buttons of which one is pressed: [value, words] each. */
function choices(home, entries, chosen, act) {
  const focused = home.contains(document.activeElement);
  home.hidden = entries.length < 2;
  home.replaceChildren(...entries.map(([value, text]) => {
    const button = make("button", null, text, { type: "button", onclick: () => act(value) });
    button.setAttribute("aria-pressed", String(value === chosen));
    return button;
  }));
  if (focused) home.querySelector('[aria-pressed="true"]').focus();
}

const percent = (share) => writeNumber(`${(share * 100).toFixed(share < 0.0995 ? 1 : 0)}%`);
const number = (value, places) => writeNumber(value.toFixed(places));
const shown = (token) => token.replace(/^ (?=\S)/, "").replaceAll(" ", "\u2423").replaceAll("\n", "\u23ce") || "\u2423";
const headName = ([layer, head]) => `L${layer}.H${head}`;
const isZero = () => view.zero.some(({ kind, layer, head }) => kind === view.kind.kind && layer === view.head[0] && head === view.head[1]);
const isChanged = () => view.zero.length > 0 || view.mask !== null;
const same = (one, other) => one.length === other.length && one.every((v, i) => v === other[i]);

// ---------------------------------------------------------------- runs: one at a time, the newest next

let busy = false, again = false;

async function compute() {
  if (busy) { again = true; return; }
  busy = true;
  const found = await runs(view.model, at("text").value);
  busy = false;
  if (found?.model === view.model) accept(found);
  if (again) { again = false; compute(); }
}

/** The text as the model runs it and with what is changed, {model, text, plain, found}; nothing where the model cannot be loaded. */
async function runs(model, text) {
  if (!isOpen(model.name)) at("state").textContent = say("Loading {model}, {size} MB\u2026", { model: model.name, size: number(model.bytes / 1e6, 1) });
  try {
    const plain = view.ran === text && view.plain ? view.plain : await run(model.name, text, {});
    if (view.ran !== text) view.mask = null;   // of another text
    const edits = { zero: view.zero, masks: view.mask ? { [view.mask.kind]: view.mask.cells } : {} };
    return { model, text, plain, found: plain.refused || !isChanged() ? plain : await run(model.name, text, edits) };
  } catch (error) {
    at("state").textContent = "";
    refuse(say("{model} cannot be run ({reason}). The page and its folder \u201cmodels\u201d belong together. Copy the whole folder, or reload the page.", { model: model.name, reason: error.message }));
    return null;
  }
}

/** Say what is wrong, or that nothing is. */
function refuse(words) {
  at("wrong").textContent = words;
  at("wrong").hidden = !words;
  at("text").setAttribute("aria-invalid", String(Boolean(words)));
}

function accept({ plain, found, text }) {
  const values = Object.fromEntries(Object.entries(found.values ?? {}).map(([name, value]) => [name, typeof value === "number" ? writeNumber(value.toLocaleString("en")) : value]));
  refuse((found.refused ?? []).map((sentence) => say(sentence, values)).join(" "));
  at("found").classList.toggle("stale", Boolean(found.refused));
  if (found.refused) { at("state").textContent = view.found ? say("The pictures below are of the text before.") : ""; return; }
  Object.assign(view, { plain, found, ran: text });
  box.run = found;   // the numbers of all heads, for whoever opens the console
  at("found").hidden = false;
  const ran = { n: found.ids.length, ms: number(found.ms, found.ms < 10 ? 1 : 0) };
  at("state").textContent = ran.n === 1 ? say("1 token, {ms} ms in this browser", ran) : say("{n} tokens, {ms} ms in this browser", ran);
  show();
}

// ---------------------------------------------------------------- what is shown

const attentionOf = (found) => found.attentions.find(({ kind }) => kind === view.kind.kind);

function show() {
  const { model, kind, found, plain, head } = view, now = attentionOf(found), before = attentionOf(plain), changed = found !== plain;
  const comparable = changed && same(now.shape, before.shape), changes = comparable ? divergences(before, now) : null;
  const origin = { page: say("Live"), model: model.name, text: view.ran, kind: kind.kind, ...(found.written && { second_text: found.written }), ...(changed && { changed: inWords() }) };
  output(plain, changed ? found : null);
  choices(at("kinds"), model.kinds.map((one) => [one, one.name]), kind, (one) => { view.kind = one; view.head = one.head; view.turn = null; show(); });
  buttons();
  effect(changed, now, changes, kind);
  const pictures = [words(box, kind, now, head, view.turn, origin), grid(box, kind, now, head, view.turn, origin, changes)];
  arrange(at("pictures"), pictures.map(({ key }) => key));
  admitCode();
  for (const [id, words] of Object.entries(languages)) box.parts.set(id, new TextEncoder().encode(words));
  pictures.forEach((picture) => draw(picture, ""));
  showMask(now, before);
}

function buttons() {
  at("zero").textContent = isZero() ? say("Switch {head} on again", { head: headName(view.head) }) : say("Zero-ablate {head}", { head: headName(view.head) });
  at("zero").setAttribute("aria-pressed", String(isZero()));
  at("undo").hidden = !isChanged();
}

/** What was changed, in words. */
function inWords() {
  const short = Object.fromEntries(view.model.kinds.map(({ kind, mark }) => [kind, view.model.kinds.length > 1 ? `${mark} ` : ""]));
  return [...view.zero.map(({ kind, layer, head }) => say("{head} is zero", { head: `${short[kind]}${headName([layer, head])}` })), ...(view.mask ? [say("another mask")] : [])].join(", ");
}

function effect(changed, now, changes) {
  at("effect").hidden = !changed;
  if (!changed) return;
  if (!changes) { at("effect").textContent = say("Changed: {changes}. The text that it writes has another length, so its rows cannot be compared with those before.", { changes: inWords() }); return; }
  const heads = now.shape[1], most = changes.reduce((best, v, i) => (v > changes[best] ? i : best), 0);
  const told = { changes: inWords(), head: headName([Math.floor(most / heads), most % heads]), bits: number(changes[most], 3) };
  at("effect").textContent = changes[most] < 0.0005
    ? say("Changed: {changes}. No attention of this kind changes.", told)
    : say("Changed: {changes}. The attention of {head} changes most: Jensen-Shannon divergence {bits} bits (maximum 1), the mean over its rows.", told);
}

/** The output as a table: as the model is, and, where something is changed, with the changes. */
function output(plain, found) {
  const table = at("output"), columns = [plain, ...(found ? [found] : [])];
  table.replaceChildren();
  const names = make("tr", make("thead", table));
  make("td", names);
  for (const name of [say("As trained"), say("With the changes")].slice(0, columns.length)) make("th", names, found ? name : "", { scope: "col" });
  names.hidden = !found;
  const body = make("tbody", table), line = (name) => { const row = make("tr", body); make("th", row, name, { scope: "row" }); return row; };
  if (plain.written !== undefined) {
    const row = line(say("Translation"));
    for (const { written } of columns) make("td", row, written || say("(nothing)"), { lang: "es", dir: "auto" });
    return;
  }
  if (!plain.predictions.length) { make("td", line(say("Prediction")), say("Type [MASK] in place of a word: the model predicts it.")); return; }
  plain.predictions.forEach(({ place: position }, i) => {
    const row = line(plain.predictions.length > 1 ? `[MASK] ${i + 1}` : view.model.fills ? "[MASK]" : say("Next token"));
    for (const { predictions } of columns) {
      const cell = make("td", row), list = make("ol", cell);
      for (const { token, probability } of predictions[i].best) {
        const entry = make("li", list);
        make("bdi", entry, shown(token));
        make("span", entry, ` ${percent(probability)}`);
      }
    }
    row.dataset.place = position;
  });
}

// ---------------------------------------------------------------- what is changed

/** The editor of the mask, where every layer has one of the size of the text that is read. */
function showMask(now, before) {
  const can = Boolean(view.kind.mask);
  at("maskplace").hidden = !can;
  at("nomask").hidden = can;
  if (!can || !at("mask").open) return;
  place("mask", at("maskplace"));
  const base = `${view.model.name} ${view.kind.kind} ${view.undone} ${view.ran}`;   // another one begins another edit
  draw({ ...mask(box, view.kind, now, before.allowed, base), heard: { mask: ({ runs }) => remask(runs, before) } }, "");
}

function remask(runs, before) {
  const [, , rows, cols] = before.shape, cells = cellsOf(runs, rows * cols);
  view.mask = same(cells, before.allowed) ? null : { kind: view.kind.kind, cells };
  compute();
}

document.addEventListener("attention-atlas-turn", ({ detail: { at: { at: head, id } } }) => {
  Object.assign(view, { head, turn: id });
  buttons();
});
at("zero").onclick = () => {
  const [layer, head] = view.head, { kind } = view.kind;
  view.zero = isZero() ? view.zero.filter((one) => one.kind !== kind || one.layer !== layer || one.head !== head) : [...view.zero, { kind, layer, head }];
  compute();
};
at("undo").onclick = () => { Object.assign(view, { zero: [], mask: null, undone: view.undone + 1 }); compute(); at("zero").focus(); };
at("mask").ontoggle = () => view.found && show();

let soon = 0;
at("text").oninput = () => { view.texts.set(view.model.name, at("text").value); clearTimeout(soon); soon = setTimeout(compute, 250); };
at("say").onsubmit = (event) => { event.preventDefault(); clearTimeout(soon); compute(); };
at("text").onkeydown = (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); at("say").requestSubmit(); } };

function choose(model) {
  Object.assign(view, { model, kind: model.kinds[0], head: model.kinds[0].head, turn: null, zero: [], mask: null, plain: null, found: null, ran: "" });
  choices(at("models"), models.map((one) => [one, one.name]), model, choose);
  at("does").textContent = model.does;
  at("text").value = view.texts.get(model.name) ?? model.example;
  at("found").hidden = true;
  compute();
}

at("licences").textContent = licences;
at("back").hidden = !lesson;   // to the stop that led here
if (lesson) at("back").firstChild.href = `${lesson}${/^\d+$/.test(asked.get("stop")) ? `#${asked.get("stop")}` : ""}`;
const first = models.find(({ name }) => name === asked.get("model")) ?? models[0];
if (asked.get("text")) view.texts.set(first.name, asked.get("text"));
choose(first);
