// One head: colour by scale, exact values under the pointer, a click for Python.

const views = new WeakMap();

function mount(root, packet, component) {
  dress(root);
  let view = views.get(root);
  if (!view) {
    view = matrixView(root, { tell: (tip, at) => tell(view, tip, at), pick: (at) => choose(view, at) });
    views.set(root, view);
  }
  view.component = component;
  accept(view, packet);
  return () => { view.drawn.stop(); views.delete(root); };
}

function accept(view, packet) {
  const head = packet.header, matrix = readMatrix(packet), theme = readTheme(view.root);
  const centred = head.scale !== "pattern", limit = centred ? head.limit || 1 : 1;
  const colours = centred ? theme.diverging : theme.sequential;
  const shades = new Uint8ClampedArray(matrix.values.length * 4), broken = [];
  matrix.values.forEach((value, i) => {
    const fine = Number.isFinite(value);
    if (!fine) broken.push(i);
    const x = centred ? (value / limit + 1) / 2 : value;
    const [r, g, b] = colours[fine ? Math.round(Math.min(1, Math.max(0, x)) * 255) : 0];
    shades.set([r, g, b, 255], i * 4);
  });
  Object.assign(view, { matrix, head, centred });
  if (!view.sent || head.echo === view.sent) view.cell = head.selected;
  view.root.dataset.cell = view.cell ? view.cell.join(",") : "";
  view.root.dataset.scale = head.scale;
  view.root.dataset.range = centred ? `${-limit},${limit}` : "0,1";
  const places = limit >= 10 ? 0 : limit >= 1 ? 1 : 2;
  setMatrix(view, {
    rows: matrix.rows, cols: matrix.cols, queries: head.queries, keys: head.keys ?? head.queries, axis: head.axis,
    title: head.title, height: head.height, allowed: matrix.allowed, shades, broken, theme,
    texts: head.numbers && ((i) => (matrix.allowed[i] && Number.isFinite(matrix.values[i]) ? inCell(matrix.values[i], centred ? places : -1) : "")),
  });
  view.frame.setAttribute("aria-label", `${head.title || "Heatmap"}: ${matrix.rows} ${head.axis[0]} rows, ${matrix.cols} ${head.axis[1]} columns. Arrow keys walk over the cells, Enter chooses one.`);
  legend(view, colours, limit, broken.length, matrix, theme);
}

/** A value short enough for a cell: ".98", "1.7"; only an exact zero is written "0". */
function inCell(value, places) {
  if (value === 0) return "0";
  if (places < 0) return value.toFixed(2).replace(/^0/, "");
  return value.toFixed(places).replace(/^-(?=[0.]+$)/, "").replace("-", "\u2212");
}

function legend(view, colours, limit, broken, matrix, theme) {
  const { legend: box } = view, nice = Number(limit.toPrecision(3));
  box.replaceChildren();
  ramp(box, colours, view.centred ? `\u2212${nice}` : "0", view.centred ? `${nice}` : "1");
  if (matrix.allowed.includes(0)) swatch(box, "shut", "forbidden");
  if (broken) swatch(box, "cross", "not a finite number");
  if (matrix.kind === "u8") make("span", "entry", box).textContent = view.centred ? `values in steps of ${matrix.step.toPrecision(2)}` : "values in steps of 1/255";
  if (matrix.kind === "f16") make("span", "entry", box).textContent = "values to three digits";
  view.root.style.setProperty("--hatch", theme.hatch);
}

/** As many digits as were sent: float32 seven, float16 three, a byte what its step allows. */
function printed(view, value) {
  const { kind, step } = view.matrix;
  if (Number.isNaN(value)) return "not a finite number";
  if (!Number.isFinite(value)) return value > 0 ? "+\u221e" : "\u2212\u221e";
  if (kind === "u8") return `\u2248 ${value.toFixed(Math.max(0, Math.ceil(-Math.log10(step))))}`;
  return String(Number(value.toPrecision(kind === "f32" ? 7 : 3))).replace("-", "\u2212");
}

function tell(view, tip, [r, c]) {
  const i = r * view.cols + c, shut = !view.matrix.allowed[i];
  const value = shut ? "forbidden: may not be looked at" : printed(view, view.matrix.values[i]);
  view.root.dataset.value = shut ? "forbidden" : String(view.matrix.values[i]);
  speak(tip, "{query} \u2192 {key} {value}", { query: { word: view.queries[r] }, key: { word: view.keys[c] }, value });
}

function choose(view, at) {
  view.cell = at;
  view.sent = eventId();
  view.root.dataset.cell = at.join(",");
  drawOver(view);
  view.component.setStateValue("cell", { at, id: view.sent });
}
