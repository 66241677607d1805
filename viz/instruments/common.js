// Shared by all instruments: reading a packet, the theme, words that can never be markup.

const MARKS = { "\n": "\u21b5", "\t": "\u21e5", "\r": "\u240d", "\u0000": "\u2400" };

/** Whitespace and control characters made visible; everything else untouched. */
function visible(text) {
  if (text === "") return "\u2205";
  if (/^ +$/.test(text)) return "\u00b7".repeat(text.length);
  return text.replace(/[\n\t\r\u0000]/g, (c) => MARKS[c]).replace(/[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Cut after `most` characters as people count them, never inside an emoji. */
function cut(text, most) {
  const parts = [...graphemes.segment(text)];
  return parts.length <= most ? text : parts.slice(0, most - 1).map((p) => p.segment).join("") + "\u2026";
}

/** 0.9812 -> "98 %"; what is not quite all or not quite nothing says so. */
function percent(weight) {
  if (!Number.isFinite(weight)) return "not a number";
  if (weight > 0.995 && weight < 1) return "over 99 %";
  if (weight > 0 && weight < 0.005) return "under 1 %";
  return `${Math.round(weight * 100)} %`;
}

function make(tag, className, parent) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (parent) parent.append(element);
  return element;
}

/** A word that is only punctuation gets quotation marks inside a sentence. */
const quoted = (word) => (/^[\p{P}\p{S}]+$/u.test(word) ? `\u201c${word}\u201d` : word);

/** A sentence template: {name} becomes the text parts[name], set in <em> or, for numbers, in <b>. */
function speak(element, template, parts) {
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

// ---------------------------------------------------------------- packets

/** Alternating run lengths (True first) as base-128 varints -> one byte a cell. */
function readRuns(bytes, total) {
  const mask = new Uint8Array(total);
  let at = 0, on = 1, length = 0, shift = 0;
  for (const byte of bytes) {
    length += (byte & 127) * 2 ** shift;
    if (byte & 128) { shift += 7; continue; }
    if (on) mask.fill(1, at, at + length);
    at += length; on ^= 1; length = 0; shift = 0;
  }
  return mask;
}

function writeRuns(mask) {
  const out = [];
  const push = (n) => { while (n > 127) { out.push((n & 127) | 128); n >>>= 7; } out.push(n); };
  let on = 1, length = 0;
  for (const cell of mask) {
    if (cell === on) { length += 1; continue; }
    push(length); on = cell; length = 1;
  }
  push(length);
  return btoa(String.fromCharCode(...out));
}

const part = (packet, name) => packet.parts.get(packet.header[name]);

const KEPT = 64e6;   // bytes of parts that a page keeps; older ones are let go, and asked for again when needed

function letGo(needed) {
  const all = globalThis.attentionAtlas.parts;
  let held = 0;
  for (const bytes of all.values()) held += bytes.length;
  for (const [id, bytes] of all) {
    if (held <= KEPT) break;
    if (needed.has(id)) continue;
    all.delete(id);
    held -= bytes.length;
  }
}

const views = new WeakMap();

/** Each packet of an instrument: its `build(root)` makes a view once, its `accept(view, packet)` fills it; returns what lets go. */
function begin(root, packet, component) {
  letGo(packet.parts);
  dress(root);
  let view = views.get(root);
  if (!view) views.set(root, (view = build(root)));
  view.component = component;
  accept(view, packet);
  return () => { view.drawn.stop(); view.deaf?.(); views.delete(root); };
}

function halfToFloat(h) {
  const sign = h & 0x8000 ? -1 : 1, exponent = (h >> 10) & 31, fraction = h & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
}

/** Whole numbers as steps.py packs them: a parameter k for each 64, then for each number its upper bits as zeros, a one, its k lowest bits. */
function readSteps(bytes, total) {
  const out = new Uint16Array(total);
  for (let i = 0, at = Math.ceil(total / 64) * 8; i < total; i++) {
    const byte = at >> 3, shift = at & 7, k = bytes[i >> 6];
    const four = (bytes[byte] << 24) | (bytes[byte + 1] << 16) | (bytes[byte + 2] << 8) | bytes[byte + 3];
    const next = shift ? (four << shift) | (bytes[byte + 4] >> (8 - shift)) : four;   // the 32 bits from here
    const zeros = Math.clz32(next);
    if (zeros > 15) { out[i] = next & 0xffff; at += 32; continue; }
    out[i] = (zeros << k) | (k ? (next << (zeros + 1)) >>> (32 - k) : 0);
    at += zeros + 1 + k;
  }
  return out;
}

/** {rows, cols, values: Float32Array, allowed: Uint8Array, kind, step}; forbidden cells hold 0. `prefix` says which, if there are several. */
function readMatrix(packet, prefix = "") {
  const field = (name) => packet.header[prefix + name], bytes = (name) => part(packet, prefix + name);
  const [rows, cols] = field("shape"), kind = field("kind"), step = field("step"), total = rows * cols;
  const allowed = bytes("allowed") ? readRuns(bytes("allowed"), total) : new Uint8Array(total).fill(1);
  const count = allowed.reduce((sum, v) => sum + v, 0), raw = bytes("values");
  const sent = kind === "f32" ? new Float32Array(raw.buffer) : kind === "f16" ? new Uint16Array(raw.buffer) : readSteps(raw, count);
  const finite = bytes("bad") && readRuns(bytes("bad"), count);
  const number = {
    f32: (v) => v,
    f16: halfToFloat,
    steps: field("signed") ? (v) => (v & 1 ? -(v + 1) / 2 : v / 2) * step : (v) => v * step,
  }[kind];
  const values = new Float32Array(total);
  for (let i = 0, at = 0; i < total; i++) {
    if (!allowed[i]) continue;
    values[i] = finite && !finite[at] ? NaN : number(sent[at]);
    at += 1;
  }
  return { rows, cols, values, allowed, kind, step };
}

// ---------------------------------------------------------------- linked views

const HOVER = "attention-atlas-hover";

/** The pointer of `view` is at {query, key} (either may be missing) or nowhere (null): tell the views of its group. */
function say(view, at) {
  if (view.group) document.dispatchEvent(new CustomEvent(HOVER, { detail: { group: view.group, from: view.root, at } }));
}

/** Calls `react(at)` when the pointer of another view of the same group moves; returns what stops it. */
function hear(view, react) {
  const listen = ({ detail }) => { if (view.group && detail.group === view.group && detail.from !== view.root) react(detail.at); };
  document.addEventListener(HOVER, listen);
  return () => document.removeEventListener(HOVER, listen);
}

// ---------------------------------------------------------------- theme

const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** Any CSS colour -> [r, g, b]. */
function rgb(colour) {
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
function ladder(stops) {
  const ends = stops.map(rgb);
  return Array.from({ length: 256 }, (_, i) => {
    const x = (i / 255) * (ends.length - 1), k = Math.min(Math.floor(x), ends.length - 2);
    return ends[k].map((v, c) => Math.round(v + (ends[k + 1][c] - v) * (x - k)));
  });
}

/** The page's colours and fonts as they are now; read again after each change of theme. */
function readTheme(root) {
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
    font: read("--st-font", "sans-serif"),
    heading: read("--st-heading-font", "serif"),
    hatch: PALETTES[mode].hatch,
    sequential: ladder(PALETTES[mode].sequential),
    diverging: ladder(PALETTES[mode].diverging),
  };
  root.dataset.mode = mode;
  return theme;
}

const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;

/** The page's ink or its paper, whichever is easier to read on `colour`. */
function inkOn(colour, theme) {
  const on = luminance(colour), ratio = (other) => {
    const l = luminance(rgb(other));
    return (Math.max(l, on) + 0.05) / (Math.min(l, on) + 0.05);
  };
  return ratio(theme.text) >= ratio(theme.background) ? theme.text : theme.background;
}

// ---------------------------------------------------------------- canvas

/** Size `canvas` to width x height CSS pixels at the device's resolution and clear it. */
function sharp(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1;
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

/** The hatching of forbidden cells, the same everywhere; as fine as the pen is, and lines on a pen that writes SVG. */
function hatching(pen, theme) {
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
function keepDrawn(root, draw) {
  let asked = 0;
  const ask = () => { asked ||= requestAnimationFrame(() => { asked = 0; draw(); }); };
  const observer = new ResizeObserver(ask);
  observer.observe(root);
  document.fonts.ready.then(ask);
  document.fonts.addEventListener("loadingdone", ask);
  return { ask, stop() { observer.disconnect(); document.fonts.removeEventListener("loadingdone", ask); cancelAnimationFrame(asked); } };
}

/** The CSS of the bundle, once in each shadow root. */
function dress(root) {
  const home = root.getRootNode();
  if (home.querySelector("style[data-atlas]")) return;
  const style = document.createElement("style");
  style.dataset.atlas = "";
  style.textContent = CSS;
  root.before(style);
}

// ---------------------------------------------------------------- legend

/** Legend entries: a swatch and its words. */
function swatch(parent, className, words) {
  const entry = make("span", "entry", parent);
  make("i", className, entry);
  make("span", "", entry).textContent = words;
  return entry;
}

function ramp(parent, colours, from, to) {
  const entry = make("span", "entry", parent);
  make("span", "", entry).textContent = from;
  const bar = make("i", "ramp", entry);
  bar.style.background = `linear-gradient(to right, ${[0, 32, 64, 96, 128, 160, 192, 224, 255].map((i) => css(colours[i])).join(",")})`;
  make("span", "", entry).textContent = to;
}

let serial = 0;
const eventId = () => `${Date.now()}.${(serial += 1)}`;
