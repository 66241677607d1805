"""Answers and tags, the first step: start and end over a text; and functions that the steps about answers share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise

import pandas as pd
import streamlit as st

from core.data import grammar
from core.training.finetune import tuning
from viz.course.bert import tuning_live
from viz.course.bert.spans_and_tags.maths import Answer, answer
from viz.course.bert.spans_and_tags.params import DROPS, LONGEST, SLUG, Params
from viz.course.bert.tuning_live import Using
from viz.course.exhibit import Folds
from viz.instruments import marked, picked_words
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import percent, shorten, visible
from viz.shell import present_layout, state
from viz.widgets import engine_client, exhibit_parts, page_parts

NAMES = ("starts here", "ends here")
RELIABLE = 0.5
"""Share of right answers below which the page warns of its model."""
EMPTY = "no words"


@tuning_live.needs("answers", SLUG)
def marking(params: Params, used: Using) -> Folds:
    """Let the visitor mark the answer, then draw both distributions at the words."""
    warn(used)
    origin.tell(model=used.model or "", text=params.question, second_text=params.passage)
    one = read_answer(params, used)
    found, known, n, names = one.span_scores, truth(params), len(one.tokens), words(one)
    best = span_text(one, found.best)
    right = visible_text(known.answer) if known else best
    held, key = mark_of(params, n), SLUG + "text"
    after = "; for your own text there is no answer to compare with."
    if known:
        after = ", and that is right." if best == right else f"; right is “{right}”."
    with present_layout.full_width():
        committed = exhibit_parts.predict_mark(
            SLUG + "mark",
            f"{params.question} Touch the first word of the answer in the text, then its last.",
            span_text(one, held) if held else "",
            right,
            f"The model’s answer is “{best}”{after}",
        )
        picture = f"one.tokens, above=one.span_scores.start, below=one.span_scores.end, names={NAMES}, span=one.span_scores.best"
        marked(
            names,
            key=key,
            on_pick=partial(_take, key, n),
            glued=glued(one.places),
            quiet=[at for at, place in enumerate(one.places) if place is None],
            above=found.start if committed else None,
            below=found.end if committed else None,
            names=NAMES,
            span=found.best if committed else held,
            pick="" if committed else "span",
            hint="The marked words are the best pair of a start and an end."
            if committed
            else "Touch the first word of the answer, then the last.",
            python=lines(params, used) + drawing("marked", picture, origin.now()),
        )
        if committed:
            (start, p_start), (end, p_end) = (
                (visible(names[at]), percent(chances[at]))
                for at, chances in zip(one.separate_choices, (found.start, found.end), strict=True)
            )
            verdict = (
                ""
                if not known
                else " It is right."
                if best == right
                else f" It is wrong: right is “{right}”."
            )
            page_parts.summary(
                f"Start most probable at “{start}”, {p_start}; end at “{end}”, {p_end}; "
                f"together {percent(found.probability)} for “{best}”.{verdict} "
                f"Each row of bars sums to {found.start.sum():.0f} over {n} positions."
            )
        else:
            page_parts.summary(f"{n} positions, and {n * (n + 1) // 2:,} possible answers. Which one is it?")
    if not exhibit_parts.presenting():
        choose_question()
    at = one.separate_choices[0]
    power = rf"e^{{{one.starts[at]:.3f}}}"
    return Folds(
        lambda: pd.DataFrame(
            {
                "token": names,
                "start score": one.starts,
                "P start": found.start,
                "end score": one.ends,
                "P end": found.end,
            }
        ).round(5),
        {"starts": one.starts, "ends": one.ends, "p_start": found.start, "p_end": found.end},
        {"model": tuning_live.opening(used)},
        committed,
        {"spans.start": {}, "spans.end": {}},
        (
            rf"p_s = \frac{{{power}}}{{\sum_i e^{{w_s^\top h_i}}}} = {found.start[at]:.4f}, "
            rf"\qquad \sum_i p_{{s,i}} = {found.start.sum():.4f}",
            rf"\text{{over one token alone: }} \frac{{{power}}}{{{power}}} = 1",
        ),
        look={"made": tuning_live.made(used)},
    )


def read_answer(params: Params, used: Using) -> Answer:
    """Return the text with its scores, by the model that the page uses."""
    question, passage, model = params.question, params.passage, used.model or ""
    return engine_client.submit(
        ("spans_and_tags.answer", model, question, passage),
        lambda: answer(engine_client.open(model), question, passage, LONGEST),
        6 * len(question + passage),
    )


def warn(used: Using) -> None:
    """Draw at the top what the model cannot do, as it was measured; nothing if there is no model."""
    if not used.reports:
        return
    right = used.reports[-1].right
    worth = "It was trained on questions of this one kind."
    if right < RELIABLE:
        worth = (
            "Mostly it finds an answer of the right sort (a place for “Where”), but in the wrong sentence. "
            "This page shows how an answer is computed; the model is often wrong."
        )
    with present_layout.head_area():
        st.text(
            f"Synthetic questions. Of {tuning.CHECKED} about texts that were not in training, this model answers "
            f"{percent(right)} correctly. {worth}"
        )


@cache
def pool() -> tuple[grammar.Question, ...]:
    """Return questions about texts that no tuning learns from."""
    return grammar.questions(60, 5, "test")


def truth(params: Params) -> grammar.Question | None:
    """Return the visitor's question with its answer if it is one of ours, else None."""
    both = params.passage, params.question
    return next((item for item in pool() if (item.passage, item.question) == both), None)


