"""Word vectors: king - man + woman, one vector a word in every sentence, and the mix that attention makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.serving import engine
from viz.charts import thumbs
from viz.course.look_up import vectors_link as link
from viz.course.look_up.word_vectors import context
from viz.course.look_up.word_vectors import sum as sums
from viz.course.shared.maths import word_vectors as lesson_
from viz.course.shared.shown import folds
from viz.instruments.kit import origin
from viz.shell import errors, links, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Word vectors", chapter=Chapter.LOOK_UP, order=10, minutes=10,
    claim="A word becomes a list of numbers, and directions between words mean something. But one word keeps one vector, whatever stands around it.",
    cites=(
        Cite("ghojogh2023", "word embedding: Word2Vec and GloVe", "king − man + woman ≅ queen", step=1),
        Cite("ghojogh2020", "sections 2.3 and 2.4.1", "Fig. 4", step=4),
        Cite("beigy2021", "intra-attention", "“The FBI is chasing a criminal on the run.”", step=5),
        Cite("lifei2022", "summary"),
        Cite("mikolov2013", "section 4", step=2),
        Cite("pennington2014", "section 4", step=2),
        Cite("cheng2016", "section 3", "Fig. 1", step=5),
    ),
)  # fmt: skip
SLUG = "word_vectors."
STEPS = (
    lesson.Step("By hand", "Words placed by hand: up means power, right means man. Take man off king, add woman. Where does it lead?"),
    lesson.Step("Trained", "Nobody arranged these vectors: 80 numbers a word, learned by predicting the words around it. Such a sum, among ten thousand words."),
    lesson.Step("Map", "The same words drawn in the two directions in which they differ most. The arrow from the word taken off to the first word, and the same arrow from the third."),
    lesson.Step("One vector", "In a table a word has one vector, in every sentence. A model that looks at the words before gives it another one each time."),
    lesson.Step("Remember", "Which earlier words does a word remember? Attention weights mix their vectors into one: a composite, different in every sentence."),
)
MODEL, READER = "vectors-mini", "gpt-mini"


@dataclass(frozen=True)
class Params:
    """What the visitor chose. `points`: the words of the plane by hand. `row`: the word that remembers, from 0 (-1: the middle of the sentence)."""

    a: str = "king"
    b: str = "prince"
    c: str = "princess"
    points: link.Vectors = sums.OPENING
    one: str = "They sat in the grass on the river bank."
    two: str = "She kept all her money in the bank."
    word: str = "bank"
    text: str = context.SENTENCES[0]
    row: int = -1


def compute(params: Params = Params()) -> lesson_.Sum:
    """a - b + c on the vectors that ship."""
    return lesson_.add(engine.default().open(MODEL), params.a, params.b, params.c)


def thumbnail() -> str:
    """The map of the sum that the page opens with."""
    return thumbs.points(compute().map, marked=(len(compute().map) - 1,))


SHOW = (sums.by_hand, sums.trained, sums.on_the_map, context.one_vector, context.remember)


def page() -> None:
    """Claim, steps, and of the chosen step: question, picture, one sentence, the control; the rest folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    start, texts = Params(), ("a", "b", "c", "one", "two", "word")
    chosen: dict[str, Any] = {name: state.read(SLUG + name, getattr(start, name)) for name in texts}
    points = state.read(SLUG + "points", link.pack(start.points), lambda raw: link.pack(sums.places(raw)))
    chosen |= {"points": sums.places(points), "text": state.read("text", start.text), "row": state.read(SLUG + "row", start.row, state.whole(-1, 511))}
    with errors.guard():
        origin.tell(model=MODEL)
        shown = SHOW[step](Params(**chosen))
        folds(EXHIBIT, "word_vectors", STEPS[step].name, shown,
              lambda: links.to("models", "How these vectors were trained, and how often such sums are right"), lambda: lesson.errata("E55", "E56"))  # fmt: skip
