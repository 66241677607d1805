// What the controls say now, and how much of all weight the lines show.

import { css, inPercent, percent, rgb, sharp } from "../kit/common.js";
import { SIDES } from "./place.js";
import { say } from "../kit/words.js";

const pressed = (button, on) => button.setAttribute("aria-pressed", String(on));

/** A sample of the head's line in its chip: colour and dash. */
function paintChip(view, h) {
  const canvas = view.headPills[h].querySelector("canvas"), pen = sharp(canvas, 22, 10), ink = view.inks[h];
  pen.strokeStyle = view.on.has(h) ? ink.colour : css(rgb(view.theme.text), 0.3);
  pen.lineWidth = 3;
  pen.setLineDash(ink.dash);
  pen.beginPath(); pen.moveTo(0, 5); pen.lineTo(22, 5); pen.stroke();
}

/** What the controls say, after any change; also what share of all weight the lines show. */
export function showControls(view) {
  const { options, on, root } = view, narrow = root.clientWidth < 560;
  pressed(view.asColumns, view.layout === "columns");
  pressed(view.asRows, view.layout === "rows");
  const [least, most] = view.limits ?? [1, 1], can = least < 0.99;
  view.smaller.hidden = view.larger.hidden = !can;
  view.smaller.disabled = view.zoom <= least * 1.01;
  view.larger.disabled = view.zoom >= most * 0.99;
  view.fromText.textContent = say("Lines from {share}", { share: exact(options.from) });
  view.from.setAttribute("aria-valuetext", exact(options.from));
  pressed(view.hideFirst, options.hideFirst);
  pressed(view.hideSpecial, options.hideSpecial);
  view.hideSpecial.hidden = !SIDES.some((side) => view.special[side].includes(1));
  view.pairs.hidden = !view.segments;
  view.pairPills.forEach((button, p) => pressed(button, options.pairs.has(p)));
  view.headPills.forEach((chip, h) => { pressed(chip, on.has(h)); paintChip(view, h); });
  view.more.hidden = !narrow;
  fold(view);
  root.dataset.heads = [...on].sort((a, b) => a - b).map((h) => view.names[h]).join();
  account(view);
}

export function fold(view) {
  const narrow = view.root.clientWidth < 560;
  view.tools.hidden = narrow && !view.open;
  view.more.setAttribute("aria-expanded", String(!view.tools.hidden));
}

/** A share with one digit where it is small: 0.0157 -> "1.6%". */
const exact = (share) => (share > 0 && share < 0.1 ? inPercent(Number((share * 100).toFixed(1))) : percent(share));

/** Shares of one whole, in tenths of a per cent that add up to what all of them do: [0.9774, 0.0226] -> ["97.7%", "2.3%"]. */
function sharesOf(parts) {
  const down = parts.map((part) => Math.floor(part * 1000)), whole = Math.round(parts.reduce((sum, part) => sum + part, 0) * 1000);
  const order = parts.map((_, i) => i).sort((a, b) => parts[b] * 1000 - down[b] - (parts[a] * 1000 - down[a]));
  order.slice(0, whole - down.reduce((sum, part) => sum + part, 0)).forEach((i) => { down[i] += 1; });
  return down.map((part) => inPercent(part / 10));
}

/** How much of all weight is seen, and why the rest is not: nothing is left out in silence. */
function account(view) {
  const { account: a, options, heads, on, root } = view, total = [...on].reduce((sum, h) => sum + heads[h].total, 0);
  const reasons = [
    [a.first, say("on the first token, hidden")], [a.special, say("of special tokens, hidden")], [a.pair, say("between other sentences, hidden")],
    [a.faint, options.top ? say("in weaker lines") : say("in lines under {share}", { share: exact(options.from) })],
  ].filter(([share]) => share >= 0.0005);
  const [seen, ...hidden] = sharesOf([reasons.length ? 1 - reasons.reduce((sum, [share]) => sum + share, 0) : a.shown, ...reasons.map(([share]) => share)]);
  const notes = [];
  const rest = reasons.map(([, words], i) => `${hidden[i]} ${words}`).join(", ");
  if (total > 0) notes.push(rest ? say("The lines show {share} of all weight; not drawn: {rest}.", { share: seen, rest }) : say("The lines show {share} of all weight.", { share: seen }));
  const broken = [...on].reduce((sum, h) => sum + heads[h].broken, 0);
  if (broken) notes.push(broken === 1 ? say("1 weight is not a finite number and has no line.") : say("{n} weights are not a finite number and have no line.", { n: broken }));
  const steps = heads.filter(({ matrix }) => matrix.kind === "steps").map(({ matrix }) => matrix.step);
  if (steps.length) notes.push(say("Weights come in steps of {step}.", { step: Number(Math.max(...steps).toPrecision(2)) }));
  view.note.textContent = notes.join(" ");
  root.dataset.shown = a.shown.toFixed(4);
  root.dataset.hidden = [a.first, a.special, a.pair, a.faint].map((share) => share.toFixed(4)).join();
}
