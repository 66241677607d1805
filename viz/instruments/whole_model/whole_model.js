// A whole model on one screen: tokens at the left, blocks, the probabilities of the next token at the right.

import { cut, keepDrawn, make, percent, ramp, readTheme, sharp, speak, spotOn, visible } from "../kit/common.js";
import { part } from "../kit/page/packets.js";
import { tellPython } from "../kit/page/linked.js";
import { recall, remember } from "../kit/page/url_state.js";
import { saveMenu } from "../kit/save/save.js";
import { button, drawing, group, hold, offer, shell, status } from "../kit/shell.js";
import { laidOut, paint, rowAt, saving } from "./paint.js";
import { mark, say } from "../kit/words.js";

const ARITHMETIC = {
  self: mark("Open the arithmetic of this self-attention in layer {layer}"),
  causal: mark("Open the arithmetic of this masked self-attention in layer {layer}"),
  cross: mark("Open the arithmetic of this cross-attention in layer {layer}"),
};
const HEAD = { self: mark("Head of the self-attention in layer {layer}"), causal: mark("Head of the masked self-attention in layer {layer}"), cross: mark("Head of the cross-attention in layer {layer}") };
const TIGHT = 55;   // pixels below which the name of a layer and its choice of heads touch


export function build(root) {
  const view = shell(root, "whole_model", { hover: null, pending: null, identity: "", heads: {}, told: null });
  view.field = group("field", root);
  view.canvas = drawing(view.field);
  view.rows = make("div", "rows", view.field);
  view.parts = make("div", "parts", view.field);
  view.end = group("end", view.field, say("Next token"));
  view.knobs = make("div", "knobs", view.end);
  view.temperature = slider(view, "temperature", 0.1, 2, 0.1);
  view.top = slider(view, "top-k", 0, 50, 1);
  view.bars = make("ol", "bars", view.end);
  view.told = status("p", "told quiet", root);
  view.legend = make("div", "legend quiet", root);
  view.field.onpointermove = (event) => point(view, rowAt(view, spotOn(view.field, event)));
  view.field.onpointerleave = () => point(view, null);
  view.drawn = keepDrawn(root, () => draw(view));
  return view;
}

function slider(view, name, least, most, step) {
  const box = make("label", "knob", view.knobs), text = make("span", "", box), input = make("input", "", box);
  Object.assign(input, { type: "range", min: least, max: most, step });
  input.onkeydown = (event) => event.stopPropagation();   // the page steps with the same keys
  input.oninput = () => { predict(view); keep(view); };
  return { text, input, name };
}

export function accept(view, packet) {
  const { header: head } = packet, identity = JSON.stringify(head.stacks.map(({ tokens, kinds }) => [tokens, kinds]));
  Object.assign(view, { head, packet, theme: readTheme(view.root) });
  view.title.textContent = head.title;
  view.field.setAttribute("aria-label", head.title || say("Whole model"));
  view.logits = new Float32Array(part(packet, "logits").slice().buffer);
  if (!view.pending || view.pending === head.echo) { view.pending = null; view.position = head.position; }
  if (identity !== view.identity) {
    view.identity = identity;
    view.numbers = head.stacks.map((stack, i) => ({
      stripes: floats(packet, `stripes.${i}`),
      ...Object.fromEntries(Object.keys(stack.kinds).map((kind) => [kind, floats(packet, `${kind}.${i}`)])),
    }));
    view.heads = Object.fromEntries(head.stacks.flatMap(({ kinds }, i) => Object.entries(kinds).map(([kind, { heads }]) => [`${kind}.${i}`, [...heads]])));
    restore(view);
    fillRows(view);
    fillParts(view);
  }
  view.root.dataset.position = view.position;
  draw(view);
  predict(view);
  view.legend.replaceChildren();
  ramp(view.legend, view.theme.sequential, say("weight 0"), "1");
  const [{ width, stripes }] = head.stacks;
  ramp(view.legend, view.theme.diverging, say("negative"), say("positive"));
  make("span", "", view.legend, width > stripes[2] ? say("stripes: the {width} numbers of a position, means of {n}, over the layer's standard deviation", { width, n: width / stripes[2] }) : say("stripes: the {width} numbers of a position, each, over the layer's standard deviation", { width }));
  saveMenu(view, view.tools, saving(view));
}

const floats = (packet, name) => new Float32Array(part(packet, name).slice().buffer);

