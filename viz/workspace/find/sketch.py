"""Draw a pattern, find the heads that look like it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.heads import sketch
from viz.instruments import mask_editor
from viz.labels import query_and_key
from viz.languages import _, mark
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets.export import Labelled
from viz.workspace.find import like, pool, tiles
from viz.workspace.find.pool import Pool
from viz.workspace.find.tiles import Picture, ViewContent

NEAREST = 6
EQUATION = r"s(\text{head}) = 1 - \frac{1}{|D|} \sum_{r \in D} \mathrm{JSD}(\text{drawn}_r, \text{head}_r), \qquad D = \text{rows with a stroke}"
NAMES = (mark("the word before"), mark("the word itself"), mark("the first word"), mark("blocks"))
"""The names of ready-made drawings (`core.analysis.heads.sketch`)."""
_START, _TURN, _CODE = (
    "find.start",
    "find.turn",
    "find.code",
)  # of this session: what the pad began with, how often, and its last drawing


def labels() -> list[str]:
    """Return the names of the positions of a drawing."""
    return [_("first"), *(str(place) for place in range(2, sketch.SIZE)), _("last")]


def pack(drawing: np.ndarray) -> str:
    """Write a drawing as short text for the link.

    >>> unpack(pack(np.eye(12, dtype=bool))).sum().item(), len(pack(np.eye(12, dtype=bool)))
    (12, 36)
    """
    return np.packbits(drawing).tobytes().hex()


def unpack(text: str) -> np.ndarray:
    """Read the drawing of a link; raises `state.Unusable`."""
    size = sketch.SIZE**2
    if len(text) != size // 4 or set(text) - set("0123456789abcdef"):
        raise state.Unusable(_("A drawing is {n} of the characters 0 to 9 and a to f.", n=size // 4))
    return (
        np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8))
        .astype(bool)
        .reshape(sketch.SIZE, sketch.SIZE)
    )


def show(heads_pool: Pool, selection: Selection) -> ViewContent:
    """Draw the pad at left, the most similar heads at right."""
    patterns = pool.grids(heads_pool)
    left, right = st.columns([2, 5] if state.presenting() else [2, 3], gap="large")
    with left:
        st.caption(
            _(
                "Draw where a head should attend: rows are the positions that attend, from the first word of a sentence to the last, columns the positions attended to. Empty rows do not count."
            )
        )
        drawn = _pad()
    with right:
        if not drawn.any():
            st.text(_("Draw a stroke, or take one of the drawings by name."))
            return ViewContent(
                _("Nothing is drawn."),
                EQUATION,
                lambda: like.table(heads_pool, {}, []),
                lambda: {"drawn": drawn},
                like.code(heads_pool, ""),
            )
        scores = sketch.sketch_similarity(drawn, patterns)
        order = np.argsort(-scores, kind="stable").tolist()
        ranked = [
            (heads_pool.heads[number], _("score {score:.2f}", score=scores[number]))
            for number in order[:NEAREST]
        ]
        pictures = {
            heads_pool.heads[number]: Picture(patterns[number], labels(), labels())
            for number in order[:NEAREST]
        }
        tiles.tiles(ranked, pictures, selection, "find.drawn")
    best = heads_pool.heads[order[0]]
    said = _(
        "Most like the drawing is {head} ({habit}), score {score:.2f} of 1; the median head has {median:.2f}. The score compares mean patterns on {n} sentences, each resampled to {size} positions.",
        head=best,
        habit=pool.habit(best),
        score=scores[order[0]],
        median=np.median(scores),
        n=len(pool.sentences(heads_pool)),
        size=sketch.SIZE,
    )
    last = (
        "from core.analysis.heads import sketch\nimport numpy as np\n\n"
        f"drawn = np.unpackbits(np.frombuffer(bytes.fromhex({pack(drawn)!r}), dtype=np.uint8)).astype(bool).reshape(12, 12)\n"
        "scores = sketch.sketch_similarity(drawn, sketch.mean_grids(rows))\nprint(np.argsort(-scores)[:6])"
    )
    return ViewContent(
        said,
        EQUATION,
        lambda: like.table(heads_pool, {_("score"): scores.round(4)}, order),
        lambda: {
            "drawn": Labelled(drawn, {"row": None, "column": None}),
            "scores": like.heads_along(heads_pool, scores),
            "patterns": like.heads_along(heads_pool, patterns, None, "row", "column"),
        },
        like.code(heads_pool, last),
    )


def _pad() -> np.ndarray:
    """Draw the drawing pad; the drawing is in the link, and strokes can be undone."""
    strokes = sketch.named_drawings()
    first = pack(next(iter(strokes.values())))
    wanted = state.read("find.drawn", first, lambda text: pack(unpack(text)))
    memory = st.session_state
    if memory.get(_CODE) != wanted:  # the opening drawing, or one that came with a link
        memory[_START], memory[_CODE], memory[_TURN] = unpack(wanted), wanted, memory.get(_TURN, 0) + 1
    return mask_editor(
        memory[_START],
        labels(),
        labels(),
        key="find.pad",
        turn=memory[_TURN],
        presets={_(name): drawing for name, drawing in strokes.items()},
        axis=query_and_key("position"),
        title=_("Your drawing"),
        height=330,
        drawing=True,
        on_stroke=_stroke,
    )


def _stroke(now: np.ndarray) -> None:
    st.session_state[_CODE] = pack(now)
    state.write(**{"find.drawn": st.session_state[_CODE]})
