"""The steps of the first exhibit: words with sliders, and a portrait under a patch of attention."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.patches import PICKED, lit, place_name
from viz.course.exhibit import Folds
from viz.course.kit import equation_view
from viz.course.shared import weighting
from viz.course.shared.scene import PORTRAIT
from viz.course.why.weighting import measures, shares
from viz.course.why.weighting.params import BETWEEN, SENTENCE, SLUG, SOURCES, TOUCHED_PATCH, Params
from viz.instruments import chosen_importances, weighing
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import distinct, percent
from viz.shell import links, state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

SHRINK = (
    "They stay as they are",
    "All shrink by the same factor",
    "The large ones shrink by a larger factor",
)


def guess(params: Params, data: shares.Data) -> Folds:
    """Ask for the largest weight: the scores are shown, the weights are not."""
    top, powers = int(np.argmax(data.weights)), np.exp(np.asarray(data.raw))
    options, answer = shares.answer_options(data)
    told = exhibit_parts.predict(
        f"{SLUG}.first",
        f"The number below a word is its score. “{distinct(data.words)[top]}” has {data.raw[top]:.1f}, and all "
        f"{_count(data)} scores add up to {sum(data.raw):.1f}. How much of the attention does it get?",
        options,
        answer,
        f"The share follows e to the power of the score, not the score itself: e^{data.raw[top]:.1f} = {powers[top]:.1f}, and all "
        f"{_count(data)} powers add up to {powers.sum():.1f}. {powers[top]:.1f} of {powers.sum():.1f} is "
        f"{percent(data.weights[top], 2)}.",
    )
    _sentence(params, data, covered=not told)
    page_parts.summary(_most_and_least(data) if told else " ")
    if told:
        _source(params)
    return _folds(params, data, told)


def weigh(params: Params, data: shares.Data) -> Folds:
    """Draw the words with their sliders; the fold explains the measures of a prediction with this sentence."""
    _sentence(params, data)
    page_parts.summary(_most_and_least(data))
    _source(params)
    if not exhibit_parts.presenting():
        links.page_link("importance", "Does the answer depend on what is attended to? See What matters")
    fold = (measures.NAME, "measures", lambda: measures.explained(params, data))
    return replace(_folds(params, data), own=(fold,))


def share(params: Params, data: shares.Data) -> Folds:
    """Draw the words with their sliders, and ask how the other weights change when one score grows."""
    _sentence(params, data)
    page_parts.summary(_most_and_least(data))
    _source(params)
    words, place, top = distinct(data.words), int(np.argmin(data.raw)), int(np.argmax(data.weights))
    after = weighting.raised(data.raw, place)
    others = [i for i in range(len(words)) if i != place]
    ratio = after[others] / data.weights[others]
    told = exhibit_parts.predict(
        f"{SLUG}.share",
        f"Give “{words[place]}” one more point of score. What happens to the weights of all other words?",
        SHRINK,
        SHRINK[0] if np.allclose(ratio, 1) else SHRINK[1] if np.allclose(ratio, ratio[0]) else SHRINK[2],
        f"“{words[place]}” goes from {percent(data.weights[place], 2)} to {percent(after[place], 2)}. "
        f"Every other weight is multiplied by {ratio[0]:.3f}: “{words[top]}” from "
        f"{percent(data.weights[top], 2)} "
        f"to {percent(after[top], 2)}. Only the denominator has grown.",
    )
    return _folds(params, data, told)


def skim(params: Params, data: shares.Data) -> Folds:
    """Draw the words whose weight reaches the threshold."""
    _sentence(params, data, threshold=params.threshold / 100)
    held, skipped = (
        float(data.weights[list(data.kept_words)].sum()),
        1 - len(data.kept_words) / len(data.words),
    )
    page_parts.summary(
        f"{len(data.kept_words)} of {len(data.words)} words weigh {params.threshold}% or more. Together they hold "
        f"{percent(held)} of the attention. The other {percent(skipped)} of the words are skipped; they hold "
        f"{percent(1 - held)}."
    )
    return _folds(params, data)


def look(params: Params, _: object) -> Folds:
    """Draw the portrait, clear where the attention is; the visitor's sentence is not read."""
    params = replace(params, text=SENTENCE)
    data = engine_client.submit((SLUG, "look", params), lambda: shares.shared(params), 60)
    key, (row, column) = f"{SLUG}.portrait", params.centre
    page_parts.show(
        lit(PORTRAIT.shapes, (PORTRAIT.width, PORTRAIT.height), shares.GRID, data.patches, height=400),
        key,
        f"{PORTRAIT.say} Attention is brightest at row {row + 1:g}, column {column + 1:g} of 10 by 8 "
        "patches.",
        on_pick=partial(_touch, key),
    )
    first, second = sorted(data.parts, key=data.parts.__getitem__, reverse=True)[:2]
    best = int(data.patches.argmax())
    page_parts.summary(
        f"80 patches share 100%. Of the attention, {percent(data.parts[first])} is on the {first} and "
        f"{percent(data.parts[second])} on the {second}. The brightest patch, "
        f"{place_name(*divmod(best, 8))}, has "
        f"{percent(data.patches[best], 2)}; with uniform attention each would have {percent(1 / 80, 2)}."
    )

    def table() -> pd.DataFrame:
        rows, columns = [str(row) for row in range(1, 11)], list("ABCDEFGH")
        patches = data.patches.reshape(shares.GRID).round(5)
        return pd.DataFrame(patches, index=rows, columns=columns).rename_axis("row \\ column")

    return replace(_folds(params, data), table=table, more=lambda: _of_a_patch(params, data))


