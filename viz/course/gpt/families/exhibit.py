"""Encoder, decoder, both: one sentence through BERT, GPT and a translator; their masks, and which inputs move which output."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from viz.charts import thumbs
from viz.course.gpt.families import read as reading
from viz.course.gpt.families import steps
from viz.course.shared.shown import folds
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Three families", chapter=Chapter.GPT, order=50, minutes=8,
    claim="BERT hears both sides in every layer, GPT only what came before, a translator both ways at once.",
    cites=(
        Cite("beigy2021", "BERT, GPT, ELMo", "encoder blocks, decoder blocks, LSTMs", step=5),
        Cite("beigy2024", "BERT, GPT, ELMo", "the three side by side", step=5),
        Cite("ghojogh2020", "sections 4 and 5", "encoder stack and decoder stack", step=1),
        Cite("ghojogh2023", "GPT", "decoder without cross-attention", step=1),
        Cite("lifei2022", "GPT; BERT", "left only against both sides", step=3),
        Cite("devlin2019", "figure 3", "differences in pre-training architectures", step=5),
        Cite("radford2018", "section 3.1", "", step=1),
        Cite("peters2018", "section 3.1", "two language models, joined", step=4),
        Cite("vaswani2017", "section 3.2.3", "", step=3),
    ),
)  # fmt: skip
SLUG = steps.SLUG
STEPS = (
    lesson.Step("Masks", "The same sentence enters an encoder, a decoder, and a model that has both. Who may read whom?"),
    lesson.Step("One word", "Change one word as it enters, and look how far the change spreads, layer by layer."),
    lesson.Step("Who hears whom", "Now every input in turn. A filled cell: this output moved when that input was moved."),
    lesson.Step("Two chains", "ELMo reads with two recurrent networks, one from each end. Is that the same as reading both sides?"),
    lesson.Step("Table", "Three ways to read a sentence, and a translator that joins two of them."),
)  # fmt: skip
SENTENCES = ("She has a white car.", "He went to the bank.", "The old man lives in a red house.", "Where is my sister?")


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the sentence; the word is the steps' own."""

    text: str = SENTENCES[0]


def compute(params: Params = Params()) -> reading.Data:
    """The sentence through the three models. Errors: InputError for no word, or too many pieces."""
    return reading.read(params.text)


def thumbnail() -> str:
    """GPT's mask with its weights."""
    gpt = compute().gpt
    return thumbs.cells(gpt.weights, gpt.allowed)


SHOW = (steps.masks, steps.ripple, steps.who_moves_whom, steps.chains, steps.table)


def page() -> None:
    """Claim, steps, and of the chosen step: question, pictures, one sentence, the control; the sentence; the rest folded."""
    parts.title(EXHIBIT)
    at, show = lesson.steps(STEPS, SLUG), st.container()
    params = Params(state.read("text", Params.text))
    if at == 0 or not lesson.presenting():
        controls.text("Sentence", "text", Params.text, placeholder="Type a sentence", drops=(SLUG + "word",), of=reading.BOTH, most=f"up to {reading.LONGEST} tokens")
        controls.preset_row(SENTENCES, "text", Params.text)
    with errors.guard():
        data = ask.submit(("families", params), lambda: compute(params), 20 * max(1, len(params.text)))
        origin.tell(text=params.text)
        with show:
            shown = SHOW[at](data)
        folds(EXHIBIT, "families", STEPS[at].name, shown, lambda: None, lambda: lesson.errata("E39"))
