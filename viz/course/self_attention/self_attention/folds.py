"""What each step of the exhibit on self-attention hands to the folds: equations with numbers, what is seen, table, lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number
from viz.course.self_attention.self_attention import link, steps
from viz.course.self_attention.self_attention.grids import neat, products
from viz.course.shared.shown import Shown
from viz.labels import distinct

LATER = pd.DataFrame({"": ["after your guess"]})
WHERE_FROM = (
    "The numbers of words and weights are **drawn by chance** from −1, 0 and 1, so that everything can be worked out in the head; in a trained model both are learned. "
    "The page opens with a draw, chosen from many, in which *apple* looks most at *eating*, as on the slides; other draws look elsewhere. "
)
LOOKING = (
    WHERE_FROM + "There are no positions: two equal words have equal numbers, whatever their place. **Try** a sentence with a word twice.",
    WHERE_FROM + "A frame marks the word. Touch a number of q, k or v: the word and the column of the weights that made it light up. **Try** to make the query all zeros.",
    WHERE_FROM + "A number of Q is the product of a word with a column of W_Q. The switch above the grids turns words from columns, as the slides and the survey write, to rows, as "
    "PyTorch keeps them: X, Q, K, V and Z change their shapes, no number changes, and W, S and A stay as they are. **Try** p = 1, or r larger than p.",
    "Row: the word that asks. Column: the word that answers. Scores are coloured around 0, shares from 0 to 1; what is left out is hatched. **Try** to leave the word itself "
    "out, and with W_K := W_Q find two scores that mirror each other.",
    "A row of A belongs to the word that asks, so it must meet the values. As Eq. (16) is printed, V A, the *columns* of A meet them, and they do not sum to 1: turn the "
    "switch and compare both results. With one word, or when all shares are alike, nothing is seen of it.",
    "The slides give the weights and no scores. The scores here are their logarithms, moved so that the smallest is 0: softmax gives the shares back exactly. The values "
    "are those of the drawn words. **Try** to make *student* all *am*; and let the word look at itself, as Eq. (16) and the models here do.",
)  # fmt: skip


def shown(step: int, data: Any, params: Any, known: bool, change: Callable[[], None]) -> Shown:
    """For one step."""
    equations, lines = EQUATIONS[step](data, link.at_of(data, params)) if known else ({}, ())
    return Shown(equations, lines, LOOKING[step], lambda: table(step, data, known), arrays(data) if known else {"x": data.found.x}, code(params), change)


def aside() -> None:
    """Below what one looks at: the slides' own recipe."""
    st.markdown("The recipe of the slides of 2021 in one breath: a vector for each word; three weight matrices; query, key and value of each word; the product of the query "
                "with every key; divide by √p; softmax; times the values; add up; all words at once as matrices.")  # fmt: skip


Told = tuple[Mapping[str, Mapping[str, Any]], tuple[str, ...]]


def _listed(values: np.ndarray) -> list[str]:
    return [neat(value) for value in values]


def _question(data: Any, at: int) -> Told:
    return {"self.kernel": {}}, (rf"n = {len(data.words)}, \qquad n^2 = {data.found.scores.size}",)


def _one(data: Any, at: int) -> Told:
    x = _listed(data.found.x[at])
    told = {f"self.{word}": {"x_i": x, f"{word[0]}_i": _listed(getattr(data.found, word[0])[at])} for word in ("query", "key", "value")}
    return told, ()


def _all(data: Any, at: int) -> Told:
    (n, d), p, r = data.found.x.shape, data.found.q.shape[1], data.found.v.shape[1]
    lines = tuple(rf"{name} = W_{name}^\top X: \quad {size} \times {n} = ({d} \times {size})^\top \, ({d} \times {n})" for name, size in (("Q", p), ("K", p), ("V", r)))
    return {"self.query": {}, "self.key": {}, "self.value": {}}, lines


