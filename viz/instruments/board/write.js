// How numbers, formulas and cells are written.

import { css, inkOn, make } from "../kit/common.js";

const SOFT = 0.7;   // how far signed numbers go into the colours: the number itself is what one reads

/** A number with a true minus, and never "-0.00". */
export function written(value, places) {
  const text = Math.abs(value).toFixed(places), whole = Number.isInteger(value) && places === 0 ? String(Math.abs(value)) : text;
  return value < 0 && Number(text) !== 0 ? `\u2212${whole}` : whole;
}

/** A formula as text in which _ sets what follows as an index: W_Q. */
export function indexed(element, text) {
  text.split(/_([A-Za-z]+)/).forEach((piece, i) => { if (i % 2) make("sub", "", element).textContent = piece; else element.append(piece); });
}

export function show(view, cell, head, value) {
  cell.textContent = written(value, Number.isInteger(value) ? head.places : Math.max(head.places, head.edit ? 2 : 0));
  const ladder = head.scale === "weights" ? view.theme.sequential : view.theme.diverging;
  const share = head.scale === "weights" ? value : 0.5 + (SOFT / 2) * Math.max(-1, Math.min(1, value / head.limit));
  const step = Math.round(255 * Math.max(0, Math.min(1, share))), name = `${head.scale} ${step}`;
  if (!view.inks.has(name)) view.inks.set(name, [css(ladder[step]), inkOn(ladder[step], view.theme)]);
  [cell.style.backgroundColor, cell.style.color] = view.inks.get(name);
}
