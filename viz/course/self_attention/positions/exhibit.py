"""Who stands where: why a position code is needed, two first ideas, four criteria, the wave, a learned table, and a model that loses its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz.charts import thumbs
from viz.course.self_attention.maths.position_criteria import CRITERIA, Verdict, judge
from viz.course.self_attention.positions import folds as more
from viz.course.self_attention.positions import steps
from viz.course.self_attention.positions.maths import ideas
from viz.course.shared.maths.positions import Formula
from viz.course.shared.shown import folds
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Positions", chapter=Chapter.SELF_ATTENTION, order=70, minutes=10,
    claim="Attention has no sense of order, so each position adds a vector of its own. What must such a vector be like?",
    cites=(
        Cite("beigy2024", "position encoding", "the first idea, t/(n−1), the second idea, t, and their problems", step=2),
        Cite("beigy2024", "position encoding", "four criteria", step=3),
        Cite("beigy2021", "position encoding", "PE(pos, i), the example with d = 4", step=4),
        Cite("ghojogh2023", "encoder of the transformer", "Eqs. (17), (18)", step=4),
        Cite("ghojogh2020", "section 3.2.1", "Eqs. (17), (18)", step=4),
        Cite("lifei2022", "positional encoding", step=1),
        Cite("vaswani2017", "section 3.5", "learned positions give nearly the same results", step=5),
        Cite("devlin2019", "section 3", "learned position embeddings", step=5),
        Cite("haviv2022", "sections 1 and 6", "a causal model without positions", step=1),
    ),
)  # fmt: skip
SLUG = steps.SLUG
STEPS = (
    lesson.Step("Guess", "The same word at two positions, read by bert-mini without positions."),
    lesson.Step("Two ideas", "Number the words: as a part of the way, from 0 to 1, or simply count."),
    lesson.Step("Criteria", "What a position code must do: be unique, mean the same step in every sentence, stay bounded in long ones, give the same answer twice."),
    lesson.Step("The wave", "Clocks, each ten times slower than the one before. All hands read together tell the position; each step turns each hand by its own fixed angle."),
    lesson.Step("Learned", "Or let the training learn a vector for each position. Here are such tables, seen in the plane in which they differ most."),
    lesson.Step("Without", "A trained model: its positions are shuffled, or set to zero."),
)  # fmt: skip


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the sentence, two lengths, the code looked at, a position, whose table, which model, which shuffle."""

    text: str = steps.SENTENCES[0]
    short: int = 5
    long: int = 20
    code: str = "fraction"
    position: int = 3
    table: str = "bert-mini"
    model: str = "translator-en-es"
    lot: int = 0


@dataclass(frozen=True)
class Data:
    """The verdict on each position code."""

    verdicts: tuple[Verdict, ...]

    @property
    def kept(self) -> np.ndarray:
        """(code, criterion), boolean."""
        return np.array([[getattr(verdict, name) for name in CRITERIA.values()] for verdict in self.verdicts])


def compute(params: Params = Params()) -> Data:
    """Each code judged by the criteria, on sentences of the two lengths."""
    found = ideas.candidates(steps.learned("gpt-mini"))
    return Data(tuple(judge(name, code, params.short, params.long) for name, code in found.items()))


def thumbnail() -> str:
    """The rim of the second clock of four: the first 40 positions on their way round."""
    angles = np.array([ideas.hands(Formula(8), t)[1] for t in range(40)])
    return thumbs.points(np.stack([np.sin(angles), -np.cos(angles)], axis=1), marked=(3,))


def page() -> None:
    """Claim, steps, question, picture, one sentence of numbers, one control; the rest folded."""
    parts.title(EXHIBIT)
    at, start = lesson.steps(STEPS, SLUG), Params()
    params = Params(
        text=state.read("text", start.text),
        short=state.read(SLUG + "short", start.short, state.whole(3, 10)),
        long=state.read(SLUG + "long", start.long, state.whole(11, 100)),
        code=state.read(SLUG + "code", start.code, state.one_of(steps.CODES)),
        position=state.read(SLUG + "position", start.position, state.whole(0, steps.RIM - 1)),
        table=state.read(SLUG + "table", start.table, state.one_of(tuple(steps.TABLES))),
        model=state.read(SLUG + "model", start.model, state.one_of(tuple(steps.MODELS))),
        lot=state.read(SLUG + "draw", start.lot, state.whole(0, 9999)),
    )
    with errors.guard():
        shown = steps.SHOWN[at](params, start, compute)
        folds(EXHIBIT, "positions", str(at), shown, lambda: more.aside(at, params), more.errata)
