// The picture as the frame shows it now, the text of the lit path below it, the legend.

import { graphemes, leftBelow, magnify, make, probe, sharp, visible } from "../kit/common.js";
import { meaning, meanings, paintMarks, paintSample, paintTree, SAMPLE } from "./paint.js";
import { fontOfToken, pathTo, settle, spelled } from "./place.js";
import { say } from "../kit/words.js";

const HIGHEST = 460, LEAST = 200;     // pixels of the frame, if Python asks for no others; before a room as many as are left, but not fewer

function legend(view) {
  view.legend.replaceChildren();
  for (const name of meanings(view)) {
    const entry = make("span", "entry", view.legend), canvas = make("canvas", "", entry);
    paintSample(sharp(canvas, SAMPLE.wide, SAMPLE.tall), view, name, 0, 0);
    entry.dataset.name = name;
    make("span", "", entry, meaning(view, name));
  }
}

export function draw(view) {
  const { root, frame, sheet, canvas, theme, tree } = view;
  view.wide = root.clientWidth / magnify(view, frame);
  if (!tree || !view.wide) return;
  const began = performance.now();
  probe.font = fontOfToken(theme);
  const known = `${view.wide < 560} ${probe.measureText("mmmWAVEil").width}`;       // other room, or the fonts have come
  if (known !== view.known) { view.widths = known.split(" ")[1] === view.known.split(" ")[1] ? view.widths : {}; settle(view); legend(view); view.known = known; }
  const { spot } = view, empty = !tree.tokens.length;
  const slides = spot.wide > view.wide;
  frame.style.height = `${Math.min(Math.ceil(spot.tall), view.head.height ?? HIGHEST, Math.max(LEAST, leftBelow(root, frame))) + (slides ? 14 : 0)}px`;
  sheet.style.width = `${spot.wide}px`;
  sheet.style.height = `${Math.ceil(spot.tall)}px`;
  if (view.fresh) show(view);
  const w = frame.clientWidth, h = frame.clientHeight, x = frame.scrollLeft, y = frame.scrollTop, lit = view.hover >= 0 ? pathTo(tree, view.hover) : view.restingPath();
  const pen = sharp(canvas, w, h);
  pen.translate(-x, -y);
  root.dataset.shown = paintTree(pen, view, { left: x, top: y, right: x + w, bottom: y + h }, lit);
  paintMarks(pen, view);
  tellPath(view, lit);
  if (empty && !root.dataset.path) view.line.textContent = say("Nothing has been tried yet.");
  Object.assign(root.dataset, { slides, scrolled: `${Math.round(x)},${Math.round(y)}`, drawn: (performance.now() - began).toFixed(2) });
}

/** After an update: as near to the beginning as the node lets it that the reader looks for, or without one the newest. */
function show(view) {
  const { frame, spot, tree, rest, fresh } = view, last = tree.tokens.length - 1;
  view.fresh = "";
  if (last < 0) return;
  if (fresh === "rest") { if (rest >= 0) reveal(view, rest); return; }
  const goal = rest >= 0 ? rest : last, column = spot.columns[tree.steps[goal]];
  frame.scrollLeft = Math.max(0, column.x + column.wide + 24 - frame.clientWidth);
  frame.scrollTop = spot.y[goal] + 40 <= frame.clientHeight ? 0 : spot.y[goal] - frame.clientHeight / 2;
  view.scrolledTo = [frame.scrollLeft, frame.scrollTop];
}

/** The text up to the node that is pointed at, else to where the reader stands, else to the best end. */
function tellPath(view, lit) {
  const { tree, head, root, line } = view, text = spelled(tree, head.root, lit);
  if (root.dataset.path === text && line.childNodes.length) return;
  root.dataset.path = text;
  const most = view.wide < 560 ? 90 : 200, all = [...graphemes.segment(text)].map(({ segment }) => segment);
  const shown = all.length > most ? `\u2026${all.slice(1 - most).join("")}` : text, own = Math.min(shown.length, text.length - head.root.length);
  const [old, added] = [make("span", "quiet"), make("span", "")];
  old.textContent = controlsShown(shown.slice(0, shown.length - own));
  added.textContent = controlsShown(shown.slice(shown.length - own));
  line.replaceChildren(old, added);
}

/** Line breaks as signs, spaces as they are. */
const controlsShown = (text) => (text.trim() ? visible(text) : text);

/** Scroll the frame, never the page, so that the whole node is in sight, and to the left of it what it comes from. */
export function reveal(view, i) {
  const { frame, spot, tree } = view, y = spot.y[i], least = spot.x[i] + Math.max(spot.long[i], 40) + 24 - frame.clientWidth;
  const before = tree.steps[i] ? spot.columns[tree.steps[i] - 1].x - 8 : 0;
  frame.scrollLeft = Math.min(Math.max(frame.scrollLeft, least), Math.max(before, least));
  frame.scrollTop = Math.min(Math.max(frame.scrollTop, y + 34 - frame.clientHeight), Math.max(0, y - 24));
  view.scrolledTo = [frame.scrollLeft, frame.scrollTop];
}
