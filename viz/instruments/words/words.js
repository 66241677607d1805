// Words in large type; the touched one, what it looks at, and the sentence that says so.

import { backwards, css, cut, enlarged, inkOn, keepDrawn, make, percent, probe, readTheme, sharp, speak, visible } from "../kit/common.js";
import { hear, pointOthers, tellPython, tellTouched, WORD } from "../kit/page/linked.js";
import { emptied, readOne } from "../kit/page/packets.js";
import { keepAddress, remember } from "../kit/page/url_state.js";
import { button, drawing, hold, status } from "../kit/shell.js";
import { CLEAR, tellLook } from "../kit/tell.js";
import { linesOf, paintArcs, paintLines } from "./paint.js";
import { saveWords } from "./save.js";
import { say } from "../kit/words.js";

export function build(root) {
  root.classList.add("words");
  const view = { root, sources: [], targets: [], ghosts: [], touched: null, identity: "" };
  view.caption = make("div", "quiet caption", root);
  view.scroll = make("div", "scroll", root);
  view.stage = make("div", "stage", view.scroll);
  view.canvas = drawing(view.stage);
  view.upper = make("div", "row upper", view.stage);
  view.lower = make("div", "row lower", view.stage);
  view.foot = make("div", "foot", root);
  view.sentence = status("p", "sentence", view.foot);
  view.sentence.setAttribute("aria-live", "polite");
  view.note = make("div", "quiet note", root);
  view.drawn = keepDrawn(root, () => { fit(view); paint(view); });
  if (globalThis.attentionAtlas?.tell) view.deaf = hear(view, (at) => at && touch(view, at.side, at.index, false), WORD);   // a page that follows another's
  return view;
}

export function accept(view, packet) {
  const head = packet.header;
  view.head = head;
  view.matrix = readOne(packet, head.at);
  view.rows = head.rows;
  view.one = head.layout === "one";
  view.theme = readTheme(view.root);
  const words = head.words ?? head.keys;
  const start = { side: head.start[0], index: head.start[1] };
  const identity = JSON.stringify([head.layout, head.keys, words, head.names, head.special, head.after]), other = identity !== view.identity;
  if (other || String(head.start) !== String(view.begun)) Object.assign(view, { identity, begun: head.start, touched: start, kept: undefined });
  if (other) fill(view, view.one ? [] : head.keys, words);
  view.root.dataset.at = (head.at ?? []).join(",");
  view.caption.textContent = head.caption;
  view.note.textContent = view.matrix.kind === "steps" ? say("Weights of this long text are shown in steps of {step}.", { step: Number(view.matrix.step.toPrecision(2)) }) : "";
  view.scroll.style.maxHeight = head.height ? `${head.height}px` : "";
  view.scroll.style.overflow = head.height ? "auto" : "";
  if (other || view.theme.heading !== view.set) fit(view);
  view.set = view.theme.heading;
  touch(view, view.touched.side, view.touched.index, false);
  const there = (view.touched.side === "source" ? view.sources : view.targets)[view.touched.index];
  if (head.height && there) view.scroll.scrollTop = there.box.y - head.height / 2;
  if (there) view.scroll.scrollLeft = there.box.x + there.box.w / 2 - view.scroll.clientWidth / 2;
  keepAddress(view);
  saveWords(view, packet);
}

export const turned = (_, head, { at }) => ({ ...emptied(head), at });

// ---------------------------------------------------------------- words

function fill(view, sources, targets) {
  const [below, above] = view.head.special, total = sources.length + targets.length;
  const row = (element, words, side, name) => {
    element.dir = backwards(words) ? "rtl" : "ltr";
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", name || (side === "source" ? say("Words looked at") : say("Words")));
    const label = name ? [make("span", "quiet name")] : [];
    if (name) label[0].textContent = name;
    const list = words.map((word, index) => wordButton(view, word, side, index, (side === "source" ? above : below).includes(index), total));
    element.replaceChildren(...label, ...list.map((w) => w.button));
    element.hidden = !words.length;
    return list;
  };
  const [upper, lower] = view.head.names;
  view.sources = row(view.upper, sources, "source", upper);
  view.targets = row(view.lower, targets, "target", lower);
  view.ghosts = (view.head.after ?? []).map(([word, chance], index) => ghostButton(view, word, chance, index));
  view.lower.append(...view.ghosts.map((w) => w.button));
  view.root.dataset.words = JSON.stringify([sources, targets]);
}

