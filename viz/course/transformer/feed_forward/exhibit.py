"""The feed-forward network: each word by itself through a wide hidden layer, and what its units do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.shared.shown import folds as show
from viz.course.transformer.feed_forward import maths as inner_layer
from viz.course.transformer.feed_forward import steps, units
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="The feed-forward network", chapter=Chapter.TRANSFORMER, order=40, minutes=9,
    claim="Attention lets words meet. Then each word is processed by itself, in a layer four times as wide.",
    cites=(
        Cite("ghojogh2023", "encoder, feed-forward layer", "Eq. (26)"),
        Cite("ghojogh2020", "3.2.4", "Eq. (27)"),
        Cite("beigy2021", "the transformer, pointwise feed-forward network"),
        Cite("lifei2022", "the position-wise feed-forward network"),
        Cite("vaswani2017", "section 3.3", "Eq. (2)"),
        Cite("hendrycks2016", "section 2", step=2),
    ),
)  # fmt: skip
SLUG = "feed_forward."
STEPS = (
    lesson.Step("Through", "One word goes in, is spread over a wide hidden layer, and comes back to its size."),
    lesson.Step("Relu, gelu", "Without a nonlinearity between them two matrices are one. Relu cuts at 0, gelu bends."),
    lesson.Step("Sentence", "Every word goes through the same network. Which units does it switch on?"),
    lesson.Step("Alone", "Turn one word round. Who notices, in the network and in the attention?"),
    lesson.Step("One unit", "A unit reacts to something; when it fires, it adds one fixed vector."),
    lesson.Step("Count", "Where do a layer's parameters stand: in attention, or in the feed-forward network?"),
)  # fmt: skip
MODELS = ("translator-en-es", "gpt-mini", "bert-mini")
SENTENCES = ("The animal didn't cross the street because it was too tired.", "She was hungry, so she ate the apple.", "The little dog ran after the ball.")
LONGEST = 32


@dataclass(frozen=True)
class Params:
    """What the visitor chose: sentence, model, layer, word; the number on the curves; the width of the base model."""

    text: str = SENTENCES[0]
    model: str = MODELS[0]
    layer: int = 0
    word: int = 2
    at: float = -1.0
    d_ff: int = 2048


def compute(params: Params = Params()) -> inner_layer.Inner:
    """The network of the layer on every piece of the sentence. Errors: InputError for no piece, or more than can be drawn."""
    model = default().open(params.model)
    n = len(model.tokenizer.encode(params.text).ids)
    if n > LONGEST:
        raise InputError(f"The sentence has {n} tokens.", f"This page draws sentences of up to {LONGEST}.", "Shorten it, or take an example.")
    more: dict[str, Any] = {"target": "."} if model.spec.has_source else {}  # the source side does not depend on it
    run = default().run(RunRequest(params.model, params.text, keep=inner_layer.KEEP, **more))
    return inner_layer.inner(run, min(params.layer, model.config.n_layers - 1))


def thumbnail() -> str:
    """Which of the first units fire for which words."""
    return thumbs.cells(compute().fires[:8, :18].astype(float))


def offered() -> tuple[str, ...]:
    """The models that are here and in order."""
    return tuple(name for name in MODELS if (entry := default().entry(name)) and entry.ok) or MODELS[:1]


def chosen() -> Params:
    """The visitor's choices."""
    models = offered()
    start = Params(model=models[0])
    reads = {"model": state.one_of(models), "layer": state.whole(0, 11), "word": state.whole(0, LONGEST - 1), "at": state.real(-steps.END, 2), "d_ff": state.one_of(units.WIDTHS, start.d_ff)}
    return Params(text=state.read("text", start.text), **state.read_all(SLUG, start, reads))


def page() -> None:
    """Claim, steps, one picture, one sentence of numbers, its control; the sentence; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = chosen()
    with errors.guard():
        data = ask.submit(("feed_forward", params.text, params.model, params.layer), lambda: compute(params), 10 * max(1, len(params.text)))
        origin.tell(model=params.model, text=params.text)
        with st.container(key=f"feed-picture-{step}"):
            shown = (steps.through, steps.activations, steps.sentence, steps.alone, units.one_unit, units.count)[step](params, data)
        show(EXHIBIT, "feed_forward", str(step), shown, lambda: st.markdown(units.TRY[step]), lambda: lesson.errata("E10"))
    with st.container():
        if step == 0 or (step < 5 and not lesson.presenting()):
            controls.text("Sentence", "text", Params.text, placeholder="Type a sentence", drops=(SLUG + "word",), of=params.model, most=f"up to {LONGEST} tokens")
            controls.preset_row(SENTENCES, "text", Params.text)
