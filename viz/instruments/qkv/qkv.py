"""Five pictures in forty seconds: from a word to its query, the keys and values, the scores, the softmax and the mixture.

All numbers are those of one row of one head. The sequence plays by itself, can be paused and walked by keyboard, and moves
only by hand where the visitor prefers reduced motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from viz.instruments.kit.component import Instrument
from viz.instruments.kit.payload import Packet, labels
from viz.instruments.kit.spec import Spec, as_function

QKV = Instrument("attention_atlas_qkv", "qkv/qkv")
MOST_KEYS = 9
"""Columns of the picture; of a longer text those with the largest weights are drawn."""


@dataclass(frozen=True, eq=False)
class QkvSequence(Spec):
    """One row of a head as a sequence of five pictures.

    word: the query's word. keys: the words that are read, in order. q: (d). k, v: (key, d). scores: (key).
    weights: (key). formula: how a score is made, in one line. steps: what is done to q · k, in words, one after the other.
    sunk: the weight that a learned sink takes. writing: whether the query's word is being written and not read. width: numbers in a position's vector.

    Raises ValueError where the number of keys differs between the arrays.

    Example:
        >>> packet = QkvSequence("a", ["a", "b"], q=[1.0], k=[[1.0], [0.0]], v=[[2.0], [4.0]], scores=[1.0, 0.0], weights=[0.75, 0.25], width=8).packet()
        >>> packet.header["output"], packet.header["columns"], packet.header["rest"]
        ([2.5], [0, 1], 0.0)
    """

    word: str
    keys: Sequence[str]
    _: KW_ONLY
    q: ArrayLike
    k: ArrayLike
    v: ArrayLike
    scores: ArrayLike
    weights: ArrayLike
    width: int
    formula: str = "q · k"
    steps: Sequence[str] = ()
    sunk: float = 0.0
    writing: bool = False
    title: str = ""

    def show(self) -> None:
        """Draw it in the page."""
        QKV.show(self.packet(), key=self.key)

    def packet(self) -> Packet:
        q, k, v, scores, weights = (
            np.asarray(values, dtype=np.float64)
            for values in (self.q, self.k, self.v, self.scores, self.weights)
        )
        names = labels(list(self.keys), len(weights), "key")
        if not len(names) == len(k) == len(v) == len(scores):
            raise ValueError(
                f"{len(names)} keys, but {len(k)} key vectors, {len(v)} value vectors and {len(scores)} scores"
            )
        columns = sorted(np.argsort(-weights, kind="stable")[:MOST_KEYS].tolist())
        return Packet(
            {
                "word": labels([self.word], 1, "query")[0],
                "keys": names,
                "columns": columns,
                "rest": float(weights.sum() - weights[columns].sum()),
                "q": q.tolist(),
                "k": k.tolist(),
                "v": v.tolist(),
                "scores": [float(score) if np.isfinite(score) else None for score in scores],
                "weights": weights.tolist(),
                "output": (weights @ v).tolist(),
                **self.plain("width", "formula", "sunk", "writing", "title", "python"),
                "steps": list(self.steps),
            }
        )


qkv_packet = as_function(QkvSequence, QkvSequence.packet)
qkv = as_function(QkvSequence, QkvSequence.show)
