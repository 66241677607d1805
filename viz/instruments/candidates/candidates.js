// Bars of the tokens that could come next. Rows are buttons where another token may be asked for.

import { css, cut, inPercent, keepDrawn, make, readTheme } from "../kit/common.js";
import { tellPython } from "../kit/page/linked.js";
import { saveMenu } from "../kit/save/save.js";
import { group, keepFocus, rove, shell } from "../kit/shell.js";
import { saving } from "./save.js";
import { buildWay, shownName, tellWay } from "./way.js";
import { say } from "../kit/words.js";

export function build(root) {
  const view = shell(root, "candidates");
  view.rows = group("rows", root);
  view.lot = make("div", "lot", root);
  view.axis = make("div", "axis", root);
  make("span", "name", view.axis);
  view.scale = make("span", "scale", view.axis);
  for (const words of ["0", inPercent(50), inPercent(100)]) make("span", "", view.scale, words);
  make("span", "number", view.axis);
  buildWay(view, root);
  view.hint = make("p", "hint quiet", root);
  view.rows.onkeydown = (event) => rove(view, event, [...view.rows.querySelectorAll("[tabindex]")], { ArrowDown: 1, ArrowUp: -1 });   // those that may be asked for, or have something to tell
  view.drawn = keepDrawn(root, () => {});
  return view;
}

export function accept(view, packet) {
  const { header: head } = packet;
  Object.assign(view, { head, packet, theme: readTheme(view.root), over: null, held: null });
  view.root.style.setProperty("--hatch", view.theme.hatch);
  view.root.style.setProperty("--other", css(view.theme.sequential[view.theme.dark ? 110 : 85]));
  view.root.style.setProperty("--rest", view.theme.border);
  view.title.textContent = head.title;
  view.rows.setAttribute("aria-label", head.title || say("What could come next"));
  const changed = head.rows.some((row) => Math.abs(row.before - row.after) > 1e-9);
  keepFocus(view, () => view.rows.children, () => view.rows.replaceChildren(...head.rows.map((row, i) => drawn(view, row, i, changed))));
  draw(view);
  tellWay(view);
  view.hint.textContent = offers(view) && head.rows.length > 1 ? say("Click another token to write it instead.") : "";
  Object.assign(view.root.dataset, { step: head.step, taken: head.taken_id, rows: head.rows.map((row) => row.id ?? "").join(" "), asked: "" });
  saveMenu(view, view.tools, saving(view));
}

/** One token: its name, its bars on the common scale, its number. */
function drawn(view, row, i, changed) {
  const { head } = view, taken = row.id === head.taken_id, offered = offers(view) && row.id !== null && !taken;
  const line = make(offered ? "button" : "div", "row");
  if (offered) line.type = "button";
  line.dataset.row = i;
  line.classList.toggle("taken", taken);
  line.classList.toggle("rest", row.id === null);
  if (offered || row.way) line.tabIndex = i === firstOffered(view) ? 0 : -1;
  const name = make("span", "name", line), word = shownName(row);
  name.textContent = cut(word, 16);
  name.title = word;
  const track = make("span", "track", line);
  if (row.cut) bar(track, "shut", row.before);
  bar(track, "after", row.after);
  if (changed && !row.cut && Math.abs(row.before - row.after) > 0.004) make("i", "tick", track).style.left = `${100 * row.before}%`;
  line.append(" ");   // heard, the token and its share are two words
  const number = make("span", "number", line, row.cut ? row.model : row.says);
  if (row.cut) make("span", "why", track, row.cut);
  const says = `${word}: ${row.says}${changed && !row.cut ? say(", {share} by the model", { share: row.model }) : ""}${taken ? say(", taken") : ""}`;
  if (offered) { line.setAttribute("aria-label", say("{token}. Write it instead.", { token: says })); line.onclick = () => ask(view, row.id); }
  else { line.setAttribute("role", "img"); line.setAttribute("aria-label", says); }
  line.title = says;
  return line;
}

/** Whether another token may be written: only where Python listens. */
const offers = ({ head, component }) => head.offers && !component.silent;

/** The row that Tab comes to first. */
const firstOffered = (view, { head } = view) => (offers(view) ? head.rows.findIndex((row) => row.id !== null && row.id !== head.taken_id) : 0);

function bar(track, kind, share) {
  const box = make("i", kind, track);
  box.style.width = `${100 * Math.min(1, share)}%`;
  return box;
}

/** All kept tokens side by side from 0 to 1, and the drawn number above them. */
function draw(view) {
  const { lot, head } = view, found = head.lot;
  lot.hidden = !found;
  lot.replaceChildren();
  if (!found) return;
  make("span", "name", lot, say("random number"));
  const track = make("span", "track", lot);
  const part = make("i", "part", track);
  Object.assign(part.style, { left: `${100 * found.low}%`, width: `${100 * (found.high - found.low)}%` });
  for (const edge of found.edges) make("i", "edge", track).style.left = `${100 * edge}%`;
  make("i", "needle", track).style.left = `${100 * found.u}%`;
  const said = make("span", "drawn", track, say("{number} was drawn", { number: found.u.toFixed(3) }));
  said.style[found.u > 0.6 ? "right" : "left"] = `${100 * (found.u > 0.6 ? 1 - found.u : found.u)}%`;
  make("span", "number", lot);
}

function ask(view, id) {
  view.root.dataset.asked = id;
  tellPython(view, "ask", [view.head.step, id]);
}
