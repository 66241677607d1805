"""A text whose words carry numbers: a bar above and a bar below each, a label, a colour; and words that can be marked.

Above and below are two values of each word on one scale, say how probable it is that an answer starts there and ends
there. Labels stand under the words, say their parts of speech. With `pick="span"` the visitor marks a stretch of words,
the first one touched and the last; with `pick="word"` one of them. Without values nothing of them is in the page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet, labels
from viz.instruments.kit.spec import Spec, as_function

Values = Sequence[float] | NDArray[np.floating]
MARKED = Instrument("attention_atlas_marked", "marked/marked")
PICKS = ("", "word", "span")
HUES = 8
"""Colours by number: from this one on a word has a frame of the colour instead."""


@dataclass(frozen=True, eq=False)
class Marked(Spec):
    """A text whose words carry numbers.

    glued: places of words that touch the one before. quiet: places of words that are none, such as [SEP].
    above, below: a value from 0 to `most` for each word, called by `names`; a name without values keeps the room for them.
    notes, hues: a label and a colour by number (None: no colour) for each. span: the marked stretch, both ends in it.
    on_pick: called before the run that answers a touch; `picked` tells what.

    Raises ValueError naming both numbers when something does not fit the words.

    Example:
        >>> Marked(["Anna", "slept"], above=[0.9, 0.1], span=(0, 0)).packet().header["above"]
        [0.9, 0.1]
        >>> marked(["Anna", "slept"], notes=["PROPN", "VERB"], hues=[0, 1], key="m")    # doctest: +SKIP
    """

    words: Sequence[str]
    _: KW_ONLY
    glued: Collection[int] = ()
    quiet: Collection[int] = ()
    above: Values | None = None
    below: Values | None = None
    names: tuple[str, str] = ("", "")
    most: float = 1.0
    notes: Sequence[str] | None = None
    hues: Sequence[int | None] | None = None
    span: tuple[int, int] | None = None
    pick: str = ""
    title: str = ""
    hint: str = ""
    on_pick: Callable[[], None] = nothing

    def show(self) -> None:
        """Draw it in the page."""
        MARKED.show(self.packet(), key=self.key, on_span_change=self.on_pick)

    def packet(self) -> Packet:
        words, above, below, notes, hues, span, pick = (
            self.words,
            self.above,
            self.below,
            self.notes,
            self.hues,
            self.span,
            self.pick,
        )
        seen = labels(list(words), len(words), "word")
        for name, values in (("above", above), ("below", below), ("notes", notes), ("hues", hues)):
            if values is not None and len(values) != len(seen):
                raise ValueError(f"{len(values)} {name} for {len(seen)} words")
        if pick not in PICKS:
            raise ValueError(f"pick={pick!r}; there are {', '.join(map(repr, PICKS))}")
        if span is not None and not 0 <= span[0] <= span[1] < len(seen):
            raise ValueError(f"the stretch {span} does not lie in {len(seen)} words")
        rows = {
            name: None if values is None else [round(float(value), 6) for value in values]
            for name, values in (("above", above), ("below", below))
        }
        return Packet(
            {
                "words": seen,
                "glued": sorted(set(self.glued)),
                "quiet": sorted(set(self.quiet)),
                **rows,
                "names": list(self.names),
                "notes": None if notes is None else list(notes),
                "hues": None if hues is None else list(hues),
                "span": None if span is None else list(span),
                **self.plain("most", "pick", "title", "hint", "python"),
            }
        )


marked_packet = as_function(Marked, Marked.packet)
marked = as_function(Marked, Marked.show)


def picked_words(key: str, n: int) -> tuple[int, int] | None:
    """Return the span of n words that was marked last, both ends included; None for anything else.

    Example:
        >>> picked_words("nobody", 3) is None
        True
    """
    sent = stored(key, "span")
    if (
        not isinstance(sent, (list, tuple))
        or len(sent) != 2
        or not all(isinstance(at, (int, float)) and at == int(at) for at in sent)
    ):
        return None
    first, last = int(sent[0]), int(sent[1])
    return (first, last) if 0 <= first <= last < n else None
