"""One cell of the full view: how its weight is computed, and the lines of code that computed it.

Both stand below the pictures, so they are made only while the visitor sees their place (or nearly): until the browser says
so, a packet of a few hundred bytes names the cell. When the place comes into view, this part alone runs again.
"""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from core.analysis.arithmetic.cell import cell_arithmetic, cell_paths, row_paths
from core.analysis.arithmetic.source import source_lines, source_paths, tensor_card
from core.run import Run
from viz.instruments import arithmetic, source
from viz.instruments.arithmetic.arithmetic import Cell, in_view, paths_of, show_pending
from viz.instruments.kit.paths import path_chosen
from viz.instruments.kit.picture import lines as python_lines
from viz.labels import literal, percent, visible
from viz.languages import _, mark
from viz.memo import remembered
from viz.shell import errors
from viz.shell.selection import Selection
from viz.workspace.shared import model_run
from viz.workspace.shared.head_ref import HeadRef

TENSOR = "look.tensor"
LINES, CODE = "look.cell", "look.source"
SHORT = 128
"""In texts of at most so many tokens the tensors of all layers are kept once a cell is looked at: another head then needs no further pass."""
SAME = 5e-4
PIECES = mark(
    "The model reads tokens, and “{query}” or “{key}” is several: {weight} is the sum over the tokens looked at and the mean over those that look. Calculated here is the pair of tokens with the largest weight, {largest}."
)


def deep(run: Run, place: HeadRef) -> Run:
    """Run the same pass with every tensor that the arithmetic and the source show."""
    return model_run.rerun(run, _deep_paths(run, place))


def _deep_paths(run: Run, place: HeadRef) -> tuple[str, ...]:
    kind = run.model.spec.kind(place.kind)
    layers = range(kind.n_layers(run.model.config)) if len(run.ids) <= SHORT else (place.layer,)
    return remembered(run.model, ("deep", place.kind, tuple(layers)), lambda: _paths(run, place.kind, layers))


def _paths(run: Run, kind: str, layers: Iterable[int]) -> tuple[str, ...]:
    wanted = (needs(run, kind, layer) for needs in (row_paths, cell_paths, source_paths) for layer in layers)
    return tuple(sorted({path for paths in wanted for path in paths}))


def show(
    run: Run, place: HeadRef, piece: tuple[int, int], words: tuple[str, str], *, shown_weight: float
) -> None:
    """Draw the arithmetic of the cell, and below it the source; a tensor chosen in one is marked in the other.

    shown_weight: as the pictures show it; of words with several pieces it is not that of `piece`.
    """
    weight = float(run.trace[run.model.spec.kind(place.kind).path(place.layer, "pattern")][place.head][piece])
    selection = model_run.selection_of(run)
    cell = Cell((place.layer, place.head, *piece), weight, words, repr((selection, place.kind)))
    _cell(selection, _deep_paths(run, place), place, cell, shown_weight)


@st.fragment
def _cell(
    selection: Selection, keep: tuple[str, ...], place: HeadRef, cell: Cell, shown_weight: float
) -> None:
    """Draw as much of it as the visitor can see; a report of the browser about that reruns this and nothing else.

    Streamlit keeps what a fragment was called with, and a run is large: it comes from the engine again.
    """
    with errors.guard():
        if not in_view(LINES):
            show_pending(cell, key=LINES)
            return
        found = model_run.run_with(selection, keep)
        lines = cell_arithmetic(found, place.kind, *cell.indices)
        code = source_lines(found, place.kind, place.layer)
        taps = [line.path for line in code if line.path is not None]
        chosen = _marked_tensor({CODE: taps, LINES: paths_of(lines)})
        given = chosen or next((line.path for line in code if line.leaf == "pattern"), None)
        if abs(shown_weight - cell.weight) > SAME:
            query, key = (literal(visible(word)) for word in cell.words)
            shown, largest = percent(shown_weight), percent(cell.weight)
            st.caption(_(PIECES, query=query, key=key, weight=shown, largest=largest))
        layer, head, query, at = cell.indices
        again = python_lines(
            found, "arithmetic", layer=layer, head=head, query=query, key=at, kind=place.kind
        )
        arithmetic(lines, key=LINES, words=cell.words, selected=chosen, cell=cell, python=again)
        card = (
            None if given is None else remembered(found, ("card", given), lambda: tensor_card(found, given))
        )
        source(
            code,
            key=CODE,
            selected=given,
            card=card,
            title=_("The code that computed it"),
            python=python_lines(found, "source", layer=place.layer, kind=place.kind, path=given),
        )


def _marked_tensor(paths_by_picture: dict[str, list[str]]) -> str | None:
    """Return the tensor that is marked in both: that of the last click in either of them, as long as one of them shows it."""
    now = st.session_state.get(TENSOR)
    if not any(now in paths for paths in paths_by_picture.values()):
        now = None  # it belongs to another layer or model
    for key, paths in paths_by_picture.items():
        now = path_chosen(key, paths, now)[0] or now
    st.session_state[TENSOR] = now
    return now
