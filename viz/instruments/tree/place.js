// Where each token of the tree stands: one column a step, subtrees as close as their outlines let them be.

import { cut, graphemes, probe, visible } from "../kit/common.js";
import { part } from "../kit/page/packets.js";
import { say } from "../kit/words.js";

const TOKEN_SIZE = 17, SCORE_SIZE = 12;
const LONGEST_TOKEN = 18, LONGEST_ROOT = 22;     // characters that are drawn; the tip has the whole
const ROOMY = 40, CLOSE = 25, TALL = 1400;       // pixels a row with and without scores; a tree taller than TALL leaves scores to the tip
export const EDGE = 12;    // free room around the tree
const AFAR = 1.25;         // rows between nodes that are no siblings

/** {tokens, says, parents, kinds, ends, scores, chances, steps, children, first, spaced}; `chances` is -1 where none was given. */
export function readTree(packet) {
  const numbers = (name, Kind) => new Kind(part(packet, name).slice().buffer);
  const { tokens, says } = JSON.parse(new TextDecoder().decode(part(packet, "words")));
  const parents = numbers("parents", Int32Array), steps = new Int32Array(tokens.length), children = tokens.map(() => []), first = [];
  parents.forEach((parent, i) => {
    (parent < 0 ? first : children[parent]).push(i);
    steps[i] = parent < 0 ? 0 : steps[parent] + 1;
  });
  return {
    tokens, says, parents, steps, children, first, kinds: numbers("kinds", Uint8Array), ends: numbers("ends", Uint8Array),
    scores: numbers("scores", Float64Array), chances: numbers("chances", Float64Array),
    spaced: tokens.some((token) => /^\s+\S/.test(token)) || !tokens.some((token) => /\w/.test(token)),
  };
}

/** The nodes from the first token of a text to node `i`. */
export function pathTo({ parents }, i) {
  const path = [];
  for (let at = i; at >= 0; at = parents[at]) path.push(at);
  return path.reverse();
}

/** The text of a path, behind `root`: with spaces between only where no token of the tree brings its own; "##" joins. */
export function spelled(tree, root, path) {
  return path.reduce((text, i) => {
    const token = tree.tokens[i];
    if (tree.ends[i] && token === "END") return `${text} ${token}`;
    if (tree.spaced || !text) return text + token;
    if (token.startsWith("##")) return text + token.slice(2);
    return /^\s|^[.,;:!?\u2026)\]}]+$/.test(token) || /\s$/.test(text) ? text + token : `${text} ${token}`;
  }, root);
}

// ---------------------------------------------------------------- rows

/**
 * The row of each node, 0 at the top. The first child stands level with its parent, so that a text reads along a line;
 * the others follow below it in their order. What is added to a tree moves nothing that stands above it.
 */
function rowsOf({ children, first, parents }) {
  const shift = new Float64Array(parents.length), outlines = new Array(parents.length);
  for (let i = parents.length - 1; i >= 0; i--) {
    const outline = children[i].length ? stackUp(children[i], outlines, shift) : { top: [], bottom: [], base: 0 };
    outline.top.push(-outline.base); outline.bottom.push(-outline.base);
    outlines[i] = outline;
  }
  if (first.length) stackUp(first, outlines, shift);
  const rows = new Float64Array(parents.length);
  parents.forEach((parent, i) => { rows[i] = (parent < 0 ? 0 : rows[parent]) + shift[i]; });
  return rows;
}

/**
 * Puts subtrees below each other until their outlines touch nowhere; returns the outline of all, 0 where the first stands.
 * An outline is the upper and lower end of each column, the nearest column last, each `base` further down. Work is
 * proportional to the shorter outline, so a tree of n nodes costs about n.
 */
function stackUp(kids, outlines, shift) {
  let all = outlines[kids[0]];
  for (const kid of kids.slice(1)) {
    const one = outlines[kid], a = all.top.length, b = one.top.length;
    let down = -Infinity;
    for (let k = 1; k <= Math.min(a, b); k++) {
      down = Math.max(down, all.bottom[a - k] + all.base + (k > 1 ? AFAR : 1) - one.top[b - k] - one.base);
    }
    one.base += down;
    shift[kid] = down;
    const [from, to, side] = b > a ? [all, one, "top"] : [one, all, "bottom"];
    for (let k = 1; k <= Math.min(a, b); k++) to[side][to[side].length - k] = from[side][from[side].length - k] + from.base - to.base;
    all = to;
  }
  return all;
}

