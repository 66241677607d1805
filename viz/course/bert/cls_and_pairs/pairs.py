"""The fifth step on [CLS]: two sentences, the same head with three classes; swapped; without segments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.data import grammar
from core.edits import Scale
from viz.course.bert import tuning_live
from viz.course.bert.cls_and_pairs import maths, read
from viz.course.bert.cls_and_pairs.params import PAIRS, SAYS, SLUG, Params
from viz.course.bert.cls_and_pairs.steps import draw_side_by_side
from viz.course.bert.tuning_live import Using
from viz.course.exhibit import Folds
from viz.instruments.kit import origin
from viz.labels import list_values, percent, shorten
from viz.shell import state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

ORDER = [grammar.RELATIONS.index(name) for name in SAYS]
WORDS = list(SAYS.values())
OFF = (Scale("embed.segment", 0.0),)
WAYS = ("A, then B", "B, then A")
DOES = {"follows": "follows from A", "contradicts": "contradicts A", "neither": "does neither"}


@tuning_live.needs("pairs", SLUG, "bert.class")
def pairs(params: Params, used: Using) -> Folds:
    """Draw the classes of the pair, and ask for those of the swapped pair."""
    a, b, model = params.first, params.second, used.model or ""
    found = engine_client.submit(
        ("cls_and_pairs.pairs", (a, b), model),
        lambda: {on: (pair_chances(model, a, b, on), pair_chances(model, b, a, on)) for on in (True, False)},
        200 * len(a + b),
    )
    now, swapped = found[params.segments]
    before, after = (WORDS[int(chances.argmax())] for chances in (now, swapped))
    told = exhibit_parts.predict(
        SLUG + "swap",
        f"A: “{shorten(a, 60)}” B: “{shorten(b, 60)}” The model outputs: B {DOES[before]}. What does it output when A and B are swapped?",
        dict(zip(WORDS, swapped.tolist(), strict=True)),
        after,
        _listed(swapped) + ".",
    )
    origin.tell(model=model, text=a, second_text=b)
    shown = dict(zip(WAYS, (now, swapped if told else None), strict=True))
    draw_side_by_side(shown, WORDS, f"{SLUG}pair", 1, exhibit_parts.by_mode(190, 380))
    on, off = found[True][0], found[False][0]
    moved = 0.5 * float(np.abs(on - off).sum())
    page_parts.summary(
        f"A, then B: {before} {percent(now.max())}. "
        + (f"Swapped: {after} {percent(swapped.max())}. " if told else "")
        + f"Without the segment embeddings (A or B) {percent(moved, 2)} of the probability "
        "moves to other answers."
    )
    with st.container(
        horizontal=True, vertical_alignment="center", gap="medium"
    ):  # the button beside the switch
        st.button(
            "Swap A and B",
            key=SLUG + "swap.button",
            icon=":material/swap_horiz:",
            type="primary",
            on_click=_swap,
            args=(a, b),
        )
        params.show(SLUG.rstrip("."), "segments")
    if not exhibit_parts.presenting():
        first, second = SLUG + "first", SLUG + "second"
        controls.preset_values(
            {shorten(two, 40): {first: one, second: two} for one, two in PAIRS},
            SLUG + "pairs",
            {first: a, second: b},
        )
    return Folds(
        lambda: pd.DataFrame(
            {
                "A, then B": now,
                "B, then A": swapped,
                "without segments": off,
                "swapped, without": found[False][1],
            },
            index=WORDS,
        ),
        {"now": now, "swapped": swapped, "without": off},
        {"model": tuning_live.opening(used), "order": ORDER, "words": ", ".join(WORDS)},
        told,
        {"bert.class": {}, "bert.input": {}},
        [rf"P(\text{{{word}}}) = {chance:.6f}" for word, chance in zip(WORDS, now, strict=True)],
    )


def pair_chances(model: str, first: str, second: str, segments: bool) -> np.ndarray:
    """Return the probabilities of a pair in the order of WORDS. Errors: InputError for an empty side."""
    run = read.ran(model, first, second, edits=() if segments else OFF)
    return maths.classify(run).chances[ORDER]


def _listed(chances: np.ndarray) -> str:
    return list_values(zip(WORDS, chances, strict=True))


def _swap(first: str, second: str) -> None:
    state.write(**{SLUG + "first": second, SLUG + "second": first})
