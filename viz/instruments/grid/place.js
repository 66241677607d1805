// In which order the tiles stand, and where.

import { leftBelow, magnify, spotOn, visible } from "../kit/common.js";
import { part } from "../kit/page/packets.js";
import { say } from "../kit/words.js";

export const CAPTION = 16;
const SMALLEST = 24, METER = 9, CLOSE = 4, SMALL = 36, TOP = 30, NAMED = 72, CAPTIONED = 44;   // pixels; tiles of a layer have names from that side on; the least side of tiles with two captions

/** Every head of the run: {layer, head, name, kind (a number or -1), score, numbers: one a measure}. */
export function readTiles(view, packet) {
  const head = packet.header, [layers, heads] = head.size, bytes = head.measures.length ? part(packet, "numbers") : null;
  const numbers = bytes && new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  return Array.from({ length: layers * heads }, (_, i) => {
    const layer = Math.floor(i / heads), at = i % heads;
    return {
      layer, head: at, name: `${head.before ?? ""}L${layer}.H${at}`, kind: head.kind ? head.kind[layer][at] : -1, score: head.scores?.[layer]?.[at] ?? null,
      numbers: head.measures.map((_, m) => numbers[m * layers * heads + i]),
    };
  });
}

/** What the menus offer: [value, words]. "m0" is the first measure. */
export function choices(head) {
  const measures = head.measures.map((name, m) => [`m${m}`, visible(name)]);
  return {
    order: [...(head.order ? [["page", head.order_name]] : []), ["layers", say("layers")], ...(head.kind ? [["kind", say("what they do")]] : []), ...measures],
    colour: [["none", say("no colour")], ...(head.kind ? [["kind", say("what they do")]] : []), ...measures],
  };
}

/** The groups of tiles in drawn order: [{kind, tiles}]; only the order by kind has more than one. */
function arrange(view) {
  const { head, all, order } = view, measure = /^m(\d+)$/.exec(order);
  const falling = (value) => (a, b) => (Number.isFinite(value(b)) - Number.isFinite(value(a))) || (value(b) - value(a)) || 0;
  if (order === "page") return [{ tiles: head.order.map(([layer, at]) => all[layer * head.size[1] + at]) }];
  if (order === "kind") {
    return head.kinds.map((_, kind) => ({ kind, tiles: all.filter((tile) => tile.kind === kind).sort(falling((tile) => tile.score ?? 0)) }))
      .filter((group) => group.tiles.length);
  }
  if (measure) return [{ tiles: [...all].sort(falling((tile) => tile.numbers[measure[1]])) }];
  return [{ tiles: view.across ? all.map((_, i) => all[(i % head.size[0]) * head.size[1] + Math.floor(i / head.size[0])]) : all }];
}

/** One letter for each kind, the first of its own that no other has: the second sign beside the colour. */
export function letters(kinds) {
  const taken = new Set();
  return kinds.map((name) => {
    const own = [...name.replace(/\b(the|a|an|of|to|what)\b/gi, "").toUpperCase(), ..."ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"].filter((c) => /[\p{L}\p{N}]/u.test(c));
    const letter = own.find((c) => !taken.has(c)) ?? "\u2022";
    taken.add(letter);
    return letter;
  });
}

export const measured = (choice) => (/^m\d+$/.test(choice) ? Number(choice.slice(1)) : -1);

