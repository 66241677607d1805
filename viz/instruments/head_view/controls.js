// Chips that switch heads, and the options: layout, threshold, strongest, what is hidden, sentence pairs.

const THRESHOLDS = [LEAST, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
const STRONGEST = [0, 1, 2, 3, 5, 10];
const PAIRS = ["A\u2192A", "A\u2192B", "B\u2192A", "B\u2192B"];

const headName = (name) => (typeof name === "number" ? `head ${name}` : name);

/** A switch that stays down: `pressed` is its state, read by screen readers and by CSS. */
function pill(parent, text, label, act) {
  const button = make("button", "pill", parent);
  button.type = "button";
  button.textContent = text;
  if (label) { button.setAttribute("aria-label", label); button.title = label; }
  button.onclick = act;
  return button;
}

const press_ = (button, on) => button.setAttribute("aria-pressed", String(on));

function buildControls(view) {
  view.bar = make("div", "bar", view.root);
  view.heading = make("div", "title", view.bar);
  view.more = pill(view.bar, "Options", "", () => { view.open = !view.open; fold(view); });
  view.saveAt = make("div", "saving", view.bar);
  view.chips = make("div", "chips", view.root);
  view.chips.setAttribute("role", "group");
  view.chips.setAttribute("aria-label", "Heads. Click switches one on or off, double click or Shift shows only this one.");
  view.tools = make("div", "tools", view.root);
  const { tools } = view;

  const shape = make("span", "joined", tools);
  shape.setAttribute("role", "group");
  shape.setAttribute("aria-label", "Layout");
  view.asColumns = pill(shape, "Columns", "", () => relayout(view, "columns"));
  view.asRows = pill(shape, "Rows", "", () => relayout(view, "rows"));
  view.smaller = pill(shape, "\u2212", "Closer together", () => rescale(view, 1 / 1.5));
  view.larger = pill(shape, "+", "Further apart", () => rescale(view, 1.5));

  const slide = make("label", "field", tools);
  view.fromText = make("span", "", slide);
  view.from = make("input", "", slide);
  Object.assign(view.from, { type: "range", min: 0, max: THRESHOLDS.length - 1, step: 1, value: 0 });
  view.from.oninput = () => { view.options.from = THRESHOLDS[view.from.value]; rechoose(view); };

  const best = make("label", "field", tools);
  make("span", "", best).textContent = "Show";
  view.best = make("select", "", best);
  for (const count of STRONGEST) {
    const option = make("option", "", view.best);
    option.value = count;
    option.textContent = count === 0 ? "all lines" : `top ${count} a word`;
  }
  view.best.onchange = () => { view.options.top = Number(view.best.value); rechoose(view); };

  view.hideFirst = pill(tools, "Hide first token", "Hide lines to the first token (attention sink)", () => flip(view, "hideFirst"));
  view.hideSpecial = pill(tools, "Hide special tokens", "Hide lines from and to special tokens", () => flip(view, "hideSpecial"));
  view.pairs = make("span", "joined", tools);
  view.pairs.setAttribute("role", "group");
  view.pairs.setAttribute("aria-label", "Lines between the two sentences");
  view.pairPills = PAIRS.map((text, p) => pill(view.pairs, text, `From sentence ${text[0]} to sentence ${text[2]}`, () => {
    const { pairs } = view.options;
    if (!pairs.delete(p)) pairs.add(p);
    rechoose(view);
  }));
}

/** The chips of this packet's heads; nothing for a single one. */
function buildChips(view) {
  const { chips, names } = view;
  chips.replaceChildren();
  chips.hidden = names.length < 2;
  view.headPills = [];
  if (chips.hidden) return;
  view.headPills = names.map((name, h) => {
    const chip = pill(chips, "", "", (event) => (event.shiftKey ? onlyHead(view, h) : toggleHead(view, h)));
    chip.classList.add("chip");
    chip.dataset.head = h;
    chip.ondblclick = () => onlyHead(view, h);
    make("canvas", "", chip).setAttribute("aria-hidden", "true");
    make("span", "", chip).textContent = typeof name === "number" ? name : visible(name);
    chip.setAttribute("aria-label", headName(name));
    chip.onkeydown = (event) => { if (event.shiftKey && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); onlyHead(view, h); } };
    return chip;
  });
  view.all = pill(chips, "All", "All heads", () => setHeads(view, names.map((_, h) => h)));
  view.none = pill(chips, "None", "No head", () => setHeads(view, []));
}

/** A sample of the head's line in its chip: colour and dash. */
function paintChip(view, h) {
  const canvas = view.headPills[h].querySelector("canvas"), pen = sharp(canvas, 22, 10), ink = view.inks[h];
  pen.strokeStyle = view.on.has(h) ? ink.colour : css(rgb(view.theme.text), 0.3);
  pen.lineWidth = 3;
  pen.setLineDash(ink.dash);
  pen.beginPath(); pen.moveTo(0, 5); pen.lineTo(22, 5); pen.stroke();
}

// ---------------------------------------------------------------- changes

