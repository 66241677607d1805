"""Rows of config.json on rotary positions (Su et al. 2021), and on layers that look everywhere or through a window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign.table import Field, Values
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.errors import InputError

WHOLE, SLIDING = "full_attention", "sliding_attention"
STRETCHED = {
    "factor": "rope_factor",
    "low_freq_factor": "rope_low",
    "high_freq_factor": "rope_high",
    "original_max_position_embeddings": "rope_original",
}
"""The fields of the rope type llama3, with their names in our config."""
LINEAR = {"factor": "rope_factor"}
YARN = {
    "factor": "rope_factor",
    "beta_fast": "rope_fast",
    "beta_slow": "rope_slow",
    "original_max_position_embeddings": "rope_original",
}
KINDS: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "linear": LINEAR,
    "llama3": STRETCHED,
    "yarn": YARN,
}
RULES = {
    "default": "as they are (default)",
    "linear": "divided by a factor (linear)",
    "llama3": f"stretched as in Llama 3.1 (llama3, with {', '.join(STRETCHED)})",
    "longrope": "stretched pair by pair as in Phi-3 (longrope, with short_factor and long_factor)",
    "yarn": f"stretched as in gpt-oss (yarn, with {', '.join(YARN)} and truncate = false)",
}
SHARE = "partial_rotary_factor"


def rope_field(
    base: str | tuple[str, ...] = "rope_theta",
    default: float = 10000.0,
    kinds: Sequence[str] = ("default",),
    share: tuple[str, float] | None = None,
) -> Field:
    """Name the rotary positions: `rope_parameters` of new configs, `rope_scaling` and fields of their own in old ones.

    `base` is the old field of the base, or several, of which the first is written, `share` that of the share of the features that are turned, each with what an absent one means.
    """

    bases = (base,) if isinstance(base, str) else base

    def read(fields: Fields, given: Values) -> Values:
        said: dict[str, Any] = {}
        for name in ("rope_scaling", "rope_parameters"):
            part = fields.raw(name)
            if part is not None and not isinstance(part, dict):
                raise _unread(f"{name} is {shown(repr(part), 40)}", kinds)
            said |= part or {}
        old = next(filter(None, map(fields.raw, bases)), default)
        found = {"rope_base": said.pop("rope_theta", old)}
        if share:
            old = fields.raw(share[0])
            part = said.pop(SHARE, share[1] if old is None else old)
            if type(part) not in (int, float) or not 0 < part <= 1:
                raise _unread(f"{share[0]}, or {SHARE}, is {shown(repr(part), 40)}", kinds)
            found["d_rotary"] = int(_d_head(given) * part)
        if "longrope" in kinds and LONG & {said.get("rope_type"), said.get("type")}:
            return {**found, **_pair_by_pair(fields, said, given, kinds)}
        return {**found, **_stretched(said, kinds)}

    def write(cfg: Any) -> Values:
        kind = kinds[-1] if getattr(cfg, "rope_original", 0) else "default"
        more = {theirs: getattr(cfg, ours) for theirs, ours in KINDS[kind].items()}
        more |= {"truncate": False} if kind == "yarn" else {}
        if each := getattr(cfg, "rope_each", ()):
            factors = {
                "short_factor": list(each),
                "long_factor": list(each),
                "attention_factor": cfg.rope_size,
            }
            kind, more = "longrope", {**factors, "original_max_position_embeddings": cfg.n_ctx}
        part = {share[0]: cfg.d_rotary / cfg.d_head} if share else {}
        return {
            bases[0]: cfg.rope_base,
            "rope_scaling": {"rope_type": kind, **more} if more else None,
            **part,
        }

    names = {
        "rope_base": ("rope_theta", *bases),
        "rope_each": ("short_factor",),
        "rope_size": ("attention_factor",),
    } | {ours: (theirs,) for theirs, ours in STRETCHED.items()}
    return Field(read=read, write=write, names=names)


def _d_head(given: Values) -> int:
    return int(given.get("d_head") or given["d_model"] // given["n_heads"])


def _stretched(said: dict[str, Any], kinds: Sequence[str]) -> Values:
    """Return how the angles are stretched, by what is left of what is said."""
    named = [str(said.pop(name, "default")) for name in ("rope_type", "type")]
    kind = next((each for each in named if each != "default"), "default")
    more = {name: value for name, value in said.items() if value is not None}
    if kind == "yarn" and more.get("truncate") is False:
        del more["truncate"]
    if (
        kind not in kinds
        or (more.keys() | {"factor"} if kind == "linear" else more.keys()) != KINDS[kind].keys()
    ):
        with_ = f", with {shown(', '.join(sorted(map(str, more))), 80)}" if more else ""
        raise _unread(f"its rotary positions are of the kind '{shown(kind, 40)}'{with_}", kinds)
    return {KINDS[kind][name]: value for name, value in more.items()}


LONG = {"longrope", "su"}
"""The two names of LongRoPE."""


def _pair_by_pair(fields: Fields, said: Values, given: Values, kinds: Sequence[str]) -> Values:
    """Return the factor of each pair of features (LongRoPE): those for texts up to the length of the training, which are the ones that are read."""
    original = said.get("original_max_position_embeddings") or fields.raw("original_max_position_embeddings")
    short, n_ctx = said.get("short_factor"), given["n_ctx"]
    if type(original) is not int or not 1 < original <= RANGES["n_ctx"]:
        raise _unread(f"original_max_position_embeddings is {shown(repr(original), 40)}", kinds)
    factor, size = said.get("factor") or n_ctx / original, said.get("attention_factor")
    if not isinstance(short, list) or not all(
        type(each) in (int, float) for each in (*short, factor, size or 1)
    ):
        raise _unread(
            f"its rotary positions are of the kind 'longrope', with short_factor {shown(repr(short), 40)}",
            kinds,
        )
    grown = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    return {"rope_each": tuple(short), "rope_size": size or grown, "n_ctx": min(n_ctx, original)}


def _unread(wrong: str, kinds: Sequence[str]) -> InputError:
    return InputError(
        f"config.json: {wrong}.",
        f"Rotary positions of this kind are read {', or '.join(RULES[kind] for kind in kinds)}.",
        "Open a model with these.",
    )


def two_turns(
    names: tuple[str, str], bases: tuple[float, float], kinds: Sequence[str] = ("default",)
) -> Field:
    """Name the rotary positions of layers that look everywhere, and of those with a window.

    New configs have `rope_parameters` for each; in old ones `names` are the fields of the two bases. `kinds` are those of the first.
    """

    def read(fields: Fields, given: Values) -> Values:
        said = fields.raw("rope_parameters")
        if said is not None and not isinstance(said, dict):
            raise _unread(f"rope_parameters is {shown(repr(said), 40)}", kinds)
        both = {WHOLE: fields.raw("rope_scaling"), **(said or {})}
        if set(both) - {WHOLE, SLIDING}:
            raise _unread(f"rope_parameters names {shown(str(sorted(map(str, both))), 80)}", kinds)
        found: dict[str, Any] = {}
        for kind, ours, old, base in zip((WHOLE, SLIDING), LOCAL, names, bases, strict=True):
            part = both.get(kind)
            if part is not None and not isinstance(part, dict):
                raise _unread(f"rope_parameters is {shown(repr(part), 40)}", kinds)
            part = dict(part or {})
            found[ours] = part.pop("rope_theta", fields.raw(old) or base)
            found |= _stretched(part, kinds if kind == WHOLE else ("default",))
        return found

    def write(cfg: Any) -> Values:
        kind = {"rope_type": "default"}
        factor = getattr(cfg, "rope_factor", 1.0)
        wide = kind if factor == 1.0 else {"rope_type": "linear", "factor": factor}
        turns = {
            WHOLE: {**wide, "rope_theta": cfg.rope_base},
            SLIDING: {**kind, "rope_theta": cfg.rope_local_base},
        }
        return {"rope_parameters": turns}

    return Field(
        read=read, write=write, names={"rope_factor": ("factor",)} | dict.fromkeys(LOCAL, ("rope_theta",))
    )


LOCAL = ("rope_base", "rope_local_base")


def local(otherwise: Callable[[Fields, int], Iterable[int]]) -> Field:
    """Name the layers that look through a window: those that `layer_types` calls so, `otherwise` where it says nothing."""

    def read(fields: Fields, given: Values) -> Values:
        n, kinds = given["n_layers"], fields.raw("layer_types")
        if kinds is None:
            return {"local": tuple(otherwise(fields, n))}
        if (
            not isinstance(kinds, list)
            or len(kinds) != n
            or any(kind not in (WHOLE, SLIDING) for kind in kinds)
        ):
            raise InputError(
                f"config.json: layer_types is {shown(repr(kinds), 60)}.",
                f"It says of each of the {n:,} layers whether it has {WHOLE} or {SLIDING}.",
                "Correct it, or download the model again.",
            )
        return {"local": tuple(i for i, kind in enumerate(kinds) if kind == SLIDING)}

    return Field(
        read=read,
        write=lambda cfg: {
            "layer_types": [SLIDING if i in cfg.local else WHOLE for i in range(cfg.n_layers)]
        },
    )


def every(name: str, default: int) -> Callable[[Fields, int], list[int]]:
    """Return the layers but every so manieth, the last of each group, as old configs count them."""
    return lambda fields, n: [
        i for i in range(n) if (i + 1) % fields.whole(name, largest=RANGES["n_layers"], default=default)
    ]


def window(default: int = 0, switch: str = "") -> Field:
    """Name how many tokens a query sees where all layers see as many; 0 for all before it. `switch` names what must ask for it."""

    def read(fields: Fields, given: Values) -> int:
        if switch and not fields.flag(switch, False):
            return 0
        if switch and "layer_types" not in fields:
            fields.only(
                "max_window_layers", 0, "All layers look alike here, so the window is for all or for none."
            )
        kinds = fields.raw("layer_types")
        if kinds and not (isinstance(kinds, list) and set(map(str, kinds)) in ({WHOLE}, {SLIDING})):
            raise InputError(
                f"config.json: layer_types is {shown(repr(kinds), 60)}.",
                "Here all layers must have the same mask: the whole past, or one window.",
                "Open a model with such layers.",
            )
        if (kinds and kinds[0] == WHOLE) or (
            fields.says("sliding_window") and "sliding_window" not in fields
        ):
            return 0
        return fields.whole("sliding_window", largest=RANGES["n_ctx"], default=default, least=min(default, 1))

    def write(cfg: Any) -> Values:
        slides = cfg.sliding_window > 0
        kinds = {"layer_types": [SLIDING if slides else WHOLE] * cfg.n_layers} if switch else {}
        return {"sliding_window": cfg.sliding_window or None, **({switch: slides} if switch else {}), **kinds}

    return Field(read=lambda fields, given: {"sliding_window": read(fields, given)}, write=write)
