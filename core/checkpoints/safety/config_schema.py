"""A config.json by our own schema: known keys with ranges, unknown keys ignored, unknown arithmetic refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from core.checkpoints.files import shown
from core.errors import InputError

RANGES: Mapping[str, int] = {
    "n_layers": 512,
    "n_decoder_layers": 512,
    "n_heads": 1024,
    "d_model": 2**16,
    "d_ff": 2**20,
    "n_vocab": 2**22,
    "n_ctx": 2**20,
    "n_segments": 2**10,
    "d_embed": 2**16,
    "image": 2**13,
    "patch": 2**10,
    "channels": 2**8,
    "n_kv_heads": 1024,
    "d_head": 2**16,
    "window": 2**20,
    "n_buckets": 2**12,
    "furthest": 2**20,
}
"""The largest value of each size that a config may name; the smallest is 1."""

MAX_POSITIONS = 2**27
"""Positions times width: the tables that are computed, not stored, stay below half a gigabyte."""

SMALLEST = 1e-37
"""Below, float32 has no number of full precision left."""

LARGEST = 10**9
"""Of a number without a unit of its own, as a cap."""

Value = TypeVar("Value")
ELSEWHERE = "Open a model without it."
MOST_WORDS = 10_000
"""Words that a config may forbid."""


class Fields:
    """Values of a config, each asked for by name with what it may be.

    >>> Fields({"n_head": 0}).whole("n_head", largest=1024)
    Traceback (most recent call last):
    core.errors.InputError: config.json: n_head is 0. It must be a whole number from 1 to 1,024. Correct it, or download the model again.
    """

    def __init__(self, values: Mapping[str, Any], where: str = "config.json") -> None:
        self._values, self._where = values, where

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def says(self, name: str) -> bool:
        """Whether the name is there at all, be it with null."""
        return name in self._values

    def without(self, name: str) -> Fields:
        """The same, as if that name were not there."""
        return Fields({other: value for other, value in self._values.items() if other != name}, self._where)

    def having(self, **values: Any) -> Fields:
        """The same, with these values."""
        return Fields({**self._values, **values}, self._where)

    def raw(self, name: str) -> Any:
        return self._values.get(name)

    def whole(self, *names: str, largest: int, default: int | None = None, least: int = 1) -> int:
        """A whole number from `least` to `largest`, under its name or an alias (which must then agree)."""
        found = {name: self._values[name] for name in names if self._values.get(name) is not None}
        if not found:
            if default is not None:
                return default
            raise self._wrong(
                f"{names[0]} is missing", f"It must be a whole number from {least} to {largest:,}."
            )
        for name, value in found.items():
            if type(value) is not int or not least <= value <= largest:
                raise self._wrong(
                    f"{name} is {self._said(value)}",
                    f"It must be a whole number from {least} to {largest:,}.",
                )
        if len(set(found.values())) > 1:
            raise self._wrong(
                " and ".join(f"{n} is {v}" for n, v in found.items()), "They name the same size."
            )
        return next(iter(found.values()))

    def in_their_words(self, error: InputError, names: Mapping[str, tuple[str, ...]]) -> InputError:
        """The same error with the names of the file where it has ours: of several that is there, else the first."""
        said = _names(self._values)
        known = {
            ours: next((name for name in theirs if name in said), theirs[0]) for ours, theirs in names.items()
        }
        wrong = re.sub(r"\b(\w+)=", lambda found: f"{known.get(found[1], found[1])}=", error.wrong)
        return InputError(wrong, error.rule, error.remedy)

    def small(self, name: str, default: float) -> float:
        """A number strictly between 0 and 1, not so small that float32 takes it for 0."""
        value = self._values.get(name, default)
        if type(value) not in (int, float) or not (math.isfinite(value) and SMALLEST <= value < 1):
            raise self._wrong(f"{name} is {self._said(value)}", f"It must lie between {SMALLEST} and 1.")
        return float(value)

    def positive(self, name: str, default: float) -> float:
        """A positive number; absence gives the default, null 0."""
        value = self._values.get(name, default)
        value = 0.0 if value is None else value
        least = 0 if self._values.get(name) is None else SMALLEST
        if type(value) not in (int, float) or not least <= value <= LARGEST:
            rule = f"It must be a positive number from {SMALLEST} to {LARGEST:,}."
            raise self._wrong(f"{name} is {self._said(value)}", rule)
        return float(value)

    def flag(self, name: str, default: bool | None) -> bool | None:
        """True or false; absent and null give the default."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(f"{name} is {self._said(value)}", "It must be true or false.")
        return default if value is None else value

    def one_of(self, name: str, known: Mapping[str, Value], default: str) -> Value:
        """A word out of a list, translated."""
        value = self._values.get(name) or default
        if not isinstance(value, str) or value not in known:
            raise self._wrong(f"{name} is {self._said(value)}", f"Known here: {', '.join(known)}.", ELSEWHERE)
        return known[value]

    def only(self, name: str, value: Any, why: str, remedy: str = ELSEWHERE) -> None:
        """A switch that changes the arithmetic: absent, null, or exactly the value that is implemented."""
        given = self._values.get(name)
        if given is not None and (given != value or type(given) is not type(value)):
            raise self._wrong(f"{name} is {self._said(given)}", why, remedy)

    def absent(self, name: str, why: str) -> None:
        """Something that must not be there (empty is not there)."""
        if self._values.get(name):
            raise self._wrong(f"{name} is set", why, ELSEWHERE)

    def token_id(self, name: str, n_vocab: int) -> int | None:
        """The id of a special token, None if there is none or it lies outside the table; of a list the first."""
        return next(iter(self.token_ids(name, n_vocab)), None)

    def token_ids(self, name: str, n_vocab: int) -> tuple[int, ...]:
        """Return the ids of the special tokens of one sort, without those that lie outside the table."""
        value = self._values.get(name)
        given = value if isinstance(value, list) else [value]
        return tuple(dict.fromkeys(id for id in given if type(id) is int and 0 <= id < n_vocab))

    def words(self, name: str, n_vocab: int) -> tuple[tuple[int, ...], ...]:
        """A list of words, each a list of the ids of its tokens; absent and null give none."""
        value = self._values.get(name) or ()
        known = isinstance(value, (list, tuple)) and all(
            isinstance(word, list)
            and word
            and all(type(each) is int and 0 <= each < n_vocab for each in word)
            for word in value
        )
        if (
            not known
            or len(value) > MOST_WORDS
            or len({word[0] for word in value if len(word) == 1}) >= n_vocab
        ):
            rule = f"It is a list of at most {MOST_WORDS:,} lists of ids, each below the {n_vocab:,} rows of the model, and leaves one to write."
            raise self._wrong(f"{name} is {self._said(value)}", rule)
        return tuple(map(tuple, value))

    def _said(self, value: Any) -> str:
        return f"'{shown(value, 40)}'" if isinstance(value, str) else shown(repr(value)[:60], 40)

    def _wrong(
        self, what: str, rule: str, remedy: str = "Correct it, or download the model again."
    ) -> InputError:
        return InputError(f"{self._where}: {what}.", rule, remedy)


