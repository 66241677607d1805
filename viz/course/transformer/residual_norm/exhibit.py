"""Residual sums and layer norm: what a layer adds to a word, what happens without the sum, and where the norm may stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.shared.shown import folds as show
from viz.course.transformer.maths import residuals
from viz.course.transformer.residual_norm import folds, norms, sums
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Residual and layer norm", chapter=Chapter.TRANSFORMER, order=30, minutes=10,
    claim="A layer never replaces a word: it adds to it. A norm keeps the sum in bounds.",
    cites=(
        Cite("ghojogh2023", "encoder; layer normalization", "Eqs. (23)-(25)"),
        Cite("ghojogh2020", "3.2.3", "Eqs. (23)-(26)"),
        Cite("beigy2021", "the transformer, residual connections", step=1),
        Cite("lifei2022", "the residuals", step=1),
        Cite("he2016", "section 3.2", "Eq. (1)", step=2),
        Cite("ba2016", "section 3", "Eq. (3)", step=4),
        Cite("xiong2020", "section 3", "Fig. 1", step=6),
    ),
)  # fmt: skip
SLUG = "residual_norm."
STEPS = (
    lesson.Step("Add", "Attention does not replace a word: what it found is added, number by number."),
    lesson.Step("Without", "Take the sums out of 12 drawn layers: how much of the words gets through?"),
    lesson.Step("A real model", "gpt-mini was trained with sums. Take them out and let it read your sentence."),
    lesson.Step("Norm", "Take away the mean of a word's numbers, divide by their standard deviation; then g and b."),
    lesson.Step("Which axis", "Layer norm looks along one word; batch norm at one number of all words."),
    lesson.Step("Three orders", "Norm after the sum, before the sub-layer, or on what is added? All are in print."),
)  # fmt: skip
LONGEST = 32
"""Pieces of a sentence: each is a pill."""
MODELS = ("gpt-mini", "translator-en-es", "bert-mini")
SENTENCES = ("The little dog ran after the ball.", "She was hungry, so she ate the apple.", "The animal didn't cross the street because it was too tired.")


@dataclass(frozen=True)
class Params:
    """What the visitor chose: sentence, model, layer, word; the size of sub-layers; g, b, sigma; the axis; the order; the draw."""

    text: str = SENTENCES[0]
    model: str = MODELS[0]
    layer: int = 3
    word: int = 2
    residual: str = "off"
    size: float = 0.5
    gain: float = 1.0
    bias: float = 0.0
    printed: bool = False
    numbers: str = "word"
    axis: str = "layer"
    push: float = 10.0
    order: str = "post"
    draw: int = 0


def compute(params: Params = Params()) -> residuals.Sum:
    """The first sum of the layer for each piece of the sentence. Raises InputError for no piece, or more than can be drawn."""
    n = len(default().open(params.model).tokenizer.encode(params.text).ids)
    if n > LONGEST:
        raise InputError(f"The sentence has {n} tokens.", f"This page draws sentences of up to {LONGEST}.", "Shorten it, or take an example.")
    run = default().run(RunRequest(params.model, params.text, keep=residuals.KEEP))
    return residuals.first_sum(run, min(params.layer, run.model.config.n_layers - 1))


def thumbnail() -> str:
    """What came in, what is added, and the sum: the first numbers of a word."""
    found = compute()
    return thumbs.cells(np.stack([getattr(found, leaf)[Params.word, :14] for leaf in ("before", "added", "after")]).clip(-12, 12), centred=True)


def chosen() -> Params:
    """The visitor's choices; a model that is not here is not offered."""
    models = tuple(name for name in MODELS if (entry := default().entry(name)) and entry.ok) or MODELS[:1]
    start = Params(model=models[0])
    reads = {
        "model": state.one_of(models), "layer": state.whole(0, 11), "word": state.whole(0, 999), "residual": state.one_of(tuple(sums.SHOWN_AS)),
        "size": state.real(0.1, 1), "gain": state.real(0, 3), "bias": state.real(-2, 2), "printed": state.flag, "numbers": state.one_of(tuple(norms.NUMBERS)),
        "axis": state.one_of(tuple(norms.AXES)), "push": state.real(-20, 20), "order": state.one_of(tuple(norms.ORDERS)), "draw": state.whole(0, 99),
    }  # fmt: skip
    return Params(text=state.read("text", start.text), **state.read_all(SLUG, start, reads))


def page() -> None:
    """Claim, steps, one picture, one sentence of numbers, its control; the sentence; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = chosen()
    with errors.guard():
        key = ("residual_norm", params.text, params.model, params.layer)
        data = ask.submit(key, lambda: compute(params), 10 * max(1, len(params.text)))
        origin.tell(model=params.model, text=params.text)
        with st.container(key=f"residual-picture-{step}"):
            shown = (sums.add, sums.without, sums.real, norms.norm, norms.which_axis, norms.orders)[step](params, data)
        show(EXHIBIT, "residual_norm", str(step), shown, lambda: st.markdown(folds.TRY[step]), lambda: lesson.errata("E6", "E16"))
    with st.container():
        if step in (0, 2) or (step in (3, 4) and not lesson.presenting()):
            controls.text("Sentence", "text", Params.text, placeholder="Type a sentence", drops=(SLUG + "word",), of=params.model, most=f"up to {LONGEST} tokens")
            controls.preset_row(SENTENCES, "text", Params.text)
