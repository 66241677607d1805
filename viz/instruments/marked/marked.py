"""A text whose words carry numbers: a bar above and a bar below each, a label, a colour; and words that can be marked.

Above and below are two values of each word on one scale, say how probable it is that an answer starts there and ends
there. Labels stand under the words, say their parts of speech. With `pick="span"` the visitor marks a stretch of words,
the first one touched and the last; with `pick="word"` one of them. Without values nothing of them is in the page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from viz.instruments.kit.mount import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet, labels

MARKED = Instrument("attention_atlas_marked", "marked/marked")
PICKS = ("", "word", "span")
HUES = 8
"""Colours by number: from this one on a word has a frame of the colour instead."""


def marked_packet(
    words: Sequence[str], *, glued: Collection[int] = (), quiet: Collection[int] = (), above: Sequence[float] | None = None, below: Sequence[float] | None = None,
    names: tuple[str, str] = ("", ""), most: float = 1.0, notes: Sequence[str] | None = None, hues: Sequence[int | None] | None = None,
    span: tuple[int, int] | None = None, pick: str = "", title: str = "", hint: str = "", python: str = "",
) -> Packet:  # fmt: skip
    """What the browser needs.

    glued: places of words that touch the one before. quiet: places of words that are none, such as [SEP].
    above, below: a value from 0 to `most` for each word, called by `names`; a name without values keeps the room for them.
    notes, hues: a label and a colour by number (None: no colour) for each. span: the marked stretch, both ends in it.

    Raises ValueError naming both numbers when something does not fit the words.

    Example:
        >>> marked_packet(["Anna", "slept"], above=[0.9, 0.1], span=(0, 0)).header["above"]
        [0.9, 0.1]
    """
    seen = labels(list(words), len(words), "word")
    for name, values in (("above", above), ("below", below), ("notes", notes), ("hues", hues)):
        if values is not None and len(values) != len(seen):
            raise ValueError(f"{len(values)} {name} for {len(seen)} words")
    if pick not in PICKS:
        raise ValueError(f"pick={pick!r}; there are {', '.join(map(repr, PICKS))}")
    if span is not None and not 0 <= span[0] <= span[1] < len(seen):
        raise ValueError(f"the stretch {span} does not lie in {len(seen)} words")
    rows = {name: None if values is None else [round(float(value), 6) for value in values] for name, values in (("above", above), ("below", below))}
    return Packet({
        "words": seen, "glued": sorted(set(glued)), "quiet": sorted(set(quiet)), **rows, "names": list(names), "most": most,
        "notes": None if notes is None else list(notes), "hues": None if hues is None else list(hues), "span": None if span is None else list(span),
        "pick": pick, "title": title, "hint": hint, "python": python,
    })  # fmt: skip


def marked(words: Sequence[str], *, key: str, on_pick: Callable[[], None] = nothing, **options: Any) -> None:
    """Draw it; the options are those of `marked_packet`. `on_pick` is called before the run that answers a touch; `picked` tells what.

    Example:
        >>> marked(["Anna", "slept"], notes=["PROPN", "VERB"], hues=[0, 1], key="m")    # doctest: +SKIP
    """
    MARKED.show(marked_packet(words, **options), key=key, on_span_change=on_pick)


def picked(key: str, n: int) -> tuple[int, int] | None:
    """The stretch of n words that was marked last, both ends in it; None for anything else.

    Example:
        >>> picked("nobody", 3) is None
        True
    """
    sent = stored(key, "span")
    if not isinstance(sent, (list, tuple)) or len(sent) != 2 or not all(isinstance(at, (int, float)) and at == int(at) for at in sent):
        return None
    first, last = int(sent[0]), int(sent[1])
    return (first, last) if 0 <= first <= last < n else None
