// The touched token, what it looks at or what looks at it, and the sentence that says so.

import { keepDrawn, make, readTheme, speak, visible } from "../kit/common.js";
import { hear, pointOthers, tellTouched } from "../kit/page/linked.js";
import { readMatrix } from "../kit/page/packets.js";
import { keepAddress, recall, remember } from "../kit/page/url_state.js";
import { saveMenu } from "../kit/save/save.js";
import { choice, hold, shell, status } from "../kit/shell.js";
import { saving } from "./paint.js";
import { legend, showTip, tell } from "./tell.js";
import { fillLines, fillText, fitLines, look, readSide, shade, shadeLines, unitAt, writeShares } from "./text.js";
import { mark, say, spoken } from "../kit/words.js";

const WAYS = { query: mark("What it looks at"), key: mark("What looks at it") };

export function build(root) {
  const view = shell(root, "strip", { held: false, guest: null, identity: "", at: { side: "query", index: 0 }, mode: "text" });
  view.way = choice(view.tools, say("Direction"), spoken(WAYS), (side) => turn(view, side));
  view.form = choice(view.tools, say("Form"), { text: say("Text"), lines: say("A line for each word") }, (mode) => { view.mode = mode; layout(view); keep(view); });
  view.body = make("div", "body", root);
  view.keyName = make("div", "quiet name", view.body);
  view.keyText = make("div", "text-of key", view.body);
  view.queryName = make("div", "quiet name", view.body);
  view.queryText = make("div", "text-of query", view.body);
  view.lines = make("div", "lines", view.body);
  view.sentence = status("p", "sentence", root);
  view.legend = make("div", "legend quiet", root);
  view.tip = make("div", "tip", root);
  view.tip.hidden = true;
  view.named = (tok) => view.sides[sideOf(view, tok)].words[Number(tok.dataset.i)];
  view.drawn = keepDrawn(root, () => { if (view.mode === "lines") fitLines(view); show(view); });
  view.deaf = hear(view, (at) => { view.guest = at; show(view); });
  view.body.onpointerover = (event) => { if (event.pointerType === "mouse") over(view, event.target.closest(".tok")); };
  view.body.onpointerleave = () => { hideTip(view); pointOthers(view, null); };
  view.body.onclick = (event) => { const tok = event.target.closest(".tok"); if (tok) press(view, tok, event.pointerType !== "touch"); };
  view.body.addEventListener("focusin", (event) => { const tok = event.target.closest(".tok"); if (tok?.matches(":focus-visible")) over(view, tok, true); });   // browsers know no onfocusin
  view.body.addEventListener("focusout", () => hideTip(view));
  view.body.onkeydown = (event) => walk(view, event);
  return view;
}

export function accept(view, packet) {
  const head = packet.header;
  view.head = head;
  view.packet = packet;
  view.group = head.group;
  view.matrix = readMatrix(packet);
  view.theme = readTheme(view.root);
  view.root.style.setProperty("--line", view.theme.line);
  view.two = Boolean(head.keys);
  view.sides = { query: readSide(head.queries) };
  view.sides.key = head.keys ? readSide(head.keys) : view.sides.query;
  const identity = JSON.stringify([head.queries, head.keys, head.start, head.mode]), first = !view.identity;
  if (identity !== view.identity) {
    const [side, index] = head.start, turned = view.turned && !view.two;
    view.at = { side: turned ? view.at.side : side, index };
    if (first) { view.mode = head.mode; restore(view, recall(head)); }
    view.held = false;
    view.identity = identity;
    view.filled = "";
  }
  view.title.textContent = head.title;
  for (const box of [view.queryText, view.keyText]) { box.style.maxHeight = head.height ? `${head.height}px` : ""; box.style.overflowY = head.height ? "auto" : ""; }
  layout(view);
  if (head.height && view.mode === "text") reveal(view);
  saveMenu(view, view.tools, saving(view));
  keepAddress(view);
}

/** Scroll the touched token into the middle of a text that is higher than its box. */
function reveal(view) {
  const { side, index } = view.at, tok = (side === "key" ? view.keyToks : view.queryToks)[index], box = tok?.parentElement;
  if (box) box.scrollTop += tok.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
}

