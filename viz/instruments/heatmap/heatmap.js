// One head: colour by scale, exact values under the pointer, lenses, bars at the rim, a click for Python.

import { magnified, make, readTheme } from "../kit/common.js";
import { matrixView, tool, zoom } from "../kit/matrix/matrix.js";
import { drawOver } from "../kit/matrix/paint.js";
import { inWhole } from "../kit/matrix/places.js";
import { hear, tellPython } from "../kit/page/linked.js";
import { emptied, part, readMatrix, readOne } from "../kit/page/packets.js";
import { saveMenu } from "../kit/save/save.js";
import { button, group } from "../kit/shell.js";
import { paintMarginNames, paintMargins, paintMarked, readMargins, RIM } from "./margins.js";
import { moveWindow, overview, paintOverview, placeOverview } from "./overview.js";
import { savedHeatmap } from "./save.js";
import { tellPlace, tellScale } from "./tell.js";
import { contains, openWindow, showWindow } from "./window.js";
import { zoomable, zoomKey } from "./zoom.js";
import { mark, say } from "../kit/words.js";

export function build(root) {
  const view = matrixView(root, {
    lines: true,
    tell: (tip, at) => tellPlace(view, tip, at),
    pick: (at) => choose(view, inWhole(view, at)),
    key: (event) => !event.ctrlKey && !event.metaKey && zoomKey(view, event.key),
    beyond: (goal) => walkOn(view, goal),
    rim: (pen) => { if (view.rim.bottom) { paintMargins(pen, view); paintMarginNames(pen, view); } },
    rimOver: (pen, _, at) => { if (view.rim.bottom && at) paintMarked(pen, view, at); },
    before: () => { view.rim = view.margins && magnified() === 1 ? RIM : { right: 0, bottom: 0 }; if (view.long) placeOverview(view.box); },   // before a room only the cells
    after: () => numbersButton(view),
  });
  root.classList.add("heatmap");
  view.segments = group("segments", null, say("What is shown"));
  view.written = tool(view, say("Numbers"), say("Numbers"), () => writeNumbers(view));
  view.tools.prepend(view.segments, view.written);
  view.none = make("p", "quiet none", root);
  zoomable(view);
  view.deaf = hear(view, (at) => link(view, at));
  return view;
}

export function accept(view, packet) {
  const { header: head } = packet, data = readOne(packet, head.at);
  const same = view.data && view.data.rows === data.rows && view.data.cols === data.cols;
  Object.assign(view, { packet, head, data, theme: readTheme(view.root), lenses: readLenses(packet, data) });
  view.words = { queries: head.queries, keys: head.keys ?? head.queries };
  view.axis = head.axis;
  const named = (id) => view.lenses.find((lens) => lens.id === id), asked = named(view.asked);
  if (asked) view.asked = null;
  view.now = asked ?? named(view.now?.id) ?? view.lenses.find((lens) => lens.id === head.lens) ?? view.lenses[0];
  if (!same) Object.assign(view, { numbers: head.numbers, linked: null });
  if (!view.sent || head.echo === view.sent) view.chosen = head.selected;
  view.margins = head.margins ? readMargins(data) : null;
  view.logSums = "log_sums" in head ? new Float32Array(part(packet, "log_sums").buffer) : null;
  view.long = openWindow(view);
  if (view.long) view.box ??= overview(view);
  if (view.box) view.box.element.hidden = !view.long;
  view.root.dataset.cell = view.chosen ? view.chosen.join(",") : "";
  view.root.dataset.scale = head.scale;
  view.root.dataset.margins = view.margins ? "on" : "off";
  const empty = !data.rows || !data.cols;
  view.none.textContent = empty ? say("There are no tokens to look at yet.") : "";
  view.body.hidden = view.tools.hidden = empty;
  view.root.dataset.at = (head.at ?? []).join(",");
  lensButtons(view);
  show(view);
  if (!empty) saveMenu(view, view.tools, savedHeatmap(view));
}

/** The numbers that were given, each as one lens: {id, name, label, values, centred, limit, kind, step}. */
function readLenses(packet, data) {
  const { header: head } = packet, first = { pattern: mark("weight"), score: mark("score"), difference: mark("difference") }[head.scale];
  const centred = head.scale !== "pattern", several = "sizes" in head || "scores.values" in head || "contributions.values" in head;
  const label = head.unit || (centred ? say(first) : head.margins || several ? say("weight") : "");
  const lenses = [{ ...data, id: first, name: say(first), label, centred, limit: centred ? head.limit || 1 : 1 }];
  if ("scores.values" in head) lenses.push({ ...readMatrix(packet, "scores."), id: "score", name: say("score"), label: say("score"), centred: true, limit: head["scores.bound"] || 1 });
  const weighted = { id: "contribution", name: say("value-weighted"), label: say("weight \u00d7 size of the value"), centred: false };
  if ("contributions.values" in head) lenses.push({ ...readMatrix(packet, "contributions."), ...weighted, limit: head["contributions.bound"] || 1 });
  else if ("sizes" in head) {
    const sizes = new Float32Array(part(packet, "sizes").buffer), values = data.values.map((weight, i) => weight * sizes[i % data.cols]);
    const most = values.reduce((best, v) => (Number.isFinite(v) && v > best ? v : best), 0);
    lenses.push({ ...data, ...weighted, values, limit: most || 1, ...(data.kind === "steps" && { step: data.step * Math.max(...sizes.filter(Number.isFinite)) || data.step }) });
  }
  return lenses;
}

