// Branches, tokens, marks: on the screen and on a pen that saves them. No state is told by its colour alone.

import { css, rgb } from "../kit/common.js";
import { EDGE, fontOfScore, fontOfToken } from "./place.js";
import { mark, say } from "../kit/words.js";

const FAINTEST = 90;     // of 256: the shade of a branch that nothing speaks for

/** The colours of the states, in the theme as it is now. */
export function inksOf(theme) {
  const mix = (share) => { const ink = rgb(theme.text), paper = rgb(theme.background); return css(ink.map((v, c) => Math.round(v * share + paper[c] * (1 - share)))); };
  return { quiet: mix(0.68), pale: mix(0.5), accent: theme.line, band: theme.dark ? css(theme.sequential[75]) : css(theme.sequential[38]) };
}

/** How the branch of a state is drawn: wider and darker the more probable; given up is dashed, the winner's never thin. */
function lineOf(view, state, chance) {
  const { theme, inks } = view, known = chance >= 0;
  if (state === "pruned") return { colour: inks.pale, width: 1.25, dash: [4, 3] };
  if (state === "best") return { colour: inks.accent, width: known ? 2.5 + 3 * chance : 3, dash: [] };
  if (!known) return { colour: inks.quiet, width: 1.5, dash: [] };
  return { colour: css(theme.sequential[Math.round(FAINTEST + 130 * chance)]), width: 1 + 3.5 * chance, dash: [] };
}

/** The way from the parent's last letter to node `i`: level through the parent's column, then a curve. */
function route(pen, { tree, spot }, i) {
  const parent = tree.parents[i], y1 = spot.y[i], x1 = spot.x[i] - 7, column = spot.columns[tree.steps[i] - 1];
  const y0 = parent < 0 ? spot.beginY : spot.y[parent];
  const x0 = parent < 0 ? spot.beginEnd : spot.x[parent] + spot.long[parent] + (tree.ends[parent] ? 16 : 7);
  const elbow = Math.max(x0, parent < 0 ? 0 : column.x + column.wide), middle = (elbow + x1) / 2;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(elbow, y0);
  if (Math.abs(y1 - y0) < 0.5) pen.lineTo(x1, y1);
  else pen.bezierCurveTo(middle, y0, middle, y1, x1, y1);
}

/** Draws what lies within `seen` ({left, top, right, bottom} of the sheet) and lights the path `lit`; returns how many tokens that were. */
export function paintTree(pen, view, seen, lit) {
  const { tree, spot, inks } = view, shown = [], links = { pruned: [], plain: [], best: [] };
  const within = (low, high, from, to) => high >= from && low <= to;
  spot.columns.forEach(({ x, wide, nodes }, c) => {
    const from = c ? spot.columns[c - 1].x : 0;
    if (!within(from, x + wide + 20, seen.left, seen.right)) return;
    for (const i of nodes) {
      const above = tree.parents[i] < 0 ? spot.beginY : spot.y[tree.parents[i]], y = spot.y[i], state = view.state(i);
      if (within(Math.min(above, y), Math.max(above, y), seen.top - 8, seen.bottom + 8)) (links[state] ?? links.plain).push(i);
      if (within(y - 16, y + 28, seen.top, seen.bottom) && within(x - 8, x + wide + 20, seen.left, seen.right)) shown.push(i);
    }
  });
  pen.lineCap = "round";
  pen.strokeStyle = inks.band;
  for (const i of lit) { route(pen, view, i); pen.lineWidth = lineOf(view, view.state(i), tree.chances[i]).width + 9; pen.stroke(); }
  for (const i of lit) { pen.fillStyle = inks.band; pen.beginPath(); pen.roundRect(spot.x[i] - 7, spot.y[i] - 13, spot.long[i] + 14, 26, 6); pen.fill(); }
  for (const i of [...links.pruned, ...links.plain, ...links.best]) {
    const line = lineOf(view, view.state(i), tree.chances[i]);
    Object.assign(pen, { strokeStyle: line.colour, lineWidth: line.width });
    pen.lineCap = line.dash.length ? "butt" : "round";
    pen.setLineDash(line.dash);
    route(pen, view, i);
    pen.stroke();
  }
  pen.setLineDash([]);
  pen.lineCap = "butt";
  paintRoot(pen, view);
  for (const i of shown) paintNode(pen, view, i);
  for (const [i, letter] of view.head.marks) badge(pen, view, i, letter);
  return shown.length;
}

function paintRoot(pen, { spot, theme, inks }) {
  pen.fillStyle = inks.quiet;
  if (!spot.begin) { pen.beginPath(); pen.arc(EDGE + 3, spot.beginY, 3.5, 0, Math.PI * 2); pen.fill(); return; }
  Object.assign(pen, { font: fontOfToken(theme), textAlign: "left", textBaseline: "middle" });
  pen.fillText(spot.begin, EDGE, spot.beginY + 1);
}

