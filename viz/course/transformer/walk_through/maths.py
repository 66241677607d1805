"""One word through every box of the Transformer: its vector after each, its length, its largest attention weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.diagram_nodes import Box, boxes, tensor_at
from core.analysis.residual.logit_lens import unembed
from core.maths import softmax
from core.run import Run

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Station:
    """Box on a word's way: the word's vector after it (d,), the length of the vector, and measures of the box.

    stream: whether the vector is the residual stream itself (embedding, sums), or an addend of the next sum. change: 1 - cosine
    of the vector before and after a sum. looks: of attention (head, key, weight), the largest weight of the row among all
    heads. alive: of the feed-forward network the number of its active hidden units. guess: prediction of the output layer
    from a sum of the decoder, (token, probability); of the softmax the actual prediction.
    """

    box: Box
    vector: Array
    stream: bool
    size: float
    change: float | None = None
    looks: tuple[int, int, float] | None = None
    alive: int | None = None
    guess: tuple[str, float] | None = None


def journey(run: Run, row: int) -> tuple[Station, ...]:
    """Return the stations of the target token that decoder row `row` predicts, and before them those of the source word with its largest
    weight.

    All boxes of both stacks come in the order of computing.
    """
    word = looked_at(run, row)
    return tuple(_station(run, box, word if box.side == "encoder" else row) for box in boxes(run.model))


def looked_at(run: Run, row: int) -> int:
    """Return the source token with the largest weight in the last cross-attention of a row, the mean of all heads."""
    last = run.model.config.n_layers - 1
    return int(run.trace[f"decoder.layer.{last}.cross_attn.pattern"][:, row].mean(0).argmax())


def _station(run: Run, box: Box, row: int) -> Station:
    vector = tensor_at(run, box.gives)[row].copy()  # a view would keep the whole tensor
    stream = box.kind in ("embed", "position", "add", "final")
    change = looks = alive = guess = None
    if box.kind in ("add", "position"):
        change = 1 - cosine(tensor_at(run, box.reads[0])[row], vector)
    if box.kind in ("self", "cross"):
        weights = run.trace[box.gives.removesuffix("out") + "pattern"][:, row]
        head, key = (int(place) for place in np.unravel_index(int(weights.argmax()), weights.shape))
        looks = head, key, float(weights[head, key])
    if box.kind == "ffn":
        alive = int((run.trace[box.gives.removesuffix("out") + "act"][row] > 0).sum())
    if box.side == "decoder" and box.kind == "add":
        guess = _top(run, softmax(unembed(run.model, vector[None]).astype(np.float64))[0])
    if box.kind == "softmax":
        guess = _top(run, vector)
    return Station(box, vector, stream, float(np.linalg.norm(vector)), change, looks, alive, guess)


def _top(run: Run, chances: Array) -> tuple[str, float]:
    best = int(chances.argmax())
    return name(run, best), float(chances[best])


def name(run: Run, index: int) -> str:
    """Return a token of the vocabulary as a reader sees it: END, or its text without the space before it."""
    tokenizer = run.model.tokenizer
    return "END" if index == tokenizer.end else (token := tokenizer.token(index)).removeprefix(" ") or token


def cosine(a: Array, b: Array) -> float:
    """Return the cosine of two vectors.

    >>> cosine(np.array([1.0, 0.0]), np.array([0.0, 2.0]))
    0.0
    """
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
