"""Predict the next word: the visitor types or picks one, the model answers, and both are counted in bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.decoding.choose import largest_indices
from core.errors import InputError
from core.model import Model
from viz.course.shared.guessing import Played, Round, played, score_sentence
from viz.instruments import candidates
from viz.instruments.candidates.candidates import Bar
from viz.labels import literal, percent, visible
from viz.languages import _, mark
from viz.shell import notices, state
from viz.widgets import controls, engine_client, page_parts
from viz.workspace.decode.choices import choices

MOST = 60
LISTED = 8
_BOX, _PENDING = "decode.guess.box", "decode.guess.pending"
GOES_ON = (mark("the model's word"), mark("my word"))


def show(model: Model, text: str) -> None:
    """Draw the text so far, a box for the guess; below it the value of the last guess and the score."""
    guesses = state.read("decode.guesses", (), _words)
    mine = (
        controls.segmented(_("The text goes on with"), GOES_ON, "decode.goes_on", GOES_ON[0], _) == GOES_ON[1]
    )
    if (pending := st.session_state.pop(_PENDING, None)) is not None:
        guesses = _add_guess(model, text, guesses, pending, mine)
    history, before, now = _history(model, text, guesses, mine)
    read = Round(model, now).window
    with st.container(key="decode-guess-now"):
        st.header(
            f"{'… ' if read.tokens < read.total else ''}{literal(visible(read.text).replace('·', ' '))} …",
            anchor=False,
        )
    if read.tokens < read.total:
        st.caption(
            _(
                "The text has {total:,} tokens. {model} reads the last {n:,} here, so that it answers in a moment.",
                total=read.total,
                model=model.name,
                n=read.tokens,
            )
        )
    if len(guesses) < MOST:
        _picks(model, now)
        st.text_input(
            _("Which word comes next?"),
            key=_BOX,
            on_change=_store,
            placeholder=_("Pick one above, or type a word and press Enter"),
        )
    else:
        st.text(_("This game ends after {n} words.", n=MOST))
    if not history:
        st.caption(
            _(
                "After your guess you see the probability that the model gives your word, and the word that it ranks first."
            )
        )
        return
    last = history[-1]
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.markdown(
            _(
                "**You guessed {word}: {share}, {bits:.1f} bits**",
                word=literal(visible(last.guess.text)),
                share=percent(last.guess.p),
                bits=last.guess.bits,
            )
        )
        st.markdown(
            _("{model} would have taken the same word.", model=literal(model.name))
            if last.guess.ids == last.model_guess.ids
            else _(
                "{model} would have taken “{word}”, {share}, {bits:.1f} bits.",
                model=literal(model.name),
                word=literal(visible(last.model_guess.text)),
                share=percent(last.model_guess.p),
                bits=last.model_guess.bits,
            )
        )
        pieces = " · ".join(
            f"{visible(piece).replace('·', ' ')} {percent(float(p))}"
            for piece, p in zip(last.guess.pieces, np.exp(last.guess.logprobs), strict=True)
        )
        st.text(
            _(
                "In tokens: {pieces}; that the word ends there: {share}.",
                pieces=pieces,
                share=percent(last.guess.closes),
            )
            if last.guess.closes < 1
            else _("In tokens: {pieces}.", pieces=pieces)
        )
        page_parts.summary(score_sentence(history))
        st.button(
            _("Play again"),
            icon=":material/restart_alt:",
            on_click=lambda: state.write(**{"decode.guesses": None}),
        )
    with right:
        _expected(model, before, last)


def _picks(model: Model, now: str) -> None:
    """Draw a few words to choose from, each with a key: a class calls one out, and somebody presses it."""
    words: tuple[str, ...] = engine_client.submit(
        ("decode.choices", model.name, now), lambda: choices(Round(model, now)), cost=len(now) / 4 + 200
    )
    with st.container(horizontal=True, gap="small"):
        for place, word in enumerate(words):
            st.button(
                f"**{literal(visible(word))}**",
                key=f"decode.guess.pick.{place}",
                shortcut=str(place + 1),
                on_click=_pick,
                args=(word,),
            )


def _pick(word: str) -> None:
    st.session_state[_PENDING] = word


def _words(raw: str) -> tuple[str, ...]:
    found = tuple(raw.split(" "))
    if len(found) > MOST or not all(found):
        raise state.Unusable(_("The guesses are words with one space between them, at most {n}.", n=MOST))
    return found


def _store() -> None:
    st.session_state[_PENDING] = st.session_state.get(_BOX, "")
    st.session_state[_BOX] = ""


def _add_guess(model: Model, text: str, guesses: tuple[str, ...], guess: str, mine: bool) -> tuple[str, ...]:
    """Return the guesses with the new one, if it is one; else give the reason and bring the word back to the box."""
    try:
        *_, now = _history(model, text, guesses, mine)
        _round(model, now, guess.strip())
    except InputError as error:
        notices.show_in_area(error.wrong, error.rule, error.remedy)
        st.session_state[_BOX] = guess
        return guesses
    state.write(**{"decode.guesses": " ".join((*guesses, guess.strip()))})
    return (*guesses, guess.strip())


def _round(model: Model, text: str, guess: str) -> Played:
    return engine_client.submit(
        ("decode.guess", model.name, text, guess),
        lambda: played(Round(model, text), guess),
        cost=len(text) / 4 + 100,
    )


def _history(model: Model, text: str, guesses: tuple[str, ...], mine: bool) -> tuple[list[Played], str, str]:
    """Return the rounds so far, the text before the last of them, and the text now."""
    history, before, now = [], text, text
    for guess in guesses:
        before = now
        history.append(_round(model, now, guess))
        now = Round(model, now).went_on(guess if mine else history[-1].model_guess.text)
    return history, before, now


def _expected(model: Model, before: str, last: Played) -> None:
    """Draw the most probable tokens at the last round; the first of the guess among them if it is there."""

    def likeliest() -> list[tuple[int, str, float]]:
        game = Round(model, before)
        return [
            (index, game.prompt.name(index), float(game.distribution[index]))
            for index in largest_indices(game.distribution, LISTED)
        ]

    found: list[Any] = engine_client.submit(
        ("decode.likeliest", model.name, before), likeliest, cost=len(before) / 4 + 50
    )
    own = last.model_guess.ids[0]
    rest = max(0.0, 1 - sum(each[2] for each in found))
    candidates(
        [Bar(index, token, p, p) for index, token, p in found],
        taken_id=own if own in {each[0] for each in found} else found[0][0],
        others=(last.model_guess.n_vocab - len(found), rest, rest),
        key="decode.guess.bars",
        title=_("What the model expected"),
        step=0,
    )
