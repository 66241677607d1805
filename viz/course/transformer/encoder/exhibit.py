"""The encoder: one layer, looked at closely, and the stack of them, read after each layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.transformer.encoder import folds, pictures
from viz.course.transformer.encoder import maths as depth
from viz.instruments.kit import origin
from viz.labels import distinct
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="The encoder and its stack", chapter=Chapter.TRANSFORMER, order=50, minutes=8,
    claim="One layer lets the words look at each other and then thinks about each alone. The stack does it again and again.",
    cites=(
        Cite("ghojogh2023", "transformer encoder", "Eqs. (23)-(26)"),
        Cite("ghojogh2020", "3.2.3, 3.2.4", "Eqs. (23)-(27)"),
        Cite("beigy2021", "transformers", "two sub-layers, six encoders"),
        Cite("beigy2024", "transformers", "the encoder"),
        Cite("vaswani2017", "3.1", "encoder stack"),
    ),
)  # fmt: skip
SLUG = "encoder."
STEPS = (
    lesson.Step("Guess", "Before any layer a word is its embedding plus its position. Layer by layer the others change it. Whom will it resemble at the end?"),
    lesson.Step("One layer", "Two sub-layers: attention adds what the other words say, the feed-forward network what it makes of it. Each has a norm and a sum."),
    lesson.Step("The stack", "The output of one layer is the input of the next. Read the stack after layer N."),
    lesson.Step("Maps", "Each head of each layer looks in its own way: all maps of this sentence."),
    lesson.Step("Over depth", "How much of itself does a word keep, and how alike do the words become?"),
    lesson.Step("Count", "The parameters of one layer, matrix by matrix; the stack has N times as much."),
)  # fmt: skip
MODELS = {"translator-en-es": "Translator's encoder", "bert-mini": "BERT"}
SENTENCES = ("She has a white car.", "The animal didn't cross the street because it was too tired.", "The bank of the river was steep.", "You are welcome.")
LONGEST = 28


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the sentence, and whose encoder reads it."""

    text: str = SENTENCES[0]
    model: str = "translator-en-es"


@dataclass(frozen=True, eq=False)
class Data:
    """A run, its words, states (layer + 1, pos, d), similarities over depth, how far a loop over the layers is from the run."""

    run: Any
    words: tuple[str, ...]
    states: np.ndarray
    depth: depth.Depth
    weights: np.ndarray
    off: float


def compute(params: Params = Params()) -> Data:
    """The sentence through one encoder. Raises InputError for more pieces than can be drawn."""
    model = default().open(params.model)
    n = len(model.tokenizer.encode(params.text).ids)
    if n > LONGEST:
        raise InputError(f"The sentence has {n} tokens.", f"This page draws up to {LONGEST}.", "Shorten it, or take an example.")
    run = default().run(RunRequest(params.model, params.text))
    states = depth.hidden(run)
    words = distinct(token.removeprefix(" ") or token for token in depth.read(run).tokens)
    return Data(run, tuple(words), states, depth.over_depth(states), run.attention("self").weights, depth.as_loop(run)[1])


def thumbnail() -> str:
    """How alike the words of the opening sentence are after the last layer."""
    return thumbs.cells(depth.cosines(compute().states[-1]), centred=True)


def page() -> None:
    """Claim, steps, one picture, one sentence, what to change; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = Params(state.read("text", Params.text), state.read(f"{SLUG}of", Params.model, state.one_of(tuple(MODELS))))
    data = None
    with errors.guard():
        data = ask.submit(("encoder", params), lambda: compute(params), 40 * len(params.text))
        origin.tell_run(data.run)
        pictures.show(step, data)
    with st.container(key="encoder-change"):
        controls.text("Sentence", "text", Params.text, placeholder="Type a sentence", drops=(f"{SLUG}word",), of=params.model, most=f"up to {LONGEST} tokens")
        controls.preset_row(SENTENCES, "text", Params.text)
        controls.segmented("Whose encoder", tuple(MODELS), f"{SLUG}of", Params.model, MODELS.__getitem__)
    with errors.guard():
        if data is not None:
            folds.show(EXHIBIT, params, data)
