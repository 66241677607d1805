// An equation as MathML, made node by node; a symbol that is tapped, or chosen with Tab and Enter, tells what it is.
const NS = "http://www.w3.org/1998/Math/MathML";
const views = new WeakMap();
const WAYS = ["columns", "rows"];

function html(name, parent, text = "", kind = "") {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (kind) made.className = kind;
  parent?.append(made);
  return made;
}

function math(name, ...children) {
  const made = document.createElementNS(NS, name);
  made.append(...children);
  return made;
}

const leaf = (name, text) => math(name, text);

/** An index such as ij, t-1 or V,i: single letters slanted, a word of three and more upright. */
function small(text) {
  const pieces = text.match(/[A-Za-z]+|\d+|[^A-Za-z\d]/g) ?? [];
  return math("mrow", ...pieces.flatMap((piece) => {
    if (/\d/.test(piece)) return [leaf("mn", piece)];
    if (!/[A-Za-z]/.test(piece)) return [leaf("mo", piece === "-" ? "−" : piece)];
    return piece.length > 2 ? [leaf("mi", piece)] : [...piece].map((letter) => leaf("mi", letter));
  }));
}

function drawGlyph([letter, accent, index]) {
  const [plain, primes] = [letter.replace(/'+$/, ""), letter.length - letter.replace(/'+$/, "").length];
  let made = leaf("mi", plain);
  if (accent) {
    const over = leaf("mo", accent);
    over.setAttribute("stretchy", "false");
    made = math("mover", made, over);
    made.setAttribute("accent", "true");
  }
  const above = primes ? leaf("mo", "′".repeat(primes)) : null;
  if (above && index) return math("msubsup", made, small(index), above);
  if (above) return math("msup", made, above);
  return index ? math("msub", made, small(index)) : made;
}

/** This run's number in a symbol's place; several are a vector, upright or lying as the convention has it. */
function drawValue(value, upright) {
  const numbers = value.map((text) => { const made = leaf("mn", text.replace("-", "−")); made.setAttribute("class", "put"); return made; });
  if (numbers.length === 1) return numbers[0];
  const cells = numbers.map((number) => math("mtd", number));
  const table = upright ? math("mtable", ...cells.map((cell) => math("mtr", cell))) : math("mtable", math("mtr", ...cells));
  return math("mrow", leaf("mo", "["), table, leaf("mo", "]"));
}

function table(rows) {
  return math("mtable", ...rows.map((cells) => math("mtr", ...cells.map((cell) => {
    const made = math("mtd", cell);
    made.setAttribute("style", "text-align: left; text-align: -webkit-left;");
    return made;
  }))));
}

/** `view`: signs, way, numbers (whether values stand in), sign(name) which makes a symbol. */
function draw([kind, ...parts], view) {
  const make = (part) => draw(part, view);
  switch (kind) {
    case "sign": return view.sign(parts[0]);
    case "index": return leaf("mi", parts[0]);
    case "number": return leaf("mn", parts[0]);
    case "operator": return leaf("mo", parts[0]);
    case "words": return leaf("mtext", ` ${parts[0]} `);
    case "name": { const space = math("mspace"); space.setAttribute("width", "0.17em"); return math("mrow", space, leaf("mi", parts[0])); }
    case "row": return math("mrow", ...parts.map(make));
    case "bracket": return math("mrow", leaf("mo", parts[0]), make(parts[1]), leaf("mo", parts[0] === "(" ? ")" : "]"));
    case "frac": return math("mfrac", make(parts[0]), make(parts[1]));
    case "sqrt": return math("msqrt", make(parts[0]));
    case "sup": return math("msup", make(parts[0]), make(parts[1]));
    case "sub": return math("msub", make(parts[0]), make(parts[1]));
    case "sum": return math("munderover", leaf("mo", "∑"), make(parts[0]), make(parts[1]));
    case "prod": return math("munderover", leaf("mo", "∏"), make(parts[0]), make(parts[1]));
    case "cases": return math("mrow", leaf("mo", "{"), table([[make(parts[0]), make(parts[1])], [make(parts[2]), make(parts[3])]]));
    case "lines": return table(parts.map((part) => [make(part)]));
    default: throw new Error(`no drawing for ${kind}`);
  }
}

