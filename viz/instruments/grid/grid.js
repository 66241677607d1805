// Every head as one tile of one canvas; touching names and enlarges it, clicking opens it.

import { eventId, inkOn, keepDrawn, make, percent, ramp, readTheme, rgb, sharp, speak, swatch, visible } from "../kit/common.js";
import { pointOthers, TURN } from "../kit/page/linked.js";
import { part, readRuns } from "../kit/page/packets.js";
import { keepAddress, recall, remember } from "../kit/page/url_state.js";
import { saveMenu } from "../kit/save/save.js";
import { hold, offer, shell, status, walkable } from "../kit/shell.js";
import { drawBase, drawOver, kindColour, number, paintTile, shutTile, thumbnails } from "./paint.js";
import { beyond, choices, chosenAt, letters, measured, place, readTiles, tileAt } from "./place.js";
import { saving } from "./save.js";
import { say } from "../kit/words.js";

const PREVIEW = 160;

export function build(root) {
  const view = shell(root, "heads", { hover: null, chosen: null, order: "", colour: "none" });
  view.menus = { order: menu(view, say("Order"), (value) => { view.order = value; }), colour: menu(view, say("Colour"), (value) => { view.colour = value; }) };
  view.frame = walkable("frame", root);
  view.scroller = make("div", "scroller", view.frame);
  view.sheet = make("div", "sheet", view.scroller);
  view.base = make("canvas", "", view.sheet);
  view.over = make("canvas", "", view.sheet);
  view.tip = make("div", "tip", view.frame);
  view.large = make("canvas", "", view.tip);
  view.words = status("div", "", view.tip);
  view.tip.hidden = true;
  view.legend = make("div", "legend quiet", root);
  view.kinds = make("div", "legend quiet kinds", root);
  view.drawn = keepDrawn(root, () => draw(view));
  view.scroller.onscroll = () => { if (!view.walked) point(view, -1); drawOver(view); };
  view.frame.onpointermove = (event) => { if (event.pointerType === "mouse") { view.walked = false; point(view, tileAt(view, event)); } };
  view.frame.onpointerleave = () => point(view, -1);
  view.frame.onclick = (event) => { const at = tileAt(view, event); if (at >= 0) choose(view, at); };
  view.frame.onkeydown = (event) => steer(view, event);
  view.frame.onblur = () => point(view, -1);
  return view;
}

function menu(view, name, act) {
  const label = make("label", "menu", view.tools);
  make("span", "quiet", label, name);
  const select = make("select", "", label);
  select.setAttribute("aria-label", name);
  select.onchange = () => {
    act(select.value);
    point(view, -1);
    draw(view); legend(view); remember(view, `${view.order}.${view.colour}`);
  };
  return { label, select };
}

export function accept(view, packet) {
  const head = packet.header, [layers, heads] = head.size, first = !view.head, paged = Boolean(head.order);
  Object.assign(view, { head, packet, theme: readTheme(view.root), all: readTiles(view, packet), letters: letters(head.kinds) });
  view.ranges = head.measures.map((_, m) => range(view.all.map((tile) => tile.numbers[m])));
  if (!view.sent || head.echo === view.sent) view.chosen = head.selected;
  if (first || paged !== view.paged) view.order = paged ? "page" : "layers";   // the page changed its mind
  Object.assign(view, { paged, wide: null });
  const offered = choices(head);
  if (first) [view.order, view.colour] = restored(view, recall(head) ?? head.arranged, offered);
  for (const name of ["order", "colour"]) fillMenu(view, name, offered[name]);
  view.title.textContent = head.title;
  const runs = part(packet, "allowed");
  view.allowed = runs && readRuns(runs, head.shape[0] * head.shape[1]);
  view.atlas = thumbnails(view, part(packet, "thumbs"), layers * heads);
  view.frame.setAttribute("aria-label", say("{title}: {layers} layers of {heads} heads. Arrow keys walk over the heads, Enter opens one.", { title: head.title || say("Heads"), layers, heads }));
  view.root.style.setProperty("--hatch", view.theme.hatch);
  view.root.dataset.heads = view.all.length;
  mark(view); draw(view); legend(view);
  saveMenu(view, view.tools, saving(view));
  keepAddress(view);
}

/** The choices of the menus; what is no longer offered falls back to the first. */
function fillMenu(view, name, entries) {
  const { label, select } = view.menus[name];
  if (!entries.some(([value]) => value === view[name])) view[name] = entries[0][0];
  label.hidden = entries.length < 2;
  offer(select, entries);
  select.value = view[name];
}

function restored(view, text, offered) {
  const [order, colour] = String(text ?? "").split("."), known = (name, value) => offered[name].some(([one]) => one === value);
  return [known("order", order) ? order : view.order, known("colour", colour) ? colour : view.colour];
}

/** From 0 to 1 where all values lie there, else from the smallest to the largest. */
function range(values) {
  const finite = values.filter(Number.isFinite);
  if (finite.every((v) => v >= 0 && v <= 1)) return [0, 1];
  return [Math.min(...finite), Math.max(...finite)];
}

function draw(view) { place(view); drawBase(view); drawOver(view); }

