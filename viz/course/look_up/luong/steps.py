"""The steps on global and local attention: each draws its question, its picture and its sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.kit import equation_view
from viz.course.look_up.charts.scaling import fitted
from viz.course.look_up.luong import charts, maths
from viz.course.look_up.luong.params import CENTRES, SENTENCES, WIDEST, WINDOW, Params
from viz.course.shared import luong
from viz.instruments import heatmap
from viz.labels import distinct, percent, query_and_key
from viz.languages import _
from viz.number_text import number
from viz.shell import state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

SLUG = "luong."


def everywhere(params: Params, data: maths.Data) -> Folds:
    """Draw the alignment matrix; before the guess without the row in question."""
    row, keys, written = written_row(data), distinct(data.source), distinct(data.written_words)
    weights = data.weights[row]
    top = int(weights.argmax())
    told = exhibit_parts.predict(
        f"{SLUG}global",
        _("Writing “{word}”, which source word gets most attention?", word=data.written_words[row]),
        dict(zip(keys, weights.tolist(), strict=True)),
        keys[top],
        _(
            "It gives “{key}” {share}. Its {n} weights sum to {total:.2f}.",
            key=keys[top],
            share=percent(weights[top]),
            n=len(keys),
            total=weights.sum(),
        ),
    )
    rows = [i for i in range(len(written)) if told or i != row]
    title = f"{data.model}, {_(maths.SCORES[params.score])}"
    marked = {"selected": (row, top) if told else None}
    _matrix("global", data.weights[rows], [written[i] for i in rows], keys, title=title, **marked)
    n_target, n_source = data.weights.shape
    said = _(". The row of {word} is left out until you guess.", word=written[row])
    if told:
        share = percent(weights[top])
        said = _("; {word} attends to {key} with {share}.", word=written[row], key=keys[top], share=share)
    page_parts.summary(
        _(
            "{model} writes “{target}”. Global attention computes {rows} × {columns} = {n} scores, one for each pair",
            model=data.model,
            target=data.target,
            rows=n_target,
            columns=n_source,
            n=luong.cells(n_target, n_source),
        )
        + said
    )
    _word_pills(data)
    return _folds(params, data, told)


def a_centre(params: Params, data: maths.Data) -> Folds:
    """Draw the windows of all rows in the global matrix, and give their share of the weight."""
    n_target, n_source = data.weights.shape
    diagonal = luong.windows([luong.monotonic(t, n_source) for t in range(n_target)], WINDOW, n_source)
    share = luong.inside_share(data.weights, diagonal)
    told = exhibit_parts.predict_share(
        f"{SLUG}kept",
        _(
            "Monotonic windows are centred at p_t = t and reach D = {d} to each side. What percentage of the global weight lies inside them?",
            d=WINDOW,
        ),
        round(share, 2),
        f"{percent(share, 2)}. {_weight_outside(share)}",
    )
    where = middles(params, data)
    inside = luong.windows(where, params.window, n_source)
    allowed = inside if told else np.ones_like(inside)
    title = _("Global weights")
    if told:
        title = _("Global weights, {centre}, D = {d}", centre=_(CENTRES[params.centre]), d=params.window)
    words = distinct(data.written_words), distinct(data.source)
    _matrix("centre", np.where(allowed, data.weights, 0.0), *words, title=title, allowed=allowed)
    row, held = written_row(data), luong.inside_share(data.weights, inside)
    page_parts.summary(
        _(
            "Inside the windows: {share} of the weight, {n} of {all} cells. For {word} p_t = {centre}",
            share=percent(held, 2),
            n=int(inside.sum()),
            all=inside.size,
            word=distinct(data.written_words)[row],
            centre=number(where[row]),
        )
        + _sigmoid(where[row], n_source)
        if told
        else _("No cell is cut off: {n} of {n}.", n=inside.size)
    )
    return _folds(params, data, told, {"centres": where, "inside": held})


def window_and_bell(params: Params, data: maths.Data) -> Folds:
    """Draw softmax, Gaussian and product of one row."""
    t, n = written_row(data), len(data.source)
    row, opening = one_row(params, data), luong.local(data.scores[t], middle(params, data, t), WINDOW)
    told = exhibit_parts.predict_number(
        f"{SLUG}total",
        _(
            "“{word}”, p_t = {centre}, D = {d}, σ = {sigma}: inside the window softmax sums to 1. Each weight is then multiplied by the Gaussian, at most 1. What do the products sum to?",
            word=distinct(data.written_words)[t],
            centre=number(opening.centre),
            d=opening.window,
            sigma=number(opening.sigma),
        ),
        0.0,
        1.0,
        round(opening.total, 2),
        _(
            "{total:.3f}. Luong and others do not divide by it again: the further from p_t the weight lies, the more of it is lost.",
            total=opening.total,
        ),
        0.05,
    )
    x = np.linspace(-0.6, n - 0.4, 241)
    picture = charts.local_row(
        data.source,
        row.align,
        row.product if told else np.zeros_like(row.product),
        (x, luong.bell(x, row.centre, row.sigma)),
        centre=row.centre,
        window=(row.centre - params.window, row.centre + params.window) if params.windowed else None,
    )
    _picture(picture, "local", _("Softmax, Gaussian and product over {n} source words.", n=n))
    said = _("The blue bars, the products, are shown after your guess.")
    if told:
        best = int(row.align.argmax())
        said = _(
            "{word}: softmax {align:.3f} × Gaussian {gaussian:.3f} = {product:.3f}. The products sum to {total:.3f}.",
            word=distinct(data.source)[best],
            align=row.align[best],
            gaussian=row.gaussian[best],
            product=row.product[best],
            total=row.total,
        )
    page_parts.summary(
        _(
            "p_t = {centre}, D = {d}, σ = {sigma}: {n} of {all} words are read.",
            centre=number(row.centre),
            d=params.window,
            sigma=number(row.sigma),
            n=row.n_inside,
            all=n,
        )
        + f" {said}"
    )
    _word_pills(data)
    # where these two begin depends on the run and on D
    controls.slider(_("pₜ, the centre"), 0.0, float(n), f"{SLUG}p", middle(params, data, t), 0.05)
    left, right = st.columns(2, gap="large")
    with left:
        params.show("luong", "window")
    with right:
        bell = _("σ, the width of the Gaussian (D / 2 in the paper)")
        controls.slider(bell, 0.25, 10.0, f"{SLUG}sigma", params.window / 2, 0.25)
    return _folds(params, data, told)


def savings(params: Params, data: maths.Data) -> Folds:
    """Draw the trained model's loss by the size of its windows, with the number of scores computed."""
    n_target, n_source = data.weights.shape
    where = middles(params, data)
    found = engine_client.submit(
        ("luong.cost", params.text, data.model, data.target, where),
        lambda: maths.cost(params.text, data, where, WIDEST),
        60 * WIDEST * max(1, len(params.text)),
    )
    whole, dear = number(data.loss), found.loss[0] - data.loss
    options = _("less than before"), _("hardly more"), _("much more")
    told = exhibit_parts.predict(
        f"{SLUG}cost",
        _(
            "{model} writes its translation again and reads only 1 word to each side of p_t ({centre}). How large is its cross-entropy loss, compared with reading the whole source?",
            model=data.model,
            centre=_(CENTRES[params.centre]),
        ),
        options,
        options[0 if dear < -0.02 else 1 if dear < 0.25 else 2],
        _(
            "{whole} nats per token with the whole source, {loss} with D = 1.",
            whole=whole,
            loss=number(found.loss[0]),
        ),
    )
    marked = min(params.window, found.windows[-1])
    windows = [_("{d}\n{n} scores", d=d, n=n) for d, n in zip(found.windows, found.n_scores, strict=True)]
    surprise = pd.Series(found.loss, windows)
    if not told:
        surprise[:-1] = np.nan
    picture = marks.lines(
        surprise.to_frame(_("loss")),
        x=_("D, the words to each side of the window"),
        title=_("nats per token"),
        ends=(0, 1.2 * max(surprise.max(), data.loss)),
        overlay=(
            *marks.rules({_("global: {n} scores", n=n_target * n_source): data.loss}, across=True, hue=1),
            *marks.rules({f"D = {marked}": found.windows.index(marked)}),
        ),
        height=330,
    )
    alt = _("Cross-entropy loss of the model by the size of its window, with the number of scores.")
    page_parts.show_large(picture, f"{SLUG}cost.picture", alt, 370)
    i = found.windows.index(marked)
    page_parts.summary(
        _(
            "D = {d}: {n} scores instead of {all}, {loss} nats per token instead of {whole}.",
            d=marked,
            n=found.n_scores[i],
            all=n_target * n_source,
            loss=number(found.loss[i]),
            whole=whole,
        )
        + _with_windows()
        if told
        else _(
            "Below each D are the scores computed. With the whole source: {whole} nats per token.",
            whole=whole,
        )
    )
    return _folds(params, data, told, {f"BLEU_{name}": bleu for name, bleu in _recorded().items()})


