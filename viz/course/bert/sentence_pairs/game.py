"""Steps of the exhibit on sentence pairs about the objective: one pair, random pairs, the accuracy of bert-mini."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import trained
from core.checkpoints.scores import Score, read_scores
from core.run import Run
from core.serving.engine import default
from viz.charts import marks
from viz.course.bert.charts import sentence_pairs
from viz.course.bert.sentence_pairs import next_pairs, next_sentence
from viz.course.bert.sentence_pairs.params import EXAMPLES, HALF, MODEL, MOST, SLUG, START, Params
from viz.course.exhibit import Folds
from viz.labels import percent, shorten
from viz.shell import state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

MEASURE = "next_sentence_accuracy"
MARKS = ("[CLS]", "[SEP]")
SOME = 50
SAYS = ("It follows", "It is not the next sentence")
ANSWERS = ("B follows", "B is not the next sentence")


def one(params: Params, run: Run) -> Folds:
    """Ask whether B follows A, then draw the tokens of the pair and bert-mini's probabilities."""
    a, b = params.a, params.b
    chance = engine_client.submit(("sentence_pairs.one", a, b), lambda: chance_of(a, b), 20 * len(a + b))
    truth, why = truth_of(params), f"P(IsNext) = {percent(chance)}; one half is the threshold."
    if truth is not None:
        right = "right" if truth == (chance >= HALF) else "wrong"
        why += f" In our data B {'follows' if truth else 'is not the next sentence'}, so this is {right}."
    both = {SAYS[0]: chance, SAYS[1]: 1 - chance}
    told = exhibit_parts.predict(
        SLUG + "one", "What does bert-mini predict: does B follow A?", both, SAYS[chance < HALF], why
    )
    n = run.side.n_real
    first = run.segments[:n].count(0)
    high = exhibit_parts.by_mode(34, 30)
    page_parts.show(
        sentence_pairs.tokens(run.tokens[:n], run.segments[:n], quiet=MARKS, high=high),
        SLUG + "tokens",
        f"One row of {n} tokens: [CLS], text A, [SEP], text B, [SEP].",
    )
    answers = f"P(IsNext) {percent(chance)}, P(NotNext) {percent(1 - chance)}."
    page_parts.show(
        marks.bars(pd.Series([*both.values()], ANSWERS), percent, end=1.0, level=0.5, covered=not told),
        SLUG + "chances",
        answers if told else "Two bars, covered until you guess.",
    )
    page_parts.summary(
        f"{n} tokens, {first} of A (blue) and {n - first} of B (orange). "
        f"P(IsNext) = {percent(chance)}, P(NotNext) = {percent(1 - chance)}."
        if told
        else f"{n} tokens: [CLS], then {first - 2} tokens of A (blue), [SEP], {n - first - 1} tokens of B (orange), [SEP]."
    )
    controls.preset_values(
        {
            f"{shorten(a, 26)} / {shorten(b, 26)}": {SLUG + "a": a, SLUG + "b": b, SLUG + "follows": follows}
            for a, b, follows in EXAMPLES
        },
        SLUG + "ready",
        {SLUG + "a": params.a, SLUG + "b": params.b},
    )
    return Folds(
        {"answer": ANSWERS, "probability": list(both.values())},
        {"probability": list(both.values())},
        {"model": MODEL},
        told,
        {"bert.next": {}},
        (rf"P(\text{{IsNext}}) = {chance:.6f}, \quad -\ln P = {-np.log(chance):.4f}",),
    )


def sampled_pair(params: Params, run: Run) -> Folds:
    """Draw the newest sampled pair with its label and bert-mini's probability; all samples are counted."""
    rows = next_pairs.draws(params.draw, params.draws)
    last, found = rows[-1], next_pairs.count(rows)
    key = ("sentence_pairs.drawn", last.first, last.second)
    chance = engine_client.submit(key, lambda: chance_of(last.first, last.second), 2000)
    encode = default().open(MODEL).tokenizer.encode
    a = ["[CLS]", *encode(last.first).tokens, "[SEP]"]
    b = [*encode(last.second).tokens, "[SEP]"]
    high = exhibit_parts.by_mode(34, 52)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        segments = [0] * len(a) + [1] * len(b)
        page_parts.show(
            sentence_pairs.tokens(a + b, segments, quiet=MARKS, across=6, high=high),
            SLUG + "last",
            f"Pair {found.n}: A: {last.first} B: {last.second}",
        )
    with right:
        counts, means = ([a, found.n - a] for a in (found.follow, found.expected))
        around = next_pairs.NEAR * found.deviation
        page_parts.show(
            marks.bars(
                pd.Series(counts, ANSWERS),
                end=max(1, found.n),
                background=marks.spans((max(0.0, m - around), min(found.n, m + around)) for m in means),
                row=exhibit_parts.by_mode(50, 90),
            ),
            SLUG + "counts",
            f"{found.follow} of {found.n} draws follow; {found.expected:g} are expected.",
        )
    page_parts.summary(
        f"Pair {found.n}: the sampled answer is “{'IsNext' if last.follows else 'NotNext'}”; bert-mini gives P(IsNext) = "
        f"{percent(chance)}. So far {found.follow} of {found.n} follow; expected {found.expected:g} ± "
        f"{around:.1f}, so the count lies {'inside' if found.inside else 'outside'} this range."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):  # the draw, beside what goes on with it
        full, more = params.draws >= MOST, (params.draws,)
        st.button(
            "One more pair", SLUG + "more", type="primary", disabled=full, on_click=_more, args=(*more, 1)
        )
        st.button(f"{SOME} more", SLUG + "many", disabled=full, on_click=_more, args=(*more, SOME))
        controls.seed_input(SLUG + "draw", START, drops=(SLUG + "draws",))
    follows = [row.follows for row in rows]
    return Folds(
        lambda: pd.DataFrame(
            {"A": [row.first for row in rows], "B": [row.second for row in rows], "follows": follows}
        ),
        {"follows": follows, "P(IsNext)": chance, "expected": found.expected, "range": around},
        latex=(
            rf"n q \pm 3 \sqrt{{n q (1 - q)}} = {found.expected:g} \pm {around:.2f}, "
            rf"\quad n = {found.n},\ q = {next_pairs.SHARE}",
        ),
    )


