"""Content of a SentencePiece model (`source.spm`, `target.spm`): its pieces with their scores, and its normalizer.

Its file is one protobuf message (sentencepiece_model.proto), of which the few fields are read that decide how a text is cut;
others are passed over by their length. Imports nothing of ours: the child that tries tokenizers loads this file by its path.
"""

import base64
import struct
from collections.abc import Iterator
from math import isfinite

MAX_PIECES, MAX_NAMED = 500_000, 1_000
PIECES, TRAINER, NORMALIZER, DENORMALIZER = 1, 2, 3, 5
"""Fields of the message."""
MODEL_TYPE, AS_SUFFIX, BYTES = 3, 24, 35
"""Fields of how it was trained."""
TABLE, PREFIX, SQUEEZE, ESCAPE = 2, 3, 4, 5
"""Fields of how it normalizes."""
UNIGRAM, KINDS = 1, {1: "Unigram", 2: "BPE", 3: "WORD", 4: "CHAR"}
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
BONUS = 0.1
"""By so much less than its letters' best score a piece that its maker named is worth."""
Value = int | bytes


class Unreadable(ValueError):
    """Problem of a file as a part of a sentence, with its values."""

    def __init__(self, message: str, **values: object) -> None:
        super().__init__(message.format(**values))
        self.message, self.values = message, values


def read(data: bytes) -> dict:
    """Return {"vocab": [[piece, score], ..] of a Unigram model whose first entry, "", is the unknown one; "user_defined": pieces that no
    normalizing and no cutting touches; "table": the normalizer's letters as base64; "prefix", "squeeze": whether it puts a
    space before a text, and makes one space of several}.

    Raises Unreadable: a broken file, a model of another kind than Unigram, a switch that is not computed here.

    >>> read(b"\\x0a\\x03\\x0a\\x01a")
    Traceback (most recent call last):
    core.checkpoints.safety.sentencepiece.Unreadable: it has no piece for what is unknown
    """
    pieces: list[tuple[str, float, int]] = []
    trainer: dict[int, Value] = {}
    rules: dict[int, Value] = {}
    for number, value in message_fields(data):
        if number == PIECES:
            if len(pieces) == MAX_PIECES:
                raise Unreadable("it has more than {n:,} pieces", n=MAX_PIECES)
            pieces.append(_piece(_bytes(value)))
        elif number == TRAINER:
            trainer |= dict(message_fields(_bytes(value)))
        elif number == NORMALIZER:
            rules |= dict(message_fields(_bytes(value)))
        elif number == DENORMALIZER and dict(message_fields(_bytes(value))).get(TABLE):
            raise Unreadable("it rewrites what a model wrote, which is not computed here")
    _check(pieces, trainer, rules)
    return {
        "vocab": _vocab(pieces),
        "user_defined": [piece for piece, _, kind in pieces if kind == USER],
        "table": base64.b64encode(_bytes(rules.get(TABLE, b""))).decode(),
        "prefix": bool(rules.get(PREFIX, 1)),
        "squeeze": bool(rules.get(SQUEEZE, 1)),
    }


def message_fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a protobuf message in their order: the number of each, and its value, a whole number or bytes.

    >>> list(message_fields(bytes([0x08, 0x96, 0x01, 0x12, 0x01, 0x61])))
    [(1, 150), (2, b'a')]
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind not in (0, 1, 2, 5):
            raise Unreadable("it is no SentencePiece model")
        size, at = _varint(data, at) if kind in (0, 2) else (8 if kind == 1 else 4, at)
        if kind == 0:
            yield key >> 3, size
            continue
        if at + size > len(data):
            raise Unreadable("it is cut off")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, the lowest first, and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise Unreadable("it is cut off")
        byte, position = data[position], position + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise Unreadable("it is no SentencePiece model")


def _piece(data: bytes) -> tuple[str, float, int]:
    piece, score, kind = b"", 0.0, NORMAL
    for number, value in message_fields(data):
        if number == 1:
            piece = _bytes(value)
        elif number == 2 and isinstance(value, bytes) and len(value) == 4:
            score = struct.unpack("<f", value)[0]
        elif number == 3 and isinstance(value, int):
            kind = value
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("it has a piece that is no text") from None
    if not text or not isfinite(score):
        raise Unreadable("it has a piece without a text or without a score")
    return text, score, kind


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise Unreadable("it is no SentencePiece model")
    return value


def _check(pieces: list[tuple[str, float, int]], trainer: dict[int, Value], rules: dict[int, Value]) -> None:
    kind = trainer.get(MODEL_TYPE, UNIGRAM)
    if kind != UNIGRAM:
        named = KINDS.get(kind) if isinstance(kind, int) else None
        if named is None:
            raise Unreadable("its model type is unknown, and only Unigram is read")
        raise Unreadable("its model type is {kind}, and only Unigram is read", kind=named)
    kinds = [kind for _, _, kind in pieces]
    if trainer.get(BYTES) or BYTE in kinds:
        raise Unreadable("it writes unknown letters as bytes (byte_fallback), which is not computed here")
    if trainer.get(AS_SUFFIX) or not rules.get(ESCAPE, 1):
        raise Unreadable("it marks spaces otherwise than by ▁ before a word, which is not computed here")
    if kinds.count(UNKNOWN) != 1:
        if UNKNOWN in kinds:
            raise Unreadable("it has several pieces for what is unknown")
        raise Unreadable("it has no piece for what is unknown")
    if NORMAL not in kinds or not set(kinds) <= {NORMAL, UNKNOWN, CONTROL, USER, UNUSED}:
        raise Unreadable("its pieces are not understood")
    if kinds.count(USER) > MAX_NAMED:
        raise Unreadable("its maker named more than {n:,} pieces", n=MAX_NAMED)
    if len({piece for piece, _, _ in pieces}) < len(pieces):
        raise Unreadable("a piece of it occurs twice")


def _vocab(pieces: list[tuple[str, float, int]]) -> list[list]:
    """Return the [piece, score] pairs that can occur in a text: without the unknown piece and control symbols. A
    user-defined piece gets a score that makes it win over all ways to cut it.
    """
    best = max(score for _, score, kind in pieces if kind == NORMAL)
    found: list[list] = [["", best]]
    for piece, score, kind in pieces:
        if kind == USER:
            found.append([piece, len(piece.encode()) * best - BONUS])
        elif kind == NORMAL:
            found.append([piece, score])
    return found
