"""One word, many vectors: “bank” in sentences about money and rivers, layer by layer; and vectors of whole sentences."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.bert.bank import many, words
from viz.course.bert.bank.maths import in_context, senses
from viz.course.shared.shown import folds as show
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="One word, two meanings", chapter=Chapter.BERT, order=70, minutes=10,
    claim="In a table a word has one vector. In BERT it gets another one in each sentence. Does the vector know what is meant?",
    cites=(
        Cite("ghojogh2020", "4", "“Money is in the bank”, “Some plants grow in bank of rivers”", step=1),
        Cite("ghojogh2023", "BERT", "sentence embedding", step=5),
        Cite("beigy2024", "ALBERT", "context-independent and context-dependent", step=4),
        Cite("devlin2019", "section 1"),
    ),
)  # fmt: skip
SLUG = "bank."
STEPS = (
    lesson.Step("Two sentences", "The same word at the same place. The table gives it one vector; each layer mixes in what stands around it."),
    lesson.Step("Many", "Eight sentences, two meanings. Which vector of the word is near to which?"),
    lesson.Step("Map", "The same vectors in the two directions in which they differ most. Do the meanings part?"),
    lesson.Step("One for all", "A table of vectors has to serve both meanings with one vector. To which does it lean?"),
    lesson.Step("A sentence", "Whole sentences get a vector, too. Is the nearest one the one that means the same?"),
)
MODEL = words.MODEL


@dataclass(frozen=True)
class Params:
    """What the visitor chose: two sentences and a word of both; one of our words, a sentence with it, a layer; how a sentence's vector is made."""

    one: str = senses.DOCUMENTS[0]
    two: str = senses.DOCUMENTS[1]
    word: str = "bank"
    which: str = "bank"
    own: str = ""
    layer: int = 7
    how: str = in_context.HOWS[1]
    sentence: str = "The weather was cold."


def compute(params: Params = Params()) -> in_context.Uses:
    """The word's vectors in the two sentences. Errors: InputError for a sentence without the word."""
    return in_context.uses(default().open(MODEL), (params.one, params.two), params.word)


def thumbnail() -> str:
    """The cosine of the two vectors by layer."""
    return thumbs.bars(compute().by_layer(), ["table", "place", *(f"layer {i}" for i in range(1, 7))][: default().open(MODEL).config.n_layers + 2])


def chosen() -> Params:
    """The visitor's choices."""
    start, last = Params(), default().open(MODEL).config.n_layers + 1
    reads = {
        "one": state.typed, "two": state.typed, "word": state.typed, "which": state.one_of(tuple(senses.WORDS), start.which), "own": state.typed,
        "layer": state.whole(0, last), "how": state.one_of(in_context.HOWS, start.how), "sentence": state.typed,
    }  # fmt: skip
    found = state.read_all(SLUG, start, reads)
    return Params(**found | {"layer": min(found["layer"], last)})


def page() -> None:
    """Claim, steps, one picture, one sentence of numbers, its control; the sentences; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = chosen()
    with errors.guard():
        origin.tell(model=MODEL, **({"text": params.one, "beside": params.two} if step == 0 else {}))
        with st.container(key=f"bank-picture-{step}"):
            shown = (words.two, many.matrix, many.on_map, words.static, many.whole)[step](params)
        show(EXHIBIT, "bank", str(step), shown, lambda: st.markdown(words.TRY[step]), lambda: None)
    with st.container():
        if lesson.presenting():
            return
        if step == 0:
            controls.text("One sentence", SLUG + "one", Params.one, of=MODEL)
            controls.text("Another sentence", SLUG + "two", Params.two, of=MODEL)
            controls.text("A word of both", SLUG + "word", Params.word)
        elif step in (1, 2):
            controls.text(f"Your own sentence with “{params.which}”", SLUG + "own", "", placeholder=f"Type a sentence with the word {params.which}", of=MODEL)
        elif step == 4:
            controls.text("Your own sentence", SLUG + "sentence", Params.sentence, of=MODEL)
