// What lies below the boxes of a plan: frames and arrows; the small pictures in the boxes; and how the whole is saved.

import { css, rgb } from "../kit/common.js";
import { part } from "../kit/page/packets.js";
import { paintAt, paintElement } from "../kit/save/dom_pen.js";
import { say } from "../kit/words.js";

export function paintPlan(view, pen, wide) {
  const { head, theme } = view, to = ([x, y]) => [x * wide / 100, y * head.row];
  const size = parseFloat(getComputedStyle(view.root).fontSize) * 0.82;
  for (const { corner, size: [w, h], label, left } of head.frames) {
    const [x, y] = to(corner), width = w * wide / 100, height = h * head.row;
    pen.fillStyle = css(rgb(theme.text), 0.035); pen.strokeStyle = css(rgb(theme.text), 0.35); pen.lineWidth = 1;
    pen.beginPath(); pen.roundRect(x, y, width, height, 10); pen.fill(); pen.stroke();
    pen.fillStyle = css(rgb(theme.text), 0.8);
    pen.font = `600 ${size}px ${theme.font}`;
    pen.textAlign = "center"; pen.textBaseline = "middle";
    pen.save();
    pen.translate(left ? x - size * 0.75 : x + width + size * 0.75, y + height / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(label, 0, 0);
    pen.restore();
  }
  for (const { through, strong } of head.edges) line(pen, through.map(to), css(rgb(theme.text), strong ? 0.45 : 0.62), strong ? 2.2 : 1.4);
}

/** A line with round corners and a head at its end. */
function line(pen, places, colour, width) {
  const [x1, y1] = places.at(-1), [x0, y0] = places.at(-2), angle = Math.atan2(y1 - y0, x1 - x0), head = 6;
  pen.strokeStyle = pen.fillStyle = colour; pen.lineWidth = width; pen.lineJoin = "round"; pen.lineCap = "butt";
  pen.beginPath();
  places.forEach(([x, y], i) => {
    const last = i === places.length - 1;
    const [a, b] = last ? [x1 - Math.cos(angle) * head * 0.7, y1 - Math.sin(angle) * head * 0.7] : [x, y];
    if (i) pen.lineTo(a, b); else pen.moveTo(a, b);
  });
  pen.stroke();
  pen.beginPath(); pen.moveTo(x1, y1);
  for (const turn of [-0.45, 0.45]) pen.lineTo(x1 - Math.cos(angle + turn) * head, y1 - Math.sin(angle + turn) * head);
  pen.closePath(); pen.fill();
}

/** The numbers of a box as a picture, a cell a pixel; the browser stretches it. */
export function thumb(view, button, node, i) {
  const canvas = button.lastChild;
  canvas.hidden = !node.picture;
  if (!node.picture) return;
  const [rows, cols] = node.picture, bytes = part(view.packet, `thumb.${i}`), ramp = node.centred ? view.theme.diverging : view.theme.sequential;
  const told = [view.packet.header[`thumb.${i}`], view.theme.dark].join();
  if (canvas.dataset.of === told || !bytes) return;
  canvas.dataset.of = told;
  canvas.width = cols; canvas.height = rows;
  const image = new ImageData(cols, rows);
  bytes.forEach((level, at) => image.data.set([...ramp[level], 255], 4 * at));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

export function savingDiagram(view) {
  const { head, root } = view;
  return {
    name: head.title || say("Plan"), bar: view.bar,
    size: () => [root.clientWidth, root.scrollHeight],
    header: () => ({ selected: view.shown }),
    paint: (pen) => {
      paintAt(pen, view.field, root, (wide) => paintPlan(view, pen, wide));
      paintElement(pen, root, root, view.theme);
      for (const canvas of root.querySelectorAll(".thumb:not([hidden])")) paintAt(pen, canvas, root, (wide) => { if (wide) pen.drawImage(canvas, 0, 0, wide, canvas.getBoundingClientRect().height); });
    },
    rows: () => [["box", "label", "about it"], ...head.nodes.map(({ name, label, tooltip }) => [name, label, tooltip])],
  };
}
