"""A config.json by our own schema: known keys with ranges, unknown keys ignored, unknown arithmetic refused."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, TypeVar

from core.checkpoints.files import printable, short
from core.errors import InputError, Phrase
from core.wording import mark

CONFIG = "config.json"
REPAIR = mark("Correct it, or download the model again.")
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
    "reach": 2**20,
    "block": 2**20,
    "n_random": 512,
    "d_rotary": 2**16,
    "scale": 2**16,
    "n_experts": 4096,
    "n_active": 4096,
}
"""The largest value of each size that a config may name; the smallest is 1."""

MAX_POSITIONS = 2**27
"""Positions times width: the tables that are computed, not stored, stay below half a gigabyte."""

SMALLEST = 1e-37
"""Below, float32 has no number of full precision left."""

LARGEST = 10**9
"""Of a number without a unit of its own, as a cap."""

Value = TypeVar("Value")
ELSEWHERE = mark("Open a model without it.")
AND = mark("{one} and {other}")
ONLY = mark("Only {name} = {computed} is computed for this kind.")
WRONG_VALUE = mark("{where}: {name} is {value}.")
WHOLE_NUMBER = mark("It must be a whole number from {least} to {largest:,}.")
MOST_WORDS = 10_000
"""Words that a config may forbid."""


class Fields:
    """Values of a config, each read by name with its allowed range.

    >>> Fields({"n_head": 0}).whole_number("n_head", largest=1024)
    Traceback (most recent call last):
    core.errors.InputError: config.json: n_head is 0. It must be a whole number from 1 to 1,024. Correct it, or download the model again.
    """

    def __init__(self, values: Mapping[str, Any], where: str = CONFIG) -> None:
        self._values, self._where = values, where

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def says(self, name: str) -> bool:
        """Return whether the name is there at all, be it with null."""
        return name in self._values

    def excluding(self, name: str) -> Fields:
        """Return the fields without this name."""
        return Fields({other: value for other, value in self._values.items() if other != name}, self._where)

    def having(self, **values: Any) -> Fields:
        """Return the fields with these values."""
        return Fields({**self._values, **values}, self._where)

    def with_defaults(self, values: Mapping[str, Any]) -> Fields:
        """Return the fields with these values where they are missing."""
        return Fields({**values, **self._values}, self._where)

    def raw(self, name: str) -> Any:
        return self._values.get(name)

    def whole_number(self, *names: str, largest: int, default: int | None = None, least: int = 1) -> int:
        """Return a whole number from `least` to `largest`, under its name or an alias (which must then agree)."""
        numbers = {name: self._values[name] for name in names if self._values.get(name) is not None}
        if not numbers:
            if default is not None:
                return default
            wrong = mark("{where}: {name} is missing.")
            raise self._wrong(names[0], None, WHOLE_NUMBER, wrong=wrong, least=least, largest=largest)
        for name, value in numbers.items():
            if type(value) is not int or not least <= value <= largest:
                raise self._wrong(name, value, WHOLE_NUMBER, least=least, largest=largest)
        if len(set(numbers.values())) > 1:
            raise InputError(
                "{where}: {sizes}.",
                "They name the same size.",
                REPAIR,
                where=self._where,
                sizes=joined(Phrase("{name} is {value}", name=n, value=v) for n, v in numbers.items()),
            )
        return next(iter(numbers.values()))

    def in_their_words(self, error: InputError, names: Mapping[str, tuple[str, ...]]) -> InputError:
        """Return the same error with the file's own names in place of ours: of several names the one in the file, else the first."""
        said = _names(self._values)
        known = {
            ours: next((name for name in theirs if name in said), theirs[0]) for ours, theirs in names.items()
        }
        return error.with_values(
            lambda text: re.sub(r"\b(\w+)=", lambda match: f"{known.get(match[1], match[1])}=", text)
        )

    def small(self, name: str, default: float) -> float:
        """Return a number strictly between 0 and 1, not so small that float32 rounds it to 0."""
        value = self._values.get(name, default)
        if type(value) not in (int, float) or not (math.isfinite(value) and SMALLEST <= value < 1):
            raise self._wrong(name, value, mark("It must lie between {least} and 1."), least=SMALLEST)
        return float(value)

    def positive(self, name: str, default: float) -> float:
        """Return a positive number; `default` if the key is absent, 0 if it is null."""
        value = self._values.get(name, default)
        value = 0.0 if value is None else value
        least = 0 if self._values.get(name) is None else SMALLEST
        if type(value) not in (int, float) or not least <= value <= LARGEST:
            rule = mark("It must be a positive number from {least} to {largest:,}.")
            raise self._wrong(name, value, rule, least=SMALLEST, largest=LARGEST)
        return float(value)

    def flag(self, name: str, default: bool | None) -> bool | None:
        """Return True or False; `default` if the key is absent or null."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(name, value, mark("It must be true or false."))
        return default if value is None else value

    def one_of(self, name: str, choices: Mapping[str, Value], default: str) -> Value:
        """Return the value that `choices` has for the word in the file. Raises InputError for another word."""
        value = self._values.get(name) or default
        if not isinstance(value, str) or value not in choices:
            raise self._wrong(
                name, value, mark("Known here: {choices}."), ELSEWHERE, choices=", ".join(choices)
            )
        return choices[value]

    def only(self, name: str, value: Any, rule: str, remedy: str = ELSEWHERE, **values: Any) -> None:
        """Raise InputError unless field `name` is absent, null or exactly `value`, the one that is implemented; `rule` and `remedy` are the error's second and third sentence."""
        given = self._values.get(name)
        if given is not None and (given != value or type(given) is not type(value)):
            raise self._wrong(name, given, rule, remedy, **values)

    def absent(self, name: str, rule: str) -> None:
        """Check that a field is missing or empty."""
        if self._values.get(name):
            raise self._wrong(name, None, rule, ELSEWHERE, wrong=mark("{where}: {name} is set."))

    def token_id(self, name: str, n_vocab: int) -> int | None:
        """Return the id of a special token, of a list the first; None without one in the table."""
        return next(iter(self.token_ids(name, n_vocab)), None)

    def token_ids(self, name: str, n_vocab: int) -> tuple[int, ...]:
        """Return the ids of the special tokens of one sort, without those that lie outside the table."""
        value = self._values.get(name)
        given = value if isinstance(value, list) else [value]
        return tuple(dict.fromkeys(id for id in given if type(id) is int and 0 <= id < n_vocab))

    def words(self, name: str, n_vocab: int) -> tuple[tuple[int, ...], ...]:
        """Return a list of words, each a list of token ids; an empty list if the key is absent or null."""
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
            rule = mark(
                "It is a list of at most {most:,} lists of ids, each below the {rows:,} rows of the model, and leaves one to write."
            )
            raise self._wrong(name, value, rule, most=MOST_WORDS, rows=n_vocab)
        return tuple(map(tuple, value))

    def _quote(self, value: Any) -> str:
        return f"'{printable(value, 40)}'" if isinstance(value, str) else printable(repr(value)[:60], 40)

    def _wrong(
        self,
        name: str,
        value: Any,
        rule: str,
        remedy: str = REPAIR,
        *,
        wrong: str = WRONG_VALUE,
        **values: Any,
    ) -> InputError:
        given = self._quote(value)
        return InputError(wrong, rule, remedy, **values, where=self._where, name=name, value=given)


