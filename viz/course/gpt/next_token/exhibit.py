"""GPT: a text as a product of conditionals, each from the left context only; the block without cross-attention; the window k."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.gpt.next_token import steps
from viz.course.gpt.next_token.maths import Conditionals, conditionals
from viz.course.gpt.next_token.steps import MODEL, SENTENCES, SLUG
from viz.course.shared.shown import folds
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="The next token", chapter=Chapter.GPT, order=10, minutes=10,
    claim="GPT says how probable each token is, given those before it and nothing else. The product is the probability of the text.",
    cites=(
        Cite("beigy2024", "GPT, pre-training", "L_1, the window k", step=1),
        Cite("ghojogh2020", "5", "GPT: only left context", step=3),
        Cite("ghojogh2023", "GPT", "blocks without cross-attention", step=2),
        Cite("ghojogh2020", "5", "blocks without cross-attention", step=2),
        Cite("beigy2021", "GPT", "unidirectional against bidirectional", step=3),
        Cite("lifei2022", "GPT", "negative log-likelihood", step=1),
        Cite("radford2018", "3.1", "L_1 and the window k", step=4),
    ),
)  # fmt: skip
STEPS = (
    lesson.Step("Guess", "A model reads from left to right and says at each token how probable it was. Which one has the highest surprisal?"),
    lesson.Step("The block", "GPT is the right half of the Transformer. One part of each layer has nothing to do any more."),
    lesson.Step("Two masks", "The same sentence before BERT and before GPT. One may look at everything, the other only back."),
    lesson.Step("The window", "Let the model see only the last k tokens. What lies further back cannot help."),
)


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the text, and the window of the last step."""

    text: str = SENTENCES[0]
    k: int = 1


def compute(params: Params = Params()) -> tuple[Conditionals, Conditionals]:
    """Every token behind all those before it, and behind the last k."""
    model = default().open(MODEL)
    return conditionals(model, params.text), conditionals(model, params.text, params.k)


def thumbnail() -> str:
    """How improbable each token of the opening text was."""
    found = compute()[0]
    return thumbs.bars(-found.logprobs[:8], [token.removeprefix(" ") for token in found.tokens[:8]], marked=found.surprising if found.surprising < 8 else None)


def page() -> None:
    """Claim, steps, one picture and its sentence, the text; everything else folded."""
    parts.title(EXHIBIT)
    at, start = lesson.steps(STEPS, SLUG), Params()
    params = Params(state.read("text", start.text), state.read(SLUG + "k", start.k, state.whole(1, steps.WIDEST)))
    show = st.container()
    controls.text("Text", "text", start.text, placeholder="Type a sentence", of=MODEL, most=f"up to {steps.WIDEST} tokens")
    controls.preset_row(SENTENCES, "text", start.text)
    with errors.guard():
        data = ask.submit(("next_token", params), lambda: compute(params), 40 * len(params.text))
        origin.tell(model=MODEL, text=params.text)
        with show:
            told = steps.SHOWN[at](params, data)
        folds(EXHIBIT, SLUG.rstrip("."), STEPS[at].name, told, lambda: None, lambda: lesson.errata("E43", "E51"))
