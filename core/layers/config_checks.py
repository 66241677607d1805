"""Checks that every configuration of a family must pass; they raise ValueError."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from core.errors import Phrase
from core.layers.feedforward import ACTIVATIONS
from core.wording import mark

SIZES = (
    *("n_layers", "n_heads", "d_model", "d_ff", "d_embed", "d_hidden"),
    *("n_vocab", "n_ctx", "n_segments", "window", "n_dense", "n_filters", "n_levels", "n_bands"),
    *("image", "patch", "channels", "n_decoder_layers"),
)
LONGEST_NAME = 40
POSITIVE = mark("{given} must be a positive number")
MORE_THAN = mark("{given} is more than {other}")
NOT_DIVIDING = mark("{given} does not divide {other}")
AT_LEAST = mark("{given} must be a whole number of at least {least}")


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
            raise ValueError(Phrase(AT_LEAST, given=f"{name}={value!r}", least=least))
    if "n_heads" in own and "d_head" not in own and cfg.d_model % cfg.n_heads:
        raise ValueError(
            Phrase(
                "{given} is not divisible by {other}",
                given=f"d_model={cfg.d_model}",
                other=f"n_heads={cfg.n_heads}",
            )
        )
    if "dropout" in own and not 0 <= cfg.dropout < 1:
        raise ValueError(Phrase("{given} must lie in [0, 1)", given=f"dropout={cfg.dropout!r}"))


def check_shape(cfg: Any) -> None:
    """Raise a ValueError that names the field and the numbers when a configuration cannot be built.

    Shared by the frozen configs of the Transformer's families: the sizes fit (`check_sizes`), `eps` is a small
    positive number, `activation` and, where there is a choice, `order` are known words.
    """
    check_sizes(cfg)
    if not (isinstance(cfg.eps, float) and math.isfinite(cfg.eps) and 0 < cfg.eps < 1):
        raise ValueError(Phrase("{given} must lie between 0 and 1", given=f"eps={cfg.eps!r}"))
    if cfg.activation not in ACTIVATIONS:
        raise ValueError(
            Phrase(
                "{given} is not one of {names}",
                given=f"activation={cfg.activation!r}",
                names=", ".join(ACTIVATIONS),
            )
        )
    if getattr(cfg, "order", "post") not in ("pre", "post"):
        raise ValueError(f"order={cfg.order!r} is neither 'pre' nor 'post'")


def check_groups(cfg: Any) -> None:
    """Raise a ValueError where the heads are not so many for each head of keys, or a head has an odd number of features for rotary positions to turn in pairs."""
    if cfg.n_heads % cfg.n_kv_heads:
        raise ValueError(
            Phrase(
                NOT_DIVIDING,
                given=f"n_kv_heads={cfg.n_kv_heads}",
                other=f"n_heads={cfg.n_heads}",
            )
        )
    if cfg.d_head % 2:
        raise ValueError(
            Phrase(
                "{given} must be even: rotary positions turn pairs of features",
                given=f"d_head={cfg.d_head}",
            )
        )


def check_positive(name: str, value: Any) -> None:
    """Raise a ValueError for a value that is not a positive, finite number."""
    if type(value) not in (int, float) or not (math.isfinite(value) and value > 0):
        raise ValueError(Phrase(POSITIVE, given=f"{name}={value!r}"))


def check_whole(cfg: Any, **least: int) -> None:
    """Raise a ValueError for a field that is not a whole number, or less than its keyword here."""
    for name, lowest in least.items():
        value = getattr(cfg, name)
        if type(value) is not int or value < lowest:
            raise ValueError(Phrase(AT_LEAST, given=f"{name}={value!r}", least=lowest))


def check_flags(cfg: Any, *names: str) -> None:
    """Raise a ValueError for a field that is neither true nor false."""
    for name in names:
        if not isinstance(getattr(cfg, name), bool):
            raise ValueError(Phrase("{given} must be true or false", given=f"{name}={getattr(cfg, name)!r}"))


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
            Phrase(
                "{given} must be numbers of layers below {n}, each once and in order",
                given=f"{name}={given!r}",
                n=f"n_layers={n}",
            )
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
            Phrase(
                "{given} must be two or more different names of at most {n} letters",
                given=f"classes={classes!r}",
                n=LONGEST_NAME,
            )
        )
    return names
