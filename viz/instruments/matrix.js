// A labelled grid of cells on canvas, shared by the heatmap and the mask editor.
//
// The sheet is as large as all cells; the two canvases are as large as what is seen of it and stick to its
// corner, so labels stay in place while cells scroll, and 512 tokens cost no more canvas than 12.

const LABEL = 13, THIN = 17;

function matrixView(root, hooks) {
  root.classList.add("matrix");
  const view = { root, hooks, zoom: 1, hover: null, cell: null };
  view.bar = make("div", "head", root);
  view.heading = make("div", "title", view.bar);
  view.tools = make("div", "tools", view.bar);
  view.frame = make("div", "frame", root);
  view.scroller = make("div", "scroller", view.frame);
  view.sheet = make("div", "sheet", view.scroller);
  view.pane = make("div", "pane", view.sheet);
  view.base = make("canvas", "", view.pane);
  view.over = make("canvas", "", view.pane);
  view.tip = make("div", "tip", view.frame);
  view.tip.setAttribute("role", "status");
  view.legend = make("div", "legend quiet", root);
  view.frame.tabIndex = 0;
  view.frame.setAttribute("role", "application");
  view.smaller = tool(view, "\u2212", "Smaller cells", () => zoom(view, 1 / 1.5));
  view.larger = tool(view, "+", "Larger cells", () => zoom(view, 1.5));
  view.drawn = keepDrawn(root, () => { place(view); drawBase(view); drawOver(view); });
  view.scroller.onscroll = () => { drawBase(view); point(view, null); };
  view.pane.onpointermove = (event) => { hooks.drag?.(cellAt(view, event)); if (event.pointerType === "mouse") point(view, cellAt(view, event)); };
  view.pane.onpointerleave = () => point(view, null);
  view.pane.onpointerdown = (event) => { if (hooks.press && event.button === 0) hooks.press(cellAt(view, event), event, view); };
  view.pane.onpointerup = view.pane.onpointercancel = () => hooks.lift?.();
  view.pane.onclick = (event) => { const at = cellAt(view, event); point(view, at); if (at) hooks.pick(at); };
  view.frame.onkeydown = (event) => steer(view, event);
  view.frame.onblur = () => point(view, null);
  return view;
}

function tool(view, text, label, act) {
  const button = make("button", "tool", view.tools);
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-label", label);
  if (label !== text) button.title = label;
  button.onclick = act;
  return button;
}

/** New contents: {rows, cols, queries, keys, axis, title, height, shades, allowed, broken, texts, theme}. */
function setMatrix(view, contents) {
  const size = `${contents.rows}x${contents.cols}`;
  if (view.size !== size) { view.zoom = 1; view.hover = null; view.size = size; }
  Object.assign(view, contents);
  view.heading.textContent = contents.title;
  view.queryNames = contents.queries.map((w) => cut(visible(w), 16));
  view.keyNames = contents.keys.map((w) => cut(visible(w), 16));
  view.image = document.createElement("canvas");
  view.image.width = Math.max(1, view.cols); view.image.height = Math.max(1, view.rows);
  recolour(view, contents.shades);
  place(view); drawBase(view); drawOver(view);
}

/** `shades` is RGBA of every cell, row after row; the runs of forbidden cells are found again. */
function recolour(view, shades) {
  if (!view.rows || !view.cols) return;
  view.shades = shades;
  view.image.getContext("2d").putImageData(new ImageData(shades, view.cols, view.rows), 0, 0);
  view.shut = [];
  for (let r = 0; r < view.rows; r++) {
    for (let c = 0, from = -1; c <= view.cols; c++) {
      const shut = c < view.cols && !view.allowed[r * view.cols + c];
      if (shut && from < 0) from = c;
      if (!shut && from >= 0) { view.shut.push([r, from, c]); from = -1; }
    }
  }
}

function zoom(view, factor) {
  view.zoom = Math.max(1, Math.min(24 / view.fitted, view.zoom * factor));
  place(view); drawBase(view); drawOver(view);
}

// ---------------------------------------------------------------- where things are