def _scores(data: Any, at: int) -> Told:
    best, p = int(data.found.weights[at].argmax()), data.found.q.shape[1]
    dot = products(data.found.q[at], data.found.k[best]).replace("·", r" \cdot ").replace("−", "-")
    line = rf"s_{{{at + 1}\,{best + 1}}} = \frac{{{dot}}}{{\sqrt{{{p}}}}} = {number(data.found.scores[at, best], 3)}".replace("−", "-")
    weight = rf"a_{{{at + 1}\,{best + 1}}} = \frac{{e^{{{data.found.scores[at, best]:.3f}}}}}{{\sum_j e^{{s_{{{at + 1}\,j}}}}}} = {data.found.weights[at, best]:.3f}"
    return {"self.scores": {"p": str(p)}, "self.weights": {}, "self.kernel": {}}, (line, weight)


def _mix(data: Any, at: int) -> Told:
    mix = r" + ".join(rf"{weight:.3f}\, v_{{{j + 1}}}" for j, weight in enumerate(data.found.weights[at]))
    return {"self.matrix": {"p": str(data.found.q.shape[1])}, "self.output": {}}, (rf"z_{{{at + 1}}} = {mix}",)


def _hand(data: Any, at: int) -> Told:
    example, mixed = data.example, data.mixed
    total = " + ".join(rf"{weight:.3g}\, v_{{\text{{{word}}}}}" for word, weight in zip(example.words, mixed.weights, strict=True) if weight)
    scores = ", ".join(f"{score:.3g}" for score, weight in zip(mixed.scores, mixed.weights, strict=True) if weight)
    shares = ", ".join(f"{weight:.3g}" for weight in mixed.weights if weight)
    return {"self.output": {}}, (rf"v_{{\text{{{example.word}}}}} = {total}", rf"\mathrm{{softmax}}({scores}) = ({shares})")


EQUATIONS: tuple[Callable[[Any, int], Told], ...] = (_question, _one, _all, _scores, _mix, _hand)


def table(step: int, data: Any, known: bool) -> pd.DataFrame:
    """The matrices of the step, one word a row."""
    if not known:
        return LATER
    if step == steps.HAND:
        return pd.DataFrame({"score": data.mixed.scores, "share": data.mixed.weights} | _columns("v", data.mixed.values), index=list(data.example.words)).round(4)
    found, names = data.found, distinct(data.words)
    chosen = {
        steps.QUESTION: _columns("x", found.x),
        steps.ONE: _columns("x", found.x) | _columns("q", found.q) | _columns("k", found.k) | _columns("v", found.v),
        steps.ALL: _columns("q", found.q) | _columns("k", found.k) | _columns("v", found.v),
        steps.SCORES: {f"score of {name}": found.scores[:, j] for j, name in enumerate(names)} | {f"share of {name}": found.weights[:, j] for j, name in enumerate(names)},
        steps.MIX: _columns("z", found.z) | _columns("z as printed", data.printed.z) | {"what reaches it, as printed": data.printed.sums},
    }  # fmt: skip
    return pd.DataFrame(chosen[step], index=names).round(4).rename_axis("word")


def _columns(letter: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{letter} {c + 1}": values[:, c] for c in range(values.shape[1])}


def arrays(data: Any) -> dict[str, Any]:
    """What one takes away; words are rows."""
    found = data.found
    return {name: getattr(found, name) for name in ("x", "w_q", "w_k", "w_v", "q", "k", "v", "scores", "weights", "z")} | {"z_printed": data.printed.z}


def code(params: Any) -> str:
    """The lines that make the same numbers in a notebook."""
    made = "".join(f'lessons.Change("{c.matrix}", {c.row}, {c.column}, {c.value:g}), ' for c in params.changes)
    changes = f", changes=[{made.rstrip(', ')}]" if made else ""
    return (
        "import torch\nimport torch.nn.functional as F\n\nfrom viz.course.shared.maths import self_attention as lessons\n\n"
        f"words, total = lessons.words_of({params.text!r}, {params.n})\n"
        f"x = lessons.word_vectors(words, d={params.d}, lot={params.lot})  # (n, d), words are rows\n"
        f"weights = lessons.weight_matrices(d={params.d}, p={params.p}, r={params.r}, lot={params.lot}{changes}, tied={params.tied})\n"
        f"found = lessons.attend(x, *weights, itself={params.itself})\n"
        "q, k, v = (torch.from_numpy(part)[None] for part in (found.q, found.k, found.v))\n"
        "theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.from_numpy(found.allowed)[None])[0].numpy()\n"
        "print(found.z, abs(found.z - theirs).max())"
    )  # fmt: skip
