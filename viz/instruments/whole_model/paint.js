// Where everything of a whole model is, and how it is painted and saved.

import { css, leftBelow, rgb } from "../kit/common.js";
import { paintAt, paintElement } from "../kit/save/dom_pen.js";
import { say } from "../kit/words.js";

const NAMES = 92, EMBED = 56, GAP = 10, END = 236, HEAD = 30, LOW = 13, HIGH = 28, BETWEEN = 14, RIGHT_END = 300, SENTENCE = 64, LEAST = 290;

/** Pixels from the top of the field to the end of the window, less the sentence below: so much the whole model may take. */
function room(view) {
  const left = leftBelow(view.root, view.field), scrolled = document.querySelector('[data-testid="stMain"]')?.scrollTop ?? 0;
  return Math.max(LEAST, (Number.isFinite(left) ? left + 90 : innerHeight - view.field.getBoundingClientRect().top - scrolled - SENTENCE) - BETWEEN);
}

/** Columns and rows for the width of the field and the number of tokens: {row, tall, y(stack, token), top(stack), place(stack, column, layer), end}. */
export function laidOut(view) {
  const { head } = view, wide = view.field.clientWidth, narrow = wide < 760;
  const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1, header = HEAD * unit;   // the page's type is larger before an audience
  const counts = head.stacks.map(({ tokens }) => tokens.length), total = counts.reduce((a, b) => a + b, 0);
  const row = Math.max(LOW, Math.min(HIGH * unit, (room(view) - head.stacks.length * (header + BETWEEN)) / total));
  const tops = counts.map((_, i) => counts.slice(0, i).reduce((a, n) => a + n * row + header + BETWEEN, 0));
  const below = tops.at(-1) + header + counts.at(-1) * row;
  const names = narrow ? 64 : NAMES * unit, embed = narrow ? 24 : EMBED * unit, end = narrow ? wide : END * unit;
  const right = narrow ? wide : wide - end - 2 * GAP;
  const place = (stack, column, layer) => {
    const kinds = Object.keys(head.stacks[stack].kinds), [layers] = head.stacks[stack].kinds[kinds[0]].shape;
    if (column === "embed") return [names + GAP, embed];
    if (column === "start") return [0, names + GAP + embed];
    if (column === "end") return [narrow ? 0 : wide - end, end];
    const from = names + GAP + embed + GAP, each = (right - from) / layers, left = from + layer * each, inner = each - GAP;
    const strip = Math.min(embed, inner * 0.24), each_kind = (inner - strip - GAP) / kinds.length;
    if (column === "ffn") return [left + inner - strip, strip];
    return [left + kinds.indexOf(column) * each_kind, each_kind - (kinds.length > 1 ? GAP / 2 : 0)];
  };
  const tall = Math.max(below, (narrow ? below + header : 0) + RIGHT_END * unit);
  return {
    row, names, narrow, tall, place, unit, header,
    end: narrow ? [0, wide, below + header] : [wide - end, end, header],
    top: (stack) => tops[stack],
    y: (stack, token) => tops[stack] + header + (token + 0.5) * row,
  };
}

/** The [stack, token] whose row is at this spot, or null. */
export function rowAt(view, [x, y]) {
  const { plan, head } = view;
  if (!plan || x > plan.end[0] && !plan.narrow) return null;
  for (let stack = 0; stack < head.stacks.length; stack++) {
    const at = Math.floor((y - plan.top(stack) - plan.header) / plan.row);
    if (at >= 0 && at < head.stacks[stack].tokens.length) return [stack, at];
  }
  return null;
}

export function paint(view, pen, plan) {
  const { head } = view;
  head.stacks.forEach((stack, i) => {
    const kinds = Object.entries(stack.kinds), [layers] = kinds[0][1].shape;
    for (let layer = 0; layer <= layers; layer++) stripes(view, pen, plan, i, layer);
    for (let layer = 0; layer < layers; layer++) {
      for (const [kind, { shape }] of kinds) (kind === "cross" ? cells : lines)(view, pen, plan, { stack: i, kind, layer, shape });
    }
  });
}

/** The weight of a chosen head. */
function weight(view, { stack, kind, layer, shape: [, heads, queries, keys] }, query, key) {
  return view.numbers[stack][kind][((layer * heads + view.heads[`${kind}.${stack}`][layer]) * queries + query) * keys + key];
}

/** Which row of a stack stands out: the one under the pointer, else (in the last stack) the one that predicts. */
const marked = (view, stack) => (view.hover?.[0] === stack ? view.hover[1] : stack === view.head.stacks.length - 1 ? view.position : null);

