// A pen with the part of the 2D context that instruments use; what it draws is SVG, the same bytes for the same picture.

import { probe, rgb } from "../common.js";

const round2 = (value) => { const n = Math.round(value * 100) / 100; return String(n === 0 ? 0 : n); };
const XML = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text for XML: five signs escaped, and what XML cannot hold (control characters, half of a pair) replaced. */
const xml = (text) => String(text).toWellFormed()
  .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"]/g, (sign) => XML[sign]);

const times = ([a, b, c, d, e, f], [g, h, i, j, k, l]) =>
  [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
const put = ([a, b, c, d, e, f], x, y) => [a * x + c * y + e, b * x + d * y + f];

function undo([a, b, c, d, e, f]) {
  const det = a * d - b * c || 1;
  return [d / det, -b / det, -c / det, a / det, (c * f - d * e) / det, (b * e - a * f) / det];
}

const STATE = {
  fillStyle: "#000000", strokeStyle: "#000000", lineWidth: 1, lineCap: "butt", lineJoin: "miter", globalAlpha: 1,
  font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic", direction: "ltr", imageSmoothingEnabled: true,
};

export class SvgPen {
  /** @param background a colour of the paper, or "" for none; @param margin free room on every side */
  constructor(width, height, { background = "", margin = 0, title = "" } = {}) {
    Object.assign(this, STATE);
    this.vector = true;
    this.size = [width, height];
    this.paper = { background, margin, title };
    this.matrix = [1, 0, 0, 1, 0, 0];
    this.clips = [];
    this.stack = [];
    this.path = [];
    this.defs = new Map();
    this.out = [];              // [clips, transform, element]
  }

  // ---- state
  save() { this.stack.push([...Object.keys(STATE).map((name) => this[name]), this.matrix, this.clips, this.dash]); }
  restore() {
    const kept = this.stack.pop();
    if (!kept) return;
    Object.keys(STATE).forEach((name, i) => { this[name] = kept[i]; });
    [this.matrix, this.clips, this.dash] = kept.slice(-3);
  }
  translate(x, y) { this.matrix = times(this.matrix, [1, 0, 0, 1, x, y]); }
  rotate(angle) { const c = Math.cos(angle), s = Math.sin(angle); this.matrix = times(this.matrix, [c, s, -s, c, 0, 0]); }
  scale(x, y) { this.matrix = times(this.matrix, [x, 0, 0, y, 0, 0]); }
  transform(...matrix) { this.matrix = times(this.matrix, matrix); }
  setTransform(...matrix) { this.matrix = matrix.length === 6 ? matrix : [1, 0, 0, 1, 0, 0]; }
  resetTransform() { this.setTransform(); }
  getTransform() { const [a, b, c, d, e, f] = this.matrix; return { a, b, c, d, e, f }; }
  setLineDash(dash) { this.dash = dash.length ? dash.map(round2).join(" ") : ""; }

  // ---- paths: points are kept where they fall on the paper
  beginPath() { this.path = []; this.whole = null; }
  step(name, ...points) {
    const there = [];
    for (let i = 0; i < points.length; i += 2) there.push(...put(this.matrix, points[i], points[i + 1]));
    this.path.push([name, ...there]);
  }
  moveTo(x, y) { this.step("M", x, y); }
  lineTo(x, y) { this.step(this.path.length ? "L" : "M", x, y); }
  bezierCurveTo(...points) { this.step("C", ...points); }
  quadraticCurveTo(...points) { this.step("Q", ...points); }
  closePath() { this.path.push(["Z"]); }
  rect(x, y, w, h) { this.only(x, y, w, h, 0, () => this.outline(x, y, w, h)); }
  outline(x, y, w, h) { this.moveTo(x, y); this.lineTo(x + w, y); this.lineTo(x + w, y + h); this.lineTo(x, y + h); this.closePath(); }
  roundRect(x, y, w, h, radii = 0) {
    const all = [radii].flat(), r = Math.max(0, Math.min(all[0] ?? 0, Math.abs(w) / 2, Math.abs(h) / 2));
    if (!r) { this.rect(x, y, w, h); return; }
    const corner = (cx, cy, from) => this.arc(cx, cy, r, from, from + Math.PI / 2);
    this.only(x, y, w, h, r, () => {
      this.moveTo(x + r, y);
      corner(x + w - r, y + r, -Math.PI / 2); corner(x + w - r, y + h - r, 0);
      corner(x + r, y + h - r, Math.PI / 2); corner(x + r, y + r, Math.PI);
      this.closePath();
    });
  }
  /** A path that is one rectangle and nothing else is written as a rectangle. */
  only(x, y, w, h, r, build) {
    const first = !this.path.length;
    build();
    this.whole = first ? { x, y, w, h, r, steps: this.path.length, matrix: this.matrix } : null;
  }
  form() {
    const { whole } = this;
    if (whole?.steps === this.path.length && whole.matrix === this.matrix) return `<rect${this.box(whole.x, whole.y, whole.w, whole.h)}${whole.r ? ` rx="${round2(whole.r)}"` : ""}`;
    return `<path d="${this.route(this.matrix)}"`;
  }
  arc(x, y, r, from, to, against = false) {
    const full = Math.PI * 2;
    let turn = against ? from - to : to - from;
    turn = turn >= full ? full : ((turn % full) + full) % full;
    this.lineTo(x + r * Math.cos(from), y + r * Math.sin(from));
    const parts = turn > Math.PI ? 2 : 1, radius = r * Math.sqrt(Math.abs(this.matrix[0] * this.matrix[3] - this.matrix[1] * this.matrix[2]));
    for (let i = 1; i <= parts && turn; i++) {
      const angle = from + (against ? -1 : 1) * (turn * i) / parts;
      this.path.push(["A", radius, against ? 0 : 1, ...put(this.matrix, x + r * Math.cos(angle), y + r * Math.sin(angle))]);
    }
  }

  /** The path in the units of `matrix`; straight steps along an axis are written H and V. */
  route(matrix) {
    const back = undo(matrix), size = Math.sqrt(Math.abs(back[0] * back[3] - back[1] * back[2]));
    let x = "", y = "", out = "";
    for (const [name, ...points] of this.path) {
      if (name === "Z") { out += "Z"; x = y = ""; continue; }
      const head = name === "A" ? points.splice(0, 2) : [], here = [];
      for (let i = 0; i < points.length; i += 2) here.push(...put(back, points[i], points[i + 1]).map(round2));
      const [nx, ny] = here.slice(-2);
      if (name === "L" && nx === x && ny === y) continue;
      if (name === "L" && ny === y) out += `H${nx}`;
      else if (name === "L" && nx === x) out += `V${ny}`;
      else out += name + (name === "A" ? `${round2(head[0] * size)} ${round2(head[0] * size)} 0 0 ${head[1]} ` : "") + here.join(" ");
      [x, y] = [nx, ny];
    }
    return out;
  }
  clip() {
    const id = this.define(`<clipPath><path d="${this.route([1, 0, 0, 1, 0, 0])}"/></clipPath>`);
    this.clips = [...this.clips, id];
  }

  // ---- drawing
  fill() { if (this.path.length) this.emit(`${this.form()}${this.ink("fill", this.fillStyle)}/>`); }
  stroke() { if (this.path.length) this.emit(`${this.form()} fill="none"${this.line()}/>`); }
  fillRect(x, y, w, h) { this.emit(`<rect${this.box(x, y, w, h)}${this.ink("fill", this.fillStyle)}/>`); }
  strokeRect(x, y, w, h) { this.emit(`<rect${this.box(x, y, w, h)} fill="none"${this.line()}/>`); }
  clearRect() {}                  // the paper is clear
  /** One line of several fonts and colours, [{text, font, colour}], `long` as measured here: so long it is in any font. */
  fillRuns(runs, x, y, long) {
    const { drop } = this.measureText(runs[0].text), anchor = this.textAlign === "center" ? ' text-anchor="middle"' : "";
    const keep = [this.font, this.fillStyle], words = runs.map((run, i) => {
      const text = xml(i === 0 ? run.text.trimStart() : i === runs.length - 1 ? run.text.trimEnd() : run.text);
      Object.assign(this, { font: run.font, fillStyle: run.colour });
      return `<tspan${this.type()}${this.ink("fill", this.fillStyle)}>${text}</tspan>`;
    });
    [this.font, this.fillStyle] = keep;
    this.emit(`<text x="${round2(x)}" y="${round2(y + drop)}"${anchor} textLength="${round2(long)}">${words.join("")}</text>`);
  }
  fillText(text, x, y, most) { this.write(text, x, y, most, () => this.ink("fill", this.fillStyle)); }
  strokeText(text, x, y, most) { this.write(text, x, y, most, () => ` fill="none"${this.line()}`); }
  write(text, x, y, most = Infinity, ink) {
    const said = String(text).replace(/[\t\n\f\r]/g, " ");
    if (!said.trim()) return;
    const rtl = this.direction === "rtl", metrics = this.measureText(said);
    const align = { start: rtl ? "right" : "left", end: rtl ? "left" : "right" }[this.textAlign] ?? this.textAlign;
    const anchor = { center: "middle", right: rtl ? "start" : "end", left: rtl ? "end" : "start" }[align];
    const fit = metrics.width > most ? ` textLength="${round2(most)}" lengthAdjust="spacingAndGlyphs"` : "";
    const keep = /^ | $| {2}/.test(said) ? ' xml:space="preserve"' : "";
    this.emit(`<text x="${round2(x)}" y="${round2(y + metrics.drop)}"${anchor === "start" ? "" : ` text-anchor="${anchor}"`}${rtl ? ' direction="rtl"' : ""}${keep}${fit}${this.type()}${ink()}>${xml(said)}</text>`);
  }
  /** As the canvas measures, with `drop`: how far the letters' baseline lies below the y of this textBaseline. */
  measureText(text) {
    const kept = [probe.font, probe.textBaseline];
    probe.font = this.font;
    probe.textBaseline = this.textBaseline;
    const metrics = probe.measureText(text), top = metrics.fontBoundingBoxAscent;
    probe.textBaseline = "alphabetic";
    metrics.drop = probe.measureText(text).fontBoundingBoxAscent - top;
    [probe.font, probe.textBaseline] = kept;
    return metrics;
  }
  drawImage(image, ...at) {
    let source = image, [x, y, w = image.width, h = image.height] = at;
    if (at.length === 8) {
      const [sx, sy, sw, sh] = at;
      [x, y, w, h] = at.slice(4);
      source = Object.assign(document.createElement("canvas"), { width: Math.max(1, sw), height: Math.max(1, sh) });
      source.getContext("2d").drawImage(image, sx, sy, sw, sh, 0, 0, sw, sh);
    }
    const sharpCells = this.imageSmoothingEnabled ? "" : ' image-rendering="optimizeSpeed" style="image-rendering:pixelated"';
    this.emit(`<image${this.box(x, y, w, h)} preserveAspectRatio="none"${sharpCells}${this.globalAlpha < 1 ? ` opacity="${round2(this.globalAlpha)}"` : ""} href="${source.toDataURL("image/png")}"/>`);
  }
  /** The hatching of forbidden cells; `hatching(pen, theme)` of common.js asks for it. */
  hatch(colour) {
    const id = this.define(`<pattern width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-1 1L1 -1M0 6L6 0M5 7L7 5" fill="none"${colourOf("stroke", colour, 1)}/></pattern>`);
    return { id };
  }
  createLinearGradient(x0, y0, x1, y1) {
    const stops = [], pen = this;
    return {
      addColorStop(offset, colour) { stops.push(`<stop offset="${round2(offset)}"${colourOf("stop", colour, 1)}/>`); },
      get id() { return pen.define(`<linearGradient gradientUnits="userSpaceOnUse" x1="${round2(x0)}" y1="${round2(y0)}" x2="${round2(x1)}" y2="${round2(y1)}">${stops.join("")}</linearGradient>`); },
    };
  }

  // ---- attributes
  box(x, y, w, h) { return ` x="${round2(w < 0 ? x + w : x)}" y="${round2(h < 0 ? y + h : y)}" width="${round2(Math.abs(w))}" height="${round2(Math.abs(h))}"`; }
  ink(name, style) {
    if (typeof style === "string") return colourOf(name, style, this.globalAlpha);
    return ` ${name}="url(#${style.id})"${this.globalAlpha < 1 ? ` ${name}-opacity="${round2(this.globalAlpha)}"` : ""}`;
  }
  line() {
    return this.ink("stroke", this.strokeStyle) + (this.lineWidth === 1 ? "" : ` stroke-width="${round2(this.lineWidth)}"`)
      + (this.lineCap === "butt" ? "" : ` stroke-linecap="${this.lineCap}"`) + (this.lineJoin === "miter" ? "" : ` stroke-linejoin="${this.lineJoin}"`)
      + (this.dash ? ` stroke-dasharray="${this.dash}"` : "");
  }
  type() {
    const [, before, size, family] = /^(.*?)([\d.]+)px(?:\s*\/\s*\S+)?\s+(.*)$/.exec(this.font) ?? ["", "", "10", "sans-serif"];
    const weight = /\b(bold|[1-9]\d\d)\b/.exec(before)?.[1], italic = /\b(italic|oblique)\b/.exec(before)?.[1];
    return ` font-family="${xml(family.replaceAll('"', "'"))}" font-size="${round2(Number(size))}"${weight && weight !== "400" ? ` font-weight="${weight}"` : ""}${italic ? ` font-style="${italic}"` : ""}`;
  }
  define(element) {
    if (!this.defs.has(element)) this.defs.set(element, `d${this.defs.size + 1}`);
    return this.defs.get(element);
  }
  emit(element) { this.out.push([this.clips, moved(this.matrix), element]); }

  // ---- the file
  toString() {
    const [w, h] = this.size, { background, margin: m, title } = this.paper, lines = [];
    const total = [w + 2 * m, h + 2 * m].map((v) => round2(Math.ceil(v)));
    lines.push(`<svg xmlns="http://www.w3.org/2000/svg" width="${total[0]}" height="${total[1]}" viewBox="${round2(-m)} ${round2(-m)} ${total[0]} ${total[1]}">`);
    if (title) lines.push(`<title>${xml(title)}</title>`);
    if (this.defs.size) lines.push("<defs>", ...[...this.defs].map(([element, id]) => element.replace(/^<\w+/, (tag) => `${tag} id="${id}"`)), "</defs>");
    if (background) lines.push(`<rect id="paper" x="${round2(-m)}" y="${round2(-m)}" width="${total[0]}" height="${total[1]}"${colourOf("fill", background, 1)}/>`);
    let open = [];              // the groups that are open: clips, then perhaps one transform
    for (const [clips, transform, element] of this.out) {
      const wanted = [...clips.map((id) => `<g clip-path="url(#${id})">`), ...(transform ? [`<g transform="${transform}">`] : [])];
      let same = 0;
      while (same < open.length && same < wanted.length && open[same] === wanted[same]) same += 1;
      lines.push(...open.slice(same).map(() => "</g>"), ...wanted.slice(same), element);
      open = wanted;
    }
    return [...lines, ...open.map(() => "</g>"), "</svg>"].join("\n").concat("\n");
  }
}

/** A matrix as a transform attribute, in words where it is only a move and a turn. */
function moved([a, b, c, d, e, f]) {
  const place = e || f ? `translate(${round2(e)} ${round2(f)})` : "", near = (x, y) => Math.abs(x - y) < 1e-9;
  if (near(a, d) && near(b, -c) && near(Math.hypot(a, b), 1)) {
    const angle = round2((Math.atan2(b, a) * 180) / Math.PI);
    return [place === "translate(0 0)" ? "" : place, angle === "0" ? "" : `rotate(${angle})`].filter(Boolean).join(" ");
  }
  return `matrix(${[a, b, c, d].map((v) => Math.round(v * 1e4) / 1e4).join(" ")} ${round2(e)} ${round2(f)})`;
}

const seenColours = new Map();

/** ` fill="#rrggbb" fill-opacity="0.5"`: colours that every program reads, their transparency apart. */
function colourOf(name, colour, alpha) {
  if (!seenColours.has(colour)) {
    probe.fillStyle = "#000";
    probe.fillStyle = colour;
    const plain = probe.fillStyle, seen = /^rgba\((\d+), (\d+), (\d+), ([\d.e-]+)\)$/.exec(plain);
    const mixed = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/.exec(plain), found = seen ?? mixed;
    const [r, g, b] = found ? found.slice(1, 4).map((v) => (seen ? Number(v) : Math.round(Math.min(1, Math.max(0, v)) * 255))) : rgb(colour);
    const hex = `#${[r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("")}`;
    seenColours.set(colour, plain.startsWith("#") ? [plain, 1] : [hex, Number(found?.[4] ?? 1)]);
  }
  const [hex, own] = seenColours.get(colour), see = round2(own * alpha);
  const attribute = name === "stop" ? "stop-color" : name;
  return ` ${attribute}="${hex}"${see === "1" ? "" : ` ${name}-opacity="${see}"`}`;
}
