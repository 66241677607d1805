"""The whole Transformer as a map: click a box and see what goes in and out of it for your own sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.analysis.diagram_nodes import Box, boxes, numbers_of, parameters, value
from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.transformer.walk_through import folds, steps
from viz.instruments.kit import origin
from viz.shell import errors, room, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="The Transformer, box by box", chapter=Chapter.TRANSFORMER, order=10, minutes=10,
    claim="Embed, attend, add, feed forward, add, again: every box of the figure is open, with the numbers of your sentence in it.",
    cites=(
        Cite("ghojogh2023", "transformers", "the figure of encoder and decoder"),
        Cite("ghojogh2020", "3", "Fig. 9"),
        Cite("beigy2021", "transformers", "encoder and decoder; shifted target"),
        Cite("beigy2024", "transformers", "embedding, training and inference", step=2),
        Cite("lifei2022", "the Transformer", "Fig. 3"),
        Cite("vaswani2017", "3", "Fig. 1, table 3"),
    ),
)  # fmt: skip
SLUG = "walk_through."
STEPS = (
    lesson.Step("A minute", "English goes in at the left; the right half predicts the next Spanish word. Which one?"),
    lesson.Step("What goes in", "Each token becomes a vector. The right half reads its own output, one position later."),
    lesson.Step("Open a box", "Touch any box: what goes in, what comes out, and its parameters, for this sentence."),
    lesson.Step("How large", "The sizes decide how many parameters a Transformer has. Change them."),
    lesson.Step("One word's way", "The chapter in one walk: in at the bottom left, out at the top right as Spanish."),
)  # fmt: skip
MODEL = "translator-en-es"
SENTENCES = ("She has a white car.", "You are welcome.", "The animal didn't cross the street because it was too tired.", "I gave my little sister a red ball.")
LONGEST = 24
ASKING = ("A minute", "How large")
"""The steps whose question, before a room, has what belongs to it below it: the map keeps its width."""


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the sentence."""

    text: str = SENTENCES[0]


@dataclass(frozen=True, eq=False)
class Data:
    """One run of the translator, its boxes in the order of computing, the parameters of each, and of the network."""

    run: Any
    boxes: tuple[Box, ...]
    counts: Mapping[str, int] = field(repr=False)
    total: int


def compute(params: Params = Params()) -> Data:
    """The sentence through the translator, with every tensor. Raises InputError for more pieces than the map can hold."""
    model = default().open(MODEL)
    n = len(model.tokenizer.encode(params.text).ids)
    if n > LONGEST:
        raise InputError(f"The sentence has {n} tokens.", f"The map holds up to {LONGEST}.", "Shorten it, or take an example.")
    found = boxes(model)
    return Data(default().run(RunRequest(MODEL, params.text)), found, {box.name: parameters(model, box) for box in found}, numbers_of(model.network))


def thumbnail() -> str:
    """Where the last layer looks across in the sentence that the page opens with."""
    run = compute().run
    return thumbs.cells(value(run, f"decoder.layer.{run.model.config.n_layers - 1}.cross_attn.pattern").mean(0))


def page() -> None:
    """Claim, steps, the map with what the step tells beside it, the sentence below; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = Params(state.read("text", Params.text))
    data = told = None
    with errors.guard():
        data = ask.submit(("walk_through", params), lambda: compute(params), 40 * len(params.text))
        with st.container(key="walk-question" if step == 0 else "walk-map"):
            left, right = (st.container(), room.side()) if lesson.presenting() and STEPS[step].name in ASKING else st.columns([11, 9], gap="medium")
        origin.tell_run(data.run)
        told = steps.show(step, data, left, right)
    with st.container(key="walk-change"):
        controls.text("English sentence", "text", Params.text, placeholder="Type a sentence", drops=(f"{SLUG}word", f"{SLUG}station"), of=MODEL, most=f"up to {LONGEST} tokens")
        controls.preset_row(SENTENCES, "text", Params.text)
    with errors.guard():
        if told is not None:
            folds.show(EXHIBIT, params, data, told)
