"""Answers and tags, the first two steps: start and end over the positions of a text, and the scores of all pairs."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.data import grammar
from core.serving.engine import default
from core.training.finetune import tuning
from viz.course.bert import tuning_live as live
from viz.course.bert.spans_and_tags.maths import Answer, Edge, answer
from viz.course.shared.shown import Shown, later
from viz.instruments import heatmap, marked, picked
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import literal, percent, shorten, visible
from viz.shell import room, state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "spans_and_tags."
LONGEST, FURTHEST = 64, 40.0
NAMES = ("starts here", "ends here")
RELIABLE = 0.5
"""Of the answers that are right; below it the page warns of its model."""
EMPTY, NOTHING = "no words", "no answer at all"


@cache
def pool() -> tuple[grammar.Question, ...]:
    """Questions about texts that no tuning learns from."""
    return grammar.questions(60, 5, "test")


def truth(params: Any) -> grammar.Question | None:
    """What is known of the visitor's question: it is one of ours, or nothing is."""
    return next((item for item in pool() if (item.passage, item.question) == (params.passage, params.question)), None)


def asked(params: Any, run: live.Using) -> Answer:
    """The text with its scores, by the model that the page uses."""
    key = ("spans_and_tags.answer", run.model, params.question, params.passage)
    return ask.submit(key, lambda: answer(default().open(run.model or ""), params.question, params.passage, LONGEST), 6 * len(params.question + params.passage))


def words(one: Answer) -> list[str]:
    """The tokens as they stand in the text, [SEP] by its name."""
    return [one.passage[slice(*place)] if place else token for token, place in zip(one.tokens, one.places, strict=True)]


def glued(places: Any) -> list[int]:
    """The tokens that touch the one before."""
    return [at for at in range(1, len(places)) if places[at] and places[at - 1] and places[at][0] == places[at - 1][1]]


def told(one: Answer, span: tuple[int, int]) -> str:
    """The words of a span, for a sentence."""
    return visible_text(one.text(span)) or EMPTY


def visible_text(text: str) -> str:
    """A few words, spaces left alone."""
    return " ".join(visible(word) for word in shorten(text, 60).split())


def missing(params: Any, goal: str) -> Shown:
    """In place of a picture where there is no tuned model: the text says so, and it can be trained here."""
    live.panel(f"{goal}-{params.body}", SLUG)
    return Shown({}, (), live.MISSING, later, {}, f"from core.training.finetune import tuning\n\nprint(tuning.TUNINGS['{goal}-{params.body}'])")


def lines(params: Any, run: live.Using) -> str:
    """The first lines of Python of the steps about answers."""
    return (f"{live.opening(run)}\n\nfrom viz.course.bert.spans_and_tags import maths as read_answers\n\n"
            f"one = read_answers.answer(model, {params.question!r},\n    {params.passage!r})\n")  # fmt: skip


def measured(run: live.Using) -> str:
    """What the model cannot do, as it was measured on texts it never read; nothing of a model that is not there."""
    if not run.reports:
        return ""
    right = run.reports[-1].right
    worth = "It cannot be relied on: watch how an answer is found, not whether it is right." if right < RELIABLE else "It answers questions of this one kind only."
    return f"Of {tuning.CHECKED} questions about texts that it never read, this model gets {percent(1 - right)} wrong. {worth}"


