"""SentencePiece models and Marian's folders, written byte by byte: what they hold is known without the library that trains them."""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
LEAF = 1 << 8
MARKS = (("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL))
Piece = tuple[str, float] | tuple[str, float, int]


def table(paths: dict[bytes, str], *, units: dict[int, int] | None = None, size: int = 1024) -> bytes:
    """A double array for keys of one byte or two, as SentencePiece writes it, with the texts behind it."""
    cells, written = array("I", [0] * size), b""
    where = {}
    for text in paths.values():
        where[text] = len(written)
        written += text.encode() + b"\0"
    root = 256
    cells[0] = root << 10

    def put(place: int, byte: int, leads: int, leaf: bool) -> None:
        cells[place ^ byte] = ((place ^ byte) ^ leads) << 10 | (LEAF if leaf else 0) | byte

    free = 512
    for key, text in paths.items():
        place = root
        for i, byte in enumerate(key):
            put(place, byte, free, i == len(key) - 1)
            place, free = free, free + 256
        cells[place] = 1 << 31 | where[text]
    for place, value in (units or {}).items():
        cells[place] = value
    return len(cells.tobytes()).to_bytes(4, "little") + cells.tobytes() + written


def number(value: int) -> bytes:
    """A whole number, seven bits a byte."""
    found = b""
    while value > 0x7F:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def message(*fields: tuple[int, int | float | bytes | str]) -> bytes:
    """A protobuf message of fields (number, value)."""
    found = b""
    for at, value in fields:
        if isinstance(value, float):
            found += number(at << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            found += number(at << 3) + number(value)
        else:
            held = value.encode() if isinstance(value, str) else value
            found += number(at << 3 | 2) + number(len(held)) + held
    return found


def model(
    pieces: Sequence[Piece],
    *,
    marks: Sequence[Piece] = MARKS,
    charsmap: bytes = b"",
    trainer: Mapping[int, int] | None = None,
    rules: Mapping[int, int] | None = None,
    more: bytes = b"",
) -> bytes:
    """A model of these pieces (piece, score[, type]); `trainer` and `rules` are fields of its two specs, `more` stands behind all."""
    rows = [
        (1, message((1, piece), (2, float(score)), *((3, kind) for kind in rest)))
        for piece, score, *rest in [*marks, *pieces]
    ]
    normalizer = message((2, charsmap), *(rules or {}).items())
    return message(*rows, (2, message(*(trainer or {}).items())), (3, normalizer)) + more


def words(text: str) -> list[Piece]:
    """Pieces for the words of a text, the earlier the better, and for its letters."""
    found = [f"▁{word}" for word in dict.fromkeys(text.split())]
    letters = sorted({*text.replace(" ", "▁")} - {*found})
    return [(piece, -2.0 - n / 8) for n, piece in enumerate(found)] + [
        (letter, -9.0 - n / 8) for n, letter in enumerate(letters)
    ]


def vocabulary(*sides: Sequence[Piece], codes: Sequence[str] = ()) -> dict[str, int]:
    """A vocab.json as Opus-MT has it: the end first, the unknown piece, all pieces, the padding last."""
    pieces = dict.fromkeys(piece for side in sides for piece, *_ in side)
    return {piece: at for at, piece in enumerate(["</s>", "<unk>", *codes, *pieces, "<pad>"])}


def put(folder: Path, source: bytes, target: bytes, vocab: Mapping[str, int]) -> None:
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