def _recorded() -> dict[str, float]:
    """Return the BLEU of the model that was trained with windows, and of the one without, from their cards; none where one is missing."""
    both = maths.PREDICTIVE, maths.GENERAL
    return {name: maths.recorded(name) for name in both} if all(map(maths.is_available, both)) else {}


def _with_windows() -> str:
    """Say how well the model translates that was trained with windows, beside the one without."""
    bleu = _recorded()
    if not bleu:
        return ""
    return _(
        " Trained with windows, a model keeps its quality: {local} has BLEU {of_local:.1f} on test sentences, {whole} has BLEU {of_whole:.1f}.",
        local=maths.PREDICTIVE,
        of_local=bleu[maths.PREDICTIVE],
        whole=maths.GENERAL,
        of_whole=bleu[maths.GENERAL],
    )


def written_row(data: maths.Data) -> int:
    """Return the index of the written word whose row is in view; the default is the clearest crossing."""
    return state.read(
        f"{SLUG}row", luong.crossing(data.weights), state.whole_number(0, len(data.written_words) - 1)
    )


def middles(params: Params, data: maths.Data) -> tuple[float, ...]:
    """Return p_t of every row under the chosen rule."""
    n_target, n_source = data.weights.shape
    if params.centre == "predictive":
        key, cost = ("luong.predicted", params.text, data.target), 30 * max(1, len(params.text))
        if found := engine_client.submit(key, lambda: maths.predicted(params.text, data), cost):
            return found
    if params.centre == "monotonic":
        return tuple(luong.monotonic(t, n_source) for t in range(n_target))
    return tuple(round(luong.mean_position(row), 4) for row in data.weights)


