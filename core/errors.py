"""The one error that visitors and notebook users read."""

from __future__ import annotations


class InputError(ValueError):
    """Something that was given cannot be used. The text has three parts.

    >>> error = InputError("The text is empty.", "A model needs at least one token.", "Type a word.")
    >>> str(error)
    'The text is empty. A model needs at least one token. Type a word.'
    >>> error.remedy
    'Type a word.'
    """

    def __init__(self, wrong: str, rule: str, remedy: str) -> None:
        super().__init__(f"{wrong} {rule} {remedy}")
        self.wrong, self.rule, self.remedy = wrong, rule, remedy

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        return type(self), (self.wrong, self.rule, self.remedy)
