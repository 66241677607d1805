"""The steps on soft and hard attention: each draws its question, its pictures and its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.charts import marks
from viz.charts.patches import PICKED, lit, place_name, reads
from viz.course.exhibit import Folds
from viz.course.kit import equation_view
from viz.course.look_up.soft_and_hard import charts, maths
from viz.course.look_up.soft_and_hard.params import Params
from viz.course.shared.scene import HARBOUR
from viz.labels import percent
from viz.number_text import in_brackets, true_minus
from viz.shell import state
from viz.widgets import controls, exhibit_parts, page_parts

SLUG = "soft_and_hard."
GRID = ROWS, COLUMNS = 4, 6
NAMES = tuple(place_name(row, column) for row in range(ROWS) for column in range(COLUMNS))
MARKS = {"a_i": "how clear a patch is", "v_i": "the mean colour of a patch", "z": "what is read"}


def guess(params: Params, data: maths.Data) -> Folds:
    """Ask for the limit of the mean of many samples, then draw the reads."""
    means = {
        "The soft mix of all patches": maths.soft_read(data.weights, data.values),
        "The one patch with the largest weight": data.values[int(data.weights.argmax())],
        "The plain mean of the whole picture": data.values.mean(0),
    }
    drawn = maths.draw(data.weights, 5000, params.draw)
    far = {name: float(np.linalg.norm(data.values[drawn].mean(0) - mean)) for name, mean in means.items()}
    soft, top, plain = far.values()
    told = exhibit_parts.predict(
        f"{SLUG}first",
        "Draw one patch with these weights, note its colour, put it back, draw again, thousands of times. "
        "What does the mean approach?",
        tuple(means),
        min(far, key=far.__getitem__),
        f"After {len(drawn):,} draws the mean colour is {soft:.4f} away from the soft mix, {top:.4f} from "
        f"the patch with the largest weight and {plain:.4f} from the plain mean. Each patch is drawn as "
        "often as its weight, so the mean of the draws approaches the weighted sum.",
    )
    titles = (
        "soft",
        "one draw",
        "the mean" if exhibit_parts.presenting() else f"mean of {len(data.samples):,}",
    )
    images = (_soft(data), data.patches[data.samples[0]], data.patches[data.samples].mean(0))
    with _harbour(params, data):
        _reads([(title, image if told else None) for title, image in zip(titles, images, strict=True)])
    page_parts.summary(_heaviest(params, data) if told else " ")
    return _folds(params, data, told)


def soft(params: Params, data: maths.Data) -> Folds:
    """Draw the blend of all patches."""
    with _harbour(params, data):
        _reads([("soft", _soft(data))])
    page_parts.summary(_heaviest(params, data))
    return _folds(params, data)


def hard(params: Params, data: maths.Data) -> Folds:
    """Draw one sampled patch, framed, beside the blend."""
    place = int(data.samples[0])
    with _harbour(params, data, framed=place):
        _reads([("soft", _soft(data)), (f"hard: {NAMES[place]}", data.patches[place])])
    page_parts.summary(
        f"Sampled: {thing(place)}, with a probability of {percent(data.weights[place], 2)}. "
        f"Its colour is {float(np.linalg.norm(data.values[place] - maths.soft_read(data.weights, data.values))):.2f} away from the soft read. The soft read needs 24 patches, this one needs 1: it has less work and more variance."
    )
    controls.seed_input(
        f"{SLUG}draw", next_label="Draw another patch", strong=True
    )  # the button of this step, in its words
    return _folds(params, data)


def many(params: Params, data: maths.Data) -> Folds:
    """Draw the mean of many samples, and its distance from the blend."""
    near, n, low = data.near, len(data.samples), exhibit_parts.presenting()
    with _harbour(params, data):
        mean = data.patches[data.samples].mean(0)
        _reads([("soft", _soft(data)), (f"mean of {n} draw{_s(n)}", mean)], height=170 if low else 200)
        distances = {"expected: 1/√n": near.expect, "these draws": np.maximum(near.distance, 1e-6)}
        page_parts.show(
            marks.lines(
                pd.DataFrame(distances, near.n),
                x="n, draws",
                title="distance, colour",
                form="~g",
                dashed=["expected: 1/√n"],
                scales=("log", "log"),
                overlay=marks.rules({"": n}),
                height=225 if low else 215,
            ),
            f"{SLUG}near",
            f"The distance of the mean from the soft read falls to {near.distance[-1]:.4f} after {n} draws.",
        )
    page_parts.summary(
        f"The mean of {n:,} draw{_s(n)} is {near.distance[-1]:.4f} away from the soft read; the expected distance is "
        f"{near.expect[-1]:.4f}. A hundred times as many draws would make it a tenth."
    )
    return _folds(params, data)


def learning(params: Params, data: maths.Data) -> Folds:
    """Draw the gradients; below them ask what differentiation gives for the patch with the largest score."""
    learned, n = data.learning, len(data.samples)
    names, exact, rows = gradients(data)
    with _harbour(params, data):
        size = {"columns": 1, "height": 340} if exhibit_parts.presenting() else {}
        page_parts.show(
            charts.guesses(names, exact, rows, **size),
            f"{SLUG}gradient",
            f"The gradient of {len(names)} scores: exact, and two estimates with error bars.",
        )
    best = int(learned.exact.argmax())
    said = (
        f"To read something {params.wanted}, the score of {thing(best)} should grow most. Its derivative is exactly "
        f"{learned.exact[best]:.4f}, from {n:,} draw{_s(n)} {learned.plain[best]:.4f}, with a baseline "
        f"{learned.based[best]:.4f}. The baseline, {learned.baseline:.3f}, divides the variance of a draw by "
        f"{learned.saved:.1f}."
    )
    page_parts.summary(true_minus(said))
    options = (
        "The same gradient as for the soft read",
        "Zero for every score",
        "Nothing: there is no path to the scores",
    )
    most = 0.0 if data.automatic is None else float(np.abs(data.automatic).max())
    told = exhibit_parts.predict(
        f"{SLUG}path",
        "A network always reads the patch with the largest score. What does automatic differentiation return for the "
        "scores?",
        options,
        options[2] if data.argmax is None else options[1] if not np.any(data.argmax) else options[0],
        f"For the soft read automatic differentiation gives 24 numbers, the largest {most:.4f}; for the "
        "patch with the largest score it finds no path, because an index does not change when a score "
        "changes a little. That is why hard attention learns by REINFORCE.",
    )
    return _folds(params, data, told, learns=True)


def thing(place: int) -> str:
    """Return a patch by its name and the part of the picture that fills most of it."""
    shares = HARBOUR.shares(ROWS, COLUMNS)[place]
    return f"{NAMES[place]}, {HARBOUR.parts[int(shares.argmax())]}"


def gradients(
    data: maths.Data, most: int = 6
) -> tuple[list[str], maths.Array, list[tuple[str, maths.Array, maths.Array]]]:
    """Return the scores with the largest derivatives: names, exact values, both estimates and their standard errors."""
    learned, root = data.learning, np.sqrt(len(data.samples))
    order = np.argsort(-np.abs(learned.exact), kind="stable")[:most]
    rows = [
        ("REINFORCE", learned.plain[order], learned.plain_deviation[order] / root),
        ("with a baseline", learned.based[order], learned.based_deviation[order] / root),
    ]
    return [thing(int(place)) for place in order], learned.exact[order], rows


def _harbour(params: Params, data: maths.Data, framed: int | None = None) -> DeltaGenerator:
    """Draw the harbour, clear where the weights are large; the query patch is dotted, a sampled one framed.

    A touched patch becomes the query. Returns the column beside the picture, for the reads.
    """
    left, right = st.columns([1, 1] if exhibit_parts.presenting() else [3, 2], gap="medium")
    size, key, top = (HARBOUR.width, HARBOUR.height), f"{SLUG}picture", int(data.weights.argmax())
    with left:
        marks = {"framed": framed, "query_patch": params.asks}
        page_parts.show(
            lit(HARBOUR.shapes, size, GRID, data.weights, labelled_from=0.03, height=350, **marks),
            key,
            f"{HARBOUR.say} Patch {thing(params.asks)} is the query; "
            f"the largest weight is {percent(data.weights.max())}, on {thing(top)}.",
            on_pick=partial(_touch, key),
        )
    return right


def _touch(key: str) -> None:
    if patch := page_parts.clicked_mark(key, PICKED):
        state.write(**{f"{SLUG}asks": int(patch["place"])})


def _reads(images: Sequence[tuple[str, maths.Array | None]], height: int = 200) -> None:
    """Draw the reads from the picture, small; None is covered."""
    said = f"What is read from the picture: {', '.join(title for title, _ in images)}."
    page_parts.show(reads(images, height=height), f"{SLUG}reads", said)


def _soft(data: maths.Data) -> maths.Array:
    return maths.soft_read(data.weights, data.patches)


def _heaviest(params: Params, data: maths.Data) -> str:
    top, over = int(data.weights.argmax()), int((data.weights >= 0.01).sum())
    return (
        f"Patch {thing(params.asks)} is the query. {over} of 24 patches weigh 1% or more; {thing(top)} weighs most, "
        f"{percent(data.weights[top], 2)}. All 24 together: {percent(round(data.weights.sum(), 6), 2)}."
    )


def _s(n: int) -> str:
    return "s" if n > 1 else ""


def _folds(params: Params, data: maths.Data, revealed: bool = True, *, learns: bool = False) -> Folds:
    """Return the folds: both reads, in the step on learning both gradients too; every patch in the table."""
    learned = data.learning
    read = {"values": data.values, "scores": data.scores, "weights": data.weights, "drawn": data.samples}
    grown = {"gradient": learned.exact, "reinforce": learned.plain, "with_baseline": learned.based}

    def table() -> pd.DataFrame:
        drawn = np.bincount(data.samples, minlength=len(NAMES)) / len(data.samples)
        columns = {"score": data.scores, "weight": data.weights, "share of the draws": drawn}
        columns |= dict(zip(("gradient", "REINFORCE", "with a baseline"), grown.values(), strict=True))
        return pd.DataFrame(columns, index=list(NAMES)).round(5).rename_axis("patch")

    def explained() -> None:
        _both_reads(params, data)
        if learns:
            _both_gradients(data)

    return Folds(table, read | grown, revealed=revealed, more=explained)


def _both_reads(params: Params, data: maths.Data) -> None:
    top, n = int(data.weights.argmax()), len(data.samples)
    read, mean = data.weights @ data.values, data.values[data.samples].mean(0)
    page_parts.equation(r"s_i = -\beta \lVert v_i - v_q \rVert^2, \qquad a = \mathrm{softmax}(s)")
    said = (
        f"Patch {NAMES[top]}: s = {data.scores[top]:.3f}, a = {data.weights[top]:.4f}, "
        f"with β = {params.beta:g} and patch {NAMES[params.asks]} as the query."
    )
    st.text(true_minus(said))
    equation_view.show("soft.mix", SLUG, values={"n": "24"}, marks=MARKS)
    equation_view.show("hard.draw", SLUG, marks=MARKS)
    st.text(
        f"Red, green, blue of the soft read: {in_brackets(read, 3)}; of the mean of {n:,} draws: {in_brackets(mean, 3)}."
    )


def _both_gradients(data: maths.Data) -> None:
    learned, root = data.learning, np.sqrt(len(data.samples))
    place = int(np.abs(learned.exact).argmax())
    plain, based = learned.plain_deviation[place], learned.based_deviation[place]
    equation_view.show("softmax.gradient", SLUG)
    equation_view.show("hard.gradient", SLUG)
    page_parts.equation(
        r"\frac{\partial J}{\partial s_j} = a_j (f_j - J), \quad J = \sum_i a_i f_i, "
        r"\quad f_i = w \cdot v_i, \qquad \hat g = (f_i - b)(e_i - a), \ i \sim a"
    )
    said = (
        f"Patch {NAMES[place]}: a = {data.weights[place]:.4f}, f = {data.values[place] @ data.w:.4f}, "
        f"J = b = {learned.baseline:.4f}: exactly {learned.exact[place]:.5f}. "
        f"The standard deviation of one draw is {plain:.4f} without a baseline and {based:.4f} with it; "
        f"that of the mean of {len(data.samples):,} is {plain / root:.5f} and {based / root:.5f}."
    )
    st.text(true_minus(said))
