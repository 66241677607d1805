// One quiet button "Save": the picture, the page, the table, the numbers, the lines of Python. Nothing leaves the page.
//
// saveMenu(view, where, spec), spec = { name, size, paint, arrays, rows, code, packet, header }:
//   name     the title of the picture, also in the file's name; left out: what the header says
//   at       which layer and heads are shown, where it is not what the header says: [] for no single ones (optional)
//   bar      what stands above the picture on the screen and is not saved, since its title is written there (optional)
//   size     () => [width, height] of the picture in CSS pixels; without size and paint: all that stands below the bar
//   paint    (pen) => void: draws the picture as it is now, without hover, on a 2D context or an SvgPen
//            (`pen.vector`); it may translate, rotate, save and restore, never set the transform
//   arrays   () => {weights: {shape, values, axes, bool}, ...} for NPZ (matrixArrays makes the usual ones); left out: nothing to count with
//   rows     () => [["query", "key", "weight"], [...], ...] for CSV (matrixRows); a column is of numbers or of words, "" is no number
//   code     lines of Python that make the picture again; "" leaves the entry out; left out: those of the header
//   packet   what `mount` got: whose numbers they are, and a page that stands alone; left out: view.packet
//   changed  () => the packet as it is now, where a visitor changed it (optional)
//   header   () => changes of its header, so that the page opens as the picture is now (optional)

import { make, readTheme } from "../common.js";
import { exactly } from "../page/begin.js";
import { PAGE } from "../page/given.js";
import { codeOf, part, single } from "../page/packets.js";
import { button, group, hold, status } from "../shell.js";
import { COPIES, hasAddress, latexArchive, latexFigure } from "./copies.js";
import { paintElement } from "./dom_pen.js";
import { csv, npz } from "./npz.js";
import { fileName, headerOf, named, sheet, withNames } from "./origin.js";
import { SvgPen } from "./svg_pen.js";
import { mark, say } from "../words.js";

const MARGIN = 16;       // paper around a saved picture
const MENU = [
  ["png", "PNG", mark("picture")], ["svg", "SVG", mark("vector graphic")], ["html", "HTML", mark("works offline")],
  ["csv", "CSV", mark("table")], ["npz", "NPZ", mark("for NumPy")], ["zip", "LaTeX", mark("figure with BibTeX")], ["py", "Python", mark("script that draws it")], ["copy", mark("Copy"), mark("the Python code")],
];
const NUMBERS = ["html", "csv", "npz"];      // kinds of files that hold every number as it is

export function saveMenu(view, where, spec) {
  const menu = (view.saving ??= buildMenu(view));
  menu.spec = spec = { packet: view.packet, code: view.head && codeOf(view.head), ...(!spec.paint && asItStands(view)), ...spec };
  const offered = { npz: spec.arrays, py: spec.code, copy: spec.code && navigator.clipboard };
  for (const [kind, has] of Object.entries(offered)) menu.items.get(kind).hidden = !has;
  if (menu.box.parentNode !== where) where.append(menu.box);
}

/** A picture of all that stands in the page below the bar. */
const asItStands = ({ root, bar, theme }) => ({ bar, size: () => [root.clientWidth, root.scrollHeight], paint: (pen) => paintElement(pen, root, root, theme) });

let menus = 0;