def middle(params: Params, data: maths.Data, row: int) -> float:
    """Return p_t of a row before the visitor moves it, rounded to a step of the slider."""
    return round(round(middles(params, data)[row] / 0.05) * 0.05, 2)


def one_row(params: Params, data: maths.Data) -> luong.Local:
    """Return local attention of the chosen row, with the visitor's centre and width."""
    row = written_row(data)
    centre = state.read(f"{SLUG}p", middle(params, data, row), state.real_number(0, len(data.source)))
    sigma = state.read(f"{SLUG}sigma", params.window / 2, state.real_number(0.25, 10))
    return luong.local(data.scores[row], centre, params.window, sigma, windowed=params.windowed)


def _weight_outside(share: float) -> str:
    """Return a sentence on the weight that windows along the diagonal lose for this sentence; `share` is inside."""
    if share > 0.98:
        return _(
            "Both sentences have nearly the same word order, and each word attends to few others: almost nothing is lost."
        )
    return _(
        "{share} lies outside: it belongs to words that change places, and to rows that spread their weight. They need a wider window or another centre.",
        share=percent(1 - share, 2),
    )


def _sigmoid(centre: float, n_source: int) -> str:
    z = luong.required_z(centre, n_source)
    if not math.isfinite(z):
        return _("; n · sigmoid(z) reaches {centre} for no z.", centre=number(centre))
    return _(
        "; to predict it, v · tanh(W h) must equal z = {z}: {n} · sigmoid({z}) = {centre}.",
        z=number(z),
        n=n_source,
        centre=number(luong.predicted_centre(z, n_source)),
    )


