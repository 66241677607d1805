// Tiles, frames, captions: on the screen and on a pen that saves them.

import { css, hatching, inkOn, percent, pixels, rgb, sharp, shorten, strokeCross, visible } from "../kit/common.js";
import { CAPTION, chosenAt, measured } from "./place.js";
import { mark, say } from "../kit/words.js";

const FONT = 13, EXACT = 64 * 64;

/** All thumbnails in one image, one beside the other; 255 is a value that is not finite. Forbidden cells were not sent. */
export function thumbnails(view, levels, count) {
  const [h, w] = view.head.shape, { allowed } = view, shades = new Uint8ClampedArray(count * h * w * 4), bad = rgb("#c2185b"), inks = view.theme.sequential;
  view.levels = new Uint8Array(count * h * w);
  for (let t = 0, sent = 0, i = 0; t < count; t++) for (let r = 0; r < h; r++) for (let c = 0; c < w; c++, i++) {
    const level = allowed && !allowed[r * w + c] ? 0 : levels[sent++];
    view.levels[i] = level;
    const ink = level === 255 ? bad : inks[Math.round((level / 254) * 255)];
    shades.set([...ink, 255], (r * w * count + t * w + c) * 4);
  }
  return pixels(shades, w * count, h);
}

export function drawBase(view) {
  if (!view.w) return;
  const began = performance.now();
  view.veil = shutTile(view, view.side);
  paintTiles(sharp(view.base, view.w, view.h), view);
  view.root.dataset.drawn = (performance.now() - began).toFixed(2);
}

/** `whole`: on paper, where names of layers that slide on the screen stand still. */
export function paintTiles(pen, view, whole = false) {
  const { theme, tiles, captions, side } = view, quiet = css(rgb(theme.text), 0.72), layered = view.order === "layers";
  const veil = view.veil;
  tiles.forEach((tile, i) => {
    const [x, y] = view.spots[i];
    paintTile(pen, view, tile, x, y, side, veil);
    paintColour(pen, view, tile, x, y);
    pen.textAlign = "center"; pen.textBaseline = "top"; pen.fillStyle = quiet;
    captionOf(view, tile).slice(0, captions).forEach((text, k) => {
      pen.font = `${!layered && k === 0 ? "600 " : ""}12px ${theme.font}`;
      pen.fillText(shorten(pen, text, side + view.gap - 4), x + side / 2, y + side + view.meter + 6 + k * CAPTION);
    });
  });
  for (const { kind, count, y } of view.headings) {
    pen.textAlign = "left"; pen.textBaseline = "middle"; pen.fillStyle = theme.text; pen.font = `600 14px ${theme.font}`;
    const from = view.colour === "kind" ? 24 : 2, name = visible(view.head.kinds[kind]);
    if (from > 2) badge(pen, view, kind, 2, y, 16);
    pen.fillStyle = theme.text; pen.textAlign = "left"; pen.font = `600 14px ${theme.font}`;
    pen.fillText(name, from, y + 9);
    const after = pen.measureText(name).width;
    pen.fillStyle = quiet; pen.font = `${FONT}px ${theme.font}`;
    pen.fillText(count === 1 ? say("1 head") : say("{n} heads", { n: count }), from + after + 8, y + 9);
  }
  if (layered) { paintColumns(pen, view, quiet); if (!view.slides || whole) paintRows(pen, view, 2, quiet); }
}

export function paintTile(pen, view, tile, x, y, side, veil) {
  const { theme, head: { shape: [h, w], size: [, heads] } } = view, at = tile.layer * heads + tile.head;
  if (w && h && pen.vector && h * w * view.tiles.length <= EXACT) {
    for (let r = 0; r < h; r++) for (let c = 0; c < w; c++) {
      const level = view.levels[(at * h + r) * w + c];
      pen.fillStyle = level === 255 ? "#c2185b" : css(theme.sequential[Math.round((level / 254) * 255)]);
      pen.fillRect(x + (c * side) / w, y + (r * side) / h, side / w, side / h);
    }
  } else if (w && h) {
    pen.imageSmoothingEnabled = side * (globalThis.devicePixelRatio || 1) < Math.max(w, h);
    pen.drawImage(view.atlas, at * w, 0, w, h, x, y, side, side);
  }
  if (veil) pen.drawImage(veil, x, y, side, side);
  pen.strokeStyle = theme.border; pen.lineWidth = 1;
  pen.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1);
}

/** The colour of a tile: a frame with a lettered corner for its kind, a frame and a meter for a measure. */
function paintColour(pen, view, tile, x, y) {
  const { theme, side } = view, m = measured(view.colour), thick = side < 36 ? 1.5 : side < 60 ? 2 : 3;
  const frame = (colour) => {
    pen.strokeStyle = colour; pen.lineWidth = thick;
    pen.strokeRect(x - thick / 2 + 0.5, y - thick / 2 + 0.5, side + thick - 1, side + thick - 1);
  };
  if (view.colour === "kind" && tile.kind >= 0) {
    frame(kindColour(view, tile.kind));
    const size = side < 36 ? 10 : Math.max(12, Math.min(18, Math.round(side * 0.2)));
    badge(pen, view, tile.kind, x + side - size + thick - 2, y - thick + 2, size);
  }
  if (m < 0) return;
  const value = tile.numbers[m], [low, high] = view.ranges[m], share = high > low ? (value - low) / (high - low) : 0;
  const top = y + side + 4;
  if (!Number.isFinite(value)) {            // no meter: a cross, never an empty one
    pen.strokeStyle = theme.text; pen.lineWidth = 1.5;
    strokeCross(pen, x, top, 6, 5);
    return;
  }
  const ink = css(theme.sequential[Math.round(share * 255)]);
  frame(ink);
  pen.strokeStyle = theme.border; pen.lineWidth = 1; pen.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1);
  pen.fillStyle = theme.border; pen.fillRect(x, top, side, 4);
  pen.fillStyle = theme.dark ? css(theme.sequential[190]) : theme.primary; pen.fillRect(x, top, side * share, 4);
}