function buildMenu(view) {
  const box = make("div", "save"), id = `atlas-save-${(menus += 1)}`;
  const menu = { box, view, items: new Map(), spec: null, open: false };
  menu.button = button(box, "save-open", say("Save"));
  for (const [name, value] of [["aria-haspopup", "menu"], ["aria-expanded", "false"], ["aria-controls", id]]) menu.button.setAttribute(name, value);
  menu.list = make("div", "save-list", box);
  menu.list.id = id;
  menu.list.hidden = true;
  menu.list.setAttribute("role", "menu");
  menu.list.setAttribute("aria-label", say("Save as"));
  if (menu.list.showPopover) menu.list.popover = "manual";      // above everything, cut off by nothing
  menu.said = status("span", "sr", box);
  for (const [kind, label, hint] of MENU) {
    const item = button(menu.list, "save-item", "", () => { shut(menu, true); saveAs(menu, kind); });
    item.tabIndex = -1;
    item.dataset.kind = kind;
    item.setAttribute("role", "menuitem");
    make("span", "", item, say(label));
    make("span", "save-hint", item, say(hint));
    menu.items.set(kind, item);
  }
  menu.copies = group("save-copies", menu.list, say("Copy as"));
  menu.copies.hidden = true;
  make("span", "save-hint", menu.copies, say("Copy as")).setAttribute("aria-hidden", "true");
  for (const [kind, [label]] of Object.entries(COPIES)) {
    const item = button(menu.copies, "save-item", say(label), () => { shut(menu, true); saveAs(menu, kind); });
    item.tabIndex = -1;
    item.dataset.kind = kind;
    item.setAttribute("role", "menuitem");
    menu.items.set(kind, item);
  }
  menu.button.onclick = () => (menu.open ? shut(menu, true) : unfold(menu));
  menu.button.onkeydown = (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    hold(event);
    unfold(menu, event.key === "ArrowUp" ? -1 : 0);
  };
  menu.list.onkeydown = (event) => steerMenu(menu, event);
  menu.list.addEventListener("focusout", (event) => { if (menu.open && event.relatedTarget && !box.contains(event.relatedTarget)) shut(menu); });
  const { attentionAtlas: alone } = globalThis;
  if (alone?.tell) {   // for figure.py
    alone.fileOf = async (kind, ratio) => base64(new Uint8Array(await (await makeFile(view, menu.spec, kind, ratio)).arrayBuffer()));
    alone.figureText = (name) => Object.values(latexFigure(menu.spec, name, "includegraphics"));
  }
  menu.away = (event) => { if (!event.composedPath().includes(box)) shut(menu); };
  menu.moved = (event) => { if (!event.target.closest?.(".save-list")) shut(menu); };
  return menu;
}

const shownItems = (menu) => [...menu.items.values()].filter((item) => !item.hidden && !item.parentNode.hidden);

function unfold(menu, at = 0) {
  const { button, list } = menu;
  menu.open = true;
  menu.copies.hidden = !(hasAddress() && navigator.clipboard);
  button.setAttribute("aria-expanded", "true");
  list.hidden = false;
  list.showPopover?.();
  const from = button.getBoundingClientRect(), w = list.offsetWidth, h = list.offsetHeight;
  const wide = document.documentElement.clientWidth, tall = innerHeight;
  const below = from.bottom + 4 + h <= tall - 8 || from.top < tall - from.bottom;
  list.style.maxHeight = `${Math.max(120, tall - 16)}px`;
  list.style.left = `${Math.max(8, Math.min(from.right - w, wide - w - 8))}px`;
  list.style.top = `${Math.max(8, Math.min(below ? from.bottom + 4 : from.top - h - 4, tall - h - 8))}px`;
  document.addEventListener("pointerdown", menu.away, true);
  document.addEventListener("scroll", menu.moved, true);
  addEventListener("resize", menu.moved);
  shownItems(menu).at(at)?.focus({ preventScroll: true });
}

function shut(menu, back = false) {
  if (!menu.open) return;
  menu.open = false;
  menu.button.setAttribute("aria-expanded", "false");
  document.removeEventListener("pointerdown", menu.away, true);
  document.removeEventListener("scroll", menu.moved, true);
  removeEventListener("resize", menu.moved);
  menu.list.hidePopover?.();
  menu.list.hidden = true;
  if (back) menu.button.focus({ preventScroll: true });
}

function steerMenu(menu, event) {
  const items = shownItems(menu), at = items.indexOf(event.target.closest("[role=menuitem]")), { key } = event;
  if (key === "Tab") return shut(menu, true);           // Tab then leaves from the button
  if (key === "Escape") { hold(event); return shut(menu, true); }
  const letter = key.length === 1 && items.findIndex((item, i) => i > at && item.textContent.toLowerCase().startsWith(key.toLowerCase()));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[key] ?? (letter >= 0 ? letter : null);
  if (key.startsWith("Arrow") || to !== null && to !== false) hold(event);
  if (to !== null && to !== false) items.at(to % items.length)?.focus({ preventScroll: true });
}

// ---------------------------------------------------------------- files

