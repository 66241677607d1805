// The strip as a file: the page as it stands, with the rings around the touched token, and the numbers that are shown.

import { backwards, hatching, strokeCross } from "../kit/common.js";
import { paintElement } from "../kit/save/dom_pen.js";
import { exactness } from "../kit/save/npz.js";
import { look } from "./text.js";
import { say } from "../kit/words.js";

export function saving(view) {
  const { head } = view;
  return {
    name: head.title || say("Text, shaded"), bar: view.bar,
    size: () => opened(view, () => [view.root.clientWidth, view.root.scrollHeight]),
    paint: (pen) => opened(view, () => paintStrip(pen, view)),
    header: () => ({ start: [view.at.side, view.at.index], mode: view.mode, url: null }),
    rows: () => savedRows(view),
    arrays: () => savedArrays(view),
  };
}

/** A text that scrolls is saved whole. */
function opened(view, act) {
  const boxes = [view.queryText, view.keyText], before = boxes.map((box) => box.style.maxHeight);
  for (const box of boxes) box.style.maxHeight = "none";
  const found = act();
  boxes.forEach((box, i) => { box.style.maxHeight = before[i]; });
  return found;
}

/** Each token at its own place, whatever font the reader of the file has. */
function paintStrip(pen, view) {
  const { root, theme } = view, home = root.getBoundingClientRect(), hatch = hatching(pen, theme);
  for (const part of [view.bar, view.keyName, view.queryName, view.sentence, view.legend]) paintElement(pen, part, root, theme);
  for (const line of view.body.querySelectorAll(".line")) {
    const name = line.querySelector(".reader");
    if (name) writeBox(pen, name, name.textContent, name, home, view.theme.line);
  }
  const toks = [...view.body.querySelectorAll(".tok")].filter((tok) => tok.getClientRects().length);
  for (const tok of toks) paintGround(pen, view, tok, home, hatch);
  toks.forEach((tok, i) => {
    for (const piece of tok.children) {
      const arabic = piece.className === "text" && backwards([piece.textContent]);
      if (arabic) writeJoined(pen, wordOf(toks, i), tok, piece, home);
      else writeBox(pen, piece, piece.textContent, piece, home);
    }
  });
}

function paintGround(pen, view, tok, home, hatch) {
  const { theme } = view, lines = view.mode === "lines", me = tok.classList.contains("me");
  const box = tok.getBoundingClientRect(), x = box.left - home.left, y = box.top - home.top, { width: w, height: h } = box;
  const shape = (out) => { pen.beginPath(); pen.roundRect(x - out, y - out, w + 2 * out, h + 2 * out, 4 + out); };
  if (tok.style.background) { pen.fillStyle = getComputedStyle(tok).backgroundColor; shape(0); pen.fill(); }
  if (tok.classList.contains("shut") && !lines) { pen.fillStyle = hatch; shape(0); pen.fill(); }
  pen.strokeStyle = pen.fillStyle = tok.classList.contains("bad") ? theme.text : theme.line; pen.lineWidth = 2;
  if (tok.classList.contains("bad")) strokeCross(pen, x, y, w, h);
  pen.strokeStyle = pen.fillStyle = theme.line;
  if (me && lines) pen.fillRect(x, y + h - 2, w, 2);
  else if (me) { shape(1); pen.stroke(); }
}

/** `text` in the middle of the box of `element`, in the type of `like`. */
function writeBox(pen, element, text, like, home, colour) {
  const box = element.getBoundingClientRect(), style = getComputedStyle(like);
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  pen.fillStyle = colour ?? style.color; pen.globalAlpha = Number(style.opacity);
  pen.textAlign = "center"; pen.textBaseline = "middle";
  pen.fillText(text, (box.left + box.right) / 2 - home.left, (box.top + box.bottom) / 2 - home.top);
  pen.globalAlpha = 1;
}

/** The tokens that stand close to token `i` on its line, itself included. */
function wordOf(toks, i) {
  let first = i, last = i;
  while (toks[first].classList.contains("close")) first -= 1;
  while (toks[last].classList.contains("open") && toks[last + 1]) last += 1;
  const top = toks[i].getBoundingClientRect().top;
  return toks.slice(first, last + 1).filter((tok) => Math.abs(tok.getBoundingClientRect().top - top) < 4);
}

/** Arabic letters join across tokens: the whole word is written, and of it only what belongs to this token is seen. */
function writeJoined(pen, word, tok, piece, home) {
  const pieces = word.map((one) => one.querySelector(".text")), boxes = pieces.map((one) => one.getBoundingClientRect());
  const all = { left: Math.min(...boxes.map((b) => b.left)), right: Math.max(...boxes.map((b) => b.right)), top: boxes[0].top, bottom: boxes[0].bottom };
  const box = tok.getBoundingClientRect();
  pen.save();
  pen.beginPath(); pen.rect(box.left - home.left, box.top - home.top - 4, box.width, box.height + 8); pen.clip();
  pen.direction = "rtl";
  writeBox(pen, { getBoundingClientRect: () => all }, pieces.map((one) => one.textContent).join(""), piece, home);
  pen.direction = "ltr";
  pen.restore();
}

/** What is shown: the touched row or column, or, with one line a word, all of them. */
const chosenUnits = ({ mode, at, sides }) => (mode === "lines" ? sides[at.side].words.map((_, i) => i) : [at.index]);

function savedRows(view) {
  const { side } = view.at, rows = [["query position", "key position", "query", "key", exactness(view.matrix) ? `weight (${exactness(view.matrix)})` : "weight"]];
  const { query, key } = view.sides;
  for (const i of chosenUnits(view)) {
    const { weights, may } = look(view, side, i);
    weights.forEach((weight, k) => {
      const [q, at] = side === "query" ? [i, k] : [k, i];
      rows.push([query.first[q], key.first[at], query.words[q], key.words[at], may[k] ? weight : ""]);
    });
  }
  return rows;
}

function savedArrays(view) {
  const { side } = view.at, other = side === "query" ? "key" : "query", chosen = chosenUnits(view), found = chosen.map((i) => look(view, side, i));
  const length = view.sides[other].words.length, shape = [chosen.length, length], axes = [side, other];
  const weights = new Float32Array(shape[0] * length), may = new Uint8Array(shape[0] * length);
  found.forEach((row, r) => { weights.set(row.weights, r * length); may.set(row.may, r * length); });
  const plural = { query: "queries", key: "keys" }, known = exactness(view.matrix);
  return {
    weights: { shape, values: weights, axes }, allowed: { shape, values: may, axes, bool: true },
    [plural[side]]: { shape: [chosen.length], values: chosen.map((i) => view.sides[side].words[i]) },
    [plural[other]]: { shape: [length], values: view.sides[other].words },
    ...(known && { exactness: { shape: [1], values: [known] } }),
  };
}