function wordButton(view, word, side, index, special, total) {
  const go = () => touch(view, side, index, true), box = button(null, special ? "word special" : "word", "", go);
  const text = make("span", "text", box);
  box.append(" ");   // a word and its share are two words to whoever hears them
  const share = make("span", "share", box);
  const whole = visible(word), short = cut(whole, 18);
  text.textContent = short;
  text.dir = "auto";
  if (short !== whole) box.title = whole;
  share.setAttribute("aria-hidden", "true");
  share.dir = "ltr";   // "over 99%" in a row of Arabic too
  box.dataset.side = side;
  box.dataset.index = index;
  box.onpointerenter = (event) => { if (event.pointerType === "mouse") go(); };
  box.onfocus = () => { if (box.matches(":focus-visible")) go(); };
  box.onkeydown = (event) => walk(view, event, side, index);
  return { button: box, text, share, whole, word, few: total <= 24, box: null };
}

/** A word that could follow: fainter, with its probability; where Python listens, a touch writes it, with those before it. */
function ghostButton(view, word, chance, index) {
  const write = () => tellPython(view, "write", [index]), silent = view.component.silent;
  const box = silent ? make("span", "word ghost") : button(null, "word ghost", "", write);
  const text = make("span", "text", box), share = make("span", "share", box);
  text.textContent = cut(visible(word), 18);
  text.dir = "auto";
  share.textContent = chance;
  share.setAttribute("aria-hidden", "true");
  if (silent) box.setAttribute("role", "img");
  else box.title = index ? say("Write up to here") : say("Write it");
  box.setAttribute("aria-label", silent ? say("Could follow: {word}, {chance}", { word, chance }) : say("Could follow: {word}, {chance}. {act}", { word, chance, act: box.title }));
  return { button: box, text };
}

function walk(view, event, side, index) {
  const list = side === "source" ? view.sources : view.targets;
  const other = side === "source" ? view.targets : view.sources;
  const rtl = (side === "source" ? view.upper : view.lower).dir === "rtl";
  const next = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1 }[event.key];
  let goal = null;
  if (next) goal = list[index + next];
  else if (event.key === "Home") goal = list[0];
  else if (event.key === "End") goal = list.at(-1);
  else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const middle = list[index].box.x + list[index].box.w / 2;
    const nearest = (words) => words.reduce((best, w) => {
      const far = (v) => Math.abs(v.box.x + v.box.w / 2 - middle);
      return !best || far(w) < far(best) ? w : best;
    }, null);
    const down = event.key === "ArrowDown", y = list[index].box.y;
    const beyond = [...list, ...other].filter((w) => (down ? w.box.y > y + 4 : w.box.y < y - 4));
    const edge = down ? Math.min(...beyond.map((w) => w.box.y)) : Math.max(...beyond.map((w) => w.box.y));
    goal = nearest(beyond.filter((w) => Math.abs(w.box.y - edge) < 4));
  } else return;
  hold(event);
  if (goal) { goal.button.focus({ preventScroll: false }); touch(view, goal.button.dataset.side, Number(goal.button.dataset.index), true); }
}

// ---------------------------------------------------------------- size

/** The largest type in which each row fits one line; below the smallest comfortable one the rows wrap. */
function fit(view) {
  const { root, stage } = view, width = root.clientWidth;
  if (!width) return;
  const lists = [view.sources, [...view.targets, ...view.ghosts]].filter((list) => list.length);
  probe.font = `500 100px ${view.theme.heading}`;
  const ems = lists.map((list) => list.reduce((sum, w) => {
    const size = w.button.classList.contains("special") ? 0.62 : 1;
    return sum + (probe.measureText(w.text.textContent).width / 100) * size + 0.62;
  }, 0));
  const phone = width < 560, longest = Math.max(1, ...ems), many = Math.max(...lists.map((l) => l.length), 0);
  const most = Math.min(34, 22 + width / 70), least = phone ? 18 : 17;
  let size = Math.min(most, (width - 4) / longest), flow = "line";
  if (view.one) {
    size = Math.min(most, phone && many > 12 ? 21 : many > 60 ? 20 : many > 25 ? 24 : 30);
    flow = longest * size > width - 4 ? "wrap" : "line";
  } else if (size < least) {
    flow = many > 40 && Math.min(...lists.map((l) => l.length)) * 2 > many ? "scroll" : "wrap";   // in a wide canvas a short row would be out of sight
    size = phone ? 17 : 20;
  }
  view.rise = Math.round(size * (phone ? 0.7 : 0.85));
  [view.upper, view.lower].forEach((row, i) => {       // wrapped lines of about one length
    const ems_ = ems[lists.length - 2 + i], count = Math.ceil((ems_ * size) / width);
    row.style.maxWidth = flow === "wrap" && !view.one && count > 1 ? `${Math.min(width, (ems_ * size) / count + size * 4)}px` : "";
  });
  root.dataset.room = flow === "line" && (width - longest * size) / 2 > 90 ? "wide" : phone ? "none" : "narrow";
  root.dataset.flow = flow;
  root.dataset.layout = view.head.layout;
  root.style.setProperty("--size", `${size.toFixed(2)}px`);
  root.style.setProperty("--gap", `${Math.round(Math.max(84, Math.min(150, width * 0.13, 300)) * (flow === "wrap" ? 0.9 : 1))}px`);
  root.style.setProperty("--rise", `${view.rise}px`);
  const home = stage.getBoundingClientRect(), times = enlarged();
  for (const w of [...view.sources, ...view.targets]) {
    const box = w.button.getBoundingClientRect();
    w.box = { x: (box.left - home.left) / times, y: (box.top - home.top) / times, w: box.width / times, h: box.height / times };
  }
  view.lines = { source: linesOf(view.sources), target: linesOf(view.targets) };
}

