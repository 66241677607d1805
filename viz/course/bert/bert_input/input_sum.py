"""BERT's input at a position: a token vector, a segment vector and a position vector, added; and the effect of removing one.

x_i = token(id_i) + segment(s_i) + position(i)          (Devlin et al. 2019, figure 2; a layer norm follows)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.edits import Scale
from core.maths import softmax
from core.model import Model
from core.run import Run

Array = NDArray[np.float32]
PARTS = ("token", "segment", "position")
KEEP = ("embed.token", "embed.segment", "embed.position", "embed.sum")
LAST = ("layer.*.resid_in", "layer.*.resid_out")


@dataclass(frozen=True, eq=False)
class Sum:
    """The three vectors of every token and their sum, each (pos, d_model)."""

    tokens: tuple[str, ...]
    segments: tuple[int, ...]
    parts: dict[str, Array]
    total: Array

    @property
    def exact(self) -> bool:
        """Return whether the three, added in float32, are the recorded sum to the last bit."""
        return bool(
            np.array_equal((self.parts["token"] + self.parts["segment"]) + self.parts["position"], self.total)
        )


@dataclass(frozen=True, eq=False)
class Ablation:
    """One of the three set to 0: the change of each token's last vector (1 - cosine, pos), and P(IsNext) before and after."""

    part: str
    turned: NDArray[np.float64]
    follows: tuple[float, float]


def summed(run: Run) -> Sum:
    """Return the three vectors of a run that recorded "embed.*"."""
    n = run.side.n_real
    shape = np.asarray(run.trace["embed.sum"]).reshape(-1, run.model.config.d_model)[:n].shape
    found = {
        name: np.asarray(run.trace[f"embed.{name}"]).reshape(-1, run.model.config.d_model)[:n]
        for name in (*PARTS, "sum")
    }
    assert all(value.shape == shape for value in found.values())
    return Sum(run.tokens[:n], run.side.segments[:n], {name: found[name] for name in PARTS}, found["sum"])


def ablate(model: Model, text: str, pair: str | None, part: str) -> Ablation:
    """Run the text again with one of the three set to 0, and compare the output of the last layer."""
    whole = model.run(text, pair=pair, keep=LAST)
    less = model.run(text, pair=pair, keep=LAST, edits=[Scale(f"embed.{part}", 0.0)])
    a, b = (np.asarray(run.hidden()[-1], dtype=np.float64) for run in (whole, less))
    cosine = (a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
    follows = tuple(float(softmax(np.asarray(run.next_sentence))[0]) for run in (whole, less))
    return Ablation(part, 1 - cosine[: whole.side.n_real], (follows[0], follows[1]))
