"""The first steps of the exhibit on tuned GPTs: the position that the head reads, the rows of tasks, the prediction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.data.gpt_inputs import CHOICE, CLASSIFICATION, SIMILARITY, SPECIAL_TOKENS, extract_positions, n_rows
from core.training.finetune.gpt_finetune_tasks import GOALS
from viz.charts.curves import number
from viz.course.exhibit import Folds
from viz.course.gpt.gpt_tasks.charts.input_rows import (
    DELIM,
    EXTRACT,
    START,
    Cell,
    InputRow,
    Outcome,
    input_rows,
)
from viz.course.gpt.gpt_tasks.maths import Extracted
from viz.course.gpt.gpt_tasks.params import SLUG, TITLES, Example, Params
from viz.course.gpt.gpt_tasks.read import Models, Used, read_example, recorded
from viz.instruments.kit import origin
from viz.labels import percent, visible
from viz.shell import present_layout
from viz.widgets import engine_client, exhibit_parts, page_parts

ROOM = 300
"""Pixels of the picture in Present."""
HUES: dict[str, int] = dict(zip(SPECIAL_TOKENS, (START, DELIM, EXTRACT), strict=True))


def place(params: Params, models: Models) -> Folds:
    """Draw one text between two marks, and the position that the head reads."""
    example, by = params.example(CLASSIFICATION), models[CLASSIFICATION]
    found = read_example(example, by)
    origin.tell(model=by.name, text=example.first, second_text=example.second)
    (tokens,), (end,), (vector,) = found.tokens, extract_positions(found.tokens), found.vectors
    n, d, chances = len(tokens), len(vector), found.output.probabilities
    offered = [_name(at, tokens[at]) for at in sorted({0, 1, max(1, end // 2), end - 1, end})]
    known = exhibit_parts.predict(
        SLUG + "place",
        f"GPT reads {n} tokens, each of which attends only to earlier ones. The head reads one of the {n} vectors. Which?",
        offered,
        _name(end, tokens[end]),
        f"Position {end}, Extract, is the only one that attends to all {n} tokens; "
        "position 0 attends only to itself, so its vector holds nothing of the text.",
    )
    row = InputRow(cells(tokens), vector if known else None, "what the head reads")
    with present_layout.full_width():
        page_parts.show(
            input_rows(
                [row], _outcomes(example, found, known), line=line(), room=exhibit_parts.by_mode(0, ROOM)
            ),
            SLUG + "place.rows",
            _words(tokens) + (f". The head reads position {end}." if known else ""),
        )
    labels = len(example.labels)
    page_parts.summary(
        f"The vector of {d} numbers at position {end} times W_y, {d} × {labels}, gives {labels} scores; "
        f"the softmax: {_prediction_text(example, found)}."
        if known
        else f"{n} tokens, {n} vectors of {d} numbers, one head."
    )
    return Folds(
        lambda: _table(example, found),
        {"vectors": found.vectors},
        code(example, by),
        known,
        {"gpt.label": {"yhat": [f"{p:.3f}" for p in chances]}},
    )


def tasks(params: Params, models: Models) -> Folds:
    """Draw the rows of the chosen task and their vectors; of a multiple choice only the first, until the guess."""
    example, by = params.example(params.task), models[params.task]
    found = read_example(example, by)
    origin.tell(model=by.name, text=example.first, second_text=example.second)
    answers = len(params.example(CHOICE).labels)
    n = n_rows(CHOICE, answers)
    guessed = exhibit_parts.predict(
        SLUG + "rows",
        f"Multiple choice: a context and {answers} answers. How many rows of tokens does GPT read?",
        [str(count) for count in sorted({1, 2, n, n + 1, n * 2})],
        str(n),
        f"One for each answer: {n} rows, {n} vectors, {n} numbers, and a softmax over the rows. "
        "Classification has one row, similarity two.",
    )
    known = guessed or params.task != CHOICE
    shown = found.tokens if known else found.tokens[:1]
    names = ["h" if len(found.tokens) == 1 else f"h of row {row + 1}" for row in range(len(found.tokens))]
    rows = [
        InputRow(cells(tokens), vector, name)
        for tokens, vector, name in zip(shown, found.vectors, names, strict=False)
    ]
    added = found.output.read[0] if params.task == SIMILARITY else None
    with present_layout.full_width():
        page_parts.show(
            input_rows(
                rows, [], added=added, line=line(len(found.tokens)), room=exhibit_parts.by_mode(0, ROOM)
            ),
            SLUG + "tasks.rows",
            "; ".join(map(_words, shown)),
        )
    title = TITLES[params.task]
    page_parts.summary(
        f"{title}: {_layout(example, found)}" if known else f"{title}: here is the first of several rows."
    )
    return Folds(
        lambda: pd.DataFrame(
            [
                {"row": row, "tokens": len(tokens), "Extract at": len(tokens) - 1, "reads": _words(tokens)}
                for row, tokens in enumerate(found.tokens, 1)
            ]
        ),
        {"vectors": found.vectors, "read": found.output.read, "scores": found.output.scores},
        code(example, by),
        known,
        {"gpt.label": {}},
    )


def _layout(example: Example, output: Extracted) -> str:
    """Describe the processing of the rows, with numbers of this text."""
    n, ends = len(output.tokens), ", ".join(map(str, extract_positions(output.tokens)))
    if example.task == CHOICE:
        scores = ", ".join(number(score) for score in output.output.scores)
        return (
            f"{n} answers, {n} rows; the head reads the vectors at positions {ends}. "
            f"Each row gets one number: {scores}; the softmax goes over them."
        )
    if example.task == SIMILARITY:
        swapped = read_example(Example(SIMILARITY, example.second, example.first), recorded(SIMILARITY))
        apart = float(np.abs(swapped.output.probabilities - output.output.probabilities).max())
        return (
            f"2 rows, one for each order; the head reads positions {ends} and adds the vectors. "
            f"With the texts swapped every probability is the same (largest difference {apart:.0e})."
        )
    return f"1 row of {len(output.tokens[0])} tokens; the head reads position {ends}, Extract."


def says(params: Params, models: Models) -> Folds:
    """Draw the prediction of the head, and the attention of Extract."""
    example, by = params.example(params.task), models[params.task]
    found = read_example(example, by)
    origin.tell(model=by.name, text=example.first, second_text=example.second)
    chances, labels = found.output.probabilities, example.labels
    best = labels[int(chances.argmax())]
    layer = range(len(found.looks[0]))[params.layer]
    known = len(set(labels)) == 1 or exhibit_parts.predict(
        SLUG + "says",
        f"{GOALS[example.task].says} What does the tuned model predict?",
        dict(zip(labels, chances.tolist(), strict=True)),
        best,
        f"Its probability is {percent(chances.max())}.",
    )
    looks = [look[layer].mean(0) for look in found.looks]
    rows = [InputRow(cells(tokens, look), None) for tokens, look in zip(found.tokens, looks, strict=True)]
    said = f" The head predicts: {_prediction_text(example, found)}." if known else ""
    shares = [
        ", ".join(f"{visible(token)} {percent(share)}" for token, share in zip(tokens, look, strict=True))
        for tokens, look in zip(found.tokens, looks, strict=True)
    ]
    with present_layout.full_width():
        page_parts.show(
            input_rows(
                rows,
                _outcomes(example, found, known),
                line=line(len(rows)),
                room=exhibit_parts.by_mode(0, ROOM),
            ),
            SLUG + "says.rows",
            "; ".join(shares) + ("." + said.removesuffix(".") if said else ""),
        )
    page_parts.summary(_describe_attention(found, layer) + ("" if exhibit_parts.presenting() else said))
    n = engine_client.open(by.name).n_parameters
    every = {f"row {row}": look.mean(1) for row, look in enumerate(found.looks, 1)}
    return Folds(
        lambda: _table(example, found),
        every | {"probabilities": chances},
        code(example, by),
        known,
        {"gpt.label": {"yhat": [f"{p:.3f}" for p in chances]}},
        look={"n": n},
    )


def _describe_attention(output: Extracted, layer: int) -> str:
    """Describe the largest attention of Extract in the first row, apart from itself and Start."""
    look, tokens = output.looks[0][layer].mean(0), output.tokens[0]
    most = max(range(1, len(tokens) - 1), key=lambda at: look[at])
    return (
        f"In layer {layer} Extract gives {percent(look[most])} of its attention to “{tokens[most].strip()}”, "
        f"{percent(look[-1])} to itself and {percent(look[0])} to Start."
    )


def cells(tokens: Sequence[str], weights: np.ndarray | None = None) -> list[Cell]:
    """Return the tokens of a row; the marks in their colours, the others shaded by their weight."""
    ends = (0, len(tokens) - 1)
    return [
        Cell(
            token,
            HUES.get(token) if at in ends or token == SPECIAL_TOKENS[1] else None,
            None if weights is None else float(weights[at]),
        )
        for at, token in enumerate(tokens)
    ]


def line(n: int = 1) -> int:
    """Return the height of a line of the picture in pixels, for n rows."""
    return (30 if n < 3 else 27) if exhibit_parts.presenting() else 26


def code(example: Example, by: Used) -> dict[str, object]:
    """Return the values for the placeholders in the code; for the visitor's own model those of the recorded one."""
    return {"name": recorded(example.task).name if by.yours else by.name, "example": example}


def _outcomes(example: Example, output: Extracted, revealed: bool) -> list[Outcome]:
    """Return the labels with their probabilities, the largest marked; hidden until they are revealed."""
    chances = output.output.probabilities.tolist()
    best = int(output.output.probabilities.argmax())
    return [
        Outcome(name, p if revealed else None, revealed and at == best)
        for at, (name, p) in enumerate(zip(example.labels, chances, strict=True))
    ]


def _name(place: int, token: str) -> str:
    return f"{place}: {visible(token.removeprefix(' ') or token)}"


def _words(tokens: Sequence[str]) -> str:
    return " ".join(visible(token) for token in tokens)


def _prediction_text(example: Example, output: Extracted) -> str:
    both = zip(example.labels, output.output.probabilities, strict=True)
    return ", ".join(f"“{name}” {percent(p)}" for name, p in both)


def _table(example: Example, output: Extracted) -> pd.DataFrame:
    said = output.output
    return pd.DataFrame({"": example.labels, "score": said.scores, "probability": said.probabilities})