function legend(view) {
  const { legend: box, kinds, head, theme } = view, m = measured(view.colour);
  box.replaceChildren(); kinds.replaceChildren();
  ramp(box, theme.sequential, "0", "1");
  if (view.allowed?.includes(0)) swatch(box, "shut", say("masked"));
  make("span", "entry", box, say("rows: queries, columns: keys"));
  if (Math.max(...head.tokens) > 32) make("span", "entry", box, say("each point is the largest weight of its block"));
  if (view.levels.includes(255)) swatch(box, "broken", say("not a finite number"));
  if (view.colour === "kind") head.kinds.forEach((name, kind) => {
    const entry = make("span", "entry", kinds), sign = make("span", "badge", entry), colour = kindColour(view, kind);
    sign.textContent = view.letters[kind];
    sign.style.background = colour; sign.style.color = inkOn(rgb(colour), theme);
    make("span", "", entry).textContent = `${visible(name)} (${view.all.filter((tile) => tile.kind === kind).length})`;
  });
  if (m >= 0) {
    make("span", "entry", kinds).textContent = `${visible(head.measures[m])}:`;
    ramp(kinds, theme.sequential, number(view.ranges[m][0]), number(view.ranges[m][1]));
    make("span", "entry", kinds, say("frame and bar of each head"));
  }
  kinds.hidden = !kinds.childElementCount;
}

// ---------------------------------------------------------------- touching

function mark(view) { view.root.dataset.head = view.chosen ? view.chosen.join(",") : ""; }

function point(view, i) {
  if (i === view.hover) return;
  view.hover = i;
  const tile = view.tiles?.[i];
  view.root.dataset.hover = tile ? tile.name : "";
  view.tip.hidden = !tile;
  drawOver(view);
  view.frame.style.cursor = tile ? "pointer" : "default";
  if (!tile) return;
  const kind = tile.kind >= 0 ? view.head.kinds[tile.kind] : "", shown = [...new Set([measured(view.order), measured(view.colour)])].filter((m) => m >= 0);
  const parts = { name: tile.name, kind: { word: kind }, score: kind && tile.score !== null ? ` ${percent(tile.score)}` : "" };
  shown.forEach((m) => { parts[`m${m}`] = { word: view.head.measures[m] }; parts[`v${m}`] = number(tile.numbers[m]); });
  speak(view.words, `{name}${kind ? ", {kind}" : ""}{score}${shown.map((m) => `, {m${m}} {v${m}}`).join("")}`, parts);
  preview(view, tile);
  beside(view, i);
}

/** The head as large as it can be read, from the thumbnail that is here. */
function preview(view, tile) {
  const pen = sharp(view.large, PREVIEW, PREVIEW);
  paintTile(pen, view, tile, 0, 0, PREVIEW, (view.wide ??= shutTile(view, PREVIEW)));
  view.root.dataset.preview = `${tile.name} ${PREVIEW}`;
}

/** Near the tile and never on it: right of it, left, below, above. */
function beside(view, i) {
  const [left, top] = view.spots[i], x = left - view.scroller.scrollLeft, { side, tip } = view, w = tip.offsetWidth, h = tip.offsetHeight, room = view.root.clientWidth / view.times;
  const level = Math.max(-6, top + side / 2 - h / 2), middle = Math.max(0, Math.min(room - w, x + side / 2 - w / 2));
  const at = x + side + 10 + w <= room ? [x + side + 10, level] : x - 10 - w >= 0 ? [x - 10 - w, level] : [middle, top + side + view.meter + 10];
  tip.style.left = `${at[0]}px`;
  tip.style.top = `${at[1]}px`;
}

function steer(view, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key], line = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.target !== view.frame || !view.tiles?.length) return;
  const here = view.hover >= 0 && view.hover !== null, at = here ? view.hover : Math.max(0, chosenAt(view));
  if (step || line) {
    const to = !here && Number.isFinite(step ?? line) ? at : step === -Infinity ? 0 : step === Infinity ? view.tiles.length - 1 : line ? beyond(view, at, line) : at + step;
    if (to >= 0 && to < view.tiles.length) { view.walked = true; reveal(view, to); point(view, to); }
  } else if (event.key === "Enter" || event.key === " ") { if (here) choose(view, view.hover); }
  else if (event.key === "Escape") point(view, -1);
  else return;
  hold(event);
}

/** Slide the tiles so that this one is in sight. */
function reveal(view, i) {
  const { scroller } = view, [x] = view.spots[i];
  if (!view.slides) return;
  scroller.scrollLeft = Math.max(Math.min(scroller.scrollLeft, x - view.left - 6), x + view.side + 6 - scroller.clientWidth);
}

function choose(view, i) {
  const { layer, head } = view.tiles[i];
  view.chosen = [layer, head];
  view.sent = eventId();
  mark(view); drawOver(view);
  const tile = view.tiles[i];
  pointOthers(view, { at: view.chosen, name: tile.kind >= 0 ? `${tile.name}, ${view.head.kinds[tile.kind]}` : tile.name, id: view.sent }, TURN);
  view.component.setStateValue("head", { at: view.chosen, id: view.sent });
}
