// The pointer, the keys, the sentence, other views, the address and Python.

/** What is touched: under the pointer, else where another view points, else what was pinned by click or key. */
function settle(view) {
  const at = view.hover ?? view.linked ?? view.pinned;
  view.touched = at && view.words[at.side][at.index] !== undefined ? at : null;
  view.looks = view.touched ? { side: view.touched.side, ...looksOf(view, view.touched.side, view.touched.index) } : null;
  const { root, touched, pinned } = view, name = (spot_) => (spot_ ? `${spot_.side}:${spot_.index}` : "");
  Object.assign(root.dataset, { touched: name(touched), pinned: name(pinned), mark: name(view.mark), beyond: "", weights: touched ? [...view.looks.top].map((w) => w.toFixed(3)).join(" ") : "" });
  drawTouched(view);
  tellTouched(view);
}

const same = (a, b) => a === b || (a && b && a.side === b.side && a.index === b.index);

function hoverAt(view, at) {
  if (same(at, view.hover)) return;
  view.hover = at;
  view.linked = view.mark = null;
  const told = at ?? view.pinned;
  say(view, told && { [told.side]: told.index });
  settle(view);
}

/** Pins a token, or lets it go when it is pinned already. */
function pin(view, at) {
  view.pinned = at && same(at, view.pinned) ? null : at;
  view.hover = view.linked = view.mark = null;
  say(view, view.pinned && { [view.pinned.side]: view.pinned.index });
  settle(view);
  view.byHand = true;
  clearTimeout(view.later);
  view.later = setTimeout(() => followLink(view), 150);
  report(view);
}

function listen(view) {
  const { pane, frame } = view, here = (event) => {
    return tokenAt(view, ...spotOn(pane, event));
  };
  pane.onpointermove = (event) => {
    if (event.pointerType !== "mouse") return;
    const at = here(event);
    pane.style.cursor = at ? "pointer" : "";
    if (at) hoverAt(view, at);
  };
  pane.onpointerleave = () => hoverAt(view, null);
  pane.onclick = (event) => { const at = here(event); if (at || view.pinned) pin(view, at); };
  frame.onkeydown = (event) => stepKey(view, event);
  view.scroller.onscroll = () => { drawLines(view); drawTouched(view); };
  view.deaf = hear(view, (at) => {
    const has = (side) => Number.isInteger(at?.[side]) && at[side] < view.words[side].length;
    view.linked = has("query") ? { side: "query", index: at.query } : has("key") ? { side: "key", index: at.key } : null;
    view.mark = has("query") && has("key") ? { side: "key", index: at.key } : null;
    settle(view);
  });
}

/** Arrows along the text walk, arrows across change the side, Enter pins, Escape lets go, digits switch heads. */
function stepKey(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target !== view.frame || !view.rows || !view.cols) return;
  const at = view.hover ?? view.touched, digit = /^Digit(\d)$/.exec(event.code)?.[1];
  const [before, after, first, second] = view.columns ? ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] : ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  const go = (side, index) => { const to = { side, index: Math.max(0, Math.min(view.words[side].length - 1, index)) }; reveal(view, to); hoverAt(view, to); };
  const step = event.key === after ? 1 : event.key === before ? -1 : 0, turn = !view.columns && at && view.fromRight[at.side] ? -1 : 1;
  if (digit !== undefined && view.names.length > 1 && view.names.includes(Number(digit))) {
    const h = view.names.indexOf(Number(digit));
    if (event.shiftKey) onlyHead(view, h); else toggleHead(view, h);
  } else if (step) { if (at) go(at.side, at.index + step * turn); else go("query", 0); }
  else if (event.key === first || event.key === second) {
    const side = SIDES.find((s) => (view.outward[s] < 0) === (event.key === first)), pos = view.pos[side];
    if (!at) return go(side, 0), eat(event);
    const from = view.pos[at.side][at.index];
    go(side, pos.reduce((best, p, i) => (Math.abs(p - from) < Math.abs(pos[best] - from) ? i : best), 0));
  } else if (event.key === "Home") go(at?.side ?? "query", 0);
  else if (event.key === "End") go(at?.side ?? "query", Infinity);
  else if (event.key === "Enter" || event.key === " ") { if (at) pin(view, at); }
  else if (event.key === "Escape" && (view.hover || view.pinned)) { view.hover = null; pin(view, null); }
  else return;
  eat(event);
}

