"""Models of the Hub that visitors of the app ask for: one after the other, in a thread; anybody sees how far it is and may end it.

A model of the Hub is public, so what was fetched is everybody's here. What was ended goes on where it stopped.
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
from core.serving.brought import SHELF, Brought

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fetching:
    """How a fetching stands: what, how many bytes are there, the model once it is, or what went wrong."""

    offer: Offer
    there: int = 0
    brought: Brought | None = None
    problem: InputError | None = None

    @property
    def over(self) -> bool:
        return self.brought is not None or self.problem is not None


class Fetcher:
    """Fetches one model at a time; `fetch` is how (`core.checkpoints.hub.fetch`).

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
        """The fetching that runs, or the last one."""
        return self._now

    def begin(self, offer: Offer) -> None:
        """Begin to fetch, or go on. Raises InputError while another model is being fetched."""
        with self._lock:
            if self._now and not self._now.over:
                raise InputError(
                    f"{self._now.offer.name} is being fetched.",
                    "One model is fetched at a time.",
                    "Wait for its end, or end it.",
                )
            self._stop.clear()
            self._now = Fetching(offer)
        threading.Thread(target=self._run, args=(offer,), name=f"fetching {offer.name}", daemon=True).start()

    def stop(self) -> None:
        """End it with the next bytes that come."""
        self._stop.set()

    def _run(self, offer: Offer) -> None:
        try:
            folder = self._fetch(offer, lambda there: self._heard(offer, there))
            self._now = Fetching(offer, offer.total, SHELF.put(hub.PREFIX + offer.name, folder))
        except InputError as error:
            self._now = self._ended(offer, error)
        except Exception as error:  # the visitor is told; the log has the rest
            log.exception("fetching %s failed", offer.name)
            told = InputError(
                f"{offer.name} could not be fetched ({type(error).__name__}).",
                "The server's log says more.",
                "Try again.",
            )
            self._now = self._ended(offer, told)

    def _heard(self, offer: Offer, there: int) -> None:
        if self._stop.is_set():
            raise InputError(
                "The download was stopped.", "What was downloaded is kept.", "Fetch it again to continue."
            )
        self._now = Fetching(offer, there)

    def _ended(self, offer: Offer, problem: InputError) -> Fetching:
        return replace(self._now or Fetching(offer), problem=problem)


FETCHER = Fetcher()
"""That of this process."""
