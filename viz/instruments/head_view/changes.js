// What a visitor changes: which heads are on, what is hidden, the layout; and all that is drawn anew after it.

import { eventId } from "../kit/common.js";
import { showControls } from "./account.js";
import { chooseLines } from "./data.js";
import { drawLines, shiftHeads } from "./paint.js";
import { placeTokens, portOf, reveal, SIDES } from "./place.js";
import { settle } from "./tell.js";

export function setHeads(view, heads) {
  view.on = new Set(heads);
  rechoose(view);
  report(view);
}

export function toggleHead(view, h) {
  const on = new Set(view.on);
  if (!on.delete(h)) on.add(h);
  setHeads(view, [...on]);
}

export const onlyHead = (view, h) => setHeads(view, [h]);

export function flip(view, option) {
  view.options[option] = !view.options[option];
  rechoose(view);
}

export function relayout(view, layout) {
  view.options.layout = layout;
  view.zoom = 1;
  redraw(view);
}

export function rescale(view, factor) {
  const middle = (portOf(view) + view.seen / 2) / view.length;
  view.zoom *= factor;
  placeTokens(view);
  const to = middle * view.length - view.seen / 2;
  if (view.columns) view.scroller.scrollTop = to; else view.scroller.scrollLeft = to;
  redraw(view);
}

/** Other lines, the same places. */
export function rechoose(view) {
  chooseLines(view);
  redraw(view);
}

/** Places, controls, lines and labels, from what the view holds. */
export function redraw(view) {
  placeTokens(view);
  showControls(view);
  if (view.pinned && !view.shownPinned && view.pos) { view.shownPinned = true; reveal(view, view.pinned); }
  if (view.pos) shiftHeads(view);
  drawLines(view);
  settle(view);
}

/** To Python only when the page asked for it, and only what was chosen, never what is hovered. */
export function report(view) {
  if (!view.head.tell) return;
  view.sent = eventId();
  const at = view.pinned ? [SIDES.indexOf(view.pinned.side), view.pinned.index] : [];
  view.component.setStateValue("touched", { at, heads: [...view.on].sort((a, b) => a - b), names: view.names, id: view.sent });
}