// ---------------------------------------------------------------- touch

function touch(view, side, index, byHand) {
  const { matrix, rows, sources, targets, root } = view;
  const list = side === "source" ? sources : targets;
  if (!list[index]) { speak(view.sentence, view.head.say.empty, {}); paint(view); return; }
  view.touched = { side, index };
  if (byHand) pointOthers(view, view.touched, WORD);
  const shares = new Map();
  const at = (row, key) => matrix.values[row * matrix.cols + key];
  if (side === "target") {
    const seen = view.one ? targets : sources;
    if (rows[index] >= 0) for (let key = 0; key < matrix.cols; key++) if (matrix.allowed[rows[index] * matrix.cols + key]) shares.set(seen[key], at(rows[index], key));
  } else {
    rows.forEach((row, target) => { if (row >= 0 && matrix.allowed[row * matrix.cols + index]) shares.set(targets[target], at(row, index)); });
  }
  const shown = new Set([...shares].filter(([, w]) => w >= CLEAR).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([w]) => w));
  for (const w of [...sources, ...targets]) {
    const weight = shares.get(w), on = w === list[index], shaded = weight >= 0.01;
    const colour = view.theme.sequential[Math.round(Math.min(1, Math.max(0, weight || 0)) * 255)];
    w.button.style.background = shaded ? css(colour) : "";
    w.button.style.color = shaded ? inkOn(colour, view.theme) : "";
    w.share.textContent = shown.has(w) ? percent(weight) : "";
    w.button.setAttribute("aria-pressed", String(on));
    w.button.tabIndex = w.few || on ? 0 : -1;
    const label = weight === undefined ? w.whole : `${w.whole}, ${percent(weight)}`;
    w.button.setAttribute("aria-label", on ? say("{word}, touched", { word: label }) : label);
  }
  if (sources.length && !sources.some((w) => w.button.tabIndex === 0)) sources[0].button.tabIndex = 0;
  if (!targets.some((w) => w.button.tabIndex === 0)) targets[0].button.tabIndex = 0;
  spreadShares(view, [...shown]);
  root.dataset.selected = index;
  root.dataset.side = side;
  tell(view, side, index, shares);
  paint(view);
  if (!byHand) return;
  remember(view, side === "source" ? `s${index}` : String(index));
  tellTouched(view, { side: side === "source" ? "key" : "query", index });
}

/** Percentages over narrow words that stand side by side are moved apart, as little as they need, and stay inside. */
function spreadShares(view, shown) {
  const labels = shown.filter((w) => w.box).map((w) => ({ w, wide: w.share.offsetWidth + 4, at: w.box.x + w.box.w / 2 })).sort((a, b) => a.w.box.y - b.w.box.y || a.at - b.at);
  const heaps = [];
  const put = (heap) => { heap.from = Math.max(0, Math.min(view.stage.offsetWidth - heap.wide, heap.wish / heap.all.length)); return heap; };
  for (const label of labels) {
    heaps.push(put({ all: [label], wide: label.wide, y: label.w.box.y, wish: label.at - label.wide / 2 }));
    for (let [left, right] = heaps.slice(-2); right && left.y === right.y && left.from + left.wide > right.from; [left, right] = heaps.slice(-2)) {
      heaps.splice(-2, 2, put({ all: [...left.all, ...right.all], wide: left.wide + right.wide, y: left.y, wish: left.wish + right.wish - left.wide * right.all.length }));
    }
  }
  for (const { all, from } of heaps) all.reduce((x, { w, wide, at }) => { w.share.style.marginLeft = `${x + wide / 2 - at}px`; return x + wide; }, from);
}

/** The sentence under the picture, made from the row (or column) of the touched word. */
function tell(view, side, index, shares) {
  const sentences = view.head.say, me = (side === "source" ? view.sources : view.targets)[index], looks = [...shares].map(([w, weight]) => ({ word: w.word, weight, self: w === me }));
  const column = side === "source", unwritten = !column && view.rows[index] < 0;
  tellLook(view, unwritten ? { ...sentences, shut: sentences.unwritten } : sentences, me.word, looks, column);
}

function paint(view) {
  if (!view.touched || !view.root.clientWidth) return;
  const pen = sharp(view.canvas, view.stage.offsetWidth, view.stage.offsetHeight);
  if (!view.targets[0]?.box) return;
  (view.one ? paintArcs : paintLines)(pen, view, view.theme, view.touched);
}
