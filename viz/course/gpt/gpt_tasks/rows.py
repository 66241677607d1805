"""The first steps of the exhibit on tuned GPTs: the place that the head reads, the rows of four tasks, what the head says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.data.gpt_inputs import CHOICE, CLASSIFICATION, MARKS, SIMILARITY, extracts, n_rows
from core.training.finetune.gpt_finetune_tasks import GOALS
from viz.charts.curves import number
from viz.course.gpt.gpt_tasks import link
from viz.course.gpt.gpt_tasks.charts.input_rows import DELIM, EXTRACT, START, Cell, InputRow, Outcome, input_rows
from viz.course.gpt.gpt_tasks.link import SLUG, Params, Used
from viz.course.gpt.gpt_tasks.maths import Extracted
from viz.course.shared.shown import Shown, later
from viz.instruments.kit import origin
from viz.labels import percent, visible
from viz.shell import state
from viz.widgets import controls, lesson, parts

HUES: dict[str, int] = dict(zip(MARKS, (START, DELIM, EXTRACT), strict=True))
LOOKING_PLACE = (
    "A GPT looks only back. The vector at a position depends on the tokens up to that position, and nothing of what follows. So the one vector that depends on the whole text is that of the last token. "
    "**Extract** is a token of its own, which stands there in every text; its row of the token table begins as small random numbers and learns in the tuning. The strip is its vector after the last layer, blue below zero and orange above."
)
LOOKING_ROWS = (
    "Each task is turned into rows of tokens between the same three marks, so that the network stays as it is and only a small head is new. Two texts are told apart by **Delim**. A pair that is only to be compared has no order, so both orders are read and the two "
    "vectors are added. Each answer of a multiple choice gets a row with the whole context in it, and one number; the softmax goes over the rows. The strips are real: what stands at Extract after the last layer."
)
LOOKING_SAID = (
    "Every token is shaded by the attention that Extract gives it, the mean over the heads of the chosen layer; a pointer on a token shows the percentage. What the head makes of the vector stands below. These models have {n:,} weights and were tuned on a grammar of ours in less than a minute: "
    "with other sentences they guess. Attention is not yet a reason: it says where the vector took something from, not what."
)


def cells(tokens: Sequence[str], weights: np.ndarray | None = None) -> list[Cell]:
    """The tokens of a row; the marks in their colours, the others shaded by their weight."""
    return [Cell(token, HUES.get(token) if place in (0, len(tokens) - 1) or token == MARKS[1] else None, None if weights is None else float(weights[place])) for place, token in enumerate(tokens)]


def line(n: int = 1) -> int:
    """The height of a line of the picture in pixels, where it has n rows."""
    return (30 if n < 3 else 27) if lesson.presenting() else 26


def _name(place: int, token: str) -> str:
    return f"{place}: {visible(token.removeprefix(' ') or token)}"


def place(params: Params) -> Shown:
    """One text between two marks, and the place that is read."""
    by = link.used(CLASSIFICATION)
    found = link.heard(params, by)
    origin.tell(model=by.name, text=params.first, beside=params.second)
    (tokens,), (end,) = found.tokens, extracts(found.tokens)
    offered = [_name(at, tokens[at]) for at in sorted({0, 1, max(1, end // 2), end - 1, end})]
    question, picture = st.container(), st.container()
    with question:
        known = lesson.predict(
            SLUG + "place", f"GPT reads {len(tokens)} tokens, each looks only back. The head gets one of the {len(tokens)} vectors. Which?", offered, _name(end, tokens[end]),
            f"Position {end}, Extract, is the only one that may look at all {len(tokens)} tokens; position 0 sees itself only, and nothing of the text.",
        )  # fmt: skip
    with picture:
        row = InputRow(cells(tokens), found.vectors[0] if known else None, "what the head reads")
        parts.show(input_rows([row], [Outcome(name, p if known else None, known and p == found.said.probabilities.max()) for name, p in zip(params.labels, found.said.probabilities.tolist(), strict=True)], line=line()),
                   SLUG + "place.rows", " ".join(visible(token) for token in tokens) + (f". The head reads position {end}." if known else ""))  # fmt: skip
        parts.numbers(
            f"The vector of {found.vectors.shape[1]} numbers at position {end} times W_y, {found.vectors.shape[1]} × {len(params.labels)}, gives {len(params.labels)} scores; the softmax says {_said(params, found)}." if known
            else f"{len(tokens)} tokens, {len(tokens)} vectors of {found.vectors.shape[1]} numbers, one head."
        )  # fmt: skip
    values = {"yhat": [f"{p:.3f}" for p in found.said.probabilities]} if known else {}
    return Shown({"gpt.label": values}, (), LOOKING_PLACE, (lambda: _table(params, found)) if known else later, {"vectors": found.vectors} if known else {}, code(params, by))


def tasks(params: Params) -> Shown:
    """The rows of the chosen task and their vectors; of a multiple choice the first only, until the guess."""
    by = link.used(params.task)
    found = link.heard(params, by)
    origin.tell(model=by.name, text=params.first, beside=params.second)
    asked = params if params.task == CHOICE else link.read(CHOICE)
    n = n_rows(CHOICE, len(asked.labels))
    question, picture = st.container(), st.container()
    with question:
        known = lesson.predict(
            SLUG + "rows", f"Multiple choice: a context and {len(asked.labels)} answers. How many rows of tokens does GPT read?", [str(count) for count in sorted({1, 2, n, n + 1, n * 2})], str(n),
            f"One for each answer: {n} rows, {n} vectors, {n} numbers, and a softmax over the rows. A class has one row, a pair to compare two.",
        )  # fmt: skip
    covered = params.task == CHOICE and not known
    with picture:
        names = ["h"] if len(found.tokens) == 1 else [f"h of row {row + 1}" for row in range(len(found.tokens))]
        rows = [InputRow(cells(tokens), vector, name) for tokens, vector, name in zip(found.tokens, found.vectors, names, strict=True)]
        parts.show(input_rows(rows[:1] if covered else rows, [], added=found.said.read[0] if params.task == SIMILARITY else None, line=line(len(rows))), SLUG + "tasks.rows",
                   "; ".join(" ".join(visible(token) for token in tokens) for tokens in (found.tokens[:1] if covered else found.tokens)))  # fmt: skip
        parts.numbers(f"{link.TITLES[params.task]}: the first row, and how many more?" if covered else f"{link.TITLES[params.task]}: {_layout(params, found)}")
        link.chooser(link.SHOWN)
    table = pd.DataFrame([{"row": row + 1, "tokens": len(tokens), "Extract at": len(tokens) - 1, "reads": " ".join(visible(token) for token in tokens)} for row, tokens in enumerate(found.tokens)])
    return Shown({"gpt.label": {}}, (), LOOKING_ROWS, later if covered else (lambda: table), {} if covered else {"vectors": found.vectors, "read": found.said.read}, code(params, by))


def _layout(params: Params, found: Extracted) -> str:
    """What happens to the rows, in words with numbers of this text."""
    n, ends = len(found.tokens), ", ".join(map(str, extracts(found.tokens)))
    if params.task == CHOICE:
        return f"{n} answers, {n} rows; the head reads position {ends}. Each row gets one number: {', '.join(number(score) for score in found.said.scores)}; the softmax goes over them."
    if params.task == SIMILARITY:
        swapped = link.heard(Params(params.task, params.second, params.first), link.used(params.task))
        apart = float(np.abs(swapped.said.probabilities - found.said.probabilities).max())
        return f"2 rows, one for each order; the head reads positions {ends} and adds the vectors. With the texts swapped every probability is the same (largest difference {apart:.0e})."
    return f"1 row of {len(found.tokens[0])} tokens; the head reads position {ends}, Extract."


def says(params: Params) -> Shown:
    """What the head says, and where Extract looked."""
    by = link.used(params.task)
    found = link.heard(params, by)
    origin.tell(model=by.name, text=params.first, beside=params.second)
    best = int(found.said.probabilities.argmax())
    labels = list(dict.fromkeys(params.labels))
    n_layers = len(found.looks[0])
    layer = state.read(SLUG + "layer", n_layers - 1, state.one_of(range(n_layers), n_layers - 1))
    question, picture = st.container(), st.container()
    with question:
        known = lesson.predict(
            SLUG + "says", f"{GOALS[params.task].says} What does the tuned model say?", dict(zip(params.labels, found.said.probabilities.tolist(), strict=True)), params.labels[best],
            f"It gives “{params.labels[best]}” {percent(found.said.probabilities[best])}.",
        ) if len(labels) > 1 else True  # fmt: skip
    with picture:
        rows = [InputRow(cells(tokens, look[layer].mean(0)), None) for tokens, look in zip(found.tokens, found.looks, strict=True)]
        outcomes = [Outcome(name, float(p) if known else None, known and at == best) for at, (name, p) in enumerate(zip(params.labels, found.said.probabilities, strict=True))]
        parts.show(input_rows(rows, outcomes, line=line(len(rows))), SLUG + "says.rows", _alt(found, layer) + (". The head says " + _said(params, found) if known else ""))
        parts.numbers(_looked(found, layer) + (f" The head says {_said(params, found)}." if known and not lesson.presenting() else ""))
        with st.container(horizontal=True, gap="medium"):
            link.chooser(link.SHOWN)
            controls.segmented("Layer", range(n_layers), SLUG + "layer", n_layers - 1, lambda at: f"L{at}", quiet=True)
    looks = {f"row {row + 1}": look.mean(1) for row, look in enumerate(found.looks)}
    return Shown({"gpt.label": {"yhat": [f"{p:.3f}" for p in found.said.probabilities]} if known else {}}, (), LOOKING_SAID.format(n=link.size(by)), (lambda: _table(params, found)) if known else later,
                 looks | ({"probabilities": found.said.probabilities} if known else {}), code(params, by))  # fmt: skip


def _looked(found: Extracted, layer: int) -> str:
    """Where Extract of the first row looks most, besides itself and Start."""
    look, tokens = found.looks[0][layer].mean(0), found.tokens[0]
    most = max(range(1, len(tokens) - 1), key=lambda at: look[at])
    return f"In layer {layer} Extract gives “{tokens[most].strip()}” {percent(look[most])}, itself {percent(look[-1])}, Start {percent(look[0])}."


def _alt(found: Extracted, layer: int) -> str:
    return "; ".join(", ".join(f"{visible(token)} {percent(weight)}" for token, weight in zip(tokens, look[layer].mean(0), strict=True)) for tokens, look in zip(found.tokens, found.looks, strict=True))


def _said(params: Params, found: Extracted) -> str:
    return ", ".join(f"“{name}” {percent(p)}" for name, p in zip(params.labels, found.said.probabilities, strict=True))


def _table(params: Params, found: Extracted) -> pd.DataFrame:
    return pd.DataFrame({"": params.labels, "score": found.said.scores, "probability": found.said.probabilities})


def code(params: Params, by: Used) -> str:
    """The lines that make the same numbers; of a model of one's own those of the recorded one."""
    name = link.used(params.task, link.PAPER).name if by.yours else by.name
    return (f"import core\nfrom viz.course.gpt.gpt_tasks.maths import extracted\n\nmodel = core.serving.engine.default().open({name!r})\nfound = extracted(model, {params.task!r}, {params.texts!r})\n"
            "for row in found.tokens:\n    print(row)\nprint(found.said.probabilities, found.text)")  # fmt: skip


SHOWN: tuple[Any, ...] = (place, tasks, says)
