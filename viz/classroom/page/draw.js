// The lecturer's pictures, drawn as in the app: an instrument by its own modules, a chart by the Vega that Streamlit serves.
const box = (globalThis.attentionAtlas = { parts: new Map(), modules: new Map(), tell() {} });   // tell: nothing goes to Python from here
const still = { data: null, parentElement: document.body, silent: true, setStateValue() {}, setTriggerValue() {} };   // silent: what needs an answer of Python is no button
const roots = new Map(), placed = new Set(), turns = new Map(), latest = new Map();
const stillOpen = new Map();

const inflated = async (bytes) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
const decoded = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** A part once: from the stream where it came along, else asked for. */
async function part(id, [text, deflated], code) {
  if (!box.parts.has(id)) {
    if (!stillOpen.has(id)) stillOpen.set(id, (async () => {
      let bytes = text === null ? null : decoded(text);
      if (!bytes) {
        const answer = await fetch(`room/${code}/part/${id}`);
        if (!answer.ok) throw new Error(`part ${id}: ${answer.status}`);
        bytes = new Uint8Array(await answer.arrayBuffer());
      }
      box.parts.set(id, deflated ? await inflated(bytes) : bytes);
    })().finally(() => stillOpen.delete(id)));
    await stillOpen.get(id);
  }
  return box.parts.get(id);
}

/** The places of these pictures, in their order; those of others go. */
export function arrange(home, keys) {
  for (const [key, root] of roots) if (!keys.includes(key) && !placed.has(key)) { root.remove(); roots.delete(key); latest.delete(key); }
  keys.forEach((key, at) => {
    if (!roots.has(key)) roots.set(key, document.createElement("div"));
    if (home.children[at] !== roots.get(key)) home.insertBefore(roots.get(key), home.children[at] ?? null);
    if (latest.has(key)) draw(latest.get(key).told, latest.get(key).code);
  });
}

/** The place of one picture, on a page that has a place of its own for each. */
export const place = (key, root) => { placed.add(key); roots.set(key, root); };

export const isDrawn = () => latest.size > 0;

const SOON = 2000, LATE = 60000;   // milliseconds until what could not be fetched is asked for again: each time twice as long, up to a minute
let lost = 0;   // a browser keeps in mind that a module did not come, but not under another name

/** Draw a picture in its place; one that a newer one has overtaken is let go, one that the connection kept back is tried again. */
export const draw = (told, code, after = SOON) => drawn(told, code).catch((error) => {
  console.warn(error);
  setTimeout(() => latest.get(told.key)?.told === told && draw(told, code, Math.min(2 * after, LATE)), after);
});

async function drawn(told, code) {
  const turn = (turns.get(told.key) ?? 0) + 1, root = roots.get(told.key);
  turns.set(told.key, turn);
  latest.set(told.key, { told, code });
  if (!root) return;   // the view that names it comes next
  if (told.chart) return chart(root, told);
  const parts = new Map(await Promise.all(Object.entries(told.parts).map(async ([id, how]) => [id, await part(id, how, code)])));
  if (turns.get(told.key) !== turn) return;
  const { header } = told, source = [parts.get(header.kit), parts.get(header.code)];
  if (!box.modules.has(header.code)) box.modules.set(header.code, import(URL.createObjectURL(new Blob(source, { type: "text/javascript" }))));
  const begin = (await box.modules.get(header.code)).default;
  if (turns.get(told.key) !== turn) return;
  if (!root.shadowRoot) root.attachShadow({ mode: "open" }).append(Object.assign(document.createElement("div"), { className: "atlas" }));   // each has a sheet of its own
  begin(root.shadowRoot.querySelector(".atlas"), { header: { ...header, url: null }, parts: new Map(parts) }, told.heard ? { ...still, silent: false, setStateValue: (name, value) => told.heard[name]?.(value) } : still);
  root.dataset.drawn = told.key;
}

const dark = matchMedia("(prefers-color-scheme: dark)"), twins = JSON.parse(document.body.dataset.twins);

/** A chart comes in light colours: each swapped for its dark twin. */
function swapped(tree) {
  if (typeof tree === "string") return twins[tree] ?? tree;
  if (Array.isArray(tree)) return tree.map(swapped);
  return tree && typeof tree === "object" ? Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, swapped(value)])) : tree;
}

const pen = document.createElement("canvas").getContext("2d");

/** The words of a title in lines that are not wider than the drawing, which Vega would cut. */
function lines(words, width, { fontSize = 13, fontWeight = "bold" } = {}) {
  pen.font = `${fontWeight} ${fontSize}px Inter, sans-serif`;
  const found = [];
  for (const word of words.split(" ")) {
    const longer = found.length ? `${found.at(-1)} ${word}` : word;
    if (found.length && pen.measureText(longer).width <= width) found[found.length - 1] = longer;
    else found.push(word);
  }
  return found;
}

