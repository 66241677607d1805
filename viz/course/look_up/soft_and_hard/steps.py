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
from viz.languages import _, mark, ngettext
from viz.number_text import in_brackets, true_minus
from viz.shell import state
from viz.widgets import controls, exhibit_parts, page_parts

SLUG = "soft_and_hard."
GRID = ROWS, COLUMNS = 4, 6
NAMES = tuple(place_name(row, column) for row in range(ROWS) for column in range(COLUMNS))
MARKS = {
    "a_i": mark("how clear a patch is"),
    "v_i": mark("the mean colour of a patch"),
    "z": mark("what is read"),
}
SAY = mark("A drawn harbour: a tree, a house with a red roof, a lake with a red boat, the sun.")
PARTS = (
    mark("sky"),
    mark("sun"),
    mark("cloud"),
    mark("hill"),
    mark("lake"),
    mark("meadow"),
    mark("house"),
    mark("roof"),
    mark("tree"),
    mark("boat"),
)
"""The parts of the picture, which scenes.toml names, for the catalogues."""


def guess(params: Params, data: maths.Data) -> Folds:
    """Ask for the limit of the mean of many samples, then draw the reads."""
    means = {
        _("The soft mix of all patches"): maths.soft_read(data.weights, data.values),
        _("The one patch with the largest weight"): data.values[int(data.weights.argmax())],
        _("The plain mean of the whole picture"): data.values.mean(0),
    }
    drawn = maths.draw(data.weights, 5000, params.draw)
    far = {name: float(np.linalg.norm(data.values[drawn].mean(0) - mean)) for name, mean in means.items()}
    soft, top, plain = far.values()
    told = exhibit_parts.predict(
        f"{SLUG}first",
        _(
            "Draw one patch with these weights, note its colour, put it back, draw again, thousands of times. What does the mean approach?"
        ),
        tuple(means),
        min(far, key=far.__getitem__),
        _(
            "After {n:,} draws the mean colour is {soft:.4f} away from the soft mix, {top:.4f} from the patch with the largest weight and {plain:.4f} from the plain mean. Each patch is drawn as often as its weight, so the mean of the draws approaches the weighted sum.",
            n=len(drawn),
            soft=soft,
            top=top,
            plain=plain,
        ),
    )
    titles = (
        _("soft"),
        _("one draw"),
        _("the mean") if exhibit_parts.presenting() else _("mean of {n:,}", n=len(data.samples)),
    )
    images = (_soft(data), data.patches[data.samples[0]], data.patches[data.samples].mean(0))
    with _harbour(params, data):
        _reads([(title, image if told else None) for title, image in zip(titles, images, strict=True)])
    page_parts.summary(_heaviest(params, data) if told else " ")
    return _folds(params, data, told)


def soft(params: Params, data: maths.Data) -> Folds:
    """Draw the blend of all patches."""
    with _harbour(params, data):
        _reads([(_("soft"), _soft(data))])
    page_parts.summary(_heaviest(params, data))
    return _folds(params, data)


def hard(params: Params, data: maths.Data) -> Folds:
    """Draw one sampled patch, framed, beside the blend."""
    place = int(data.samples[0])
    with _harbour(params, data, framed=place):
        named = _("hard: {patch}", patch=NAMES[place])
        _reads([(_("soft"), _soft(data)), (named, data.patches[place])])
    page_parts.summary(
        _(
            "Sampled: {patch}, with a probability of {share}. Its colour is {far:.2f} away from the soft read. The soft read needs 24 patches, this one needs 1: it has less work and more variance.",
            patch=thing(place),
            share=percent(data.weights[place], 2),
            far=float(np.linalg.norm(data.values[place] - maths.soft_read(data.weights, data.values))),
        )
    )
    controls.seed_input(
        f"{SLUG}draw", next_label=mark("Draw another patch"), strong=True
    )  # the button of this step, in its words
    return _folds(params, data)