def name_for(choices: Mapping[str, Value], value: Value) -> str | None:
    """Return the word of `choices` that means this value, the first of several; None if there is none. The inverse of `one_of`."""
    return next((word for word, meant in choices.items() if meant == value), None)


def _names(values: Mapping[str, Any], depth: int = 3) -> set[str]:
    """Return every name in an object and in the objects in it."""
    within = (part for part in values.values() if isinstance(part, dict) and depth)
    return set(values).union(*(_names(part, depth - 1) for part in within))


def _mistyped(kind: type[Any], values: Mapping[str, Any]) -> Phrase:
    """Return the part of a sentence that lists the values of the wrong type for a config of this kind."""
    usual = kind.tiny()
    odd = [
        Phrase("{name} is {value}", name=name, value=repr(value)[:30])
        for name, value in values.items()
        if type(value) is not type(getattr(usual, name, value))
    ]
    given = joined(odd) if odd else mark("one of its values")
    return Phrase("{given}, which is not of the sort that stands there", given=given)


def _phrase_of(error: ValueError) -> str:
    return next((part for part in error.args if isinstance(part, Phrase)), str(error))


def joined(parts: Iterable[str], pair: str = AND) -> str:
    """Return several parts of a sentence as one, each pair as `pair` says.

    >>> joined(["a", "b", "c"])
    'a and b and c'
    """
    return reduce(lambda one, other: Phrase(pair, one=one, other=other), parts)


def alternatives(kinds: Mapping[str, Iterable[str]]) -> str:
    """Return several kinds, each with the keys that go with it, as one part of a sentence.

    >>> alternatives({"default": (), "linear": ("factor",)})
    'default, or as linear (with factor)'
    """
    given = {kind: ", ".join(keys) for kind, keys in kinds.items()}
    each = (
        Phrase("{kind} (with {keys})", kind=kind, keys=keys) if keys else kind for kind, keys in given.items()
    )
    return joined(each, mark("{one}, or as {other}"))


def config_error(problem: str, rule: str, remedy: str, **values: Any) -> InputError:
    """Return the error for a config.json; `problem` is the part of a sentence that follows its name."""
    return InputError("{where}: {problem}.", rule, remedy, **values, where=CONFIG, problem=problem)


def wrong_value(key: str, value: Any, rule: str, remedy: str = REPAIR, **values: Any) -> InputError:
    """Return the error for a value of config.json."""
    given = printable(repr(value), 60)
    return InputError(WRONG_VALUE, rule, remedy, **values, where=CONFIG, name=key, value=given)


def build_config(kind: type[Any], values: Mapping[str, Any], *, tables: bool = True) -> Any:
    """Return a family's config from checked values; `tables`: it has one of a vector for each position.

    Raises InputError where the family's own rules refuse them.
    """
    try:
        config = kind(**values)
    except (ValueError, TypeError) as error:
        problem = _mistyped(kind, values) if isinstance(error, TypeError) else _phrase_of(error)
        raise config_error(short(problem, 160), "The sizes must fit together.", REPAIR) from None
    if tables and config.n_ctx * config.d_model > MAX_POSITIONS:
        problem = Phrase("{n:,} positions of width {width:,}", n=config.n_ctx, width=config.d_model)
        rule = mark("Positions times width may be at most {most:,}.")
        raise config_error(problem, rule, REPAIR, most=MAX_POSITIONS)
    return config