function place(view) {
  const width = view.root.clientWidth;
  if (!width || !view.rows || !view.cols) return;
  const phone = width < 560, pen = probe, { rows, cols } = view;
  pen.font = `${LABEL}px ${view.theme.font}`;
  const widest = (names) => Math.min(phone ? 84 : 130, Math.ceil(Math.max(...names.map((n) => pen.measureText(n).width))));
  const side = widest(view.queryNames), up = widest(view.keyNames);
  pen.font = `600 12px ${view.theme.font}`;
  const corner = Math.ceil(Math.max(...view.axis.map((name) => pen.measureText(`${name} \u2192`).width)));
  view.left = Math.max(side + 12, Math.min(corner + 10, 150));
  const tallest = view.height ?? (phone ? 420 : 560);
  const try_ = (top, right) => Math.min(phone ? 40 : 48, (width - view.left - right - 2) / cols, tallest / rows);
  let cell = try_(42, 6);
  view.flat = up <= cell - 6;
  view.top = Math.max(42, view.flat ? 28 : Math.ceil(up * 0.71) + 18);
  view.right = view.flat ? 6 : Math.ceil(up * 0.71) + 6;
  if (!view.flat) cell = try_(view.top, view.right);
  view.fitted = cell >= 8 ? Math.floor(cell) : cell;
  view.unit = view.fitted * view.zoom;
  view.smaller.hidden = view.larger.hidden = view.fitted >= 14;
  view.smaller.disabled = view.zoom <= 1;
  view.larger.disabled = view.unit >= 24;
  const w = view.left + cols * view.unit + view.right, h = view.top + rows * view.unit + 4;
  view.root.dataset.place = [view.left, view.top, view.unit].map((v) => v.toFixed(2)).join();   // where cells begin, for tests
  view.width = Math.min(w, width);
  view.tall = Math.min(h, view.top + tallest + 4);
  view.scroller.style.overflow = w > width + 1 || h > view.tall + 1 ? "auto" : "hidden";
  view.bar.style.width = `${Math.max(view.width, Math.min(width, 280))}px`;
  view.scroller.style.width = `${view.width}px`;
  view.scroller.style.height = `${view.tall}px`;
  view.sheet.style.width = `${w}px`;
  view.sheet.style.height = `${h}px`;
  view.seenW = view.scroller.clientWidth || view.width;
  view.seenH = view.scroller.clientHeight || view.tall;
}

function cellAt(view, event) {
  const box = view.pane.getBoundingClientRect(), { left, top, unit } = view;
  const x = event.clientX - box.left, y = event.clientY - box.top;
  if (x < left || y < top) return null;
  const c = Math.floor((x - left + view.scroller.scrollLeft) / unit), r = Math.floor((y - top + view.scroller.scrollTop) / unit);
  return r >= 0 && c >= 0 && r < view.rows && c < view.cols ? [r, c] : null;
}

const xOf = (view, c) => view.left + c * view.unit - view.scroller.scrollLeft;
const yOf = (view, r) => view.top + r * view.unit - view.scroller.scrollTop;

// ---------------------------------------------------------------- drawing

function drawBase(view) {
  if (!view.rows || !view.cols || !view.unit) return;
  const began = performance.now();
  const { left, top, unit, rows, cols, theme, seenW, seenH } = view;
  const pen = sharp(view.base, seenW, seenH), x0 = xOf(view, 0), y0 = yOf(view, 0), w = cols * unit, h = rows * unit;
  pen.save();
  pen.beginPath(); pen.rect(left, top, seenW - left, seenH - top); pen.clip();
  pen.imageSmoothingEnabled = unit * (globalThis.devicePixelRatio || 1) < 1;
  pen.drawImage(view.image, x0, y0, w, h);
  pen.beginPath();
  for (const [r, from, to] of view.shut) pen.rect(x0 + from * unit, y0 + r * unit, (to - from) * unit, unit);
  pen.fillStyle = theme.background; pen.fill();
  pen.fillStyle = hatching(pen, theme); pen.fill();
  if (unit >= 12) {
    pen.strokeStyle = theme.background; pen.lineWidth = 1;
    pen.beginPath();
    for (let c = 1; c < cols; c++) { pen.moveTo(x0 + c * unit, y0); pen.lineTo(x0 + c * unit, y0 + h); }
    for (let r = 1; r < rows; r++) { pen.moveTo(x0, y0 + r * unit); pen.lineTo(x0 + w, y0 + r * unit); }
    pen.stroke();
  }
  for (const i of view.broken ?? []) cross(pen, view, Math.floor(i / cols), i % cols);
  if (view.texts && unit >= 30) writeCells(pen, view);
  pen.strokeStyle = theme.border; pen.lineWidth = 1;
  pen.strokeRect(x0 - 0.5, y0 - 0.5, w + 1, h + 1);
  pen.restore();
  drawLabels(pen, view);
  view.root.dataset.drawn = (performance.now() - began).toFixed(2);
}