function whole(tree, view) {
  const made = math("math", draw(tree, view));
  made.setAttribute("role", "group");   // an equation as such has no parts that can be tapped
  made.setAttribute("display", "block");
  return made;
}

function build(root, view, tell) {
  const { data } = view, said = html("div", null, "", "told");
  said.setAttribute("aria-live", "polite");
  const filled = (name, text) => data.words[name].replace("{}", () => text);
  const symbol = (name) => {
    const about = data.signs[name], made = math("mrow", drawGlyph(about.glyph));
    made.setAttribute("class", "sign");
    made.setAttribute("tabindex", "0");
    made.setAttribute("role", "button");
    made.setAttribute("aria-label", filled("what", about.word));
    made.dataset.sign = name;
    made.addEventListener("click", () => pin(name));
    made.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      pin(name);
    });
    return made;
  };
  const put = (name) => {
    const { value } = data.signs[name];
    const made = math("mrow", value.length ? drawValue(value, view.way === "columns") : drawGlyph(data.signs[name].glyph));
    made.setAttribute("class", "twin");
    made.dataset.sign = name;
    return made;
  };
  const pin = (name) => {
    view.pinned = view.pinned === name ? "" : name;
    explain();
    const about = data.signs[view.pinned];
    const detail = { sign: view.pinned, leaf: about?.leaf ?? "", words: about?.mark ?? "" };
    document.dispatchEvent(new CustomEvent("atlas-mark", { detail }));
  };
  const explain = () => {
    for (const made of root.querySelectorAll(".sign, .twin")) made.classList.toggle("pinned", made.dataset.sign === view.pinned);
    said.replaceChildren();
    const about = data.signs[view.pinned];
    if (!about) { html("p", said, data.words.hint, "quiet"); return; }
    const first = html("p", said);
    first.append(whole(["sign", view.pinned], { sign: (name) => drawGlyph(data.signs[name].glyph) }));
    first.firstChild.setAttribute("display", "inline");
    html("b", first, ` ${about.word}`);
    html("span", first, ` · ${about[view.way]}`, "shape");
    const other = view.way === "columns" ? "rows" : "columns";
    if (about[other] !== about[view.way]) html("span", first, ` (${filled(`in ${other}`, about[other])})`, "quiet");
    html("p", said, about.sentence);
    const last = html("p", said, filled("from", about.origin), "quiet");
    if (about.mark) last.append(` ${filled("picture", about.mark)}`);
  };
  const switching = html("div", null, "", "switch");
  switching.setAttribute("role", "group");
  switching.setAttribute("aria-label", data.words.switch);
  for (const way of WAYS) {
    const button = html("button", switching, data.words[way]);
    button.type = "button";
    button.setAttribute("aria-pressed", String(view.way === way));
    button.addEventListener("click", () => {
      if (view.way === way) return;
      view.way = way;
      build(root, view, tell);
      root.querySelector(".switch [aria-pressed=true]").focus();
      tell(way);
    });
  }
  const line = html("div", null, "", "line"), foot = html("div", null, "", "foot");
  line.append(whole(data[view.way], { sign: symbol }));
  root.replaceChildren();
  html("p", root, data.title, "quiet title");
  root.append(line);
  if (data.numbers) html("div", root, "", "line numbers").append(whole(data[view.way], { sign: put }));
  if (data.note) html("p", root, data.note, "quiet");
  html("span", foot, data.where, "quiet");
  foot.append(switching);
  root.append(said, foot);
  explain();
}

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".equation"), before = views.get(root), same = JSON.stringify(data);
  if (before?.same === same) return;
  const pinned = before && data.signs[before.pinned] ? before.pinned : "";
  const view = { data, same, pinned, way: data.convention };
  const focused = root.getRootNode().activeElement?.dataset?.sign;
  views.set(root, view);
  build(root, view, (way) => setTriggerValue("convention", way));
  if (focused) root.querySelector(`[data-sign="${CSS.escape(focused)}"]`)?.focus();
}
