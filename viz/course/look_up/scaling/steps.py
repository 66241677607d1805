"""The steps of the exhibit on the scale: each draws its question, its picture and its sentence of numbers."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

import core.serving.engine
from core.model import Model
from core.trace import Edit
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.look_up.charts import scaling
from viz.course.look_up.scaling import maths
from viz.course.look_up.scaling.params import CHOICES, MODEL, Params
from viz.course.shared import unscaled_scores
from viz.instruments.kit import origin
from viz.labels import percent
from viz.languages import _
from viz.number_text import number
from viz.shell import state
from viz.widgets import engine_client, exhibit_parts, page_parts

SLUG = "scaling."
EVEN = math.log(maths.N_KEYS)
Sample = maths.Sample


def spread(params: Params, data: Sample) -> Folds:
    """Ask for the typical size of a dot product; before the guess only the histogram of another width is drawn."""
    d = state.read(SLUG + "asked", params.d_k, state.one_of(CHOICES, params.d_k))
    deviation = float(maths.sample_scores(d, params.draw).raw.std())
    shown = {_("about {size:.3g}", size=size): size for size in (1.0, math.sqrt(d), float(d))}
    answer = min(shown, key=lambda name: abs(math.log(shown[name] / deviation)))
    told = exhibit_parts.predict(
        f"{SLUG}spread",
        _(
            "A query and a key have {d} numbers each, drawn around 0 with variance 1. How far from 0 is their dot product, typically?",
            d=d,
        ),
        tuple(shown),
        answer,
        _(
            "It adds {d} products, each of variance 1, so its variance is {d} and its typical size √{d} = {size}. Measured on this draw: {deviation}.",
            d=d,
            size=number(math.sqrt(d)),
            deviation=number(deviation),
        ),
    )
    scores, names = data.scores, ("raw", "scaled")
    if told:
        state.write(
            **{SLUG + "asked": d}
        )  # another width afterwards is another picture, not another question
        d = params.d_k
    else:
        scores, names = maths.sample_scores(4 if d != 4 else 64, params.draw), ("raw",)
    values = {"raw": scores.raw, "scaled": scores.scaled}
    closed = {"raw": float(scores.d_k), "scaled": 1.0}
    values, titles, bells = {name: values[name] for name in names}, {}, {}
    for name in names:
        variance = float(values[name].var())
        x = np.linspace(-4, 4, 161) * math.sqrt(closed[name])
        bells[name] = (x, maths.bell(x, closed[name]))
        titles[name] = _(
            "{product}, d = {d}: variance {variance} (closed form {closed:.0f})",
            product=scaling.NAMES[name],
            d=scores.d_k,
            variance=number(variance),
            closed=closed[name],
        )
    picture(
        scaling.histograms(values, bells, titles, line=_tall()),
        f"{SLUG}spread.picture",
        _("Histograms of dot products: {titles}", titles="; ".join(titles.values())),
    )
    if told:
        page_parts.summary(
            _(
                "{n:,} dot products with d = {d}: their variance is {raw}, the closed form says {d}. Divided by √{d} = {root} it is {scaled}, whatever the width.",
                n=scores.raw.size,
                d=d,
                raw=number(data.raw.variance),
                root=number(math.sqrt(d)),
                scaled=number(data.scaled.variance),
            )
        )
    else:
        page_parts.summary(
            _("With d = {shown} it looks like this. And with d = {asked}?", shown=scores.d_k, asked=d)
        )
    return _folds(params, data, told)


def one_row(params: Params, data: Sample) -> Folds:
    """Draw the softmax of one query, unscaled and scaled, over the same keys in the same order."""
    row, order = data.typical, np.argsort(-data.scores.raw[data.typical])
    rows = {"raw": data.scores.raw[row], "scaled": data.scores.scaled[row]}
    weights = {name: maths.softmax(values[None])[0][order] for name, values in rows.items()}
    entropies = {name: float(maths.entropy(values)) for name, values in weights.items()}
    titles = {
        name: _(
            "{product}: best key {most}, entropy {entropy} nats",
            product=scaling.NAMES[name],
            most=number(float(values[0])),
            entropy=number(entropies[name]),
        )
        for name, values in weights.items()
    }
    table = pd.DataFrame(
        {titles[name]: values for name, values in weights.items()}, range(1, maths.N_KEYS + 1)
    )
    picture(
        marks.columns(
            table,
            "{:.2f}",
            x=_("the keys, best score first"),
            title=_("weight"),
            ends=(0, 1),
            form="~g",
            hues=[1, 0],
            height=exhibit_parts.by_mode(280, 230),
        ),
        f"{SLUG}row.picture",
        _("Softmax weights of one query: {titles}", titles="; ".join(titles.values())),
    )
    page_parts.summary(
        _(
            "A query of median entropy among {n}, d = {d}: unscaled its best key takes {raw} of all weight, scaled {scaled}. Uniform attention over {keys} keys would have the entropy ln {keys} = {even} nats.",
            n=len(data.scores.raw),
            d=params.d_k,
            raw=percent(weights["raw"][0]),
            scaled=percent(weights["scaled"][0]),
            keys=maths.N_KEYS,
            even=number(EVEN),
        )
    )
    return _folds(params, data)


def widths(params: Params, data: Sample) -> Folds:
    """Draw entropy and slope over every width."""
    found = every_width(params.draw)
    measures = (
        (_("Entropy of the weights, nats"), "entropy", EVEN, _("uniform: ln {n}", n=maths.N_KEYS)),
        (_("Gradient of the softmax, Σ a(1 − a)"), "slope", 1 - 1 / maths.N_KEYS, _("uniform: 1 − 1/n")),
    )
    for place, (title, leaf, limit, words) in zip(st.columns(2, gap="medium"), measures, strict=True):
        lines = {scaling.NAMES[name]: [getattr(m, leaf) for m in rows] for name, rows in found.items()}
        with place:
            picture(
                marks.lines(
                    pd.DataFrame(lines, maths.WIDTHS),
                    x=_("dₖ, the numbers in a query and a key"),
                    title=title,
                    form="~g",
                    ends=(0, 1.12 * limit),
                    hues=[1, 0],
                    scales=("log2", "linear"),
                    overlay=[*marks.rules({"": params.d_k}), *marks.rules({words: limit}, across=True)],
                    legend=False,
                    height=exhibit_parts.by_mode(330, 300),
                ),
                f"{SLUG}widths.{leaf}",
                _("{title}, over the width, scaled and unscaled.", title=title),
            )
    last = {name: rows[-1] for name, rows in found.items()}
    page_parts.summary(
        _(
            "At d = {d} the mean entropy is {raw} nats unscaled and {scaled} scaled; the gradient {raw_slope} and {scaled_slope}. At d = {widest} unscaled, {entropy} and {slope} are left: one key has nearly all weight, and changing a score changes almost nothing.",
            d=params.d_k,
            raw=number(data.raw.entropy),
            scaled=number(data.scaled.entropy),
            raw_slope=number(data.raw.slope),
            scaled_slope=number(data.scaled.slope),
            widest=maths.WIDTHS[-1],
            entropy=number(last["raw"].entropy),
            slope=number(last["raw"].slope),
        )
    )
    return _folds(params, data)


def real(params: Params, data: Sample) -> Folds:
    """Draw the normalised entropy of gpt-mini's heads with and without the division; before the guess only with it."""
    text, found = params.text, readings(params.text)
    origin.tell(model=MODEL, text=text)
    evenness = {name: float(reading.evenness.mean()) for name, reading in found.items()}
    told = exhibit_parts.predict_number(
        f"{SLUG}real",
        _(
            "{model} reads “{text}”. The mean normalised entropy of its heads is {scaled}. What is it unscaled, in percent?",
            model=MODEL,
            text=text,
            scaled=percent(evenness["scaled"]),
        ),
        0.0,
        1.0,
        round(evenness["raw"], 2),
        _(
            "Every score is √{d} = {root} times as large, so the softmax gets sharper: from {scaled} to {raw} on average over all heads.",
            d=d_head(),
            root=number(math.sqrt(d_head())),
            scaled=percent(evenness["scaled"], 2),
            raw=percent(evenness["raw"], 2),
        ),
        0.1,
        "%",
    )
    shown = ("scaled", "raw") if told else ("scaled",)
    picture(
        scaling.layers({name: found[name].evenness for name in shown}),
        f"{SLUG}real.picture",
        _("Normalised entropy of the heads of each layer, scaled and unscaled."),
    )
    page_parts.summary(_trained(found, told))
    columns = {"with 1/√d": found["scaled"], "without": found["raw"]}
    told_rows = (
        ("evenness", lambda r: r.evenness.mean(1)),
        ("standard deviation of scores", lambda r: r.spread),
    )
    return _folds(
        params,
        data,
        told,
        table=lambda: pd.DataFrame(
            {f"{name}, {what}": of(r) for name, r in columns.items() for what, of in told_rows}
        ).rename_axis("layer"),
        code="import core\nfrom viz.course.shared import unscaled_scores\n\n"
        f"model = core.open_model({MODEL!r})\n"
        "for edits in ((), unscaled_scores.without_scale(model.config)):\n"
        f"    print(unscaled_scores.reading(model.run({text!r}, keep=unscaled_scores.KEEP, edits=edits)))",
    )


