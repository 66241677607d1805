"""Models that are added while the server runs: uploads, each for its visitor only, and models fetched from the Hub, for everybody.

The shelf knows their folders and who may open them; `core.checkpoints` reads them.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass
from pathlib import Path

from core.checkpoints.files import printable
from core.checkpoints.hub import PREFIX
from core.checkpoints.load import inspect
from core.errors import InputError
from core.jobs.listing import Listing

UPLOAD = "upload: "


def no_longer_here() -> InputError:
    """Return the error for the name of a user model that is gone; a new one each time, for a raised error keeps its
    frames, and a model in them, alive.
    """
    return InputError(
        "This model is no longer here.",
        "An uploaded model lives as long as the visit, and for its visitor only; one of the Hub is fetched by name first.",
        "Open it again on the page Your model.",
    )


@dataclass(frozen=True)
class UserModel:
    """A model with its name, its folder, the session that may open it ("" for everybody), and its entry in a picker."""

    name: str
    folder: Path
    session: str
    listing: Listing


def is_user_model(name: str) -> bool:
    """Return whether a name has the form of an upload's or of a model of the Hub.

    >>> is_user_model("upload: mine (5f0c22e1)"), is_user_model("hf:owner/name"), is_user_model("gpt-mini")
    (True, True, False)
    """
    return name.startswith((UPLOAD, PREFIX))


class Shelf:
    """The models of visitors, by name. Safe to use from many threads.

    >>> Shelf().all("Ana")
    ()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[str, UserModel] = {}

    def put(self, name: str, folder: Path, session: str = "") -> UserModel:
        """Add a model folder and return its entry; its name is that of the Hub, or for an upload `upload: NAME (RANDOM)`, which cannot be guessed.

        Raises InputError where its config and the headers of its weights say that it does not open.
        """
        own = name if name.startswith(PREFIX) else f"{UPLOAD}{printable(name, 40)} ({secrets.token_hex(4)})"
        plan = inspect(folder)[0]
        found = UserModel(
            own,
            folder,
            session,
            Listing(own, True, "", plan.spec.name, plan.memory, foreign=True, does=plan.does),
        )
        with self._lock:
            self._models[own] = found
        return found

    def find(self, name: str, session: str = "") -> UserModel:
        """Return a model by name, for a session that may open it ("": the server, which may open all). Raises InputError
        for one that is gone or of another visitor.
        """
        found = self._models.get(name)
        if found is None or (found.session and session not in ("", found.session)):
            raise no_longer_here()
        return found

    def listings(self, session: str) -> dict[str, Listing]:
        """Return the entries of all models that this session may open, by name."""
        return {one.name: one.listing for one in self.all(session)}

    def all(self, session: str) -> tuple[UserModel, ...]:
        """Return all models that this session may open, in the order in which they were added."""
        with self._lock:
            return tuple(one for one in self._models.values() if one.session in ("", session))

    def drop(self, name: str) -> UserModel | None:
        """Remove a model and return its entry, None where it is not there; its folder stays."""
        with self._lock:
            return self._models.pop(name, None)


SHELF = Shelf()
"""The shelf of this process."""
