"""Inside's third view: one word changed, and how far that spreads: layer by layer, place by place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.residual.ripple import KEEP, changed_positions, changed_text, reach, ripple
from core.errors import InputError
from core.run import Run
from viz.charts.layers import ripple_map
from viz.instruments import heatmap
from viz.labels import literal, percent
from viz.languages import _, mark, ngettext
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.widgets.export import Labelled
from viz.workspace.shared import model_run, target_picker

OTHERS = {
    "The animal didn't cross the street because it was too tired.": "The animal didn't cross the street because it was too wide."
}
NONE_FOUND = mark(
    "Both sentences are the same. A word is compared with another of as many tokens, and none of ours has as many as one of this text. Change a word of the second sentence."
)
COLUMNS = 40
"""Columns of one map."""
SIDES = {"encoder": mark("The text that is read"), "decoder": mark("The translation")}
EQUATION = r"r_{\ell,i} = \frac{\lVert x'_{\ell,i} - x_{\ell,i} \rVert}{\lVert x_{\ell,i} \rVert}"
CODE = """import core
from core.analysis.residual.ripple import ripple

model = core.open_model({model!r})
before, after = (model.run(text{target}) for text in ({text!r}, {other!r}))
print(ripple(before, after{side}))   # (layer + 1, position), exactly 0 where nothing changed"""