def _sentence(
    params: Params, data: shares.Data, *, covered: bool = False, threshold: float | None = None
) -> None:
    """Draw the words with their sliders; moving a slider stores the visitor's own scores."""
    key, raw = f"{SLUG}.words", [round(float(value), 6) for value in data.raw]
    picture = drawing("weighing", f"{list(data.words)!r}, {raw!r}", origin.now())
    weighing(
        data.words,
        data.raw,
        key=key,
        on_change=partial(_take, key, len(data.words)),
        covered=covered,
        python=code(params) + "\n" + picture,
        threshold=threshold,
        title="Scores" if covered else "Score below, weight above",
    )


def _take(key: str, n: int = len(weighting.WORDS)) -> None:
    if raw := chosen_importances(key, n):
        written = BETWEEN.join(f"{value:g}" for value in raw)
        state.write(**{f"{SLUG}.raw": written, f"{SLUG}.source": "own"})


def _touch(key: str) -> None:
    if patch := page_parts.clicked_mark(key, PICKED):
        state.write(**{f"{SLUG}.part": TOUCHED_PATCH, f"{SLUG}.cell": int(patch["place"])})


def _source(params: Params) -> None:
    """Draw the choice of the source of the scores; options and default depend on the sentence."""
    offered, label = params.sources, "Where the scores come from"
    controls.pills(label, offered, f"{SLUG}.source", offered[0], SOURCES.__getitem__)


def _count(data: shares.Data) -> str:
    """Return the number of words, as text."""
    return "ten" if len(data.words) == len(weighting.WORDS) else str(len(data.words))


def _most_and_least(data: shares.Data) -> str:
    order, words = np.argsort(-data.weights, kind="stable"), distinct(data.words)
    first, second, last = (int(order[i]) for i in (0, 1, -1))
    bits = ""
    if data.bits is not None:
        bits = (
            f" For gpt-mini the surprisal of “{words[first]}” is {data.bits[first]:.1f} bits, "
            f"that of “{words[last]}” {data.bits[last]:.1f}."
        )
    got = {i: percent(data.weights[i], 2) for i in (first, second, last)}
    return (
        f"“{words[first]}” gets {got[first]}, “{words[second]}” {got[second]}, “{words[last]}” {got[last]}; "
        f"all {_count(data)} together {percent(round(data.weights.sum(), 6), 2)}.{bits}"
    )