export const kindColour = ({ theme: { categorical } }, kind) => categorical[kind % categorical.length];

function badge(pen, view, kind, x, y, size) {
  const colour = kindColour(view, kind);
  pen.fillStyle = colour;
  pen.beginPath(); pen.roundRect(x, y, size, size, 3); pen.fill();
  pen.fillStyle = inkOn(rgb(colour), view.theme);
  pen.font = `700 ${Math.round(size * 0.72)}px ${view.theme.font}`; pen.textAlign = "center"; pen.textBaseline = "middle";
  pen.fillText(view.letters[kind], x + size / 2, y + size / 2 + 0.5);
}

/** The lines under a tile. */
function captionOf(view, tile) {
  const kind = tile.kind >= 0 ? visible(view.head.kinds[tile.kind]) : "", m = measured(view.order);
  if (view.order === "layers") return [kind];
  if (m >= 0) return [tile.name, number(tile.numbers[m])];
  return [tile.name, view.order === "kind" ? (tile.score === null ? "" : percent(tile.score)) : kind];
}

/** A measure as short as it can be told apart: 0.81, 12.3, 240. */
export const number = (value) => (Number.isFinite(value) ? (Math.abs(value) < 10 ? value.toFixed(2) : String(Number(value.toPrecision(3)))).replace("-", "\u2212") : say("not a number"));

/** The names of columns and rows: heads and layers, or the other way round. */
const NAMES = [[mark("Head {n}"), "H{n}"], [mark("Layer {n}"), "L{n}"]];

function paintColumns(pen, view, quiet) {
  const { side, columns } = view, [long, short] = NAMES[Number(view.across)];
  pen.fillStyle = quiet; pen.font = `${FONT}px ${view.theme.font}`; pen.textBaseline = "middle"; pen.textAlign = "center";
  const room = (text) => pen.measureText(say(text, { n: "00" })).width < side + view.gap - 4, form = room(long) ? long : side >= 28 || room(short) ? short : "{n}";
  for (let c = 0; c < columns; c++) pen.fillText(say(form, { n: c }), view.spots[c][0] + side / 2, 13);
}

function paintRows(pen, view, x, quiet) {
  const { side, columns, left, tiles } = view, [long, short] = NAMES[1 - Number(view.across)];
  pen.fillStyle = quiet; pen.font = `${FONT}px ${view.theme.font}`; pen.textBaseline = "middle"; pen.textAlign = "left";
  for (let r = 0; r < tiles.length / columns; r++) pen.fillText(say(left < 60 ? short : long, { n: r }), x - 2, view.spots[r * columns][1] + side / 2);
}

/** The forbidden cells of a tile, hatched, drawn once and stamped on each. */
export function shutTile(view, side) {
  if (!view.allowed || !view.allowed.includes(0)) return null;
  const tile = document.createElement("canvas"), pen = sharp(tile, side, side);
  const [h, w] = view.head.shape, x = side / w, y = side / h;
  pen.beginPath();
  for (let r = 0; r < h; r++) for (let c = 0, from = -1; c <= w; c++) {
    const shut = c < w && !view.allowed[r * w + c];
    if (shut && from < 0) from = c;
    if (!shut && from >= 0) { pen.rect(from * x, r * y, (c - from) * x, y); from = -1; }
  }
  pen.fillStyle = view.theme.background; pen.fill();
  pen.fillStyle = hatching(pen, view.theme); pen.fill();
  return tile;
}

export function drawOver(view) {
  if (!view.w) return;
  const pen = sharp(view.over, view.w, view.h), { side, theme } = view;
  const outline = (i, colour, width, out) => {
    const [x, y] = view.spots[i];
    pen.lineWidth = width + 2; pen.strokeStyle = theme.background;
    pen.beginPath(); pen.roundRect(x - out, y - out, side + 2 * out, side + 2 * out, 4); pen.stroke();
    pen.strokeStyle = colour; pen.lineWidth = width; pen.stroke();
  };
  const chosen = chosenAt(view), away = view.colour === "none" ? 0 : 2;
  if (chosen >= 0) outline(chosen, theme.text, 2.5, 1.75 + away);
  if (view.hover >= 0 && view.hover !== null) outline(view.hover, theme.primary, 2, 1.5 + away);
  if (view.slides && view.order === "layers") {       // names of layers stay while the tiles slide under them
    const x = view.scroller.scrollLeft;
    pen.fillStyle = theme.background; pen.fillRect(x, 26, view.left, view.h);
    paintRows(pen, view, x + 2, css(rgb(theme.text), 0.72));
  }
}