def _trained(runs: dict[str, unscaled_scores.UnscaledRun], revealed: bool) -> str:
    with_, without = runs["scaled"], runs["raw"]
    said = _(
        "Trained, the standard deviation of its scores is {least} to {most} from layer to layer: 1/√d sets the scale at the start, and training changes it.",
        least=number(with_.spread.min(), 1),
        most=number(with_.spread.max(), 1),
    )
    if not revealed:
        return said
    return (
        _(
            "Unscaled, the loss on the next token is {without} nats instead of {scaled}. ",
            without=number(without.surprise),
            scaled=number(with_.surprise),
        )
        + said
    )


def every_width(seed: int) -> dict[str, tuple[maths.Measures, ...]]:
    """Return the measures at all widths, computed once per seed."""
    return engine_client.submit(("scaling.widths", seed), lambda: maths.by_width(seed=seed), 2000)


def d_head() -> int:
    """Return the width of the model's heads."""
    return core.serving.engine.default().open(MODEL).config.d_head


def readings(text: str) -> dict[str, unscaled_scores.UnscaledRun]:
    """Return measures of the model's run with and without the division; only measures are kept, because all scores of a long
    text are many."""
    model = core.serving.engine.default().open(MODEL)
    cost = 2.0 * len(text) * model.config.n_layers
    return {
        name: engine_client.submit(
            ("scaling.reading", MODEL, text, name), partial(_read, model, text, edits), cost
        )
        for name, edits in (("scaled", ()), ("raw", unscaled_scores.without_scale(model.config)))
    }


