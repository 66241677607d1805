"""Prompts: one set of weights, the task chosen by the text in front; zero-shot, few-shot, and what a small model cannot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import trained
from core.checkpoints.scores import read_scores
from core.data.tasks import PROMPT_LENGTHS, PROMPTS
from core.errors import InputError
from core.serving.engine import default
from viz.charts import by_length, marks, thumbs
from viz.charts.copy_accuracy import Row, letters
from viz.course.exhibit import Exhibit, Step
from viz.course.gpt.prompting.data import (
    CANDIDATES,
    MOST,
    TASKS,
    Continuation,
    Score,
    prompt,
    score,
    write,
)
from viz.course.kit.question import Choice, Estimate
from viz.course.kit.step import View, show_chart
from viz.course.shared.prompts import QUESTIONS, TEMPLATES, Answer, Toy, answers, solved, toy_prompts
from viz.instruments.kit import origin
from viz.labels import distinct, percent
from viz.widgets import controls, engine_client
from viz.widgets.knobs import Knobs, knob, pills, seed_input, segmented, sentence

TINY, MODEL = "prompt-tiny", "gpt-mini"
STRINGS = ("hello", "stressed", "Atlas", "aha", "abcdefghijkl")
LONGEST, EACH, TOO_LONG = 14, 12, 12
TASK = "reverse"
SHOTS = (0, 1, 2, MOST)
TRIPLES = (
    "(translate to french, english text, french text)\n"  # spaces before a line's end would hang out of a narrow box
    "(reverse,             hello,        olleh)"
)
EFFECTS = ("clearly more", "no clear difference", "clearly fewer")


@dataclass(frozen=True)
class Params(Knobs):
    """The string, the seed of many strings, the described task, and the task with examples."""

    string: str = knob(STRINGS[0], sentence("Letters", STRINGS, placeholder="Type letters, a to z"))
    draw: int = knob(0, seed_input(99, next_label="Other strings"))
    asked: int = knob(
        2, pills("Prompt", range(len(QUESTIONS)), lambda i: f"{i + 1} {QUESTIONS[i].template}", quiet=True)
    )
    task: str = knob("opposites", segmented("Task", tuple(TASKS), quiet=True))


@dataclass(frozen=True, eq=False)
class Data:
    """The string after each of the three words, and what the model wrote, by task."""

    prompts: Mapping[str, Toy]
    outputs: Mapping[str, Continuation]


def compute(params: Params) -> Data:
    """Let the model continue the string after each word. Raises InputError for other than 1 to 14 letters."""
    string = params.string.strip()
    prompts = {toy.task: toy for toy in toy_prompts(string)}
    if len(string) > LONGEST:
        rule = f"Question and answer must fit in what {TINY} reads: {LONGEST} letters at most."
        raise InputError(f"The string has {len(string)} letters.", rule, "Shorten it.")
    model = default().open(TINY)
    return Data(prompts, {task: write(model, toy.prompt, LONGEST + 2) for task, toy in prompts.items()})


def is_right(data: Data, task: str) -> bool:
    """Return whether the model wrote exactly the answer and ended there."""
    return data.outputs[task].text == data.prompts[task].answer and data.outputs[task].ended


def one_word(p: Params, data: Data) -> View:
    """Show the output after each word; only the first row before the guess."""
    asked, output = data.prompts[TASK], data.outputs[TASK]
    options = sorted({*(toy.answer for toy in data.prompts.values()), output.text or "nothing"})
    n = default().open(TINY).n_parameters
    table = pd.DataFrame(
        [
            (toy.prompt, data.outputs[task].text, toy.answer, min(data.outputs[task].p, default=0.0))
            for task, toy in data.prompts.items()
        ],
        columns=["prompt", "output", "right answer", "least probable letter"],
    )

    def rows(revealed: bool) -> list[Row]:
        shown = []
        for task, toy in data.prompts.items():
            if not (revealed or task == "copy"):
                shown.append(Row(toy.prompt, ["?"] * len(toy.answer)))
                continue
            written = data.outputs[task]
            wrong = [
                at >= len(toy.answer) or token != toy.answer[at] for at, token in enumerate(written.tokens)
            ]
            shown.append(Row(toy.prompt, written.tokens or ["–"], written.p or None, wrong))
        return shown

    def picture(revealed: bool) -> None:
        origin.tell(model=TINY, text=asked.prompt)
        words = "; ".join(f"{row.name} {''.join(row.letters)}" for row in rows(revealed))
        show_chart(
            letters(rows(revealed), shade="probability"), "prompting.letters", "What is written", words
        )

    return View(
        Choice(
            "written",
            f"The same model reads “{asked.prompt}”. What does it output?",
            options,
            output.text or "nothing",
            f"The least probable letter of this output has probability {percent(min(output.p, default=0), 2)}. "
            f"The right answer is “{asked.answer}”.",
        )
        if len(options) > 1
        else None,
        table,
        picture=picture,
        summary=f"One set of {n:,} weights, three tasks: {sum(is_right(data, task) for task in data.prompts)} of "
        f"{len(data.prompts)} answers are exactly right, END included.",
        preview=f"One set of {n:,} weights. After “copy” the model writes “{data.outputs['copy'].text}”. "
        "What does it write after the other two words?",
        arrays={task: np.array(written.p) for task, written in data.outputs.items()},
        code={"model": TINY, "prompts": [toy.prompt for toy in data.prompts.values()]},
        equations={"gpt.prompted": {}},
    )


def obeys(p: Params, data: Data) -> bool:
    """Return whether all three answers are right, or for a string longer than in training none is."""
    right = [is_right(data, task) for task in data.prompts]
    return all(right) if len(p.string) <= PROMPT_LENGTHS[-1] else not any(right)


def recorded_shares() -> dict[str, float]:
    """Return the shares on the model's card, by task, of strings of 1 to 10 letters."""
    return {
        one.measure.split(", ")[1]: one.value
        for one in read_scores(shipped_folder() / TINY)
        if one.subject == TINY and ", " in one.measure
    }


