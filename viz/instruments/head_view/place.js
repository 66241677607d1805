// Where things are. `along` runs with the tokens, `across` from one side to the other: columns go down and lines cross
// to the right, rows go sideways and lines cross downwards. Positions belong to the whole sheet; the canvases hold what
// is seen of it, so 512 tokens cost no more canvas than 12.

import { cut, magnify, probe, visible } from "../kit/common.js";

export const SIDES = ["query", "key"];
const EAST_ASIAN = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]|[\u{20000}-\u{3ffff}]/gu;
const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g;

/** How much of the letters of `words` match, by count. */
const shareOf = (words, letters) => (words.join("").match(letters) ?? []).length / Math.max(1, words.join("").length);

/** Leading and trailing spaces of a piece as dots; the rest as everywhere. */
export const tokenText = (word) => visible(word).replace(/^ +| +$/g, (spaces) => "\u00b7".repeat(spaces.length));

/** Once for each text: words as they are drawn, their width in units of the type, direction and script. */
function measureTokens(view) {
  view.text = {}; view.ems = {}; view.fromRight = {}; view.asian = false;
  probe.font = `500 100px ${view.theme.heading}`;
  for (const side of SIDES) {
    view.text[side] = view.words[side].map((word) => cut(tokenText(word), 18));
    view.ems[side] = view.text[side].map((text) => probe.measureText(text).width / 100);
    view.fromRight[side] = shareOf(view.words[side], FROM_RIGHT) > 1 / 3;
    view.asian ||= shareOf(view.words[side], EAST_ASIAN) > 1 / 3;
  }
  view.measured = view.theme.heading;
}

const gapOf = (view) => (view.asian ? 0.6 : 0.85);
const rowEms = (view, side) => view.ems[side].reduce((sum, em) => sum + em + gapOf(view), 0);

/** Rows where both fit one line in comfortable type, else columns: a column of upright signs reads well in any script. */
function chooseLayout(view, width) {
  if (view.options.layout) return view.options.layout;
  if (view.head.layout !== "auto") return view.head.layout;
  const longest = Math.max(...SIDES.map((side) => rowEms(view, side)));
  return longest * (view.asian ? 16 : 17) <= width - 16 ? "rows" : "columns";
}

export function placeTokens(view) {
  const width = view.root.clientWidth / magnify(view, view.frame);
  if (!width || !view.rows || !view.cols) return;
  if (view.measured !== view.theme.heading) measureTokens(view);
  view.layout = chooseLayout(view, width);
  view.columns = view.layout === "columns";
  view.phone = width < 560;
  view.tallest = view.head.height ?? (view.phone ? 560 : 720);
  view.pos = {}; view.extent = {}; view.cross = {};
  (view.columns ? placeColumns : placeRows)(view, width);
  const { root, scroller, sheet } = view, seen = view.columns ? view.tallest : width;
  view.seen = Math.min(view.length, seen);
  view.paneW = view.columns ? width : view.seen;
  view.paneH = view.columns ? view.seen : view.breadth;
  const long = view.length > seen + 1;
  scroller.style.overflowX = !view.columns && long ? "auto" : "hidden";
  scroller.style.overflowY = view.columns && long ? "auto" : "hidden";
  scroller.style.height = `${view.paneH + (!view.columns && long ? 16 : 0)}px`;
  sheet.style.width = `${view.columns ? view.paneW : view.length}px`;
  sheet.style.height = `${view.columns ? view.length : view.paneH}px`;
  if (view.columns && long) view.paneW = scroller.clientWidth || width;
  if (view.columns) crossColumns(view, view.paneW);
  if (!view.columns && view.fromRight.query && !view.scrolled) scroller.scrollLeft = view.length;   // the text begins at the right
  view.scrolled = true;
  thinLabels(view);
  Object.assign(root.dataset, { layout: view.layout, dir: SIDES.map((s) => (view.fromRight[s] ? "rtl" : "ltr")).join(), scrolls: long ? "yes" : "no" });
  tellPlaces(view);
}

const zoomed = (view, natural, least, most) => {
  view.limits = [Math.min(1, least / natural), Math.max(1, most / natural)];
  view.zoom = Math.max(view.limits[0], Math.min(view.limits[1], view.zoom));
  return natural * view.zoom;
};

// ---------------------------------------------------------------- columns

function placeColumns(view) {
  const many = Math.max(view.rows, view.cols), top = (view.top = 30), room = view.tallest - top - 8;
  const floor = matchMedia("(pointer: coarse)").matches ? 24 : many > 160 ? 9 : 17;   // a finger needs 24, an eye 17
  const pitch = zoomed(view, Math.max(floor, Math.min(32, room / many)), Math.min(room / many, floor), 26);
  view.pitch = pitch;
  view.size = Math.max(13, Math.min(19, pitch * 0.72));
  view.length = top + many * pitch + 8;
  for (const side of SIDES) {
    const count = view.words[side].length, lead = ((many - count) * pitch) / 2;
    view.pos[side] = Float32Array.from({ length: count }, (_, i) => top + lead + (i + 0.5) * pitch);
    view.extent[side] = new Float32Array(count).fill(Math.max(view.size + 3, 16));
  }
}

