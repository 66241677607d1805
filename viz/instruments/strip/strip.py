"""The token strip: a sentence as text, each token shaded by attention from or to the one that is touched.

`mode="text"` is flowing text: hovering or tapping a token selects it. `mode="lines"` is the picture of Cheng, Dong
and Lapata (2016, figure 1): the sentence once for each of its words, as it is read, the current word in the accent colour
and the others shaded by its row. The visitor switches between both, and between from and to, without a message.

Pieces that share a character (the bytes of an emoji, the code points of one sign) are one unit: its weight is the sum
over its pieces as keys and the mean over them as queries, so rows still sum to 1.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument
from viz.instruments.kit.payload import OVERHEAD, Packet, Places, as_allowed, as_matrix, as_places, labels
from viz.instruments.kit.spec import Spec, as_function
from viz.instruments.words.words import READING, Sentences, start

STRIP = Instrument("attention_atlas_strip", "strip/strip")
LINES = 64
"""Up to so many words the picture of one line a word is offered: above, nobody reads it."""
Span = tuple[int, int] | None
_BYTES = re.compile("\u2039((?:[0-9A-F]{2} ?)+)\u203a")
_CLOSING = re.compile(r"[.,;:!?…)\]}»”’]+|n?['’]\w{1,2}")
_ZERO_WIDTH_JOINER, _FLAGS, _SKINS = "\u200d", range(0x1F1E6, 0x1F200), range(0x1F3FB, 0x1F400)


@dataclass(frozen=True)
class Unit:
    """A unit of the drawn text: `text`, the `pieces` (positions in the matrix) behind it, and whether it touches the unit before."""

    text: str
    pieces: tuple[int, ...]
    glued: bool = False


@dataclass(frozen=True, eq=False)
class Strip(Spec):
    """One head (or an average) over text.

    weights: (query, key). tokens: the queries, and the keys too unless `keys` names other ones: then there are two texts.
    spans, key_spans: the span of each token in its text, None for an added one (`run.spans`). They decide which pieces are
        one character and which touch; without them, leading spaces do.
    direction: "from" shades what the selected token looks at, "to" what looks at it. mode: "text" or "lines".
    selected: a position, 3 or "3"; of two texts "s2" is a key. None: the token with the clearest look at another place.
    special: places of tokens drawn small and quiet, one list or a pair (queries, keys). subject: of the sentence below ("the average of all heads").
    names: what the key text and the query text are called, where there are two. url: a query parameter that follows the choices.

    Raises ValueError naming both numbers when tokens, spans and weights do not fit.

    Example:
        >>> packet = Strip([[1, 0], [0.5, 0.5]], ["The", " cat"], selected=1).packet()
        >>> packet.header["queries"], packet.header["start"]
        ({'words': ['The', ' cat'], 'glued': '00', 'first': None, 'pieces': None, 'special': []}, ['query', 1])
        >>> strip(attention.weights[2, 5], run.tokens, spans=run.spans, key="strip")    # doctest: +SKIP
    """

    weights: ArrayLike
    tokens: Sequence[str]
    _: KW_ONLY
    keys: Sequence[str] | None = None
    spans: Sequence[Span] | None = None
    key_spans: Sequence[Span] | None = None
    allowed: ArrayLike | None = None
    direction: str = "from"
    mode: str = "text"
    selected: int | str | None = None
    special: Places = ()
    say: Sentences | None = None
    subject: str = ""
    names: tuple[str, str] = ("", "")
    title: str = ""
    group: str = ""
    url: str | None = None
    height: int | None = None

    def show(self) -> None:
        """Draw it in the page."""
        STRIP.show(self.packet(), key=self.key)

    def packet(self) -> Packet:
        direction, mode, (asking, read) = self.direction, self.mode, as_places(self.special)
        if direction not in ("from", "to"):
            raise ValueError(f'direction={direction!r}; there are "from" and "to"')
        if mode not in ("text", "lines"):
            raise ValueError(f'mode={mode!r}; there are "text" and "lines"')
        matrix = as_matrix(self.weights)
        may = as_allowed(self.allowed, matrix.shape)
        queries = units(labels(self.tokens, matrix.shape[0], "query"), self.spans, asking)
        two = self.keys is not None
        looked_at = (
            units(labels(self.keys, matrix.shape[1], "key"), self.key_spans, read)
            if self.keys is not None
            else queries
        )
        if not two and matrix.shape[0] != matrix.shape[1]:
            raise ValueError(
                f"{matrix.shape[0]} queries and {matrix.shape[1]} keys are two texts: name the keys, keys=[...]"
            )
        matrix, may = join_pieces(matrix, may, queries, looked_at)
        packet = Packet(
            {
                "queries": _side(queries, asking),
                "keys": _side(looked_at, read) if two else None,
                "start": _start(matrix, may, queries, looked_at, self.selected, two, direction),
                "say": (self.say or READING).spoken(self.subject),
                "names": list(self.names),
                "lines": LINES,
                "place": self.key,
                **self.plain("direction", "mode", "title", "group", "url", "height", "python"),
            }
        )
        packet.add_matrix(matrix, may, spare=len(packet.to_bytes()) + OVERHEAD)
        return packet


strip_packet = as_function(Strip, Strip.packet)
strip = as_function(Strip, Strip.show)


# ---------------------------------------------------------------- units


def units(
    tokens: Sequence[str], spans: Sequence[Span] | None = None, special: Sequence[int] = ()
) -> list[Unit]:
    """Join tokens to units that people see as whole characters, and mark those that touch the one before.

    Example:
        >>> [(u.text, u.pieces, u.glued) for u in units(["‹F0 9F›", "‹98›", "‹80›", "ish"], [(0, 1), (0, 1), (0, 1), (1, 4)])]
        [('😀', (0, 1, 2), False), ('ish', (3,), True)]
        >>> [u.glued for u in units(["She", " sing", "s", "."])], [u.glued for u in units(["She", "sings", "."])]
        ([False, False, True, True], [False, False, True])
    """
    if spans is not None and len(spans) != len(tokens):
        raise ValueError(f"{len(spans)} spans for {len(tokens)} tokens")
    glued = _touching(tokens, spans, special)
    found: list[list[int]] = []
    for i in range(len(tokens)):
        if i and glued[i] and _one_character(tokens, spans, found[-1], i):
            found[-1].append(i)
        else:
            found.append([i])
    return [Unit(_spelled([tokens[i] for i in pieces]), tuple(pieces), glued[pieces[0]]) for pieces in found]


def _touching(tokens: Sequence[str], spans: Sequence[Span] | None, special: Sequence[int]) -> list[bool]:
    """Return for each token whether it touches the one before, without white space between."""
    spaced = any(token[:1] == " " and token.strip() for token in tokens)
    pieces = any(token.startswith("##") for token in tokens)
    out = [False] * len(tokens)
    for i in range(1, len(tokens)):
        token = tokens[i]
        if token[:1].isspace() or i in special or i - 1 in special:
            continue
        if spans is not None:
            here, there = spans[i], spans[i - 1]
            out[i] = here is not None and there is not None and here[0] <= there[1] and here[1] >= there[0]
        elif pieces:
            out[i] = token.startswith("##")
        else:
            out[i] = spaced or _CLOSING.fullmatch(token) is not None or _BYTES.fullmatch(token) is not None
    return out


def _one_character(tokens: Sequence[str], spans: Sequence[Span] | None, before: list[int], i: int) -> bool:
    """Return whether token `i` belongs to the same character as the pieces `before` it."""
    if spans is not None:
        here, there = spans[i], spans[before[-1]]
        if (
            here is not None
            and there is not None
            and (here == there or (here[0] < there[1] and there[0] < here[1]))
        ):
            return True
    elif _BYTES.fullmatch(tokens[i]) and _BYTES.fullmatch(tokens[before[-1]]):
        return "\ufffd" in _spelled([tokens[k] for k in before] + [""]) or _bytes(tokens[i])[0] & 0xC0 == 0x80
    one, other = _spelled([tokens[k] for k in before] + [""]), _first_character(tokens, spans, i)
    if not one or not other:
        return False
    if one.endswith(_ZERO_WIDTH_JOINER) or other[0] == _ZERO_WIDTH_JOINER or ord(other[0]) in _SKINS:
        return True
    if unicodedata.category(other[0]) in ("Mn", "Me"):  # accents, variation selectors
        return True
    return ord(other[0]) in _FLAGS and sum(ord(letter) in _FLAGS for letter in one) % 2 == 1


def _first_character(tokens: Sequence[str], spans: Sequence[Span] | None, i: int) -> str:
    """Return the character that token `i` begins: its bytes may continue in the next tokens."""
    last = i + 1
    while spans is not None and spans[i] is not None and last < len(tokens) and spans[last] == spans[i]:
        last += 1
    return _spelled([*tokens[i:last], ""])


def _bytes(token: str) -> bytes:
    match = _BYTES.fullmatch(token)
    return bytes.fromhex(match[1]) if match else token.encode("utf-8", "replace")


def _spelled(tokens: Sequence[str]) -> str:
    """Return the text of one token, or the bytes of several read together."""
    return tokens[0] if len(tokens) == 1 else b"".join(map(_bytes, tokens)).decode("utf-8", "replace")


def join_pieces(
    weights: NDArray[np.float64],
    allowed: NDArray[np.bool_] | None,
    queries: Sequence[Unit],
    keys: Sequence[Unit],
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Return the weights between units: the sum over the pieces of a key, the mean over those of a query.

    Example:
        >>> pair, alone = Unit("é", (0, 1)), Unit("a", (2,))
        >>> join_pieces(np.array([[.5, .5, 0], [.1, .3, .6], [.2, .3, .5]]), None, [pair, alone], [pair, alone])[0].round(2).tolist()
        [[0.7, 0.3], [0.5, 0.5]]
    """
    for axis, side in enumerate((queries, keys)):
        if not any(len(unit.pieces) > 1 for unit in side):
            continue
        first = [unit.pieces[0] for unit in side]
        weights = np.add.reduceat(
            weights if allowed is None else np.where(allowed, weights, 0), first, axis=axis
        )
        if allowed is not None:
            allowed = np.logical_or.reduceat(allowed, first, axis=axis)
        if axis == 0:
            weights = weights / np.array([len(unit.pieces) for unit in side])[:, None]
    return weights, allowed


