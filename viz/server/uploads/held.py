"""Every visitor's upload: its ticket, where its files lie, the model that became of it."""

from __future__ import annotations

import functools
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import core.serving.engine
from core.serving.brought import SHELF
from viz.server.rooms.seats import Refusal

VISITORS = 8
"""So many may have a model of their own here at once."""
PREFIX = "atlas-upload-"
"""How the folders begin, in the system's place for temporary ones; then stands the number of the process."""
AGAIN = "Choose the files again, and send them once more."


def refusal(status: int, wrong: str, rule: str, remedy: str = AGAIN) -> Refusal:
    """What is refused, in words, with the status of the answer."""
    return Refusal(status, wrong, rule, remedy)


@dataclass(eq=False)
class Upload:
    """What one visitor sends: where it lies, what came so far, and the name of the model once it is open."""

    session: str
    ticket: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    name: str = ""
    head: bytes = b""
    size: int = 0
    busy: bool = False
    came: set[str] = field(default_factory=set)
    place: tempfile.TemporaryDirectory[str] | None = None

    @property
    def folder(self) -> Path:
        if self.place is None:
            self.place = tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")
        return Path(self.place.name)


class Uploads:
    """Every visitor's upload, by ticket. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, Upload] = {}

    def ticket(self, session: str) -> str:
        """The ticket of a visitor, the same as long as he is here."""
        with self._lock:
            found = next((one for one in self._held.values() if one.session == session), None)
            if found is None:
                found = Upload(session)
                self._held[found.ticket] = found
            return found.ticket

    def find(self, ticket: str) -> Upload:
        """Raises Refusal for a ticket of nobody who is here."""
        found = self._held.get(ticket)
        if found is None:
            raise refusal(
                404,
                "This page is not known here any more.",
                "An upload belongs to a visit.",
                "Reload the page.",
            )
        return found

    def begin(self, upload: Upload) -> None:
        """The first file of a new model comes: the one before goes. Raises Refusal where too many have one."""
        self.forget(upload)
        swept()
        with self._lock:
            having = sum(one.place is not None for one in self._held.values())
        if having >= VISITORS:
            raise refusal(
                503,
                f"{having} visitors have a model of their own here.",
                f"At most {VISITORS} may, so that there is room for the lesson.",
                "Try again when one of them has left.",
            )

    def forget(self, upload: Upload) -> None:
        """Let go of what this visitor sent: model, answers, files."""
        name, place, upload.name, upload.place = upload.name, upload.place, "", None
        upload.came, upload.head, upload.size = set(), b"", 0
        if name:
            SHELF.drop(name)
            core.serving.engine.default().drop(name)
        if place is not None:
            place.cleanup()

    def left(self, here: Collection[str]) -> None:
        """Forget those whose visitors are not here any more."""
        with self._lock:
            gone = [one for one in self._held.values() if one.session not in here]
            for one in gone:
                del self._held[one.ticket]
        for one in gone:
            self.forget(one)

    def __bool__(self) -> bool:
        return bool(self._held)


@functools.cache
def swept() -> None:
    """Before the first upload: away with what servers left that were killed, one with our number among them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdecimal() and (int(number) == os.getpid() or not _runs(int(number))):
            shutil.rmtree(folder, ignore_errors=True)


def _runs(number: int) -> bool:
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of somebody else
        return True
    return True


UPLOADS = Uploads()
"""Those of this process."""
