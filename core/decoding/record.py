"""A whole decoding as data: the arguments of `decode`, by value. It can be stored, sent, put in a link, and run again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from core.checkpoints.files import strict_json
from core.decoding.decode import decode
from core.decoding.step import Step
from core.decoding.strategies import Beam, Greedy, Sample, Strategy
from core.errors import InputError
from core.wording import mark

if TYPE_CHECKING:
    from core.model import Model

Forced = tuple[tuple[int, int], ...]
FORMAT = 1
LONGEST = 1_000_000  # letters of a decoding in JSON
_STRATEGIES: Mapping[str, type[Strategy]] = {kind.__name__.lower(): kind for kind in (Greedy, Sample, Beam)}
_RULE = mark("It is one JSON object as Decoding.to_json writes it.")
_REMEDY = "Copy it again, or begin a new decoding."
_PAIR = re.compile(r"(0|[1-9][0-9]{0,8}):(0|[1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Decoding:
    """Everything that `decode` needs, edits aside; equal decodings write equal steps.

    What was computed, attention too, is no part of it: running it again gives that. `model` is a listed name. `force` holds (step, id) pairs; they are kept in the order of the steps.
    Raises InputError for a value of the wrong kind; whether the model can read the text shows when it is run.

    >>> decoding = Decoding("gpt-mini", "Once", Sample(temperature=0.8, seed=3), force=((2, 19),))
    >>> Decoding.from_json(decoding.to_json()) == decoding
    True
    >>> Decoding.from_json('{"decoding": 1, "model": "gpt-mini", "txt": "Once"}')
    Traceback (most recent call last):
    core.errors.InputError: The decoding has an unknown field 'txt'. It is one JSON object as Decoding.to_json writes it. Copy it again, or begin a new decoding.
    """

    model: str
    text: str
    strategy: Strategy = Greedy()  # noqa: RUF009 - frozen, holds nothing
    prefix: str = ""
    max_new_tokens: int = 40
    force: Forced = ()

    def __post_init__(self) -> None:
        for name in ("model", "text", "prefix"):
            if not isinstance(getattr(self, name), str):
                raise _broken(f"The {name} of the decoding is no text.")
        if not isinstance(self.strategy, Strategy):
            raise _broken(mark("The decoding has no strategy."))
        if not _is_count(self.max_new_tokens):
            raise InputError(
                "max_new_tokens is {max_new_tokens}.",
                "It is a whole number, 0 or more.",
                "Choose 40.",
                max_new_tokens=self.max_new_tokens,
            )
        object.__setattr__(self, "force", _checked(self.force))

    def to_json(self) -> str:
        """Return one line of JSON."""
        strategy = {"name": type(self.strategy).__name__.lower(), **asdict(self.strategy)}
        return json.dumps({"decoding": FORMAT, **asdict(self), "strategy": strategy}, allow_nan=False)

    @classmethod
    def from_json(cls, raw: str) -> Decoding:
        """Return the decoding that `to_json` wrote. A field with a default may be missing, so that what an older version wrote still runs.

        Raises InputError: no JSON, no decoding, an unknown, missing or repeated field, a value that makes no sense.
        """
        if len(raw) > LONGEST:
            raise InputError(
                "The decoding has {n:,} letters.",
                "At most {longest:,} are read.",
                "Shorten its text.",
                n=len(raw),
                longest=LONGEST,
            )
        held = _object(raw)
        if held.pop("decoding", None) != FORMAT:
            raise _broken(mark("This is no decoding that can be read here."))
        given = held.pop("strategy", {"name": "greedy"})
        if (
            not isinstance(given, dict)
            or not isinstance(name := given.pop("name", None), str)
            or name not in _STRATEGIES
        ):
            raise _broken(f"The decoding has no strategy of a known name ({', '.join(_STRATEGIES)}).")
        strategy = _made(_STRATEGIES[name], given, f"The strategy '{name}'")
        return _made(cls, {**held, "strategy": strategy}, "The decoding")

    def run(self, opener: Callable[[str], Model]) -> Iterator[Step]:
        """Yield the steps, each computed when it is requested; closing the generator stops the work.

        `opener(name)` gives the model: that of an engine (`Engine.open`) opens listed names, never a path.
        Raises InputError at once for a model that is not there and for what the model cannot use.
        """
        m = opener(self.model)
        return decode(m, self.text, self.strategy, self.prefix, self.max_new_tokens, force=self.force)


def encode_force(force: Forced) -> str:
    """Return forced tokens as a short text for a link: step:id, joined by points.

    >>> encode_force(((3, 512), (7, 18)))
    '3:512.7:18'
    """
    return ".".join(f"{step}:{token}" for step, token in _checked(force))


def decode_force(raw: str) -> Forced:
    """Return the forced tokens that `encode_force` wrote. Raises InputError (a ValueError) for anything else: other
    characters, leading zeros, a step twice or out of order.

    >>> decode_force("3:512.7:18"), decode_force("")
    (((3, 512), (7, 18)), ())
    >>> decode_force("3:512.3:18")
    Traceback (most recent call last):
    core.errors.InputError: The forced tokens cannot be read. They are step:id pairs with rising steps, as in 3:512.7:18. Force the tokens again.
    """
    found = [_PAIR.fullmatch(part) for part in raw.split(".")] if raw and len(raw) <= LONGEST else []
    pairs = tuple((int(one[1]), int(one[2])) for one in found if one)
    if (raw and not found) or len(pairs) < len(found) or any(a >= b for (a, _), (b, _) in pairwise(pairs)):
        raise InputError(
            "The forced tokens cannot be read.",
            "They are step:id pairs with rising steps, as in 3:512.7:18.",
            "Force the tokens again.",
        )
    return pairs


def _checked(force: Any) -> Forced:
    """Return the pairs as tuples in the order of the steps."""
    listed = isinstance(force, (list, tuple))
    if not listed or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(map(_is_count, pair)) for pair in force
    ):
        raise _forced(mark("The forced tokens are no (step, id) pairs of whole numbers."))
    steps = dict(force)
    if len(steps) < len(force):
        raise _forced(mark("A step has two forced tokens."))
    return tuple(sorted(steps.items()))


def _forced(wrong: str) -> InputError:
    return InputError(
        wrong,
        "Each forced step has one token of the vocabulary, both counted from 0.",
        "Force the tokens again.",
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _object(raw: str) -> dict[str, Any]:
    try:
        held = strict_json(raw.encode("utf-8", "surrogatepass"), "The decoding")
    except InputError as error:
        raise InputError(error.messages[0], _RULE, _REMEDY, **error.values) from None
    if not isinstance(held, dict):
        raise _broken(mark("This is no decoding that can be read here."))
    return held


def _made(kind: Callable[..., Any], values: Mapping[str, Any], title: str) -> Any:
    """Make an object of the dataclass from its fields. Raises InputError for an unknown field, and for a missing one without a default."""
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    unknown = next((name for name in values if name not in known), None)
    if unknown is not None:
        raise _broken(mark("{title} has an unknown field {field!a}."), title=title, field=unknown[:40])
    missing = next((name for name in ("model", "text") if name in known and name not in values), None)
    if missing is not None:
        raise _broken(mark("{title} has no field '{field}'."), title=title, field=missing)
    return kind(**values)


def _broken(wrong: str, **values: str) -> InputError:
    return InputError(wrong, _RULE, _REMEDY, **values)
