// How a board of the plane looks: the grid, arrows as strong as their weights, the ground coloured by what a query there would find.

import { css, cut, pixels, rgb, visible } from "../kit/common.js";
import { attend, decimal2, hull, keyNames, mixture } from "./rules.js";

const FIELD = 72;           // cells a side of the coloured ground

const onBoard = (view, side) => ([x, y]) => [(x / view.head.limit + 1) * side / 2, (1 - y / view.head.limit) * side / 2];

export function paintBoard(view, where, pen, side) {
  const to = onBoard(view, side);
  if (where === view.right) paintValues(view, pen, to, side);
  else {
    if (view.head.field && !view.head.blind && view.head.task === "attend") paintField(view, pen, side);
    paintGrid(view, pen, to, side);
    if (view.head.task === "sum") paintSum(view, pen, to); else paintKeys(view, pen, to);
  }
}

function paintGrid(view, pen, to, side) {
  const { limit } = view.head, { theme } = view;
  pen.lineWidth = 1;
  for (let v = -Math.floor(limit); v <= limit; v++) {
    pen.strokeStyle = css(rgb(theme.text), v ? 0.1 : 0.35);
    const [x, y] = to([v, v]);
    pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, side); pen.moveTo(0, y); pen.lineTo(side, y); pen.stroke();
    if (!v || Math.abs(v) === limit) continue;
    pen.fillStyle = css(rgb(theme.text), 0.6);
    pen.font = `${Math.round(12 * view.text)}px ${theme.font}`;
    pen.textAlign = "center"; pen.textBaseline = "top";
    pen.fillText(decimal2(v, 0), x, to([0, 0])[1] + 3);
    pen.textAlign = "right"; pen.textBaseline = "middle";
    pen.fillText(decimal2(v, 0), to([0, 0])[0] - 4, y);
  }
  pen.strokeStyle = css(rgb(theme.text), 0.2);
  pen.strokeRect(0.5, 0.5, side - 1, side - 1);
}

/** Every place in the colour that a query there would mix: hard look-up has sharp borders, soft look-up blends. */
function paintField(view, pen, side) {
  const { keys } = view.found, { limit, scores, drawn_score: shown } = view.head, colours = keys.map((_, i) => rgb(view.colours[i % view.colours.length]));
  const told = JSON.stringify([keys, scores[shown], limit, view.theme.dark]);
  if (view.ground?.told !== told) {
    const cells = new Uint8ClampedArray(FIELD * FIELD * 4);
    for (let r = 0; r < FIELD; r++) for (let c = 0; c < FIELD; c++) {
      const query = [((c + 0.5) / FIELD * 2 - 1) * limit, (1 - (r + 0.5) / FIELD * 2) * limit];
      cells.set([...mixture(attend(query, keys, scores[shown]).weights, colours), view.theme.dark ? 78 : 62], (r * FIELD + c) * 4);
    }
    view.ground = { told, canvas: pixels(cells, FIELD, FIELD) };
  }
  pen.drawImage(view.ground.canvas, 0, 0, side, side);
}

function arrow(pen, [x0, y0], [x1, y1], width, colour, dash = []) {
  const long = Math.hypot(x1 - x0, y1 - y0), head = Math.min(long, 7 + 1.6 * width), angle = Math.atan2(y1 - y0, x1 - x0);
  if (long < 1) return;
  pen.strokeStyle = pen.fillStyle = colour; pen.lineWidth = width; pen.lineCap = "butt";
  pen.setLineDash(dash);
  pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1 - Math.cos(angle) * head * 0.8, y1 - Math.sin(angle) * head * 0.8); pen.stroke();
  pen.setLineDash([]);
  pen.beginPath(); pen.moveTo(x1, y1);
  for (const turn of [-0.42, 0.42]) pen.lineTo(x1 - Math.cos(angle + turn) * head, y1 - Math.sin(angle + turn) * head);
  pen.closePath(); pen.fill();
}