def choose_question() -> None:
    """Draw a button for each kind of question: the next one of that kind."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Another question:", width="content")
        for kind in grammar.QUESTION_KINDS:
            st.button(f"{kind.capitalize()}?", key=f"{SLUG}ask.{kind}", on_click=_next, args=(kind,))


def _next(kind: str) -> None:
    of = [item for item in pool() if item.kind == kind]
    now = state.read(SLUG + "passage", "")
    at = next((place for place, item in enumerate(of) if item.passage == now), -1)
    item = of[(at + 1) % len(of)]
    chosen = {"question": item.question, "passage": item.passage} | dict.fromkeys(DROPS)
    state.write(**{SLUG + name: value for name, value in chosen.items()})


def mark_of(params: Params, n: int) -> tuple[int, int] | None:
    """Return the span that the visitor marked, from the link; None if it is not in the text."""
    first, _, last = params.mark.partition("-")
    if not (first.isdecimal() and last.isdecimal() and len(first) < 4 and len(last) < 4):
        return None
    span = int(first), int(last)
    return span if span[0] <= span[1] < n else None


def _take(key: str, n: int) -> None:
    span = picked_words(key, n)
    if span is not None:
        state.write(**{SLUG + "mark": f"{span[0]}-{span[1]}"})


def words(one: Answer) -> list[str]:
    """Return the tokens as they are written in the text, [SEP] by its name."""
    both = zip(one.tokens, one.places, strict=True)
    return [one.passage[slice(*place)] if place else token for token, place in both]


def glued(places: Sequence[tuple[int, int] | None]) -> list[int]:
    """Return the indices of the tokens that have no space before them."""
    both = enumerate(pairwise(places), 1)
    return [at for at, (last, now) in both if last and now and last[1] == now[0]]


def span_text(one: Answer, span: tuple[int, int]) -> str:
    """Return the words of a span, for a sentence."""
    return visible_text(one.text(span)) or EMPTY


def visible_text(text: str) -> str:
    """Return a few words with their invisible characters shown, spaces unchanged."""
    return " ".join(visible(word) for word in shorten(text, 60).split())


def lines(params: Params, used: Using) -> str:
    """Return the first lines of Python of the steps about answers."""
    return (
        f"{tuning_live.opening(used)}\n\nfrom viz.course.bert.spans_and_tags import maths as read_answers\n\n"
        f"one = read_answers.answer(model, {params.question!r},\n    {params.passage!r})\n"
    )
