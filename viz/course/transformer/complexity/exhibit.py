"""What a layer costs: self-attention against recurrence over length and width, by the table, counted, and measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz.charts import thumbs
from viz.course.shared.shown import folds, later, wait
from viz.course.transformer.complexity import maths as costs
from viz.course.transformer.complexity import steps
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="What attention costs", chapter=Chapter.TRANSFORMER, order=80, minutes=8,
    claim="Every word looks at every word: for short texts that is cheaper than recurrence, for long ones more expensive, and always one sequential step.",
    cites=(
        Cite("ghojogh2023", "complexity comparison", "Table 1", step=2),
        Cite("ghojogh2020", "3.4.2", "Table 1", step=2),
        Cite("vaswani2017", "4", "Table 1", step=2),
        Cite("ghojogh2020", "3.4.2", "maximum path length", step=3),
    ),
)  # fmt: skip
SLUG = steps.SLUG
STEPS = (
    lesson.Step("Count", "Self-attention multiplies n²·p times, a recurrent layer n·p² times: n words, p numbers each. Which is more?"),
    lesson.Step("Table 1", "Cost is not only multiplications: sequential operations and the maximum path length count too."),
    lesson.Step("Path", "What word 1 says has to reach word n. A recurrent network passes it on from state to state."),
    lesson.Step("Memory", "Every word looks at every word, so each head keeps a table of n × n scores."),
    lesson.Step("Clock", "Counting is one thing, a clock another. Here both layers ran on a real machine."),
)  # fmt: skip


@dataclass(frozen=True)
class Params:
    """What the visitor chose: length and width, whether all multiplications count, the width that is measured, the reach."""

    n: int = 50
    p: int = 512
    whole: bool = False
    width: int = 512


@dataclass(frozen=True)
class Data:
    """Both costs at n and p, where they meet, and both curves over `lengths`."""

    attention: costs.Cost
    recurrence: costs.Cost
    crossing: int
    lengths: tuple[int, ...]
    curves: dict[str, tuple[int, ...]]


def compute(params: Params = Params()) -> Data:
    """The table at the visitor's n and p, and over all lengths."""
    lengths = tuple(dict.fromkeys(int(n) for n in np.geomspace(steps.N[0], steps.N[-1], 60).round()))
    both = {"self-attention": costs.attention, "recurrence": costs.recurrence}
    curves = {name: tuple(cost(n, params.p, whole=params.whole).operations for n in lengths) for name, cost in both.items()}
    return Data(
        costs.attention(params.n, params.p, whole=params.whole), costs.recurrence(params.n, params.p, whole=params.whole),
        costs.crossing(params.p, whole=params.whole), lengths, curves,
    )  # fmt: skip


def thumbnail() -> str:
    """Both curves over the length, logarithmic: they cross at n = p."""
    return thumbs.curves([np.log(np.array(values, float)) for values in compute().curves.values()])


def page() -> None:
    """Claim, steps, one picture, one sentence, the sliders; everything else folded."""
    parts.title(EXHIBIT)
    at, start = lesson.steps(STEPS, SLUG), Params()
    params = Params(
        n=state.read(SLUG + "n", start.n, state.one_of(steps.N)),
        p=state.read(SLUG + "p", start.p, state.one_of(steps.P)),
        whole=state.read(SLUG + "whole", start.whole, state.flag),
        width=state.read(SLUG + "width", start.width, state.one_of(costs.WIDTHS)),
    )
    with errors.guard():
        told = steps.SHOWN[at](params, compute(params), start)
        folds(EXHIBIT, SLUG.rstrip("."), STEPS[at].name, told, lambda: None, wait if told.frame is later else lambda: lesson.errata("E18"))
