// What the page sets beside a canvas (titles, sentences, legends, words), drawn on a pen as it stands on the screen.

import { hatching } from "../common.js";

/** Draw `element` and all in it: boxes with a colour, a frame, a ramp or hatching, and every line of text.
 *
 *  `home` is the element whose upper left corner is (0, 0) of the picture. What is hidden, for screen readers
 *  only, a canvas, a tool or marked data-unsaved is left out.
 */
export function paintElement(pen, element, home, theme) {
  const corner = home.getBoundingClientRect(), pieces = [];
  const walk = (node) => {
    if (node.nodeType === 3) { pieces.push(...linesOf(node)); return; }
    if (node.nodeType !== 1 || node.matches("canvas, .sr, .tip, .tools, .save, [hidden], [data-unsaved]")) return;
    const style = getComputedStyle(node);
    if (style.display === "none" || style.visibility === "hidden" || !node.getClientRects().length) return;
    paintBox(pen, node, style, corner, theme);
    node.childNodes.forEach(walk);
  };
  pen.save();
  walk(element);
  writeLines(pen, pieces, corner, theme);
  pen.restore();
}

const CLEAR_COLOUR = /^(transparent|rgba\(.*, 0\)|.* \/ 0\))$/;

function paintBox(pen, node, style, corner, theme) {
  const box = node.getBoundingClientRect(), x = box.left - corner.left, y = box.top - corner.top, { width: w, height: h } = box;
  const radius = Math.min(parseFloat(style.borderTopLeftRadius) || 0, w / 2, h / 2);
  const shape = (inset) => { pen.beginPath(); pen.roundRect(x + inset, y + inset, w - 2 * inset, h - 2 * inset, Math.max(0, radius - inset)); };
  if (!w || !h) return;
  if (!CLEAR_COLOUR.test(style.backgroundColor)) { pen.fillStyle = style.backgroundColor; shape(0); pen.fill(); }
  const image = style.backgroundImage;
  if (node.matches(".cross")) {
    pen.strokeStyle = theme.text; pen.lineWidth = 1.5;
    pen.beginPath(); pen.moveTo(x, y + h); pen.lineTo(x + w, y); pen.moveTo(x, y); pen.lineTo(x + w, y + h); pen.stroke();
  } else if (image.startsWith("repeating-linear-gradient")) {
    pen.fillStyle = hatching(pen, theme); shape(0); pen.fill();
  } else if (image.startsWith("linear-gradient(to right")) {
    const colours = image.match(/(rgba?|color|oklab|oklch)\([^)]*\)/g) ?? [], gradient = pen.createLinearGradient(x, 0, x + w, 0);
    colours.forEach((colour, i) => gradient.addColorStop(i / Math.max(1, colours.length - 1), colour));
    pen.fillStyle = gradient; shape(0); pen.fill();
  }
  const line = parseFloat(style.borderTopWidth);
  if (line && style.borderTopStyle === "solid" && parseFloat(style.borderLeftWidth) === line) { pen.strokeStyle = style.borderTopColor; pen.lineWidth = line; shape(line / 2); pen.stroke(); }
  const ring = /^(.*\)) 0px 0px 0px ([\d.]+)px inset$/.exec(style.boxShadow);
  if (ring) { pen.strokeStyle = ring[1]; pen.lineWidth = Number(ring[2]); shape(pen.lineWidth / 2); pen.stroke(); }
}

/** The lines of one text node: {text, left, right, top, bottom, style, block}; spaces at the ends have no width. */
function linesOf(node) {
  if (!node.data.trim()) return [];
  const style = getComputedStyle(node.parentElement), range = document.createRange(), lines = [];
  let block = node.parentElement, at = 0;
  while (getComputedStyle(block).display === "inline" && block.parentElement) block = block.parentElement;
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(node.data)) {
    range.setStart(node, at);
    at += segment.length;
    range.setEnd(node, at);
    const box = range.getBoundingClientRect(), empty = !segment.trim(), last = lines.at(-1);
    if (last && (empty || Math.abs(last.top - box.top) < box.height / 2)) {
      last.text += segment;
      if (!empty) { last.left = Math.min(last.left, box.left); last.right = Math.max(last.right, box.right); }
    } else if (!empty) lines.push({ text: (lines.length ? "" : /^\s*/.exec(node.data)[0]) + segment, left: box.left, right: box.right, top: box.top, bottom: box.bottom, style, block });
  }
  for (const line of lines) if (!style.whiteSpace.startsWith("pre")) line.text = line.text.replace(/[ \t\n\r\f]+/g, " ");
  return lines;
}

const fontOf = (style) => `${style.fontStyle === "italic" ? "italic " : ""}${style.fontWeight === "400" ? "" : `${style.fontWeight} `}${style.fontSize} ${style.fontFamily}`;

/** Text at its place, in its own font and colour. On a pen that writes SVG the pieces of one line are one text, so
 *  that the words of a sentence keep their spaces in any font. */
function writeLines(pen, pieces, corner, theme) {
  const rows = [];
  for (const piece of pieces) {
    const row = rows.at(-1), last = row?.at(-1), near = parseFloat(piece.style.fontSize) * 0.7;
    const follows = last && last.block === piece.block && Math.min(last.bottom, piece.bottom) > (piece.top + piece.bottom) / 2
      && piece.style.direction === "ltr" && Math.abs(piece.left - last.right) < near;
    if (follows) row.push(piece); else rows.push([piece]);
  }
  pen.textBaseline = "middle";
  for (const row of rows) {     // held where the page holds it: in a font of other widths nothing runs out of the paper
    const { textAlign, direction } = getComputedStyle(row[0].block);
    pen.textAlign = /^(start|left)$/.test(textAlign) && direction === "ltr" && !row[0].block.closest("button") ? "left" : "center";
    const set = ({ style }) => { pen.font = fontOf(style); pen.fillStyle = style.color; pen.direction = style.direction; };
    const drawn = pen.vector && row.length > 1 ? [{ ...row[0], right: row.at(-1).right, runs: row }] : row;
    for (const piece of drawn) {
      set(piece);
      const x = (pen.textAlign === "left" ? piece.left : (piece.left + piece.right) / 2) - corner.left, y = (piece.top + piece.bottom) / 2 - corner.top;
      if (piece.runs) pen.fillRuns(row.map((run) => ({ text: run.text, font: fontOf(run.style), colour: run.style.color })), x, y, piece.right - piece.left);
      else {
        if (piece.style.textShadow !== "none") {      // a halo keeps it readable where it crosses a line
          Object.assign(pen, { strokeStyle: theme.background, lineWidth: 4, lineJoin: "round" });
          pen.strokeText(piece.text.trim(), x, y);
        }
        pen.fillText(piece.text.trim(), x, y);
      }
    }
  }
  pen.direction = "ltr";
}
