"""The fifth step on [CLS]: two sentences, the same head with three classes; A and B swapped; without the segment vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.data import grammar
from core.edits import Scale
from viz.charts.tuned import shares
from viz.course.bert import tuning_live as live
from viz.course.bert.cls_and_pairs import maths as first_token
from viz.course.bert.cls_and_pairs.link import LONGEST, PAIRED, SAYS, SLUG, covered, missing, ran, tall
from viz.course.shared.shown import Shown, later
from viz.instruments.kit import origin
from viz.labels import percent, shorten
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

ORDER = [grammar.RELATIONS.index(name) for name in SAYS]
WORDS = list(SAYS.values())
OFF = (Scale("embed.segment", 0.0),)
WAYS = ("A, then B", "B, then A")
PAIRS = (
    ("A small dog slept under the tree.", "A dog slept under the tree."),
    ("Anna is much taller than Peter.", "Peter is shorter than Anna."),
    ("Rosa swept the floor before she lit the lamp.", "Rosa lit the lamp after she swept the floor."),
    ("Tom has exactly five eggs.", "Tom has more than seven eggs."),
)
_PILLS = SLUG + "pairs"


def told_of(model: str, first: str, second: str, segments: bool) -> np.ndarray:
    """The probabilities of a pair in the order of WORDS. Errors: InputError where one side is empty or both are too long."""
    run = ran(model, first, second, edits=() if segments else OFF)
    return first_token.said(run).chances[ORDER]


def pairs(params: Any) -> Shown:
    """What the head says of the pair, and of the pair the other way round."""
    used = live.using(PAIRED, SLUG)
    if used.model is None:
        return missing(PAIRED)
    model, both = used.model, (params.first, params.second)

    def four() -> dict[bool, tuple[np.ndarray, np.ndarray]]:
        return {on: (told_of(model, params.first, params.second, on), told_of(model, params.second, params.first, on)) for on in (True, False)}

    found = ask.submit(("cls_and_pairs.pairs", both, model), four, 200 * len("".join(both)))
    now, swapped = found[params.segments]
    before, after = (WORDS[int(chances.argmax())] for chances in (now, swapped))
    told = lesson.predict(SLUG + "swap", f"A: “{shorten(params.first, 60)}” B: “{shorten(params.second, 60)}” It says: B {_said(before)}. And when A and B are swapped?", dict(zip(WORDS, swapped.tolist(), strict=True)), after,
                          ", ".join(f"{word} {percent(chance)}" for word, chance in zip(WORDS, swapped, strict=True)) + ".")  # fmt: skip
    origin.tell(model=model, text=params.first, beside=params.second)
    for column, way, chances in zip(st.columns(2, gap="medium"), WAYS, (now, swapped if told else None), strict=True):
        with column:
            if chances is None:
                covered(way, tall(190, 270))
            else:
                parts.show(shares(WORDS, chances.tolist(), title=way, height=tall(190, 270)), f"{SLUG}pair.{way[0]}", f"{way}: " + ", ".join(f"{word} {percent(chance)}" for word, chance in zip(WORDS, chances, strict=True)) + ".")
    on, off = found[True][0], found[False][0]
    moved = 0.5 * float(np.abs(on - off).sum())
    parts.numbers((f"A, then B: {before} {percent(now.max())}. Swapped: {after} {percent(swapped.max())}. " if told else f"A, then B: {before} {percent(now.max())}. ")
                  + f"Without the segment vectors, which say A or B, {percent(moved, 2)} of the probability goes to other answers.")  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.button("Swap A and B", key=SLUG + "swap.button", icon=":material/swap_horiz:", type="primary", on_click=_swap, args=both)
        controls.toggle("Segment vectors", SLUG + "segments", True)
    frame = pd.DataFrame({"A, then B": now, "B, then A": swapped, "without segments": off, "swapped, without": found[False][1]}, index=WORDS)
    return Shown(
        {"bert.class": {}, "bert.input": {}}, tuple(rf"P(\text{{{word}}}) = {chance:.6f}" for word, chance in zip(WORDS, now, strict=True)),
        "BERT reads [CLS] A [SEP] B [SEP] at once, so that every word of A may look at every word of B. The head is the one of a single sentence with three classes. Swapped, the same words stand at other positions and in the other segment. "
        "The model was tuned with segment vectors: without them it is asked something that it never saw. The pairs to learn from are of our own grammar: who is taller, what came first, how many, and small dogs that are dogs.",
        lambda: frame if told else later(), {"now": now, "swapped": swapped, "without": off} if told else {"now": now},
        f"{live.opening(used)}\nfrom viz.course.bert.cls_and_pairs import maths as first_token\n\nfor a, b in (({both[0]!r}, {both[1]!r}), ({both[1]!r}, {both[0]!r})):\n"
        f"    run = model.run(a, pair=b, keep=first_token.KEEP)\n    print(first_token.said(run).chances[{ORDER}])  # {', '.join(WORDS)}",
    )  # fmt: skip


def _said(word: str) -> str:
    return {"follows": "follows from A", "contradicts": "contradicts A", "neither": "does neither"}[word]


def texts() -> None:
    """The two boxes, and pairs to begin with."""
    start = PAIRS[0]
    left, right = st.columns(2, gap="medium")
    with left:
        first = controls.text("A", SLUG + "first", start[0], placeholder="Type a sentence", of=live.BEFORE, most=f"up to {LONGEST} tokens, both together")
    with right:
        second = controls.text("B", SLUG + "second", start[1], placeholder="Type a second one", of=live.BEFORE, most=f"up to {LONGEST} tokens, both together")
    now = PAIRS.index((first, second)) if (first, second) in PAIRS else None
    state.held(_PILLS, now)
    st.pills("Examples", range(len(PAIRS)), format_func=lambda i: controls.literal(shorten(PAIRS[i][1], 40)), key=_PILLS, default=now, on_change=_chosen, label_visibility="collapsed")


def _chosen() -> None:
    at = st.session_state.get(_PILLS)
    if at is not None:
        state.write(**{SLUG + "first": PAIRS[at][0], SLUG + "second": PAIRS[at][1]})


def _swap(first: str, second: str) -> None:
    state.write(**{SLUG + "first": second, SLUG + "second": first})
