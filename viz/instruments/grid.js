// Every head as one tile of one canvas; touching names it, clicking opens it.

const views = new WeakMap();
const SIZE = 13;

function mount(root, packet, component) {
  dress(root);
  let view = views.get(root);
  if (!view) views.set(root, (view = build(root)));
  view.component = component;
  accept(view, packet);
  return () => { view.drawn.stop(); views.delete(root); };
}

function build(root) {
  root.classList.add("heads");
  const view = { root, hover: null, chosen: null };
  view.title = make("div", "title", root);
  view.frame = make("div", "frame", root);
  view.base = make("canvas", "", view.frame);
  view.over = make("canvas", "", view.frame);
  view.tip = make("div", "tip", view.frame);
  view.tip.setAttribute("role", "status");
  view.tip.hidden = true;
  view.legend = make("div", "legend quiet", root);
  view.frame.tabIndex = 0;
  view.frame.setAttribute("role", "application");
  view.drawn = keepDrawn(root, () => { place(view); drawBase(view); drawOver(view); });
  view.frame.onpointermove = (event) => { if (event.pointerType === "mouse") point(view, tileAt(view, event)); };
  view.frame.onpointerleave = () => point(view, -1);
  view.frame.onclick = (event) => { const at = tileAt(view, event); if (at >= 0) choose(view, at); };
  view.frame.onkeydown = (event) => steer(view, event);
  view.frame.onblur = () => point(view, -1);
  return view;
}

function accept(view, packet) {
  const head = packet.header, [layers, heads] = head.size;
  view.head = head;
  view.theme = readTheme(view.root);
  view.tiles = (head.order ?? Array.from({ length: layers * heads }, (_, i) => [Math.floor(i / heads), i % heads]))
    .map(([layer, at]) => ({ layer, head: at, name: `L${layer}.H${at}`, kind: head.kinds?.[layer][at] ?? "", score: head.scores?.[layer]?.[at] }));
  if (!view.sent || head.echo === view.sent) view.chosen = head.selected;
  view.title.textContent = head.title;
  view.atlas = thumbnails(view, part(packet, "thumbs"), layers * heads);
  const runs = part(packet, "allowed");
  view.allowed = runs && readRuns(runs, head.shape[0] * head.shape[1]);
  view.frame.setAttribute("aria-label", `${head.title || "Heads"}: ${layers} layers of ${heads} heads. Arrow keys walk over the heads, Enter opens one.`);
  view.legend.replaceChildren();
  ramp(view.legend, view.theme.sequential, "0", "1");
  if (view.allowed?.includes(0)) swatch(view.legend, "shut", "forbidden");
  view.root.style.setProperty("--hatch", view.theme.hatch);
  make("span", "entry", view.legend).textContent = "rows look, columns are looked at";
  if (Math.max(...head.tokens) > 32) make("span", "entry", view.legend).textContent = "each point is the largest weight of its block";
  view.root.dataset.heads = view.tiles.length;
  mark(view);
  place(view); drawBase(view); drawOver(view);
}