/** Make one file and hand it to the browser; what was saved stands in root.dataset.saved. */
async function saveAs(menu, kind) {
  const { view, said, button } = menu, tell = (words, aloud = words) => {
    said.textContent = aloud;
    button.textContent = button.dataset.said = words;
    clearTimeout(menu.told);          // of the file before: what is said now stands as long
    menu.told = setTimeout(() => { button.textContent = say("Save"); delete button.dataset.said; said.textContent = ""; }, 1800);
  };
  try {
    if (kind === "copy" || kind in COPIES) {
      await navigator.clipboard.writeText(kind === "copy" ? menu.spec.code : COPIES[kind][1](menu.spec));
      view.root.dataset.saved = "clipboard";
      return tell(say("Copied"));
    }
    if (NUMBERS.includes(kind)) await exactly(view);
    const { spec } = menu, name = `${fileName(headerOf(spec), spec)}.${kind}`;     // of the picture that stands there now
    download(await makeFile(view, spec, kind), name);
    view.root.dataset.saved = name;
    tell(say("Saved"), say("Saved {name}", { name }));
  } catch (error) {
    tell(kind === "copy" || kind in COPIES ? say("Could not copy") : say("Could not save"));
    view.root.dataset.saved = "";
    console.error(`The file (${kind}) could not be made: ${error.message}. Try a smaller picture, or another kind of file.`);
  }
}

function makeFile(view, spec, kind, ratio) {
  const text = (words, type) => new Blob([words].flat(), { type: `${type};charset=utf-8` });
  if (kind === "png") return withNames(view, headerOf(spec), () => paintPng(view, spec, ratio));
  if (kind === "svg") return text(withNames(view, headerOf(spec), () => paintSvg(view, spec)), "image/svg+xml");
  if (kind === "html") return text(standAlone(spec), "text/html");
  if (kind === "csv") return text(csv(spec.rows()), "text/csv");
  if (kind === "zip") return latexArchive(spec, withNames(view, headerOf(spec), () => paintSvg(view, spec)));
  if (kind === "npz") return npz({ ...named(headerOf(spec), spec), ...spec.arrays() });
  return text(`${spec.code.trimEnd()}\n`, "text/x-python");
}

function download(blob, name) {
  const link = make("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 30000);
}

/** The picture on paper, twice as fine as the screen or as fine as a fine screen. */
function paintPng(view, spec, ratio = Math.max(2, globalThis.devicePixelRatio || 1)) {
  const { size: [w, h], paint } = sheet(view, spec), theme = readTheme(view.root), canvas = document.createElement("canvas");
  canvas.width = Math.ceil((w + 2 * MARGIN) * ratio);
  canvas.height = Math.ceil((h + 2 * MARGIN) * ratio);
  const pen = canvas.getContext("2d");
  pen.fillStyle = theme.background;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.scale(ratio, ratio);
  pen.translate(MARGIN, MARGIN);
  paint(pen);
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the browser has no room for the picture"))), "image/png"));
}

function paintSvg(view, spec) {
  const { size: [w, h], paint, title } = sheet(view, spec), { background } = readTheme(view.root);
  const pen = new SvgPen(w, h, { background, margin: MARGIN, title });
  paint(pen);
  return pen.toString();
}

// ---------------------------------------------------------------- a page that stands alone

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

/** The same packet as the server would send it: length of the header, the whole header, all parts but the code. */
function packed({ header, parts }, changes) {
  const places = {}, bodies = [];
  let at = 0;
  for (const [id, bytes] of parts) {
    if (id === header.code || id === header.kit) continue;
    places[id] = [at, bytes.length];
    bodies.push(bytes);
    at += bytes.length;
  }
  const head = new TextEncoder().encode(JSON.stringify({ ...header, ...changes, needs: Object.keys(places), parts: places }));
  const out = new Uint8Array(4 + head.length + at);
  new DataView(out.buffer).setUint32(0, head.length, true);
  out.set(head, 4);
  bodies.reduce((from, bytes) => { out.set(bytes, from); return from + bytes.length; }, 4 + head.length);
  return out;
}

/** The page of viz/instruments/kit/page/alone.html with the code and, in base64, what is drawn: no word of it can become markup. */
function standAlone(spec) {
  const packet = single(spec.changed?.() ?? spec.packet);
  const [kit, code] = ["kit", "code"].map((name) => new TextDecoder().decode(part(packet, name)));
  const filled = { KIT: kit, CODE: code, PACKET: base64(packed(packet, spec.header?.())) };
  return PAGE.replace(/%%(KIT|CODE|PACKET)%%/g, (_, name) => filled[name]);
}
