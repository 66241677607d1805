"""Every visitor's upload: its ticket, the folder of its files, the name of its model."""

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
from typing import Any

import core.serving.engine
from core.jobs.user_models import SHELF
from viz.classroom.seats import Refusal
from viz.languages import mark

VISITORS = 8
"""The most visitors with a model of their own at once."""
PREFIX = "atlas-upload-"
"""The folders' names begin so, in the system's place for temporary ones; the number of the process follows."""
SEND_AGAIN = mark("Choose the files again, and send them once more.")


def refusal(status: int, wrong: str, rule: str, remedy: str = SEND_AGAIN, **values: Any) -> Refusal:
    """Return a refusal in words, with the status of the answer."""
    return Refusal(status, wrong, rule, remedy, **values)


@dataclass(eq=False)
class Upload:
    """One visitor's upload: its folder, the files that came so far, and the name of the model once it is open."""

    session: str
    ticket: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    name: str = ""
    head: bytes = b""
    size: int = 0
    busy: bool = False
    received: set[str] = field(default_factory=set)
    temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def folder(self) -> Path:
        """Return the folder of the files, made when first asked for."""
        if self.temporary is None:
            self.temporary = tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")
        return Path(self.temporary.name)


class Uploads:
    """Every visitor's upload, by ticket. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uploads: dict[str, Upload] = {}

    def ticket(self, session: str) -> str:
        """Return the ticket of a visitor, the same during the whole visit."""
        with self._lock:
            found = next((one for one in self._uploads.values() if one.session == session), None)
            if found is None:
                found = Upload(session)
                self._uploads[found.ticket] = found
            return found.ticket

    def find(self, ticket: str) -> Upload:
        """Return the upload of a ticket. Raises Refusal for a ticket of nobody who is here."""
        found = self._uploads.get(ticket)
        if found is None:
            raise refusal(
                404,
                "This page is not known here any more.",
                "An upload belongs to a visit.",
                "Reload the page.",
            )
        return found

    def begin(self, upload: Upload) -> None:
        """Delete this visitor's model before a new one is uploaded. Raises Refusal where too many visitors have one."""
        self.forget(upload)
        sweep()
        with self._lock:
            having = sum(one.temporary is not None for one in self._uploads.values())
        if having >= VISITORS:
            raise refusal(
                503,
                "{n} visitors have a model of their own here.",
                "At most {most} may, so that there is room for the lesson.",
                "Try again when one of them has left.",
                n=having,
                most=VISITORS,
            )

    def forget(self, upload: Upload) -> None:
        """Delete the model, its answers and all files that this visitor sent."""
        name, place, upload.name, upload.temporary = upload.name, upload.temporary, "", None
        upload.received, upload.head, upload.size = set(), b"", 0
        if name:
            SHELF.drop(name)
            core.serving.engine.default().drop(name)
        if place is not None:
            place.cleanup()

    def forget_absent(self, present: Collection[str]) -> None:
        """Forget the uploads of visitors who are not here any more."""
        with self._lock:
            gone = [one for one in self._uploads.values() if one.session not in present]
            for one in gone:
                del self._uploads[one.ticket]
        for one in gone:
            self.forget(one)

    def __bool__(self) -> bool:
        return bool(self._uploads)


@functools.cache
def sweep() -> None:
    """Delete, once, the folders of servers that were killed, one with our number among them."""
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
"""The uploads of this process."""
