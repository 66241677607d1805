"""The folds of each step of the exhibit on self-attention: equations with numbers, the table, arrays, lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from viz.course.exhibit import Folds
from viz.course.self_attention.self_attention.grids import products
from viz.course.self_attention.self_attention.params import Data, Params, at_of
from viz.labels import distinct
from viz.languages import _
from viz.number_text import number, trimmed

QUESTION, ONE, ALL, SCORES, MIX, HAND = range(6)
"""The steps, by their subject."""
ARRAY_NAMES = ("x", "w_q", "w_k", "w_v", "q", "k", "v", "scores", "weights", "z")


def folds(step: int, data: Data, params: Params, revealed: bool) -> Folds:
    """Return the folds of one step."""
    equations, lines = EQUATIONS[step](data, at_of(data, params)) if revealed else ({}, ())
    return Folds(lambda: table(step, data), lambda: arrays(data), code(params), revealed, equations, lines)


StepEquations = tuple[Mapping[str, Mapping[str, Any]], tuple[str, ...]]


def _listed(values: np.ndarray) -> list[str]:
    return [trimmed(value) for value in values]


def _question(data: Data, marked: int) -> StepEquations:
    return {"self.kernel": {}}, (rf"n = {len(data.words)}, \qquad n^2 = {data.attention.scores.size}",)


def _one(data: Data, marked: int) -> StepEquations:
    x = _listed(data.attention.x[marked])
    told = {
        f"self.{word}": {"x_i": x, f"{word[0]}_i": _listed(getattr(data.attention, word[0])[marked])}
        for word in ("query", "key", "value")
    }
    return {"self.lifei": {}} | told, ()


def _all(data: Data, marked: int) -> StepEquations:
    (n, d), p, r = data.attention.x.shape, data.attention.q.shape[1], data.attention.v.shape[1]
    lines = tuple(
        rf"{name} = W_{name}^\top X: \quad {size} \times {n} = ({d} \times {size})^\top \, ({d} \times {n})"
        for name, size in (("Q", p), ("K", p), ("V", r))
    )
    return {"self.query": {}, "self.key": {}, "self.value": {}}, lines


def _scores(data: Data, marked: int) -> StepEquations:
    best, p = int(data.attention.weights[marked].argmax()), data.attention.q.shape[1]
    dot = (
        products(data.attention.q[marked], data.attention.k[best]).replace("·", r" \cdot ").replace("−", "-")
    )
    pair, score = rf"{marked + 1}\,{best + 1}", data.attention.scores[marked, best]
    line = rf"s_{{{pair}}} = \frac{{{dot}}}{{\sqrt{{{p}}}}} = {number(score, 3)}".replace("−", "-")
    share = rf"\frac{{e^{{{score:.3f}}}}}{{\sum_j e^{{s_{{{marked + 1}\,j}}}}}}"
    weight = rf"a_{{{pair}}} = {share} = {data.attention.weights[marked, best]:.3f}"
    return {"self.scores": {"p": str(p)}, "self.weights": {}, "self.kernel": {}}, (line, weight)


def _mix(data: Data, marked: int) -> StepEquations:
    mix = r" + ".join(
        rf"{weight:.3f}\, v_{{{j + 1}}}" for j, weight in enumerate(data.attention.weights[marked])
    )
    return {"self.matrix": {"p": str(data.attention.q.shape[1])}, "self.output": {}}, (
        rf"z_{{{marked + 1}}} = {mix}",
        rf"\text{{{_('attention of PyTorch on the same numbers:')} }} \max |Z - Z'| = {data.off:.1e}",
    )


def _hand(data: Data, marked: int) -> StepEquations:
    example, mixed = data.example, data.mixed
    seen = [row for row in zip(example.words, mixed.scores, mixed.weights, strict=True) if row[-1]]
    total = " + ".join(rf"{weight:.3g}\, v_{{\text{{{word}}}}}" for word, _score, weight in seen)
    scores, shares = (", ".join(f"{row[at]:.3g}" for row in seen) for at in (1, 2))
    return {"self.output": {}}, (
        rf"v_{{\text{{{example.word}}}}} = {total}",
        rf"\mathrm{{softmax}}({scores}) = ({shares})",
    )


EQUATIONS: tuple[Callable[[Data, int], StepEquations], ...] = (_question, _one, _all, _scores, _mix, _hand)


def table(step: int, data: Data) -> pd.DataFrame:
    """Return the matrices of the step, one word per row."""
    if step == HAND:
        return pd.DataFrame(
            {_("score"): data.mixed.scores, _("share"): data.mixed.weights}
            | _columns("v", data.mixed.values),
            index=list(data.example.words),
        ).round(4)
    found, names = data.attention, distinct(data.words)
    x, q, k, v, z = (_columns(letter, getattr(found, letter)) for letter in "xqkvz")
    chosen = {
        QUESTION: x,
        ONE: x | q | k | v,
        ALL: q | k | v,
        SCORES: {_("score of {word}", word=name): found.scores[:, j] for j, name in enumerate(names)}
        | {_("share of {word}", word=name): found.weights[:, j] for j, name in enumerate(names)},
        MIX: z
        | _columns(_("z as printed"), data.printed.z)
        | {_("what reaches it, as printed"): data.printed.sums},
    }
    return pd.DataFrame(chosen[step], index=names).round(4).rename_axis(_("word"))


def _columns(letter: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{letter} {c + 1}": values[:, c] for c in range(values.shape[1])}


def arrays(data: Data) -> dict[str, Any]:
    """Return the exported arrays; words are rows."""
    return {name: getattr(data.attention, name) for name in ARRAY_NAMES} | {"z_printed": data.printed.z}


def code(params: Params) -> str:
    """Return lines of Python that compute the same numbers in a notebook."""
    made = "".join(
        f'self_attention.Change("{c.matrix}", {c.row}, {c.column}, {c.value:g}), ' for c in params.changes
    )
    changes = f", changes=[{made.rstrip(', ')}]" if made else ""
    return (
        "import torch\nimport torch.nn.functional as F\n\nfrom viz.course.shared import self_attention\n\n"
        f"words, total = self_attention.words_of({params.text!r}, {params.n})\n"
        f"x = self_attention.word_vectors(words, d={params.d}, lot={params.lot})  # (n, d), words are rows\n"
        f"weights = self_attention.weight_matrices(d={params.d}, p={params.p}, r={params.r}, lot={params.lot}{changes}, tied={params.tied})\n"
        f"found = self_attention.attend(x, *weights, itself={params.itself})\n"
        "q, k, v = (torch.from_numpy(part)[None] for part in (found.q, found.k, found.v))\n"
        "theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.from_numpy(found.allowed)[None])[0].numpy()\n"
        "print(found.q, found.k, found.v)\nprint(found.scores, found.weights)\nprint(found.z, abs(found.z - theirs).max())"
    )
