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
from viz.languages import _, mark, write_number
from viz.shell import links, state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

SHRINK = (
    mark("They stay as they are"),
    mark("All shrink by the same factor"),
    mark("The large ones shrink by a larger factor"),
)


def guess(params: Params, data: shares.Data) -> Folds:
    """Ask for the largest weight: the scores are shown, the weights are not."""
    top, powers = int(np.argmax(data.weights)), np.exp(np.asarray(data.raw))
    options, answer = shares.answer_options(data)
    told = exhibit_parts.predict(
        f"{SLUG}.first",
        _(
            "The number below a word is its score. “{word}” has {score:.1f}, and all {count} scores add up to {total:.1f}. How much of the attention does it get?",
            word=distinct(data.words)[top],
            score=data.raw[top],
            count=_count(data),
            total=sum(data.raw),
        ),
        options,
        answer,
        _(
            "The share follows e to the power of the score, not the score itself: e^{score:.1f} = {power:.1f}, and all {count} powers add up to {total:.1f}. {power:.1f} of {total:.1f} is {share}.",
            score=data.raw[top],
            power=powers[top],
            count=_count(data),
            total=powers.sum(),
            share=percent(data.weights[top], 2),
        ),
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
        links.page_link("importance", _("Does the answer depend on what is attended to? See What matters"))
    fold = (measures.NAME, "measures", lambda: measures.explained(params, data))
    return replace(_folds(params, data), extra_folds=(fold,))


def share(params: Params, data: shares.Data) -> Folds:
    """Draw the words with their sliders, and ask how the other weights change when one score grows."""
    _sentence(params, data)
    page_parts.summary(_most_and_least(data))
    _source(params)
    words, place, top = distinct(data.words), int(np.argmin(data.raw)), int(np.argmax(data.weights))
    after = weighting.weights_after_increase(data.raw, place)
    others = [i for i in range(len(words)) if i != place]
    ratio = after[others] / data.weights[others]
    options = [_(option) for option in SHRINK]
    told = exhibit_parts.predict(
        f"{SLUG}.share",
        _(
            "Give “{word}” one more point of score. What happens to the weights of all other words?",
            word=words[place],
        ),
        options,
        options[0 if np.allclose(ratio, 1) else 1 if np.allclose(ratio, ratio[0]) else 2],
        _(
            "“{word}” goes from {before} to {after}. Every other weight is multiplied by {factor:.3f}: “{other}” from {one} to {two}. Only the denominator has grown.",
            word=words[place],
            before=percent(data.weights[place], 2),
            after=percent(after[place], 2),
            factor=ratio[0],
            other=words[top],
            one=percent(data.weights[top], 2),
            two=percent(after[top], 2),
        ),
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
        _(
            "{n} of {all} words weigh {threshold} or more. Together they hold {held} of the attention. The other {skipped} of the words are skipped; they hold {rest}.",
            n=len(data.kept_words),
            all=len(data.words),
            threshold=write_number(f"{params.threshold}%"),
            held=percent(held),
            skipped=percent(skipped),
            rest=percent(1 - held),
        )
    )
    return _folds(params, data)


def look(params: Params, data: object) -> Folds:
    """Draw the portrait, clear where the attention is; the visitor's sentence is not read."""
    params = replace(params, text=SENTENCE)
    data = engine_client.submit((SLUG, "look", params), lambda: shares.shared(params), 60)
    key, (row, column) = f"{SLUG}.portrait", params.centre
    page_parts.show(
        lit(PORTRAIT.shapes, (PORTRAIT.width, PORTRAIT.height), shares.GRID, data.patches, height=400),
        key,
        _(
            "{portrait} Attention is brightest at row {row:g}, column {column:g} of 10 by 8 patches.",
            portrait=_(PORTRAIT.say),
            row=row + 1,
            column=column + 1,
        ),
        on_pick=partial(_touch, key),
    )
    first, second = sorted(data.parts, key=data.parts.__getitem__, reverse=True)[:2]
    best = int(data.patches.argmax())
    page_parts.summary(
        _(
            "80 patches share {all}. Of the attention, {one} is on the {first} and {two} on the {second}. The brightest patch, {patch}, has {most}; with uniform attention each would have {uniform}.",
            all=percent(1.0),
            one=percent(data.parts[first]),
            first=_(first),
            two=percent(data.parts[second]),
            second=_(second),
            patch=place_name(*divmod(best, 8)),
            most=percent(data.patches[best], 2),
            uniform=percent(1 / 80, 2),
        )
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
        title=_("Scores") if covered else _("Score below, weight above"),
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
    offered, label = params.sources, _("Where the scores come from")
    controls.pills(label, offered, f"{SLUG}.source", offered[0], lambda source: _(SOURCES[source]))


def _count(data: shares.Data) -> str:
    """Return the number of words, as text."""
    return _("ten") if len(data.words) == len(weighting.WORDS) else str(len(data.words))


def _most_and_least(data: shares.Data) -> str:
    order, words = np.argsort(-data.weights, kind="stable"), distinct(data.words)
    first, second, last = (int(order[i]) for i in (0, 1, -1))
    bits = ""
    if data.bits is not None:
        bits = _(
            " For gpt-mini the surprisal of “{first}” is {most:.1f} bits, that of “{last}” {least:.1f}.",
            first=words[first],
            most=data.bits[first],
            last=words[last],
            least=data.bits[last],
        )
    got = {i: percent(data.weights[i], 2) for i in (first, second, last)}
    return (
        _(
            "“{first}” gets {most}, “{second}” {more}, “{last}” {least}; all {count} together {total}.",
            first=words[first],
            most=got[first],
            second=words[second],
            more=got[second],
            last=words[last],
            least=got[last],
            count=_count(data),
            total=percent(round(data.weights.sum(), 6), 2),
        )
        + bits
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
        "parts": np.array(list(data.parts.values())),
        "skipped": np.isin(np.arange(len(data.words)), list(data.kept_words), invert=True),
    }
    return Folds(table, lambda: arrays, code(params), revealed, more=lambda: _of_a_word(data))


def _of_a_word(data: shares.Data) -> None:
    top, powers = int(np.argmax(data.weights)), np.exp(np.asarray(data.raw))
    score, weight, power, total = data.raw[top], data.weights[top], powers[top], powers.sum()
    equation_view.show(
        "weighting.softmax",
        f"{SLUG}.",
        values={"a_i": f"{weight:.4f}", "n": str(len(data.words)), "s_i": f"{score:.1f}"},
        marks={"a_i": _("the shade of a word"), "s_i": _("the slider below a word")},
    )
    page_parts.summary(
        _(
            "“{word}”: e^{score:.1f} = {power:.3f}; all {n} add up to {total:.3f}; {power:.3f} / {total:.3f} = {weight:.4f}.",
            word=data.words[top],
            score=score,
            power=power,
            n=len(data.words),
            total=total,
            weight=weight,
        )
    )
    st.markdown(
        _(
            "Why not divide the scores by their sum? Then a score of 0 would always give weight 0, and negative "
            "scores, which the models of the later chapters produce, could not be used. With the exponential "
            "only differences between scores count."
        )
    )


def _of_a_patch(params: Params, data: shares.Data) -> None:
    best, (row, column), width = int(data.patches.argmax()), params.centre, params.width
    (i, j), weight = divmod(best, 8), data.patches[best]
    far = ((i - row) ** 2 + (j - column) ** 2) / (2 * width**2)
    equation_view.show(
        "weighting.softmax",
        f"{SLUG}.",
        values={"a_i": f"{weight:.4f}", "n": "80"},
        marks={"a_i": _("how clear a patch is"), "s_i": _("how near the patch is")},
    )
    page_parts.equation(r"s_{ij} = -\frac{(i - i_0)^2 + (j - j_0)^2}{2 w^2}")
    st.text(
        _(
            "The attention is centred at row {row:g}, column {column:g} with w = {width:g} patches. Patch {patch}: s = −{far:.3f}, a = {weight:.4f}.",
            row=row + 1,
            column=column + 1,
            width=width,
            patch=place_name(i, j),
            far=far,
            weight=weight,
        )
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
