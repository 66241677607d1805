"""The choice of a target: the row of the output and the token that a page asks about, in the link, forgotten with the sentence."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.attribution.target_token import (
    OutputTarget,
    blank_rows,
    default_row,
    output_target,
    target_rows,
    true_token,
)
from core.analysis.task_outputs import activation_of, chances
from core.errors import InputError
from core.maths import softmax
from core.run import Run
from viz.labels import bare_token as word
from viz.labels import percent, shorten
from viz.languages import _, mark
from viz.shell import notices, state
from viz.widgets import controls

GUESSES = 8
CLASSES = 50
"""Of the classes, tags or positions of a model the most probable are offered."""
BEFORE = 3
"""Tokens before the place that its name shows."""

ROWS = {"tags": mark("Which word"), "answer": mark("Start or end")}
CHOICES = {
    "classes": (mark("Which class"), mark("no other class")),
    "tags": (mark("Which tag"), mark("no other tag")),
    "answer": (mark("At which token"), mark("no other token")),
}
"""Labels of the menus for a choice among an output, and of no second one."""
EDGES = mark("start of the answer"), mark("end of the answer")
AS_EDGES = mark("as the start of the answer"), mark("as the end of the answer")


def choice_name(run: Run, index: int) -> str:
    """Return the name of one output of the model by its index: a word, a class or a tag."""
    return word(run.choice(index))


def forget(slot: str, now: object, *names: str) -> None:
    """Take back choices that were made about something else than `now`, unless the link itself makes them."""
    before = st.session_state.get(slot)
    st.session_state[slot] = now
    if before not in (None, now):
        state.write(**{name: None for name in names if not state.link_chooses(name)})


def run_identity(run: Run) -> tuple[str, str, str]:
    """Return the values by which one run's words differ from another's: model, source text, text."""
    return run.model.name, run.source.text if run.source else "", run.side.text


def begin(text: str) -> str:
    """Return a phrase with a capital at its beginning; the words in it stay as they are.

    >>> begin("behind “Mary”")
    'Behind “Mary”'
    """
    return text[:1].upper() + text[1:]


def place(run: Run, row: int) -> str:
    """Return the name of a row of the output: the words before it, and the word that follows where the text has one."""
    if run.model.main_output != "logits":
        return row_name(run, row)
    framed = run.model.spec.framed
    tokens = [word(token) for token in run.tokens[max(0, row - BEFORE + (not framed)) : row + (not framed)]]
    dots = "… " if row >= BEFORE + framed else ""
    found = true_token(run, row)
    after = "?" if found is None or row in blank_rows(run) else choice_name(run, found)
    return shorten(f"{dots}{' '.join(tokens)} ▸ {after}", 60)


def position_phrase(run: Run, row: int) -> str:
    """Return the position of a row as a phrase: after a word (decoder), at a word (masked language model, tagger), of the whole input (classifier), or as the start or end of the answer."""
    if run.model.whole_input:
        return _("of the whole input")
    if run.model.main_output == "answer":
        return _(AS_EDGES[row])
    token = word(run.tokens[row])
    if run.model.spec.framed or run.model.main_output == "tags":
        return _("at “{token}”", token=token)
    return _("after “{token}”", token=token)


def row_name(run: Run, row: int) -> str:
    """Return the name of a row of the output: its token, an edge of the answer, the whole text."""
    if run.model.whole_input:
        return _("the whole text")
    return _(EDGES[row]) if run.model.main_output == "answer" else word(run.tokens[row])


def row_names(run: Run) -> list[str]:
    """Return a name for each row of the model's output scores."""
    return [row_name(run, row) for row in range(len(run.scores))]


def row(run: Run, slug: str) -> int:
    """Draw the list of positions, and return the chosen row."""
    writes = run.model.main_output == "logits" and not run.model.spec.framed
    label = (
        mark("Which position (▸ the word that is written next)")
        if writes
        else ROWS.get(run.model.main_output, mark("Which position"))
    )
    return controls.select(
        _(label), target_rows(run), f"{slug}.row", default_row(run), lambda at: place(run, at)
    )


