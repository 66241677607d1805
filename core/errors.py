"""The error that visitors and notebook users read."""

from __future__ import annotations

MOST = 800
"""Letters of one part: what was given, and is named in it, may be a million letters long."""


class InputError(ValueError):
    """Something that was given cannot be used. The text has three parts; of one that is too long the middle is left out.

    >>> error = InputError("The text is empty.", "A model needs at least one token.", "Type a word.")
    >>> str(error)
    'The text is empty. A model needs at least one token. Type a word.'
    >>> error.remedy
    'Type a word.'
    >>> len(InputError(f"There is no model '{'x' * 10**6}'.", "", "").wrong)
    800
    """

    def __init__(self, wrong: str, rule: str, remedy: str) -> None:
        self.wrong, self.rule, self.remedy = map(_shortened, (wrong, rule, remedy))
        super().__init__(f"{self.wrong} {self.rule} {self.remedy}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        return type(self), (self.wrong, self.rule, self.remedy)


class UnknownKind(InputError):
    """A model is of a kind that no format reads."""


def _shortened(part: str) -> str:
    return part if len(part) <= MOST else f"{part[: MOST // 2]}…{part[1 - MOST // 2 :]}"
