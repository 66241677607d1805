"""Picture of the exhibit on masks: scores, an editable mask and the pattern."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import streamlit as st

from viz.course.shared import masks
from viz.instruments import heatmap, mask_editor
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.languages import _, mark
from viz.shell import state

CUSTOM = "own"
PILLS = masks.KINDS | {CUSTOM: mark("draw your own")}
_START, _TURN, _CODE, _NAMED = "masks.start", "masks.turn", "masks.code", "masks.named"
# of this session: the matrix an edit began with, how many edits were begun, the last one as a link, the last kind by name
Matrix = np.ndarray


def labels(tokens: tuple[str, ...]) -> list[str]:
    """Return tokens as row and column labels: the space before a word is left out, a token of spaces stays.

    >>> labels((" cat", " ", "s"))
    ['cat', ' ', 's']
    """
    return [token.removeprefix(" ") or token for token in tokens]


def pack(allowed: Matrix) -> str:
    """Encode a square mask as short text for the link: its size, and its cells as bits.

    >>> pack(np.tri(3, dtype=bool)), unpack("3.m4A", 3).tolist()
    ('3.m4A', [[True, False, False], [True, True, False], [True, True, True]])
    """
    return f"{len(allowed)}.{base64.urlsafe_b64encode(np.packbits(allowed).tobytes()).decode().rstrip('=')}"


def unpack(text: str, n: int) -> Matrix | None:
    """Decode the mask of a link; None when it is not a mask of n words."""
    size, _dot, bits = text.partition(".")
    try:
        raw = base64.b64decode(bits + "=" * (-len(bits) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
    if size != str(n) or len(raw) != -(-n * n // 8):
        return None
    return np.unpackbits(np.frombuffer(raw, np.uint8), count=n * n).reshape(n, n).astype(bool)


def base_kind(kind: str) -> str:
    """Return the kind that a hand-drawn mask starts from: the last one chosen by name."""
    if kind != CUSTOM:
        st.session_state[_NAMED] = kind
    return st.session_state.get(_NAMED, "causal")


def hand_drawn_mask(recipe: masks.Recipe, n: int) -> tuple[tuple[bool, ...], ...]:
    """Return the hand-drawn mask as rows; if none was drawn for n words yet, the last one chosen by name."""
    now = unpack(state.read("masks.drawn", ""), n)
    return tuple(map(tuple, (recipe.allowed(n) if now is None else now).tolist()))


def three(data: Any, params: Any, python: str) -> tuple[int, int]:
    """Draw scores, mask and pattern side by side; return the chosen cell (query, key). A stroke on the mask makes it the visitor's.

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
        scores: dict[str, Any] = {"scale": "score", "limit": limit, "title": _("Scores, before the mask")}
        a = heatmap(data.scores, names, names, key="masks.scores", **scores, **both)
    with middle:
        _editor(data, params.mask_rows is not None, names, height, script("mask_editor", "mask"))
    with right:
        both["python"] = script("heatmap", "pattern", "allowed=mask")
        pattern: dict[str, Any] = {"allowed": data.allowed, "title": _("Pattern, after softmax")}
        b = heatmap(data.pattern, names, names, key="masks.pattern", **pattern, **both)
    for touched in (a.cell, b.cell):
        if touched and touched != chosen:
            state.write(**{"masks.cell": "{}.{}".format(*touched)})
            st.rerun()
    return chosen


def _editor(data: Any, is_custom: bool, names: list[str], height: int | None, python: str) -> None:
    """Draw the editable mask. The first stroke on a mask chosen by name makes it the visitor's, and undo goes back to the named one."""
    memory, code = st.session_state, pack(data.allowed)
    known = memory.get(_CODE)
    if not is_custom or code != known:  # a mask by name, or one that came with a link: a new edit begins here
        memory[_START], memory[_CODE] = data.allowed.copy(), code if is_custom else None
        memory[_TURN] = memory.get(_TURN, 0) + (is_custom or known is not None)
    mask_editor(
        memory[_START],
        names,
        names,
        key="masks.mask",
        turn=memory.get(_TURN, 0),
        title=_("Mask"),
        hint=_("click a cell"),
        height=height,
        python=python,
        on_stroke=_stroke,
    )


def _stroke(now: Matrix) -> None:
    st.session_state[_CODE] = pack(now)
    state.write(**{"masks.kind": CUSTOM, "masks.drawn": st.session_state[_CODE]})


def _cell(data: Any) -> tuple[int, int]:
    """Return the chosen cell, or the middle word with its highest-weighted key."""
    n = len(data.tokens)
    try:
        query, key = (int(part) for part in state.read("masks.cell", "").split("."))
    except ValueError:
        query = key = -1
    if 0 <= query < n and 0 <= key < n:
        return query, key
    return n // 2, int(data.pattern[n // 2].argmax())