def _read(model: Model, text: str, edits: tuple[Edit, ...]) -> unscaled_scores.UnscaledRun:
    return unscaled_scores.reading(model.run(text, keep=unscaled_scores.KEEP, edits=edits))


def _folds(params: Params, data: Sample, revealed: bool = True, table: Any = None, code: str = "") -> Folds:
    """Return the folds of a sample: the derivation with its numbers, and the measures at every width."""
    d, row = params.d_k, data.typical
    score = float(data.scores.raw[row].max())

    def widths() -> pd.DataFrame:
        found = every_width(params.draw)
        return pd.DataFrame(
            {
                f"{leaf}, {said}": [getattr(m, leaf) for m in found[name]]
                for leaf in ("variance", "entropy", "slope")
                for name, said in (("raw", "q·k"), ("scaled", "q·k / √d"))
            },
            index=list(maths.WIDTHS),
        ).rename_axis("d")

    def explained() -> None:
        st.text(
            _(
                "Measured on this draw: variance {raw} of q·k, {scaled} after the division. The score above is that of the best key for the query with the median entropy; the gradients are over all {n:,} pairs.",
                raw=number(data.raw.variance),
                scaled=number(data.scaled.variance),
                n=data.scores.raw.size,
            )
        )

    return Folds(
        table or widths,
        lambda: arrays(params),
        code
        or "from viz.course.look_up.scaling.maths import by_width, measured, sample_scores\n\n"
        f"scores = sample_scores({d}, seed={params.draw})  # (query, key)\nprint(measured(scores.raw), measured(scores.scaled))\nprint(by_width(seed={params.draw}))",
        revealed,
        {
            "score.scaled": {"s_i": number(score / math.sqrt(d)), "p": str(d)},
            "scaling.spread": {"d_k": str(d)},
            "softmax.gradient": {},
        },
        (
            number(score) + r" / \sqrt{" + str(d) + "} = " + number(score / math.sqrt(d)),
            r"\frac{\partial a_j}{\partial s_j} = a_j (1 - a_j), \quad \sum_j a_j(1 - a_j) = "
            + number(data.raw.slope)
            + rf"\text{{{_(' unscaled, ')}}}"
            + number(data.scaled.slope)
            + rf"\text{{{_(' scaled')}}}",
        ),
        explained,
    )


def arrays(params: Params) -> dict[str, np.ndarray]:
    """Return the scores of the sample, and the measures at every width."""
    drawn, found = maths.sample_scores(params.d_k, params.draw), every_width(params.draw)
    return {"raw": drawn.raw, "scaled": drawn.scaled, "d": np.array(maths.WIDTHS)} | {
        f"{leaf}: {name}": np.array([getattr(m, leaf) for m in rows])
        for name, rows in found.items()
        for leaf in ("variance", "entropy", "slope")
    }


def picture(figure: Any, key: str, alt: str) -> None:
    page_parts.show_large(figure, key, alt, scaling.ROOM_HEIGHT)


def _tall() -> int:
    """Return the height of a lane's title in pixels: more in large type."""
    return 36 if exhibit_parts.presenting() else scaling.LINE
