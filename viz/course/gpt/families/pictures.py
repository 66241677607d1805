"""How the steps on the families are laid out: a question, and below it the models side by side, some covered until it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from viz.course.gpt.families import read
from viz.course.gpt.families.params import SLUG
from viz.instruments import heatmap
from viz.instruments.heatmap.heatmap import FORBIDDEN
from viz.instruments.kit import origin
from viz.labels import literal, query_and_key
from viz.widgets import exhibit_parts

LATER = "Comes after your guess."


def asked(name: str, question: str, options: Sequence[str], answer: str, why: str) -> tuple[bool, Any]:
    """Whether the question is answered, and the place for the pictures below it."""
    above, below = st.container(), st.container()
    with above:
        return exhibit_parts.predict(SLUG + name, question, options, answer, why), below


def pattern(
    values: np.ndarray,
    each: read.FamilyRun,
    title: str,
    key: str,
    shown: bool,
    *,
    allowed: np.ndarray,
    axis: tuple[str, str] = query_and_key("token"),
    shut: str = FORBIDDEN,
) -> None:
    if shown:
        origin.tell_run(each.run)
        heatmap(
            values,
            each.outputs,
            each.inputs,
            key=SLUG + key,
            allowed=allowed,
            axis=axis,
            title=title,
            height=300,
            shut=shut,
        )
    else:
        covered(title.split(":")[0].split(",")[0])


def side_by_side(
    box: Any, items: Sequence[Any], widths: Sequence[int] = (1, 1, 1), left_out: tuple[int, ...] = (2,)
) -> list[tuple[Any, Any]]:
    """Each with a column; before a room, where the question stands beside the pictures, without those that are `left_out`."""
    shown = [i for i in range(len(items)) if not (exhibit_parts.presenting() and i in left_out)]
    columns = box.columns([widths[i] for i in shown], gap="small")
    return [(items[i], column) for i, column in zip(shown, columns, strict=True)]


def covered(name: str) -> None:
    with (
        st.container(
            key=f"families-covered-{''.join(letter for letter in name.lower() if letter.isalnum())}"
        ),
        st.container(border=True, height=300, vertical_alignment="center", horizontal_alignment="center"),
    ):
        st.markdown(f"**{literal(name)}**  \n:gray[{LATER}]", text_alignment="center")
