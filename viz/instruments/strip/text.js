// Tokens as text: spans inside one flowing paragraph, so that the browser breaks lines, joins Arabic letters and
// orders right-to-left words as in any text; a touched one shades the others.

import { backwards, css, cut, inkOn, make, percent, visible } from "../kit/common.js";
import { CLEAR } from "../kit/tell.js";
import { say } from "../kit/words.js";

const LONGEST = 24, SHARES = 8;

/** One side of the head: {words, glued, first, pieces, rtl, special}. */
export function readSide(side) {
  const count = side.words.length;
  return {
    words: side.words, special: side.words.map((_, i) => side.special.includes(i)), rtl: backwards(side.words),
    glued: [...side.glued].map(Number), first: side.first ?? Array.from({ length: count }, (_, i) => i), pieces: side.pieces ?? Array(count).fill(1),
  };
}

/** Which unit holds a position of the full matrix, -1 if none. */
export const unitAt = (side, position) => side.first.findIndex((first, i) => position >= first && position < first + side.pieces[i]);

/** The tokens of `side` as spans in `box`; breaks are where a line of text may break. `line`: white space never ends the line. */
export function fillText(box, side, name, line) {
  const toks = side.words.map((word, i) => token(side, word, i));
  const nodes = [];
  toks.forEach((tok, i) => {
    if (i && !side.glued[i]) nodes.push(/^\s/.test(side.words[i]) ? make("wbr") : document.createTextNode(" "));
    nodes.push(tok);
    if (!line && side.words[i].includes("\n")) nodes.push(make("br"));
  });
  box.replaceChildren(...nodes);
  box.dir = side.rtl ? "rtl" : "ltr";
  box.setAttribute("role", "listbox");
  box.setAttribute("aria-label", name);
  return toks;
}

function token(side, word, i) {
  const tok = make("span", side.special[i] ? "tok special" : "tok"), close = side.glued[i] ? " close" : "";
  tok.className += close + (side.glued[i + 1] ? " open" : "");
  const [, space, rest] = /^( *)([^]*)$/.exec(word);
  if (space && rest) {                     // the space belongs to the token: a quiet mark where it stands
    const mark = make("span", "space", tok, "\u00b7".repeat(Math.min(3, space.length)));
    mark.setAttribute("aria-hidden", "true");
  }
  const text = make("span", "text", tok, cut(visible(rest || word), LONGEST));
  tok.setAttribute("role", "option");
  tok.tabIndex = -1;
  tok.dataset.i = i;
  return tok;
}

// ---------------------------------------------------------------- numbers

/** What the unit `index` of `side` gives to ("query") or gets from ("key") every unit of the other side: NaN where forbidden. */
export function look(view, side, index) {
  const { matrix: { rows, cols, values, allowed } } = view;
  const out = { weights: new Float32Array(side === "query" ? cols : rows), may: new Uint8Array(side === "query" ? cols : rows) };
  for (let k = 0; k < out.weights.length; k++) {
    const at = side === "query" ? index * cols + k : k * cols + index;
    out.weights[k] = values[at]; out.may[k] = allowed[at];
  }
  return out;
}

/** Shade `toks` by one row or column; `me` is the place of the touched unit among them, or -1. */
export function shade(view, toks, { weights, may }, me) {
  const { theme } = view;
  toks.forEach((tok, i) => {
    const weight = weights[i], shut = !may[i], bad = !shut && !Number.isFinite(weight);
    const colour = shut || bad ? null : theme.sequential[Math.round(Math.min(1, Math.max(0, weight)) * 255)];
    tok.style.background = colour && weight >= 0.004 ? css(colour) : "";
    tok.style.color = colour && weight >= 0.15 ? inkOn(colour, theme) : "";
    tok.classList.toggle("shut", shut);
    tok.classList.toggle("bad", bad);
    tok.classList.toggle("me", i === me);
    tok.classList.toggle("deep", i === me && weight >= 0.25);
    tok.dataset.weight = shut ? "masked" : bad ? "broken" : weight.toFixed(4);
    tok.setAttribute("aria-selected", String(i === me));
    tok.setAttribute("aria-label", `${visible(view.named(tok).trim() || view.named(tok))}, ${shut ? say("masked") : percent(weight)}`);
  });
}

/** Small percentages under the strongest tokens, as many as there is room for. */
export function writeShares(toks, { weights, may }) {
  for (const old of toks.filter((tok) => tok.share)) { old.share.remove(); old.share = null; }
  const best = [...weights.keys()].filter((i) => may[i] && weights[i] >= CLEAR).sort((a, b) => weights[b] - weights[a]).slice(0, SHARES);
  const taken = [];
  for (const i of best) {
    const box = toks[i].getBoundingClientRect(), x = box.left + box.width / 2;
    if (taken.some((other) => Math.abs(other.x - x) < 40 && Math.abs(other.y - box.top) < box.height)) continue;
    taken.push({ x, y: box.top });
    toks[i].share = make("span", "share", toks[i]);
    toks[i].share.textContent = ` ${percent(weights[i])}`;   // apart from the word for who hears or copies it
    toks[i].share.dir = "ltr";
    toks[i].share.setAttribute("aria-hidden", "true");
  }
}

// ---------------------------------------------------------------- one line a word

/** The text once for each unit of the touched side; lines with their tokens. */
export function fillLines(view, side) {
  const readers = view.sides[side], seen = view.two ? view.sides[side === "query" ? "key" : "query"] : readers;
  view.rows = readers.words.map((word, r) => {
    const line = make("div", "line");
    line.dataset.line = r;
    if (view.two) {
      const name = make("span", "reader", line, cut(visible(word.trim() || word), 16));
      name.dir = "auto";
    }
    const box = make("div", "row", line);
    const toks = fillText(box, seen, side === "query" ? say("Reading {word}", { word: visible(word) }) : say("Looking at {word}", { word: visible(word) }), true);
    return { line, toks };
  });
  view.lines.dir = seen.rtl ? "rtl" : "ltr";
  view.lines.replaceChildren(...view.rows.map((row) => row.line));
}

export function shadeLines(view, side) {
  view.rows.forEach((row, r) => {
    shade(view, row.toks, look(view, side, r), view.two ? -1 : r);
    for (const tok of row.toks) tok.setAttribute("aria-selected", "false");
  });
}

/** The largest type in which a line fits; below the smallest readable one the lines scroll sideways inside. */
export function fitLines(view) {
  const width = view.root.clientWidth, phone = width < 560;
  if (!view.rows?.length || !width) return;
  view.lines.style.fontSize = "20px";
  const widest = Math.max(...view.rows.slice(0, 1).map(({ line }) => line.scrollWidth), 1);
  const size = Math.max(phone ? 13 : 14, Math.min(20, (20 * (width - 4)) / widest));
  view.lines.style.fontSize = `${Math.floor(size * 4) / 4}px`;
  view.root.dataset.fits = String((widest * size) / 20 <= width + 1);
}