def show(page: Page, selection: Selection, run: Run) -> None:
    target_picker.forget("inside.ripple.sentence", selection.text, "inside.other")
    offered = changed_text(
        run.model, selection.text, [OTHERS[selection.text]] if selection.text in OTHERS else ()
    )
    other = controls.text(_("The same sentence with one word changed"), "inside.other", offered)
    side = (
        controls.segmented(
            _("Where"), tuple(SIDES), "inside.side", "encoder", lambda name: _(SIDES[name]), quiet=True
        )
        if run.source
        else None
    )
    if other == offered == selection.text:
        st.text(_(NONE_FOUND))
        return
    try:
        after = model_run.rerun(run, KEEP, text=other)
        moved, places = ripple(run, after, side), changed_positions(run, after, side)
    except InputError as error:
        st.text(f"{error.wrong} {error.rule} {error.remedy}")
        return
    tokens = [
        target_picker.word(token)
        for token in ((run.source if side == "encoder" and run.source else run.side).tokens)
    ]
    rows = _rows(moved)
    first = max(0, min((places or [0])[0] - COLUMNS // 4, len(tokens) - COLUMNS))
    seen = slice(first, first + COLUMNS)
    page_parts.show(
        ripple_map(moved[:, seen], rows, tokens[seen], [place - first for place in places]),
        "inside.ripple",
        _(
            "A map: a row for each layer, a column for each word, coloured by how much its vector changed; exact zeros are grey"
        ),
    )
    st.caption(
        _("Shown: {n} of {all} tokens, around the change.", n=COLUMNS, all=len(tokens))
        if len(tokens) > COLUMNS
        else ""
    )
    page_parts.summary(sentence(run, moved, places, side))
    _folds(page, selection, run, moved, other, side, tokens)


def sentence(run: Run, changes: np.ndarray, places: list[int], side: str | None) -> str:
    """Return the map in words, in exact counts."""
    if not (changes > 0).any():
        return _("Both sentences are the same, and nothing changed.")
    last, n = changes[-1], changes.shape[1]
    tokens = (run.source if side == "encoder" and run.source else run.side).tokens
    most, first, count = int(last.argmax()), int((changes > 0).any(0).argmax()), int((last > 0).sum())
    ends = _(
        "After the last layer the changed vectors differ by {mean} of their length on average, most at “{token}” ({share}).",
        mean=percent(last[last > 0].mean()),
        token=target_picker.word(tokens[most]),
        share=percent(last[most]),
    )
    if not places:
        kept = _(
            "The words of the translation were kept, and still {count} of its {n} positions changed: each attends to the changed text.",
            count=count,
            n=n,
        )
        return f"{kept} {ends}"
    if run.model.spec.framed or side == "encoder":
        layers = int((changes > 0).all(1).argmax())
        reach = (
            ngettext(
                "After {n} layer all {words} words have changed",
                "After {n} layers all {words} words have changed",
                layers,
                words=n,
            )
            if layers
            else _("{count} of {n} words changed", count=count, n=n)
        )
        also = (
            _(", also those before the first that differs")
            if places[0] and (last[: places[0]] > 0).all()
            else ""
        )
        return f"{reach}{also}. {_('An encoder reads both ways.')} {ends}"
    if first:
        before = _(
            "Left of “{token}” nothing changed, exactly: {first} of {n} words have the same numbers in every layer. A causal model cannot look ahead.",
            token=target_picker.word(tokens[first]),
            first=first,
            n=n,
        )
        return f"{before} {ends}"
    start = _(
        "The first word is the one that differs, and every later word can look at it: {count} of {n} words changed.",
        count=count,
        n=n,
    )
    return f"{start} {ends}"


def _folds(
    page: Page,
    selection: Selection,
    run: Run,
    changes: np.ndarray,
    other: str,
    side: str | None,
    tokens: list[str],
) -> None:
    with page_parts.fold(mark("Which inputs can influence which output"), "inside.ripple.reach") as fold:
        if fold.open:
            _reach(selection, run, side)
    with page_parts.fold(page_parts.EQUATION, "inside.ripple.equation") as fold:
        if fold.open:
            page_parts.equation(EQUATION)
            page_parts.dataframe(_frame(changes, tokens), key="inside.ripple.rows")
    with page_parts.fold(page_parts.LOOKING, "inside.ripple.looking") as fold:
        if fold.open:
            st.markdown(
                _(
                    "Both sentences run through the model, and each vector is compared with the one at the same position in the other run: the colour is the length of the difference, as a share of the vector's own length, on a "
                    "scale by powers of ten. The row “before” is what enters the first layer: only the changed word differs there. Grey cells with a 0 are exactly equal, to the last bit, "
                    "not nearly. In a model that writes from left to right the masks let nothing flow backwards, so everything before the change is grey; in a model that reads the whole text nothing is grey."
                )
            )
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: _frame(changes, tokens), "inside.ripple")
    target = "" if run.source is None else f", target={run.target_text!r}"
    code = CODE.format(
        model=selection.model,
        text=selection.text,
        other=other,
        target=target,
        side=f", {side!r}" if side else "",
    )
    page_parts.export_fold(
        lambda: {"relative change": Labelled(changes, _axes(changes, tokens))}, code, key="inside.ripple"
    )


def _rows(changes: np.ndarray) -> list[str]:
    """Return the names of the rows on screen."""
    return [_("before"), *(_("layer {layer}", layer=layer) for layer in range(len(changes) - 1))]


def _axes(changes: np.ndarray, tokens: list[str]) -> dict[str, list[str]]:
    layers = ["before", *(f"layer {i}" for i in range(len(changes) - 1))]
    return {"after": layers, "position": [f"{i} {token}" for i, token in enumerate(tokens)]}


def _reach(selection: Selection, run: Run, side: str | None) -> None:
    """Draw the masks alone: which position can reach which through all layers."""
    of = "source" if side == "encoder" else "target"
    masked = model_run.rerun(run, ("*.allowed",))
    found = reach(masked, of)
    inputs = [
        target_picker.word(token)
        for token in (run.source.tokens if of == "source" and run.source else run.tokens)
    ]
    outputs = [target_picker.word(token) for token in run.tokens]
    heatmap(
        found.astype(np.float32),
        outputs,
        inputs,
        key=f"inside.reach.{of}",
        allowed=found,
        axis=(_("output"), _("input")),
        title=_("Which input can reach which output"),
        height=380,
    )
    pairs, ways = int(found.sum()), found.size
    st.caption(
        literal(
            _(
                "By the masks of all layers, {pairs} of {ways} pairs of an input and an output are connected; a hatched cell is a pair in which the input cannot affect the output, whatever the weights.",
                pairs=pairs,
                ways=ways,
            )
        )
    )


def _frame(changes: np.ndarray, tokens: list[str]) -> pd.DataFrame:
    index = pd.Index(_rows(changes), name=_("after"))
    return pd.DataFrame(
        changes, index=index, columns=pd.Index([f"{place} {token}" for place, token in enumerate(tokens)])
    )
