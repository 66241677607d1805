"""The first steps of the exhibit on prompts: three words before one string, and how often each is obeyed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import read_scores
from core.data.tasks import PROMPT_LENGTHS, PROMPTS
from core.serving.engine import default
from viz.charts import by_length
from viz.charts.copy_accuracy import Row, letters
from viz.course.gpt.prompting.params import LONGEST, SLUG, TINY, Data, Params
from viz.course.lesson import Folds
from viz.course.shared.maths.prompts import solved
from viz.instruments.kit import origin
from viz.labels import percent
from viz.widgets import engine_client, exhibit_parts, page_parts

EACH = 12
TOO_LONG = 12
TASK = "reverse"


def one_word(params: Params, data: Data) -> Folds:
    """What is written behind each word; only the first row before the guess."""
    wanted = {toy.task: toy.answer for toy in data.asked}
    wrote = {toy.task: answer for toy, answer in zip(data.asked, data.answers, strict=True)}
    prompt = next(toy.prompt for toy in data.asked if toy.task == TASK)
    offered = sorted({*wanted.values(), wrote[TASK].text or "nothing"})
    known = True
    if len(offered) > 1:
        known = exhibit_parts.predict(
            SLUG + "written",
            f"The same model reads “{prompt}”. What does it output?",
            offered,
            wrote[TASK].text or "nothing",
            f"The least probable letter of this output has probability {percent(min(wrote[TASK].p, default=0), 2)}. The right answer is “{wanted[TASK]}”.",
        )
    origin.tell(model=TINY, text=prompt)
    rows = []
    for toy in data.asked:
        answer = wrote[toy.task]
        told = known or toy.task == "copy"
        shown = list(answer.tokens) if told else ["?"] * len(toy.answer)
        wrong = (
            [at >= len(toy.answer) or token != toy.answer[at] for at, token in enumerate(answer.tokens)]
            if told
            else []
        )
        rows.append(Row(toy.prompt, shown or ["–"], answer.p if told and shown else None, wrong))
    page_parts.show(
        letters(rows, shade="probability"),
        SLUG + "letters",
        "; ".join(f"{row.name} {''.join(row.letters)}" for row in rows),
    )
    n = default().open(TINY).n_parameters
    right = sum(wrote[task].text == wanted[task] and wrote[task].ended for task in wanted)
    page_parts.summary(
        f"One set of {n:,} weights, three tasks: {right} of {len(wanted)} answers are exactly right, END included."
        if known
        else f"One set of {n:,} weights. After “copy” the model writes “{wrote['copy'].text}”. What does it write after the other two words?"
    )
    table = pd.DataFrame(
        [
            (toy.prompt, wrote[toy.task].text, toy.answer, min(wrote[toy.task].p, default=0.0))
            for toy in data.asked
        ],
        columns=["prompt", "output", "right answer", "least probable letter"],
    )
    return Folds(
        table,
        {task: np.array(found.p) for task, found in wrote.items()},
        {"model": TINY, "prompts": [toy.prompt for toy in data.asked]},
        known,
        {"gpt.prompted": {}},
    )


def recorded() -> dict[str, float]:
    """The shares that the model's own card records, by task, of strings of 1 to 10 letters."""
    return {
        score.measure.split(", ")[1]: score.value
        for score in read_scores(shipped_folder() / TINY)
        if score.subject == TINY and ", " in score.measure
    }


def how_well(params: Params, _: object) -> Folds:
    """The share of strings answered right by length, for each word; what is longer than in training comes after the guess."""
    lengths, longest = range(1, LONGEST + 1), PROMPT_LENGTHS[-1]
    with engine_client.many() as submit:
        found = {
            n: submit(
                ("prompting.solved", n, params.draw),
                lambda n=n: solved(default().open(TINY), EACH, n, params.draw),
                300,
            )
            for n in lengths
        }
    answer = float(np.mean(list(found[TOO_LONG].values())))
    known = exhibit_parts.predict_number(
        SLUG + "long",
        f"The model learned from strings of 1 to {longest} letters. What share of new strings of {TOO_LONG} letters will it answer exactly?",
        0,
        1,
        answer,
        f"At {longest} letters it was {percent(np.mean(list(found[longest].values())))}, at {longest + 1} it is {percent(np.mean(list(found[longest + 1].values())))}. No string in its training was longer.",
        0.05,
        "%",
    )
    shown = [n for n in lengths if known or n <= longest]
    curves = [
        by_length.Curve(task, [(n, found[n][task]) for n in shown], hue) for hue, task in enumerate(PROMPTS)
    ]
    figure = by_length.quality(
        curves,
        trained=longest,
        longest=LONGEST + 0.6,
        titles=("letters in the string", "exact match"),
        height=320,
    )
    page_parts.show(
        figure,
        SLUG + "lengths",
        "Exact match by length: "
        + "; ".join(f"{n} letter{'s' * (n > 1)} {percent(np.mean(list(found[n].values())))}" for n in shown),
    )
    told = recorded()
    inside = {task: float(np.mean([found[n][task] for n in PROMPT_LENGTHS])) for task in PROMPTS}
    page_parts.summary(
        f"Measured now on {EACH} strings of each length, 1 to {longest} letters: "
        + ", ".join(f"{task} {percent(part, 2)}" for task, part in inside.items())
        + "."
        + (
            " On the model card (up to 60 strings of each length): "
            + ", ".join(f"{task} {percent(part, 2)}" for task, part in told.items())
            + "."
            if told
            else ""
        )
    )
    table = pd.DataFrame({task: {n: found[n][task] for n in shown} for task in PROMPTS}).rename_axis(
        "letters"
    )
    return Folds(
        table,
        {task: table[task].to_numpy() for task in PROMPTS},
        {"model": TINY, "end": LONGEST + 1, "each": EACH},
        known,
        equations={"gpt.prompted": {}},
    )
