"""The pictures, questions and sentences of the first exhibit: words with sliders, a portrait under a patch of attention."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from viz.charts.patches import PICKED, lit, place_name
from viz.course.shared.maths import weighting as lesson_of
from viz.course.shared.maths.scene import PORTRAIT
from viz.course.shared.maths.weighting import MOST, WORDS
from viz.instruments import weighed, weighing
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import distinct, percent
from viz.shell import state
from viz.widgets import controls, lesson, parts

SOURCES = {
    "hand": "set by hand, as the slides mark the words", "equal": "all equal", "model": "surprisal for gpt-mini", "own": "my own sliders",
}  # fmt: skip
PLACES = {"face": (3.5, 3.5), "smile": (4.3, 3.5), "hands": (8.2, 3.5), "hills": (4.0, 0.5), "sky": (0.5, 6.5)}
"""Where a pill puts the attention: (row, column) on the grid of 10 x 8 patches."""
TOUCHED = "where I touched"
_SEPARATOR = "_"


def sources(opening: bool) -> tuple[str, ...]:
    """Where importances can come from, the first at once: by hand only those of the opening sentence are set."""
    return tuple(SOURCES) if opening else ("model", "equal", "own")


def importances(text: str, n: int = len(WORDS)) -> tuple[float, ...]:
    """The importances in a link: a number from 0 to 5 for each of n words, "1.5_1.5_0_..".

    >>> importances("0_0_0_0_5_0_0_5_0_1.5")[-1]
    1.5
    """
    try:
        values = tuple(float(part) for part in text.split(_SEPARATOR))
    except ValueError:
        values = ()
    if len(values) != n or not all(0 <= value <= MOST for value in values):
        raise state.Unusable(f"It must be {n} numbers from 0 to {MOST:g}, with {_SEPARATOR} between.")
    return values


def place(start: tuple[float, float]) -> tuple[float, float]:
    """Where the attention on the picture is: a named part, or the patch that was touched."""
    part = state.read("weighting.part", "face", state.one_of((*PLACES, TOUCHED)))
    if part != TOUCHED:
        return PLACES[part]
    cell = state.read("weighting.cell", 0, state.whole(0, 79))
    return float(cell // 8), float(cell % 8)


def sentence(slug: str, data: Any, threshold: float | bool, covered: bool, python: str) -> None:
    """The words with their sliders; a slider that is let go makes the importances the visitor's own."""
    key = f"{slug}words"
    weighing(data.words, data.raw, key=key, on_change=partial(_take, key, len(data.words)), covered=covered, python=python + "\n" + drawing("weighing", f"{list(data.words)!r}, {[round(value, 6) for value in map(float, data.raw)]!r}", origin.now()),
             threshold=None if threshold is False else float(threshold), title="" if covered else "Score below, weight above")  # fmt: skip


def _take(key: str, n: int = len(WORDS)) -> None:
    raw = weighed(key, n)
    if raw:
        state.write(**{"weighting.raw": _SEPARATOR.join(f"{value:g}" for value in raw), "weighting.source": "own"})


def portrait(slug: str, data: Any, params: Any) -> None:
    """The drawn portrait, clear where the attention is."""
    key = f"{slug}portrait"
    figure = lit(PORTRAIT.shapes, (PORTRAIT.width, PORTRAIT.height), (10, 8), data.patches, height=400)
    parts.show(figure, key, f"{PORTRAIT.say} Attention is brightest at row {params.at[0] + 1:g}, column {params.at[1] + 1:g} of 10 by 8 patches.",
               on_pick=partial(_touch, key))  # fmt: skip


def _touch(key: str) -> None:
    patch = parts.picked(key, PICKED)
    if patch:
        state.write(**{"weighting.part": TOUCHED, "weighting.cell": int(patch["place"])})


def where(slug: str) -> None:
    """Which part is attended to, and how wide the patch of attention is."""
    controls.pills("Attend to", (*PLACES, TOUCHED), slug + "part", "face")
    controls.slider("How wide the patch of attention is, in patches", 0.4, 3.0, slug + "width", 1.2, 0.1)