function paintNode(pen, view, i) {
  const { tree, spot, theme, inks } = view, state = view.state(i), x = spot.x[i], y = spot.y[i], [dots, text] = spot.faces[i];
  const colour = { best: inks.accent, pruned: inks.quiet }[state] ?? theme.text;
  Object.assign(pen, { font: fontOfToken(theme, state === "best"), textAlign: "left", textBaseline: "middle" });
  if (dots) { pen.fillStyle = inks.pale; pen.fillText(dots, x, y + 1); }
  pen.fillStyle = colour;
  pen.fillText(text, x + spot.dots[i], y + 1);
  if (tree.ends[i]) endMark(pen, x + spot.long[i] + 7, y, colour);
  if (state === "now") frame(pen, x, y, spot.long[i], theme.text, 1.75, 5);
  if (!spot.roomy) return;
  Object.assign(pen, { font: fontOfScore(theme), fillStyle: inks.quiet });
  pen.fillText(spot.figures[i], x, y + 21);
}

/** A text ends here: the small square of printers. */
function endMark(pen, x, y, colour) { pen.fillStyle = colour; pen.fillRect(x, y - 3.5, 7, 7); }

/** A letter that the page gave a node, in a disc behind its token: the first is full, the others are rings. */
function badge(pen, { tree, spot, theme, head }, i, letter) {
  const x = spot.x[i] + spot.long[i] + (tree.ends[i] ? 25 : 15), y = spot.y[i], full = letter === head.marks[0][1];
  Object.assign(pen, { fillStyle: full ? theme.text : theme.background, strokeStyle: theme.text, lineWidth: 1.5 });
  pen.beginPath();
  pen.arc(x, y, 8, 0, Math.PI * 2);
  pen.fill();
  pen.stroke();
  Object.assign(pen, { font: `650 11px ${theme.font}`, fillStyle: full ? theme.background : theme.text, textAlign: "center", textBaseline: "middle" });
  pen.fillText(letter, x, y + 0.5);
}

function frame(pen, x, y, long, colour, width, out) {
  Object.assign(pen, { strokeStyle: colour, lineWidth: width });
  pen.beginPath();
  pen.roundRect(x - out, y - 8 - out, long + 2 * out, 16 + 2 * out, 4);
  pen.stroke();
}

/** The node that was chosen is underlined, the one pointed at has a ring: neither is saved as a state. */
export function paintMarks(pen, view) {
  const { spot, inks, chosen, hover, theme } = view;
  if (chosen !== null) { pen.fillStyle = theme.text; pen.fillRect(spot.x[chosen] - 1, spot.y[chosen] + 10, spot.long[chosen] + 2, 2.5); }
  if (hover >= 0) frame(pen, spot.x[hover], spot.y[hover], spot.long[hover], inks.accent, 2, 6.5);
}

// ---------------------------------------------------------------- legend

export const SAMPLE = { wide: 34, tall: 18 };
const MEANS = { best: mark("the best text"), open: mark("open"), finished: mark("ends here"), pruned: mark("pruned"), now: mark("you are here"), wider: mark("wider: more probable"), score: mark("score") };
export const meaning = (view, name) => view.head.means[name] ?? say(MEANS[name]);

/** What stands in the legend: the states that occur, what the width of a line means where it means something, what the numbers are. */
export function meanings({ tree, counts, spot }) {
  const ends = tree.ends.includes(1), chance = tree.chances.some((p) => p >= 0);
  return Object.keys(MEANS).filter((name) => counts[name] || (name === "finished" && ends) || (name === "wider" && chance) || (name === "score" && spot.roomy && tree.tokens.length));
}

export function paintSample(pen, view, name, x, y) {
  const { theme, inks } = view, middle = y + SAMPLE.tall / 2;
  if (name === "now") { frame(pen, x + 8, middle, 14, theme.text, 1.75, 1); return; }
  if (name === "score") {
    Object.assign(pen, { font: fontOfScore(theme), fillStyle: inks.quiet, textAlign: "left", textBaseline: "middle" });
    pen.fillText("\u22121.2", x, middle);
    return;
  }
  if (name === "wider") {
    for (const [k, p] of [0.05, 0.4, 0.95].entries()) stroke(lineOf(view, "open", p), x + k * 11, 8);
    return;
  }
  stroke(lineOf(view, name === "finished" ? "open" : name, name === "pruned" ? -1 : 0.4), x, name === "finished" ? 17 : SAMPLE.wide);
  if (name === "finished") endMark(pen, x + 21, middle, theme.text);

  function stroke(line, from, long) {
    Object.assign(pen, { strokeStyle: line.colour, lineWidth: line.width });
    pen.setLineDash(line.dash);
    pen.beginPath(); pen.moveTo(from, middle); pen.lineTo(from + long, middle); pen.stroke();
    pen.setLineDash([]);
  }
}
