// An equation from plain text: a_{ij} and e^{s_{ij}} become small letters below and above, single letters are set slanted.

import { make } from "./common.js";

const LETTER = /(?<![\p{L}\p{N}])(\p{L}[\u0300-\u036f]?)(?!\p{L})/u;
const INDEX = /(?<!\p{L})(\p{L}{1,2})(?!\p{L})/u;   // ij below a letter are two indices, not a word

/** Writes `text` into `parent`, from `at` to the bracket that closes it; gives the place behind that. */
export function typeset(parent, text, at = 0) {
  let plain = "";
  const write = () => { letters(parent, plain); plain = ""; };
  for (; at < text.length && text[at] !== "}"; at++) {
    if ((text[at] !== "_" && text[at] !== "^") || text[at + 1] !== "{") { plain += text[at]; continue; }
    write();
    at = typeset(make(text[at] === "_" ? "sub" : "sup", "", parent), text, at + 2);
  }
  write();
  return at;
}

function letters(parent, text) {
  text.split(parent.localName === "sub" ? INDEX : LETTER).forEach((piece, i) => {
    if (i % 2) make("i", "", parent).textContent = piece;
    else if (piece) parent.append(piece);
  });
}
