// How one weight is computed, line by line. Long vectors show their largest terms and open in place.

import { css, cut, keepDrawn, make, percent, readTheme, speak } from "../kit/common.js";
import { typeset } from "../kit/equation.js";
import { tellPython } from "../kit/page/linked.js";
import { part } from "../kit/page/packets.js";
import { paintElement } from "../kit/save/dom_pen.js";
import { saveMenu } from "../kit/save/save.js";
import { button, shell } from "../kit/shell.js";
import { filler, formed, readNumbers, taker } from "./figures.js";
import { tellNear, watch } from "./inview.js";
import { say } from "../kit/words.js";

export function build(root) {
  const view = shell(root, "arith", { open: new Set(), identity: "" }, "h3");
  view.all = button(view.tools, "tool", "", () => openAll(view));
  view.intro = make("p", "quiet intro", root);
  view.steps = make("ol", "steps", root);
  view.steps.setAttribute("aria-label", say("From query and key to the weight"));
  view.turn = make("h4", "turn", root);
  view.turn.textContent = say("What the weight does");
  view.after = make("ol", "steps", root);
  view.after.setAttribute("aria-label", view.turn.textContent);
  view.foot = make("p", "quiet foot", root);
  view.drawn = keepDrawn(root, () => { view.theme = colours(view); });
  return view;
}

export function accept(view, packet) {
  const head = packet.header, known = view.head?.of === head.of && !view.blank;
  if (head.light && known && head.of) { view.head = { ...view.head, light: true }; tellNear(view); return; }   // what stands here is true of this cell
  Object.assign(view, { head, theme: colours(view) });
  introduce(view);
  if (head.light) blank(view);
  else write(view, packet);
  if (head.light !== undefined) { watch(view); tellNear(view); }
}

function introduce(view) {
  const { head, root } = view;
  view.title.textContent = head.title || say("How is {share} computed?", { share: percent(head.weight) });
  speak(view.intro, head.light ? say("{query} (position {i}) attends to {key} (position {j}) in {head}. The arithmetic comes when this part is in view.")
    : say("{query} (position {i}) attends to {key} (position {j}) in {head}. Every number is from this run."),
  { ...named(view), i: head.cell[2], j: head.cell[3], head: `L${head.cell[0]}.H${head.cell[1]}` });
  root.dataset.cell = head.cell.join(",");
  root.dataset.weight = String(head.weight);
  root.dataset.light = String(Boolean(head.light));
}

/** Figures of another cell go at once; their height stays, so that nothing on the page moves. */
function blank(view) {
  view.root.style.minHeight = view.tall ? `${view.tall}px` : "";
  for (const each of [view.tools, view.steps, view.turn, view.after, view.foot]) each.hidden = true;
  view.steps.replaceChildren();
  view.after.replaceChildren();
  Object.assign(view, { blank: true, identity: "", parts: [], lines: [] });
  for (const name of ["lines", "open", "path"]) delete view.root.dataset[name];
}

function write(view, packet) {
  const { head } = view, identity = JSON.stringify([head.lines, head.labels, head.row, head.pair, head.numbers, head.told, head.query, head.key]);
  view.packet = packet;
  if (identity !== view.identity) {
    view.lines = linesOf(packet);
    view.identity = identity;                       // lines that were open stay open: another cell is compared with this one
    view.paths = [...new Set(view.lines.map((line) => line.path).filter(Boolean))];
    view.parts = view.lines.map((line) => step(view, line));
    const turn = view.lines.findIndex((line) => line.name === head.turn);
    view.steps.replaceChildren(...view.parts.slice(0, turn).map((each) => each.item));
    view.after.replaceChildren(...view.parts.slice(turn).map((each) => each.item));
    view.after.start = turn + 1;
    view.after.style.counterReset = `step ${turn}`;
    view.foot.textContent = say("Terms have three digits more than their sum, so the sum of the shown terms rounds to the shown result. Recomputed in double precision; the run's own numbers differ by at most {residue}.", { residue: head.residue });
    view.root.dataset.lines = view.lines.map((line) => line.name).join(" ");
    view.unasked = true;
  }
  if (!view.sent || head.echo === view.sent) view.chosen = head.selected;
  view.blank = false;
  for (const each of [view.tools, view.steps, view.turn, view.after, view.foot]) each.hidden = false;
  view.root.style.minHeight = "";
  view.root.style.maxHeight = head.height ? `${head.height}px` : "";
  view.root.classList.toggle("scrolls", Boolean(head.height));
  refresh(view);
  saveMenu(view, view.tools, saving(view));
}