/** All thumbnails in one image, one beside the other; 255 is a value that is not finite. */
function thumbnails(view, levels, count) {
  const [h, w] = view.head.shape, canvas = document.createElement("canvas");
  canvas.width = Math.max(1, w * count); canvas.height = Math.max(1, h);
  if (!w || !h) return canvas;
  const image = new ImageData(w * count, h), bad = rgb("#c2185b");
  for (let t = 0, i = 0; t < count; t++) for (let r = 0; r < h; r++) for (let c = 0; c < w; c++, i++) {
    const [red, green, blue] = levels[i] === 255 ? bad : view.theme.sequential[Math.round((levels[i] / 254) * 255)];
    image.data.set([red, green, blue, 255], (r * w * count + t * w + c) * 4);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// ---------------------------------------------------------------- where tiles are

function place(view) {
  const width = view.root.clientWidth, { head, tiles, root } = view, [layers, heads] = head.size;
  if (!width || !tiles.length) return;
  const phone = width < 560, sorted = Boolean(head.order);
  root.dataset.order = sorted ? "sorted" : "layers";
  view.left = sorted ? 0 : phone ? 28 : 72;
  view.top = sorted ? 0 : 28;
  view.gap = phone ? 6 : 12;
  view.columns = sorted ? Math.max(1, Math.floor((width + view.gap) / ((phone ? 78 : 104) + view.gap))) : heads;
  const fit = (width - view.left - view.gap * (view.columns - 1) - 4) / view.columns;
  view.side = Math.max(12, Math.floor(Math.min(fit, sorted ? 120 : 112)));
  view.lines = sorted ? (head.kinds ? 2 : 1) : head.kinds && view.side >= 72 ? 1 : 0;
  view.pitch = view.side + view.lines * 17 + (view.lines ? 6 : 0) + view.gap;
  view.rows = Math.ceil(tiles.length / view.columns);
  view.w = Math.min(width, view.left + view.columns * (view.side + view.gap) - view.gap + 4);
  view.h = view.top + view.rows * view.pitch + 2;
}

const spot = (view, i) => [view.left + 2 + (i % view.columns) * (view.side + view.gap), view.top + 2 + Math.floor(i / view.columns) * view.pitch];

function tileAt(view, event) {
  const box = view.base.getBoundingClientRect(), x = event.clientX - box.left - view.left - 2, y = event.clientY - box.top - view.top - 2;
  const column = Math.floor(x / (view.side + view.gap)), row = Math.floor(y / view.pitch);
  if (column < 0 || row < 0 || column >= view.columns) return -1;
  if (x - column * (view.side + view.gap) > view.side) return -1;
  const i = row * view.columns + column;
  return i < view.tiles.length ? i : -1;
}

// ---------------------------------------------------------------- drawing

function drawBase(view) {
  if (!view.w) return;
  const began = performance.now(), pen = sharp(view.base, view.w, view.h);
  const { theme, side, tiles, head: { shape: [h, w], size: [layers, heads], order } } = view;
  const quiet = css(rgb(theme.text), 0.72);
  pen.imageSmoothingEnabled = side * (globalThis.devicePixelRatio || 1) < Math.max(w, h);
  const veil = shutTile(view);
  tiles.forEach((tile, i) => {
    const [x, y] = spot(view, i);
    if (w && h) pen.drawImage(view.atlas, (tile.layer * heads + tile.head) * w, 0, w, h, x, y, side, side);
    if (veil) pen.drawImage(veil, x, y, side, side);
    pen.strokeStyle = theme.border; pen.lineWidth = 1;
    pen.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1);
    pen.textAlign = "center"; pen.textBaseline = "top"; pen.fillStyle = quiet;
    const lines = order ? [tile.name, tile.kind] : [tile.kind];
    lines.slice(0, view.lines).forEach((text, k) => {
      pen.font = `${order && k === 0 ? "600 " : ""}12px ${theme.font}`;
      pen.fillText(shorten(pen, text, side + view.gap - 4), x + side / 2, y + side + 6 + k * 17);
    });
  });
  if (!order) {
    pen.fillStyle = quiet; pen.font = `${SIZE}px ${theme.font}`; pen.textBaseline = "middle"; pen.textAlign = "center";
    const words = pen.measureText("Head 00").width < side + view.gap - 4;
    for (let c = 0; c < heads; c++) pen.fillText(words ? `Head ${c}` : side >= 20 || c % 2 === 0 ? (side >= 24 ? `H${c}` : String(c)) : "", spot(view, c)[0] + side / 2, 13);
    pen.textAlign = "left";
    for (let r = 0; r < layers; r++) pen.fillText(view.left < 60 ? `L${r}` : `Layer ${r}`, 0, spot(view, r * heads)[1] + side / 2);
  }
  view.root.dataset.drawn = (performance.now() - began).toFixed(2);
}

/** The forbidden cells of a tile, hatched, drawn once and stamped on each. */
function shutTile(view) {
  if (!view.allowed || !view.allowed.includes(0)) return null;
  const tile = document.createElement("canvas"), pen = sharp(tile, view.side, view.side);
  const [h, w] = view.head.shape, x = view.side / w, y = view.side / h;
  pen.beginPath();
  for (let r = 0; r < h; r++) for (let c = 0, from = -1; c <= w; c++) {
    const shut = c < w && !view.allowed[r * w + c];
    if (shut && from < 0) from = c;
    if (!shut && from >= 0) { pen.rect(from * x, r * y, (c - from) * x, y); from = -1; }
  }
  pen.fillStyle = view.theme.background; pen.fill();
  pen.fillStyle = hatching(pen, view.theme); pen.fill();
  return tile;
}

function shorten(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let n = text.length;
  while (n > 1 && pen.measureText(`${text.slice(0, n)}\u2026`).width > room) n -= 1;
  return `${text.slice(0, n)}\u2026`;
}

function drawOver(view) {
  if (!view.w) return;
  const pen = sharp(view.over, view.w, view.h), { side, theme } = view;
  const outline = (i, colour, width, out) => {
    const [x, y] = spot(view, i);
    pen.strokeStyle = colour; pen.lineWidth = width;
    pen.beginPath(); pen.roundRect(x - out, y - out, side + 2 * out, side + 2 * out, 4); pen.stroke();
  };
  const chosen = view.tiles.findIndex((t) => view.chosen && t.layer === view.chosen[0] && t.head === view.chosen[1]);
  if (chosen >= 0) outline(chosen, theme.text, 2.5, 1.75);
  if (view.hover >= 0 && view.hover !== null) outline(view.hover, theme.primary, 2, 1.5);
}

// ---------------------------------------------------------------- touching

function mark(view) { view.root.dataset.head = view.chosen ? view.chosen.join(",") : ""; }

function point(view, i) {
  if (i === view.hover) return;
  view.hover = i;
  const tile = view.tiles[i];
  view.root.dataset.hover = tile ? tile.name : "";
  view.tip.hidden = !tile;
  drawOver(view);
  view.frame.style.cursor = tile ? "pointer" : "default";
  if (!tile) return;
  const score = typeof tile.score === "number" && tile.kind ? ` ${percent(tile.score)}` : "";
  speak(view.tip, `{name}${tile.kind ? ", {kind}" : ""}{score}`, { name: tile.name, kind: { word: tile.kind }, score });
  const [x, y] = spot(view, i), w = view.tip.offsetWidth, h = view.tip.offsetHeight;
  view.tip.style.left = `${Math.max(0, Math.min(view.root.clientWidth - w, x + view.side / 2 - w / 2))}px`;
  view.tip.style.top = `${y - h - 8 > -8 ? y - h - 8 : y + view.side + 8}px`;
}

function steer(view, event) {
  const step = { ArrowUp: -view.columns, ArrowDown: view.columns, ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
  const chosen = view.tiles.findIndex((t) => view.chosen && t.layer === view.chosen[0] && t.head === view.chosen[1]);
  if (step) {
    const at = view.hover >= 0 && view.hover !== null ? view.hover + step : Math.max(0, chosen);
    if (at >= 0 && at < view.tiles.length) point(view, at);
    else if (!Number.isFinite(step)) point(view, step < 0 ? 0 : view.tiles.length - 1);
  } else if (event.key === "Enter" || event.key === " ") { if (view.hover >= 0 && view.hover !== null) choose(view, view.hover); }
  else if (event.key === "Escape") point(view, -1);
  else return;
  event.preventDefault();
  event.stopPropagation();   // a page may step with the same arrows
}

function choose(view, i) {
  const { layer, head } = view.tiles[i];
  view.chosen = [layer, head];
  view.sent = eventId();
  mark(view); drawOver(view);
  view.component.setStateValue("head", { at: view.chosen, id: view.sent });
}