def _side(side: Sequence[Unit], special: Sequence[int]) -> dict[str, Any]:
    several = any(len(unit.pieces) > 1 for unit in side)
    return {
        "words": [unit.text for unit in side],
        "glued": "".join(str(int(unit.glued)) for unit in side),
        "first": [unit.pieces[0] for unit in side] if several else None,
        "pieces": [len(unit.pieces) for unit in side] if several else None,
        "special": [place for place, unit in enumerate(side) if set(special).issuperset(unit.pieces)],
    }


def _start(
    weights: NDArray[np.float64],
    allowed: NDArray[np.bool_] | None,
    queries: Sequence[Unit],
    keys: Sequence[Unit],
    selected: int | str | None,
    two: bool,
    direction: str,
) -> list[str | int]:
    """Return the unit touched first, as ["query" | "key", index]: the one that holds the position `selected`."""
    asked = str(selected) if selected is not None else ""
    side, digits = ("key", asked[1:]) if two and asked.startswith("s") else ("query", asked)
    here = next(
        (
            i
            for i, unit in enumerate(keys if side == "key" else queries)
            if digits.isascii() and digits.isdigit() and int(digits) in unit.pieces
        ),
        None,
    )
    if here is None:
        drawn = [(unit.text, row) for row, unit in enumerate(queries)]
        side, here = "query", int(start(weights, allowed, drawn, len(keys), None, "two" if two else "one")[1])
    return ["key" if not two and direction == "to" else side, here]