/** "lines.k3": the form, which side is touched, which unit. */
function restore(view, text) {
  const found = /^(text|lines)\.([qk])(\d+)$/.exec(text ?? "");
  if (!found) return;
  const side = found[2] === "q" ? "query" : "key", index = Number(found[3]);
  view.mode = found[1];
  if (index < view.sides[side].words.length) { view.at = { side, index }; view.turned = true; }
}

const keep = (view) => {
  remember(view, `${view.mode}.${view.at.side[0]}${view.at.index}`);
  tellTouched(view, view.at);
};

// ---------------------------------------------------------------- drawing

/** Build what the form needs, once for each text and form. */
function layout(view) {
  const { sides, two, head, root } = view;
  const few = sides[view.at.side].words.length <= head.lines && (two ? sides.query.words.length <= head.lines : true);
  if (!few) view.mode = "text";
  const lines = view.mode === "lines", filled = `${view.mode}${lines && two ? view.at.side : ""}`;
  view.form.box.hidden = !few || sides.query.words.length < 2;
  view.way.box.hidden = !sides.query.words.length;
  view.form.set(view.mode);
  root.dataset.form = view.mode;
  view.lines.hidden = !lines;
  view.keyText.hidden = view.keyName.hidden = lines || !two;
  view.queryText.hidden = lines;
  view.queryName.hidden = lines || !two;
  [view.keyName.textContent, view.queryName.textContent] = head.names;
  if (view.filled !== filled) {
    view.filled = filled;
    root.style.setProperty("--hatch", view.theme.hatch);
    if (lines) fillLines(view, view.at.side);
    else {
      view.queryToks = fillText(view.queryText, sides.query, head.names[1] || head.title || say("Text"));
      view.keyToks = two ? fillText(view.keyText, sides.key, head.names[0] || say("Text looked at")) : view.queryToks;
    }
    root.dataset.size = Math.max(sides.query.words.length, sides.key.words.length) > 150 ? "many" : "few";
  }
  root.dataset.layout = two ? "two" : "one";
  if (lines) { shadeLines(view, view.at.side); fitLines(view); }
  show(view);
  legend(view);
}

/** Where the picture stands now: another view's pointer, else what was touched here. */
function current(view) {
  const { guest, at } = view, heard = guest?.[at.side];
  if (heard === undefined || heard === null) return at;
  const index = unitAt(view.sides[at.side], heard);
  return index < 0 ? at : { side: at.side, index };
}

function show(view) {
  const { root, sides, theme } = view, at = current(view), { side, index } = at, other = side === "query" ? "key" : "query";
  root.style.setProperty("--hatch", theme.hatch);
  view.way.set(side);
  root.dataset.direction = side === "query" ? "from" : "to";
  root.dataset.held = String(view.held);
  root.dataset.selected = sides[side].words.length ? sides[side].first[index] : "";
  root.dataset.side = side;
  root.dataset.words = sides[side].words.length;
  if (!sides[side].words.length) { speak(view.sentence, view.head.say.empty, {}); return; }
  const seen = look(view, side, index);
  if (view.mode === "lines") {
    view.rows.forEach((row, r) => row.line.classList.toggle("on", r === index));
    const inside = view.rows[index].toks;
    view.body.querySelectorAll('.tok[tabindex="0"]').forEach((tok) => (tok.tabIndex = -1));
    (inside[view.cursor ?? index] ?? inside[0]).tabIndex = 0;
  } else {
    const toks = other === "key" ? view.keyToks : view.queryToks, own = side === "key" ? view.keyToks : view.queryToks;
    shade(view, toks, seen, view.two ? -1 : index);
    if (view.two) own.forEach((tok, i) => plain(view, tok, i === index));
    writeShares(toks, seen);
    own.forEach((tok, i) => (tok.tabIndex = i === index ? 0 : -1));
    if (view.two) toks.forEach((tok, i) => (tok.tabIndex = i === 0 ? 0 : -1));
    heardMarks(view, toks, other);
  }
  tell(view, at, seen);
}

/** The token that the pointer of another view is at, on the shaded side. */
function heardMarks(view, toks, other) {
  const position = view.guest?.[other], there = position === undefined || position === null ? -1 : unitAt(view.sides[other], position);
  toks.forEach((tok, i) => tok.classList.toggle("heard", i === there));
  view.root.dataset.heard = there >= 0 ? view.sides[other].first[there] : "";
}

