"""Paths of the files that are not code: models, texts, the page server and its settings."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def home() -> Path:
    """Return the folder with `app.py` and `assets`: the checkout, or `attention_atlas` beside the installed packages."""
    beside = Path(__file__).resolve().parents[2]
    installed = beside / "attention_atlas"
    return installed if installed.is_dir() else beside


def assets(*names: str) -> Path:
    """Return the path of a folder or file below `assets`.

    >>> assets("models", "gpt-mini").is_dir()
    True
    """
    return home().joinpath("assets", *names)