/** Heads and knobs as the link says: "T1.2 K40 causal.0:3,1,..."; what cannot be is left out. */
function restore(view) {
  const { head } = view;
  view.temperature.input.value = head.temperature;
  view.top.input.value = head.top_k;
  for (const word of (recall(head) ?? "").split(" ")) {
    const [, name, rest] = /^([TK]|[a-z]+\.\d:)(.*)$/.exec(word) ?? [];
    if (name === "T" || name === "K") (name === "T" ? view.temperature : view.top).input.value = rest;
    else if (name && view.heads[name.slice(0, -1)]) {
      const [kind, stack] = name.slice(0, -1).split("."), [, n] = head.stacks[stack].kinds[kind].shape;
      rest.split(",").forEach((one, layer) => { if (/^\d+$/.test(one) && Number(one) < n && layer in view.heads[`${kind}.${stack}`]) view.heads[`${kind}.${stack}`][layer] = Number(one); });
    }
  }
}

function keep(view) {
  const heads = Object.entries(view.heads).map(([name, list]) => `${name}:${list.join(",")}`);
  remember(view, [`T${view.temperature.input.value}`, `K${view.top.input.value}`, ...heads].join(" "));
}

/** A button for each token; the one that is pressed is the position whose next token is predicted. */
function fillRows(view) {
  view.rows.replaceChildren();
  view.buttons = view.head.stacks.map(({ tokens }, i) => {
    const last = i === view.head.stacks.length - 1;
    return tokens.map((token, at) => {
      const one = make(last ? "button" : "span", "token", view.rows, cut(visible(token), 12));
      one.title = visible(token);
      if (last) {
        one.type = "button";
        one.setAttribute("aria-label", say("Predict what follows {token}, position {at}", { token: visible(token), at }));
        one.onclick = () => choose(view, at);
        one.onkeydown = (event) => {
          const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: tokens.length - 1 }[event.key];
          if (to === undefined) return;
          hold(event);
          const next = Math.max(0, Math.min(tokens.length - 1, to));
          view.buttons[i][next].focus();
          choose(view, next);
        };
      }
      return one;
    });
  });
}

function choose(view, at) {
  if (at === view.position) return;
  view.position = at;
  view.root.dataset.position = at;
  draw(view);
  tellPython(view, "position", [at]);
  view.pending = view.sent;
}

/** What can be opened: the embedding, each attention with its head, each feed-forward layer, the logits. */
function fillParts(view) {
  view.parts.replaceChildren();
  view.openers = [];
  const opener = (text, label, at, place) => {
    const box = make("div", `opener ${place.column}`, view.parts), open = button(box, "open", text, () => tellPython(view, "part", at()), `${text}: ${label[0].toLowerCase()}${label.slice(1)}`);
    view.openers.push({ box, ...place });
    return { box, open };
  };
  view.head.stacks.forEach(({ name, kinds }, stack) => {
    opener(name === "encoder" ? say("Encoder embedding") : name === "decoder" ? say("Decoder embedding") : say("Embedding"), say("Open the embedding in the course"), () => ({ name: "embedding", stack }), { stack, column: "start" });
    for (const [kind, { shape: [layers, heads] }] of Object.entries(kinds)) {
      for (let layer = 0; layer < layers; layer++) {
        const key = `${kind}.${stack}`, at = () => ({ name: "attention", stack, kind, layer, head: view.heads[key][layer] });
        const { box } = opener(kind === "cross" ? say("cross") : `L${layer}`, say(ARITHMETIC[kind], { layer }), at, { stack, column: kind, layer });
        if (heads > 1) {
          const select = make("select", "head", box);
          select.setAttribute("aria-label", say(HEAD[kind], { layer }));
          offer(select, Array.from({ length: heads }, (_, head) => [head, `H${head}`]));
          select.value = view.heads[key][layer];
          select.onchange = () => { view.heads[key][layer] = Number(select.value); keep(view); draw(view); tellRow(view); };
        }
      }
    }
    const layers = Object.values(kinds)[0].shape[0];
    for (let layer = 0; layer < layers; layer++) opener("FFN", say("Open the feed-forward layer of block {layer} in the course", { layer }), () => ({ name: "feed_forward", stack, layer }), { stack, column: "ffn", layer });
  });
  opener(say("Logits, softmax"), say("Open how logits become a next token in the course"), () => ({ name: "logits" }), { stack: view.head.stacks.length - 1, column: "end" });
}

