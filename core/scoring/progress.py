"""Progress bars on standard error: in a terminal and in a notebook, one line that is rewritten."""

from __future__ import annotations

import sys
from typing import Any


class Silent:
    """A progress bar that shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, n: int) -> None:
        """Do nothing."""


class Line(Silent):
    """A progress bar without tqdm: one line that is rewritten, and empty in the end."""

    def __init__(self, total: int | None, unit: str) -> None:
        self._total, self._unit, self._count, self._width = total, unit, 0, 0

    def __exit__(self, *_: object) -> None:
        self._write("")
        sys.stderr.write("\r")

    def update(self, n: int) -> None:
        """Write how many of all there are after `n` more."""
        self._count += n
        total = "" if self._total is None else f" of {self._total:,}"
        self._write(f"{self._count:,}{total} {self._unit}s")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)


def progress(total: int | None, unit: str) -> Any:
    """Return a progress bar for a `with` block, moved on by `.update(n)`: of tqdm (extra `train`) where that is
    installed. It shows nothing where nobody watches: without a terminal or a notebook.

    >>> with progress(3, "line") as bar:
    ...     bar.update(3)
    """
    if not _is_watched():
        return Silent()
    try:
        from tqdm import tqdm
    except ImportError:
        return Line(total, unit)
    return tqdm(total=total, unit=unit, unit_scale=True, leave=False)


def _is_watched() -> bool:
    """Return whether standard error is a terminal, or a cell of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") or (sys.stderr is not None and sys.stderr.isatty())
