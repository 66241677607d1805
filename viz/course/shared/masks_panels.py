"""The picture of the exhibit on masks: scores, mask, pattern; the mask is edited where it stands."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import streamlit as st

from viz.course.shared import masks
from viz.instruments import heatmap, mask_editor
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.shell import state

OWN = "own"
PILLS = masks.KINDS | {OWN: "draw your own"}
_START, _TURN, _CODE, _NAMED = "masks.start", "masks.turn", "masks.code", "masks.named"
# of this session: the matrix an edit began with, how many edits were begun, the last one as a link, the last kind by name
Matrix = np.ndarray


def labels(tokens: tuple[str, ...]) -> list[str]:
    """Tokens as row and column names: the space before a word is left out, a token of spaces stays.

    >>> labels((" cat", " ", "s"))
    ['cat', ' ', 's']
    """
    return [token.removeprefix(" ") or token for token in tokens]


def pack(allowed: Matrix) -> str:
    """A square mask as short text for the link: its size, and its cells as bits.

    >>> pack(np.tri(3, dtype=bool)), unpack("3.m4A", 3).tolist()
    ('3.m4A', [[True, False, False], [True, True, False], [True, True, True]])
    """
    return f"{len(allowed)}.{base64.urlsafe_b64encode(np.packbits(allowed).tobytes()).decode().rstrip('=')}"


def unpack(text: str, n: int) -> Matrix | None:
    """The mask in a link, or None when it is not one of n words."""
    size, _, bits = text.partition(".")
    try:
        raw = base64.b64decode(bits + "=" * (-len(bits) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
    if size != str(n) or len(raw) != -(-n * n // 8):
        return None
    return np.unpackbits(np.frombuffer(raw, np.uint8), count=n * n).reshape(n, n).astype(bool)


def named(kind: str) -> str:
    """The kind that a hand-drawn mask starts from: the one chosen last by name."""
    if kind != OWN:
        st.session_state[_NAMED] = kind
    return st.session_state.get(_NAMED, "causal")


def drawn(recipe: masks.Recipe, n: int) -> tuple[tuple[bool, ...], ...]:
    """The mask drawn by hand as rows; where none was drawn for n words yet, the one that was chosen last by name."""
    now = unpack(state.read("masks.drawn", ""), n)
    return tuple(map(tuple, (recipe.allowed(n) if now is None else now).tolist()))


def three(data: Any, params: Any, python: str) -> tuple[int, int]:
    """Scores, mask and pattern side by side; returns the chosen cell (query, key). Touching the mask draws one's own.

    `python`: the lines that make the three again, saved by each with lines of its own that draw it.
    """

    def script(name: str, numbers: str, *more: str) -> str:
        return f"{python}\n" + drawing(
            name, ", ".join([numbers, "run.tokens", "run.tokens", *more]), origin.now()
        )

    names, chosen, height = labels(data.tokens), _cell(data), 170 if state.presenting() else None
    limit = float(np.abs(data.scores).max()) or 1.0
    left, middle, right = st.columns(3, gap="medium")
    both: dict[str, Any] = {"selected": chosen, "numbers": True, "height": height}
    with left:
        both["python"] = script("heatmap", "scores", "scale='score'")
        scores: dict[str, Any] = {"scale": "score", "limit": limit, "title": "Scores, before the mask"}
        a = heatmap(data.scores, names, names, key="masks.scores", **scores, **both)
    with middle:
        _editor(data, params.mask_rows is not None, names, height, script("mask_editor", "mask"))
    with right:
        both["python"] = script("heatmap", "pattern", "allowed=mask")
        pattern: dict[str, Any] = {"allowed": data.allowed, "title": "Pattern, after softmax"}
        b = heatmap(data.pattern, names, names, key="masks.pattern", **pattern, **both)
    for touched in (a.cell, b.cell):
        if touched and touched != chosen:
            state.write(**{"masks.cell": "{}.{}".format(*touched)})
            st.rerun()
    return chosen


def _editor(data: Any, own: bool, names: list[str], height: int | None, python: str) -> None:
    """The mask. The first stroke on a mask chosen by name makes it the visitor's own, with its undo kept."""
    memory, code = st.session_state, pack(data.allowed)
    known = memory.get(_CODE)
    if not own or code != known:  # a mask by name, or one that came with a link: a new edit begins here
        memory[_START], memory[_CODE] = data.allowed.copy(), code if own else None
        memory[_TURN] = memory.get(_TURN, 0) + (own or known is not None)
    mask_editor(
        memory[_START],
        names,
        names,
        key="masks.mask",
        turn=memory.get(_TURN, 0),
        title="Mask",
        hint="click a cell",
        height=height,
        python=python,
        on_stroke=_stroke,
    )


def _stroke(now: Matrix) -> None:
    st.session_state[_CODE] = pack(now)
    state.write(**{"masks.kind": OWN, "masks.drawn": st.session_state[_CODE]})


def _cell(data: Any) -> tuple[int, int]:
    """The chosen cell, or the word in the middle at the key it looks at most."""
    n = len(data.tokens)
    try:
        query, key = (int(part) for part in state.read("masks.cell", "").split("."))
    except ValueError:
        query = key = -1
    if 0 <= query < n and 0 <= key < n:
        return query, key
    return n // 2, int(data.pattern[n // 2].argmax())