def shares_in_words(shares: Mapping[str, float]) -> str:
    """Return shares by task."""
    return ", ".join(f"{task} {percent(share, 2)}" for task, share in shares.items())


def how_well(p: Params, _: object) -> View:
    """Show the share of strings answered right by length, for each word; those longer than in training come after the guess."""
    longest = PROMPT_LENGTHS[-1]
    with engine_client.many() as submit:
        shares = {
            n: submit(
                ("prompting.solved", n, p.draw),
                lambda n=n: solved(default().open(TINY), EACH, n, p.draw),
                300,
            )
            for n in range(1, LONGEST + 1)
        }
    means = {n: float(np.mean(list(each.values()))) for n, each in shares.items()}
    table = pd.DataFrame(shares).T.rename_axis("letters")
    measured = table.loc[list(PROMPT_LENGTHS)].mean().to_dict()
    recorded = recorded_shares()
    card = (
        f" On the model card (up to 60 strings of each length): {shares_in_words(recorded)}."
        if recorded
        else ""
    )
    summary = f"Measured now on {EACH} strings of each length, 1 to {longest} letters: {shares_in_words(measured)}.{card}"

    def picture(revealed: bool) -> None:
        shown = [n for n in means if revealed or n <= longest]
        curves = [
            by_length.Curve(task, [(n, shares[n][task]) for n in shown], hue)
            for hue, task in enumerate(PROMPTS)
        ]
        titles = ("letters in the string", "exact match")
        chart = by_length.quality(curves, trained=longest, longest=LONGEST + 0.6, titles=titles, height=320)
        words = "; ".join(f"{n} letter{'s' * (n > 1)} {percent(means[n])}" for n in shown)
        show_chart(chart, "prompting.lengths", "Exact match by length", words)

    return View(
        Estimate(
            "long",
            f"The model learned from strings of 1 to {longest} letters. What share of new strings of {TOO_LONG} letters "
            "will it answer exactly?",
            0,
            1,
            means[TOO_LONG],
            f"At {longest} letters it was {percent(means[longest])}, at {longest + 1} it is {percent(means[longest + 1])}. "
            "No string in its training was longer.",
            0.05,
            "%",
        ),
        table,
        picture=picture,
        summary=summary,
        preview=summary,
        arrays={
            "letters": table.index.to_numpy(),
            **{str(task): table[task].to_numpy() for task in table},
            "measured": np.array(list(measured.values())),
            "recorded": np.array(list(recorded.values())),
        },
        code={"model": TINY, "end": LONGEST + 1, "each": EACH},
        equations={"gpt.prompted": {}},
    )


@cache
def mean_share(n: int) -> float:
    """Return the share of strings of n letters that are answered right, the mean of the tasks."""
    return float(np.mean(list(solved(default().open(TINY), EACH, n, 0).values())))