/** Across: strip, label, lines, label, strip. Texts from the right have the queries at the right. */
function crossColumns(view, paneW) {
  const { size, phone, names } = view, many = names.length, one = many === 1;
  view.slot = one ? 0 : phone ? Math.max(3, Math.min(8, 44 / many)) : many <= 6 ? 13 : many <= 12 ? 10 : 8;
  view.talk = paneW < 330 ? 0 : one ? 48 : phone ? 0 : 64;          // the percentage beside the strip
  view.strip = view.slot * many + view.talk + 6;
  const most = phone ? (one ? 92 : 78) : 150;
  const half = Math.max(24, (paneW - 2 * view.strip - 100) / 2);    // at least 60 pixels are for the lines
  const widest = (side) => Math.min(most, half, Math.max(...view.ems[side]) * size + 2);
  const labels = { query: widest("query"), key: widest("key") };
  const full = Math.min(paneW - 4, labels.query + labels.key + view.strip * 2 + 44 + (phone ? 240 : 440)), x0 = (paneW - full) / 2;
  const flip = (view.flip = view.fromRight.query && view.fromRight.key);
  view.outward = { query: flip ? 1 : -1, key: flip ? -1 : 1 };
  view.label = labels;
  for (const side of SIDES) {
    const inset = view.strip + labels[side] + 18;
    view.cross[side] = view.outward[side] < 0 ? x0 + inset : x0 + full - inset;
  }
}

// ---------------------------------------------------------------- rows

/** Rows hold each token at its own width; a text from the right begins at the right. Keys above, queries below. */
function placeRows(view, width) {
  const longest = Math.max(...SIDES.map((side) => rowEms(view, side))), room = width - 16;
  const size = (view.size = Math.max(14, Math.min(26, room / longest))), natural = longest * size;
  const scale = zoomed(view, natural, Math.min(room, natural), natural) / natural;
  view.pitch = (natural * scale) / Math.max(view.rows, view.cols);
  view.length = Math.max(width, natural * scale + 16);
  for (const side of SIDES) {
    const total = rowEms(view, side) * size * scale, words = view.ems[side];
    let at = (view.length - total) / 2;
    view.pos[side] = new Float32Array(words.length);
    view.extent[side] = Float32Array.from(words, (em) => em * size + 8);
    words.forEach((em, i) => {
      const wide = (em + gapOf(view)) * size * scale;
      view.pos[side][i] = view.fromRight[side] ? view.length - at - wide / 2 : at + wide / 2;
      at += wide;
    });
  }
  view.slot = view.names.length === 1 ? 0 : 26;   // here the height of a strip: bars stand side by side within the token
  view.talk = 20;
  view.strip = view.slot + view.talk;
  view.label = { query: size * 1.5, key: size * 1.5 };
  view.outward = { query: 1, key: -1 };
  const inset = 22 + view.strip + size * 1.5 + 8, between = Math.max(130, Math.min(240, width * 0.2));
  view.cross = { key: inset, query: inset + between };
  view.breadth = inset * 2 + between;
  view.flip = false;
}

// ---------------------------------------------------------------- labels that fit, tokens under a pointer

/** The labels that are drawn when nothing is touched: from the first on, each that does not overlap the last one. */
function thinLabels(view) {
  view.regular = {};
  for (const side of SIDES) {
    const { [side]: pos } = view.pos, { [side]: extent } = view.extent, kept = [];
    let last = null;
    for (let i = 0; i < pos.length; i++) {
      if (last !== null && Math.abs(pos[i] - pos[last]) < (extent[i] + extent[last]) / 2) continue;
      kept.push(i);
      last = i;
    }
    view.regular[side] = kept;
  }
}

export const portOf = (view) => (view.columns ? view.scroller.scrollTop : view.scroller.scrollLeft);

/** The token of the side that the point of the pane is near, or null between the sides. */
export function tokenAt(view, x, y) {
  const [along, across] = view.columns ? [y + portOf(view), x] : [x + portOf(view), y];
  if (view.columns && y < view.top - 4) return null;
  for (const side of SIDES) {
    const depth = (across - view.cross[side]) * view.outward[side];   // 0 at the ends of the lines, growing outwards
    if (depth < -26 || depth > view.label[side] + view.strip + 30) continue;
    const pos = view.pos[side], half = view.columns ? view.pitch / 2 : null;
    let best = -1;
    for (let i = 0; i < pos.length; i++) if (best < 0 || Math.abs(pos[i] - along) < Math.abs(pos[best] - along)) best = i;
    const reach = half ?? view.extent[side][best] / 2 + 6;
    if (best >= 0 && Math.abs(pos[best] - along) <= Math.max(reach, 3)) return { side, index: best };
  }
  return null;
}

/** Brings a token into view. */
export function reveal(view, { side, index }) {
  const at = view.pos[side][index], from = portOf(view), lead = view.columns ? view.top + 30 : 60;
  const to = Math.max(Math.min(from, at - lead), at + 40 - view.seen);
  if (to === from) return;
  if (view.columns) view.scroller.scrollTop = to; else view.scroller.scrollLeft = to;
}

/** Places as tests read them: where labels of each side stand across, and each token along the sheet. */
function tellPlaces(view) {
  const middle = (side) => Math.round(view.cross[side] + view.outward[side] * (view.columns ? 24 : view.size * 0.8));
  view.root.dataset.places = SIDES.map((side) => `${middle(side)}:${Array.from(view.pos[side], (at) => at.toFixed(1)).join(" ")}`).join("|");
  view.root.dataset.regular = SIDES.map((side) => view.regular[side].length).join();
}
