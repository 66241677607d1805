"""The sentences that a class sends: one per seat, for the lecturer alone until it is accepted for the wall."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from core.errors import InputError

MOST, LONGEST, MOST_ON_WALL = 200, 300, 12
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of what follows, on the lecturer's page too."""


class Sentences:
    """The sentences of one room; not safe to use from several threads by itself.

    >>> sent = Sentences(); sent.say("seat", " A red  car. "); sent.say("other", "A blue one.")
    >>> first, second = sent.waiting(); first["words"]
    'A red car.'
    >>> sent.accept(first["id"]); sent.drop(second["id"]); sent.waiting(), [one["words"] for one in sent.accepted()]
    ([], ['A red car.'])
    """

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._accepted: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the seats whose sentence waits."""
        return iter(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def say(self, seat: str, sentence: str) -> None:
        """Note the sentence of a seat in place of the one before. Raises InputError: it is empty or too long, or there are too many."""
        words = " ".join(TURNS.sub("", sentence).split())
        if all(unicodedata.category(letter)[0] in "CZ" for letter in words):
            raise InputError(
                "The sentence is empty.", "It has 1 to {most} characters.", "Write a sentence.", most=LONGEST
            )
        if len(words) > LONGEST:
            raise InputError(
                "The sentence has {n:,} characters.",
                "It has {most} at most.",
                "Shorten it.",
                n=len(words),
                most=LONGEST,
            )
        if seat not in self._waiting and len(self._waiting) >= MOST:
            raise InputError(
                "No more sentences can be sent now.",
                "At most {most} wait for the lecturer.",
                "Try again when the lecturer has read some.",
                most=MOST,
            )
        self._waiting[seat] = words

    def waiting(self) -> list[dict[str, str]]:
        """Return what was sent and is neither accepted nor dropped, oldest first, each `{"id", "words"}`."""
        return [{"id": _identity(seat, words), "words": words} for seat, words in self._waiting.items()]

    def accepted(self) -> list[dict[str, str]]:
        """Return what the wall shows, in the same form."""
        return [{"id": identity, "words": words} for identity, words in self._accepted.items()]

    def words(self, identity: str) -> str:
        """Return the sentence with this identity; "" where there is none."""
        return next(
            (one["words"] for one in (*self.waiting(), *self.accepted()) if one["id"] == identity), ""
        )

    def accept(self, identity: str) -> None:
        """Put a waiting sentence on the wall; the oldest one there makes place."""
        if seat := self._seat(identity):
            self._accepted[identity] = self._waiting.pop(seat)
            while len(self._accepted) > MOST_ON_WALL:
                del self._accepted[next(iter(self._accepted))]

    def drop(self, identity: str) -> None:
        """Delete a sentence by its identity, whether it waits or is on the wall."""
        if seat := self._seat(identity):
            del self._waiting[seat]
        self._accepted.pop(identity, None)

    def clear(self) -> None:
        """Delete all."""
        self._waiting.clear()
        self._accepted.clear()

    def _seat(self, identity: str) -> str:
        return next((seat for seat, words in self._waiting.items() if _identity(seat, words) == identity), "")

    def state(self) -> dict[str, Any]:
        """Return the sentences as a dictionary that JSON can write."""
        return {"said": dict(self._waiting), "accepted": dict(self._accepted)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Hold what `state()` gave, of an older version too."""
        self._waiting, self._accepted = dict(state["said"]), dict(state.get("accepted", {}))


def _identity(seat: str, words: str) -> str:
    """Return a name for a sentence that is the same at every copy, tells nothing of the seat, and is another one when the words change."""
    return hashlib.blake2b(
        words.encode("utf-8", "replace"), key=seat.encode()[:64], digest_size=6
    ).hexdigest()
