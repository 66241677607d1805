"""Checks that every configuration of a family must pass; they raise ValueError."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from core.layers.feedforward import ACTIVATIONS

SIZES = (
    *("n_layers", "n_heads", "d_model", "d_ff", "d_embed", "d_hidden"),
    *("n_vocab", "n_ctx", "n_segments", "window", "n_dense", "n_filters", "n_levels", "n_bands"),
    *("image", "patch", "channels", "n_decoder_layers"),
)
LONGEST_NAME = 40


def check_sizes(cfg: Any) -> None:
    """Raise a ValueError that names the field and the numbers when sizes do not fit; for the configs of all families.

    Sizes are whole numbers of at least 1, or of what the config's `least` says; heads divide the width unless they have one of their own, `dropout` is a share below 1; each where there is one.
    """
    own = [part.name for part in fields(cfg)]
    for name in SIZES:
        if name not in own:
            continue
        value = getattr(cfg, name)
        least = getattr(cfg, "least", {}).get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}={value!r} must be a whole number of at least {least}")
    if "n_heads" in own and "d_head" not in own and cfg.d_model % cfg.n_heads:
        raise ValueError(f"d_model={cfg.d_model} is not divisible by n_heads={cfg.n_heads}")
    if "dropout" in own and not 0 <= cfg.dropout < 1:
        raise ValueError(f"dropout={cfg.dropout!r} must lie in [0, 1)")


def check_shape(cfg: Any) -> None:
    """Raise a ValueError that names the field and the numbers when a configuration cannot be built.

    Shared by the frozen configs of the Transformer's families: the sizes fit (`check_sizes`), `eps` is a small
    positive number, `activation` and, where there is a choice, `order` are known words.
    """
    check_sizes(cfg)
    if not (isinstance(cfg.eps, float) and math.isfinite(cfg.eps) and 0 < cfg.eps < 1):
        raise ValueError(f"eps={cfg.eps!r} must lie between 0 and 1")
    if cfg.activation not in ACTIVATIONS:
        raise ValueError(f"activation={cfg.activation!r} is not one of {', '.join(ACTIVATIONS)}")
    if getattr(cfg, "order", "post") not in ("pre", "post"):
        raise ValueError(f"order={cfg.order!r} is neither 'pre' nor 'post'")


def check_whole(cfg: Any, **least: int) -> None:
    """Raise a ValueError for a field that is not a whole number, or less than its keyword here."""
    for name, lowest in least.items():
        value = getattr(cfg, name)
        if type(value) is not int or value < lowest:
            raise ValueError(f"{name}={value!r} must be a whole number of at least {lowest}")


def check_flags(cfg: Any, *names: str) -> None:
    """Raise a ValueError for a field that is neither true nor false."""
    for name in names:
        if not isinstance(getattr(cfg, name), bool):
            raise ValueError(f"{name}={getattr(cfg, name)!r} must be true or false")


def check_layers(cfg: Any, name: str) -> tuple[int, ...]:
    """Return the layer numbers of a config field as a tuple. Raises ValueError where they are not distinct, ascending layers of the config."""
    given, n = getattr(cfg, name), cfg.n_layers
    found = tuple(given) if isinstance(given, list | tuple) else None  # a config.json knows lists only
    if (
        found is None
        or not all(type(i) is int and 0 <= i < n for i in found)
        or list(found) != sorted({*found})
    ):
        raise ValueError(
            f"{name}={given!r} must be numbers of layers below n_layers={n}, each once and in order"
        )
    return found


def check_classes(classes: Any) -> Sequence[str]:
    """Return the names of classes as a tuple. Raises ValueError for fewer than two, equal, empty or long ones.

    >>> check_classes(["x", "fish"])
    ('x', 'fish')
    """
    names = tuple(classes) if isinstance(classes, list | tuple) else ()
    fit = [isinstance(name, str) and 0 < len(name) <= LONGEST_NAME for name in names]
    if len(names) < 2 or not all(fit) or len(set(names)) < len(names):
        raise ValueError(
            f"classes={classes!r} must be two or more different names of at most {LONGEST_NAME} letters"
        )
    return names
