// The tokenizers of the three models: byte-level BPE (GPT-2's, also the translator's) and WordPiece (BERT's).

const PIECES = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** GPT-2's letters for bytes: those that can be printed are themselves, the others come from U+0100 on. */
const LETTERS = (() => {
  const printed = (b) => (b > 32 && b < 127) || (b > 160 && b !== 173 && b < 256);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(printed(b) ? b : next++));
})();
const BYTES = new Map(LETTERS.map((letter, byte) => [letter, byte]));

const textOf = (bytes) => { try { return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes); } catch { return null; } };
const hex = (bytes) => `\u2039${[...bytes].map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ")}\u203a`;

/** {encode(text) -> ids, decode(ids) -> text, token(id) -> text} of byte-level BPE. */
function byteLevel({ tokens, merges, space, special }) {
  const ids = new Map(tokens.map((token, id) => [token, id])), ranks = new Map(merges.map(([a, b], rank) => [`${a} ${b}`, rank])), known = new Map();
  const bytesOf = (some) => Uint8Array.from([...some.join("")], (letter) => BYTES.get(letter));

  /** The tokens of one piece, in letters for bytes: again and again the pair that was merged first in training. */
  function merged(piece) {
    if (known.has(piece)) return known.get(piece);
    const parts = [...piece];
    for (;;) {
      let best = Infinity, at = -1;
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = ranks.get(`${parts[i]} ${parts[i + 1]}`);
        if (rank < best) { best = rank; at = i; }
      }
      if (at < 0) break;
      parts.splice(at, 2, parts[at] + parts[at + 1]);
    }
    const found = parts.map((part) => ids.get(part));
    known.set(piece, found);
    return found;
  }

  return {
    encode(text) {
      const whole = space && text && !text.startsWith(" ") ? ` ${text}` : text;
      return (whole.match(PIECES) ?? []).flatMap((piece) => merged(Array.from(new TextEncoder().encode(piece), (byte) => LETTERS[byte]).join("")));
    },
    decode(some) {
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytesOf(some.map((id) => tokens[id]).filter((token) => !special.includes(token))));
      return space && text.startsWith(" ") ? text.slice(1) : text;
    },
    token(id) {
      if (special.includes(tokens[id])) return tokens[id];
      const bytes = bytesOf([tokens[id]]);
      return textOf(bytes) ?? hex(bytes);
    },
  };
}

const CHINESE = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const REMOVED = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu;
const WORDS = /[!-/:-@[-`{-~\p{P}]|[^\p{White_Space}!-/:-@[-`{-~\p{P}]+/gu;
const MOST = 100;   // characters of a word; a longer one is unknown

/** The same of WordPiece, lower case and without accents; `[MASK]` in a text is the mask. */
function wordPiece({ tokens }) {
  const ids = new Map(tokens.map((token, id) => [token, id])), mask = ids.get("[MASK]"), unknown = ids.get("[UNK]");

  /** The longest tokens from the left on; a word that has none is unknown as a whole. */
  function pieces(word) {
    const letters = [...word], found = [];
    if (letters.length > MOST) return [unknown];
    for (let from = 0, to; from < letters.length; from = to) {
      let id;
      for (to = letters.length; to > from; to--) if ((id = ids.get((from ? "##" : "") + letters.slice(from, to).join(""))) !== undefined) break;
      if (id === undefined) return [unknown];
      found.push(id);
    }
    return found;
  }

  const normal = (text) => [...text.replace(REMOVED, "").replace(CHINESE, " $& ").normalize("NFD").replace(/\p{Mn}/gu, "")].map((letter) => letter.toLowerCase()).join("");
  return {
    encode: (text) => text.split("[MASK]").flatMap((some, i) => [...(i ? [mask] : []), ...(normal(some).match(WORDS) ?? []).flatMap(pieces)]),
    decode: (some) => some.map((id) => tokens[id]).join(" ").replaceAll(" ##", ""),
    token: (id) => tokens[id],
  };
}

export const tokenizer = (rules) => (rules.type === "BPE" ? byteLevel : wordPiece)(rules);
