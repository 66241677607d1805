"""The last step of the exhibit on masks: choose a mask, or draw one, and look at it in a real run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.self_attention.masks import read
from viz.course.self_attention.masks.params import KNOBS, PAST, SLUG, Params
from viz.course.self_attention.masks.read import MaskedHead, Matrices
from viz.course.self_attention.masks.steps import tell
from viz.course.shared import masks, masks_batch, masks_panels
from viz.instruments import heatmap
from viz.labels import distinct, percent
from viz.languages import _, mark
from viz.number_text import number, percent_or_power, tiny
from viz.shell import present_layout
from viz.widgets import engine_client, exhibit_parts, page_parts

NOTHING = mark(
    " A row with nothing allowed leaks everything, whatever the number: the same addition to all scores changes no weight."
)


def editor(params: Params, data: read.Head) -> Folds:
    """Draw sentence, mask and the three matrices, with a sentence of numbers and a question on them."""
    # sentence and mask stand above the matrices that they change
    order = ("kinds", "picture", "words") if exhibit_parts.presenting() else ("words", "kinds", "picture")
    place = {name: st.container() for name in order}
    with place["words"]:
        params.show("masks", "own")
    with place["kinds"]:
        params.show("masks", "kind", *(("draw",) if params.kind == "sparse" else ()))
    chosen = _masked_head(params, data)
    cost = 2 * len(chosen.text) * read.config().n_layers
    found = engine_client.submit(("masks", chosen), lambda: read.matrices(chosen), cost)
    python = code(chosen)
    tell(chosen.text, data)
    with place["picture"], present_layout.full_width():
        query, key = masks_panels.three(found, chosen, python)
        page_parts.summary(sentence(found, query, key))
    _question(found, query)
    past, numbers = (("past_only",) if params.kind in PAST else ()), KNOBS.get(params.kind, ())
    return Folds(
        lambda: _table(found),
        {name: getattr(found, name) for name in ("tokens", "scores", "allowed", "pattern")},
        f"{python}\nprint(pattern.round(3))",
        more=lambda: _row(found, query, key),
        look={
            "where": _("every layer")
            if params.everywhere
            else _("layer {layer} (all its heads)", layer=data.layer),
            "blind": int((~found.allowed.any(-1)).sum()),
        },
        change=lambda: params.show("masks", *numbers, *past, "everywhere"),
        extra_folds=(
            (_("A finite number instead of −∞"), "finite", lambda: _finite(params, found)),
            (_("A batch of two sentences"), "batch", masks_batch.two_sentences),
        ),
    )


def _masked_head(params: Params, head: read.Head) -> MaskedHead:
    """Return the run in question; a drawn mask comes with the named one that it started from."""
    numbers = ("radius", "n_global", "block", "count", "length", "padded", "past_only")
    of_mask = {name: getattr(params, name) for name in numbers}
    recipe = masks.Recipe(masks_panels.base_kind(params.kind), seed=params.draw, **of_mask)
    n = len(engine_client.run(read.MODEL, params.own, keep=()).tokens)
    drawn = masks_panels.hand_drawn_mask(recipe, n) if params.kind == masks_panels.CUSTOM else None
    return MaskedHead(params.own, head.layer, head.head, recipe, drawn, params.everywhere)


def sentence(data: Matrices, query: int, key: int) -> str:
    """Return a sentence on the row in view: the allowed words, its largest weight, the effect of the mask; and on rows with
    nothing allowed."""
    names, row = masks_panels.labels(data.tokens), masks.row(data.scores[query], data.allowed[query])
    n, open_ = len(names), int(data.allowed[query].sum())
    blind = np.flatnonzero(~data.allowed.any(1)).tolist()
    if row.empty:
        said = _(
            "“{word}” is masked everywhere: e^−∞ = 0 in all {n} cells, and 0 / 0 is not a number. This model then uses zeros.",
            word=names[query],
            n=n,
        )
        blind.remove(query)
    else:
        top = int(data.pattern[query].argmax())
        shown = [top] if key == top or not data.allowed[query, key] else [top, key]
        given = _(" and ").join(
            _("{share} to itself", share=percent(data.pattern[query, j]))
            if j == query
            else _("{share} to “{key}”", share=percent(data.pattern[query, j]), key=names[j])
            for j in shown
        )
        said = _(
            "“{word}” may attend to {open} of {n} words and gives {given}.",
            word=names[query],
            open=open_,
            n=n,
            given=given,
        )
        if open_ < n:
            said += _(
                " Without the mask, {hidden} would be on masked words; the others are {factor} times as large now.",
                hidden=percent(row.hidden),
                factor=number(1 / (1 - row.hidden)),
            )
    if blind:
        others = ", ".join(_("“{answer}”", answer=names[i]) for i in blind[:5]) + (
            ", .." if len(blind) > 5 else ""
        )
        said += _(" For {words} everything is masked: the weights are zeros, not NaN.", words=others)
    return said


def _question(data: Matrices, query: int) -> None:
    """Ask where the weight of a word goes that is masked, with words of this run."""
    told = masks.mask_favourite(data.scores, data.allowed, query)
    if told is None:
        st.text(_("No row of this mask allows two words: choose a wider mask to get a question."))
        return
    names = masks_panels.labels(data.tokens)
    asks, key = names[told.query], names[told.key]
    answers = (_("It is lost"), _("To all others, in equal parts"), _("To all others, by the same factor"))
    exhibit_parts.predict(
        SLUG + "guess",
        _(
            "“{query}” attends most to “{key}”. Mask that word. Where does its weight go?",
            query=asks,
            key=key,
        ),
        answers,
        answers[2],
        _(
            "“{query}” gives {weight:.3f} to “{key}”. Masked, that term is no longer in the denominator: every other weight of the row is divided by 1 − {weight:.3f}, so it grows {factor:.3f} times; “{other}” from {before:.3f} to {after:.3f}. Click the cell in the mask to see it happen.",
            query=asks,
            key=key,
            weight=told.weight,
            factor=told.factor,
            other=names[told.other],
            before=told.before,
            after=told.after,
        ),
    )


def _finite(params: Params, data: Matrices) -> None:
    """Draw the change of this head's weights with a finite number in place of -inf, and how much leaks."""
    params.show("masks", "fill", "where")
    p, names, inside = data.d_head, masks_panels.labels(data.tokens), params.where == "inside"
    found = masks.filled(data.scores, data.allowed, params.fill, p=p, inside=inside)
    change = found.weights - data.pattern
    fills = -np.logspace(0, 4, 81)
    curves = masks.leak_curve(data.scores, data.allowed, fills, p=p)
    left, right = st.columns(2, gap="large")
    with left:
        limit, title = max(0.1, float(np.abs(change).max())), _("Change of the weights against −∞")
        options: dict[str, Any] = {"scale": "difference", "limit": limit, "numbers": True}
        heatmap(change, names, names, key=SLUG + "filled", title=title, **options)
    with right:
        by = {
            _("before dividing by √{p}", p=p): curves["inside"],
            _("after dividing by √{p}", p=p): curves["outside"],
        }
        figure = marks.lines(
            pd.DataFrame(by, -fills),
            x=_("size of the negative number in place of −∞"),
            title=_("largest leak of a row"),
            form=".0%",
            ends=(-0.01, 1.02),
            scales=("log", "linear"),
            overlay=marks.rules({"": -params.fill}),
            height=330,
        )
        page_parts.show(
            figure, SLUG + "leak", _("Largest leak of a row over the number in place of minus infinity.")
        )
    row, most = found.worst
    told = _(
        "Largest leak: “{word}” puts {share} on masked words; with −∞ exactly 0.",
        word=names[row],
        share=percent_or_power(most, 2),
    )
    if inside:
        told += _(
            " Added before the division, the number itself is divided by √{p} = {root}.",
            p=p,
            root=number(math.sqrt(p)),
        )
    page_parts.summary(told + ("" if data.allowed.any(-1).all() else _(NOTHING)))


