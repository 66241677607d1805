"""The error that visitors and notebook users read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST = 800
"""Letters of one part: what was given, and is named in it, may be a million letters long."""


def in_english(message: str, **values: Any) -> str:
    """Return a message, its `{names}` replaced by the values; without values as it is."""
    return message.format(**values) if values else message


language: Callable[..., str] = in_english
"""The function that words a message for whoever reads it: an app in several languages puts its own here."""


class Marked(str):
    """A message, marked for the catalogues; as a value of another message it is worded with it."""


class Phrase(str):
    """A part of a sentence, in English, with values of its own; as a value of a message it is worded with it.

    >>> problem = Phrase("it has {n:,} steps", n=4000)
    >>> str(InputError("{file} is refused: {problem}.", "", "", file="a.json", problem=problem)).strip()
    'a.json is refused: it has 4,000 steps.'
    """

    message: str
    values: dict[str, Any]

    def __new__(cls, message: str, **values: Any) -> Phrase:
        phrase = super().__new__(cls, in_english(message, **values))
        phrase.message, phrase.values = message, values
        return phrase

    def __getnewargs_ex__(self) -> Any:
        return (self.message,), self.values


class InputError(ValueError):
    """Something that was given cannot be used. The text has three parts; of one that is too long the middle is left out.

    `values` are filled into the `{names}` of the parts, so that an app can word them in another language; `str` is English.

    >>> error = InputError("The text has {n:,} letters.", "It has {most:,} at most.", "Shorten it.", n=4000, most=300)
    >>> str(error)
    'The text has 4,000 letters. It has 300 at most. Shorten it.'
    >>> error.remedy
    'Shorten it.'
    >>> len(InputError(f"There is no model '{'x' * 10**6}'.", "", "").wrong)
    800
    """

    def __init__(self, wrong: str, rule: str, remedy: str, **values: Any) -> None:
        self.messages = (wrong, rule, remedy) if values else tuple(map(_shortened, (wrong, rule, remedy)))
        self.values = values
        super().__init__(" ".join(_shortened(in_english(part, **values)) for part in self.messages))

    @property
    def wrong(self) -> str:
        return self._worded(0)

    @property
    def rule(self) -> str:
        return self._worded(1)

    @property
    def remedy(self) -> str:
        return self._worded(2)

    @property
    def text(self) -> str:
        """Return the three parts, worded for whoever reads them."""
        return " ".join((self.wrong, self.rule, self.remedy))

    def _worded(self, part: int) -> str:
        return _shortened(_in_reader_words(self.messages[part], self.values))

    def with_values(self, change: Callable[[str], str]) -> InputError:
        """Return the same error with its texts among the values, and those of its phrases, changed: names that the reader knows instead of ours."""
        return type(self)(*self.messages, **_changed(self.values, change))

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.messages, self.values)


def _rebuild(kind: type[InputError], messages: tuple[str, str, str], values: dict[str, Any]) -> InputError:
    return kind(*messages, **values)


class Reason(str):
    """The English text of an error, which `in_reader_language` words for whoever reads it.

    >>> reason_of(InputError("It has {n:,} letters.", "", "", n=4000)).strip(), reason_of(ValueError("no"))
    ('It has 4,000 letters.', 'no')
    """

    error: InputError

    def __new__(cls, error: InputError) -> Reason:
        reason = super().__new__(cls, error)
        reason.error = InputError(*error.messages, **error.values)  # without its traceback
        return reason

    def __reduce__(self) -> Any:
        return Reason, (self.error,)


def reason_of(error: Exception) -> str:
    """Return the text of an error to be kept: a `Reason` where it has parts."""
    return Reason(error) if isinstance(error, InputError) else str(error)


def in_reader_language(value: Any) -> Any:
    """Return a reason, a phrase or a marked message in the reader's language; anything else as it is."""
    if isinstance(value, Reason):
        return value.error.text
    if isinstance(value, Phrase):
        return _in_reader_words(value.message, value.values)
    return language(value) if isinstance(value, Marked) else value


def _in_reader_words(message: str, values: dict[str, Any]) -> str:
    return language(message, **{name: in_reader_language(value) for name, value in values.items()})


def _changed(values: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    changed = dict(values)
    for name, value in values.items():
        if isinstance(value, Phrase):
            changed[name] = Phrase(value.message, **_changed(value.values, change))
        elif isinstance(value, str) and not isinstance(value, Marked | Reason):
            changed[name] = change(value)
    return changed


class UnknownKind(InputError):
    """A model is of a kind that no format reads."""


def _shortened(part: str) -> str:
    return part if len(part) <= MOST else f"{part[: MOST // 2]}…{part[1 - MOST // 2 :]}"
