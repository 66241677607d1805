"""The picture of the first screen: words in large type, lines to where a trained model looks.

`layout="two"` puts the keys (the source sentence) above and the words the model writes below; `layout="one"`
is one flowing text that looks at itself. One word is touched; what it looks at is shaded in the colour of
its weight, with the percentage beside it. Touching any word of either row changes the picture and the
sentence under it in the browser, without a message to the server.

A decoder writes a word from the row of the input before it; `targets` says which row writes which word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.forms import Layer
from viz.instruments.kit.head_stack import HeadContext
from viz.instruments.kit.payload import OVERHEAD, Packet, Places, as_allowed, as_matrix, as_places, labels
from viz.instruments.kit.spec import Spec, as_function
from viz.languages import _

WORDS = Instrument("attention_atlas_words", "words/words")
STEADY = (
    "layout",
    "keys",
    "words",
    "rows",
    "say",
    "names",
    "special",
    "caption",
    "group",
    "url",
    "height",
    "python",
    "after",
)


@dataclass(frozen=True)
class Sentences:
    """The sentences of a picture about the touched word; {names} in braces are filled from the tensor.

    word, key, key2: words. percent, percent2: of key and key2. count: how many words together hold
    nine tenths of the row. `only` is for a row with one allowed key, `shut` for a row with none.
    """

    looks: str = "Writing {word}, this head gives {percent} of its attention to {key}."
    two: str = "Writing {word}, this head gives {percent} of its attention to {key} and {percent2} to {key2}."
    spreads: str = "Writing {word}, this head spreads its attention: 90% of it falls on {count} words, most on {key} ({percent})."
    itself: str = (
        "Writing {word}, this head gives {percent} of its attention to the position of {word} itself."
    )
    only: str = "Writing {word}, this head may attend to {key} only: {percent}."
    shut: str = "Writing {word}, every key is masked for this head."
    broken: str = "Writing {word}, this row of the tensor holds a number that is not finite."
    unwritten: str = "{word} is given, not written: no row of this head writes it."
    key: str = "{key} gets most attention while writing {word}: {percent}."
    unseen: str = "{key} gets hardly any attention: most while writing {word}, {percent}."
    empty: str = "There are no words to look at yet."
    subject: str = "this head"

    def spoken(self, subject: str = "") -> dict[str, str]:
        """Return the sentences in the visitor's language, about `subject` in place of "this head"."""
        sentences = asdict(self)
        named = _(subject or sentences.pop("subject"))
        sentences.pop("subject", None)
        return {name: _(text).replace(_("this head"), named) for name, text in sentences.items()}


@dataclass(frozen=True)
class After:
    """A word that could come behind the text, and how probable it is, in words."""

    word: str
    chance: str


WRITING = Sentences()
ALIGNING = Sentences(subject="the model")
"""Sentences about a recurrent translator: it has one alignment, and no heads."""
SUMMING = Sentences(
    looks="Within {word}, the model gives {percent} of the weight to {key}.",
    two="Within {word}, the model gives {percent} of the weight to {key} and {percent2} to {key2}.",
    spreads="Within {word}, the model spreads the weight: 90% of it falls on {count} places, most on {key} ({percent}).",
    itself="Within {word}, the model gives {percent} of the weight to {key}.",
    only="There is nothing in {word} to choose from: {key} has {percent}.",
    shut="Everything in {word} is masked.",
    broken="Within {word}, this row of the tensor holds a number that is not finite.",
    unwritten="{word} has no row.",
    key="{key} gets most weight in {word}: {percent}.",
    unseen="{key} gets hardly any weight: most in {word}, {percent}.",
)
"""Sentences where words or sentences are summed up, without a query."""
SILENT = Sentences(**dict.fromkeys((field.name for field in fields(Sentences)), ""))
"""Nothing is said of any word: before a guess."""
READING = Sentences(
    looks="Reading {word}, this head gives {percent} of its attention to {key}.",
    two="Reading {word}, this head gives {percent} of its attention to {key} and {percent2} to {key2}.",
    spreads=(
        "Reading {word}, this head spreads its attention: 90% of it falls on {count} words, most on {key} ({percent})."
    ),
    itself="Reading {word}, this head gives {percent} of its attention to {word} itself.",
    only="Reading {word}, this head may attend to {key} only: {percent}.",
    shut="Reading {word}, every key is masked for this head.",
    broken="Reading {word}, this row of the tensor holds a number that is not finite.",
    unwritten="{word} has no row in this head.",
    key="{key} gets most attention while reading {word}: {percent}.",
    unseen="{key} gets hardly any attention: most while reading {word}, {percent}.",
)