def candidates(index: int) -> list[Answer]:
    """Return the continuations of a described task, as gpt-mini ranks them."""
    asked = QUESTIONS[index]
    return engine_client.submit(
        ("prompting.asked", index),
        lambda: answers(default().open(MODEL), asked.prompt, asked.candidates),
        100,
    )


def right_first(index: int) -> bool:
    """Return whether gpt-mini gives the right continuation the highest probability."""
    return candidates(index)[QUESTIONS[index].right].place == 1


def described(p: Params, _: object) -> View:
    """Show the documents' triple, and one prompt of ours with its candidates."""
    asked, ranked = QUESTIONS[p.asked], candidates(p.asked)
    names = [each.text.strip() for each in ranked]
    best, right = min(ranked, key=lambda each: each.place), ranked[asked.right]
    few = len(names) == 2
    right_share = "" if few else f" with {percent(right.share, 2)}"
    chance = sum(1 / len(each.candidates) for each in QUESTIONS)

    def picture(revealed: bool) -> None:
        st.code(TRIPLES, language=None, wrap_lines=True)
        st.caption(
            "The first line is the form of a task in Beigy 2024 (GPT-2); the second is the same form for the task of step 1."
        )
        left, last = st.columns(2, gap="medium", vertical_alignment="center")
        with left:
            st.caption(f"The prompt: {TEMPLATES[asked.template].title.lower()}")
            st.code(asked.prompt, language=None, wrap_lines=True)
        origin.tell(model=MODEL, text=asked.prompt)
        shares = pd.Series([each.share for each in ranked], names)
        words = ", ".join(f"{name} {percent(share, 2)}" for name, share in shares.items())
        with last:
            show_chart(
                marks.bars(
                    shares,
                    "{:.1%}",
                    highlighted=[right.text.strip()] if revealed else [],
                    end=1.0,
                    covered=not revealed,
                ),
                "prompting.shares",
                "Shares of the candidates",
                words if revealed else None,
            )

    return View(
        Choice(
            "best",
            f"{MODEL} read only English in its training. Which of these continuations does it give the highest probability?",
            dict(sorted((each.text.strip(), each.share) for each in ranked)),
            best.text.strip(),
            f"Of the total probability of the {'two' if few else 'three'} it gets {percent(best.share, 2)}. "
            f"The right answer is “{names[asked.right]}”{right_share}.",
        ),
        pd.DataFrame(
            [(each.text, each.logprob, each.share, each.place) for each in ranked],
            columns=["candidate", "ln P", "share", "rank"],
        ),
        picture=picture,
        summary=f"{MODEL} puts the right answer first in {sum(map(right_first, range(len(QUESTIONS))))} of {len(QUESTIONS)} prompts; "
        f"by chance (baseline) {chance:.1f}. For this prompt it does{'' if best is right else ' not'}.",
        preview=f"{MODEL} was not trained for this task: it only continues the text.",
        arrays={"shares": np.array([each.share for each in ranked]), "chance": np.array(chance)},
        code={"model": MODEL},
        equations={"gpt.prompted": {}},
        look={"size": default().open(MODEL).n_parameters / 1e6, "tokens": trained(MODEL).tokens / 1e6},
    )


DESCRIBED = {
    "the translation fails: the model read no Spanish": lambda p, _: (
        QUESTIONS[p.asked].template != "translate"
        or candidates(p.asked)[QUESTIONS[p.asked].right].share < 0.05
    ),
    "more prompts are right than by chance": lambda p, _: (
        sum(map(right_first, range(len(QUESTIONS)))) > 1 + sum(1 / len(each.candidates) for each in QUESTIONS)
    ),
}


def clear_difference(n: int) -> int:
    """Return how far two counts of n guesses must differ to be two standard deviations of chance apart."""
    return math.ceil(2 * math.sqrt(2 * n * (CANDIDATES - 1)) / CANDIDATES)


def effect(none: int, most: int, n: int) -> str:
    """Return which of EFFECTS examples have on the number of right answers of n.

    >>> effect(2, 6, 8), effect(2, 3, 8), effect(6, 2, 8)
    ('clearly more', 'no clear difference', 'clearly fewer')
    """
    clear = clear_difference(n)
    return EFFECTS[0 if most - none >= clear else 2 if none - most >= clear else 1]


@cache
def scored(task: str, k: int) -> Score:
    """Return how gpt-mini answers a set of questions with k examples in front."""
    return score(default().open(MODEL), TASKS[task], k)


