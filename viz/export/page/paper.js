// A lesson on paper: each picture is drawn once and put in its place as SVG, an instrument as its button Save makes it.
import { draw, place } from "../../classroom/page/draw.js";
import { say, speakPage } from "../../languages/words.js";
import { admitCode, load, vega } from "./parts.js";

speakPage();

const box = globalThis.attentionAtlas, at = (id) => document.getElementById(id);
box.vega = vega;
admitCode();

const EDGE = 4;   // pixels of paper around a picture

/** Wait until nothing changes in the picture for three frames. */
async function rest(root) {
  let quiet = 0;
  const watch = new MutationObserver(() => { quiet = 0; });
  for (const home of [root, root.shadowRoot].filter(Boolean)) watch.observe(home, { subtree: true, childList: true, attributes: true });
  for (let frame = 0; quiet < 3 && frame < 300; frame++) {
    quiet += 1;
    await new Promise(requestAnimationFrame);
  }
  watch.disconnect();
  for (const fade of root.shadowRoot?.getAnimations() ?? []) if (fade.effect.getComputedTiming().endTime < Infinity) fade.finish();
}

/** The SVG of an instrument; names in it (of clips, of colours) are its own on this page. */
async function graphic(number) {
  const bytes = Uint8Array.from(atob(await box.fileOf("svg", 1)), (c) => c.charCodeAt(0));
  const text = new TextDecoder().decode(bytes).replace(/(\bid="|url\(#)/g, `$1p${number}-`);
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

const CLEAR = [null, "", "none", "transparent"];

/** Cut the paper around what is drawn: what is still hidden leaves no gap, and what is there is larger. */
function trim(svg) {
  for (const ground of svg.querySelectorAll("rect[id$=paper], .background, .foreground")) {
    const invisible = ["fill", "stroke"].every((name) => CLEAR.includes(ground.getAttribute(name)));
    if (ground.localName === "rect" || invisible) ground.remove();
  }
  svg.removeAttribute("viewBox");   // else the box is one of scaled pixels
  const { x, y, width, height } = svg.getBBox(), wide = width + 2 * EDGE, high = height + 2 * EDGE;
  svg.setAttribute("viewBox", `${x - EDGE} ${y - EDGE} ${wide} ${high}`);
  return [wide, high];
}

async function picture(home, number, { pictures, parts }) {
  const told = { ...pictures[home.dataset.picture], key: String(number) }, stage = home.appendChild(document.createElement("div"));
  told.parts = Object.fromEntries(Object.entries(told.parts ?? {}).map(([id, [, deflated]]) => [id, [parts[id]?.[0] ?? null, deflated]]));
  place(told.key, stage);
  box.fileOf = null;
  await draw(told, "");
  if (!stage.dataset.drawn) throw new Error(`picture ${number}`);
  await rest(stage);
  const svg = told.chart ? stage.querySelector("svg") : box.fileOf && await graphic(number);
  if (!svg) return;   // what has nothing to save stays as it is drawn
  home.replaceChildren(svg);
  const [width, height] = trim(svg);
  for (const name of ["width", "height", "style"]) svg.removeAttribute(name);
  svg.setAttribute("role", "img");
  svg.setAttribute("preserveAspectRatio", document.body.matches(".slides") ? "xMidYMin" : "xMinYMin");
  home.style.setProperty("--wide", `${width}px`);
  home.style.setProperty("--shape", height / width);
}

/** Pictures of a slide beside each other where they are larger so. */
function arrange(box) {
  const shapes = [...box.querySelectorAll(".picture")].map((one) => Number(one.style.getPropertyValue("--shape")) || 1);
  const sum = (values) => values.reduce((total, one) => total + one, 0), { clientWidth: wide, clientHeight: high } = box;
  const down = Math.min(wide, high / sum(shapes)) ** 2 * sum(shapes), across = sum(shapes.map((shape) => 1 / shape));
  box.classList.toggle("row", shapes.length > 1 && Math.min(high, wide / across) ** 2 * across > down);
}

async function all() {
  await document.fonts.ready;
  const homes = [...document.querySelectorAll("[data-picture]")];
  const found = homes.length ? await load("pictures") : null;
  let missing = 0;
  for (const [number, home] of homes.entries()) {
    at("state").textContent = say("Drawing picture {n} of {all}", { n: number + 1, all: homes.length });
    await picture(home, number, found).catch((error) => {
      console.error(error);
      missing += 1;
      home.textContent = say("This picture could not be drawn.");
    });
  }
  document.querySelectorAll(".split .pictures").forEach(arrange);
  at("state").textContent = missing ? say("{missing} of {all} pictures could not be drawn.", { missing, all: homes.length }) : "";
  at("print").disabled = false;
  document.body.dataset.ready = "true";
}

at("print").onclick = () => print();
all();
