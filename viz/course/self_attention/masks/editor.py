"""The second depth of the page on masks: choose a mask, or draw one, and look at it in a real run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.serving.engine import default
from viz.course.self_attention.masks import folds
from viz.course.shared import masks_batch as batch
from viz.course.shared import masks_panels as panels
from viz.instruments.kit import origin
from viz.shell import room, state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

LINKED = ("kind", "cell", "drawn", "everywhere", "fill", "where", "first", "second", "past_only",
          *dict.fromkeys(knob for knobs in folds.KNOBS.values() for knob, *_ in knobs if knob != "draw"))  # fmt: skip
"""The names that only the editor reads: a link that holds one of them opens it."""


def wanted() -> bool:
    """Whether a link from before there were steps, or the session, holds something that is chosen here only."""
    return any(state.peek(f"masks.{name}") for name in LINKED)


def show(info: Any, model: str, sentences: tuple[str, ...], start: Any, compute: Any, opening: Any) -> None:
    """Sentence, mask, the three matrices, one sentence of numbers; everything else folded."""
    order = ("kinds", "picture", "words") if lesson.presenting() else ("words", "kinds", "picture")
    place = {name: st.container() for name in order}
    with place["words"]:
        text = controls.text("Sentence", "text", start.text, placeholder="Type a sentence", of=model)
        controls.preset_row(sentences, "text", start.text)
    with place["kinds"]:
        kind = controls.pills("Mask", panels.PILLS, "masks.kind", start.recipe.kind, panels.PILLS.__getitem__, quiet=True)
        with st.container():
            if kind == "sparse":
                controls.draw("masks.draw", start.recipe.seed, 99)
    config = default().open(model).config
    layer, head = ask.submit("masks.opening", opening, 500)
    n = len(ask.run(model, text, keep=()).tokens)
    params = replace(
        start,
        text=text,
        layer=state.read("layer", layer, state.one_of(range(config.n_layers))),
        head=state.read("head", head, state.one_of(range(config.n_heads))),
        recipe=folds.recipe(kind, start.recipe),
        everywhere=state.read("masks.everywhere", False, state.flag),
    )
    if kind == panels.OWN:
        params = replace(params, drawn=panels.drawn(params.recipe, n))
    data = ask.submit(("masks", params), lambda: compute(params), 2 * len(text) * config.n_layers)
    lines = folds.code(model, params)
    origin.tell(model=model, text=text, kind="causal", layer=params.layer, head=params.head)
    with place["picture"], room.wide():
        at = panels.three(data, params, lines)
        parts.numbers(folds.sentence(data, *at))
    panels.head(config, layer, head)
    folds.change_it(kind, start.recipe)
    folds.finite(data)
    batch.fold()
    folds.question(data, at[0])
    folds.equation(data, *at)
    folds.looking_at(data, params)
    parts.documents(info, folds.documents)
    parts.as_table(lambda: folds.table(data), "masks")
    parts.take_away(lambda: folds.arrays(data), lines, key="masks")