function eat(event) {
  event.preventDefault();
  event.stopPropagation();   // a page may step with the same arrows
}

// ---------------------------------------------------------------- the sentence

function tellTouched(view) {
  const { touched, looks, names, on, head } = view, set = (template, parts = {}) => speak(view.sentence, template, parts);
  if (!view.rows || !view.cols) return set("There are no words to look at yet.");
  if (!on.size) return set("No head is shown: switch one on.");
  if (!touched) return set("Touch a word to see where it looks, or by which words it is looked at.");
  const word = { word: tokenText(view.words[touched.side][touched.index]) }, verb = head.reading ? "Reading" : "Writing", doing = verb.toLowerCase();
  const query = touched.side === "query", single = on.size === 1, far = query ? "key" : "query";
  const who = (h) => (view.single ? "this head" : headName(names[h]));
  if (!looks.open) return set(query ? `${verb} {word}, every key is masked for ${single ? "this head" : "these heads"}.` : `{word} is masked in every row.`, { word });
  if (looks.broken) return set(`${query ? "The row" : "The column"} of {word} holds ${looks.broken === 1 ? "a number that is" : `${looks.broken} numbers that are`} not finite.`, { word });
  const apart = looks.hidden >= 0.005 ? ` Hidden: ${percent(looks.hidden)} of its weight.` : "";
  const best = single ? bestOf(view, [...on][0], looks) : (query ? [...on].flatMap((h) => bestOf(view, h, looks).slice(0, 1)) : bestHeads(looks)).sort((a, b) => b.weight - a.weight);
  const clear = best.filter(({ weight }, i) => weight >= 0.05 || i === 0).slice(0, 3);
  if (!clear.length) return set(`What {word} ${query ? "attends to" : "is attended to by"} is hidden.`, { word });
  const parts = { word };
  clear.forEach((b, i) => { parts[`other${i}`] = { word: tokenText(view.words[far][b.index]) }; parts[`percent${i}`] = percent(b.weight); parts[`head${i}`] = who(b.h); });
  const listed = (piece) => clear.map((_, i) => piece(i)).join(clear.length === 2 ? " and " : ", ");
  if (query && single) return set(`${verb} {word}, ${who(clear[0].h)} gives ${listed((i) => `{percent${i}}${i ? "" : " of its attention"} to {other${i}}`)}.${apart}`, parts);
  if (query) return set(`${verb} {word}: ${listed((i) => `${who(clear[i].h)} gives {percent${i}} to {other${i}}`)}${on.size > clear.length ? "; the other heads are less clear" : ""}.${apart}`, parts);
  return set(`{word} gets most attention while ${doing} ${listed((i) => `{other${i}} ({percent${i}}${single ? "" : ` by ${who(clear[i].h)}`})`)}.${apart}`, parts);
}

/** The strongest looks of one head, largest first. */
function bestOf(view, h, looks) {
  const line = looks.weights[h];
  return [...line.keys()].filter((i) => line[i] > 0).sort((a, b) => line[b] - line[a] || a - b).slice(0, 3).map((index) => ({ h, index, weight: line[index] }));
}

/** For each token of the other side the head that looks most: a word is named once, however many heads agree. */
const bestHeads = ({ top, by }) => [...top.keys()].filter((i) => top[i] > 0).map((index) => ({ h: by[index], index, weight: top[index] }));

// ---------------------------------------------------------------- the address and Python

/** The address follows the pinned token; the server hears nothing. */
function followLink(view) {
  const name = view.head.url;
  if (!name || !view.root.isConnected) return;
  const here = new URL(location.href);
  if (view.pinned) here.searchParams.set(name, `${view.pinned.side === "key" ? "s" : ""}${view.pinned.index}`);
  else here.searchParams.delete(name);
  history.replaceState(history.state, "", here);
}

/** To Python only when the page asked for it, and only what was chosen, never what is hovered. */
function report(view) {
  if (!view.head.tell) return;
  view.sent = eventId();
  const at = view.pinned ? [SIDES.indexOf(view.pinned.side), view.pinned.index] : [];
  view.component.setStateValue("touched", { at, heads: [...view.on].sort((a, b) => a - b), names: view.names, id: view.sent });
}
