// Cells to allow and forbid by clicking and dragging; each finished stroke reaches Python.

const views = new WeakMap();

function mount(root, packet, component) {
  dress(root);
  let view = views.get(root);
  if (!view) {
    view = matrixView(root, {
      tell: (tip, at) => tell(view, tip, at),
      pick: (at, byKey) => { if (byKey) { press(view, at); lift(view); } },
      press: (at, event) => { if (at) { view.pane.setPointerCapture(event.pointerId); press(view, at); } },
      drag: (at) => drag(view, at),
      lift: () => lift(view),
      key: (event) => (event.ctrlKey || event.metaKey) && event.key === "z" && (undo(view), true),
    });
    view.root.classList.add("editor");
    view.undo = tool(view, "Undo", "Undo", () => undo(view));
    view.again = tool(view, "Start again", "Start again", () => restart(view));
    views.set(root, view);
  }
  view.component = component;
  accept(view, packet);
  return () => { view.drawn.stop(); views.delete(root); };
}

function accept(view, packet) {
  const head = packet.header, [rows, cols] = head.shape;
  view.theme = readTheme(view.root);
  if (view.key !== head.base) {
    view.key = head.base;
    view.start = readRuns(part(packet, "start"), rows * cols);
    view.now = readRuns(part(packet, "now"), rows * cols);
    view.past = [];
  }
  setMatrix(view, {
    rows, cols, queries: head.queries, keys: head.keys ?? head.queries, axis: head.axis, title: head.title, height: head.height,
    allowed: view.now, shades: shades(view, rows * cols), theme: view.theme,
  });
  view.frame.setAttribute("aria-label", `${head.title || "Mask"}: ${rows} ${head.axis[0]} rows, ${cols} ${head.axis[1]} columns. Arrow keys walk, Space allows or forbids, Control Z undoes.`);
  summary(view);
}

function shades(view, total) {
  const out = new Uint8ClampedArray(total * 4), colour = view.theme.sequential[view.theme.dark ? 130 : 110];
  for (let i = 0; i < total; i++) out.set([...colour, 255], i * 4);
  return out;
}

function summary(view) {
  const total = view.now.length, open = view.now.reduce((sum, v) => sum + v, 0);
  let empty = 0;
  for (let r = 0; r < view.rows; r++) empty += view.now.subarray(r * view.cols, (r + 1) * view.cols).includes(1) ? 0 : 1;
  view.legend.replaceChildren();
  view.root.style.setProperty("--hatch", view.theme.hatch);
  const colour = css(view.theme.sequential[view.theme.dark ? 130 : 110]);
  swatch(view.legend, "", "may attend").querySelector("i").style.background = colour;
  swatch(view.legend, "shut", "forbidden");
  make("span", "entry", view.legend).textContent = `${open} of ${total} cells allowed`;
  if (empty) make("span", "entry", view.legend).textContent = empty === 1 ? "1 row allows nothing" : `${empty} rows allow nothing`;
  view.undo.disabled = !view.past.length;
  view.again.disabled = view.now.every((v, i) => v === view.start[i]);
  view.root.dataset.allowed = open;
  view.root.dataset.mask = writeRuns(view.now);
}

function refresh(view) {
  view.allowed = view.now;
  recolour(view, view.shades);
  drawBase(view); drawOver(view);
  summary(view);
}

function press(view, [r, c]) {
  view.past.push(view.now.slice());
  view.stroke = { value: view.now[r * view.cols + c] ? 0 : 1, at: [r, c] };
  drag(view, [r, c]);
}

/** Every cell on the straight way from the last one: a fast pointer leaves no holes. */
function drag(view, at) {
  if (!view.stroke || !at) return;
  const [r0, c0] = view.stroke.at, steps = Math.max(Math.abs(at[0] - r0), Math.abs(at[1] - c0), 1);
  for (let k = 0; k <= steps; k++) {
    const r = Math.round(r0 + ((at[0] - r0) * k) / steps), c = Math.round(c0 + ((at[1] - c0) * k) / steps);
    view.now[r * view.cols + c] = view.stroke.value;
  }
  view.stroke.at = at;
  refresh(view);
}

function lift(view) {
  if (!view.stroke) return;
  view.stroke = null;
  commit(view);
}

function undo(view) {
  if (!view.past.length) return;
  view.now = view.past.pop();
  refresh(view); commit(view);
}

function restart(view) {
  view.past.push(view.now);
  view.now = view.start.slice();
  refresh(view); commit(view);
}

function commit(view) {
  view.component.setStateValue("mask", { base: view.key, runs: writeRuns(view.now) });
}

function tell(view, tip, [r, c]) {
  const open = view.now[r * view.cols + c];
  speak(tip, open ? "{query} may look at {key}" : "{query} may not look at {key}", { query: { word: view.queries[r] }, key: { word: view.keys[c] } });
}
