// Whose numbers a picture shows: above every saved picture, in every archive, in the file's name (origin.py says what is known).

import { css, cut, probe, readTheme, rgb, visible } from "../common.js";
import { mark, say } from "../words.js";

const TEXT_LINES = 3, NARROWEST = 360;   // lines of the text above a picture; pixels of its paper

/** {at: [1, 5]} -> "L1.H5"; {at: [1]} -> "layer 1"; several heads of one layer -> "L1.H0, L1.H2"; "" where it is no head. */
export function headOf({ at }) {
  if (!at?.length) return "";
  if (Array.isArray(at[0])) return at.map((one) => headOf({ at: one })).join(", ");
  return at.length === 1 ? say("layer {n}", { n: at[0] }) : `L${at[0]}.H${at[1]}`;
}

/** {at: [1, 5]} -> "layer 1, head 5", and so on. */
function placeOf({ at, origin }) {
  if (!at?.length) return "";
  const several = Array.isArray(at[0]), layer = several ? at[0][0] : at[0], heads = several ? at.map(([, head]) => head) : at.slice(1);
  if (origin?.joined) return say("layer {layer}, {joined} of its heads", { layer, joined: origin.joined });
  const list = heads.join(", ");
  return heads.length > 1 ? say("layer {layer}, heads {list}", { layer, list }) : heads.length ? say("layer {layer}, head {list}", { layer, list }) : say("layer {n}", { n: layer });
}

const KINDS = { self: mark("self-attention"), causal: mark("causal self-attention"), cross: mark("cross-attention") };

/** The header of the packet that a picture was drawn from. */
export const headerOf = ({ packet }) => packet?.header ?? {};

/** {title, whose, text}: the three things that stand above a saved picture; what is not known is empty. */
export function heading(header, { name = header.title || header.caption || "", at = header.at } = {}) {
  const { page, model, text, called, second_text: beside, kind, changed } = header.origin ?? {}, quote = (words) => `\u201c${visible(cut(words, 400))}\u201d`;
  const whose = [model, KINDS[kind] ? say(KINDS[kind]) : kind, model ? placeOf({ ...header, at }) : "", changed].filter(Boolean).join(", ");
  return { title: name, whose: whose || (page ? `Attention Atlas: ${page}` : ""), text: text ? (called ?? quote(text)) + (beside ? ` \u2192 ${quote(beside)}` : "") : "" };
}

/** Words in lines of at most `width` pixels, at most `most` of them; a word that is longer is cut. */
function wrapped(words, font, width, most) {
  const lines = [""];
  probe.font = font;
  for (const word of words.split(" ")) {
    const line = lines.at(-1), longer = line ? `${line} ${word}` : word;
    if (!line || probe.measureText(longer).width <= width) lines[lines.length - 1] = longer; else lines.push(word);
  }
  const fit = (line) => { while (line.length > 1 && probe.measureText(line).width > width) line = cut(line, [...line].length - 1); return line; };
  return (lines.length > most ? [...lines.slice(0, most - 1), `${lines[most - 1]}\u2026`] : lines).map(fit);
}

/** The picture of `spec` as it is saved, {size, paint}: with its title, whose numbers it shows and the text above it. */
export function sheet(view, spec) {
  const theme = readTheme(view.root), { title, whose, text } = heading(headerOf(spec), spec), [w, h] = spec.size(), wide = Math.max(w, NARROWEST);
  const quiet = css(rgb(theme.text), 0.75), bar = spec.bar?.getBoundingClientRect(), gone = bar?.height ? bar.bottom - view.root.getBoundingClientRect().top : 0;
  const rows = [[title, `600 15px ${theme.font}`, theme.text, 20, 2], [whose, `13px ${theme.font}`, quiet, 18, 2], [text, `13px ${theme.font}`, quiet, 18, TEXT_LINES]]
    .filter(([words]) => words).flatMap(([words, font, colour, high, most]) => wrapped(words, font, wide, most).map((line) => ({ line, font, colour, high })));
  const top = rows.length ? rows.reduce((sum, { high }) => sum + high, 10) : 0;
  const paint = (pen) => {
    pen.save();
    for (const { line, font, colour, high } of rows) {
      Object.assign(pen, { font, fillStyle: colour, textAlign: "left", textBaseline: "middle" });
      pen.fillText(line, 0, high / 2);
      pen.translate(0, high);
    }
    if (rows.length) pen.translate(0, 10);
    pen.translate(0, -gone);
    if (spec.bar) spec.bar.dataset.unsaved = "";   // its title is above, at its place it would cover that
    try { spec.paint(pen); } finally { if (spec.bar) delete spec.bar.dataset.unsaved; }
    pen.restore();
  };
  return { size: [wide, top + h - gone], paint, title: [title, whose].filter(Boolean).join(", ") };
}

/** What an archive says of its numbers: title, model, text, kind, layer, head, each an array without axes. */
export function named(header, spec) {
  const { title } = heading(header, spec), { joined, second_text: beside, called, ...known } = header.origin ?? {}, { at = header.at ?? [] } = spec, words = (values) => ({ shape: [], values: [values] });
  const number = (values) => (values.length === 1 ? { shape: [], values: Int32Array.from(values) } : { shape: [values.length], values: Int32Array.from(values) });
  const places = Array.isArray(at[0]) ? at : at.length ? [at] : [], layers = [...new Set(places.map(([layer]) => layer))], heads = places.map(([, head]) => head).filter((head) => head !== undefined);
  return {
    ...Object.fromEntries(Object.entries({ title, ...known, written_or_second_text: beside, joined }).filter(([, value]) => value).map(([name, value]) => [name, words(value)])),
    ...(layers.length && { layer: number(layers) }), ...(heads.length && { head: number(heads) }),
  };
}

/** "cross-attention, L1.H5: the aligner" -> "gpt-mini-cross-attention-l1-h5-the-aligner": letters and digits of any script, at most 80. */
export function fileName(header, spec) {
  const { model = "", kind = "" } = header.origin ?? {}, { title } = heading(header, spec), head = headOf({ at: spec.at ?? header.at });
  const said = [model, kind, title.includes(head) ? "" : head, title].filter(Boolean).join(" ");
  return [...said.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-|-$/g, "")].slice(0, 80).join("").replace(/-$/, "") || "attention";
}

/** Runs `work` while what the page says of "this head" says its name: on paper nobody knows which one this is. */
export function withNames(view, header, work) {
  const name = headOf(header), walker = document.createTreeWalker(view.root, NodeFilter.SHOW_TEXT), changed = [];
  while (name && walker.nextNode()) {
    const node = walker.currentNode, before = node.data;
    if (before.includes(say("this head"))) { changed.push([node, before]); node.data = before.replaceAll(say("this head"), name); }
  }
  try { return work(); } finally { for (const [node, before] of changed) node.data = before; }
}