/** A token of the text that is not shaded, of two. */
function plain(view, tok, me) {
  tok.style.background = tok.style.color = "";
  tok.classList.remove("shut", "bad", "deep", "heard");
  tok.classList.toggle("me", me);
  tok.share?.remove(); tok.share = null;
  delete tok.dataset.weight;
  tok.setAttribute("aria-selected", String(me));
  tok.setAttribute("aria-label", visible(view.named(tok)));
}

// ---------------------------------------------------------------- touching

/** Whose side a token stands on. */
function sideOf(view, tok) {
  if (view.mode === "lines") return view.two && view.at.side === "key" ? "query" : "key";
  return !view.two ? view.at.side : tok.closest(".text-of").classList.contains("key") ? "key" : "query";
}

/** The pointer or the keyboard is on `tok`: it is touched, or, where another one is held, its share is told. */
function over(view, tok, byKey = false) {
  if (!tok) return;
  view.guest = null;
  const i = Number(tok.dataset.i), line = tok.closest(".line");
  if (line) {
    view.at = { side: view.at.side, index: Number(line.dataset.line) };
    view.cursor = i;
    show(view); showTip(view, tok); tellOthers(view, i);
    return;
  }
  const side = view.two ? sideOf(view, tok) : view.at.side;
  if (!view.held || byKey) {
    if (byKey) view.held = false;
    touch(view, side, i);
  } else if (!view.two || side !== view.at.side) { showTip(view, tok); tellOthers(view, i); }
}

function touch(view, side, index) {
  hideTip(view);
  view.at = { side, index };
  show(view); tellOthers(view); keep(view);
}

function tellOthers(view, there) {
  const { side, index } = view.at, other = side === "query" ? "key" : "query", at = { [side]: view.sides[side].first[index] };
  if (there !== undefined) at[other] = view.sides[other].first[there];
  pointOthers(view, at);
}

/** A click or a tap: touch it; by a mouse or a keyboard also hold it, and let go of the one that is held. */
function press(view, tok, holds) {
  if (tok.closest(".line")) { over(view, tok); keep(view); return; }
  const side = view.two ? sideOf(view, tok) : view.at.side, i = Number(tok.dataset.i);
  const same = view.held && side === view.at.side && i === view.at.index;
  view.held = holds && !same;
  touch(view, side, i);
}

/** From the touched token, or to it. */
function turn(view, side) {
  if (side === view.at.side) return;
  view.turned = true;
  view.at = { side, index: Math.min(view.at.index, view.sides[side].words.length - 1) };
  view.cursor = undefined;
  layout(view); keep(view);
}

function hideTip(view) { view.tip.hidden = true; view.root.dataset.tip = ""; }

function walk(view, event) {
  const tok = event.target.closest(".tok");
  if (!tok) return;
  const line = tok.closest(".line"), box = line ?? tok.parentElement, list = [...box.querySelectorAll(".tok")], i = Number(tok.dataset.i);
  const rtl = (line ? view.lines : box).dir === "rtl", next = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1 }[event.key];
  let goal;
  if (next) goal = list[i + next];
  else if (event.key === "Home") goal = list[0];
  else if (event.key === "End") goal = list.at(-1);
  else if (event.key === "ArrowUp" || event.key === "ArrowDown") goal = beyond(view, tok, event.key === "ArrowDown");
  else if (event.key === "Enter" || event.key === " ") press(view, tok, true);
  else if (event.key === "Escape") { view.held = false; hideTip(view); show(view); }
  else return;
  hold(event);
  if (goal) { goal.focus(); over(view, goal, true); }
}

/** The nearest token of the line of text below or above. */
function beyond(view, tok, down) {
  const here = tok.getBoundingClientRect(), middle = here.left + here.width / 2, step = here.height / 2;
  let best = null, near = Infinity;
  for (const other of view.body.querySelectorAll(".tok")) {
    const box = other.getBoundingClientRect(), dy = down ? box.top - here.top : here.top - box.top;
    if (dy < step || !box.width) continue;
    const far = dy * 1e4 + Math.abs(box.left + box.width / 2 - middle);
    if (far < near) { near = far; best = other; }
  }
  return best;
}
