"""Models that come while the server runs: what a visitor uploads, for that visitor only, and what is fetched from the Hub, for everybody.

Where they lie and who may open them; how they are read is the store's affair, how they came that of who puts them here.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from core.checkpoints.files import shown
from core.checkpoints.hub import PREFIX
from core.checkpoints.load import inspect
from core.errors import InputError
from core.serving.registry import Listing

UPLOADED = "upload: "


def gone() -> InputError:
    """What is said of a name that opens nothing. Made anew each time: an error that is raised keeps the frames that it passed, and a model in them."""
    return InputError(
        "This model is no longer here.",
        "An uploaded model lives as long as the visit, and for its visitor only; one of the Hub is fetched by name first.",
        "Open it again on the page Your model.",
    )


@dataclass(frozen=True)
class Brought:
    """One model that was brought: its name, its folder, who may open it ("" for everybody), and what a picker is told."""

    name: str
    folder: Path
    session: str
    listing: Listing


def named(name: str) -> bool:
    """Whether a name is of the form of those that are brought.

    >>> named("upload: mine (5f0c22e1)"), named("hf:owner/name"), named("gpt-mini")
    (True, True, False)
    """
    return name.startswith((UPLOADED, PREFIX))


class Shelf:
    """What was brought, by name. Safe to use from many threads.

    >>> Shelf().all("Ana")
    ()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, Brought] = {}

    def put(self, name: str, folder: Path, session: str = "") -> Brought:
        """A folder by the name it is opened with: of the Hub as it is, else `upload: NAME (SIGNS)` that nobody guesses.

        Raises InputError where its config and the headers of its weights say that it does not open.
        """
        own = name if name.startswith(PREFIX) else f"{UPLOADED}{shown(name, 40)} ({secrets.token_hex(4)})"
        plan = inspect(folder)[0]
        found = Brought(
            own,
            folder,
            session,
            Listing(own, True, "", plan.spec.name, plan.memory, foreign=True, does=plan.does),
        )
        with self._lock:
            self._held[own] = found
        return found

    def find(self, name: str, session: str = "") -> Brought:
        """One by name, for who may open it ("" may open all). Raises InputError for one that is gone, or another visitor's."""
        found = self._held.get(name)
        if found is None or (found.session and session not in ("", found.session)):
            raise gone()
        return found

    def all(self, session: str) -> tuple[Brought, ...]:
        """What this visitor may open, in the order in which it came."""
        with self._lock:
            return tuple(one for one in self._held.values() if one.session in ("", session))

    def drop(self, name: str) -> Brought | None:
        """Take one away; its folder is left to who put it here."""
        with self._lock:
            return self._held.pop(name, None)

    def left(self, here: Collection[str]) -> tuple[Brought, ...]:
        """Those whose visitors are not among `here` any more."""
        with self._lock:
            return tuple(one for one in self._held.values() if one.session and one.session not in here)


SHELF = Shelf()
"""That of this process."""