def choose_question() -> None:
    """A button for each kind of question: the next one of that kind."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Another question:", width="content")
        for kind in grammar.ASKED:
            st.button(f"{kind.capitalize()}?", key=f"{SLUG}ask.{kind}", on_click=_next, args=(kind,))


def _next(kind: str) -> None:
    of = [item for item in pool() if item.asked == kind]
    now = state.read(SLUG + "passage", "")
    at = next((place for place, item in enumerate(of) if item.passage == now), -1)
    item = of[(at + 1) % len(of)]
    state.write(**{SLUG + "question": item.question, SLUG + "passage": item.passage, **{SLUG + name: None for name in ("mark", "push", "token")}})


# ------------------------------------------------------------------ step 1


def mark_of(params: Any, n: int) -> tuple[int, int] | None:
    """What the visitor marked, from the link; None for nothing that lies in the text."""
    first, _, last = params.mark.partition("-")
    if not (first.isdecimal() and last.isdecimal() and len(first) < 4 and len(last) < 4):
        return None
    span = int(first), int(last)
    return span if span[0] <= span[1] < n else None


def _take(key: str, n: int) -> None:
    span = picked(key, n)
    if span is not None:
        state.write(**{SLUG + "mark": f"{span[0]}-{span[1]}"})


def marking(params: Any) -> Shown:
    """The visitor marks the answer; then both distributions stand at the words, and the best span is marked."""
    run = live.using(f"answers-{params.body}", SLUG)
    origin.tell(model=run.model or "", text=params.question, beside=params.passage)
    if run.model is None:
        return missing(params, "answers")
    one = asked(params, run)
    found, known, n = one.found, truth(params), len(one.tokens)
    best = told(one, found.best)
    right = visible_text(known.answer) if known else best
    held, key = mark_of(params, n), SLUG + "text"
    ends = " ".join(f"{name} at “{visible(words(one)[at])}”, {percent(chances[at])};" for name, chances, at in (("Start most probable", found.start, one.alone[0]), ("end", found.end, one.alone[1])))
    verdict = "" if known is None else " It is right." if best == right else f" It is wrong: right is “{right}”."
    with room.wide():
        committed = lesson.predict_touched(
            SLUG + "mark", f"{params.question} Touch the first word of the answer in the text, then its last.", told(one, held) if held else "", right,
            f"The model says “{best}”" + (", and this is what the text says." if known and best == right else f"; the text says “{right}”." if known else "; of your own text nobody told us the answer."),
        )  # fmt: skip
        marked(
            words(one), key=key, on_pick=partial(_take, key, n), glued=glued(one.places), quiet=[at for at, place in enumerate(one.places) if place is None],
            above=found.start if committed else None, below=found.end if committed else None, names=NAMES, span=found.best if committed else held, pick="" if committed else "span",
            hint="The marked words are the best pair of a start and an end." if committed else "Touch the first word of the answer, then the last.", python=lines(params, run) + drawing("marked", f"one.tokens, above=one.found.start, below=one.found.end, names={NAMES}, span=one.found.best", origin.now()),
        )  # fmt: skip
        parts.numbers(
            f"{ends} together {percent(found.probability)} for “{best}”.{verdict} Each row of bars sums to {found.start.sum():.0f} over {n} positions." if committed
            else f"{n} positions, and {n * (n + 1) // 2:,} possible answers. Which one is it?"
        )  # fmt: skip
    if not lesson.presenting():
        choose_question()
    at = one.alone[0]
    numbers = (rf"p_s = \frac{{e^{{{one.starts[at]:.3f}}}}}{{\sum_i e^{{w_s^\top h_i}}}} = {found.start[at]:.4f}, \qquad \sum_i p_{{s,i}} = {found.start.sum():.4f}",
               rf"\text{{over one token alone: }} \frac{{e^{{{one.starts[at]:.3f}}}}}{{e^{{{one.starts[at]:.3f}}}}} = 1")  # fmt: skip
    return Shown(
        {"spans.start": {}, "spans.end": {}}, numbers if committed else (),
        "Blue above a word: the probability that the answer starts there. Orange below: that it ends there. Both are a softmax **over the positions** of the text; over one token's single number it would be 1 for every token. "
        "Question and text are read together, [CLS] question [SEP] text [SEP]; nothing starts or ends in the question. [SEP] after the text takes part. "
        f"The new head is two vectors, all else is bert-mini, tuned on questions of our own small grammar: {live.made(run)}",
        lambda: pd.DataFrame({"token": words(one), "start score": one.starts, "P start": found.start, "end score": one.ends, "P end": found.end}).round(5) if committed else later(),
        {"starts": one.starts, "ends": one.ends, "p_start": found.start, "p_end": found.end} if committed else {},
        lines(params, run) + "print(one.text(one.found.best), one.found.probability)\nprint(one.found.start.sum(), one.found.end.sum())",
    )  # fmt: skip


# ------------------------------------------------------------------ step 2


def where(one: Answer) -> tuple[Edge, int]:
    """The score that is pushed so that the two choices cross: the end at the first word, or the start at the last where the answer starts at the first."""
    return ("end", 0) if one.alone[0] > 0 else ("start", max(0, len(one.tokens) - 2))


def crossing(one: Answer) -> float:
    """A push with which each choice alone would cross, halfway to where the pushed word wins altogether."""
    edge, at = where(one)
    mine, other = (one.ends, one.starts) if edge == "end" else (one.starts, one.ends)
    crossed = float(mine.max() - mine[at])
    beaten = float(one.found.scores[one.found.best] - mine[at] - (other[: at + 1] if edge == "end" else other[at:]).max())
    return (crossed + max(beaten, crossed)) / 2 + 1e-6


def pairs(params: Any) -> Shown:
    """The score of each pair, forbidden ones hatched; and what becomes of an end that is most probable before the start."""
    run = live.using(f"answers-{params.body}", SLUG)
    origin.tell(model=run.model or "", text=params.question, beside=params.passage)
    if run.model is None:
        return missing(params, "answers")
    plain = asked(params, run)
    edge, at = where(plain)
    told_now = _ask_crossing(plain, edge, at)
    one = plain.pushed(edge, at, params.push) if params.push else plain
    found, names = one.found, words(one)
    n, may = len(names), np.isfinite(found.scores)
    tall = 300 if lesson.presenting() else 380
    with room.wide():
        left, right = st.columns([1, 1], gap="medium")
        with left:
            cell = heatmap(np.where(may, found.scores, 0.0), names, names, key=SLUG + "pairs", allowed=may, scale="score", selected=found.best, axis=("starts at", "ends at"),
                           title="Score of each pair", height=tall, python=lines(params, run) + "\nimport numpy as np\n" + drawing("heatmap", "np.nan_to_num(one.found.scores, neginf=0), one.tokens, one.tokens, allowed=np.isfinite(one.found.scores), scale='score'", origin.now())).cell or found.best  # fmt: skip
        with right:
            st.text(_said(one, cell))
            alone = one.alone
            apart = f"Each alone: start at “{visible(names[alone[0]])}”, end at “{visible(names[alone[1]])}”"
            st.text(f"{apart}, {'before it: no answer. The best allowed pair is' if alone[1] < alone[0] else 'not before it. The best pair is'} “{told(one, found.best)}”, {found.scores[found.best]:.2f}.")
            if told_now:
                controls.slider(f"Push the {edge} score of “{literal(names[at])}”", 0.0, FURTHEST, SLUG + "push", 0.0, 0.5)
        parts.numbers(f"{n} positions: {n * n:,} pairs, {int(may.sum()):,} allowed, {n * n - int(may.sum()):,} hatched: they would end before they start.")
    i, j = found.best
    return Shown(
        {"spans.pair": {}}, (rf"r_{{{i}\,{j}}} = {one.starts[i]:.3f} + {one.ends[j]:.3f} = {found.scores[i, j]:.3f}".replace("+ -", "- "),),
        "Row: where the answer starts. Column: where it ends. A cell is the sum of two numbers of the bars before, as scores: no third network looks at the pair. Hatched: it would end before it starts. "
        "The frame is the best cell; touch another one to read its words. The slider adds to one score by hand, so that the two choices cross.",
        lambda: pd.DataFrame(found.scores, index=[f"{k} {visible(w)}" for k, w in enumerate(names)], columns=[f"{k} {visible(w)}" for k, w in enumerate(names)]).round(3),
        {"scores": found.scores, "starts": one.starts, "ends": one.ends},
        lines(params, run) + (f"one = one.pushed({edge!r}, {at}, {params.push:g})\n" if params.push else "") + "print(one.found.best, one.text(one.found.best), one.found.scores[one.found.best])",
    )  # fmt: skip


def _ask_crossing(plain: Answer, edge: Edge, at: int) -> bool:
    """What is the answer once the ends cross? Computed with a push that is enough for it."""
    names, by = words(plain), crossing(plain)
    crossed = plain.pushed(edge, at, by)
    start, end = crossed.alone
    result = told(crossed, crossed.found.best)
    backwards = told(plain, (min(start, end), max(start, end)))
    options = dict.fromkeys((result, told(plain, (at, at)), told(plain, (start, start)), backwards, NOTHING))
    return lesson.predict(
        SLUG + "crossed", f"Add {by:.1f} to the {edge} score of “{visible(names[at])}”: alone, start is “{visible(names[start])}”, end “{visible(names[end])}”{', before it' if end < start else ''}. Which words are the answer?",
        sorted(options), result, f"Of the allowed pairs “{result}” has the greatest sum, {crossed.found.scores[crossed.found.best]:.2f}. Move the slider to {by:.1f}, and further.",
    )  # fmt: skip


def _said(one: Answer, cell: tuple[int, int]) -> str:
    """What a cell holds."""
    i, j = cell
    names = words(one)
    total = f"start “{visible(names[i])}” {one.starts[i]:.2f} + end “{visible(names[j])}” {one.ends[j]:.2f} = {one.starts[i] + one.ends[j]:.2f}"
    return f"{total}, and masked: it would end before it starts." if j < i else f"{total}: “{told(one, cell)}”."
