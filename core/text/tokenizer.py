"""One interface over the `tokenizers` library: texts to ids with their spans, and back."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from core.errors import InputError

Span = tuple[int, int] | None
LONGEST = 20_000
"""Letters of one text that are read: the places of a million letters alone would take gigabytes."""


BYTE = re.compile(r"<0x([0-9A-F]{2})>")
"""The name of a byte in a vocabulary that falls back to bytes."""


@dataclass(frozen=True)
class Encoded:
    """The tokens of one text. `spans[i]` is the (start, end) of token i in the text as typed, None for an added token.

    The pieces of one character share its span. `uncovered` lists the spans of characters that no token covers.
    `values` (token, number) are the numbers of each token where it is no word of a table: of a patch, or of a frame.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    spans: tuple[Span, ...]
    uncovered: tuple[tuple[int, int], ...] = ()
    values: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)


class Tokenizer:
    """A tokenizer that encodes text to ids with their spans, and decodes ids to text.

    `start`, `end`, `pad` and `mask` are ids (None where the model has none). Names of special tokens inside a text
    are read as letters, unless `special=True` is asked for; that of the mask (BERT's [MASK]) is meant to be typed.
    `example` is a text that can be read, as every reader has one. `rows` is how many the model's table has, where the
    vocabulary may have more tokens: a text with one of those is refused.
    """

    example = "Hello."

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        start: int | None = None,
        end: int | None = None,
        pad: int | None = None,
        mask: int | None = None,
        rows: int | None = None,
    ) -> None:
        self._backend, self._rows = backend, rows
        backend.encode_special_tokens = True
        self.start, self.end, self.pad, self.mask = start, end, pad, mask
        self._names: dict[int, str] = {}

    @cached_property
    def _special(self) -> tokenizers.Tokenizer:
        """Return a copy that reads the names of special tokens as these; made on first use, for few texts need it and a
        vocabulary takes time and memory.
        """
        return tokenizers.Tokenizer.from_str(self._backend.to_str())

    @cached_property
    def _blank(self) -> tokenizers.Tokenizer:
        """Return a copy that reads the mask, as an added token like any word, and no other special token."""
        rules = json.loads(self._backend.to_str())
        for token in rules["added_tokens"]:
            token["special"] = token["special"] and token["id"] != self.mask
        backend = tokenizers.Tokenizer.from_str(json.dumps(rules))
        backend.encode_special_tokens = True
        return backend

    @classmethod
    def from_file(cls, path: Path | str, **ids: int | None) -> Tokenizer:
        return cls(tokenizers.Tokenizer.from_file(str(path)), **ids)  # pyright: ignore[reportArgumentType]

    def __len__(self) -> int:
        return self._backend.get_vocab_size(with_added_tokens=True)

    @property
    def source(self) -> Tokenizer:
        """Return the tokenizer of the source of a model that writes another text: this one, unless the two sides have their own."""
        return self

    @cached_property
    def special_tokens(self) -> dict[str, int]:
        """Return the special tokens of the model, with their ids."""
        added = self._backend.get_added_tokens_decoder()
        n = self._rows or math.inf
        return {token.content: index for index, token in sorted(added.items()) if token.special and index < n}

    def to_json(self) -> str:
        return self._backend.to_str(pretty=False)

    def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Return the tokens of a text, without adding any.

        Raises InputError for text that is not valid Unicode (half of a surrogate pair), or longer than `LONGEST`.
        """
        check_text(text)
        typed = None if self.mask is None else self._backend.id_to_token(self.mask)
        blank = typed is not None and typed in text
        backend = self._special if special else self._blank if blank else self._backend
        encoding = self._read(backend, text)
        self.check_rows(encoding.ids)
        added = bool(self._prefix) and not text.startswith(self._prefix)
        spans = tuple(
            _untrimmed(span, raw, added) for span, raw in zip(encoding.offsets, encoding.tokens, strict=True)
        )
        tokens = tuple(self.token(index) for index in encoding.ids)
        spans = _extended(text, tokens, spans, self.unknown)
        if not self.unknown and uncovered(text, spans):
            spans = _in_order(text, tokens, spans)
        return Encoded(tuple(encoding.ids), tokens, spans, uncovered(text, spans))

    def check_rows(self, ids: Sequence[int]) -> None:
        """Check that the model has a row for each id. Raises InputError for one that only the vocabulary has."""
        beyond = [index for index in ids if self._rows is not None and index >= self._rows]
        if beyond:
            raise InputError(
                "'{token}' is a token that this model has no vector for.",
                "Its vocabulary has {n:,} tokens, its table {rows:,} rows.",
                "Leave it out of the text.",
                token=self.token(beyond[0]),
                n=len(self),
                rows=self._rows,
            )

    def check_special_tokens(self) -> None:
        """Check that the special tokens around every text have embedding rows. Raises InputError where one has none."""
        self.check_rows([index for side in self.frame_ids for index in side])

    @cached_property
    def frame_ids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids that the post-processor puts before and after one text, as Llama's BOS, BART's <s> and </s>; mostly none."""
        one = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
        one.post_processor = self._backend.post_processor
        encoding = one.encode("a")  # this vocabulary may have no letter that is known to be one token
        own = encoding.special_tokens_mask.index(0)
        return tuple(encoding.ids[:own]), tuple(encoding.ids[own + 1 :])

    @cached_property
    def pair_frame_ids(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the ids that the post-processor puts before, between and after two texts, as RoBERTa's <s>, </s></s>
        and </s>; none without a rule for two.
        """
        one = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
        one.post_processor = self._backend.post_processor
        encoding = one.encode("a", "a")
        first = encoding.special_tokens_mask.index(0)
        second = encoding.special_tokens_mask.index(0, first + 1)
        ids = tuple(encoding.ids)
        return ids[:first], ids[first + 1 : second], ids[second + 1 :]

    def with_special(self, encoded: Encoded, *, with_end: bool = False) -> Encoded:
        """Return the tokens of a text with the special ones that go before it and, where `with_end` is set, after it; see `frame_ids`.

        Nothing is added to a text that already has them, read with `special=True`.
        """
        before, behind = self.frame_ids if with_end else (self.frame_ids[0], ())
        ids = encoded.ids
        before = () if before == ids[: len(before)] else before
        behind = () if behind == ids[len(ids) - len(behind) :] else behind
        names = (tuple(map(self.token, added)) for added in (before, behind))
        tokens = tuple(chain(next(names), encoded.tokens, next(names)))
        spans = ((None,) * len(before), encoded.spans, (None,) * len(behind))
        return replace(encoded, ids=before + ids + behind, tokens=tokens, spans=tuple(chain(*spans)))

    def _read(self, backend: tokenizers.Tokenizer, text: str) -> tokenizers.Encoding:
        try:
            return backend.encode(text, add_special_tokens=False)
        except Exception:  # noqa: BLE001 - the library raises Exception itself where a list of words has no unknown token
            raise InputError(
                "The text has a word that is not in the model's vocabulary.",
                "This vocabulary has no unknown token, so only its own words can be read.",
                "Type a text made of its tokens.",
            ) from None

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts, names of special tokens read as letters."""
        id_lists = [
            encoding.ids
            for encoding in self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        ]
        for ids in id_lists:
            self.check_rows(ids)
        return id_lists

    def typed_special(self, text: str) -> list[str]:
        """Return the names of special tokens that occur in the text: reading them as letters or as tokens is a choice."""
        return [name for name in self.special_tokens if name in text]

    def decode(self, ids: Sequence[int], *, keep_special: bool = False) -> str:
        return "".join(self._parts(ids, keep_special)).removeprefix(self._prefix)

    def _parts(self, ids: Sequence[int], keep_special: bool) -> Iterator[str]:
        """Yield the text of each run of added or other tokens; the library would decode the letters of an added one as bytes."""
        for added, some in groupby(ids, self._added.__contains__):
            if not added:
                yield self._backend.decode(list(some), skip_special_tokens=not keep_special)
            else:
                yield from (
                    name
                    for name in map(self._added.__getitem__, some)
                    if keep_special or name not in self.special_tokens
                )

    def decode_with_spans(self, ids: Sequence[int]) -> tuple[str, Encoded]:
        """Return the text of tokens that a model wrote, and these tokens with their spans in it.

        `encode` might cut the text otherwise; the tokens stay as the model wrote them.
        """
        text = self.decode(ids)
        ends = [min(len(self.decode(ids[: i + 1]).rstrip("\ufffd")), len(text)) for i in range(len(ids))]
        starts = [0, *ends][: len(ids)]
        spans = tuple(
            _whole_characters(text, (_after_space(text, a, b), b)) for a, b in zip(starts, ends, strict=True)
        )
        return text, Encoded(tuple(ids), tuple(self.token(index) for index in ids), spans)

    def token(self, index: int) -> str:
        """Return the token by itself, as text: `' car'`; a name for a special one; bytes that are no character as ‹C3›."""
        name = self._names.get(index)
        if name is None:
            name = self._names[index] = self._name_of(index)
        return name

    def _name_of(self, index: int) -> str:
        raw = self._backend.id_to_token(index)
        if raw is None:
            return f"‹{index}›"
        if raw in self.special_tokens or index in self._added:
            return raw
        if self._falls_back and (byte := BYTE.fullmatch(raw)):
            return text_of_bytes(bytes.fromhex(byte.group(1)))
        if self._spaced:
            return raw.replace("▁", " ")
        return text_of_byte_letters(raw) if self._byte_level else raw

    @cached_property
    def _decoder(self) -> str:
        """Return the rules by which tokens become text, as JSON."""
        return _rules(self._backend.decoder)

    @cached_property
    def _spaced(self) -> bool:
        """Return whether ▁ in a piece is a space: SentencePiece's, be it as Metaspace or, as in Llama 2's file, step by step."""
        return _kind(self._decoder) == "Metaspace" or '"String":"▁"},"content":" "' in self._decoder

    @cached_property
    def _byte_level(self) -> bool:
        return _kind(self._decoder) == "ByteLevel"

    @cached_property
    def _falls_back(self) -> bool:
        """Return whether <0x0A> is the name of a byte."""
        return any(part["type"] == "ByteFallback" for part in _flat(json.loads(self._decoder), "decoders"))

    @cached_property
    def _added(self) -> Mapping[int, str]:
        """Return the added tokens of a byte-level vocabulary: they are text, all others are written in letters for bytes."""
        added = self._backend.get_added_tokens_decoder() if self._byte_level else {}
        return {index: token.content for index, token in added.items()}

    @cached_property
    def unknown(self) -> str:
        """Return the name of the token for text outside the vocabulary; "" where there is none."""
        return getattr(self._backend.model, "unk_token", None) or ""

    @cached_property
    def _prefix(self) -> str:
        cut = _flat(json.loads(_rules(self._backend.pre_tokenizer)), "pretokenizers")
        return (
            " " if any(part["type"] == "ByteLevel" and part.get("add_prefix_space") for part in cut) else ""
        )


def _rules(part: Any) -> str:
    """Return a part of a tokenizer as the library serialises it."""
    return "{}" if part is None else part.__getstate__().decode()


def _kind(rules: str) -> str:
    return json.loads(rules).get("type", "")


def _flat(rules: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rules that are nested in a sequence under `key`, at any depth; none of no rules."""
    if key in rules:
        for part in rules[key]:
            yield from _flat(part, key)
    elif "type" in rules:
        yield rules


def text_of_bytes(data: bytes) -> str:
    """Return the text of a token of these bytes, ‹C3› where they are no characters.

    >>> text_of_bytes(b" f"), text_of_bytes(bytes([0xC3]))
    (' f', '‹C3›')
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return "‹" + data.hex(" ").upper() + "›"


def text_of_byte_letters(name: str) -> str:
    """Return the text of a token that is named in GPT-2's letters for bytes; any other name as it is.

    >>> text_of_byte_letters("ĠaÃ±o"), text_of_byte_letters("<|año|>▁")
    (' año', '<|año|>▁')
    """
    return text_of_bytes(bytes(map(_BYTE_OF.__getitem__, name))) if in_byte_letters(name) else name


def in_byte_letters(name: str) -> bool:
    """Return whether each letter of a name is one of GPT-2's for bytes."""
    return _BYTE_OF.keys() >= set(name)


def readable_part(text: str) -> str:
    """Return the first LONGEST letters of a text: a longer one is refused by `check_text`."""
    return text[:LONGEST]


def check_text(text: str) -> None:
    """Check a text. Raises InputError for more than `LONGEST` letters, or half of a surrogate pair."""
    if len(text) > LONGEST:
        raise InputError(
            "The text has {n:,} letters.",
            "At most {longest:,} are read.",
            "Shorten it.",
            n=len(text),
            longest=LONGEST,
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "Character {place} is half of a surrogate pair (U+{code:04X}).",
            "Text must be valid Unicode.",
            "Delete that character or type it again.",
            place=error.start + 1,
            code=ord(text[error.start]),
        ) from None


def _untrimmed(span: tuple[int, int], raw: str, added: bool) -> Span:
    """Return the span of a token with the spaces that the library trimmed from it; None for a space that it `added` itself."""
    start, end = span
    if start < end:
        return span
    if end:
        return (max(0, end - len(raw)), end)
    return None if added else (0, len(raw))


def _extended(text: str, tokens: Sequence[str], spans: tuple[Span, ...], unknown: str) -> tuple[Span, ...]:
    """Return the spans with each extended to where its token begins.

    The library loses a letter after an added token, and all but the last that a rule replaced: a token after such a hole
    that is spelled otherwise than the letters of its span covers the hole, too.
    """
    begins = {end: begin for begin, end in uncovered(text, spans)}
    return (
        tuple(
            (begins[span[0]], span[1])
            if span
            and span[0] in begins
            and token != unknown
            and not _same_letters(token, text[slice(*span)])
            else span
            for token, span in zip(tokens, spans, strict=True)
        )
        if begins
        else spans
    )


def _in_order(text: str, tokens: Sequence[str], spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return the spans of tokens whose letters occur in the text in this order, with others between them; else the given ones.

    A vocabulary without an unknown token drops what it has no token for, and the library counts on without it.

    >>> _in_order("A cat", ("c", "at"), ((0, 1), (1, 3)))
    ((2, 3), (3, 5))
    """
    if all(
        span is None or _same_letters(token, text[slice(*span)])
        for token, span in zip(tokens, spans, strict=True)
    ):
        return spans
    for letters in (text, text.lower()):
        ordered: list[Span] = []
        end = 0
        for token, span in zip(tokens, spans, strict=True):
            places = [end := letters.find(letter, end) + 1 for letter in token] if span else []
            if 0 in places:
                break
            ordered.append((places[0] - 1, end) if places else span)
        if len(ordered) == len(tokens):
            return tuple(ordered)
    return spans


def _same_letters(token: str, letters: str) -> bool:
    """Return whether a token spells these letters, ignoring case, accents, spaces and the mark of a piece within a word."""
    token, letters = (
        "".join(char for char in unicodedata.normalize("NFKD", some.casefold()) if char.isalnum())
        for some in (token, letters)
    )
    return token == letters


def _after_space(text: str, start: int, end: int) -> int:
    """Return the index at which the letters of text[start:end] begin; `start` where it has none."""
    letters = text[start:end].lstrip()
    return end - len(letters) if letters else start


def _whole_characters(text: str, span: tuple[int, int]) -> tuple[int, int]:
    start, end = span
    return (start, max(end, min(start + 1, len(text))))


def uncovered(text: str, spans: Sequence[Span]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of letters that are in no span.

    >>> uncovered("a b?!", [(0, 1), None, (2, 3)])
    ((3, 5),)
    """
    covered = bytearray(len(text))
    for span in spans:
        if span:
            covered[span[0] : span[1]] = b"\x01" * (span[1] - span[0])
    holes: list[tuple[int, int]] = []
    for place, char in enumerate(text):
        if covered[place] or char.isspace():
            continue
        if holes and holes[-1][1] == place:
            holes[-1] = (holes[-1][0], place + 1)
        else:
            holes.append((place, place + 1))
    return tuple(holes)


def _byte_alphabet() -> dict[str, int]:
    """Return GPT-2's letters for the 256 bytes: printable ones stand for themselves, the rest moves above 255."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    rest = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(rest)}


_BYTE_OF = _byte_alphabet()