@dataclass(frozen=True, eq=False)
class Words(Spec):
    """One head over words.

    weights: (query, key) pattern of one head, joined to words. queries, keys: their labels.
    targets: the drawn lower row (or, in layout "one", the flowing text, whose first words are the keys):
        (word, row of `weights` that belongs to it, or -1). None: `queries` with their own rows when
        `reading`; else layout "two" takes queries[1:], each written by the row before it (queries[0] is
        START), and layout "one" takes keys, each written by the row before it.
    selected: the word touched first: 3 or "3" in the lower row, "s2" in the upper. None or nonsense: the
        word with the clearest look at another place.
    special: places of words drawn small and quiet (START, END), in the lower row and among the keys, or one list for both. names: small labels of the two rows.
    url: a query parameter that follows the touched word, so that a link restores it.
    group, among: another head of the same kind that is chosen in the grid of the group is drawn without asking Python.
    after: what could follow, drawn fainter behind the last word; `on_write` is called before the run that answers a touch of one (`written`).

    Raises ValueError naming both numbers when labels, rows and weights do not fit.

    Example:
        >>> Words([[0.9, 0.1]], ["START"], ["a", "car"], targets=[("un", 0)]).packet().header["start"]
        ['target', 0]
        >>> words_view([[0.9, 0.1]], ["START"], ["a", "car"], targets=[("un", 0)], key="w")  # doctest: +SKIP
    """

    weights: ArrayLike
    queries: Sequence[str]
    keys: Sequence[str]
    _: KW_ONLY
    layout: str = "two"
    targets: Sequence[tuple[str, int]] | None = None
    allowed: ArrayLike | None = None
    selected: int | str | None = None
    reading: bool = False
    say: Sentences | None = None
    names: tuple[str, str] = ("", "")
    special: Places = ()
    caption: str = ""
    url: str | None = None
    height: int | None = None
    group: str = ""
    among: HeadContext | None = None
    after: Sequence[After] = ()
    on_write: Callable[[], None] = nothing

    def show(self) -> None:
        """Draw it in the page."""
        WORDS.show(self.packet(), key=self.key, on_write_change=self.on_write)

    def packet(self) -> Packet:
        layout, among = self.layout, self.among
        matrix = as_matrix(self.weights)
        may = as_allowed(self.allowed, matrix.shape)
        query_words, key_words = (
            labels(self.queries, matrix.shape[0], "query"),
            labels(self.keys, matrix.shape[1], "key"),
        )
        drawn = _targets(self.targets, query_words, key_words, layout, self.reading)
        for word, row in drawn:
            if not -1 <= row < matrix.shape[0]:
                raise ValueError(f"{word!r} asks for row {row}; this head has {matrix.shape[0]} rows")
        if layout == "one" and len(drawn) < len(key_words):
            raise ValueError(
                f"{len(drawn)} words for {len(key_words)} keys: in one row each key is a drawn word"
            )
        words = labels([word for word, row in drawn], len(drawn), "target")
        packet = Packet(
            {
                "keys": key_words,
                "words": None if words == key_words else words,
                "rows": [row for word, row in drawn],
                "start": start(matrix, may, drawn, len(key_words), self.selected, layout),
                "say": (self.say or (READING if self.reading else WRITING)).spoken(),
                "names": list(self.names),
                "special": as_places(self.special),
                "after": [[one.word, one.chance] for one in self.after],
                **self.plain("layout", "caption", "url", "height", "group", "python"),
            },
            steady=STEADY,
        )
        if among is None or among.stack.rough:
            packet.add_matrix(matrix, may, spare=len(packet.to_bytes()) + OVERHEAD)
        if among is not None:
            among.join(packet)
            among.holds(packet, {"": Layer(matrix, 1.0)}, may)
        return packet


words_packet = as_function(Words, Words.packet)
words_view = as_function(Words, Words.show)


def touched_continuation(key: str) -> int | None:
    """Return the index, among the words that could follow, of the one touched last."""
    event = stored(key, "write")
    return int(event["at"][0]) if event else None


def _targets(
    targets: Sequence[tuple[str, int]] | None, queries: list[str], keys: list[str], layout: str, reading: bool
) -> list[tuple[str, int]]:
    if layout not in ("one", "two"):
        raise ValueError(f'layout={layout!r}; there are "one" and "two"')
    if targets is not None:
        return [(word, int(row)) for word, row in targets]
    if reading:
        return [(word, row) for row, word in enumerate(queries)]
    if layout == "two":
        return [(word, row) for row, word in enumerate(queries[1:])]
    return [(word, row - 1) for row, word in enumerate(keys)]


def start(
    weights: NDArray[np.float64],
    allowed: NDArray[np.bool_] | None,
    targets: Sequence[tuple[str, int]],
    n_keys: int,
    selected: int | str | None,
    layout: str,
) -> list[str | int]:
    """Return the word touched first, as ["target" | "source", index].

    `selected` if it names a drawn word; else the word with the largest weight on a key at another place
    than its own (the crossing that explains attention by itself), the first such word winning.

    Example:
        >>> w = np.array([[0.9, 0.1], [0.8, 0.2]])
        >>> start(w, None, [("la", 0), ("casa", 1)], 2, None, "two")
        ['target', 1]
        >>> start(w, None, [("la", 0), ("casa", 1)], 2, "s1", "two")
        ['source', 1]
    """
    asked = str(selected) if selected is not None else ""
    side, digits, count = (
        ("source", asked[1:], n_keys) if asked.startswith("s") else ("target", asked, len(targets))
    )
    if (
        digits.isascii()
        and digits.isdigit()
        and int(digits) < count
        and not (side == "source" and layout == "one")
    ):
        return [side, int(digits)]
    places = np.array(
        [(index, row) for index, (_, row) in enumerate(targets) if row >= 0], dtype=int
    ).reshape(-1, 2)
    if not places.size or not n_keys:
        return ["target", 0]
    index, row = places.T
    elsewhere = np.nan_to_num(np.where(True if allowed is None else allowed[row], weights[row], 0.0))
    own = index < n_keys
    elsewhere[np.flatnonzero(own), index[own]] = 0.0
    if layout == "one" and n_keys > 2:
        elsewhere[:, 0] = 0.0  # the first word collects what a head has no use for
    best, found = -1.0, 0
    for place, most in zip(index.tolist(), elsewhere.max(axis=1).tolist(), strict=True):
        if most > best + 1e-3:
            best, found = most, place
    return ["target", found]
