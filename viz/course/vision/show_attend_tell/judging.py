"""The steps on many captions: this captioner's own, right and wrong, and those that the slides print as cards to judge."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.vision.show_attend_tell import charts, maths
from viz.course.vision.show_attend_tell.params import SLUG, Params
from viz.exhibit_text import data as words_of
from viz.labels import percent
from viz.widgets import engine_client, exhibit_parts, page_parts

SCENES = 3
"""Captions of each sort that are drawn."""
RIGHT, WRONG = "right", "wrong"
PRINTED: dict[str, list[str]] = words_of(__file__)["captions"]
"""The captions of the slides by what they are printed as: the first two of Xu et al., the others of Vinyals et al."""
CAPTIONS = tuple(PRINTED)[:2]


def judge(params: Params, _: object) -> Folds:
    """Ask whether the caption of a picture is right."""
    right, rows = engine_client.submit(
        (SLUG, "judged", params.judge), lambda: maths.count_right(params.judge), 400_000
    )
    sorts = [[row for row in rows if row[2] is kind][:SCENES] for kind in (False, True)]
    turn = params.judge % 2 if all(sorts) else int(not sorts[0])
    scene, said, ok = sorts[turn][0]
    known = exhibit_parts.predict(
        f"{SLUG}.judge",
        f"The captioner’s output for the first picture: “{said}” Is every word right?",
        (RIGHT, WRONG),
        RIGHT if ok else WRONG,
        f"The right sentence is “{maths.caption(scene)}” Of {len(rows)} scenes with combinations that were not in training, {right} captions are right, "
        f"{percent(right / len(rows))}.",
    )
    others = [row for rows_of in sorts for row in rows_of if row[0] is not scene]
    picked = [
        (maths.bytes_of(one), text, fine if known else None)
        for one, text, fine in [(scene, said, ok), *others]
    ]
    shown = picked if known else picked[:1]
    page_parts.show(
        charts.cards(shown, gap=exhibit_parts.by_mode(0.12, 0.32), height=exhibit_parts.by_mode(290, 300)),
        f"{SLUG}.cards.{known}",
        "; ".join(f"{text} {'' if fine is None else (RIGHT if fine else WRONG)}" for _, text, fine in shown),
    )
    page_parts.summary(
        f"{right} of {len(rows)} synthetic scenes right. In half of the scenes one thing has a colour that its kind never had in training."
        if known
        else f"One of {len(rows)} synthetic scenes that were sampled now. Guess first, then more are shown."
    )
    return Folds(
        lambda: pd.DataFrame(
            [(maths.scene_text(one), text, maths.caption(one), fine) for one, text, fine in rows],
            columns=["scene", "written", "grammar", "right"],
        ),
        lambda: {"right": np.array([fine for *_, fine in rows])},
        {"number": params.judge},
        known,
    )


def printed(params: Params, _: object) -> Folds:
    """Ask whether a caption of the slides is printed as right or as a mistake."""
    texts = [(text, kind) for kind in CAPTIONS for text in PRINTED[kind]]
    text, kind = texts[int(np.random.default_rng((5, params.judge)).integers(len(texts)))]
    known = exhibit_parts.predict(
        f"{SLUG}.caption",
        f"“{text}” Xu et al.'s captioner wrote this about a photograph that is not shown here. Do the slides print it under “{CAPTIONS[0]}” or under “{CAPTIONS[1]}”?",
        CAPTIONS,
        kind,
        f"“{kind}”. All twelve are good sentences: whether a caption is true can only be seen in the picture. The map shows where the model attended.",
    )
    groups = exhibit_parts.by_mode(list(PRINTED), list(CAPTIONS))  # before a room those that are asked about
    if known:
        for first in range(0, len(groups), 2):
            for place, name in zip(st.columns(2, gap="medium"), groups[first : first + 2], strict=False):
                with place, st.container(border=True):
                    st.markdown(f"**{name}**")
                    for line in PRINTED[name]:
                        st.text(line)
    else:
        with st.container(border=True):
            st.text(text)
    n = sum(len(PRINTED[name]) for name in groups)
    page_parts.summary(
        f"{n} captions in {len(groups)} groups, as the slides print them."
        if known
        else "One of the captions of the slides. Guess first, then all are shown."
    )
    rows = [(name, line) for name in PRINTED for line in PRINTED[name]]
    return Folds(
        lambda: pd.DataFrame(rows, columns=["printed under", "caption"]),
        {"captions": np.array([line for _, line in rows]), "group": np.array([name for name, _ in rows])},
        revealed=known,
    )
