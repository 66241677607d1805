"""Checks that edits fit a run: a link may come from another sentence, or from another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from core.errors import InputError
from core.run import Run
from core.trace import Edit, apply_edit, matches, ready

Shape = tuple[int, ...]


def split_by_fit(edits: Sequence[Edit], run: Run) -> tuple[tuple[Edit, ...], tuple[InputError, ...]]:
    """Return the edits that can be made in this run, in their order, and an error for each of the others.

    Each is tried on a stand-in of the right shape, masks on the run's own mask (it must have kept its patterns), behind
    the edits before it: a cell that was forbidden cannot be forced.
    """
    places = shapes(run)
    now: dict[str, Tensor] = {}
    kept: list[Edit] = []
    errors: list[InputError] = []
    for edit in edits:
        try:
            (edit,) = ready(run.model, (edit,))
            now |= _tried(edit, run, places, now)
            kept.append(edit)
        except InputError as error:
            errors.append(error)
    return tuple(kept), tuple(errors)


def _tried(edit: Edit, run: Run, places: Mapping[str, Shape], now: Mapping[str, Tensor]) -> dict[str, Tensor]:
    met = [path for path in places if matches(path, edit.where)]
    if not met:
        raise InputError(
            "{name} has no value at '{where}'.",
            "A change names a value of the model that it was made for.",
            "Choose the change on the page.",
            name=run.model.name,
            where=edit.where,
        )
    found = {}
    for path in met:
        value = now[path] if path in now else _stand_in(path, places[path], run)
        found[path] = apply_edit(edit, value, path)
    return found


def _stand_in(path: str, shape: Shape, run: Run) -> Tensor:
    return (
        torch.tensor(run.trace[path])[None]
        if path.endswith(".allowed") and path in run.trace
        else torch.zeros(shape)
    )


def shapes(run: Run) -> dict[str, Shape]:
    """Return the shapes of the values that can be edited, by path: those of attention, of the residual stream and of the embeddings."""
    config, found = run.model.config, {}
    for kind in run.model.spec.kinds_of(config):
        queries, keys = (len(run.axis(axis).ids) for axis in (kind.queries, kind.keys))
        heads = config.n_heads if kind.layered else 1
        sizes = dict.fromkeys(("scores", "allowed", "pattern"), (1, heads, queries, keys))
        if kind.layered:
            sizes |= {
                "q": (1, heads, queries, config.d_head),
                "k": (1, heads, keys, config.d_head),
                "v": (1, heads, keys, config.d_head),
            }
            sizes |= {"heads": (1, heads, queries, config.d_head), "out": (1, queries, config.d_model)}
        found |= {
            kind.path(layer, leaf): size
            for layer in range(kind.n_layers(config))
            for leaf, size in sizes.items()
        }
    for name, stack in run.model.spec.stacks.items():
        n = len(run.axis({"encoder": "source", "sentences": "sentence"}.get(name, "target")).ids)
        if name != "sentences":
            inside = run.model.spec.sentences or (name == "encoder" and run.model.spec.reads is not None)
            prefix = "" if inside else stack.removesuffix("layer")
            narrow = getattr(config, "d_embed", getattr(config, "d_half", config.d_model))
            found |= {f"{prefix}embed.position": (n, narrow), f"{prefix}embed.token": (1, n, narrow)}
            if name == "decoder" and run.source is not None:  # an encoder that is no stack: that of a picture
                found.setdefault("encoder.embed.position", (len(run.source.ids), config.d_model))
        entering, leaving = run.model.spec.stream
        depth = run.model.spec.depth(config, stack)
        widths = getattr(config, "widths", (config.d_model,) * (depth + 1))
        found |= {
            f"{stack}.{layer}.{leaf}": (1, n, width)
            for layer in range(depth)
            for leaf, width in (
                (entering, widths[layer]),
                ("resid_mid", widths[layer]),
                (leaving, widths[layer + 1]),
            )
        }
    return {path: size for path, size in found.items() if run.trace.has_visited(path)}
