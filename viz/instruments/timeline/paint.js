// Surprise as bars, entropy as a line, both in bits over the steps.

import { css, magnify, rgb, sharp, spotOn } from "../kit/common.js";

export const TELL = { p: "probability", surprise: "surprisal", entropy: "entropy" };

const TALL = 84 /* pixels, if the page asks for no others (present.css) */, EDGE = { left: 34, right: 8, top: 8, bottom: 18 };

function scaleOf(view) {
  const w = view.field.clientWidth, n = view.head.moments.length, tall = parseFloat(getComputedStyle(view.root).getPropertyValue("--atlas-curves")) || TALL;
  const most = Math.max(1, ...view.head.moments.flatMap(({ surprise, entropy }) => [surprise, entropy]).filter(Number.isFinite));
  const wide = Math.min(28, (w - EDGE.left - EDGE.right) / Math.max(1, n));
  return { w, n, most, wide, tall, x: (i) => EDGE.left + (i + 0.5) * wide, y: (bits) => tall - EDGE.bottom - (bits / most) * (tall - EDGE.top - EDGE.bottom) };
}

export function under(view, event) {
  const { wide, n } = scaleOf(view), step = Math.floor((spotOn(view.field, event)[0] - EDGE.left) / wide);
  return step >= 0 && step < n ? step : null;
}

export function paint(view) {
  if (!view.head || view.field.hidden || !view.field.clientWidth) return;
  magnify(view, view.field);
  const began = performance.now();
  paintCurves(view, sharp(view.canvas, view.field.clientWidth, scaleOf(view).tall));
  view.root.dataset.drawn = (performance.now() - began).toFixed(2);
}

export function paintCurves(view, pen) {
  const { head, theme, hover } = view, { w, n, most, wide, tall, x, y } = scaleOf(view), at = hover ?? head.at;
  pen.fillStyle = css(rgb(theme.text), 0.07);
  pen.fillRect(x(at) - wide / 2, EDGE.top, wide, tall - EDGE.top - EDGE.bottom);
  pen.fillStyle = css(theme.sequential[theme.dark ? 120 : 110]);
  head.moments.forEach(({ surprise }, i) => { if (Number.isFinite(surprise)) pen.fillRect(x(i) - wide * 0.35, y(surprise), wide * 0.7, y(0) - y(surprise)); });
  pen.strokeStyle = pen.fillStyle = css(theme.diverging[40]);
  pen.lineWidth = 1.75;
  pen.beginPath();
  const line = head.moments.map(({ entropy }, i) => [i, entropy]).filter(([, entropy]) => Number.isFinite(entropy));
  line.forEach(([i, entropy], k) => { if (k) pen.lineTo(x(i), y(entropy)); else pen.moveTo(x(i), y(entropy)); });
  pen.stroke();
  if (wide > 9) for (const [i, entropy] of line) { pen.beginPath(); pen.arc(x(i), y(entropy), 2.25, 0, 7); pen.fill(); }
  pen.fillStyle = theme.text;
  pen.strokeStyle = theme.border;
  pen.lineWidth = 1;
  pen.beginPath(); pen.moveTo(EDGE.left, y(0) + 0.5); pen.lineTo(w - EDGE.right, y(0) + 0.5); pen.stroke();
  pen.font = `12px ${theme.font}`;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.globalAlpha = 0.7;
  for (const bits of [0, most]) pen.fillText(bits ? most.toFixed(most < 10 ? 1 : 0) : "0", EDGE.left - 6, y(bits));
  pen.textAlign = "center";
  pen.textBaseline = "top";
  for (let i = 0, every = Math.max(1, Math.ceil(30 / wide)); i < n; i += every) pen.fillText(String(i + 1), x(i), y(0) + 4);
  pen.globalAlpha = 1;
}