export function place(view) {
  const times = magnify(view, view.frame), width = view.root.clientWidth / times, { head, all, root } = view, [layers, heads] = head.size;
  if (!width || !all.length) return;
  const phone = width < 560, layered = view.order === "layers", meter = measured(view.colour) >= 0 ? METER : 0;
  view.left = layered ? (phone ? 28 : 72) : 0;
  // A model of many layers is one look, not three screens: small tiles close together, its layers across where they fit.
  const deep = layered && !phone && head.deep, fit = (count, gap) => Math.floor((width - view.left - gap * (count - 1) - 6) / count);
  view.across = deep && layers > heads && fit(layers, CLOSE) >= SMALLEST;
  view.gap = deep ? CLOSE : phone ? (layered && heads > 8 ? 3 : 8) : 12;
  view.groups = arrange(view);
  const pitchOf = () => {
    view.captions = layered ? (head.kind && view.side >= NAMED ? 1 : 0) : view.order === "page" && !head.kind ? 1 : 2;
    return view.side + meter + view.captions * CAPTION + (view.captions ? 7 : 0) + view.gap;
  };
  view.tiles = view.groups.flatMap((group) => group.tiles);
  if (layered) {
    view.columns = view.across ? layers : heads;
    // In Present all lines are on the screen; in the whole window the grid is enlarged as one piece (whole.js).
    const lines = view.across ? heads : layers, line = (leftBelow(root, view.frame) / times - TOP) / lines - meter - view.gap, named = line - CAPTION - 7;
    const high = head.kind && line < Infinity ? (named >= NAMED ? named : Math.min(line, NAMED - 1)) : line;
    view.side = Math.max(SMALLEST, Math.floor(Math.min(fit(view.columns, view.gap), deep ? SMALL : 112, document.querySelector("[data-atlas-full]") ? Infinity : high)));
  } else {
    const many = all.length > 96 ? 0 : all.length > 40 ? 1 : 2, wanted = (phone ? [54, 64, 78] : [64, 84, 104])[many];
    const room = leftBelow(root, view.frame) / times;   // in Present all lines are on the screen here, too
    for (let next = wanted, tall = 0; next === wanted || (tall > room && next >= CAPTIONED); next -= 4) {   // once at least: outside Present the room is without end
      view.columns = Math.max(1, Math.floor((width + view.gap) / (next + view.gap)));
      view.side = Math.floor(Math.min((width - view.gap * (view.columns - 1) - 8) / view.columns, phone ? 120 : next + 16));
      tall = view.groups.reduce((sum, group) => sum + Math.ceil(group.tiles.length / view.columns) * pitchOf() + (group.kind === undefined ? 0 : 38), 4);
    }
  }
  view.meter = meter;
  const pitch = pitchOf();
  let y = layered ? TOP : 4;
  view.spots = []; view.headings = []; view.lines = [];
  for (const group of view.groups) {
    if (group.kind !== undefined) { view.headings.push({ kind: group.kind, count: group.tiles.length, y: y + 6 }); y += 34; }
    group.tiles.forEach((_, i) => {
      const column = i % view.columns;
      if (i && !column) y += pitch;
      if (!column) view.lines.push(view.spots.length);
      view.spots.push([view.left + (layered ? 2 : 4) + column * (view.side + view.gap), y]);
    });
    y += pitch + (group.kind !== undefined ? 4 : 0);
  }
  const across = Math.min(view.columns, Math.max(...view.groups.map((group) => group.tiles.length)));
  view.full = view.left + across * (view.side + view.gap) - view.gap + (layered ? 6 : 8);
  view.w = Math.max(view.full, view.headings.length ? Math.min(width, 260) : 0);
  view.h = y;
  view.slides = view.w > width + 1;
  view.scroller.style.overflowX = view.slides ? "auto" : "hidden";
  view.scroller.style.width = `${Math.min(width, view.w)}px`;
  Object.assign(root.dataset, { order: view.order, colour: view.colour, side: view.side, columns: view.columns, slides: view.slides });
  root.dataset.tiles = view.tiles.map((tile) => tile.name).join(" ");
}

/** The tile under the pointer, -1 if none. */
export function tileAt(view, event) {
  const [x, y] = spotOn(view.base, event);
  const slack = Math.min(view.gap, 4) / 2;
  return view.spots.findIndex(([left, top]) => x >= left - slack && x < left + view.side + slack && y >= top - slack && y < top + view.side + view.meter + slack);
}

/** The tile one line further up or down, the nearest one across. */
export function beyond(view, i, step) {
  const line = view.lines.findLastIndex((first) => first <= i) + step;
  if (line < 0 || line >= view.lines.length) return -1;
  const first = view.lines[line], last = (view.lines[line + 1] ?? view.spots.length) - 1;
  const column = Math.round((view.spots[i][0] - view.spots[first][0]) / (view.side + view.gap));
  return Math.min(last, first + column);
}

export const chosenAt = (view) => view.tiles.findIndex((t) => view.chosen && t.layer === view.chosen[0] && t.head === view.chosen[1]);
