"""What every configuration must satisfy, said once."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from core.layers.feedforward import ACTIVATIONS

SIZES = (
    *("n_layers", "n_heads", "d_model", "d_ff", "d_embed", "d_hidden"),
    *("n_vocab", "n_ctx", "n_segments", "window", "n_dense", "n_filters", "n_levels", "n_bands"),
)


def check_sizes(cfg: Any) -> None:
    """Raise a ValueError that names the field and the numbers when sizes do not fit; for the configs of all families.

    Sizes are positive whole numbers, heads divide the width, `dropout` is a share below 1; each where there is one.
    """
    own = [part.name for part in fields(cfg)]
    for name in SIZES:
        if name not in own:
            continue
        value = getattr(cfg, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
    if "n_heads" in own and cfg.d_model % cfg.n_heads:
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