// ---------------------------------------------------------------- columns

/** A token in two pieces: its leading spaces as dots, and the rest, cut. */
function faceOf(token) {
  const [, space, rest] = /^( *)([^]*)$/.exec(token);
  return space && rest ? ["\u00b7".repeat(Math.min(3, space.length)), cut(visible(rest), LONGEST_TOKEN)] : ["", cut(visible(token), LONGEST_TOKEN)];
}

/** The end of the text that all go on from. */
function rootFace(root) {
  const parts = [...graphemes.segment(visible(root))].map(({ segment }) => segment);
  return root === "" ? "" : parts.length > LONGEST_ROOT ? `\u2026${parts.slice(1 - LONGEST_ROOT).join("")}` : parts.join("");
}

/** A score as short as it is read: -3.21, -1234, -infinity by its sign. */
export function figure(value) {
  if (Number.isNaN(value)) return say("not a number");
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  return (Math.abs(value) < 1000 ? value.toFixed(2) : value.toPrecision(4)).replace(/^-(?=0\.0+$)/, "").replace("-", "\u2212");
}

export const fontOfToken = (theme, bold) => `${bold ? "650 " : ""}${TOKEN_SIZE}px ${theme.heading}`;
export const fontOfScore = (theme) => `${SCORE_SIZE}px ${theme.font}`;

/** Pixels of a text, measured once. */
export function widthIn(view, font, text) {
  const known = (view.widths[font] ??= new Map());
  if (!known.has(text)) { probe.font = font; known.set(text, probe.measureText(text).width); }
  return known.get(text);
}

/** Sets view.spot, where everything stands, from the tree, its fonts and the room: all in pixels of the sheet. */
export function settle(view) {
  const { tree, theme, head } = view, count = tree.tokens.length, rows = rowsOf(tree);
  const deepest = rows.reduce((most, row) => Math.max(most, row), 0), narrow = view.wide < 560;
  const roomy = deepest * ROOMY <= TALL, pitch = roomy ? ROOMY : CLOSE, above = EDGE + TOKEN_SIZE / 2 + 6;
  const faces = tree.tokens.map(faceOf), figures = [...tree.scores].map(figure), long = new Float64Array(count), dots = new Float64Array(count), columns = [];
  for (let i = 0; i < count; i++) {
    const font = fontOfToken(theme, view.state(i) === "best");
    dots[i] = faces[i][0] ? widthIn(view, font, faces[i][0]) + 1 : 0;
    long[i] = dots[i] + widthIn(view, font, faces[i][1]);
    const column = (columns[tree.steps[i]] ??= { nodes: [], wide: 0 });
    column.nodes.push(i);
    column.wide = Math.max(column.wide, long[i] + (tree.ends[i] ? 14 : 0), roomy ? widthIn(view, fontOfScore(theme), figures[i]) : 0);
  }
  const begin = rootFace(head.root), beginWide = begin ? widthIn(view, fontOfToken(theme), begin) : 0, gap = narrow ? 34 : 46;
  let x = EDGE + (begin ? beginWide : 4) + gap;
  for (const column of columns) {
    column.x = x;
    column.nodes.sort((a, b) => rows[a] - rows[b]);
    x += column.wide + gap;
  }
  view.spot = {
    columns, faces, figures, long, dots, roomy, pitch, begin, beginEnd: EDGE + (begin ? beginWide + 5 : 7), beginY: above,
    x: Float64Array.from(tree.steps, (step) => columns[step].x), y: rows.map((row) => above + row * pitch),
    wide: x - gap + EDGE + (head.marks.length ? 18 : 6), tall: above + deepest * pitch + (roomy && count ? 27 : 14) + EDGE,
  };
  view.root.dataset.columns = columns.length;
}

/** The node at (x, y) of the sheet, -1 where there is none; small words can be hit beside themselves. */
export function nodeAt({ spot }, x, y) {
  const column = spot.columns.findLast((one) => one.x - 8 <= x);
  if (!column) return -1;
  const reach = spot.pitch / 2, below = spot.roomy ? 6 : 0;
  return column.nodes.find((i) => Math.abs(y - below - spot.y[i]) <= reach && x <= spot.x[i] + Math.max(24, spot.long[i]) + 10) ?? -1;
}
