"""Heads compared: the heads of one layer of a trained model on the visitor's sentence; where each looks, what it is, what it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.analysis.heads.habits import Heads
from core.analysis.heads.head_file import habits
from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.self_attention.heads_compared import steps
from viz.course.self_attention.heads_compared.maths import looking
from viz.course.shared import shown as _shown
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Heads compared", chapter=Chapter.SELF_ATTENTION, order=50, minutes=12,
    claim="All heads of a trained layer read the same word at once. Where does each look, and which of them does the model need?",
    cites=(
        Cite("beigy2021", "multi-head attention", "different heads focus on different words as we encode it", step=1),
        Cite("lifei2022", "multi-head attention", "why several heads"),
        Cite("beigy2024", "multi-head attention"),
        Cite("ghojogh2020", "2.4.1, 3.2.2", "Fig. 4", step=1),
        Cite("clark2019", "section 3", "kinds of heads", step=4),
        Cite("voita2019", "sections 3 and 5", "what heads do", step=4),
        Cite("michel2019", "section 3", "heads switched off one at a time", step=5),
    ),
)  # fmt: skip
SLUG = "heads_compared."
STEPS = (
    lesson.Step("One word", "Eyes on one word. Where do the heads of one trained layer look from it?"),
    lesson.Step("All heads", "Every head as a map, all on one scale. The framed row is our word."),
    lesson.Step("Two heads", "Two of them side by side, and what one gives more than the other."),
    lesson.Step("Kinds", "One sentence is an anecdote. What does a head do over hundreds?"),
    lesson.Step("Without one", "A head looks somewhere. Does the model need it? Switch it off and see."),
)
MODELS = {"translator-en-es": ("self", 1), "bert-mini": ("self", 1), "gpt-mini": ("causal", 4)}
"""The kind of attention that is shown of each model, and the layer to open with."""
SENTENCES = (
    "The cat did not drink the milk because it was sour.", "The animal didn't cross the street because it was too tired.",
    "The FBI is chasing a criminal on the run .", "She is eating a green apple.",
)  # fmt: skip
LONGEST = 16


@dataclass(frozen=True)
class Params:
    """What the visitor chose: model, sentence, layer (-1: the model's own), the word that looks ("": the telling one)."""

    model: str = "translator-en-es"
    text: str = SENTENCES[0]
    layer: int = -1
    word: str = ""


@dataclass(frozen=True)
class Data:
    """One layer on one sentence: words, weights and allowed (head, query, key), its kind and number, the word that looks, the measured habits."""

    model: str
    kind: str
    layer: int
    n_layers: int
    words: tuple[str, ...]
    weights: np.ndarray
    allowed: np.ndarray
    row: int
    heads: Heads | None


def offered() -> tuple[str, ...]:
    """The models that are here and in order."""
    return tuple(name for name in MODELS if (entry := default().entry(name)) and entry.ok)


def compute(params: Params = Params()) -> Data:
    """The patterns of one layer, by words. Raises InputError for a text that cannot be drawn."""
    if params.model not in offered():
        raise InputError("No trained model with heads is here.", f"This page needs one of {', '.join(MODELS)}.", "See the page Models for what is missing.")
    kind, first = MODELS[params.model]
    reader = default().open(params.model)
    target = "" if reader.spec.has_source else None
    run = default().run(RunRequest(params.model, params.text, target=target, keep=("*.pattern",)))
    found = run.attention(kind, by="word")
    if len(found.keys) > LONGEST:
        raise InputError(f"The sentence has {len(found.keys)} words for {params.model}.", f"This page draws up to {LONGEST}, marks included.", "Shorten it, or take an example.")
    n_layers = len(found.weights)
    layer = first if params.layer < 0 else min(params.layer, n_layers - 1)
    names = steps.named(found.keys)
    row = names.index(params.word) if params.word in names else looking.place(found.keys)
    return Data(params.model, kind, layer, n_layers, found.keys, found.weights[layer], np.broadcast_to(found.allowed, found.weights.shape)[layer], row, habits(params.model, kind))


def thumbnail() -> str:
    """Where each head (a row) looks from the word it: the picture of the first step as a map."""
    data = compute()
    return thumbs.cells(data.weights[:, data.row])


def page() -> None:
    """Claim, steps, one picture, one sentence; sentence, model and layer below; everything else folded."""
    parts.title(EXHIBIT)
    at = lesson.steps(STEPS, SLUG)
    models = offered() or tuple(MODELS)
    params = Params(
        state.read(SLUG + "model", models[0], state.one_of(models, models[0])), state.read("text", Params.text),
        state.read(SLUG + "layer", Params.layer, state.whole(-1, 99)), state.read(SLUG + "word", Params.word),
    )  # fmt: skip
    shown: Any = None
    data: Data | None = None
    with st.container(key=f"heads-compared-{at}"), errors.guard():
        data = ask.submit(("heads_compared", params, offered()), lambda: compute(params), 10 * len(params.text))
        origin.tell(model=data.model, text=params.text, kind=data.kind, layer=data.layer)
        shown = steps.SHOWN[at](params, data)
    _change(models, data)
    if shown is not None:
        _shown.folds(EXHIBIT, "heads_compared", str(at), shown, lambda: steps.deeper(params, data), lambda: lesson.errata("E15", "E31"))


def _change(models: tuple[str, ...], data: Data | None) -> None:
    """The sentence, and the layer of which model."""
    with st.container(key="heads-compared-change"):
        controls.text("Sentence", "text", Params.text, placeholder="Type a sentence", drops=(SLUG + "word",), of=data.model if data else models[0], most=f"up to {LONGEST} words, marks included")
        controls.preset_row(SENTENCES, "text", Params.text)
        with st.container(horizontal=True, gap="medium"):
            controls.segmented("Model", models, SLUG + "model", models[0])
            if data is not None:
                controls.pills("Layer", range(data.n_layers), SLUG + "layer", MODELS[data.model][1], lambda layer: f"L{layer}")
