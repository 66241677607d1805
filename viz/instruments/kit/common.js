// Shared by all instruments: words that can never be markup, the theme, canvases, legends.

import { PALETTES } from "./page/given.js";

const MARKS = { "\n": "\u21b5", "\t": "\u21e5", "\r": "\u240d", "\u007f": "\u2421" };
const UNSEEN = /(?![\u200c\u200d\u{e0020}-\u{e007f}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;   // what joins letters or emoji stays
const ONLY_UNSEEN = /^[\p{Cf}\p{Variation_Selector}]+$/u;

const codePoint = (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
const controlMark = (c) => MARKS[c] ?? (c < " " ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : codePoint(c));
const blank = (c) => ({ " ": "\u00b7", "\u00a0": "\u237d" })[c] ?? "\u2423";

/** A token of white space alone, control characters and invisible ones made visible, as viz/labels.py does; everything else untouched. */
export function visible(text) {
  if (text === "") return "\u2205";
  if (/^\p{Zs}+$/u.test(text)) return [...text].map(blank).join("");
  return ONLY_UNSEEN.test(text) ? [...text].map(codePoint).join("") : text.replace(UNSEEN, controlMark);
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g;

/** Whether these words are read from the right: by a third of their letters. */
export const backwards = (words) => (words.join("").match(RIGHT_TO_LEFT) ?? []).length > words.join("").length / 3;

export const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Cut after `most` characters as people count them, never inside an emoji. */
export function cut(text, most) {
  const parts = [...graphemes.segment(text)];
  return parts.length <= most ? text : parts.slice(0, most - 1).map((p) => p.segment).join("") + "\u2026";
}

const ENGLISH = { percent: "%", over: "over", under: "under", nan: "not a number" };
/** How the page's language writes numbers (stage.py); English where no page says it. */
const written = () => globalThis.atlasNumbers ?? ENGLISH;

/** A number in per cent with its sign: 12.5 -> "12.5%". */
export const inPercent = (number) => `${number}${written().percent}`;

/** 0.9812 -> "98%"; what is not quite all or not quite nothing says so. */
export function percent(weight) {
  if (!Number.isFinite(weight)) return written().nan;
  if (weight > 0.995 && weight < 1) return `${written().over} ${inPercent(99)}`;
  if (weight > 0 && weight < 0.005) return `${written().under} ${inPercent(1)}`;
  return inPercent(Math.round(weight * 100));
}

export function make(tag, className, parent, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

/** A word that is only punctuation gets quotation marks inside a sentence. */
const quoted = (word) => (/^[\p{P}\p{S}]+$/u.test(word) ? `\u201c${word}\u201d` : word);

/** A sentence template: {name} becomes the text parts[name], set in <em> or, for numbers, in <b>. */
export function speak(element, template, parts) {
  const pieces = template.split(/\{(\w+)\}/).map((piece, i) => {
    if (i % 2 === 0) return document.createTextNode(piece);
    const value = parts[piece];
    const node = document.createElement(value && value.word !== undefined ? "em" : "b");
    node.textContent = value && value.word !== undefined ? quoted(visible(value.word)) : String(value);
    node.dir = "auto";
    return node;
  });
  element.replaceChildren(...pieces);
}

// ---------------------------------------------------------------- theme

export const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** Any CSS colour -> [r, g, b]. */
export function rgb(colour) {
  probe.clearRect(0, 0, 1, 1);
  probe.fillStyle = "#000";
  probe.fillStyle = colour;
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

function luminance([r, g, b]) {
  const f = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
}

/** 256 colours between the stops of a ramp, each [r, g, b]. */
export function ladder(stops) {
  const ends = stops.map(rgb);
  return Array.from({ length: 256 }, (_, i) => {
    const x = (i / 255) * (ends.length - 1), k = Math.min(Math.floor(x), ends.length - 2);
    return ends[k].map((v, c) => Math.round(v + (ends[k + 1][c] - v) * (x - k)));
  });
}

/** The page's colours and fonts as they are now; read again after each change of theme. */
export function readTheme(root) {
  const style = getComputedStyle(root);
  const read = (name, other) => style.getPropertyValue(name).trim() || other;
  const background = read("--st-background-color", "#fbfaf7");
  const dark = luminance(rgb(background)) < 0.2;
  const mode = dark ? "dark" : "light";
  const theme = {
    dark, background,
    text: read("--st-text-color", dark ? "#ecebe6" : "#1c1b22"),
    border: read("--st-border-color", "#8886"),
    primary: read("--st-primary-color", "#3f51b5"),
    line: "",            // what is touched and what it looks at, where it is drawn as a line
    font: read("--st-font", "sans-serif"),
    heading: read("--st-heading-font", "serif"),
    hatch: PALETTES[mode].hatch,
    sequential: ladder(PALETTES[mode].sequential),
    diverging: ladder(PALETTES[mode].diverging),
    categorical: PALETTES[mode].categorical,
    heads: PALETTES[mode].heads,
  };
  theme.line = dark ? css(theme.sequential[200]) : theme.primary;
  root.dataset.mode = mode;
  return theme;
}

export const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;

const READABLE = 4.5;  // the least contrast of type with its ground

/** The page's ink or its paper, whichever is easier to read on `colour`; where neither is readable, black or white, of which one always is. */
export function inkOn(colour, theme) {
  const on = luminance(colour), ratio = (l) => (Math.max(l, on) + 0.05) / (Math.min(l, on) + 0.05);
  const [text, paper] = [theme.text, theme.background].map((ink) => ratio(luminance(rgb(ink))));
  if (Math.max(text, paper) >= READABLE) return text >= paper ? theme.text : theme.background;
  return ratio(0) >= ratio(1) ? "#000" : "#fff";
}

// ---------------------------------------------------------------- canvas

/** By how much the page's type is larger than everyday's: what a canvas is zoomed by where a page is shown to a room. */
export function magnified() {
  const root = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return root >= 20 ? root / 15 : 1;
}

/** Zoom a canvas and what lies on it as the page's type is; `view.times` turns places on the screen into its own. */
export function magnify(view, element) {
  view.times = magnified();
  element.style.zoom = view.times;
  element.style.setProperty("--times", view.times);
  return view.times;
}

/** By how much the page is enlarged before a room, or the picture as one piece while it has the whole window (scaled.js, whole.js of the course). */
export const enlarged = () => Number(document.documentElement.style.getPropertyValue(document.querySelector("[data-atlas-full]") ? "--atlas-full" : "--atlas-room")) || 1;

/** Where the pointer is on `element`, in its own pixels, however much it or what holds it is enlarged. */
export function spotOn(element, { clientX, clientY }) {
  const box = element.getBoundingClientRect(), times = box.width / element.offsetWidth || 1;
  return [(clientX - box.left) / times, (clientY - box.top) / times];
}

const SENTENCE = 150;   // pixels that a legend and a sentence of numbers take below a picture before a room

/** Before a room: the pixels of the window below the top of `element`, less a sentence of numbers, or what a page says that stands below (present.css); anywhere else no limit. */
export function leftBelow(root, element = root) {
  const seen = getComputedStyle(root);
  if (seen.getPropertyValue("--atlas-chrome").trim() !== "none") return Infinity;
  if (document.querySelector("[data-atlas-full]")) return innerHeight / enlarged() - SENTENCE;
  const above = element.getBoundingClientRect().top + (document.querySelector('[data-testid="stMain"]')?.scrollTop ?? 0);
  const below = parseFloat(seen.getPropertyValue("--atlas-below"));
  return !below && above > 0.7 * innerHeight ? Infinity : (innerHeight - above) / enlarged() - (below || SENTENCE);
}

/** Size `canvas` to width x height CSS pixels at the device's resolution and clear it. */
export function sharp(canvas, width, height) {
  const ratio = (globalThis.devicePixelRatio || 1) * magnified() * enlarged();
  const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w; canvas.height = h;
    canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/** RGBA of cells, row after row, as a picture of a pixel a cell. */
export function pixels(shades, width, height) {
  const image = document.createElement("canvas");
  image.width = Math.max(1, width); image.height = Math.max(1, height);
  if (width && height) image.getContext("2d").putImageData(new ImageData(shades, width, height), 0, 0);
  return image;
}

/** Draw inside this rectangle only. */
export function clipped(pen, x, y, w, h, draw) {
  pen.save();
  pen.beginPath(); pen.rect(x, y, w, h); pen.clip();
  draw();
  pen.restore();
}

/** Two strokes from corner to corner: a number that is not finite. */
export function strokeCross(pen, x, y, w, h = w) {
  pen.beginPath(); pen.moveTo(x, y); pen.lineTo(x + w, y + h); pen.moveTo(x + w, y); pen.lineTo(x, y + h); pen.stroke();
}

/** The text, cut so that it fits into so many pixels; never inside an emoji. */
export function shorten(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  const signs = [...graphemes.segment(text)].map(({ segment }) => segment);
  while (signs.length > 1 && pen.measureText(`${signs.join("")}\u2026`).width > room) signs.pop();
  return `${signs.join("")}\u2026`;
}

/** The hatching of forbidden cells, the same everywhere; as fine as the pen is, and lines on a pen that writes SVG. */
export function hatching(pen, theme) {
  if (pen.vector) return pen.hatch(theme.hatch);
  const tile = document.createElement("canvas");
  const ratio = Math.hypot(pen.getTransform().a, pen.getTransform().b) || 1, size = Math.round(6 * ratio);
  tile.width = tile.height = size;
  const t = tile.getContext("2d");
  t.strokeStyle = theme.hatch;
  t.lineWidth = ratio;
  t.beginPath();
  for (const shift of [-size, 0, size]) { t.moveTo(shift, size); t.lineTo(shift + size, 0); }
  t.stroke();
  const pattern = pen.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

/** Calls `draw` at most once a frame, and again when the container or the fonts change. */
export function keepDrawn(root, draw) {
  let asked = 0;
  const ask = () => { asked ||= requestAnimationFrame(() => { asked = 0; draw(); }); };
  const observer = new ResizeObserver(ask);
  observer.observe(root);
  document.fonts.ready.then(ask);
  document.fonts.addEventListener("loadingdone", ask);
  return { ask, stop() { observer.disconnect(); document.fonts.removeEventListener("loadingdone", ask); cancelAnimationFrame(asked); } };
}

// ---------------------------------------------------------------- legend

/** Legend entries: a swatch and its words. */
export function swatch(parent, className, words) {
  const entry = make("span", "entry", parent);
  make("i", className, entry);
  make("span", "", entry, words);
  return entry;
}

export function ramp(parent, colours, from, to) {
  const entry = make("span", "entry", parent);
  make("span", "", entry, from);
  const bar = make("i", "ramp", entry);
  bar.style.background = `linear-gradient(to right, ${[0, 32, 64, 96, 128, 160, 192, 224, 255].map((i) => css(colours[i])).join(",")})`;
  make("span", "", entry, to);
}

let serial = 0;
export const eventId = () => `${Date.now()}.${(serial += 1)}`;