/** A name beyond a point, away from the middle and not over another point's name, readable on any ground; kept inside the board. */
function label(view, pen, words, [x, y], strong = false, below = false, others = []) {
  const { theme, text } = view, side = pen.side ?? 1e4, size = Math.round(14 * text), [mx, my] = onBoard(view, side)([0, 0]);
  pen.font = `${strong ? 700 : 500} ${size}px ${theme.font}`;
  pen.textAlign = "left"; pen.textBaseline = "middle";
  const said = cut(visible(words), 18), wide = pen.measureText(said).width, away = y > my + 1 || below ? 1 : -1;
  const met = others.some(([ox, oy]) => ox > x + 1 && ox < x + wide + 12 && Math.abs(oy - y) < size);
  const left = Math.min(side - wide - 5, Math.max(5, x + (x < mx - 1 || met ? -wide - 6 : 8))), top = Math.min(side - size, Math.max(size, y + away * size * 0.85));
  pen.strokeStyle = theme.background; pen.lineWidth = 4; pen.lineJoin = "round";
  pen.strokeText(said, left, top);
  pen.fillStyle = theme.text;
  pen.fillText(said, left, top);
}

function paintKeys(view, pen, to) {
  const { head, found, theme } = view, names = keyNames(head), middle = to([0, 0]);
  pen.side = middle[0] * 2;
  found.keys.forEach((key, i) => arrow(pen, middle, to(key), head.blind ? 3 : 1.5 + 7 * found.weights[i], view.colours[i % view.colours.length]));
  arrow(pen, middle, to(found.query), 3, theme.text, [7, 4]);
  found.keys.forEach((key, i) => label(view, pen, names[i], to(key)));
  const at = to(found.query);
  pen.fillStyle = theme.background; pen.strokeStyle = theme.text; pen.lineWidth = 3;
  pen.beginPath(); pen.arc(...at, 8, 0, 7); pen.fill(); pen.stroke();
  label(view, pen, head.points.find(({ role }) => role === "query").name, at, true);
}

function paintValues(view, pen, to, side) {
  const { head, found, theme, values } = view, names = keyNames(head), corners = hull(values).map(to), mix = to(found.mix);
  pen.side = side;
  if (head.hull && corners.length) {
    pen.fillStyle = css(rgb(theme.text), 0.07); pen.strokeStyle = css(rgb(theme.text), 0.3); pen.lineWidth = 1;
    pen.beginPath();
    corners.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath(); pen.fill();
  }
  paintGrid(view, pen, to, side);
  values.forEach((value, i) => {
    const at = to(value), colour = view.colours[i % view.colours.length];
    pen.strokeStyle = colour; pen.lineWidth = 0.5 + 7 * found.weights[i]; pen.globalAlpha = 0.75;
    pen.beginPath(); pen.moveTo(...at); pen.lineTo(...mix); pen.stroke();
    pen.globalAlpha = 1;
    pen.fillStyle = colour;
    pen.beginPath(); pen.arc(...at, 7, 0, 7); pen.fill();
  });
  pen.fillStyle = css(mixture(found.weights, names.map((_, i) => rgb(view.colours[i % view.colours.length]))).map(Math.round));
  pen.strokeStyle = theme.text; pen.lineWidth = 2.5;
  pen.beginPath(); pen.arc(...mix, 10, 0, 7); pen.fill(); pen.stroke();
  values.forEach((value, i) => label(view, pen, head.value_names?.[i] ?? names[i], to(value)));
  label(view, pen, head.mix, mix, true, true);
}

/** The same step twice: from the word taken off to the first one, and from the other one to the sum. */
function paintSum(view, pen, to) {
  const { head, points, found, theme } = view, [from] = head.minus, [start, other] = head.plus, accent = view.colours[1];
  pen.side = to([0, 0])[0] * 2;
  const nearest = head.blind ? undefined : found.order[0]?.[0];
  if (!head.blind && from !== undefined && other !== undefined) {
    arrow(pen, to(points[from]), to(points[start]), 3, theme.primary);
    arrow(pen, to(points[other]), to(found.target), 3, theme.primary, [7, 4]);
  }
  pen.strokeStyle = accent; pen.lineWidth = 3;
  if (!head.blind) { pen.beginPath(); pen.arc(...to(found.target), 15, 0, 7); pen.stroke(); }
  points.forEach((point, i) => {
    pen.fillStyle = i === nearest ? accent : theme.text;
    pen.beginPath(); pen.arc(...to(point), 6, 0, 7); pen.fill();
  });
  const spots = points.map((point) => to(point));
  spots.forEach((spot, i) => label(view, pen, head.points[i].name, spot, i === nearest, false, spots));
}
