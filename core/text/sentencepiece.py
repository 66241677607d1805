"""SentencePiece tokenization (Kudo 2018; Kudo and Richardson 2018) with the span of each letter, and Marian's tokenizer of two such models."""

from __future__ import annotations

import base64
import copy
import re
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import tokenizers

from core.text.tokenizer import Encoded, Span, Tokenizer, check_text, uncovered

SPACE = "▁"
CODE = re.compile(r">>.*?<<", re.DOTALL)
"""A language code at the beginning of a text, `>>fra<<`: the language to write."""
RUN, TEXT = 32, 80
"""Letters that are looked up at once, and bytes of the longest text that is written for them with its end."""
LEAF, VALUE = 0x80000000, 0x7FFFFFFF


@dataclass(frozen=True)
class CharacterMap:
    """The normalizer's table of letters, `precompiled_charsmap`: a double-array trie (Yata's darts-clone) and the texts that its leaves point to.

    It must have been walked by `core.checkpoints.safety.unigram`: nothing is checked here.
    """

    units: array[int] = field(default_factory=lambda: array("I"))
    replacements: bytes = b""

    @classmethod
    def from_bytes(cls, table: bytes) -> CharacterMap:
        """Make the map from the bytes of a table; an empty one leaves every letter as it is."""
        size = int.from_bytes(table[:4], "little")
        units = array("I", table[4 : 4 + size])
        if sys.byteorder != "little":
            units.byteswap()
        return cls(units, table[4 + size :])

    def replacement(self, text: str, begin: int) -> tuple[str, int]:
        """Return the replacement of the longest run of letters from `begin` that the map has, and the end of that run; a
        letter without one is returned itself.

        >>> CharacterMap().replacement("abc", 1)
        ('b', 2)
        """
        found, end, unit = text[begin], begin + 1, 0
        node = _offset(self.units[0]) if self.units else 0
        for place in range(begin, min(len(text), begin + RUN) if self.units else begin):
            for byte in text[place].encode():
                unit = self.units[node ^ byte]
                if unit & (LEAF | 0xFF) != byte:
                    return found, end
                node ^= byte ^ _offset(unit)
            if unit >> 8 & 1:
                first = self.units[node] & VALUE
                found, end = self.replacements[first : first + TEXT].split(b"\0", 1)[0].decode(), place + 1
        return found, end


