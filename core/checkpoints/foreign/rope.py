"""Rows of config.json for rotary positions (Su et al. 2021), and for layers with full attention or a sliding window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from core.checkpoints.files import printable
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.safety.config_schema import RANGES, Fields, alternatives, config_error, wrong_value
from core.errors import InputError, Phrase
from core.wording import mark

EVERYWHERE, SLIDING = TYPES = ("full_attention", "sliding_attention")
FACTOR = {"factor": "rope_factor"}
ORIGINAL = {"original_max_position_embeddings": "rope_original"}
SCALING_TYPES: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "linear": FACTOR,
    "llama3": {**FACTOR, "low_freq_factor": "rope_low", "high_freq_factor": "rope_high", **ORIGINAL},
    "yarn": {**FACTOR, "beta_fast": "rope_fast", "beta_slow": "rope_slow", **ORIGINAL},
    "longrope": {"short_factor": "rope_each", "long_factor": "rope_each"},
}
"""The keys of each scaling type of rotary positions, with their names in our config."""
PLAIN = ("default",)
LONG = {"longrope", "su"}
SHARE = "partial_rotary_factor"
BASES = ("rope_base", "rope_local_base")


def _unread(problem: str, scalings: Sequence[str]) -> InputError:
    types = {kind: SCALING_TYPES[kind] for kind in scalings}
    rule = mark("Rotary positions of this kind are read as {kinds}.")
    return config_error(problem, rule, "Open a model with these.", kinds=alternatives(types))


def _entries(key: str, value: Any, scalings: Sequence[str]) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise _unread(Phrase("{name} is {value}", name=key, value=printable(repr(value), 40)), scalings)
    return dict(value or {})


def rope_field(
    base: str | tuple[str, ...] = "rope_theta",
    default: float = 10000.0,
    scalings: Sequence[str] = PLAIN,
    share: float = 0.0,
    share_key: str = SHARE,
) -> Field:
    """Map the rotary settings: `rope_parameters` of new configs, `rope_scaling` and keys of their own in old ones.

    `base` and `share_key` are the old keys of the base and of the share of the features that are rotated, if not all are.
    `scalings` are those of `SCALING_TYPES` that may be used.
    """
    bases = (base,) if isinstance(base, str) else base

    def read(fields: Fields, values: Values) -> Values:
        old, new = (_entries(key, fields.raw(key), scalings) for key in ("rope_scaling", "rope_parameters"))
        entries = old | new
        theta = next(filter(None, map(fields.raw, bases)), default)
        results = {"rope_base": entries.pop("rope_theta", theta)}
        if share:
            part = entries.pop(SHARE, share if fields.raw(share_key) is None else fields.raw(share_key))
            if type(part) not in (int, float) or not 0 < part <= 1:
                names = {"name": share_key, "other": SHARE, "value": printable(repr(part), 40)}
                raise _unread(Phrase("{name}, or {other}, is {value}", **names), scalings)
            d_head = values.get("d_head") or values["d_model"] // values["n_heads"]
            results["d_rotary"] = int(d_head * part)
        if "longrope" in scalings and LONG & {entries.get("rope_type"), entries.get("type")}:
            return {**results, **_pair_by_pair(fields, entries, values, scalings)}
        return {**results, **_scaling_values(entries, scalings)}

    def write(cfg: Any) -> Values:
        kind = scalings[-1] if getattr(cfg, "rope_original", 0) else "default"
        scaling = {key: getattr(cfg, name) for key, name in SCALING_TYPES[kind].items()}
        if kind == "yarn":
            scaling["truncate"] = False
        if each := getattr(cfg, "rope_each", ()):
            kind, scaling = "longrope", {key: list(each) for key in ("short_factor", "long_factor")}
            scaling |= {"attention_factor": cfg.rope_size, "original_max_position_embeddings": cfg.n_ctx}
        return {
            bases[0]: cfg.rope_base,
            "rope_scaling": {"rope_type": kind, **scaling} if scaling else None,
            **({share_key: cfg.d_rotary / cfg.d_head} if share else {}),
        }

    names = {name: (key,) for key, name in SCALING_TYPES["llama3"].items()}
    names |= {"rope_each": ("short_factor",), "rope_size": ("attention_factor",)}
    return Field(read=read, write=write, names={"rope_base": ("rope_theta", *bases), **names})


def _scaling_values(entries: dict[str, Any], scalings: Sequence[str]) -> Values:
    named = [str(entries.pop(key, "default")) for key in ("rope_type", "type")]
    kind = next((each for each in named if each != "default"), "default")
    numbers = {key: value for key, value in entries.items() if value is not None}
    if kind == "yarn" and numbers.get("truncate") is False:
        del numbers["truncate"]
    keys = numbers.keys() | {"factor"} if kind == "linear" else numbers.keys()
    if kind not in scalings or keys != SCALING_TYPES[kind].keys():
        wrong = Phrase("its rotary positions are of the kind '{kind}'", kind=printable(kind, 40))
        names = printable(", ".join(sorted(map(str, numbers))), 80)
        raise _unread(Phrase("{kind}, with {keys}", kind=wrong, keys=names) if numbers else wrong, scalings)
    return {SCALING_TYPES[kind][key]: value for key, value in numbers.items()}


def _pair_by_pair(fields: Fields, entries: Values, values: Values, scalings: Sequence[str]) -> Values:
    """Return the factor of each pair of features (LongRoPE) for texts up to the length of the training."""
    key, n_ctx = "original_max_position_embeddings", values["n_ctx"]
    original, short = entries.get(key) or fields.raw(key), entries.get("short_factor", ())
    known = type(original) is int and 1 < original <= RANGES["n_ctx"] and isinstance(short, list)
    size = entries.get("attention_factor")
    factor = entries.get("factor") or n_ctx / (original if known else 1)
    if not known or any(type(each) not in (int, float) for each in (*short, factor, size or 1)):
        short, original = (printable(repr(each), 40) for each in (short, original))
        given = {"short": short, "key": key, "original": original}
        raise _unread(Phrase("short_factor is {short}, {key} {original}", **given), scalings)
    usual = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    return {"rope_each": tuple(short), "rope_size": size or usual, "n_ctx": min(n_ctx, original)}


def dual_rope(keys: tuple[str, str], bases: tuple[float, float], scalings: Sequence[str] = PLAIN) -> Field:
    """Map the rotary settings of full-attention layers and of sliding-window layers.

    `keys`, `bases`: old config keys and default bases, (full, sliding). Only full-attention layers may use other `scalings` than the default.
    """

    def read(fields: Fields, values: Values) -> Values:
        new = _entries("rope_parameters", fields.raw("rope_parameters"), scalings)
        both = {EVERYWHERE: fields.raw("rope_scaling"), **new}
        if set(both) - {EVERYWHERE, SLIDING}:
            names = printable(str(sorted(map(str, both))), 80)
            raise _unread(Phrase("rope_parameters names {names}", names=names), scalings)
        results: dict[str, Any] = {}
        for kind, name, key, base in zip((EVERYWHERE, SLIDING), BASES, keys, bases, strict=True):
            part = _entries("rope_parameters", both.get(kind), scalings)
            results[name] = part.pop("rope_theta", fields.raw(key) or base)
            results |= _scaling_values(part, scalings if kind == EVERYWHERE else PLAIN)
        return results

    def write(cfg: Any) -> Values:
        factor = getattr(cfg, "rope_factor", 1.0)
        scaling = {"rope_type": "default"} if factor == 1.0 else {"rope_type": "linear", "factor": factor}
        return {
            "rope_parameters": {
                EVERYWHERE: {**scaling, "rope_theta": cfg.rope_base},
                SLIDING: {"rope_type": "default", "rope_theta": cfg.rope_local_base},
            }
        }

    names = {"rope_factor": ("factor",)} | dict.fromkeys(BASES, ("rope_theta",))
    return Field(read=read, write=write, names=names)


def per_layer(fields: Fields, key: str, n: int, words: Sequence[Any]) -> list[Any] | None:
    """Return the list in config.json under `key` that names one of `words` for each of n layers; None where it is missing."""
    given = fields.raw(key)
    known = given is None or (isinstance(given, list) and len(given) == n)
    if known and all(each in words and type(each) is type(words[0]) for each in given or ()):
        return given
    rule = mark("It is a list of one of {words} for each of the {n:,} layers.")
    raise wrong_value(key, given, rule, words=", ".join(map(str, words)), n=n)


def local(otherwise: Callable[[Fields, int], Iterable[int]]) -> Field:
    """Map `layer_types` to the layers with a window; `otherwise` gives them if it is missing."""

    def read(fields: Fields, values: Values) -> Values:
        layer_kinds = per_layer(fields, "layer_types", values["n_layers"], TYPES)
        if layer_kinds is None:
            return {"local": tuple(otherwise(fields, values["n_layers"]))}
        return {"local": tuple(i for i, kind in enumerate(layer_kinds) if kind == SLIDING)}

    def write(cfg: Any) -> Values:
        return {"layer_types": [SLIDING if i in cfg.local else EVERYWHERE for i in range(cfg.n_layers)]}

    return Field(read=read, write=write)


def all_but_every(size: int, key: str = "", *, first: bool = False) -> Callable[[Fields, int], list[int]]:
    """Return a rule for old configs that gives the layers with a window: all but the last, or `first`, of each group. A group has `size` layers, or as many as `key` says."""

    def rule(fields: Fields, n: int) -> list[int]:
        group = fields.whole_number(key, largest=RANGES["n_layers"], default=size) if key else size
        return [i for i in range(n) if (i if first else i + 1) % group]

    return rule


def window(default: int = 0, switch: str = "") -> Field:
    """Map `sliding_window` to the number of tokens that a query attends to in every layer, 0 for all. `switch` is a key that must turn it on."""

    def read(fields: Fields, values: Values) -> int:
        if switch and not fields.flag(switch, False):
            return 0
        if switch and "layer_types" not in fields:
            reason = mark("All layers look alike here, so the window is for all or for none.")
            fields.only("max_window_layers", 0, reason)
        layer_kinds = per_layer(fields, "layer_types", values["n_layers"], TYPES)
        if layer_kinds and len(set(layer_kinds)) > 1:
            reason = mark("Here all layers must have the same mask: the whole past, or one window.")
            raise wrong_value("layer_types", layer_kinds, reason, "Open a model with such layers.")
        if layer_kinds and layer_kinds[0] == EVERYWHERE:
            return 0
        if fields.says("sliding_window") and "sliding_window" not in fields:
            return 0
        return fields.whole_number(
            "sliding_window", largest=RANGES["n_ctx"], default=default, least=min(default, 1)
        )

    def write(cfg: Any) -> Values:
        slides = cfg.sliding_window > 0
        layer_kinds = [SLIDING if slides else EVERYWHERE] * cfg.n_layers
        entries = {switch: slides, "layer_types": layer_kinds} if switch else {}
        return {"sliding_window": cfg.sliding_window or None, **entries}

    return Field(read=lambda fields, values: {"sliding_window": read(fields, values)}, write=write)