const later = (view, stack, token) => stack === view.head.stacks.length - 1 && token > view.position;

function stripes(view, pen, plan, stack, layer) {
  const { head, theme, numbers } = view, [, n, cells] = head.stacks[stack].stripes;
  const [x, wide] = layer ? plan.place(stack, "ffn", layer - 1) : plan.place(stack, "embed");
  for (let token = 0; token < n; token++) {
    const y = plan.y(stack, token) - plan.row / 2 + 2, tall = plan.row - 4;
    pen.globalAlpha = later(view, stack, token) ? 0.25 : 1;
    for (let i = 0; i < cells; i++) {
      const value = numbers[stack].stripes[(layer * n + token) * cells + i];
      pen.fillStyle = css(theme.diverging[Math.max(0, Math.min(255, Math.round(127.5 + 45 * value)))]);
      pen.fillRect(x + i * wide / cells, y, wide / cells + 0.3, tall);
    }
    pen.globalAlpha = 1;
    if (marked(view, stack) === token) { pen.strokeStyle = theme.text; pen.lineWidth = 1.5; pen.strokeRect(x - 1, y - 1, wide + 2, tall + 2); }
  }
}

/** From each key at the left to each query at the right, as dark and as thick as the weight. */
function lines(view, pen, plan, what) {
  const { theme } = view, { stack, shape: [, , queries, keys] } = what, [x, wide] = plan.place(stack, what.kind, what.layer), mark = marked(view, stack);
  for (const bold of [false, true]) {
    for (let query = 0; query < queries; query++) {
      if ((query === mark) !== bold || later(view, stack, query)) continue;
      for (let key = 0; key < keys; key++) {
        const share = weight(view, what, query, key);
        if (!(share > (bold ? 0.01 : 0.08))) continue;
        pen.strokeStyle = bold ? css(rgb(theme.line), 0.25 + 0.75 * share) : css(rgb(theme.text), 0.06 + 0.2 * share);
        pen.lineWidth = bold ? 0.8 + 4 * share : 0.6 + 1.6 * share;
        const from = plan.y(stack, key), to = plan.y(stack, query), bend = wide * 0.45;
        pen.beginPath(); pen.moveTo(x, from); pen.bezierCurveTo(x + bend, from, x + wide - bend, to, x + wide, to); pen.stroke();
      }
    }
  }
}

/** Rows write, columns are the tokens that were read. */
function cells(view, pen, plan, what) {
  const { theme } = view, { stack, shape: [, , queries, keys] } = what, [x, wide] = plan.place(stack, what.kind, what.layer), mark = marked(view, stack);
  const each = wide / keys;
  for (let query = 0; query < queries; query++) {
    const y = plan.y(stack, query) - plan.row / 2 + 1.5, tall = plan.row - 3;
    pen.globalAlpha = later(view, stack, query) ? 0.25 : 1;
    for (let key = 0; key < keys; key++) {
      pen.fillStyle = css(theme.sequential[Math.round(255 * Math.max(0, Math.min(1, weight(view, what, query, key) || 0)))]);
      pen.fillRect(x + key * each, y, each - 1, tall);
    }
    pen.globalAlpha = 1;
    if (query === mark) { pen.strokeStyle = theme.text; pen.lineWidth = 1.5; pen.strokeRect(x - 1, y - 1, wide + 1, tall + 2); }
  }
}

export function saving(view) {
  const { head, root, theme } = view, n = head.names.length;
  const attention = Object.fromEntries(head.stacks.flatMap(({ kinds, name }, stack) => Object.entries(kinds).map(([kind, { shape }]) => [`${name || "model"}_${kind}`, { shape, values: view.numbers[stack][kind], axes: ["layer", "head", "query", "key"] }])));
  return {
    name: head.title || say("Whole model"), bar: view.bar,
    size: () => [root.clientWidth, root.scrollHeight],
    paint: (pen) => {
      paintAt(pen, view.field, root, () => paint(view, pen, view.plan));
      paintElement(pen, root, root, theme);
    },
    header: () => ({ position: view.position, temperature: Number(view.temperature.input.value), top_k: Number(view.top.input.value) }),
    rows: () => [["candidate", "logit", "probability"], ...head.names.map((name, i) => [name, view.logits[i], view.now[i] ?? 0])],
    arrays: () => ({
      candidates: { shape: [n], values: head.names },
      logits: { shape: [view.logits.length], values: view.logits, axes: ["candidate"] },
      probabilities: { shape: [n], values: Float32Array.from({ length: n }, (_, i) => view.now[i] ?? 0), axes: ["candidate"] },
      ...attention,
    }),
  };
}