function cross(pen, view, r, c) {
  const x = xOf(view, c), y = yOf(view, r), u = view.unit, gap = u > 10 ? 4 : 0;
  pen.fillStyle = view.theme.background; pen.fillRect(x, y, u, u);
  pen.strokeStyle = view.theme.text; pen.lineWidth = u > 10 ? 1.5 : 1;
  pen.beginPath();
  pen.moveTo(x + gap, y + gap); pen.lineTo(x + u - gap, y + u - gap);
  pen.moveTo(x + u - gap, y + gap); pen.lineTo(x + gap, y + u - gap);
  pen.stroke();
}

function writeCells(pen, view) {
  pen.font = `12px ${view.theme.font}`; pen.textAlign = "center"; pen.textBaseline = "middle";
  for (let r = 0; r < view.rows; r++) for (let c = 0; c < view.cols; c++) {
    const i = r * view.cols + c, text = view.texts(i);
    if (!text) continue;
    pen.fillStyle = inkOn([...view.shades.slice(i * 4, i * 4 + 3)], view.theme);
    pen.fillText(text, xOf(view, c) + view.unit / 2, yOf(view, r) + view.unit / 2 + 0.5);
  }
}

function label(pen, view, axis, i, strong) {
  const { theme, left, top, unit } = view, row = axis === "query", name = row ? view.queryNames[i] : view.keyNames[i];
  const most = row ? left - 12 : 130, turned = !row && !view.flat;
  pen.save();
  pen.font = `${strong ? "600 " : ""}${LABEL}px ${theme.font}`;
  pen.textBaseline = "middle";
  pen.textAlign = row ? "right" : turned ? "left" : "center";
  if (row) pen.translate(left - 8, yOf(view, i) + unit / 2);
  else pen.translate(xOf(view, i) + unit / 2, turned ? top - 7 : top - 14);
  if (turned) pen.rotate(-Math.PI / 4);
  if (strong) {                       // covers the label beneath, and its neighbours where they are dense
    const width = Math.min(pen.measureText(name).width, most) + 8, x = row ? 4 - width : turned ? -4 : -width / 2;
    pen.fillStyle = theme.background;
    pen.beginPath(); pen.roundRect(x, -10, width, 20, 5); pen.fill();
    if (unit < THIN) { pen.strokeStyle = theme.border; pen.lineWidth = 1; pen.stroke(); }
  }
  pen.fillStyle = strong ? theme.text : css(rgb(theme.text), 0.78);
  pen.fillText(name, 0, 0, most);
  pen.restore();
}

function drawLabels(pen, view) {
  const { left, top, unit, rows, cols, seenW, seenH, theme } = view, every = Math.max(1, Math.ceil(THIN / unit));
  pen.save();
  pen.beginPath(); pen.rect(0, top - 5, left, seenH - top + 5); pen.clip();
  for (let r = 0; r < rows; r += every) if (yOf(view, r) > top - unit && yOf(view, r) < seenH) label(pen, view, "query", r, false);
  pen.restore();
  pen.save();
  pen.beginPath(); pen.rect(left - 4, 0, seenW - left + 4, top); pen.clip();
  for (let c = 0; c < cols; c += every) if (xOf(view, c) > left - unit * 0.9 && xOf(view, c) < seenW) label(pen, view, "key", c, false);
  pen.restore();
  pen.font = `600 12px ${theme.font}`; pen.fillStyle = css(rgb(theme.text), 0.62);
  pen.textBaseline = "middle"; pen.textAlign = "right";
  pen.fillText(`${view.axis[1]} \u2192`, left - 8, top - 30, left - 8);
  pen.fillText(`${view.axis[0]} \u2193`, left - 8, top - 13, left - 8);
}

