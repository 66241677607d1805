"""How BERT learns: fill blanks. Which tokens are chosen, what becomes of them, and what both sides of a blank are worth."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.bert.masked_words import blanks, draws, recipe
from viz.course.bert.masked_words import maths as hidden_words
from viz.course.bert.maths.masking import Rates
from viz.course.shared.shown import folds as show
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Masked words", chapter=Chapter.BERT, order=20, minutes=10,
    claim="BERT learns by filling blanks, with the words on both sides in sight.",
    cites=(
        Cite("ghojogh2023", "BERT", "Fig. 12"),
        Cite("ghojogh2020", "4", "Fig. 12"),
        Cite("beigy2021", "BERT, masked language model", step=2),
        Cite("beigy2024", "BERT, masked language model", step=2),
        Cite("lifei2022", "BERT, quotation from the paper", step=6),
        Cite("devlin2019", "section 3.1; appendix A.1, A.2", step=2),
    ),
)  # fmt: skip
SLUG = "masked_words."
STEPS = (
    lesson.Step("A blank", "One word is hidden. From the words on both sides the model says what stood there."),
    lesson.Step("15 %", "In training 15 % of the tokens are chosen. Most become [MASK], some a random word, some stay."),
    lesson.Step("Counted", "One draw is random. Many draws come near to the rates."),
    lesson.Step("Left, right", "How much does each side of the blank know?"),
    lesson.Step("Both or left", "The same word from both sides, by bert-mini, and from the left alone, by gpt-mini."),
    lesson.Step("Recipe", "A million steps: the learning rate rises, then falls in a straight line."),
)  # fmt: skip
MODEL = "bert-mini"
SENTENCES = ("She opened the door and went into the house.", "The king and the queen lived in a castle.", "He shut the door behind him and sat down by the fire.")
LONGEST = 30


@dataclass(frozen=True)
class Params:
    """What the visitor chose: sentence, hidden word, number of the draw, rates, how many draws; the numbers of the recipe."""

    text: str = SENTENCES[0]
    word: int = 3
    draw: int = 3
    share: float = 0.15
    masked: float = 0.8
    redrawn: float = 0.1
    draws: int = 1000
    warm_up: int = 10_000
    steps: int = 1_000_000
    sequences: int = 256
    length: int = 512

    @property
    def rates(self) -> Rates:
        """The rates; no more become a random word than are not hidden."""
        return Rates(self.share, self.masked, min(self.redrawn, round(1 - self.masked, 6)))


def compute(params: Params = Params()) -> hidden_words.Text:
    """The sentence as bert-mini reads it. Errors: InputError for no word, or more than can be drawn."""
    return hidden_words.read(default().open(MODEL), params.text, LONGEST)


def thumbnail() -> str:
    """What is said at the opening blank."""
    params = Params()
    best = blanks.guess(default().open(MODEL), compute(params), params).best
    return thumbs.bars([chance for _, chance in best], [word for word, _ in best], 0)


def chosen() -> Params:
    """The visitor's choices."""
    start = Params()
    reads = {
        "word": state.whole(0, LONGEST), "draw": state.whole(0, 9999), "share": state.real(0.05, 0.5), "masked": state.real(0, 1), "redrawn": state.real(0, 1),
        "draws": state.one_of(draws.DRAWS, start.draws), "warm_up": state.one_of(recipe.WARM_UPS, start.warm_up), "steps": state.one_of(recipe.STEPS, start.steps),
        "sequences": state.one_of(recipe.SEQUENCES, start.sequences), "length": state.one_of(recipe.LENGTHS, start.length),
    }  # fmt: skip
    return Params(text=state.read("text", start.text), **state.read_all(SLUG, start, reads))


def page() -> None:
    """Claim, steps, one picture, one sentence of numbers, its control; the sentence; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = chosen()
    with errors.guard():
        text = compute(params)
        origin.tell(model=MODEL, text=params.text)
        with st.container(key=f"masked-picture-{step}"):
            shown = (blanks.blank, draws.drawn, draws.counted, blanks.sides, blanks.both_or_left, recipe.recipe)[step](params, text)
        show(EXHIBIT, "masked_words", str(step), shown, lambda: st.markdown(blanks.TRY[step]), lambda: lesson.errata("E25", "E37"))
    with st.container():
        if step < 5 and not lesson.presenting():
            controls.text("Sentence", "text", Params.text, placeholder="Type a sentence", drops=(SLUG + "word",), of=MODEL, most=f"up to {LONGEST} tokens")
            controls.preset_row(SENTENCES, "text", Params.text)
