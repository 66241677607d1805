"""Keep what this visitor has opened and answered: in the session, and from visit to visit in the browser's own storage.

Nothing of it is stored on the server beyond the session. What comes from the browser is judged field by field: it may be old,
damaged or written by hand.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components import v2

from viz.shell import pages, state
from viz.shell.pages import Entry

Guess = str | int | float
MAX_STORED = 100_000
"""Letters of the browser's text that are read; a visitor who answers every question twice over writes a fifth of it."""
MAX_ANSWERS, MAX_LENGTH = 1_000, 300
"""Answers that are kept, and letters of a name or of an answer in words."""
VERSION = 1
_OPENED = "course.seen"  # the slugs of the exhibits that were opened, the last one last
_STEPS = "course.steps"  # slug -> the step where the visitor left it
_ANSWERS = (
    "course.answers"  # the question's key -> (digest of all that was asked, guess, whether it was right)
)
_EARLIER = "course.earlier"  # the same of earlier visits, until the question is met
_SESSION, _RESTORED = "course.session", "course.restored"
_store = v2.component(
    "atlas_progress", html="<span></span>", js=Path(__file__).with_suffix(".js").read_text("utf-8")
)


def record_opened(slug: str) -> None:
    """Record that this exhibit is open now."""
    st.session_state[_OPENED] = [*(other for other in opened_exhibits() if other != slug), slug]


def opened_exhibits() -> tuple[str, ...]:
    """Return the slugs of the exhibits that were opened, the last one last."""
    return tuple(st.session_state.get(_OPENED, ()))


def last_exhibit() -> Entry | None:
    """Return the exhibit that was open last, or the first of the course."""
    course = {entry.slug: entry for entry in pages.exhibits()}
    opened = [course[slug] for slug in opened_exhibits() if slug in course]
    return (opened or list(course.values())[:1] or [None])[-1 if opened else 0]


def last_step(slug: str) -> str:
    """Return the number of an exhibit's step: the one in the link, else the one where the visitor left it, else ""."""
    return state.peek(f"{slug}.step") or str(st.session_state.get(_STEPS, {}).get(slug, ""))


def digest(question: object) -> str:
    """Return a short digest of a question with all its words, so that an answer is restored to exactly this question."""
    return hashlib.blake2s(repr(question).encode(errors="replace"), digest_size=6).hexdigest()


def record_answer(key: str, question: object, guess: Guess, right: bool) -> None:
    """Record an answer and whether it was right."""
    _answers()[key] = (digest(question), guess, right)


def take_earlier_answer(key: str, question: object) -> Guess | None:
    """Return, once, the answer of an earlier visit to exactly this question; None for none."""
    known = st.session_state.get(_EARLIER, {}).get(key)
    if known is None or known[0] != digest(question):
        return None
    del st.session_state[_EARLIER][key]
    return known[1]


def forget_answers(slug: str) -> None:
    """Forget the answers of one page."""
    for answers in (_answers(), st.session_state.get(_EARLIER, {})):
        for key in [key for key in answers if key.startswith(f"{slug}.")]:
            del answers[key]


def score() -> tuple[int, int]:
    """Return how many questions were answered, and how many of them correctly."""
    return len(_answers()), sum(right for _, _, right in _answers().values())


def forget_progress() -> None:
    """Forget which exhibits were opened, their steps and all answers, in the session and the browser."""
    for name in list(st.session_state):
        if str(name).startswith("predict:") and str(name).endswith(":asked"):
            st.session_state[name] = {"of": None, "guess": None}
    st.session_state.update({_OPENED: [], _STEPS: {}, _ANSWERS: {}, _EARLIER: {}, _RESTORED: True})


def sync_with_browser() -> None:
    """Store the progress in the browser, and take from there the progress of an earlier visit."""
    for slug in opened_exhibits()[-1:]:
        if (at := state.peek(f"{slug}.step")).isdecimal():
            st.session_state.setdefault(_STEPS, {})[slug] = int(at)
    _store(
        key="progress",
        data={
            "session": st.session_state.setdefault(_SESSION, secrets.token_hex(8)),
            "restored": bool(st.session_state.get(_RESTORED)),
            "progress": _as_text(),
        },
        on_stored_change=_restore,
        height="content",
    )


def _as_text() -> str:
    if not opened_exhibits() and not _answers():
        return ""
    kept = dict(list(_answers().items())[-MAX_ANSWERS:])
    return json.dumps(
        {
            "version": VERSION,
            "seen": opened_exhibits(),
            "steps": st.session_state.get(_STEPS, {}),
            "answers": kept,
        }
    )


def _restore() -> None:
    stored = read(st.session_state["progress"]["stored"])
    now = opened_exhibits()
    st.session_state[_OPENED] = [*(slug for slug in stored["seen"] if slug not in now), *now]
    st.session_state[_STEPS] = stored["steps"] | st.session_state.get(_STEPS, {})
    st.session_state[_EARLIER] = {key: one for key, one in stored["answers"].items() if key not in _answers()}
    st.session_state[_ANSWERS] = stored["answers"] | _answers()
    st.session_state[_RESTORED] = True


def read(text: object) -> dict[str, Any]:
    """Return the usable parts of the text that the browser stored, without all that is damaged, too long or of another version.

    >>> read("{"), read('{"version": 1, "seen": ["masks", "<b>", 3], "steps": {"masks": 99}}')
    ({'seen': [], 'steps': {}, 'answers': {}}, {'seen': ['masks'], 'steps': {}, 'answers': {}})
    """
    try:
        found = json.loads(text) if isinstance(text, str) and len(text) <= MAX_STORED else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        found = {}
    known = {entry.slug: entry for entry in pages.exhibits()}
    seen, steps, answers = (found.get(name) for name in ("seen", "steps", "answers"))
    return {
        "seen": [*dict.fromkeys(slug for slug in seen if isinstance(slug, str) and slug in known)]
        if isinstance(seen, list)
        else [],
        "steps": {
            slug: at
            for slug, at in (steps.items() if isinstance(steps, dict) else ())
            if slug in known and type(at) is int and 0 < at <= len(known[slug].steps)
        },
        "answers": {
            key: (one[0], one[1], one[2])
            for key, one in list(answers.items() if isinstance(answers, dict) else ())[-MAX_ANSWERS:]
            if len(key) <= MAX_LENGTH and _is_answer(one)
        },
    }


def _is_answer(one: object) -> bool:
    return (
        isinstance(one, list)
        and len(one) == 3
        and isinstance(one[0], str)
        and len(one[0]) == 12
        and type(one[2]) is bool
        and (
            (isinstance(one[1], str) and len(one[1]) <= MAX_LENGTH)
            or (isinstance(one[1], int | float) and type(one[1]) is not bool and math.isfinite(one[1]))
        )
    )


def _answers() -> dict[str, tuple[str, Guess, bool]]:
    return st.session_state.setdefault(_ANSWERS, {})
