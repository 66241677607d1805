"""The visitor's choice among several tensors, for the arithmetic and the source."""

from __future__ import annotations

from collections.abc import Sequence

from viz.instruments.kit.component import latest


def path_chosen(key: str, paths: Sequence[str], selected: str | None) -> tuple[str | None, str | None]:
    """Return the path that the instrument `key` shows as chosen, a click or `selected`, whichever is newer; and the id of the last click."""
    at = (paths.index(selected),) if selected in paths else None
    chosen, echo = latest(key, "path", at, (len(paths),))
    return (paths[chosen[0]] if chosen else None), echo
