// Tables and numbers as files: CSV, and a NumPy archive (.npz: a stored zip of .npy files) that numpy.load reads.

import { fill, mark } from "../words.js";

/** "<f4", "<U5", ...: the dtype of a list of numbers, booleans (Uint8Array with `bool`) or words. */
function npyType({ values, bool }) {
  if (bool) return "|b1";
  if (values instanceof Float32Array) return "<f4";
  if (values instanceof Uint8Array || values instanceof Uint8ClampedArray) return "|u1";
  if (values instanceof Int32Array) return "<i4";
  if (values.length && typeof values[0] === "string") return `<U${Math.max(1, ...values.map((word) => [...word].length))}`;
  return "<f8";
}

/** {shape, values, bool} -> the bytes of one .npy file (format 1.0, row after row). */
function npy({ shape, values, bool = false }) {
  const type = npyType({ values, bool }), total = shape.reduce((product, n) => product * n, 1);
  if (total !== values.length) throw new RangeError(`${values.length} values do not fill the shape ${shape.join(" x ")}`);
  const words = type.includes("U"), width = words ? Number(type.slice(2)) : 0;
  const raw = words ? utf32(values, width) : type === "<f8" ? new Uint8Array(new Float64Array(values).buffer) : new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const axes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const said = `{'descr': '${type}', 'fortran_order': False, 'shape': (${axes}), }`;
  const header = `${said}${" ".repeat(63 - ((10 + said.length) % 64))}\n`;
  const out = new Uint8Array(10 + header.length + raw.length);
  out.set([0x93, 78, 85, 77, 80, 89, 1, 0, header.length & 255, header.length >> 8]);
  for (let i = 0; i < header.length; i++) out[10 + i] = header.charCodeAt(i);
  out.set(raw, 10 + header.length);
  return out;
}

/** Words as numpy keeps them: four bytes a character, filled up with zeros; half a pair becomes U+FFFD. */
function utf32(words, width) {
  const out = new DataView(new ArrayBuffer(words.length * width * 4));
  words.forEach((word, w) => [...word].forEach((char, c) => {
    const code = char.codePointAt(0);
    out.setUint32((w * width + c) * 4, code >= 0xd800 && code <= 0xdfff ? 0xfffd : code, true);
  }));
  return new Uint8Array(out.buffer);
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** A zip of uncompressed files, [[name, bytes], ...]; every file dated 1980-01-01, so the same numbers give the same bytes. */
export function zip(files) {
  const parts = [], index = [], coder = new TextEncoder();
  let at = 0;
  for (const [name, bytes] of files) {
    const title = coder.encode(name), crc = crc32(bytes);
    const fields = (view, from) => {     // what the entry and the index say alike
      view.setUint16(from, 20, true); view.setUint16(from + 2, 0x0800, true);
      view.setUint16(from + 8, 0x21, true); view.setUint32(from + 10, crc, true);
      view.setUint32(from + 14, bytes.length, true); view.setUint32(from + 18, bytes.length, true);
      view.setUint16(from + 22, title.length, true);
    };
    const local = new DataView(new ArrayBuffer(30)), entry = new DataView(new ArrayBuffer(46));
    local.setUint32(0, 0x04034b50, true); fields(local, 4);
    entry.setUint32(0, 0x02014b50, true); entry.setUint16(4, 20, true); fields(entry, 6); entry.setUint32(42, at, true);
    parts.push(local, title, bytes);
    index.push(entry, title);
    at += 30 + title.length + bytes.length;
  }
  const size = index.reduce((sum, piece) => sum + piece.byteLength, 0), end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true); end.setUint16(8, files.length, true); end.setUint16(10, files.length, true);
  end.setUint32(12, size, true); end.setUint32(16, at, true);
  return new Blob([...parts, ...index, end], { type: "application/zip" });
}

/** {name: {shape, values, axes?, bool?}} -> a NumPy archive; the names of the axes are arrays of their own ("weights.axes"). */
export function npz(arrays) {
  const files = [];
  for (const [name, array] of Object.entries(arrays)) {
    files.push([`${name}.npy`, npy(array)]);
    if (array.axes) files.push([`${name}.axes.npy`, npy({ shape: [array.axes.length], values: array.axes })]);
  }
  return zip(files);
}

/** The shortest decimal that reads back as the same number: a float32 needs at most nine digits. */
function decimal(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) || Math.fround(value) !== value) return String(value);
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}

/** One field: quoted where needed; a word that a spreadsheet would take for a formula stays a word. */
function csvCell(value) {
  if (typeof value === "number") return decimal(value);
  let text = String(value ?? "").replace(/\u0000/g, "\ufffd");
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows of words and numbers (or what yields them) -> the pieces of a CSV file with the mark that tells a spreadsheet that it is UTF-8. */
export function csv(rows) {
  const pieces = ["\ufeff"];
  let lines = [];
  for (const row of rows) if (lines.push(`${row.map(csvCell).join(",")}\r\n`) === 10000) { pieces.push(lines.join("")); lines = []; }
  return [...pieces, lines.join("")];
}

// ---------------------------------------------------------------- what most instruments save

/** How exactly the browser knows the numbers of `matrix` (see readMatrix), in words, English ones for a file; "" for float32. */
export function exactness(matrix, word = fill) {
  if (matrix.kind === "f32") return "";
  if (matrix.kind === "f16") return word(mark("to three digits"));
  return Math.abs(matrix.step - 1 / 255) < 1e-9 ? word(mark("in steps of 1/255")) : word(mark("in steps of {step}"), { step: Number(matrix.step.toPrecision(4)) });
}

/** The arrays of one (query, key) matrix and its two lists of words, for `arrays` of a saveMenu. */
export function matrixArrays(matrix, queries, keys, name = "weights") {
  const shape = [matrix.rows, matrix.cols], axes = ["query", "key"];
  return {
    [name]: { shape, values: matrix.values, axes },
    allowed: { shape, values: matrix.allowed, axes, bool: true },
    queries: { shape: [queries.length], values: queries },
    keys: { shape: [keys.length], values: keys },
    ...(exactness(matrix) && { exactness: { shape: [1], values: [exactness(matrix)] } }),
  };
}

/** One row a cell: where, which words, the value; the field of a forbidden cell is empty. For `rows` of a saveMenu. */
export function matrixRows(matrix, queries, keys, name = "weight") {
  const known = exactness(matrix), out = [["query position", "key position", "query", "key", known ? `${name} (${known})` : name]];
  for (let r = 0, i = 0; r < matrix.rows; r++) for (let c = 0; c < matrix.cols; c++, i++) {
    out.push([r, c, queries[r], keys[c], matrix.allowed[i] ? matrix.values[i] : ""]);
  }
  return out;
}