def many(params: Params, data: maths.Data) -> Folds:
    """Draw the mean of many samples, and its distance from the blend."""
    near, n, low = data.near, len(data.samples), exhibit_parts.presenting()
    with _harbour(params, data):
        mean = data.patches[data.samples].mean(0)
        named = ngettext("mean of {n} draw", "mean of {n} draws", n)
        _reads([(_("soft"), _soft(data)), (named, mean)], height=170 if low else 200)
        expected = _("expected: 1/√n")
        distances = {expected: near.expect, _("these draws"): np.maximum(near.distance, 1e-6)}
        page_parts.show(
            marks.lines(
                pd.DataFrame(distances, near.n),
                x=_("n, draws"),
                title=_("distance, colour"),
                form="~g",
                dashed=[expected],
                scales=("log", "log"),
                overlay=marks.rules({"": n}),
                height=225 if low else 215,
            ),
            f"{SLUG}near",
            _(
                "The distance of the mean from the soft read falls to {far:.4f} after {n} draws.",
                far=near.distance[-1],
                n=n,
            ),
        )
    page_parts.summary(
        ngettext(
            "The mean of {n:,} draw is {far:.4f} away from the soft read; the expected distance is {expect:.4f}. A hundred times as many draws would make it a tenth.",
            "The mean of {n:,} draws is {far:.4f} away from the soft read; the expected distance is {expect:.4f}. A hundred times as many draws would make it a tenth.",
            n,
            far=near.distance[-1],
            expect=near.expect[-1],
        )
    )
    return _folds(params, data)


def learning(params: Params, data: maths.Data) -> Folds:
    """Draw the gradients; below them ask what differentiation gives for the patch with the largest score."""
    learned, n = data.learning, len(data.samples)
    names, exact, rows = gradients(data)
    with _harbour(params, data):
        size = {"height": 340} if exhibit_parts.presenting() else {}
        page_parts.show(
            charts.guesses(names, exact, rows, **size),
            f"{SLUG}gradient",
            _("The gradient of {n} scores: exact, and two estimates with error bars.", n=len(names)),
        )
    best = int(learned.exact.argmax())
    said = ngettext(
        "To read something {wanted}, the score of {patch} should grow most. Its derivative is exactly {exact:.4f}, from {n:,} draw {plain:.4f}, with a baseline {based:.4f}. The baseline, {baseline:.3f}, divides the variance of a draw by {saved:.1f}.",
        "To read something {wanted}, the score of {patch} should grow most. Its derivative is exactly {exact:.4f}, from {n:,} draws {plain:.4f}, with a baseline {based:.4f}. The baseline, {baseline:.3f}, divides the variance of a draw by {saved:.1f}.",
        n,
        wanted=_(params.wanted),
        patch=thing(best),
        exact=learned.exact[best],
        plain=learned.plain[best],
        based=learned.based[best],
        baseline=learned.baseline,
        saved=learned.saved,
    )
    page_parts.summary(true_minus(said))
    options = (
        _("The same gradient as for the soft read"),
        _("Zero for every score"),
        _("Nothing: there is no path to the scores"),
    )
    most = 0.0 if data.automatic is None else float(np.abs(data.automatic).max())
    told = exhibit_parts.predict(
        f"{SLUG}path",
        _(
            "A network always reads the patch with the largest score. What does automatic differentiation return for the scores?"
        ),
        options,
        options[2] if data.argmax is None else options[1] if not np.any(data.argmax) else options[0],
        _(
            "For the soft read automatic differentiation gives 24 numbers, the largest {most:.4f}; for the patch with the largest score it finds no path, because an index does not change when a score changes a little. That is why hard attention learns by REINFORCE.",
            most=most,
        ),
    )
    return _folds(params, data, told, learns=True)


def thing(place: int) -> str:
    """Return a patch by its name and the part of the picture that fills most of it."""
    shares = HARBOUR.shares(ROWS, COLUMNS)[place]
    return _("{patch}, {part}", patch=NAMES[place], part=_(HARBOUR.parts[int(shares.argmax())]))


def gradients(
    data: maths.Data, most: int = 6
) -> tuple[list[str], maths.Array, list[tuple[str, maths.Array, maths.Array]]]:
    """Return the scores with the largest derivatives: names, exact values, both estimates and their standard errors."""
    learned, root = data.learning, np.sqrt(len(data.samples))
    order = np.argsort(-np.abs(learned.exact), kind="stable")[:most]
    rows = [
        ("REINFORCE", learned.plain[order], learned.plain_deviation[order] / root),
        (_("with a baseline"), learned.based[order], learned.based_deviation[order] / root),
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
            _(
                "{picture} Patch {query} is the query; the largest weight is {most}, on {patch}.",
                picture=_(HARBOUR.say),
                query=thing(params.asks),
                most=percent(data.weights.max()),
                patch=thing(top),
            ),
            on_pick=partial(_touch, key),
        )
    return right