/** The lines of a packet: what is said of all cells, with the numbers and columns of this one. `terms` are [name, [cells], value]. */
function linesOf(packet) {
  const { numbers, told } = packet.header, read = (name) => JSON.parse(new TextDecoder().decode(part(packet, name)));
  const labels = read("labels"), fill = filler(numbers), [row, pair] = ["row", "pair"].map((name) => taker(readNumbers(part(packet, name))));
  return read("lines").map((said, i) => {
    const [title, words, equation, path, ...columns] = [said.title, said.words, said.equation, said.path, ...said.columns].map(fill);
    const line = { put: "", result: "", used: "", rest: "", chosen: null, ...said, ...told[i], title, words, equation, path, columns, terms: [] };
    if (said.shared !== null) {
      const { texts, at } = (said.shared ? row : pair).columns();
      for (const [column, place, text] of line.odd ?? []) texts[column][place] = text;
      const values = texts.pop(), names = said.labels === null ? null : labels[said.labels];
      line.terms = values.map((value, j) => {
        const place = at ? at[j] : j;
        return [names ? names[place] : String(place), formed(said.form, texts.map((column) => column[j])), value];
      });
    }
    line.few ??= line.terms.map((_, j) => j);
    return line;
  });
}

const named = (view) => ({ query: { word: view.head.query }, key: { word: view.head.key } });

/** Bars take the two ends of the scale of differences: left and one colour below zero, right and the other above. */
function colours(view) {
  const theme = readTheme(view.root);
  view.root.style.setProperty("--plus", css(theme.diverging[theme.dark ? 215 : 200]));
  view.root.style.setProperty("--minus", css(theme.diverging[theme.dark ? 40 : 55]));
  return theme;
}

// ---------------------------------------------------------------- one line

function step(view, line) {
  const item = make("li", "step");
  item.dataset.name = line.name;
  const told = make("div", "say", item), sum = make("div", "sum", item);
  make("h5", "", told, line.title);
  speak(make("p", "words", told), line.words, named(view));
  if (line.equation) typeset(make("p", "math", told), line.equation);
  places(make("p", "quiet cites", told), line.cites);
  const made = { line, item, table: null, path: null };
  if (line.put) {
    const put = make("p", "put", sum);
    put.append(`${line.put} = `);
    make("b", "result", put, line.result);
  }
  if (line.terms.length) made.table = terms(view, sum, made);
  if (line.used) {
    const note = make("p", "used", sum);
    speak(note, say("An edit put another number here: the run goes on with {used}."), { used: line.used });
  }
  if (line.path) made.path = tensor(view, sum, line.path);
  return made;
}

function places(parent, cites) {
  cites.forEach(([brief, whole], i) => {
    if (i) parent.append(" · ");
    const each = make("cite", "", parent, brief);
    each.title = whole;
  });
}

/** The tensor that holds this result: a button that tells Python. */
function tensor(view, parent, path) {
  const made = button(parent, "path", path, () => {
    view.chosen = path;
    refresh(view);
    tellPython(view, "path", [view.paths.indexOf(path)]);
  });
  made.title = say("The tensor of the run that holds this number: choose it to see the line of code that computes it");
  return made;
}

// ---------------------------------------------------------------- terms

function terms(view, parent, made) {
  const { line } = made, table = make("table", "terms", parent), body = make("tbody"), foot = make("tfoot");
  make("caption", "sr", table, line.title);
  const top = make("tr", "quiet", make("thead", "", table));
  for (const name of [line.axis, ...line.columns]) make("th", "", top, name);
  if (line.columns.length > 1 || line.terms[0][1][0] !== line.terms[0][2]) make("th", "", top).textContent = line.columns.length < 2 ? "" : line.form === "{} \u00b7 {}" ? say("product") : say("term");
  for (const th of top.children) th.scope = "col";
  table.append(body, foot);
  if (line.result) {
    const row = make("tr", "total", foot), name = make("th", "", row);
    name.scope = "row";
    name.colSpan = Math.max(1, top.children.length - 1);
    name.textContent = say("sum");
    make("b", "result", make("td", "value", row)).textContent = line.result;
  }
  table.dataset.name = line.name;
  return { table, body, few: line.few.length < line.terms.length };
}