@dataclass(frozen=True)
class Cutter:
    """One SentencePiece model of the kind Unigram: a text is normalized and cut into the pieces of the largest total score.

    `model` finds them (Viterbi); letters without a piece come out as one. `user_defined` are pieces that nothing changes;
    `prefix`: a space is put before every text; `squeeze`: several spaces are one, and none remains at an end.
    """

    model: tokenizers.Tokenizer
    letters: CharacterMap = field(default_factory=CharacterMap)
    user_defined: tuple[str, ...] = ()
    prefix: bool = True
    squeeze: bool = True

    @classmethod
    def from_facts(
        cls, model: str, table: str, user_defined: Sequence[str], prefix: bool, squeeze: bool
    ) -> Cutter:
        """Make a cutter from the facts that the sandboxed reader reports of a file, see `core.checkpoints.safety.tokenizer_files.cutter`."""
        held = CharacterMap.from_bytes(base64.b64decode(table))
        return cls(tokenizers.Tokenizer.from_str(model), held, tuple(user_defined), prefix, squeeze)

    @property
    def pieces(self) -> list[str]:
        """Return the pieces into which a text may be cut."""
        return [piece for piece in self.model.get_vocab() if piece]

    @cached_property
    def _unsplit(self) -> re.Pattern[str] | None:
        longest = sorted(self.user_defined, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest))) if longest else None

    def _runs(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Yield the replacement of each run of letters, with the run's start and end in the text."""
        at = 0
        while at < len(text):
            found = self._unsplit.match(text, at) if self._unsplit else None
            written, end = (found.group(), found.end()) if found else self.letters.replacement(text, at)
            yield written, at, end
            at = end

    def normalize(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        """Return the normalized text, a space written ▁, and for each of its letters the span in `text` that it comes from.

        >>> Cutter(tokenizers.Tokenizer(tokenizers.models.Unigram())).normalize(" a  b ")
        ('▁a▁b', [(1, 1), (1, 2), (2, 3), (4, 5)])
        """
        letters: list[str] = []
        places: list[tuple[int, int]] = []
        begun, after_space = False, self.squeeze
        for written, begin, end in self._runs(text):
            if not begun:
                if self.squeeze and written == " ":
                    continue
                begun = True
                if self.prefix:
                    letters.append(SPACE)
                    places.append((begin, begin))
            kept = written.lstrip(" ") if after_space else written
            letters += kept.replace(" ", SPACE)
            places += [(begin, end)] * len(kept)
            if kept:
                after_space = self.squeeze and kept.endswith(" ")
        while self.squeeze and letters and letters[-1] == SPACE:
            letters.pop()
            places.pop()
        return "".join(letters), places

    def cut(self, text: str) -> Iterator[tuple[str, Span]]:
        """Yield each piece of a text with its span there, without the space before it; None for a space that is not in the text."""
        plain, places = self.normalize(text)
        found = self.model.encode(plain, add_special_tokens=False)
        for piece, (begin, end) in zip(found.tokens, found.offsets, strict=True):
            spaces = len(piece) - len(piece.lstrip(SPACE))
            here = places[begin + (0 if spaces == len(piece) else spaces) : end]
            span = here[0][0], here[-1][1]
            yield piece, span if span[0] < span[1] else None


class PieceTokenizer(Tokenizer):
    """Marian's tokenizer: texts are cut by one SentencePiece model, that of the source or of the target, and numbered by one vocabulary for both.

    A piece that the vocabulary does not have is the unknown one. A language code such as `>>fra<<` at the start of a text is
    one token. What a model writes is read with the target's pieces, its source with those of `source`. `vocab` are the numbers
    of all pieces, `files` what it was read from, by name.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        source: Cutter,
        target: Cutter,
        files: Mapping[str, bytes],
        **ids: int | None,
    ) -> None:
        super().__init__(backend, **ids)
        self.cutters, self.files = {"source": source, "target": target}, files
        self._cutter = target
        self.vocab = backend.get_vocab(with_added_tokens=True)

    @cached_property
    def source(self) -> Tokenizer:
        other = copy.copy(self)
        other._cutter = self.cutters["source"]
        return other

    @cached_property
    def frame_ids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids before a text, none, and after it, its end token."""
        return (), () if self.end is None else (self.end,)

    @property
    def codes(self) -> list[str]:
        """Return the language codes of its vocabulary, in the order of their ids."""
        return sorted(filter(CODE.fullmatch, self.vocab), key=self.vocab.__getitem__)

    def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Return the tokens of a text, without adding any; see `Tokenizer.encode`."""
        check_text(text)
        ids: list[int] = []
        spans: list[Span] = []
        for piece, span in self._pieces(text, special):
            ids.append(self.vocab.get(piece, self.vocab["<unk>"]))
            spans.append(span)
        self.check_rows(ids)
        tokens = tuple(map(self.token, ids))
        return Encoded(tuple(ids), tokens, tuple(spans), uncovered(text, spans))

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts, names of special tokens read as letters."""
        return [list(self.encode(text).ids) for text in texts]

    def _pieces(self, text: str, special: bool) -> Iterator[tuple[str, Span]]:
        """Yield the pieces of each part between names of special tokens, and these where they are read."""
        names = "|".join(map(re.escape, sorted(self.special_tokens, key=len, reverse=True)))
        at = 0
        for part in re.split(f"({names})", text) if special else [text]:
            if special and part in self.special_tokens:
                yield part, (at, at + len(part))
            else:
                code = CODE.match(part)
                begin = code.end() if code else 0
                if code:
                    yield code.group(), (at, at + begin)
                for piece, span in self._cutter.cut(part[begin:]):
                    yield piece, span and (at + begin + span[0], at + begin + span[1])
            at += len(part)


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)