function setHeads(view, heads) {
  view.on = new Set(heads);
  rechoose(view);
  report(view);
}

function toggleHead(view, h) {
  const on = new Set(view.on);
  if (!on.delete(h)) on.add(h);
  setHeads(view, [...on]);
}

const onlyHead = (view, h) => setHeads(view, [h]);

function flip(view, option) {
  view.options[option] = !view.options[option];
  rechoose(view);
}

function relayout(view, layout) {
  view.options.layout = layout;
  view.zoom = 1;
  redraw(view);
}

function rescale(view, factor) {
  const middle = (portOf(view) + view.seen / 2) / view.length;
  view.zoom *= factor;
  placeTokens(view);
  const to = middle * view.length - view.seen / 2;
  if (view.columns) view.scroller.scrollTop = to; else view.scroller.scrollLeft = to;
  redraw(view);
}

/** Other lines, the same places. */
function rechoose(view) {
  chooseLines(view);
  redraw(view);
}

/** What the controls say, after any change; also what share of all weight the lines show. */
function showControls(view) {
  const { options, on, root } = view, narrow = root.clientWidth < 560;
  press_(view.asColumns, view.layout === "columns");
  press_(view.asRows, view.layout === "rows");
  const [least, most] = view.limits ?? [1, 1], can = least < 0.99;
  view.smaller.hidden = view.larger.hidden = !can;
  view.smaller.disabled = view.zoom <= least * 1.01;
  view.larger.disabled = view.zoom >= most * 0.99;
  view.fromText.textContent = `Lines from ${exact(options.from)}`;
  view.from.setAttribute("aria-valuetext", exact(options.from));
  press_(view.hideFirst, options.hideFirst);
  press_(view.hideSpecial, options.hideSpecial);
  view.hideSpecial.hidden = !SIDES.some((side) => view.special[side].includes(1));
  view.pairs.hidden = !view.segments;
  view.pairPills.forEach((button, p) => press_(button, options.pairs.has(p)));
  view.headPills.forEach((chip, h) => { press_(chip, on.has(h)); paintChip(view, h); });
  view.more.hidden = !narrow;
  fold(view);
  root.dataset.heads = [...on].sort((a, b) => a - b).map((h) => view.names[h]).join();
  account(view);
}

function fold(view) {
  const narrow = view.root.clientWidth < 560;
  view.tools.hidden = narrow && !view.open;
  view.more.setAttribute("aria-expanded", String(!view.tools.hidden));
}

/** A share with one digit where it is small: 0.0157 -> "1.6 %". */
const exact = (share) => (share > 0 && share < 0.1 ? `${Number((share * 100).toFixed(1))} %` : percent(share));

/** Shares of one whole, in tenths of a per cent that add up to what all of them do: [0.9774, 0.0226] -> ["97.7 %", "2.3 %"]. */
function sharesOf(parts) {
  const down = parts.map((part) => Math.floor(part * 1000)), whole = Math.round(parts.reduce((sum, part) => sum + part, 0) * 1000);
  const order = parts.map((_, i) => i).sort((a, b) => parts[b] * 1000 - down[b] - (parts[a] * 1000 - down[a]));
  order.slice(0, whole - down.reduce((sum, part) => sum + part, 0)).forEach((i) => { down[i] += 1; });
  return down.map((part) => `${part / 10} %`);
}

/** How much of all weight is seen, and why the rest is not: nothing is left out in silence. */
function account(view) {
  const { account: a, options, heads, on, root } = view, total = [...on].reduce((sum, h) => sum + heads[h].total, 0);
  const reasons = [
    [a.first, "on the first token, hidden"], [a.special, "of special tokens, hidden"], [a.pair, "between other sentences, hidden"],
    [a.faint, options.top ? `in weaker lines` : `in lines under ${exact(options.from)}`],
  ].filter(([share]) => share >= 0.0005);
  const [seen, ...hidden] = sharesOf([reasons.length ? 1 - reasons.reduce((sum, [share]) => sum + share, 0) : a.shown, ...reasons.map(([share]) => share)]);
  const notes = [];
  if (total > 0) notes.push(`The lines show ${seen} of all weight${reasons.length ? `; not drawn: ${reasons.map(([, words], i) => `${hidden[i]} ${words}`).join(", ")}` : ""}.`);
  const broken = [...on].reduce((sum, h) => sum + heads[h].broken, 0);
  if (broken) notes.push(`${broken} ${broken === 1 ? "weight is" : "weights are"} not a finite number and ${broken === 1 ? "has" : "have"} no line.`);
  const steps = heads.filter(({ matrix }) => matrix.kind === "steps").map(({ matrix }) => matrix.step);
  if (steps.length) notes.push(`Weights come in steps of ${Number(Math.max(...steps).toPrecision(2))}.`);
  view.note.textContent = notes.join(" ");
  root.dataset.shown = a.shown.toFixed(4);
  root.dataset.hidden = [a.first, a.special, a.pair, a.faint].map((share) => share.toFixed(4)).join();
}
