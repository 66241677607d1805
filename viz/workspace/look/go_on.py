"""The next tokens of a model that continues a text: after the last word of the picture, and as words to choose from."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.decoding import Candidate, Step
from core.decoding.prompt import continuation
from core.run import Run
from viz.instruments.words.words import After, touched_continuation
from viz.labels import literal, percent, visible
from viz.languages import _, mark
from viz.shell import links, state
from viz.shell.selection import Selection
from viz.widgets import controls, engine_client
from viz.workspace.decode import data
from viz.workspace.decode.pictures import pieces

AHEAD, OFFERED = 4, 5
"""Tokens that stand behind the text, and tokens to choose from for the first of them."""
TEMPERATURE, SEED = "look.temperature", "look.seed"
_JUST_WRITTEN = "look.written"


def goes_on(run: Run) -> bool:
    """Return whether the model continues the text that it reads."""
    return run.model.spec.writes and run.source is None and "logits" in run.model.outputs


def following(run: Run, *force: int) -> tuple[Step, ...]:
    """Return the next tokens, as Decode writes them, those of `force` first: greedy at temperature 0, else sampled. None after a text that has ended."""
    params = data.Params(run.model.name, run.side.text, **_how(), n=AHEAD, force=tuple(enumerate(force)))
    with engine_client.many() as ask:
        return data.compute(params, ask, None if force else run).steps


def text_of(run: Run, steps: tuple[Step, ...], index: int) -> str:
    """Return the text of the steps up to `index`, and of those after it that finish a character; "" where they are no text."""
    for step in steps[index:]:
        text, pending = continuation(run, step.ids)
        if not pending:
            return text
    return ""


def ghosts(steps: tuple[Step, ...], last: str) -> list[After]:
    """Return the same as the picture draws them."""
    ends = [place for place, step in enumerate(steps, 1) if step.ends]
    words = pieces([last, *(step.token for step in steps)], ends)[1:]
    return [After(visible(word), _chance(step)) for word, step in zip(words, steps, strict=True)]


def show(selection: Selection, run: Run, steps: tuple[Step, ...]) -> None:
    """Draw the most probable next tokens to choose from, the temperature, and the way to Decode with the same text and steps.

    A token that is no text, as a mark, is not offered; one that begins a character is written with what finishes it.
    """
    first = steps[0]
    tails = {one: _tail(run, one) for one in first.candidates[:OFFERED]}
    offered = {one.id: one for one, tail in tails.items() if tail}
    key = f"look.next:{run.side.text}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="look.next"):
        st.pills(
            _("Next token, with its probability: choose one to write it"),
            list(offered),
            key=key,
            on_change=_choose,
            args=(key, selection, {one.id: tail for one, tail in tails.items()}),
            format_func=lambda id: _offer(offered[id], bool(first.filters)),
            label_visibility="collapsed",
        )
        with st.popover(
            _("Temperature {value:g}", value=state.read(TEMPERATURE, 0.0, state.real_number(0, 2))),
            icon=":material/thermostat:",
            type="tertiary",
        ):
            controls.slider(
                _("Temperature"),
                0.0,
                2.0,
                TEMPERATURE,
                0.0,
                0.1,
                help=_(
                    "0 is greedy: always the most probable token. Above 0 tokens are sampled, from logits divided by it before the softmax: higher is more random."
                ),
            )
            if first.filters or _how()["temperature"]:
                controls.seed_input(SEED, 1, label=mark("Seed"), next_label=mark("Sample again"))
        links.page_link(
            "decode",
            _("Watch it write in Decode"),
            icon=":material/arrow_forward:",
            **{f"decode.{name}": value for name, value in _how().items()},
            **{"decode.n": len(steps)},
        )


def write(selection: Selection, run: Run, steps: tuple[Step, ...]) -> None:
    """Write a touched word that follows the text, with those before it."""
    at = touched_continuation("look.words.False")
    if at is not None and at < len(steps):
        _append(selection, text_of(run, steps, at))


def just_written() -> bool:
    """Return whether a token was just written: then the whole page has to follow, not the picture alone."""
    return bool(st.session_state.pop(_JUST_WRITTEN, False))


def _tail(run: Run, one: Candidate) -> str:
    """Return the text of this token and of those that it needs."""
    text, pending = continuation(run, (one.id,))
    return text_of(run, following(run, one.id), 0) if pending else text


def _offer(one: Candidate, filtered: bool) -> str:
    chance = percent(one.after if filtered else one.before)
    return f"{literal(visible(one.token.strip() or one.token))} :gray[:small[{chance}]]"


def _choose(key: str, selection: Selection, tails: dict[int, str]) -> None:
    chosen = st.session_state.get(key)
    if chosen is not None:
        _append(selection, tails[chosen])


def _append(selection: Selection, tail: str) -> None:
    state.write(text=selection.typed_text + tail)
    st.session_state[_JUST_WRITTEN] = True


def _how() -> dict[str, Any]:
    return {
        "temperature": state.read(TEMPERATURE, 0.0, state.real_number(0, 2)),
        "seed": state.read(SEED, 1, state.whole_number(0, 9999)),
    }


def _chance(step: Step) -> str:
    """Return the probability with which it was taken: of the model itself, or at this temperature."""
    return percent(step.chosen_candidate.after if step.filters else step.chosen_candidate.before)