def first_guess(slug: str, data: Any) -> bool:
    """Which word weighs most? Asked before any weight is shown."""
    order = np.argsort(-data.weights, kind="stable")
    tie = bool(np.isclose(data.weights[order[0]], data.weights[order[1]]))
    same = "None more than another"
    words = distinct(data.words)
    answer = same if tie else words[order[0]]
    others = [WORDS.index(word) for word in ("painted", "is", "Lisa")] if data.words == WORDS else order[2:][::2][:3]
    offered = [words[place] for place in sorted({int(place) for place in (*order[:2], *others)})]
    powers = np.exp(np.asarray(data.raw))
    top = int(order[0])
    why = (
        f"All {count(data)} have the same score, {data.raw[0]:.1f}, so each gets {percent(data.weights[0], 2)}." if tie else
        f"Its score is {data.raw[top]:.1f}, and e^{data.raw[top]:.1f} = {powers[top]:.1f}. All {count(data)} such numbers add up to "
        f"{powers.sum():.1f}: {powers[top]:.1f} of {powers.sum():.1f} is {percent(data.weights[top], 2)}."
    )  # fmt: skip
    options = dict(zip(words, data.weights.tolist(), strict=True))
    return lesson.predict(slug + "first", "Each word was given a score. Which of these has the largest, and so gets most attention?", {word: options[word] for word in offered} | {same: 0.0}, answer, why)


def share_guess(slug: str, data: Any) -> bool:
    """What happens to the others when one word becomes more important?"""
    place = int(np.argmin(data.raw))
    after = lesson_of.raised(data.raw, place)
    words = distinct(data.words)
    others = [i for i in range(len(words)) if i != place]
    ratio = after[others] / data.weights[others]
    options = ("They stay as they are", "All shrink by the same factor", "The big ones shrink more, in proportion to their size squared")
    answer = options[0] if np.allclose(ratio, 1) else options[1] if np.allclose(ratio, ratio[0]) else options[2]
    top = int(np.argmax(data.weights))
    why = (
        f"“{words[place]}” goes from {percent(data.weights[place], 2)} to {percent(after[place], 2)}. Every other weight is multiplied by {ratio[0]:.3f}: "
        f"“{words[top]}” from {percent(data.weights[top], 2)} to {percent(after[top], 2)}. Only the sum below the line of the fraction has grown."
    )  # fmt: skip
    return lesson.predict(slug + "share", f"Give “{words[place]}” one more point of score. What happens to the weights of all other words?", options, answer, why)


def count(data: Any) -> str:
    """How many words there are."""
    return "ten" if len(data.words) == len(WORDS) else str(len(data.words))


def numbers(data: Any, picture: bool, skim: bool, params: Any) -> str:
    """One sentence of numbers of what is shown."""
    if picture:
        first, second = sorted(data.parts, key=data.parts.__getitem__, reverse=True)[:2]
        best = int(data.patches.argmax())
        return (
            f"80 patches share 100 %. Of the attention, {percent(data.parts[first])} is on the {first} and {percent(data.parts[second])} on the {second}. "
            f"The brightest patch, {place_name(best // 8, best % 8)}, has {percent(data.patches[best], 2)}; with uniform attention each would have {percent(1 / 80, 2)}."
        )
    if skim:
        held = float(data.weights[list(data.kept)].sum())
        return (
            f"{len(data.kept)} of {len(data.words)} words weigh {params.threshold} % or more. Together they hold {percent(held)} of the attention: "
            f"{percent(1 - len(data.kept) / len(data.words))} of the words are skipped for {percent(1 - held)} of it."
        )  # fmt: skip
    order = np.argsort(-data.weights, kind="stable")
    first, second, last = (int(order[i]) for i in (0, 1, -1))
    words = distinct(data.words)
    bits = "" if data.bits is None else f" For gpt-mini the surprisal of “{words[first]}” is {data.bits[first]:.1f} bits, that of “{words[last]}” {data.bits[last]:.1f}."
    return (
        f"“{words[first]}” gets {percent(data.weights[first], 2)}, “{words[second]}” {percent(data.weights[second], 2)}, “{words[last]}” {percent(data.weights[last], 2)}; "
        f"all {count(data)} together {percent(round(data.weights.sum(), 6), 2)}.{bits}"
    )  # fmt: skip
