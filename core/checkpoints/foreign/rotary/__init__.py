"""Kinds whose queries and keys are turned by their positions (Su et al. 2021); what those with two kinds of layers say alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.safety.config_schema import Fields
from core.errors import InputError

WHOLE, SLIDING = "full_attention", "sliding_attention"


def local_layers(fields: Fields, n_layers: int, otherwise: Sequence[int]) -> tuple[int, ...]:
    """The layers that look through a window: those that `layer_types` calls so, `otherwise` where it says nothing."""
    kinds = fields.raw("layer_types")
    if kinds is None:
        return tuple(otherwise)
    if (
        not isinstance(kinds, list)
        or len(kinds) != n_layers
        or any(kind not in (WHOLE, SLIDING) for kind in kinds)
    ):
        raise InputError(
            f"config.json: layer_types is {shown(repr(kinds), 60)}.",
            f"It says of each of the {n_layers:,} layers whether it has {WHOLE} or {SLIDING}.",
            "Correct it, or download the model again.",
        )
    return tuple(i for i, kind in enumerate(kinds) if kind == SLIDING)


def layer_types(n_layers: int, local: Sequence[int]) -> list[str]:
    """What `local_layers` reads."""
    return [SLIDING if i in local else WHOLE for i in range(n_layers)]


def turn(said: Any, base: Any, *, stretched: bool = True) -> tuple[Any, Any]:
    """Base and factor of rotary positions: as they are (default), or divided by a factor (linear) where they may be `stretched`."""
    if said is not None and not isinstance(said, dict):
        raise unread(f"rope_parameters is {shown(repr(said), 40)}", stretched=stretched)
    left = {name: value for name, value in (said or {}).items() if value is not None}
    kind = left.pop("rope_type", left.pop("type", "default"))
    found = left.pop("rope_theta", base), left.pop("factor", 1.0) if kind == "linear" and stretched else 1.0
    if left or kind not in (("default", "linear") if stretched else ("default",)):
        raise unread(
            f"its rotary positions are of the kind '{shown(str(kind), 40)}' with {shown(str(sorted(left)), 80)}",
            stretched=stretched,
        )
    return found


def unread(wrong: str, *, stretched: bool) -> InputError:
    return InputError(
        f"config.json: {wrong}.",
        "Rotary positions of this kind are read as they are (default)"
        + (", or divided by a factor (linear)." if stretched else "."),
        "Open a model with these.",
    )


def two_turns(fields: Fields, names: tuple[str, str], bases: tuple[float, float]) -> dict[str, Any]:
    """The rotary positions of layers that look everywhere, and of those with a window.

    New configs have `rope_parameters` for each; in old ones `names` are the fields of the two bases.
    """
    given = fields.raw("rope_parameters")
    if given is not None and not isinstance(given, dict):
        raise unread(f"rope_parameters is {shown(repr(given), 40)}", stretched=True)
    old = {WHOLE: fields.raw("rope_scaling")}
    both = {**old, **(given or {})}
    if set(both) - {WHOLE, SLIDING}:
        raise unread(f"rope_parameters names {shown(str(sorted(map(str, both))), 80)}", stretched=True)
    (wide, factor), (near, _) = (
        turn(both.get(kind), fields.raw(name) or base, stretched=kind == WHOLE)
        for kind, name, base in zip((WHOLE, SLIDING), names, bases, strict=True)
    )
    return {"rope_base": wide, "rope_factor": factor, "rope_local_base": near}