function drawOver(view) {
  if (!view.unit) return;
  const { theme, left, top, unit, rows, cols, seenW, seenH } = view, pen = sharp(view.over, seenW, seenH);
  const outline = ([r, c], colour, width) => {
    const grow = unit < 10 ? 2 : 0;
    pen.lineWidth = width + 2; pen.strokeStyle = theme.background;
    pen.strokeRect(xOf(view, c) - grow, yOf(view, r) - grow, unit + grow * 2, unit + grow * 2);
    pen.lineWidth = width; pen.strokeStyle = colour;
    pen.strokeRect(xOf(view, c) - grow, yOf(view, r) - grow, unit + grow * 2, unit + grow * 2);
  };
  for (const at of [view.cell, view.hover]) if (at) { label(pen, view, "query", at[0], true); label(pen, view, "key", at[1], true); }
  pen.save();
  pen.beginPath(); pen.rect(left - 3, top - 3, seenW - left + 3, seenH - top + 3); pen.clip();
  if (view.hover) {
    const [r, c] = view.hover;
    pen.strokeStyle = css(rgb(theme.text), 0.5); pen.lineWidth = 1;
    pen.strokeRect(xOf(view, 0) - 0.5, yOf(view, r) - 0.5, cols * unit + 1, unit + 1);
    pen.strokeRect(xOf(view, c) - 0.5, yOf(view, 0) - 0.5, unit + 1, rows * unit + 1);
  }
  if (view.cell) outline(view.cell, theme.text, 2);
  if (view.hover) outline(view.hover, theme.accent ?? theme.primary, 2);
  pen.restore();
}

// ---------------------------------------------------------------- touching

function point(view, at) {
  if (String(at) === String(view.hover)) return;
  view.hover = at;
  view.root.dataset.hover = at ? at.join(",") : "";
  drawOver(view);
  view.tip.hidden = !at;
  if (!at) return;
  view.hooks.tell(view.tip, at);
  const x = xOf(view, at[1]) + view.unit, y = yOf(view, at[0]);
  const w = view.tip.offsetWidth, h = view.tip.offsetHeight, room = view.root.clientWidth;
  view.tip.style.left = `${Math.max(0, x + w + 12 < room ? x + 10 : x - view.unit - w - 10)}px`;
  view.tip.style.top = `${y - h - 8 > 0 ? y - h - 8 : y + view.unit + 8}px`;
}

function steer(view, event) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const at = view.hover ?? view.cell ?? [0, 0];
  if (event.target !== view.frame || !view.rows || !view.cols) return;
  if (step) {
    const go = view.hover ? [at[0] + step[0], at[1] + step[1]] : at;
    const to = [Math.max(0, Math.min(view.rows - 1, go[0])), Math.max(0, Math.min(view.cols - 1, go[1]))];
    const { scroller, unit } = view;
    scroller.scrollLeft = Math.max(Math.min(scroller.scrollLeft, to[1] * unit), (to[1] + 1) * unit - (view.seenW - view.left));
    scroller.scrollTop = Math.max(Math.min(scroller.scrollTop, to[0] * unit), (to[0] + 1) * unit - (view.seenH - view.top));
    view.scroller.onscroll(); point(view, to);
  } else if (event.key === "Enter" || event.key === " ") { if (view.hover) view.hooks.pick(view.hover, true); }
  else if (event.key === "Escape") point(view, null);
  else if (!view.hooks.key?.(event)) return;
  event.preventDefault();
  event.stopPropagation();   // a page may step with the same arrows
}
