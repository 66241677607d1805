// The tree of everything tried: drawn on a canvas as large as the frame, whatever the size of the tree.

import { keepDrawn, make, readTheme, spotOn } from "../kit/common.js";
import { keepAddress } from "../kit/page/url_state.js";
import { saveMenu } from "../kit/save/save.js";
import { button, shell, status, walkable } from "../kit/shell.js";
import { draw } from "./draw.js";
import { inksOf } from "./paint.js";
import { nodeAt, pathTo, readTree } from "./place.js";
import { savedTree } from "./save.js";
import { arm, chooseNode, inSight, pointAt, startAt, steerTree, walkTo } from "./touch.js";
import { say } from "../kit/words.js";

export function build(root) {
  const view = shell(root, "tree", { hover: -1, how: "mouse", chosen: null, widths: {}, known: "", shape: "" });
  view.compare = button(view.tools, "save-open compare", "", () => arm(view, !view.armed));
  view.stage = make("div", "stage", root);
  view.frame = walkable("frame", view.stage);
  view.sheet = make("div", "sheet", view.frame);
  view.canvas = make("canvas", "", view.sheet);
  view.tip = make("div", "tip", view.stage);
  view.tip.setAttribute("aria-hidden", "true");       // the status below says the same
  view.tipHead = make("div", "", view.tip);
  view.reason = make("div", "reason", view.tip);
  view.more = make("div", "more", view.tip);
  view.tip.hidden = true;
  view.line = make("p", "line", root);
  view.line.dir = "auto";
  view.said = status("div", "sr", root);
  view.said.setAttribute("aria-live", "polite");
  view.legend = make("div", "legend quiet", root);
  view.state = (i) => view.head.states[view.tree.kinds[i]];
  view.restingPath = () => (view.rest < 0 ? [] : pathTo(view.tree, view.rest));
  view.drawn = keepDrawn(root, () => draw(view));
  listen(view);
  return view;
}

function listen(view) {
  const { frame } = view;
  const under = (event) => {
    const [x, y] = spotOn(frame, event);
    return view.spot && x < frame.clientWidth && y < frame.clientHeight ? nodeAt(view, x + frame.scrollLeft, y + frame.scrollTop) : -1;
  };
  frame.onpointermove = (event) => { if (event.pointerType === "mouse") pointAt(view, under(event)); };
  frame.onpointerleave = (event) => { if (event.pointerType === "mouse") pointAt(view, -1); };
  frame.onclick = (event) => {
    const i = under(event), touch = event.pointerType === "touch";
    if (i >= 0 && (!touch || i === view.hover)) chooseNode(view, i, view.armed || event.shiftKey);     // a finger reads first, and chooses with the second tap
    else if (touch) pointAt(view, i, "touch");
  };
  frame.onscroll = () => {
    const [x, y] = view.scrolledTo ?? [-1, -1];
    if (frame.scrollLeft === x && frame.scrollTop === y) { view.drawn.ask(); return; }
    pointAt(view, -1);          // what was under the pointer has gone
    view.drawn.ask();
  };
  frame.onfocus = () => { if (frame.matches(":focus-visible") && view.tree?.tokens.length && view.hover < 0) walkTo(view, startAt(view)); };
  frame.onblur = () => pointAt(view, -1);
  frame.onkeydown = (event) => steerTree(view, event);
}

export function accept(view, packet) {
  const head = packet.header, { root } = view, shape = `${head.parents}.${head.words}.${head.root}`, grown = shape !== view.shape;
  const stayed = !grown || view.how === "key";        // the keyboard stands on a node, the pointer on a place
  Object.assign(view, { head, packet, shape, theme: readTheme(root), tree: readTree(packet), known: "" });
  view.inks = inksOf(view.theme);
  const { tree } = view, count = tree.tokens.length, states = tree.tokens.map((_, i) => view.state(i)), before = view.rest;
  view.counts = Object.fromEntries(head.states.map((name) => [name, states.filter((state) => state === name).length]));
  view.now = states.indexOf("now");
  view.rest = view.now >= 0 ? view.now : states.lastIndexOf("best");
  if (!view.sent || head.echo === view.sent) view.chosen = head.selected;
  if (view.chosen >= count) view.chosen = null;
  view.fresh = grown ? "newest" : view.rest !== before ? "rest" : "";
  view.title.textContent = head.title;
  view.compare.hidden = !head.compares;
  arm(view, Boolean(head.compares && view.armed));
  root.style.setProperty("--accent", view.inks.accent);
  Object.assign(root.dataset, {
    nodes: count, now: view.now < 0 ? "" : view.now, chosen: view.chosen ?? "",
    marks: head.marks.map(([i, letter]) => `${letter}:${i}`).join(" "),
    states: head.states.filter((name) => view.counts[name]).map((name) => `${name}:${view.counts[name]}`).join(" "),
  });
  view.frame.setAttribute("aria-label", say("{title}: {n} nodes in columns, one a step. Left is the parent, right the first child, up and down the neighbours, Home the first, End the newest, Enter chooses.", { title: head.title || say("Tree"), n: count }) + (head.compares ? say(" B or Shift and Enter chooses the one to compare with.") : ""));
  stay(view, stayed && view.hover < count ? view.hover : -1);
  saveMenu(view, view.tools, savedTree(view));
  keepAddress(view);
}

/** Point again at `i` after an update if it is still in sight: its path and its reason may have changed. */
function stay(view, i) {
  const { how } = view;
  Object.assign(view, { hover: -1, how: "none" });
  draw(view);
  pointAt(view, i >= 0 && view.spot && inSight(view, i) ? i : -1, how);
}