/** The chart with the titles of all its parts so. */
function fitted(spec, width) {
  const set = { ...spec.config?.title, ...(typeof spec.title === "object" ? spec.title : {}) };
  const text = typeof spec.title === "string" ? spec.title : spec.title?.text;
  const part = (name) => Array.isArray(spec[name]) && { [name]: spec[name].map((one) => fitted(one, name === "hconcat" ? width / spec[name].length : width)) };
  return { ...spec, ...part("layer"), ...part("vconcat"), ...part("hconcat"), ...(typeof text === "string" && { title: { ...set, text: lines(text, width, set) } }) };
}

/** Whether names along an axis cover each other, as on a narrow screen. */
function isCrowded(root) {
  return [...root.querySelectorAll(".role-axis-label")].some((axis) => {
    const boxes = [...axis.querySelectorAll("text")].map((text) => text.getBoundingClientRect()).filter(({ width }) => width);
    return boxes.some((box, i) => i && box.left < boxes[i - 1].right && boxes[i - 1].left < box.right && box.top < boxes[i - 1].bottom && boxes[i - 1].top < box.bottom);
  });
}

/** The chart with the names below it at an angle. */
function slanted(tree) {
  if (Array.isArray(tree)) return tree.map(slanted);
  if (!tree || typeof tree !== "object") return tree;
  const { datasets, ...rest } = tree, found = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, name === "data" ? value : slanted(value)]));
  if (found.x?.axis && !found.x.axis.labelAngle) found.x = { ...found.x, axis: { ...found.x.axis, labelAngle: -50, labelAlign: "right", labelBaseline: "middle", labelPadding: 6 } };
  return datasets ? { ...found, datasets } : found;
}

/** Whether a legend is wider than the drawing, which cuts it. */
function hasCutLegend(root) {
  const edge = root.querySelector("svg").getBoundingClientRect().right;
  return [...root.querySelectorAll(".role-legend text")].some((text) => text.getBoundingClientRect().right > edge + 1);
}

/** How many pixels of a word are cut by the right edge of the drawing. */
function overhang(root) {
  const edge = root.querySelector("svg").getBoundingClientRect().right;
  return Math.max(0, ...[...root.querySelectorAll("svg text")].map((text) => text.getBoundingClientRect()).filter(({ width }) => width).map(({ right }) => right - edge));
}

const ROWS = { direction: "vertical", anchor: "start" };

/** The chart with its legends one below the other, each entry on a line of its own. */
function stacked(spec) {
  const rows = (tree) => {
    if (Array.isArray(tree)) return tree.map(rows);
    if (!tree || typeof tree !== "object") return tree;
    const found = Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, ["data", "datasets"].includes(name) ? value : rows(value)]));
    return found.legend ? { ...found, legend: { ...found.legend, direction: "vertical", columns: 1 } } : found;
  };
  return { ...rows(spec), config: { ...spec.config, legend: { ...spec.config?.legend, layout: { top: ROWS, bottom: ROWS } } } };
}

async function chart(root, { chart: spec, alt, key }) {
  const name = document.body.dataset.vega;
  if (!name && !box.vega) return;
  const vega = await (box.vega ? box.vega() : import(new URL(`static/js/${name}#${lost}`, document.baseURI)).catch((error) => { lost += 1; throw error; }));   // box.vega: a lesson without a server (viz/export)
  const { embed, expressionInterpreter } = await vega.t();
  root.className = "vega";
  delete root.dataset.drawn;   // until it is drawn as it stays
  const width = Math.max(280, root.clientWidth - 16), own = spec.width === "container" || spec.width === undefined;
  const composed = ["hconcat", "vconcat", "concat", "facet", "repeat", "spec"].some((name) => name in spec);
  const draw = (tree, wide = width) => embed(root, { ...tree, ...(own && !composed ? { width: wide, autosize: { type: "fit", contains: "padding" } } : {}) },
    { actions: false, ast: true, expr: expressionInterpreter, renderer: "svg", tooltip: { disableDefaultStyle: false } });
  let shown = fitted(dark.matches ? swapped(spec) : spec, width);
  await draw(shown);
  if (hasCutLegend(root)) await draw(shown = stacked(shown));
  if (isCrowded(root)) await draw(shown = slanted(shown));
  for (let wide = width, over, pass = 0; own && !composed && pass < 4 && (over = overhang(root)) > 1; pass++) await draw(shown, wide += (1 + pass) * over + 4);
  const svg = root.querySelector("svg");   // drawn wider than the screen, so that no word is cut, it is shown smaller
  if (svg.getBoundingClientRect().width > root.clientWidth) Object.assign(svg.style, { width: "100%", height: "auto" });
  for (const [name, text] of [["role", "img"], ["aria-label", alt]]) root.setAttribute(name, text);   // Vega has written its own there
  root.removeAttribute("aria-roledescription");
  root.dataset.drawn = key;
}

/** The lecturer points: every picture of the group that can shows it. */
export function touch({ what, group, at }) {
  document.dispatchEvent(new CustomEvent(`attention-atlas-${what}`, { detail: { group, from: null, at } }));
}

dark.addEventListener("change", () => { for (const { told, code } of latest.values()) draw(told, code); });
