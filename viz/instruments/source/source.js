// Lines of code as they stand in the file. A line that makes a tensor is a button; arrow keys walk from one to the next.

import { css, keepDrawn, make, readTheme } from "../kit/common.js";
import { tellPython } from "../kit/page/linked.js";
import { part } from "../kit/page/packets.js";
import { paintElement } from "../kit/save/dom_pen.js";
import { saveMenu } from "../kit/save/save.js";
import { rove, shell, status } from "../kit/shell.js";
import { say } from "../kit/words.js";

export function build(root) {
  const view = shell(root, "source", { identity: "" }, "h3");
  view.body = make("div", "body", root);
  view.code = make("div", "code", view.body);
  view.card = status("div", "card", view.body);
  view.drawn = keepDrawn(root, () => { view.theme = colours(view); });
  view.code.onkeydown = (event) => rove(view, event, view.buttons.map(({ row }) => row), { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity });
  return view;
}

function colours(view) {
  const theme = readTheme(view.root), put = (name, value) => view.root.style.setProperty(name, value);
  const kinds = theme.categorical;
  put("--keyword", kinds[0]); put("--string", kinds[5]); put("--number", kinds[1]); put("--tap", kinds[3]);
  put("--edit", css(theme.diverging[theme.dark ? 60 : 45]));
  return theme;
}

export function accept(view, packet) {
  const head = packet.header;
  Object.assign(view, { head, packet, theme: colours(view) });
  view.title.textContent = head.title || say("The code that computed it");
  const read = (name) => JSON.parse(new TextDecoder().decode(part(packet, name)));
  const identity = JSON.stringify([head.lines, head.scope, head.sizes, head.edits]);
  if (identity !== view.identity) {
    view.identity = identity;
    view.lines = read("lines").map((line, i) => ({ ...line, path: line.path === null ? null : head.scope + line.path, axes: line.axes.map((word) => [word, head.sizes[word]]), edits: head.edits[i] ?? [] }));
    write(view);
  }
  view.numbers = read("card");
  if (!view.sent || head.echo === view.sent) view.chosen = view.buttons.findIndex(({ line }) => line.path === head.selected);
  view.code.style.maxHeight = head.height ? `${head.height}px` : "";
  refresh(view);
  saveMenu(view, view.tools, saving(view));
}

// ---------------------------------------------------------------- lines

function write(view) {
  let file = "", block = null;
  view.code.replaceChildren();
  view.buttons = [];
  for (const line of view.lines) {
    if (line.file !== file) {
      file = line.file;
      make("div", "file quiet", view.code, file);
      block = make("ol", "lines", view.code);
      block.setAttribute("aria-label", say("Lines of {file}", { file }));
    }
    if (line.gap) make("li", "gap", block, "\u22ee");
    const item = make("li", "line", block);
    item.dataset.number = line.number;
    const taps = line.path !== null, row = make(taps ? "button" : "span", taps ? "row tapped" : "row", item);
    const gutter = make("span", "number", row, line.number);
    const text = make("span", "text", row);
    for (const [kind, piece] of line.spans) {
      if (kind) make("span", kind, text).textContent = piece;
      else text.append(piece);
    }
    if (line.leaf !== null && !taps) note(item, row, say("not run in this model"), "idle");
    if (line.edits.length) { item.classList.add("edited"); note(item, row, say("edited"), "badge").title = line.edits.join("\n"); }
    if (taps) button(view, row, line);
  }
  view.root.dataset.taps = view.buttons.map(({ line }) => line.path).join(" ");
  view.root.dataset.edited = view.lines.filter((line) => line.edits.length).map((line) => line.number).join(" ");
}

function note(item, row, words, name) {
  const mark = make("span", name, row);
  mark.textContent = words;
  return mark;
}

function button(view, row, line) {
  const index = view.buttons.length;
  row.type = "button";
  row.dataset.path = line.path;
  row.setAttribute("aria-label", say("Line {n}: computes {path}, {shape}", { n: line.number, path: line.path, shape: shape(line) }) + (line.edits.length ? say("; changed by {edits}", { edits: line.edits.join(", ") }) : ""));
  row.onclick = () => choose(view, index);
  view.buttons.push({ row, line });
}

const shape = (line) => line.axes.map(([word, size]) => `${word} ${size}`).join(" \u00d7 ") || say("one number");

function choose(view, index) {
  view.chosen = index;
  refresh(view);
  tellPython(view, "path", [index]);
}

// ---------------------------------------------------------------- the chosen tensor

function refresh(view) {
  const stop = Math.max(0, view.chosen);
  view.buttons.forEach(({ row }, i) => {
    row.setAttribute("aria-pressed", String(i === view.chosen));
    row.tabIndex = i === stop ? 0 : -1;
  });
  const line = view.buttons[view.chosen]?.line;
  view.root.dataset.path = line ? line.path : "";
  view.card.replaceChildren();
  if (!line) {
    make("p", "quiet", view.card, say("Choose a line that taps a tensor: its axes and numbers from this run stand here."));
    return;
  }
  const card = view.numbers?.path === line.path ? view.numbers : null;
  make("p", "path", view.card, line.path);
  make("p", "shape", view.card, shape(line));
  if (card) numbers(view.card, card);
  for (const edit of line.edits) make("p", "changed", view.card).textContent = say("Changed by {edit}", { edit });
}

function numbers(parent, card) {
  if (card.sentence) make("p", "quiet", parent, card.sentence);
  const list = make("dl", "", parent);
  for (const [name, value] of card.numbers) {
    make("dt", "quiet", list, name);
    make("dd", "", list, value);
  }
  make("p", "quiet", parent).textContent = say("The first {n}", { n: card.first.length });
  make("p", "first", parent, card.first.join("  "));
}

function saving(view) {
  return {
    name: view.title.textContent, bar: view.bar,
    size: () => [Math.max(view.root.clientWidth, view.code.scrollWidth), view.root.scrollHeight],
    paint: (pen) => { for (const each of [view.body]) paintElement(pen, each, view.root, view.theme); },
    rows: () => [["file", "line", "text", "path", "axes", "edits"], ...view.lines.map((line) => [
      line.file, line.number, line.spans.map(([, text]) => text).join(""), line.path ?? "", line.path ? shape(line) : "", line.edits.join("; ")])],
    header: () => ({ selected: view.buttons[view.chosen]?.line.path ?? null }),
  };
}
