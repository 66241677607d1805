"""Cross-attention: each word that is written asks the sentence that was read; and what padding must not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.analysis.heads.head_file import habits
from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.shared.maths import across
from viz.course.shared.shown import folds
from viz.course.transformer.cross_attention import layer as layers
from viz.course.transformer.cross_attention import steps
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Cross-attention", chapter=Chapter.TRANSFORMER, order=60, minutes=10,
    claim="Queries come from the sentence being written, keys and values from the sentence that was read.",
    cites=(
        Cite("ghojogh2023", "multihead attention between encoder and decoder", "", step=1),
        Cite("ghojogh2020", "section 3.3.2", "", step=2),
        Cite("ghojogh2020", "section 3.3", "three sub-layers, N = 6", step=6),
        Cite("beigy2021", "encoder-decoder attention and masking", "", step=5),
        Cite("beigy2024", "encoder-decoder attention", "“masks out the padding words”", step=5),
        Cite("vaswani2017", "section 3.2.3", "", step=1),
        Cite("vaswani2017", "section 3.1", "three sub-layers, N = 6", step=6),
    ),
)  # fmt: skip
SLUG = "cross_attention."
STEPS = (
    lesson.Step("Two axes", "One head looks from each Spanish word across to the English ones: how many weights is that?"),
    lesson.Step("Who asks", "Q is made of the decoder's words, K and V of the encoder's output. The shapes are those of this sentence."),
    lesson.Step("Swap", "One word is exchanged, all others stay. Which of Q, K and V can notice?"),
    lesson.Step("Write", "Word by word, with a cache: each new word asks the source again. What is computed anew?"),
    lesson.Step("Padding", "Two sentences in one batch: the shorter is filled up with PAD. Masks keep it out."),
    lesson.Step("Layer", "A decoder layer has three sub-layers and two maps: over its own words, and over the source."),
)
MODEL = "translator-en-es"
SENTENCES = ("The red house is very old.", "She has a white car.", "You are welcome.", "I gave my little sister a red ball.")
LONGEST = 24


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the English sentence; layer and head, -1 for those that align best."""

    text: str = SENTENCES[0]
    layer: int = -1
    head: int = -1


@dataclass(frozen=True, eq=False)
class Data:
    """One translation: its run, the tokens on both sides, weights (layer head target source) with rows named by what they write."""

    run: Any
    read: tuple[str, ...]
    written: tuple[str, ...]
    weights: np.ndarray
    layer: int
    head: int

    @property
    def pattern(self) -> np.ndarray:
        """The chosen head (target source)."""
        return self.weights[self.layer, self.head]


def opening() -> tuple[int, int]:
    """Layer and head that look most, from each word they write, at those it translates: as measured on pairs that were set by hand."""
    found = habits(MODEL, "cross")
    return found.best()["aligner"] if found else (0, 0)


def compute(params: Params = Params()) -> Data:
    """The sentence through the translator. Errors: InputError for more pieces than can be drawn."""
    model = default().open(MODEL)
    n = len(model.tokenizer.encode(params.text).ids)
    if n > LONGEST:
        raise InputError(f"The sentence has {n} tokens.", f"This page draws sentences of up to {LONGEST}.", "Shorten it, or take an example.")
    run = default().run(RunRequest(MODEL, params.text, keep=across.KEEP))
    found, best = run.attention("cross", writing=True), opening()
    names = tuple(tuple(word.removeprefix(" ") or word for word in side) for side in (found.keys, found.queries))
    layer, head = (best[i] if chosen < 0 else chosen for i, chosen in enumerate((params.layer, params.head)))
    return Data(run, names[0], names[1], found.weights, layer, head)


def thumbnail() -> str:
    """The map of the sentence that the page opens with."""
    return thumbs.cells(compute().pattern)


SHOW = (steps.two_axes, steps.who_asks, steps.swap, steps.once, layers.padding, layers.layer)


def page() -> None:
    """Claim, steps, and of the chosen step: question, picture, one sentence, the control; the rest folded."""
    parts.title(EXHIBIT)
    at, config = lesson.steps(STEPS, SLUG), default().open(MODEL).config
    params = Params(
        state.read("text", Params.text),
        state.read("layer", -1, state.one_of((-1, *range(config.n_layers)), -1)), state.read("head", -1, state.one_of((-1, *range(config.n_heads)), -1)),
    )  # fmt: skip
    show = st.container()
    if at != layers.PADDING:
        controls.text("English sentence", "text", Params.text, placeholder="Type a sentence", of=MODEL, most=f"up to {LONGEST} tokens")
        controls.preset_row(SENTENCES, "text", Params.text)
    with errors.guard():
        data = ask.submit(("cross_attention", params), lambda: compute(params), 20 * len(params.text))
        origin.tell_run(data.run, "cross", data.layer, data.head)
        with show:
            shown = SHOW[at](data)
        folds(EXHIBIT, "cross_attention", STEPS[at].name, shown, lambda: None, lambda: lesson.errata("E32"))
