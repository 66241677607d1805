"""Many heads: one projection, cut into pieces; each piece attends by itself; the pieces are put side by side again."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import streamlit as st

from viz.charts import thumbs
from viz.course.self_attention.many_heads import maths as lessons
from viz.course.self_attention.many_heads import steps
from viz.course.shared import shown as _shown
from viz.shell import errors, room, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Many heads", chapter=Chapter.SELF_ATTENTION, order=40, minutes=12,
    claim="One layer looks at the same sentence several times at once. Follow every number through it, by the colour of its head.",
    cites=(
        Cite("ghojogh2023", "multi-head attention", "Eqs. (19)-(22)"),
        Cite("ghojogh2020", "3.2.2", "Eqs. (19)-(21), Fig. 11", step=2),
        Cite("ghojogh2020", "3.2.2", "Eq. (22)", step=4),
        Cite("beigy2021", "multi-head attention", "split, attend, merge", step=4),
        Cite("beigy2024", "multi-head attention", "each head works in a subspace", step=1),
        Cite("lifei2022", "multi-head attention", "Fig. 4"),
        Cite("vaswani2017", "3.2.2", "one head against several", step=6),
    ),
)  # fmt: skip
SLUG = "many_heads."
STEPS = (
    lesson.Step("Read", "Each word comes in as a row of numbers. How much of it does a head read?"),
    lesson.Step("Split", "Nothing is computed: the numbers are rearranged (transpose), one slice per head."),
    lesson.Step("Attend", "Each head has its own scores, weights and mix, and sees no other head."),
    lesson.Step("Merge", "The way back. Forget the transpose, and there is no error, only nonsense."),
    lesson.Step("Re-initialise one head", "Ghojogh and Ghodsi 2020 say that the second head builds on the first. Let us see."),
    lesson.Step("One or several", "One large head has as many weights as many small ones. Why many?"),
)


@dataclass(frozen=True)
class Params:
    """What the visitor chose: sizes, which weights, how often head 1 was drawn anew, the swap, from how many words a word is made."""

    b: int = 1
    n: int = 3
    d: int = 8
    h: int = 2
    lot: int = 0
    redrawn: int = 1
    forgot: bool = False
    wanted: int = 4

    @property
    def sizes(self) -> lessons.Sizes:
        return lessons.Sizes(self.b, self.n, self.d, self.h)


@dataclass(frozen=True)
class Data:
    """The way of every number, the same with head 1 drawn anew, and how far its query is off when made from its piece alone."""

    way: lessons.Followed
    anew: lessons.Followed
    chunk: float


def compute(params: Params = Params()) -> Data:
    """Both ways through the layer. Raises InputError where the heads do not divide d."""
    sizes, lot = params.sizes, params.lot
    return Data(lessons.followed(sizes, lot), lessons.followed(sizes, lot, params.redrawn), lessons.chunk(sizes, lot))


def thumbnail() -> str:
    """The weights of both heads, one below the other."""
    return thumbs.cells(compute().way.pattern[0].reshape(-1, Params.n).T)


def page() -> None:
    """Claim, steps, one picture, the shapes, one sentence; sizes below; everything else folded."""
    parts.title(EXHIBIT)
    at = lesson.steps(STEPS, SLUG)
    start = Params()
    params = Params(
        **state.read_all(SLUG, start, {name: state.whole(*ends) for name, (_, *ends) in steps.CHOICES.items()}),
        lot=state.read(SLUG + "draw", start.lot, state.whole(0, 99)),
        redrawn=state.read(SLUG + "redrawn", start.redrawn, state.whole(1, 99)),
        forgot=state.read(SLUG + "forgot", start.forgot, state.flag),
        wanted=state.read(SLUG + "wanted", start.wanted, state.one_of(steps.WANTED, start.wanted)),
    )
    shown = None
    with st.container(), nullcontext() if at == steps.BARS else room.wide(), errors.guard():
        data = ask.submit(("many_heads", params.sizes, params.lot, params.redrawn), lambda: compute(params), 10)
        shown = steps.SHOWN[at](params, data)
    steps.sizes(start)
    if shown is not None:
        _shown.folds(EXHIBIT, "many_heads", str(at), shown, lambda: None, lambda: lesson.errata("E7", "E15", "E30", "E31"))