def pick_target(run: Run, slug: str) -> OutputTarget:
    """Draw the choice of position, word and an optional word to compare with, and return it; of classes, one or two."""
    forget(f"{slug}.sentence", run_identity(run), f"{slug}.row", f"{slug}.word", f"{slug}.other")
    if run.model.main_output == "score":
        return output_target(run, 0, 0)
    if run.model.main_output != "logits":
        return _choice(run, slug)
    left, middle, right = st.columns([2, 1, 1])
    with left:
        at = row(run, slug)
    with middle:
        token = _token(run, at, slug)
    with right:
        typed = controls.text(
            _("Compared with"), f"{slug}.against", "", placeholder=_("a word, or two: her his")
        )
    return _compared(run, at, token, typed.split())


def _choice(run: Run, slug: str) -> OutputTarget:
    """Draw the choice of a class, a tag at a word or an edge of the answer, and of another to compare it with, and return it."""
    label, none = CHOICES[run.model.main_output]
    spots = st.columns(2 if run.model.whole_input else [2, 1, 1])
    at = 0
    if not run.model.whole_input:
        with spots[0]:
            at = row(run, slug)
        forget(f"{slug}.place", (run_identity(run), at), f"{slug}.word", f"{slug}.other")
    shares = chances(run.model, run.scores[at])
    order = [int(index) for index in np.argsort(-shares, kind="stable")][:CLASSES]
    linked = state.read(f"{slug}.word", order[0], state.whole_number(0, len(shares) - 1))

    def option(index: int) -> str:
        return _(none) if index < 0 else f"{choice_name(run, index)}  {percent(shares[index])}"

    with spots[-2]:
        token = controls.select(
            _(label), list(dict.fromkeys([*order, linked])), f"{slug}.word", order[0], option
        )
    with spots[-1]:
        others = [-1, *(index for index in order if index != token)]
        against = controls.select(_("Compared with"), others, f"{slug}.other", -1, option)
    return output_target(run, at, token, None if against < 0 else against)


def _token(run: Run, row_number: int, slug: str) -> int:
    """Draw the choice among the model's own guesses, the word of the text and the one that the link names, and return it."""
    forget(f"{slug}.place", (run_identity(run), row_number), f"{slug}.word")
    shares = softmax(run.scores[row_number].astype(np.float64))
    best = [int(index) for index in np.argsort(-shares, kind="stable")[:GUESSES]]
    linked = state.read(f"{slug}.word", best[0], state.whole_number(0, len(shares) - 1))
    options = list(
        dict.fromkeys(index for index in (*best, true_token(run, row_number), linked) if index is not None)
    )
    return controls.select(
        _("Which word"),
        options,
        f"{slug}.word",
        best[0],
        lambda index: f"{choice_name(run, index)}  {percent(shares[index])}",
    )


def _compared(run: Run, row_number: int, token: int, typed: list[str]) -> OutputTarget:
    """Return the chosen word against a typed one; of two typed words the first against the second."""
    try:
        ids = [run.model.token_id(word) for word in typed[:2]]
    except InputError as error:
        notices.show_in_area(error.wrong, error.rule, _("Shown without a comparison."))
        return OutputTarget(row_number, token)
    first, other = ids if len(ids) == 2 else (token, ids[0] if ids else None)
    return OutputTarget(row_number, first, None if other == first else other)


def quantity(run: Run, target: OutputTarget) -> str:
    """Return the name of the number that is asked about, as changes of it are measured.

    A score has no probability, and so no logarithm of one.
    """
    if activation_of(run.model) == "none":
        return _("the score")
    asked = target_phrase(run, target)
    return (
        _("the logit difference of {asked}", asked=asked)
        if target.is_score
        else _("ln p of {asked}", asked=asked)
    )


def unit(target: OutputTarget) -> str:
    """Return the unit of that number, to stand after its name: log-probabilities and their differences are in nats."""
    return "" if target.activation == "none" else ", nats"


def arguments(target: OutputTarget) -> dict[str, object]:
    """Return the arguments of `OutputTarget` in lines of Python; the activation, as one more, where it is not a softmax."""
    activation = "" if target.activation == "softmax" else f", activation={target.activation!r}"
    return {"row": target.row, "token": target.token, "against": target.against, "activation": activation}


def target_phrase(run: Run, target: OutputTarget) -> str:
    """Return the target of a prediction as a phrase: “was” after “cat”, “was” against “is” after “cat”, or "the score"."""
    if run.model.main_output == "score":
        return _("the score")
    chosen = choice_name(run, target.token)
    words = (
        _("“{word}”", word=chosen)
        if target.against is None
        else _("“{word}” against “{other}”", word=chosen, other=choice_name(run, target.against))
    )
    return words if run.model.whole_input else f"{words} {position_phrase(run, target.row)}"