/** The header of another head: its title, and none of the lenses of the head that was there. */
export function turned(view, head, { at, name }) {
  if (view.now.id !== view.lenses[0].id) return null;   // what is shown is not in the stack: Python sends it
  const others = Object.entries(emptied(head)).filter(([field]) => !/^(scores|contributions)\.|^(sizes|log_sums)$/.test(field));
  return { ...Object.fromEntries(others), at, title: head.called.replace("{head}", name) };
}

const OFFERED = { score: mark("score"), contribution: mark("value-weighted") };

/** A button for each lens that is here, and for those that Python makes when they are asked for. */
function lensButtons(view) {
  const { segments, head } = view, further = (head.offers ?? []).filter((id) => !view.lenses.some((lens) => lens.id === id));
  const all = [...view.lenses, ...further.map((id) => ({ id, name: say(OFFERED[id]) }))], lenses = all.length > 1 ? all : [];
  segments.hidden = !lenses.length;
  if (segments.children.length !== lenses.length || [...segments.children].some((button, i) => button.dataset.lens !== lenses[i].id)) {
    segments.replaceChildren(...lenses.map((lens) => {
      const segment = button(null, "segment", lens.name, () => look(view, lens.id));
      segment.dataset.lens = lens.id;
      return segment;
    }));
  }
  for (const button of segments.children) {
    button.setAttribute("aria-pressed", String(button.dataset.lens === (view.asked ?? view.now.id)));
    button.setAttribute("aria-busy", String(button.dataset.lens === view.asked));
  }
  view.root.dataset.lens = view.now.id;
  view.root.dataset.range = view.now.centred ? `${-view.now.limit},${view.now.limit}` : `0,${view.now.limit}`;
}

function look(view, id) {
  const lens = view.lenses.find((other) => other.id === id);
  view.asked = lens ? null : id;
  if (lens) view.now = lens;
  lensButtons(view);
  if (lens) show(view);
  if (view.head.offers?.length) view.component.setStateValue("lens", id);
}

// ---------------------------------------------------------------- showing

function show(view) {
  if (view.long) paintOverview(view.box);
  showWindow(view);
  let broken = 0;
  view.now.values.forEach((value) => { broken += !Number.isFinite(value); });
  tellScale(view, broken);
}

/** Walking over the edge of a window takes the window along. */
function walkOn(view, [r, c]) {
  if (!view.long) return null;
  const { window: old } = view, by = (x, n) => (x < 0 ? x : x >= n ? x - n + 1 : 0);
  moveWindow(view.box, { r: old.r + by(r, old.h), c: old.c + by(c, old.w) });
  return [r + old.r - view.window.r, c + old.c - view.window.c];
}

/** Values in the cells on wish: where the cells are too small for them they are made larger, and small again after. */
function writeNumbers(view) {
  const written = isWritten(view);
  view.numbers = !written;
  if (written && view.grown) zoom(view, 1 / view.zoom, view.left, view.top);
  view.grown = !written && view.unit < 30;
  if (view.grown) zoom(view, 30 / view.unit, view.left, view.top);
  showWindow(view);
}

const isWritten = (view) => Boolean(view.texts) && view.unit >= 30;

function numbersButton(view) {
  view.written.hidden = Math.max(view.rows, view.cols) > 32;
  view.written.setAttribute("aria-pressed", String(isWritten(view)));
  view.root.dataset.numbers = isWritten(view) ? "written" : "";
}

// ---------------------------------------------------------------- choosing and linking

function choose(view, at) {
  view.chosen = view.followed = at;
  view.cell = contains(view.window, at) ? [at[0] - view.first[0], at[1] - view.first[1]] : null;
  view.root.dataset.cell = at.join(",");
  drawOver(view);
  if (view.long) placeOverview(view.box);
  tellPython(view, "cell", at);
}

/** The pointer of another view of the group is at {query, key}: marked here too, as far as the window shows it. */
function link(view, at) {
  const inWindow = (i, axis, n) => (Number.isInteger(i) && i >= view.first[axis] && i < view.first[axis] + n ? i - view.first[axis] : -1);
  const place = at && [inWindow(at.query, 0, view.rows), inWindow(at.key, 1, view.cols)];
  view.linked = place && Math.max(...place) >= 0 ? place : null;
  view.root.dataset.linked = view.linked ? inWhole(view, view.linked).join(",") : "";
  drawOver(view);
}
