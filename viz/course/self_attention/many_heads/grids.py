"""The grids of the exhibit on many heads, and the line of shapes below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from viz.course.self_attention.charts.head_grids import head_grid
from viz.course.self_attention.many_heads.maths import Stage
from viz.course.self_attention.many_heads.params import SLUG, WORDS
from viz.number_text import number
from viz.shell import present_layout
from viz.widgets import exhibit_parts, page_parts

TALL = 340
"""Height of the rows of the tallest grid of a step, in pixels, at most."""
LOW = 200
"""Height of the rows in present mode, in pixels, below a question and its answer."""


def select_stages(stages: Sequence[Stage], *names: str) -> list[Stage]:
    """Return the stages with these names, in their order."""
    return [stage for stage in stages if stage.name in names]


def grids(
    key: str,
    stages: Sequence[Stage],
    *,
    values: bool = False,
    covered: Sequence[str] = (),
    note: str = "",
    below_question: bool = True,
) -> None:
    """Draw the first sentence at these stages, side by side; lower in present mode `below_question`."""
    rows = max(int(np.prod(s.shape[1:-1])) + (s.shape[1] if _stacked(s) else 1) for s in stages)
    pixels = max(
        8.0,
        min(34.0, (TALL if not exhibit_parts.presenting() else LOW if below_question else TALL - 40) / rows),
    )
    with present_layout.full_width(), st.container(key=f"many-heads-{key}"):
        for column, stage in zip(st.columns([_width(s) for s in stages], gap="small"), stages, strict=True):
            with column:
                of: dict[str, Any] = {"title": stage.name, "shape": called(stage.shape), "code": stage.code}
                of |= {"stacked": _stacked(stage), "covered": stage.name in covered}
                cells = stage.head_of[0], _cell_texts(stage, values), WORDS[: _rows(stage)]
                figure = head_grid(*cells, pixels=pixels, room=exhibit_parts.presenting(), **of)
                told = f"{stage.name}, shape {called(stage.shape)}, each number in the colour of its head."
                page_parts.show(figure, f"{SLUG}.{key}.{stage.name}{note}", told)


def shapes(stages: Sequence[Stage], now: Sequence[str], upto: int | None = None) -> None:
    """Show the shape at every stage, those in the picture in strong type; after `upto` nothing is revealed yet.

    In present mode in one line: from one stage before the picture to one after it.
    """
    at = [place for place, stage in enumerate(stages) if stage.name in now]
    first, behind = (max(0, at[0] - 1), at[-1] + 2) if exhibit_parts.presenting() else (0, len(stages))
    told = [
        _shape(stage, stage.name in now)
        for stage in stages[first : behind if upto is None else min(behind, upto)]
    ]
    if first:
        told.insert(0, "…")
    if upto is not None:
        told.append("?")
    elif behind < len(stages):
        told.append("…")
    with st.container(key="many-heads-shapes"):
        st.markdown(" → ".join(told))


def called(shape: Sequence[int]) -> str:
    """Return a shape as text, (2, 4, 8)."""
    return f"({', '.join(map(str, shape))})"


def _shape(stage: Stage, strong: bool) -> str:
    stars, name = "**" * strong, stage.name.replace("_", r"\_")
    return f"{stars}{name}{stars} `{called(stage.shape)}`".replace(", ", ",\u00a0")


def _cell_texts(stage: Stage, values: bool) -> np.ndarray:
    """Return the text of each cell: its number, or the word that it was computed for."""
    numbers, words = stage.value[0].ravel(), stage.word_of[0].ravel()
    texts = [number(float(x), 1) for x in numbers] if values else [WORDS[word] for word in words]
    return np.array(texts).reshape(stage.shape[1:])


def _stacked(stage: Stage) -> bool:
    """Return whether the first sentence is one slice per head and not a row of heads per word."""
    return len(stage.shape) == 4 and bool((stage.word_of[0, 0] != stage.word_of[0, 0].flat[0]).any())


def _rows(stage: Stage) -> int:
    return stage.shape[-2] if _stacked(stage) else stage.shape[1]


def _width(stage: Stage) -> float:
    """Return the width of a grid: its columns, and the names of rows beside them."""
    return max(3.6, 1.6 + (stage.shape[-1] if _stacked(stage) else stage.value[0, 0].size))
