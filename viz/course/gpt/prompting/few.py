"""The last steps of the exhibit on prompts: a task that is only described, and examples in front of the question."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.record import trained
from core.serving.engine import default
from viz.charts.scores import bars
from viz.course.gpt.prompting.maths import CANDIDATES, MOST, TASKS, prompt, scored, written
from viz.course.gpt.prompting.params import MODEL, SLUG, Params
from viz.course.lesson import Folds
from viz.course.shared.maths.prompts import ASKED, TEMPLATES, Answer, answers
from viz.instruments.kit import origin
from viz.labels import distinct, percent
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

SHOTS = (0, 1, 2, MOST)
TRIPLES = (
    "(translate to french, english text, french text)\n"  # spaces before a line's end would hang out of a narrow box
    "(reverse,             hello,        olleh)"
)
HELPED = ("clearly more", "no clear difference", "clearly fewer")


def described(params: Params, _: object) -> Folds:
    """The documents' triple, and one prompt of ours with its candidates."""
    at = params.asked
    asked = ASKED[at]
    found = _answers(at)
    names = [each.text.strip() for each in found]
    best = min(found, key=lambda each: each.place)
    known = exhibit_parts.predict(
        SLUG + "best",
        "gpt-mini read only English in its training. Which of these continuations does it give the highest probability?",
        dict(sorted((each.text.strip(), each.share) for each in found)),
        best.text.strip(),
        f"Of the total probability of the three it gets {percent(best.share, 2)}. The right answer is “{names[asked.right]}” with {percent(found[asked.right].share, 2)}."
        if len(names) > 2
        else f"Of the total probability of the two it gets {percent(best.share, 2)}. The right answer is “{names[asked.right]}”.",
    )
    st.code(TRIPLES, language=None, wrap_lines=True)
    st.caption(
        "The first line is the form of a task in Beigy 2024 (GPT-2); the second is the same form for the task of step 1."
    )
    left, right = st.columns(2, gap="medium", vertical_alignment="center")
    with left:
        st.caption(f"The prompt: {TEMPLATES[asked.template].title.lower()}")
        st.code(asked.prompt, language=None, wrap_lines=True)
    with right:
        origin.tell(model=MODEL, text=asked.prompt)
        shares = [each.share if known else 0.0 for each in found]
        page_parts.show(
            bars(
                [
                    (name, part, known and place == asked.right)
                    for place, (name, part) in enumerate(zip(names, shares, strict=True))
                ],
                "{:.1%}" if known else "?",
                1.0,
            ),
            SLUG + "shares",
            "Shares of the candidates: "
            + ", ".join(f"{name} {percent(part, 2)}" for name, part in zip(names, shares, strict=True))
            if known
            else "The candidates; their shares are shown after your guess.",
        )
    if known:
        right_ones = sum(_answers(i)[each.right].place == 1 for i, each in enumerate(ASKED))
        page_parts.summary(
            f"gpt-mini puts the right answer first in {right_ones} of {len(ASKED)} prompts; by chance (baseline) {sum(1 / len(each.candidates) for each in ASKED):.1f}. {'For this prompt it does.' if best.text == asked.candidates[asked.right] else 'For this prompt it does not.'}"
        )
    else:
        page_parts.summary(f"{MODEL} was not trained for this task: it only continues the text.")
    table = pd.DataFrame(
        [(each.text, each.logprob, each.share, each.place) for each in found],
        columns=["candidate", "ln P", "share", "rank"],
    )
    return Folds(
        table,
        {"shares": np.array(shares)},
        {"model": MODEL},
        known,
        {"gpt.prompted": {}},
        look={"size": default().open(MODEL).n_parameters / 1e6, "tokens": trained(MODEL).tokens / 1e6},
    )


def _answers(at: int) -> list[Answer]:
    each = ASKED[at]
    return engine_client.submit(
        ("prompting.asked", at), lambda: answers(default().open(MODEL), each.prompt, each.candidates), 100
    )


def clear_difference(n: int) -> int:
    """Return how far two counts of n guesses must differ to be two standard deviations of chance apart."""
    return math.ceil(2 * math.sqrt(2 * n * (CANDIDATES - 1)) / CANDIDATES)


def examples(params: Params, _: object) -> Folds:
    """The prompt that is built, and how many of eight questions are answered right with 0, 1, 2 and 4 examples."""
    task = TASKS[params.task]
    with engine_client.many() as submit:
        found = {
            k: submit(
                ("prompting.scored", task.name, k), lambda k=k: scored(default().open(MODEL), task, k), 800
            )
            for k in SHOTS
        }
    clear = clear_difference(len(task.pairs))
    n, none, most = len(task.pairs), sum(found[0].right), sum(found[MOST].right)
    known = exhibit_parts.predict(
        SLUG + "help",
        f"{n} questions with four candidates each. Does gpt-mini answer clearly more of them correctly (by two standard deviations or more) with {MOST} examples in front than with none?",
        HELPED,
        HELPED[0 if most - none >= clear else 2 if none - most >= clear else 1],
        f"{none} of {n} without, {most} of {n} with {MOST} examples; by chance {n / CANDIDATES:g}. With {n} questions only a difference of {clear} or more is clear. "
        + (
            "Even with examples the model is not above chance."
            if most <= n / CANDIDATES
            else "That is little more than chance, with only eight questions."
        ),
    )
    left, right = st.columns(2, gap="medium")
    with right:
        rows = [
            (f"{k} examples" if k != 1 else "1 example", float(sum(found[k].right)) if known else 0.0, True)
            for k in SHOTS
        ]
        origin.tell(model=MODEL)
        lot = ("by chance", n / CANDIDATES, False)
        page_parts.show(
            bars([*rows, lot], "{:g} of " + str(n) if known else "?", n),
            SLUG + "shots",
            f"Right answers: {', '.join(f'{name} {value:g}' for name, value, _ in rows)}"
            if known
            else "How many right with 0, 1, 2 and 4 examples; shown after your guess.",
        )
    with left:
        own = controls.text("Your question", SLUG + "question", "cold", placeholder="Type a word")
        k = controls.pills("Examples in front", range(MOST + 1), SLUG + "shots", MOST)
        text = prompt(task, own[:200], k)
        st.code(text, language=None, wrap_lines=True)
        wrote = engine_client.submit(
            ("prompting.written", text), lambda: written(default().open(MODEL), text, 8), 400
        )
        st.text(
            f"gpt-mini continues: “{wrote.text.split(chr(10))[0]}”"
            if wrote.text.strip()
            else "gpt-mini ends the text here."
        )
    st.text(
        f"Right answers of {n}: "
        + ", ".join(f"{sum(found[each].right)} with {each}" for each in SHOTS)
        + f"; by chance {n / CANDIDATES:g}. Mean share of the right answer: "
        + ", ".join(f"{found[each].share:.2f}" for each in SHOTS)
        + "."
        if known
        else f"The task: {task.says}. {n} questions of our own; the weights stay as they are."
    )
    table = pd.DataFrame(
        {f"{each} examples": found[each].shares for each in SHOTS},
        index=distinct(pair[0] for pair in task.pairs),
    )
    return Folds(
        table,
        {f"shares {each}": np.array(found[each].shares) for each in SHOTS},
        {"model": MODEL, "shots": SHOTS},
        known,
        {"gpt.prompted": {}},
        look={"size": default().open(MODEL).n_parameters / 1e6, "chance": 100 // CANDIDATES},
    )
