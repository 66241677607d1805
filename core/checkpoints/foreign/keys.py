"""Rows for the keys of config.json: each reads values of our config, and writes them back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.checkpoints.safety.config_schema import ELSEWHERE, ONLY, RANGES, Fields, name_for

Values = Mapping[str, Any]
GELUS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "relu": "relu",
}
SILUS = {"silu": "silu", "swish": "silu"}
"""Activations by their names in config.json, of which the first is written."""
USUAL_SIZES = {
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "d_model": "hidden_size",
    "d_ff": "intermediate_size",
    "n_vocab": "vocab_size",
    "n_ctx": "max_position_embeddings",
}


@dataclass(frozen=True, kw_only=True)
class Field:
    """A row of config.json: `read` gives values of our config, by those of earlier rows; `write` gives entries of config.json.

    `names` are the keys of each value, for errors; `only` are keys that may have one value alone, `defaults` the values of missing keys.
    """

    read: Callable[[Fields, Values], Values] = lambda fields, values: {}
    write: Callable[[Any], Values] = lambda cfg: {}
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    defaults: Values = field(default_factory=dict)


def value_field(
    name: str,
    keys: tuple[str, ...],
    read: Callable[[Fields, Values], Any],
    write: Callable[[Any], Any] | None = None,
) -> Field:
    """Map the field `name` of our config to `keys`: all are read, the first is written, through `write` if given."""
    return Field(
        read=lambda fields, values: {name: read(fields, values)},
        write=lambda cfg: {keys[0]: write(cfg) if write else getattr(cfg, name, None)},
        names={name: keys},
    )


def computed(name: str, rule: Callable[[Values], Any]) -> Field:
    """Set the field `name` of our config from the values of earlier rows by `rule`; it has no key."""
    return Field(read=lambda fields, values: {name: rule(values)})


def whole_number(
    name: str,
    *keys: str,
    default: int | Callable[[Values], int] | None = None,
    least: int = 1,
    most: Callable[[Values], int] | None = None,
    convert: Callable[[int], Any] | None = None,
    invert: Callable[[Any], int] | None = None,
) -> Field:
    """Map the field `name` of our config to `keys` with whole numbers; `convert` gives our value, `invert` the number again."""

    def read(fields: Fields, values: Values) -> Any:
        otherwise = default(values) if callable(default) else default
        largest = most(values) if most else RANGES[name]
        number = fields.whole_number(*keys, largest=largest, default=otherwise, least=least)
        return convert(number) if convert else number

    return value_field(name, keys, read, (lambda cfg: invert(getattr(cfg, name))) if invert else None)


def size_fields(*, omit: str = "", **keys: str) -> tuple[Field, ...]:
    """Return a `Field` for each size in `USUAL_SIZES` but those in `omit`; one in `keys` has these keys before the usual ones, and the first is written."""
    usual = {name: key for name, key in USUAL_SIZES.items() if name not in omit.split()}
    every = {name: f"{keys.get(name, '')} {usual.get(name, '')}".split() for name in {**usual, **keys}}
    return tuple(whole_number(name, *dict.fromkeys(each)) for name, each in every.items())


def small(key: str, default: float, name: str = "eps") -> Field:
    """Map `key` to the field `name` of our config: a number between 0 and 1."""
    return value_field(name, (key,), lambda fields, values: fields.small(key, default))


def positive(key: str, name: str, default: float) -> Field:
    """Map `key` to the field `name` of our config: a positive number, 0 for null."""
    row = value_field(name, (key,), lambda fields, values: fields.positive(key, default))
    return replace(row, write=lambda cfg: {key: getattr(cfg, name) or None})


def decoder_layers(key: str) -> Field:
    """Map `key` to the number of the decoder's layers, by default that of the encoder's."""

    def read(fields: Fields, values: Values) -> int:
        n = fields.whole_number(key, largest=RANGES["n_decoder_layers"], default=values["n_layers"])
        return 0 if n == values["n_layers"] else n

    return value_field("n_decoder_layers", (key,), read, lambda cfg: cfg.decoder_layers)


def flag(key: str, name: str, default: bool, yes: Any = True, no: Any = False) -> Field:
    """Map `key` to the field `name` of our config: `yes` where it is true, `no` where it is false."""
    row = value_field(name, (key,), lambda fields, values: yes if fields.flag(key, default) else no)
    return replace(row, write=lambda cfg: {key: getattr(cfg, name, no) == yes})


def word(key: str, meanings: Values, default: str, *names: str) -> Field:
    """Map `key` to the fields `names` of our config, by default the activation; `meanings` gives their value, or values, for each word of the key."""
    names = names or ("activation",)

    def read(fields: Fields, values: Values) -> Values:
        meaning = fields.one_of(key, meanings, default)
        return dict(zip(names, meaning if len(names) > 1 else (meaning,), strict=True))

    def write(cfg: Any) -> Values:
        meaning = tuple(getattr(cfg, name) for name in names)
        return {key: name_for(meanings, meaning if len(names) > 1 else meaning[0])}

    return Field(read=read, write=write, names=dict.fromkeys(names, (key,)))


def only(reason: str = "", remedy: str = ELSEWHERE, /, **settings: Any) -> Field:
    """Require of each key in `settings` the one value that is computed here, or what a function of the values so far returns."""

    def right(values: Values) -> Values:
        return {key: value(values) if callable(value) else value for key, value in settings.items()}

    def read(fields: Fields, values: Values) -> Values:
        for key, value in right(values).items():
            fields.only(key, value, reason or ONLY, remedy, computed=repr(value))
        return {}

    return Field(read=read, write=lambda cfg: right(vars(cfg)), only=tuple(settings))


def otherwise(*rows: Field, **defaults: Any) -> tuple[Field, ...]:
    """Return rows that read each missing key in `defaults` as its value there, which overrules a default of their own."""
    return tuple(replace(each, defaults={**each.defaults, **defaults}) for each in rows)


def off(switches: str) -> Field:
    """Require that the keys in `switches`, separated by spaces, are false: their arithmetic is not computed here."""
    return only(**dict.fromkeys(switches.split(), False))


def written_of(kind: type[Any], each: Field) -> Field:
    """Return a row that is written only for configs of one class."""
    return replace(each, write=lambda cfg: each.write(cfg) if isinstance(cfg, kind) else {})


def dropouts(*keys: str, zero: str = "") -> Field:
    """Write the dropout of a training under these keys; attention has none (`zero`)."""
    return Field(write=lambda cfg: {**dict.fromkeys(keys, cfg.dropout), **({zero: 0.0} if zero else {})})