def examples(p: Params, _: object) -> View:
    """Show the prompt that is built, and how many of eight questions are answered right with 0, 1, 2 and 4 examples."""
    task, n = TASKS[p.task], len(TASKS[p.task].pairs)
    with engine_client.many() as submit:
        scores = {
            k: submit(("prompting.scored", task.name, k), lambda k=k: scored(task.name, k), 800)
            for k in SHOTS
        }
    right = {k: sum(each.right) for k, each in scores.items()}
    none, most, chance = right[0], right[MOST], n / CANDIDATES
    remark = (
        "Even with examples the model is not above chance."
        if most <= chance
        else "That is little more than chance, with only eight questions."
    )

    def picture(revealed: bool) -> None:
        left, last = st.columns(2, gap="medium")
        rows = pd.Series(
            {f"{k} examples" if k != 1 else "1 example": float(count) for k, count in right.items()}
        )
        by_chance = pd.Series({"by chance": chance})
        origin.tell(model=MODEL)
        with last:
            show_chart(
                marks.bars(
                    pd.concat([rows if revealed else rows * np.nan, by_chance]),
                    "{:g} of " + str(n),
                    highlighted=list(rows.index),
                    end=n,
                ),
                "prompting.shots",
                "Right answers by the number of examples",
                ", ".join(f"{name} {value:g}" for name, value in rows.items()) if revealed else None,
            )
        with left:
            own_question()

    def own_question() -> None:
        question = controls.text("Your question", "prompting.question", "cold", placeholder="Type a word")
        k = controls.pills("Examples in front", range(MOST + 1), "prompting.shots", MOST)
        text = prompt(task, question[:200], k)
        st.code(text, language=None, wrap_lines=True)
        output = engine_client.submit(
            ("prompting.written", text), lambda: write(default().open(MODEL), text, 8), 400
        )
        st.text(
            f"{MODEL} continues: “{output.text.split(chr(10))[0]}”"
            if output.text.strip()
            else f"{MODEL} ends the text here."
        )

    return View(
        Choice(
            "help",
            f"{n} questions with four candidates each. Does {MODEL} answer clearly more of them correctly (by two standard "
            f"deviations or more) with {MOST} examples in front than with none?",
            EFFECTS,
            effect(none, most, n),
            f"{none} of {n} without, {most} of {n} with {MOST} examples; by chance {chance:g}. With {n} questions only a "
            f"difference of {clear_difference(n)} or more is clear. {remark}",
        ),
        pd.DataFrame(
            {f"{k} examples": each.shares for k, each in scores.items()},
            index=distinct(pair[0] for pair in task.pairs),
        ),
        picture=picture,
        summary=f"Right answers of {n}: {', '.join(f'{count} with {k}' for k, count in right.items())}; by chance {chance:g}. "
        f"Mean share of the right answer: {', '.join(f'{each.share:.2f}' for each in scores.values())}.",
        preview=f"The task: {task.says}. {n} questions of our own; the weights stay as they are.",
        code={"model": MODEL, "shots": SHOTS},
        equations={"gpt.prompted": {}},
        look={"size": default().open(MODEL).n_parameters / 1e6, "chance": 100 // CANDIDATES},
    )


EXAMPLES = {
    "examples make no clear difference in any of the three tasks": lambda p, _: all(
        effect(sum(scored(name, 0).right), sum(scored(name, MOST).right), len(task.pairs)) == EFFECTS[1]
        for name, task in TASKS.items()
    ),
    "no task is clearly above chance": lambda p, _: all(
        sum(scored(name, MOST).right) - len(task.pairs) / CANDIDATES < 3 for name, task in TASKS.items()
    ),
}


def thumbnail() -> str:
    """Draw how probable each letter is, word by word."""
    outputs = compute(Params()).outputs.values()
    most = max(len(each.p) for each in outputs)
    return thumbs.cells(np.array([[*each.p, *[0.0] * (most - len(each.p))] for each in outputs]))


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            one_word,
            ("string",),
            promises={"three tasks exactly right up to ten letters, none at twelve": obeys},
        ),
        Step(
            how_well,
            ("draw",),
            without_data=True,
            promises={
                "nearly all strings of 10 letters are right, none of 12": lambda p, _: (
                    mean_share(10) > 0.9 and mean_share(TOO_LONG) == 0
                )
            },
        ),
        Step(described, ("asked",), without_data=True, promises=DESCRIBED),
        Step(examples, ("task",), without_data=True, promises=EXAMPLES),
    ),
    compute_fields=("string",),
    cost=300,
    presets=(
        *({"string": string} for string in STRINGS[1:]),
        *({"task": name} for name in tuple(TASKS)[1:]),
    ),
)
