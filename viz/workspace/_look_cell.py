"""One cell of the full view: how its weight is computed, and the lines of code that computed it."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from core.lessons.arithmetic import lines_of, needed, needed_lines
from core.lessons.source import needed_source, source_of, tensor_card
from core.run import Run
from viz.instruments import arithmetic, source
from viz.remember import remembered
from viz.ui import compute
from viz.workspace._look_heads import Place

WHOLE = 128
"""Up to so many tokens the tensors of all layers are kept at once: another head then needs no further pass."""
TENSOR = "look.tensor"


def deep(run: Run, place: Place) -> Run:
    """The same pass with every tensor that the arithmetic and the source show."""
    kind = run.model.spec.kind(place.kind)
    layers = range(kind.n_layers(run.model.config)) if len(run.ids) <= WHOLE else (place.layer,)
    keep = remembered(run.model, ("deep", place.kind, tuple(layers)), lambda: _paths(run, place.kind, layers))
    text = run.source.text if run.source else run.side.text
    return compute.run(run.model.name, text, target=run.target_text, pair=run.side.pair, keep=keep)


def _paths(run: Run, kind: str, layers: Iterable[int]) -> tuple[str, ...]:
    wanted = (needs(run, kind, layer) for needs in (needed, needed_lines, needed_source) for layer in layers)
    return tuple(sorted({path for paths in wanted for path in paths}))


def show(run: Run, place: Place, piece: tuple[int, int], words: tuple[str, str], *, joined: bool) -> None:
    """The arithmetic of the cell, and beside it the source; a tensor chosen in one is marked in the other."""
    found = deep(run, place)
    lines = lines_of(found, place.kind, place.layer, place.head, *piece)
    left, right = st.columns([3, 2], gap="large")
    with left:
        path = arithmetic(lines, key="look.cell", words=words, selected=st.session_state.get(TENSOR)).path
        if joined:
            st.caption("Arithmetic is done on pieces: this is the first piece of each word. A word's weight is the sum over its pieces.")
    with right:
        code = source_of(found, place.kind, place.layer)
        given = path or next((line.path for line in code if line.leaf == "pattern"), None)
        chosen = source(code, key="look.source", selected=given, card=None if given is None else tensor_card(found, given), title="The code that did it").path
    if chosen != given:  # a line of code was touched: its numbers, and its place in the arithmetic, come with the next run
        st.session_state[TENSOR] = chosen
        st.rerun(scope="fragment")
