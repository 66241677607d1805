"""The errata: where the documents and arithmetic part, each entry with a function that computes the evidence now.

>>> find("E1").kind, len(find("E1").evidence().panels) > 0
('W', True)
"""

from __future__ import annotations

import importlib
import pkgutil

from viz.course.errata.entry import KINDS, Erratum, Evidence, Panel, Where

__all__ = ["ERRATA", "KINDS", "Erratum", "Evidence", "Panel", "Where", "find"]


def _load_errata() -> tuple[Erratum, ...]:
    modules = [
        importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    entries = [each for module in modules for each in vars(module).values() if isinstance(each, Erratum)]
    return tuple(sorted(entries, key=lambda entry: entry.number))


ERRATA: tuple[Erratum, ...] = _load_errata()
_BY_ID = {entry.id: entry for entry in ERRATA}


def find(id: str) -> Erratum:
    """Return the entry with that id. Raises KeyError for an id that the list does not have.

    >>> find("E0")
    Traceback (most recent call last):
    KeyError: "There is no erratum 'E0'."
    """
    try:
        return _BY_ID[id]
    except KeyError:
        raise KeyError(f"There is no erratum {id!r}.") from None
