"""Downloads of models from the Hub that visitors start: one at a time, in a thread; every visitor sees the progress and may stop it.

A model of the Hub is public, so it is everybody's here. A download that was ended continues where it stopped.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from core.checkpoints import hub
from core.checkpoints.hub import Offer
from core.errors import InputError
from core.jobs.user_models import SHELF, UserModel

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fetching:
    """The state of a download: its bytes so far, the finished model, or the error that ended it."""

    offer: Offer
    bytes_here: int = 0
    model: UserModel | None = None
    problem: InputError | None = None

    @property
    def over(self) -> bool:
        """Return whether the download has ended, with success or an error."""
        return self.model is not None or self.problem is not None


class Fetcher:
    """A queue-free downloader: one model at a time, with the function `fetch` (`core.checkpoints.hub.fetch`).

    >>> Fetcher().now is None
    True
    """

    def __init__(self, fetch: Callable[[Offer, Callable[[int], None]], Path] = hub.fetch) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._now: Fetching | None = None

    @property
    def now(self) -> Fetching | None:
        """Return the state of the present download, or of the last one."""
        return self._now

    def begin(self, offer: Offer) -> None:
        """Start or continue a download. Raises InputError while another model is being fetched."""
        with self._lock:
            if self._now and not self._now.over:
                raise InputError(
                    "{name} is being fetched.",
                    "One model is fetched at a time.",
                    "Wait for its end, or end it.",
                    name=self._now.offer.name,
                )
            self._stop.clear()
            self._now = Fetching(offer)
        threading.Thread(target=self._run, args=(offer,), name=f"fetching {offer.name}", daemon=True).start()

    def stop(self) -> None:
        """Stop the download; what has arrived stays for a later `begin`."""
        self._stop.set()

    def _run(self, offer: Offer) -> None:
        try:
            folder = self._fetch(offer, lambda count: self._note(offer, count))
            self._now = Fetching(offer, offer.total, SHELF.put(hub.PREFIX + offer.name, folder))
        except InputError as error:
            self._now = self._failed_with(offer, error)
        except Exception as error:  # the visitor is told; the log has the rest
            log.exception("fetching %s failed", offer.name)
            problem = InputError(
                "{name} could not be fetched ({kind}).",
                "The server's log says more.",
                "Try again.",
                name=offer.name,
                kind=type(error).__name__,
            )
            self._now = self._failed_with(offer, problem)

    def _note(self, offer: Offer, count: int) -> None:
        if self._stop.is_set():
            raise InputError(
                "The download was stopped.", "What was downloaded is kept.", "Fetch it again to continue."
            )
        self._now = Fetching(offer, count)

    def _failed_with(self, offer: Offer, problem: InputError) -> Fetching:
        return replace(self._now or Fetching(offer), problem=problem)


FETCHER = Fetcher()
"""The fetcher of this process."""