def _folds(params: Params, data: shares.Data, revealed: bool = True) -> Folds:
    """Return the folds: the softmax with the numbers of the word that weighs most; all weights in the table."""

    def table() -> pd.DataFrame:
        powers = np.exp(np.asarray(data.raw)).round(3)
        rows: dict[str, Any] = {
            "score": data.raw,
            "e to the power": powers,
            "weight": data.weights.round(4),
        }
        if data.bits is not None:
            rows["bits"] = data.bits.round(2)
        return pd.DataFrame(rows, index=distinct(data.words)).rename_axis("word")

    arrays = {
        "words": np.array(data.words),
        "scores": np.array(data.raw),
        "weights": data.weights,
        "patches": data.patches.reshape(shares.GRID),
    }
    return Folds(table, lambda: arrays, code(params), revealed, more=lambda: _of_a_word(data))


def _of_a_word(data: shares.Data) -> None:
    top, powers = int(np.argmax(data.weights)), np.exp(np.asarray(data.raw))
    score, weight, power, total = data.raw[top], data.weights[top], powers[top], powers.sum()
    equation_view.show(
        "weighting.softmax",
        f"{SLUG}.",
        values={"a_i": f"{weight:.4f}", "n": str(len(data.words)), "s_i": f"{score:.1f}"},
        marks={"a_i": "the shade of a word", "s_i": "the slider below a word"},
    )
    page_parts.summary(
        f"“{data.words[top]}”: e^{score:.1f} = {power:.3f}; all {len(data.words)} add up to {total:.3f}; "
        f"{power:.3f} / {total:.3f} = {weight:.4f}."
    )
    st.markdown(
        "Why not divide the scores by their sum? Then a score of 0 would always give weight 0, and negative "
        "scores, which the models of the later chapters produce, could not be used. With the exponential "
        "only differences between scores count."
    )


def _of_a_patch(params: Params, data: shares.Data) -> None:
    best, (row, column), width = int(data.patches.argmax()), params.centre, params.width
    (i, j), weight = divmod(best, 8), data.patches[best]
    far = ((i - row) ** 2 + (j - column) ** 2) / (2 * width**2)
    equation_view.show(
        "weighting.softmax",
        f"{SLUG}.",
        values={"a_i": f"{weight:.4f}", "n": "80"},
        marks={"a_i": "how clear a patch is", "s_i": "how near the patch is"},
    )
    page_parts.equation(r"s_{ij} = -\frac{(i - i_0)^2 + (j - j_0)^2}{2 w^2}")
    st.text(
        f"The attention is centred at row {row + 1:g}, column {column + 1:g} with w = {width:g} patches. "
        f"Patch {place_name(i, j)}: s = −{far:.3f}, a = {weight:.4f}."
    )


def code(params: Params) -> str:
    """Return lines of Python that compute the same weights in a notebook."""
    if params.score_source == "model":
        return (
            "import core\nfrom viz.course.shared import weighting\n\n"
            f"sentence = {params.text!r}\nwords, text = weighting.words_of(sentence), '\\n' + sentence\n"
            'bits = weighting.word_bits(core.open_model("gpt-mini").run(text), words, text)\n'
            "weights = weighting.softmax(weighting.from_bits(bits))\nprint(weights)"
        )
    n = len(weighting.words_of(params.text))
    raw = {"hand": "weighting.BY_HAND", "equal": f"[1.0] * {n}", "own": repr(list(params.slider_scores))}[
        params.score_source
    ]
    return (
        f"from viz.course.shared import weighting\n\nweights = weighting.softmax({raw})\n"
        f"patches = weighting.spot(10, 8, {params.centre}, {params.width:g}).reshape(10, 8)\nprint(weights, "
        "patches)"
    )
