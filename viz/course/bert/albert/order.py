"""The last step of the exhibit on ALBERT: pairs of both objectives side by side, and a bag-of-words classifier on them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import read_scores
from core.maths import softmax
from core.serving.engine import RunRequest, default
from viz.charts import marks
from viz.course.bert.albert import charts, pairs
from viz.course.bert.albert.params import MODEL, SLUG, Params
from viz.course.bert.albert.steps import available_models
from viz.course.bert.stories import stories
from viz.course.exhibit import Folds
from viz.labels import percent
from viz.number_text import signed
from viz.widgets import engine_client, exhibit_parts, page_parts

BEFORE_A_ROOM = 78
"""Letters in a line of a card in present mode, where one task is below the other."""
TITLES = {pairs.NEXT: "Next sentence prediction", pairs.ORDER: "Sentence-order prediction"}


def side_by_side(params: Params, _: object) -> Folds:
    """Ask how often a bag of words is right on the order, then draw a pair of each label for both objectives."""
    learned = {task: _learned(task) for task in pairs.TASKS}
    measured = {task: found.held_out for task, found in learned.items()}
    n = len(pairs.neighbours(True))
    known = exhibit_parts.predict_number(
        SLUG + "order",
        f"A bag-of-words classifier reads which words are in a pair, but not their order. It learned both tasks from the first parts of our {len(stories())} stories. On their last parts, how often does a pair in order get a higher score than the same pair swapped?",
        0.25,
        1.0,
        measured[pairs.ORDER],
        f"Both orders have the same words, so both get the same score, and it is right by chance. When the second text is from another story, the "
        f"right pair scores higher in {percent(measured[pairs.NEXT])} of the cases.",
        0.05,
        "%",
    )
    drawn = {task: pairs.sample_pairs(task, params.draw) for task in pairs.TASKS}
    room = exhibit_parts.presenting()
    places = [st.container(), st.container()] if room else st.columns(2, gap="medium")
    for place, (task, two) in zip(places, drawn.items(), strict=True):
        with place:
            right, wrong = two
            st.markdown(f"**{TITLES[task]}**")
            page_parts.show(
                charts.cards(_cards(task, right, wrong), letters=BEFORE_A_ROOM if room else charts.LETTERS),
                f"{SLUG}cards.{pairs.TASKS.index(task)}",
                f"{task}: {right.first} / {right.second}; against {wrong.first} / {wrong.second}",
            )
    if not room:
        page_parts.show(
            marks.bars(
                pd.Series(measured).reindex([*pairs.TASKS]),
                percent,
                highlighted=[pairs.ORDER],
                covered=not known,
            ),
            SLUG + "bag",
            "; ".join(f"{task}: {percent(value)} right" for task, value in measured.items())
            if known
            else "Two bars, covered until you guess.",
        )
    apart = {task: _n_different_words(*two) for task, two in drawn.items()}
    page_parts.summary(
        f"Words that are in only one of the two pairs: next sentence {apart[pairs.NEXT]}, sentence order {apart[pairs.ORDER]}. "
        + (
            f"Right on {n} held-out pairs: {percent(measured[pairs.NEXT])} and {percent(measured[pairs.ORDER])}; by chance {percent(0.5)}."
            if known
            else ""
        )
    )
    return Folds(
        lambda: pd.DataFrame(
            [
                {
                    "task": task,
                    "c": pair.label,
                    "A": pair.first,
                    "B": pair.second,
                    "stories": " / ".join(pair.stories),
                }
                for task, two in drawn.items()
                for pair in two
            ]
        ),
        {"held_out": list(measured.values()), "train": [found.train for found in learned.values()]},
        {},
        known,
        {"albert.order": {}},
        (
            rf"\text{{next sentence }} {measured[pairs.NEXT]:.4f}, \quad \text{{sentence order }} {measured[pairs.ORDER]:.4f}",
        ),
        extra_folds=(("Your own pair", "own", lambda: own_pair(params)),),
    )


def own_pair(params: Params) -> None:
    """Show the visitor's two texts in both orders, as the bag of words and albert-mini score them."""
    params.show("albert", "a", "b")
    two = pairs.user_pairs(params.a, params.b)
    found = _learned(pairs.NEXT)
    score = [signed(value, "+.3f") for value in found.score(two)]
    known = sorted(word for word in two[0].words if word in found.vocabulary)
    total = len(two[0].words)
    same = "the same" if two[0].words == two[1].words else "different"
    page_parts.summary(
        f"{total} different words, {len(known)} of them known from the stories. In both orders {same} words: the bag's score for "
        f"next sentence is {score[0]} for A B and {score[1]} for B A."
    )
    if MODEL in available_models():
        chance = [in_order(pair.first, pair.second) for pair in two]
        better, n = engine_client.submit(SLUG + "preferred", preferred, 100_000)
        page_parts.summary(
            f"{MODEL} gives P(in order) = {percent(chance[0])} for A B and {percent(chance[1])} for B A. On this page's {n} "
            f"held-out pairs the true order is the more probable one in {better}, by chance {n // 2}: on these texts it cannot distinguish the two orders.{recorded()}"
        )
    else:
        page_parts.summary(f"{MODEL}, which was trained on this task, is not among the models here.")


def recorded() -> str:
    """Return the accuracy that is recorded for albert-mini's own task, as a sentence."""
    found = [
        score
        for score in read_scores(shipped_folder() / MODEL)
        if score.measure == "sentence_order_accuracy" and score.subject == MODEL
    ]
    return "".join(f" Recorded on {score.split}: {percent(score.value, 2)}." for score in found[:1])


def in_order(first: str, second: str) -> float:
    """Return albert-mini's probability that two texts are in order."""
    run = default().run(RunRequest(MODEL, first, pair=second, keep=()))
    return float(softmax(run.sentence_order)[0])


def preferred() -> tuple[int, int]:
    """Return for how many held-out pairs the true order is the more probable one, and how many there are."""
    rows = pairs.neighbours(True)
    return sum(in_order(row.first, row.second) > in_order(row.second, row.first) for row in rows), len(rows)


def _learned(task: str) -> pairs.Learned:
    return engine_client.submit((SLUG + "bag", task), lambda: pairs.learned(task), 2000)


def _cards(task: str, right: pairs.Pair, wrong: pairs.Pair) -> list[tuple[str, list[tuple[str, int]]]]:
    if task == pairs.NEXT:
        said = (
            f"c = 1: B follows A ({right.stories[0]})",
            f"c = 0: B is from another story ({wrong.stories[1]})",
        )
        return [
            (said[0], [(right.first, 0), (right.second, 1)]),
            (said[1], [(wrong.first, 0), (wrong.second, 2)]),
        ]
    said = ("c = 1: the two in their order", "c = 0: the same two, swapped")
    return [
        (said[0], [(right.first, 0), (right.second, 1)]),
        (said[1], [(wrong.first, 1), (wrong.second, 0)]),
    ]


def _n_different_words(right: pairs.Pair, wrong: pairs.Pair) -> int:
    """Count the words that one of the two pairs has more often than the other."""
    return len((right.words - wrong.words) + (wrong.words - right.words))
