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
"""Pixels that the rows of the tallest grid of a step may take together."""
LOW = 200
"""Pixels of the rows before a room, below a question and its answer."""


def named(found: Sequence[Stage], *names: str) -> list[Stage]:
    """Those of the stages, in their order."""
    return [stage for stage in found if stage.name in names]


def grids(
    key: str,
    shown: Sequence[Stage],
    *,
    values: bool = False,
    covered: Sequence[str] = (),
    note: str = "",
    asked: bool = True,
) -> None:
    """The first sentence at these steps, side by side; low before a room where one was `asked`."""
    rows = max(int(np.prod(s.shape[1:-1])) + (s.shape[1] if _stacked(s) else 1) for s in shown)
    pixels = max(
        8.0, min(34.0, (TALL if not exhibit_parts.presenting() else LOW if asked else TALL - 40) / rows)
    )
    with present_layout.full_width(), st.container(key=f"many-heads-{key}"):
        for column, stage in zip(st.columns([_width(s) for s in shown], gap="small"), shown, strict=True):
            with column:
                of: dict[str, Any] = {"title": stage.name, "shape": called(stage.shape), "code": stage.code}
                of |= {"stacked": _stacked(stage), "covered": stage.name in covered}
                cells = stage.head_of[0], _written(stage, values), WORDS[: _rows(stage)]
                figure = head_grid(*cells, pixels=pixels, room=exhibit_parts.presenting(), **of)
                told = f"{stage.name}, shape {called(stage.shape)}, each number in the colour of its head."
                page_parts.show(figure, f"{SLUG}.{key}.{stage.name}{note}", told)


def shapes(found: Sequence[Stage], now: Sequence[str], upto: int | None = None) -> None:
    """The shape at every step, those in the picture in strong type; behind `upto` nothing is said yet.

    Before a room in one line: from one step before the picture to one behind it.
    """
    at = [place for place, stage in enumerate(found) if stage.name in now]
    first, behind = (max(0, at[0] - 1), at[-1] + 2) if exhibit_parts.presenting() else (0, len(found))
    told = [
        _shape(stage, stage.name in now)
        for stage in found[first : behind if upto is None else min(behind, upto)]
    ]
    if first:
        told.insert(0, "…")
    if upto is not None:
        told.append("?")
    elif behind < len(found):
        told.append("…")
    with st.container(key="many-heads-shapes"):
        st.markdown(" → ".join(told))


def called(shape: Sequence[int]) -> str:
    """(2, 4, 8)"""
    return f"({', '.join(map(str, shape))})"


def _shape(stage: Stage, strong: bool) -> str:
    stars, name = "**" * strong, stage.name.replace("_", r"\_")
    return f"{stars}{name}{stars} `{called(stage.shape)}`".replace(", ", ",\u00a0")


def _written(stage: Stage, values: bool) -> np.ndarray:
    """What stands in the cells: their numbers, or the word that each was made for."""
    numbers, words = stage.value[0].ravel(), stage.word_of[0].ravel()
    texts = [number(float(x), 1) for x in numbers] if values else [WORDS[word] for word in words]
    return np.array(texts).reshape(stage.shape[1:])


def _stacked(stage: Stage) -> bool:
    """Whether the first sentence is a sheet a head and not a row of heads a word."""
    return len(stage.shape) == 4 and bool((stage.word_of[0, 0] != stage.word_of[0, 0].flat[0]).any())


def _rows(stage: Stage) -> int:
    return stage.shape[-2] if _stacked(stage) else stage.shape[1]


def _width(stage: Stage) -> float:
    """Columns, the names of rows beside them."""
    return max(3.6, 1.6 + (stage.shape[-1] if _stacked(stage) else stage.value[0, 0].size))
