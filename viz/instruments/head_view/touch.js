// The pointer, the keys and other views.

import { spotOn } from "../kit/common.js";
import { hear, pointOthers, tellTouched } from "../kit/page/linked.js";
import { remember } from "../kit/page/url_state.js";
import { hold } from "../kit/shell.js";
import { onlyHead, report, toggleHead } from "./changes.js";
import { drawLines, drawTouched } from "./paint.js";
import { reveal, SIDES, tokenAt } from "./place.js";
import { settle } from "./tell.js";

const same = (a, b) => a === b || (a && b && a.side === b.side && a.index === b.index);

function hoverAt(view, at) {
  if (same(at, view.hover)) return;
  view.hover = at;
  view.linked = view.mark = null;
  const told = at ?? view.pinned;
  pointOthers(view, told && { [told.side]: told.index });
  settle(view);
}

/** Pins a token, or lets it go when it is pinned already. */
function pin(view, at) {
  view.pinned = at && same(at, view.pinned) ? null : at;
  view.hover = view.linked = view.mark = null;
  pointOthers(view, view.pinned && { [view.pinned.side]: view.pinned.index });
  settle(view);
  remember(view, view.pinned && `${view.pinned.side === "key" ? "s" : ""}${view.pinned.index}`);
  report(view);
  if (view.pinned) tellTouched(view, view.pinned);
}

export function listen(view) {
  const { pane, frame } = view, here = (event) => {
    return tokenAt(view, ...spotOn(pane, event));
  };
  pane.onpointermove = (event) => {
    if (event.pointerType !== "mouse") return;
    const at = here(event);
    pane.style.cursor = at ? "pointer" : "";
    if (at) hoverAt(view, at);
  };
  pane.onpointerleave = () => hoverAt(view, null);
  pane.onclick = (event) => { const at = here(event); if (at || view.pinned) pin(view, at); };
  frame.onkeydown = (event) => stepKey(view, event);
  view.scroller.onscroll = () => { drawLines(view); drawTouched(view); };
  view.deaf = hear(view, (at) => {
    const has = (side) => Number.isInteger(at?.[side]) && at[side] < view.words[side].length;
    view.linked = has("query") ? { side: "query", index: at.query } : has("key") ? { side: "key", index: at.key } : null;
    view.mark = has("query") && has("key") ? { side: "key", index: at.key } : null;
    settle(view);
  });
}

/** Arrows along the text walk, arrows across change the side, Enter pins, Escape lets go, digits switch heads. */
function stepKey(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target !== view.frame || !view.rows || !view.cols) return;
  const at = view.hover ?? view.touched, digit = /^Digit(\d)$/.exec(event.code)?.[1];
  const [before, after, first, second] = view.columns ? ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] : ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  const go = (side, index) => { const to = { side, index: Math.max(0, Math.min(view.words[side].length - 1, index)) }; reveal(view, to); hoverAt(view, to); };
  const step = event.key === after ? 1 : event.key === before ? -1 : 0, turn = !view.columns && at && view.fromRight[at.side] ? -1 : 1;
  if (digit !== undefined && view.names.length > 1 && view.names.includes(Number(digit))) {
    const h = view.names.indexOf(Number(digit));
    if (event.shiftKey) onlyHead(view, h); else toggleHead(view, h);
  } else if (step) { if (at) go(at.side, at.index + step * turn); else go("query", 0); }
  else if (event.key === first || event.key === second) {
    const side = SIDES.find((s) => (view.outward[s] < 0) === (event.key === first)), pos = view.pos[side];
    if (!at) return go(side, 0), hold(event);
    const from = view.pos[at.side][at.index];
    go(side, pos.reduce((best, p, i) => (Math.abs(p - from) < Math.abs(pos[best] - from) ? i : best), 0));
  } else if (event.key === "Home") go(at?.side ?? "query", 0);
  else if (event.key === "End") go(at?.side ?? "query", Infinity);
  else if (event.key === "Enter" || event.key === " ") { if (at) pin(view, at); }
  else if (event.key === "Escape" && (view.hover || view.pinned)) { view.hover = null; pin(view, null); }
  else return;
  hold(event);
}
