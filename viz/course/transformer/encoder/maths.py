"""A stack of encoder layers read after each one: change of a word, similarity of the words, and the stack as a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from core.errors import InputError
from core.maths import unit_rows
from core.model import Model
from core.run import Run, TokenSequence
from viz.labels import distinct

Array = np.ndarray


def blocks(model: Model) -> tuple[str, nn.ModuleList]:
    """Return the trace path of the encoder's layers ("encoder.layer", "layer") and the layers themselves.

    Raises InputError for a model without an encoder of attention.
    """
    if model.family == "transformer":
        return "encoder.layer", model.network.encoder
    if model.family == "bert":
        return "layer", model.network.layers
    raise InputError(
        f"{model.name} has no encoder of attention layers.",
        "The stack of a translator or of BERT can be read.",
        "Choose one of them.",
    )


def read(run: Run) -> TokenSequence:
    """Return the sentence that the encoder reads."""
    return run.source or run.side


def hidden(run: Run) -> Array:
    """Return the vectors of the words before any layer and after each: (layer + 1, pos, d)."""
    home, layers = blocks(run.model)
    return np.stack(
        [run.trace[f"{home}.0.resid_in"], *(run.trace[f"{home}.{i}.resid_out"] for i in range(len(layers)))]
    )


def cosines(states: Array) -> Array:
    """Return the cosine of each word with each, (pos, d) to (pos, pos); (layer, pos, d) gives one matrix per layer.

    >>> cosines(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows = unit_rows(np.asarray(states, dtype=np.float64))
    return rows @ np.swapaxes(rows, -1, -2)


@dataclass(frozen=True)
class Depth:
    """By layer, 0 before any: `with_input` (layer + 1, pos) is the cosine of a word with itself before the first
    layer, `others`
    (layer + 1, pos) the mean cosine with the other words of the same layer; NaN for a lonely word."""

    with_input: Array
    others: Array


def over_depth(states: Array) -> Depth:
    """Measure each word's cosine with its input and with the other words (Ethayarajh 2019, sections 3.2 and 4.1), from (layer + 1, pos,
    d).

    >>> found = over_depth(np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]))
    >>> found.with_input.round(3).tolist(), found.others.round(3).tolist()
    ([[1.0, 1.0], [0.707, 0.707]], [[0.0, 0.0], [1.0, 1.0]])
    """
    rows, n = unit_rows(np.asarray(states, dtype=np.float64)), states.shape[1]
    between = cosines(states)
    others = (between.sum(-1) - 1) / (n - 1) if n > 1 else np.full(between.shape[:2], np.nan)
    return Depth((rows * rows[:1]).sum(-1), others)


def as_loop(run: Run) -> tuple[Array, float]:
    """Run the stack as a plain loop over its layers, x <- layer(x); return the states (layer + 1, pos, d) and the largest difference
    from the recorded ones.

    Needs a run of one sentence without edits.
    """
    home, layers = blocks(run.model)
    x = torch.tensor(run.trace[f"{home}.0.resid_in"])[None]
    allowed = torch.ones(1, 1, 1, x.shape[1], dtype=torch.bool)
    found = [x]
    with torch.inference_mode():
        for layer in layers:
            found.append(layer(found[-1], allowed))
    looped = torch.cat(found).numpy()
    return looped, float(np.abs(looped - hidden(run)).max())


@dataclass(frozen=True, eq=False)
class Data:
    """A run, its words, states (layer + 1, pos, d), similarities over depth, weights (layer, head, query,
    key), and how far a
    loop over the layers is from the run."""

    run: Run
    words: tuple[str, ...]
    states: Array
    depth: Depth
    weights: Array
    off: float


def measure_run(run: Run) -> Data:
    """Compute all measures of a run after each layer."""
    states = hidden(run)
    words = distinct(token.removeprefix(" ") or token for token in read(run).tokens)
    return Data(run, tuple(words), states, over_depth(states), run.attention("self").weights, as_loop(run)[1])


@dataclass(frozen=True, eq=False)
class Stage:
    """One value of a word inside a layer: what it is, and its d numbers."""

    name: str
    vector: Array


def stages(run: Run, layer: int, word: int) -> tuple[Stage, ...]:
    """Return the vectors of one word on its way through one layer, in the order of its network: norms before the sub-layers, or after
    the sums.
    """
    home, _ = blocks(run.model)

    def stage(name: str, leaf: str) -> Stage:
        return Stage(name, run.trace[f"{home}.{layer}.{leaf}"][word])

    x, attention = stage("x, the word", "resid_in"), stage("attention", "self_attn.out")
    network, first = stage("feed-forward", "ffn.out"), stage("x + attention", "resid_mid")
    one, two = stage("layer norm 1", "norm1.out"), stage("layer norm 2", "norm2.out")
    if getattr(run.model.config, "order", "post") == "pre":
        return x, one, attention, first, two, network, stage("+ feed-forward", "resid_out")
    return x, attention, first, one, network, Stage("+ feed-forward", one.vector + network.vector), two


def count_parameters(model: Model, layer: int = 0) -> dict[str, int]:
    """Count the parameters of one layer in the network, by matrix.

    >>> import core
    >>> sum(count_parameters(core.open_model("bert-mini")).values())
    789760
    """
    block: Any = blocks(model)[1][layer]
    parts = {
        "queries": block.self_attn.to_q,
        "keys": block.self_attn.to_k,
        "values": block.self_attn.to_v,
        "output": block.self_attn.to_out,
        "inner (W₁, b₁)": block.ffn.to_hidden,
        "back (W₂, b₂)": block.ffn.to_out,
        "norm 1": block.norm1,
        "norm 2": block.norm2,
    }
    return {name: sum(weight.numel() for weight in part.parameters()) for name, part in parts.items()}


def by_formula(d: int, d_ff: int) -> dict[str, int]:
    """Compute the parameters of a layer of any size, d numbers per word and d_ff inner units, by matrix.

    >>> sum(by_formula(512, 2048).values())
    3152384
    """
    square = dict.fromkeys(("queries", "keys", "values", "output"), d * d + d)
    return square | {
        "inner (W₁, b₁)": d * d_ff + d_ff,
        "back (W₂, b₂)": d_ff * d + d,
        "norm 1": 2 * d,
        "norm 2": 2 * d,
    }
