// The tree as a file: the whole of it, also what the frame hides, with its legend; and its nodes as a table.

import { meaning, meanings, paintSample, paintTree, SAMPLE } from "./paint.js";
import { widthIn } from "./place.js";
import { say } from "../kit/words.js";

const PAPER = 7600;      // pixels that a saved picture is wide or high at most: browsers hold no larger canvas at twice the size

/** The contents of the menu "Save" (see save.js). */
export function savedTree(view) {
  return {
    name: view.head.title || say("Tree"),
    size: () => { const sheet = savedSheet(view); return [sheet.wide * sheet.scale, sheet.tall * sheet.scale]; },
    paint: (pen) => paintSavedTree(pen, view),
    header: () => ({ selected: view.chosen, echo: null, url: null, compares: false }),
    rows: () => savedNodes(view), arrays: () => nodeArrays(view),
  };
}

function savedSheet(view) {
  const entries = meanings(view).map((name) => [name, SAMPLE.wide + 8 + widthIn(view, `13px ${view.theme.font}`, meaning(view, name))]);
  const wide = Math.max(view.spot.wide, entries.reduce((sum, [, long]) => sum + long + 18, 0), 240), tall = view.spot.tall + (entries.length ? 34 : 0);
  return { entries, wide, tall, scale: Math.min(1, PAPER / wide, PAPER / tall) };
}

function paintSavedTree(pen, view) {
  const { theme, spot, inks } = view, { entries, scale } = savedSheet(view);
  pen.save();
  pen.scale(scale, scale);
  paintTree(pen, view, { left: 0, top: 0, right: spot.wide, bottom: spot.tall }, view.restingPath());
  entries.reduce((x, [name, long]) => {
    paintSample(pen, view, name, x, spot.tall + 8);
    Object.assign(pen, { font: `13px ${theme.font}`, fillStyle: inks.quiet, textAlign: "left", textBaseline: "middle" });
    pen.fillText(meaning(view, name), x + SAMPLE.wide + 8, spot.tall + 8 + SAMPLE.tall / 2);
    return x + long + 18;
  }, 0);
  pen.restore();
}

function savedNodes({ tree, state }) {
  const rows = tree.tokens.map((token, i) => [i, tree.parents[i], tree.steps[i], token, state(i), tree.chances[i] === -1 ? "" : tree.chances[i], tree.scores[i], tree.says[i]]);
  return [["node", "parent", "step", "token", "state", "p", "score", "says"], ...rows];
}

function nodeArrays({ tree, state }) {
  const each = (values) => ({ shape: [tree.tokens.length], values, axes: ["node"] });
  return {
    parent: each(tree.parents), step: each(tree.steps), token: each(tree.tokens), state: each(tree.tokens.map((_, i) => state(i))),
    p: each([...tree.chances].map((p) => (p === -1 ? NaN : p))), score: each([...tree.scores]), says: each(tree.says),
  };
}