/** Rows of a table as it is now: the few largest and one for the rest, or all in their own order. */
function fill(view, made) {
  const { line, table: { body, table } } = made, open = view.open.has(line.name), all = line.few.length === line.terms.length;
  const values = line.terms.map((term) => number(term[2])), most = Math.max(...values.map((v) => (Number.isFinite(v) ? Math.abs(v) : 0))) || 1;
  const signed = values.some((v) => v < 0), shown = open || all ? line.terms.map((_, i) => i) : line.few;
  body.replaceChildren(...shown.map((i) => row(line, i, values[i] / most, signed)));
  const wide = table.tHead.rows[0].children.length - 1;
  if (!all) {
    const more = make("tr", "more", body), cell = make("th", "", more), turn = () => { open ? view.open.delete(line.name) : view.open.add(line.name); refresh(view); made.item.querySelector(".more button").focus(); };
    cell.colSpan = wide;
    button(cell, "", open ? say("show the largest {n} only", { n: line.few.length }) : line.rest ? say("and {n} more: sum", { n: line.terms.length - line.few.length }) : say("and {n} more", { n: line.terms.length - line.few.length }), turn).setAttribute("aria-expanded", String(open));
    make("td", "value rest", more, open ? "" : line.rest);
  }
  made.item.dataset.open = all || open;
}

function row(line, i, share, signed) {
  const [label, cells, value] = line.terms[i], tr = make("tr", i === line.chosen ? "chosen" : ""), name = make("th", line.words_axis ? "word" : "", tr);
  name.scope = "row";
  name.textContent = cut(label, 16);
  name.title = label;
  name.dir = "auto";
  const only = cells.length === 1 && cells[0] === value;
  if (!only) for (const cell of cells) make("td", "factor", tr, cell);
  const td = make("td", "value", tr), bar = make("i", share < 0 ? "bar minus" : "bar plus", td), full = signed ? 50 : 100;
  bar.style.width = `${Number.isFinite(share) ? Math.abs(share) * full : 0}%`;
  if (signed) bar.style[share < 0 ? "right" : "left"] = "50%";
  else bar.style.left = "0";
  make("span", "", td, value);
  return tr;
}

const number = (text) => Number(text.replace("\u2212", "-").replace("\u221e", "Infinity"));

// ---------------------------------------------------------------- state

function refresh(view) {
  for (const made of view.parts) {
    if (made.table) fill(view, made);
    if (made.path) made.path.setAttribute("aria-pressed", String(view.chosen === made.line.path));
  }
  const long = view.lines.filter((line) => line.few.length < line.terms.length), opened = long.filter((line) => view.open.has(line.name));
  view.all.hidden = !long.length;
  view.all.textContent = opened.length === long.length ? say("Fewer terms") : say("All terms");
  view.root.dataset.open = opened.map((line) => line.name).join(" ");
  view.root.dataset.path = view.paths.includes(view.chosen) ? view.chosen : "";
}

function openAll(view) {
  const long = view.lines.filter((line) => line.few.length < line.terms.length).map((line) => line.name);
  if (long.every((name) => view.open.has(name))) long.forEach((name) => view.open.delete(name));
  else long.forEach((name) => view.open.add(name));
  refresh(view);
}

function saving(view) {
  const all = (line) => line.terms.map((term) => number(term[2]));
  return {
    name: view.title.textContent, bar: view.bar,
    size: () => [view.root.scrollWidth, view.root.scrollHeight],
    paint: (pen) => { for (const each of [view.intro, view.steps, view.turn, view.after, view.foot]) paintElement(pen, each, view.root, view.theme); },
    arrays: () => ({
      weight: { shape: [], values: [view.head.weight] }, query: { shape: [], values: [view.head.query] }, key: { shape: [], values: [view.head.key] },
      ...Object.fromEntries(view.lines.flatMap((line) => (line.terms.length
        ? [[line.name, { shape: [line.terms.length], values: Float64Array.from(all(line)), axes: [line.axis] }], [`${line.name}.terms`, { shape: [line.terms.length], values: line.terms.map(([label]) => String(label)) }]]
        : [[line.name, { shape: [1], values: [number(line.result)], axes: ["result"] }]]))),
    }),
    rows: () => [["line", "term", "calculation", "value"], ...view.lines.flatMap((line) => [
      ...line.terms.map(([label, cells, value]) => [line.name, label, cells.join(""), number(value)]),
      ...(line.result ? [[line.name, line.terms.length ? "sum" : "", line.put, number(line.result)]] : [])])],
    header: () => ({ light: undefined }),   // alone it waits for nobody
  };
}
