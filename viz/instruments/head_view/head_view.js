// Heads of one layer as lines: built once, filled by each packet.

import { keepDrawn, make, readTheme, rgb } from "../kit/common.js";
import { emptied, readOne } from "../kit/page/packets.js";
import { keepAddress } from "../kit/page/url_state.js";
import { drawing, status, walkable } from "../kit/shell.js";
import { redraw } from "./changes.js";
import { buildChips, buildControls } from "./controls.js";
import { chooseLines, LEAST, readHead } from "./data.js";
import { headInk } from "./head_colours.js";
import { SIDES } from "./place.js";
import { offerSaving } from "./save.js";
import { listen } from "./touch.js";
import { say } from "../kit/words.js";

export function build(root) {
  root.classList.add("lines");
  const view = {
    root, zoom: 1, hover: null, linked: null, pinned: null, mark: null, touched: null, on: new Set(), identity: "", open: false,
    options: { from: LEAST, top: 0, hideFirst: false, hideSpecial: false, pairs: new Set([0, 1, 2, 3]), layout: null },
  };
  buildControls(view);
  view.frame = walkable("frame", root);
  view.scroller = make("div", "scroller", view.frame);
  view.sheet = make("div", "sheet", view.scroller);
  view.pane = make("div", "pane", view.sheet);
  for (const name of ["base", "over"]) view[name] = drawing(view.pane, name);
  view.scroller.tabIndex = -1;
  view.sentence = status("p", "sentence", root);
  view.sentence.setAttribute("aria-live", "polite");
  view.note = make("div", "quiet note", root);
  view.drawn = keepDrawn(root, () => redraw(view));
  listen(view);
  return view;
}

export function accept(view, packet) {
  const head = packet.header, keys = head.keys ?? head.queries, rows = head.queries.length, cols = keys.length;
  Object.assign(view, { head, rows, cols, names: head.heads, words: { query: head.queries, key: keys }, segments: head.segments, measured: "" });
  view.heads = head.heads.map((_, h) => readHead(readOne(packet, head.at?.[h], `h${h}.`)));
  view.theme = readTheme(view.root);
  view.theme.ink = rgb(view.theme.text);          // asked for at each label: reading a colour back is slow
  view.theme.paper = rgb(view.theme.background);
  view.single = head.heads.length === 1;
  view.inks = head.inks.map((number) => headInk(view.theme, view.single ? -1 : number));
  const [queries, looked] = head.special;
  view.special = { query: head.queries.map((_, i) => Number(queries.includes(i))), key: keys.map((_, i) => Number(looked.includes(i))) };
  choose(view, head, keys);
  view.heading.textContent = head.title;
  view.root.dataset.at = (head.at ?? []).join(" ");
  view.frame.setAttribute("aria-label", say("{title}: {rows} {query} words, {cols} {key} words. Arrow keys walk over the words, Enter keeps one, digits switch heads.", { title: head.title || say("Lines of attention"), rows, query: head.axis[0], cols, key: head.axis[1] }));
  chooseLines(view);
  redraw(view);
  offerSaving(view, packet);
  keepAddress(view);
}

/** The header of another head: itself alone, or all heads of its layer where all of a layer are shown. */
export function turned(view, head, { at: [layer, number] }) {
  const whole = head.heads.length > 1;
  return { ...emptied(head), at: whole ? head.at.map(([, h]) => [layer, h]) : [[layer, number]], ...(!whole && { heads: [number], inks: [number] }) };
}

/** What the visitor chose stays while it fits: the pinned token until the words or the page's choice change, heads until others come. */
function choose(view, head, keys) {
  const names = JSON.stringify(head.heads), identity = JSON.stringify([head.queries, keys, head.selected]);
  const words = JSON.stringify([head.queries, keys]);
  if (head.now && !view.identity) Object.assign(view.options, head.now.options, { pairs: new Set(head.now.options.pairs) });
  if (names !== view.namesKey) { view.namesKey = names; view.on = new Set(head.now?.on ?? head.heads.keys()); buildChips(view); }
  if (words !== view.wordsKey) { view.wordsKey = words; view.zoom = 1; view.scrolled = false; view.hover = view.linked = view.mark = null; }
  const own = head.tell && view.sent && head.echo !== view.sent;   // the answer to an older click
  if (identity !== view.identity && !own) {
    view.identity = identity;
    view.pinned = head.selected && { side: SIDES[head.selected[0]], index: head.selected[1] };
    view.shownPinned = false;
    view.kept = undefined;
  }
}