function draw(view) {
  if (!view.head || !view.root.clientWidth) return;
  const plan = (view.plan = laidOut(view));
  view.field.style.height = `${plan.tall}px`;
  view.root.classList.toggle("narrow", plan.narrow);
  view.buttons.forEach((list, i) => list.forEach((one, at) => {
    Object.assign(one.style, { left: "0", width: `${plan.names}px`, top: `${plan.y(i, at) - plan.row / 2}px`, height: `${plan.row}px`, fontSize: `${Math.min(17 * plan.unit, plan.row * 0.66)}px` });
    if (one.matches("button")) one.setAttribute("aria-pressed", String(at === view.position));
    one.classList.toggle("later", i === view.head.stacks.length - 1 && at > view.position);
    if (one.matches("button")) one.tabIndex = at === view.position ? 0 : -1;
  }));
  for (const { box, stack, column, layer } of view.openers) {
    const [x, wide] = plan.place(stack, column, layer);
    Object.assign(box.style, { left: `${x}px`, width: `${wide}px`, top: `${column === "end" ? plan.end[2] - plan.header : plan.top(stack)}px` });
    box.classList.toggle("from_end", column === "start");
    box.classList.toggle("tight", wide < TIGHT * plan.unit);
  }
  Object.assign(view.end.style, { left: `${plan.end[0]}px`, width: `${plan.end[1]}px`, top: `${plan.end[2]}px` });
  paint(view, sharp(view.canvas, view.field.clientWidth, plan.tall), plan);
}

function point(view, row) {
  const key = row && row.join();
  if (key === (view.hover && view.hover.join())) return;
  view.hover = row;
  draw(view);
  tellRow(view);
}

/** The probabilities after temperature and top-k, best first: the softmax of the logits that are left, each divided by the temperature. */
function chances(logits, temperature, k) {
  const left = k > 0 ? logits.slice(0, Math.max(k, logits.findLastIndex((logit) => logit >= logits[Math.min(k, logits.length) - 1]) + 1)) : logits;
  const powers = Float64Array.from(left, (logit) => Math.exp((logit - left[0]) / temperature)), sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function predict(view) {
  const { head } = view, temperature = Number(view.temperature.input.value), k = Number(view.top.input.value);
  view.temperature.text.textContent = say("Temperature {t}", { t: temperature.toFixed(1) });
  view.top.text.textContent = k ? `Top-k: ${k}` : say("Top-k: off, all {n}", { n: view.logits.length.toLocaleString("en") });
  view.now = chances(view.logits, temperature, k);
  const most = view.now[0];
  view.bars.replaceChildren(...head.names.map((name, i) => {
    const p = view.now[i] ?? 0, item = make("li", "bar"), word = make("span", "name", item, cut(visible(name), 14)), back = make("span", "back", item);
    word.title = visible(name);
    make("i", "fill", back).style.width = `${100 * p / most}%`;
    make("span", "share", item, p ? percent(p) : say("cut"));
    item.classList.toggle("cut", !p);
    return item;
  }));
  Object.assign(view.root.dataset, { chances: [...view.now.slice(0, head.names.length)].map((p) => p.toFixed(6)).join(" "), temperature, k });
  tellRow(view);
}

/** One sentence: what a touched token attends to in the first block, or what is predicted. */
function tellRow(view) {
  const { head, hover, position } = view, tokens = head.stacks.at(-1).tokens;
  if (!hover) {
    speak(view.told, say("After {word}, {next} is the most probable next token: {p}. Touch a token to follow its row; click one to predict what comes after it."), { word: { word: tokens[position] }, next: { word: head.names[0] }, p: percent(view.now[0]) });
    return;
  }
  const [stack, at] = hover, kind = Object.keys(head.stacks[stack].kinds)[0], [, , n, keys] = head.stacks[stack].kinds[kind].shape;
  const layer = head.stacks[stack].kinds[kind].shape[0] - 1, one = view.heads[`${kind}.${stack}`][layer], heads = head.stacks[stack].kinds[kind].shape[1];
  const row = view.numbers[stack][kind].subarray(((layer * heads + one) * n + at) * keys, ((layer * heads + one) * n + at + 1) * keys), best = row.indexOf(Math.max(...row));
  speak(view.told, say("In the last block, head {head}, {word} attends most to {key}: {p}."), { head: one, word: { word: head.stacks[stack].tokens[at] }, key: { word: head.stacks[stack].tokens[best] }, p: percent(row[best]) });
}
