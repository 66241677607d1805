"""The versions of libraries that the app is tested with; another one is named in a sentence, not by a trace of its insides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

TESTED = {
    "streamlit": ("1.67", "1.68"),
    "altair": ("6", "7"),
    "plotly": ("7", "8"),
    "torch": ("2.10", "2.14"),
    "starlette": ("1", "2"),
    "uvicorn": ("0.44", "1"),
}
"""From this version on, and below that one: libraries whose inner names or measured behaviour the app relies on."""


def number(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with.

    >>> number("1.67.0"), number("2.13.0+cpu"), number("1.68rc1")
    ((1, 67, 0), (2, 13, 0), (1, 68))
    """
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def problems() -> dict[bool, list[str]]:
    """Return a sentence for each library outside the versions that are tested: True for those that are too old, False for newer ones."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for name, (least, below) in TESTED.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # the import says so
        if number(version) < number(least) or number(version) >= number(below):
            found[number(version) < number(least)].append(
                f"{name} {version} is installed; Attention Atlas needs {name} {least} or newer, below {below}. "
                f'Install it with: pip install "{name}>={least},<{below}"'
            )
    return found


@contextmanager
def explain() -> Iterator[None]:
    """Explain a start that fails: import the app within; it ends in a sentence where a library is too old, or too new for what is imported.

    Raises:
        SystemExit: with that sentence.
    """
    found = problems()
    if found[True]:
        raise SystemExit("\n".join(found[True]))
    try:
        yield
    except (ImportError, AttributeError, TypeError):
        if not found[False]:
            raise
        raise SystemExit("\n".join(found[False])) from None
