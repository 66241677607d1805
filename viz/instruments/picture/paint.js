// The picture blended with the colours of its cells, and the cells above it.

import { css, inkOn, ladder, leftBelow, make, percent, pixels, rgb, sharp } from "../kit/common.js";
import { PALETTES } from "../kit/page/given.js";
import { part } from "../kit/page/packets.js";
import { CLEAR } from "../kit/tell.js";
import { say } from "../kit/words.js";

const HIGHEST = 440, LOW = 120, SMALL = 112, ROOM = 34, SHARES = 4;   // pixels of a picture, of one of frames, of a small one; of a cell that holds a percentage; how many do
const INK = 0.8, LINES = 0.45;   // of its strength: what is drawn on a cell does not hide its colour; on that of a difference

/** {width, height, rgb(i) -> [r, g, b]} of the picture that a packet brings. */
export function readPixels(packet) {
  const [height, width, depth] = packet.header.image, bytes = part(packet, "pixels");
  return { width, height, bytes, rgb: depth ? (i) => [bytes[3 * i], bytes[3 * i + 1], bytes[3 * i + 2]] : (i) => [bytes[i], bytes[i], bytes[i]] };
}

/** The colours of weights on this ground: on a dark one they grow lighter, in either theme. Those of differences are the page's. */
export const ladderOf = ({ head, theme }) => (isDifference(head) ? theme.diverging : ladder(PALETTES[head.ground].sequential));

export const isDifference = (head) => head.scale === "difference";

/** A weight as it is told; of differences with its sign. */
export const told = (head, weight) => (isDifference(head) ? `${weight > 0 ? "+" : weight < 0 ? "\u2212" : ""}${percent(Math.abs(weight))}` : percent(weight));

/** What a row or a column says of every key: NaN where it is masked. */
export function look({ matrix: { rows, cols, values, allowed } }, { side, index }) {
  const cell = (k) => (side === "query" ? index * cols + k : k * cols + index), n = side === "query" ? cols : rows;
  return { weights: Float32Array.from({ length: n }, (_, k) => values[cell(k)]), may: Uint8Array.from({ length: n }, (_, k) => allowed[cell(k)]) };
}

function colourOf({ ramp, head }, weight) {
  const share = isDifference(head) ? (weight / head.limit + 1) / 2 : weight / head.limit;
  return ramp[Math.round(Math.min(1, Math.max(0, share)) * 255)];
}

/** How a pixel p and the colour c of its cell become one number, of the colour channel k. */
function joining({ head, theme }) {
  if (!isDifference(head)) return head.ground === "light" ? (p, c) => ((255 - INK * (255 - p)) * c) / 255 : (p, c) => 255 - ((255 - INK * p) * (255 - c)) / 255;
  const ink = rgb(theme.text), drawn = head.ground === "light" ? (p) => 255 - p : (p) => p;
  return (p, c, k) => c + ((ink[k] - c) * LINES * drawn(p)) / 255;
}

/** The picture, each pixel multiplied with the colour of its cell on a light ground, screened with it on a dark one; of differences drawn on it in the page's ink. */
function blended(view, at) {
  const { image: { width, height, rgb }, head: { cells: [down, across], special } } = view, { weights, may } = look(view, at);
  const colours = Array.from({ length: down * across }, (_, i) => (may[special + i] && Number.isFinite(weights[special + i]) ? colourOf(view, weights[special + i]) : colourOf(view, 0)));
  const out = new Uint8ClampedArray(width * height * 4), join = joining(view);
  for (let y = 0, i = 0; y < height; y++) for (let x = 0; x < width; x++, i++) {
    const colour = colours[Math.floor((y * down) / height) * across + Math.floor((x * across) / width)], pixel = rgb(i);
    for (let c = 0; c < 3; c++) out[4 * i + c] = join(pixel[c], colour[c], c);
    out[4 * i + 3] = 255;
  }
  return pixels(out, width, height);
}

/** Sizes of the picture and of the small ones: as wide as there is room, not higher than the page has. */
export function fit(view) {
  const { root, head, image: { width, height } } = view, wide = root.clientWidth, narrow = wide < 560;
  if (!wide) return;
  view.stage.dataset.narrow = String(narrow);
  const most = Math.min(head.height ?? HIGHEST, leftBelow(root, view.stage)), beside = head.special && !narrow ? view.beside.offsetWidth + 16 : 0, room = wide - beside - 2;
  const frames = head.cells[0] === 1, times = Math.min(room / width, Math.max(most, LOW) / height);
  view.size = frames ? [room, Math.min(Math.max((room * height) / width, LOW), Math.max(most, LOW))] : [width * times, height * times];
  view.smallSize = frames ? [room, Math.max(48, Math.min(LOW / 2, (room * height) / width))] : [(SMALL * width) / Math.max(width, height), (SMALL * height) / Math.max(width, height)];
}

/** One row on a canvas of the page: the large one, or a small one. */
export function paintCells(view, canvas, index, at = { side: "query", index }) {
  const [w, h] = canvas === view.canvas ? view.size : view.smallSize, pen = sharp(canvas, w, h);
  pen.imageSmoothingEnabled = false;
  canvas.image = blended(view, at);
  pen.drawImage(canvas.image, 0, 0, w, h);
}

/** Below a small picture: what stands beside the large one, with its share of this row. */
export function tellBeside({ head, matrix, small }) {
  small.forEach((one, row) => { one.aside.textContent = head.keys.slice(0, head.special).map((name, k) => `${name} ${told(head, matrix.values[row * matrix.cols + k])}`).join(", "); });
}

/** Colour, percentage, name of each key; what is chosen is framed. */
export function shadeCells(view, at) {
  const { head, keys, theme, size } = view, { weights, may } = look(view, at), unit = size ? Math.min(size[0] / head.cells[1], size[1] / head.cells[0]) : 0;
  if (!size) return;
  if (!view.stage.hidden) paintCells(view, view.canvas, at.index, at);
  Object.assign(view.frame.style, { width: `${size[0]}px`, height: `${size[1]}px` });
  view.root.dataset.lines = String(unit >= 8);
  const best = unit < ROOM ? [] : [...weights.keys()].filter((i) => i >= head.special && may[i] && Math.abs(weights[i]) >= CLEAR).sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a])).slice(0, SHARES);
  keys.forEach((key, i) => {
    const shut = !may[i], bad = !shut && !Number.isFinite(weights[i]), said = shut ? say("masked") : told(head, weights[i]), me = !head.asks && i === at.index;
    key.classList.toggle("shut", shut); key.classList.toggle("bad", bad); key.classList.toggle("me", me);
    key.setAttribute("aria-selected", String(me));
    key.setAttribute("aria-label", `${head.keys[i]}${i < head.special ? "" : ","} ${said}`);   // what is seen beside the picture is said as it stands there
    key.dataset.weight = shut ? "masked" : bad ? "broken" : weights[i].toFixed(4);
    if (i >= head.special) key.replaceChildren(...(best.includes(i) ? [make("span", "share", null, said)] : []));
    else {
      const colour = shut || bad ? null : colourOf(view, weights[i]);
      key.style.background = colour ? css(colour) : "";
      key.style.color = colour ? inkOn(colour, theme) : "";
      key.lastChild.textContent = ` ${said}`;   // apart from the name for who hears or copies it
    }
  });
}