def all_pairs(params: Params, run: Run) -> Folds:
    """Ask for the accuracy on all our pairs, then draw each at its P(IsNext), those that follow above."""
    rows, cut, model = next_pairs.labelled_pairs(), params.cut, default().open(MODEL)
    pairs, follows = [(row.first, row.second) for row in rows], [row.follows for row in rows]
    values = engine_client.submit(
        "sentence_pairs.known", lambda: next_sentence.follows(model, pairs), 100_000
    )
    n = len(rows)
    told = exhibit_parts.predict_number(
        SLUG + "known",
        f"bert-mini classifies {n} pairs; in {sum(follows)} of them B follows A. "
        "How many does it classify correctly, with the threshold at one half?",
        0.0,
        float(n),
        float(next_pairs.right(values, rows, HALF)),
        f"It outputs “follows” {int((values >= HALF).sum())} times. "
        f"Always giving the same answer would be right {sum(follows)} times.",
        3.0,
    )
    now, (better, firsts) = next_pairs.right(values, rows, cut), next_pairs.preferred(values)
    texts = [f"{a} / {b}" for a, b in pairs]
    page_parts.show(
        sentence_pairs.decisions(
            values if told else None, follows, texts, cut, height=exhibit_parts.by_mode(225, 380)
        ),
        SLUG + "known",
        f"Each pair at its P(IsNext); with the threshold at {percent(cut)} {now} of {n} are correct."
        if told
        else "Two rows of dots, covered until you guess.",
    )
    page_parts.summary(
        f"Threshold {percent(cut)}: {now} of {n} right. "
        f"All probabilities lie between {percent(values.min())} and {percent(values.max())}. "
        f"After the same A the true B is the more probable one in {better} of {firsts} cases. {record()}"
        if told
        else f"{n} pairs, one dot each. The line is the threshold: to its right the model outputs “follows”."
    )
    return Folds(
        lambda: pd.DataFrame(
            {
                "A": [row.first for row in rows],
                "B": [row.second for row in rows],
                "follows": follows,
                "P(IsNext)": values,
            }
        ),
        {"chances": values, "follows": follows, "recorded": [score.value for score in scored() or ()]},
        {"model": MODEL},
        told,
        {"bert.next": {}},
        (
            rf"\text{{right: }} {now} / {n} = {now / n:.3f}",
            rf"\text{{preferred: }} {better} / {firsts} = {better / firsts:.3f}",
        ),
        look={
            "million": model.n_parameters / 1e6,
            "minutes": trained(MODEL).minutes,
            "record": record(),
        },
    )


def chance_of(a: str, b: str) -> float:
    """Return P(IsNext) of a pair."""
    return float(next_sentence.follows(default().open(MODEL), [(a, b)])[0])


def truth_of(params: Params) -> bool | None:
    """Return whether B follows, or None where the pair is not one of ours."""
    pair = params.a, params.b
    return next((row.follows for row in next_pairs.labelled_pairs() if (row.first, row.second) == pair), None)


@cache
def scored() -> tuple[Score, Score] | None:
    """Return bert-mini's score on unseen texts, and that of one answer for all, if recorded."""
    found = [score for score in read_scores(shipped_folder() / MODEL) if score.measure == MEASURE]
    own, other = ([score for score in found if (score.subject == MODEL) is mine] for mine in (True, False))
    return (own[0], other[0]) if own and other else None


def record() -> str:
    """Return the recorded score as a sentence."""
    held = scored()
    if held is None:
        return ""
    own, other = held
    return (
        f"Recorded on {own.split}, with books that were not in training: {percent(own.value, 2)} right; "
        f"{other.subject}: {percent(other.value, 2)}."
    )


def _more(now: int, n: int) -> None:
    state.write(**{SLUG + "draws": min(MOST, now + n)})
