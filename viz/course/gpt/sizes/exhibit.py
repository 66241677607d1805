"""How large the models are: counted by part from our own classes, beside the stated figures; a calculator; the race."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from viz.charts import thumbs
from viz.course.gpt.sizes import calculator as own
from viz.course.gpt.sizes import maths as model_sizes
from viz.course.gpt.sizes import steps
from viz.course.shared.shown import folds
from viz.shell import errors
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Sizes", chapter=Chapter.GPT, order=40, minutes=8,
    claim="Every rounded parameter count can be counted, weight by weight, from the shape of the model.",
    cites=(
        Cite("beigy2021", "BERT", "BERT-Base 110M, BERT-Large 340M", step=1),
        Cite("beigy2024", "BERT", "BERT-Base 110M, BERT-Large 340M", step=1),
        Cite("ghojogh2023", "BERT", "“the large BERT”; its variants", step=2),
        Cite("ghojogh2020", "section 4", "the variants of BERT", step=2),
        Cite("ghojogh2023", "GPT", "GPT-2 small to XL; 1.5 billion", step=3),
        Cite("ghojogh2020", "section 5", "1.5, 8, 17 and 175 billion", step=4),
        Cite("devlin2019", "section 3", "", step=1),
        Cite("radford2019", "section 2.3", "Table 2", step=3),
        Cite("brown2020", "section 2.1", "Table 2.1", step=4),
    ),
)  # fmt: skip
SLUG = steps.SLUG
STEPS = (
    lesson.Step("By part", "110M, 340M: where are all these parameters? Each is a weight of a table or a matrix, and can be counted."),
    lesson.Step("Variants", "Many models are called something-BERT. Some are smaller, some only read other texts, some are larger."),
    lesson.Step("GPT-2", "Four sizes have the same name, and a fifth is distilled from the smallest. The quoted figure belongs to one of them."),
    lesson.Step("Race", "From GPT-2 to GPT-3 in little more than a year. A plain axis cannot hold them both."),
    lesson.Step("Calculator", "Choose a shape. A rule of thumb says 12·L·d²; how good is it, and does the model fit into memory?"),
)  # fmt: skip


@dataclass(frozen=True)
class Params:
    """The shape in the calculator; the named models have their own."""

    shape: model_sizes.Shape = model_sizes.GPT2["GPT-2 small"]


@dataclass(frozen=True)
class Data:
    """Parameters by part: of each named model, and of the shape in the calculator."""

    counts: Mapping[str, Mapping[str, int]]
    shape: model_sizes.Shape
    own: Mapping[str, int]

    def total(self, name: str) -> int:
        """All parameters of a named model."""
        return sum(self.counts[name].values())


def compute(params: Params = Params()) -> Data:
    """Everything counted. Errors: InputError where the heads cannot share the width."""
    return Data({name: model_sizes.counted(shape) for name, shape in model_sizes.ALL.items()}, params.shape, model_sizes.counted(params.shape))


def thumbnail() -> str:
    """The sizes of GPT-2."""
    names = tuple(model_sizes.GPT2)[1:]
    return thumbs.bars([model_sizes.total(model_sizes.GPT2[name]) for name in names], [name.removeprefix("GPT-2 ") for name in names], marked=3)


SHOW = (steps.by_part, steps.variants, steps.gpt2, steps.race, own.calculator)
ERRATA = (("E11", "E20"), ("E21",), ("E44", "E21"), ("E44",), ("E10",))


def page() -> None:
    """Claim, steps, and of the chosen step: question, picture, one sentence, the control; the rest folded."""
    parts.title(EXHIBIT)
    at = lesson.steps(STEPS, SLUG)
    params, show = Params(own.chosen()) if at == len(STEPS) - 1 else Params(), st.container()
    if at == len(STEPS) - 1:
        own.sliders()
    with errors.guard():
        data = ask.submit(("sizes", params), lambda: compute(params), 800)
        with show:
            shown = SHOW[at](data)
        folds(EXHIBIT, "sizes", STEPS[at].name, shown, lambda: None, lambda: lesson.errata(*ERRATA[at]))