def _touch(key: str) -> None:
    if patch := page_parts.clicked_mark(key, PICKED):
        state.write(**{f"{SLUG}asks": int(patch["place"])})


def _reads(images: Sequence[tuple[str, maths.Array | None]], height: int = 200) -> None:
    """Draw the reads from the picture, small; None is covered."""
    said = _("What is read from the picture: {titles}.", titles=", ".join(image[0] for image in images))
    page_parts.show(reads(images, height=height), f"{SLUG}reads", said)


def _soft(data: maths.Data) -> maths.Array:
    return maths.soft_read(data.weights, data.patches)


def _heaviest(params: Params, data: maths.Data) -> str:
    top, over = int(data.weights.argmax()), int((data.weights >= 0.01).sum())
    return _(
        "Patch {query} is the query. {over} of 24 patches weigh 1% or more; {patch} weighs most, {most}. All 24 together: {all}.",
        query=thing(params.asks),
        over=over,
        patch=thing(top),
        most=percent(data.weights[top], 2),
        all=percent(round(data.weights.sum(), 6), 2),
    )


def _folds(params: Params, data: maths.Data, revealed: bool = True, *, learns: bool = False) -> Folds:
    """Return the folds: both reads, in the step on learning both gradients too; every patch in the table."""
    learned = data.learning
    read = {"values": data.values, "scores": data.scores, "weights": data.weights, "drawn": data.samples}
    read |= {"soft": maths.soft_read(data.weights, data.values), "mean": data.values[data.samples].mean(0)}
    read |= {"distance": data.near.distance, "expected": data.near.expect}
    grown = {"gradient": learned.exact, "reinforce": learned.plain, "with_baseline": learned.based}
    saved = {"baseline": learned.baseline, "saved": learned.saved}

    def table() -> pd.DataFrame:
        drawn = np.bincount(data.samples, minlength=len(NAMES)) / len(data.samples)
        columns = {"score": data.scores, "weight": data.weights, "share of the draws": drawn}
        columns |= dict(zip(("gradient", "REINFORCE", "with a baseline"), grown.values(), strict=True))
        return pd.DataFrame(columns, index=list(NAMES)).round(5).rename_axis("patch")

    def explained() -> None:
        _both_reads(params, data)
        if learns:
            _both_gradients(data)

    return Folds(table, read | grown | saved, revealed=revealed, more=explained)


def _both_reads(params: Params, data: maths.Data) -> None:
    top, n = int(data.weights.argmax()), len(data.samples)
    read, mean = data.weights @ data.values, data.values[data.samples].mean(0)
    page_parts.equation(r"s_i = -\beta \lVert v_i - v_q \rVert^2, \qquad a = \mathrm{softmax}(s)")
    said = _(
        "Patch {patch}: s = {s:.3f}, a = {a:.4f}, with β = {beta:g} and patch {query} as the query.",
        patch=NAMES[top],
        s=data.scores[top],
        a=data.weights[top],
        beta=params.beta,
        query=NAMES[params.asks],
    )
    st.text(true_minus(said))
    words = {symbol: _(text) for symbol, text in MARKS.items()}
    equation_view.show("soft.mix", SLUG, values={"n": "24"}, marks=words)
    equation_view.show("hard.draw", SLUG, marks=words)
    st.text(
        _(
            "Red, green, blue of the soft read: {read}; of the mean of {n:,} draws: {mean}.",
            read=in_brackets(read, 3),
            n=n,
            mean=in_brackets(mean, 3),
        )
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
    said = _(
        "Patch {patch}: a = {a:.4f}, f = {f:.4f}, J = b = {baseline:.4f}: exactly {exact:.5f}. The standard deviation of one draw is {plain:.4f} without a baseline and {based:.4f} with it; that of the mean of {n:,} is {of_plain:.5f} and {of_based:.5f}.",
        patch=NAMES[place],
        a=data.weights[place],
        f=data.values[place] @ data.w,
        baseline=learned.baseline,
        exact=learned.exact[place],
        plain=plain,
        based=based,
        n=len(data.samples),
        of_plain=plain / root,
        of_based=based / root,
    )
    st.text(true_minus(said))
