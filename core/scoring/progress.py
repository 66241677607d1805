"""Progress bars on standard error."""

from __future__ import annotations

from typing import Any


class _Silent:
    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, n: int) -> None:
        """Do nothing."""


def progress(total: int, unit: str) -> Any:
    """Return a progress bar for a `with` block, moved on by `.update(n)`. It shows nothing without a terminal, or where
    tqdm (extra `train`) is not installed.

    >>> with progress(3, "line") as bar:
    ...     bar.update(3)
    """
    try:
        from tqdm import tqdm
    except ImportError:
        return _Silent()
    return tqdm(total=total, unit=unit, unit_scale=True, leave=False, disable=None)