def name_for(known: Mapping[str, Value], value: Value) -> str | None:
    """The word that `one_of` would translate into this value: the first, if there are several; None for none."""
    return next((word for word, meant in known.items() if meant == value), None)


def _names(values: Mapping[str, Any], depth: int = 3) -> set[str]:
    """Every name in an object and in the objects in it."""
    within = (part for part in values.values() if isinstance(part, dict) and depth)
    return set(values).union(*(_names(part, depth - 1) for part in within))


def _mistyped(kind: type[Any], values: Mapping[str, Any]) -> str:
    """Which values are not of the sort that a config of this kind has there."""
    usual = kind.tiny()
    odd = [
        f"{name} is {repr(value)[:30]}"
        for name, value in values.items()
        if type(value) is not type(getattr(usual, name, value))
    ]
    return f"{' and '.join(odd) or 'one of its values'}, which is not of the sort that stands there"


def built(kind: type[Any], values: Mapping[str, Any], *, tables: bool = True) -> Any:
    """A family's config from checked values; `tables`: it has one of a vector for each position.

    Raises InputError where the family's own rules refuse them.
    """
    try:
        config = kind(**values)
    except (ValueError, TypeError) as error:
        wrong = str(error) if isinstance(error, ValueError) else _mistyped(kind, values)
        raise InputError(
            f"config.json: {shown(wrong, 160)}.",
            "The sizes must fit together.",
            "Correct it, or download the model again.",
        ) from None
    if tables and config.n_ctx * config.d_model > MAX_POSITIONS:
        raise InputError(
            f"config.json: {config.n_ctx:,} positions of width {config.d_model:,}.",
            f"Positions times width may be at most {MAX_POSITIONS:,}.",
            "Correct it, or download the model again.",
        )
    return config