def _picture(figure: go.Figure, key: str, alt: str) -> None:
    page_parts.show(fitted(figure, exhibit_parts.presenting()), f"{SLUG}{key}.picture", alt)


def _matrix(key: str, weights: np.ndarray, rows: list[str], columns: list[str], **more: Any) -> None:
    """Draw the weights of all rows; lower in present mode, where its sentence and its control are on the same screen."""
    height, axis = 250 if exhibit_parts.presenting() else 380, query_and_key("token", across=True)
    key = f"{SLUG}{key}.picture"
    heatmap(weights, rows, columns, key=key, numbers=True, axis=axis, height=height, **more)


def _word_pills(data: maths.Data) -> None:
    """Draw the choice of the written word whose row is in view."""
    names = distinct(data.written_words)
    opening = luong.crossing(data.weights)
    controls.pills(_("The written word"), range(len(names)), f"{SLUG}row", opening, names.__getitem__)


def _folds(
    params: Params, data: maths.Data, revealed: bool, also: Mapping[str, object] | None = None
) -> Folds:
    """Name a missing model and return the folds of the chosen row: its equations, and local attention word by word."""
    if line := maths.missing():
        page_parts.summary(line)
    row, t = one_row(params, data), written_row(data)
    scores = "asked.dotted()[0]" if params.score == "dot" else "asked.scores"

    local = {"align": row.align, "gaussian": row.gaussian, "product": row.product, "centre": row.centre}

    def table() -> pd.DataFrame:
        columns = {
            "position": range(len(data.source)),
            "score": data.scores[t],
            "global weight": data.weights[t],
        }
        columns |= {"in the window": row.inside, "softmax": row.align, "Gaussian": row.gaussian}
        columns["product"] = row.product
        return pd.DataFrame(columns, distinct(data.source)).round(4).rename_axis("source word")

    run = {"queries": data.written_words, "keys": data.source, "scores": data.scores, "weights": data.weights}

    def change() -> None:
        controls.preset_row(SENTENCES, "text", SENTENCES[0])
        params.show("luong", "windowed")

    return Folds(
        table,
        run | local | dict(also or {}),
        {"scores": scores, "t": t, "row": row},
        revealed,
        more=lambda: _equations(params, data, row, t),
        change=change,
    )


def _equations(params: Params, data: maths.Data, row: luong.Local, t: int) -> None:
    """Show scores, softmax, centre, Gaussian and product of the chosen row."""
    best, n = int(row.align.argmax()), str(len(data.source))
    z = luong.required_z(row.centre, len(data.source))
    shown = number(z) if math.isfinite(z) else r"-\infty" if z < 0 else r"\infty"
    p, sigma = number(row.centre), number(row.sigma)
    align, product = number(float(row.align[best]), 3), number(float(row.product[best]), 3)
    equation_view.show("luong.weights", SLUG, values={"a_ts": number(float(data.weights[t, best])), "n": n})
    equation_view.show(f"luong.{params.score}", SLUG)
    equation_view.show("luong.centre", SLUG, values={"p_t": p, "n": n})
    page_parts.equation(rf"{p} = {n} \cdot \mathrm{{sigmoid}}({shown})")
    symbols = {"a_ts": product, "p_t": p, "sigma": sigma, "s": str(best)}
    equation_view.show("luong.gaussian", SLUG, values=symbols)
    page_parts.equation(rf"{product} = {align} \cdot e^{{-({best} - {p})^2 / (2 \cdot {sigma}^2)}}")
    equation_view.show("luong.width", SLUG, values={"sigma": sigma, "D": str(row.window)})
    st.text(
        _(
            "The last line is the source word “{key}” for the written word “{word}”; positions count from 0.",
            key=distinct(data.source)[best],
            word=distinct(data.written_words)[t],
        )
    )