def _row(data: Matrices, query: int, key: int) -> None:
    """Show one row step by step: score, mask, sum, exponential, weight."""
    row, name = masks.row(data.scores[query], data.allowed[query]), masks_panels.labels(data.tokens)[query]
    s, m, total = number(row.scores[key]), "0" if row.mask[key] == 0 else r"-\infty", number(row.total, 4)
    page_parts.equation(
        r"\text{weight}_j = \frac{e^{s_j + M_j}}{\sum_{j'} e^{s_{j'} + M_{j'}}}, \qquad "
        r"M_j = \begin{cases} 0 & \text{allowed: } e^0 = 1 \text{ keeps} \\ -\infty & \text{masked: } "
        r"e^{-\infty} = 0 \text{ removes} \end{cases}"
    )
    result = rf"\frac{{{number(row.exponentials[key], 4)}}}{{{total}}} = {number(row.weights[key], 4)}"
    if row.empty:
        result = r"\frac{0}{0} \rightarrow 0"
    page_parts.equation(
        rf"\text{{the chosen cell: }} \frac{{e^{{{s} + {m}}}}}{{{total}}} = {result} \vphantom{{\Bigg|}}"
    )
    st.text(
        _(
            "The row of “{word}”, {path}, key by key (a click on another cell shows its row):",
            word=name,
            path=data.path,
        )
    )
    st.table(_by_key(data, row), border="horizontal")
    gap = np.abs(np.array(row.weights) - data.pattern[query]).max()
    st.text(
        _(
            "The weights differ from the run's own tensor by at most {gap} (it is float32, this is float64).",
            gap=tiny(gap),
        )
    )


