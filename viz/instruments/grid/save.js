// What the grid saves: all tiles as they stand, and every weight of every head.

import { part, readRuns } from "../kit/page/packets.js";
import { paintElement } from "../kit/save/dom_pen.js";
import { paintTiles } from "./paint.js";
import { say } from "../kit/words.js";

/** How wide the entries of a legend are. */
const widthOf = (box) => Math.max(0, ...[...box.children].map((entry) => entry.offsetLeft + entry.offsetWidth)) + 4;

export function saving(view) {
  const { head } = view, legendHeight = () => view.legend.offsetHeight + view.kinds.offsetHeight + 24;
  return {
    name: head.title || say("All heads: {layers} layers of {heads}", { layers: head.size[0], heads: head.size[1] }), at: [],
    size: () => [Math.max(view.w, ...[view.legend, view.kinds].map(widthOf)), view.h + legendHeight()],
    paint: (pen) => {
      pen.save();
      paintTiles(pen, view, true);
      pen.translate(0, view.h + 12);
      paintElement(pen, view.legend, view.legend, view.theme);
      pen.translate(0, view.legend.offsetHeight + 6);
      if (!view.kinds.hidden) paintElement(pen, view.kinds, view.kinds, view.theme);
      pen.restore();
    },
    header: () => ({ selected: view.chosen, arranged: `${view.order}.${view.colour}`, url: null }),
    rows: () => savedRows(view), arrays: () => savedArrays(view),
  };
}

/** What is known of a head besides its weights: [name, value of a tile]. */
function facts({ head }) {
  return [...(head.kind ? [["kind", (tile) => head.kinds[tile.kind]]] : []), ...(head.scores ? [["score", (tile) => tile.score ?? NaN]] : []),
    ...head.measures.map((name, m) => [name, (tile) => tile.numbers[m]])];
}

/** Every weight of every head as it is, {values, allowed}; null where they are too many to be sent. */
function everyWeight({ head, packet }) {
  const bytes = part(packet, "weights");
  if (!bytes) return null;
  const [rows, cols] = head.tokens, cells = rows * cols, runs = part(packet, "weights.allowed"), sent = new Float32Array(bytes.buffer);
  const allowed = runs ? readRuns(runs, cells) : new Uint8Array(cells).fill(1), values = new Float32Array(head.size[0] * head.size[1] * cells);
  for (let i = 0, at = 0; i < values.length; i++) if (allowed[i % cells]) values[i] = sent[at++];
  return { values, allowed };
}

/** One line a weight of every head; where they are too many, one line a head. */
function* savedRows(view) {
  const { head, all } = view, [rows, cols] = head.tokens, every = everyWeight(view), known = facts(view), of = (tile) => [tile.layer, tile.head, ...known.map(([, value]) => value(tile))];
  const keys = head.keys ?? head.queries, names = ["layer", "head", ...known.map(([name]) => name)];
  yield every ? [...names, "query position", "key position", "query", "key", "weight"] : names;
  for (const [h, tile] of all.entries()) {
    if (!every) { yield of(tile); continue; }
    const before = of(tile);
    for (let i = 0; i < rows * cols; i++) {
      const q = Math.floor(i / cols), k = i % cols;
      yield [...before, q, k, head.queries?.[q] ?? "", keys?.[k] ?? "", every.allowed[i] ? every.values[h * rows * cols + i] : ""];
    }
  }
}

function savedArrays(view) {
  const { head, all } = view, [rows, cols] = head.tokens, every = everyWeight(view), axes = ["layer", "head", "query", "key"], each = ["layer", "head"];
  const weights = every ? {
    weights: { shape: [...head.size, rows, cols], values: every.values, axes }, allowed: { shape: [rows, cols], values: every.allowed, axes: ["query", "key"], bool: true },
  } : {
    thumbnails: { shape: [...head.size, ...head.shape], values: Float32Array.from(view.levels, (level) => (level === 255 ? NaN : level / 254)), axes },
    exactness: { shape: [1], values: [`in steps of 1/254${Math.max(...head.tokens) > 32 ? ", the largest weight of each block" : ""}`] },
  };
  return {
    ...weights,
    ...(head.queries && { queries: { shape: [rows], values: head.queries }, keys: { shape: [cols], values: head.keys ?? head.queries } }),
    ...Object.fromEntries(facts(view).map(([name, value]) => [name === "kind" ? "kinds" : name, { shape: head.size, values: all.map(value), axes: each }])),
  };
}