def _by_key(data: Matrices, row: masks.Row) -> pd.DataFrame:
    """Return the arithmetic of one row as a table, with its sum."""
    names = distinct(masks_panels.labels(data.tokens))
    steps = zip(row.scores, row.mask, row.summed, row.exponentials, row.weights, strict=True)
    lines = [
        (
            number(s, 4),
            *(("0", *(number(part, 4) for part in (x, e, w))) if m == 0 else ("−∞", "−∞", "0", "0")),
        )
        for s, m, x, e, w in steps
    ]
    lines.append(("", "", "", number(row.total, 4), number(sum(row.weights), 4)))
    columns = [_("score s"), "M", "s + M", "exp(s + M)", _("weight")]
    return pd.DataFrame(lines, [*names, _("sum")], columns).rename_axis(_("key"))


def _table(data: Matrices) -> pd.DataFrame:
    """Return the pattern in words and numbers, one row per query."""
    names = distinct(masks_panels.labels(data.tokens))
    cells = [
        [f"{w:.4f}" if may else _("masked") for w, may in zip(*row, strict=True)]
        for row in zip(data.pattern, data.allowed, strict=True)
    ]
    return pd.DataFrame(cells, index=names, columns=names).rename_axis(_("query \\ key"))


def code(masked_head: MaskedHead) -> str:
    """Return lines of Python that compute the same matrices in a notebook."""
    path = read.Head(masked_head.layer, masked_head.head).path
    where, mask = "layer.*.self_attn" if masked_head.everywhere else path, masked_head.recipe.code()
    if masked_head.mask_rows is not None:
        mask = f"mask = torch.tensor({[[int(c) for c in row] for row in masked_head.mask_rows]}).bool()"
    return (
        "import core, torch\nfrom core import edits, masks\n\n"
        f"model = core.open_model({read.MODEL!r})\ntext = {masked_head.text!r}\n"
        f"n = len(model.run(text, keep=[]).tokens)\n{mask}\n"
        f'edit = edits.SetAllowed("{where}.allowed", tuple(map(tuple, mask.tolist())))\n'
        "run = model.run(text, edits=[edit])\n"
        f'scores, pattern = run.trace["{path}.scores"][{masked_head.head}], run.trace["{path}.pattern"][{masked_head.head}]'
    )
