"""The lines of the score functions, one function each.

What the score function of a recurrent decoder computes on the way is not in the trace: it is computed here from the network's weights and the
recorded q and k, and its last line is compared with the recorded score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from core.analysis.arithmetic.digits import Array
from core.analysis.arithmetic.lines import Citation, Line, expression_line, sum_line
from core.layers import score_terms as terms
from core.layers import scores
from core.layers.score_terms import listed
from core.wording import TOKENS, _

if TYPE_CHECKING:
    from jaxtyping import Float


TABLE, PRODUCT = ("beigy2021", "table of alignment score functions"), terms.product()
LEARNED: tuple[Citation, ...] = (("yang2016", "2.2", "Eqs. (5)-(10)"),)
LUONG_SCORE: Citation = ("luong2015", "3.1", "score")


def to_numpy(weight: Tensor) -> Array:
    """Return a weight of the network as a float32 array."""
    return weight.detach().float().cpu().numpy()


@dataclass(frozen=True)
class Pair:
    """A query and a key (d_head each), the key's index, the score that the run recorded for them, and the paths."""

    q: Array
    k: Array
    key_index: int
    recorded: float
    q_path: str
    k_path: str
    path: str

    @property
    def size(self) -> float:
        """Return the sum of the sizes of all products."""
        return float(np.abs(self.q.astype(np.float64) * self.k).sum())

    @property
    def score_fields(self) -> dict[str, Any]:
        """Return the arguments of a line that ends in the recorded score."""
        return {"recorded": self.recorded, "path": self.path}


def dot_lines(pair: Pair, score: Any) -> list[Line]:
    """Return the line of a dot product: the sum over the components of q · k."""
    return [
        product_line(
            pair, **pair.score_fields, cites=(*listed("Eq. (9)"), (*TABLE, "dot-product"), LUONG_SCORE)
        )
    ]


def scaled_lines(pair: Pair, score: Any) -> list[Line]:
    """Return the lines of q · k, divided by sqrt(d_head)."""
    return term_lines(pair, (terms.product(), terms.scale(len(pair.q), len(pair.q))), {}, {})


def term_lines(
    pair: Pair, score_terms: terms.Terms, parts: Mapping[str, float], paths: Mapping[str, str]
) -> list[Line]:
    """Return a line for each step of computing a score, as `score_terms` describes it; `parts` has the number of each leaf, `paths` its trace path."""
    first, *others = terms.steps(score_terms)
    ends = {} if others else pair.score_fields
    lines = [product_line(pair, cites=first.cites, words=_(first.words), **ends)]
    equation, size = first.equation, pair.size
    for term in others:
        part = [parts[term.leaf]] if term.leaf else []
        equation, size = term.equation % equation, abs(float(term.apply(size, *map(abs, part))))
        last = term is others[-1]
        lines.append(
            expression_line(
                term.name,
                _(term.title),
                _(term.words) + (_(" This is the score.") if last else ""),
                f"s_{{ij}} = {equation}",
                term.cites,
                form=term.form,
                formula=term.apply,
                values=[lines[-1].value, *part],
                size=size,
                reads=[pair.q_path, pair.k_path, *([paths[term.leaf]] if term.leaf else [])],
                **(pair.score_fields if last else {}),
            )
        )
    return lines


def product_line(
    pair: Pair,
    *,
    cites: tuple[Citation, ...],
    words: str = "",
    recorded: float | None = None,
    path: str = "",
) -> Line:
    """Return one line that multiplies query and key component by component and adds the products."""
    return sum_line(
        "product",
        _(PRODUCT.title),
        words or _(PRODUCT.words),
        f"{PRODUCT.equation} = Σ_{{e}} q_{{ie}} k_{{je}}",
        cites,
        columns={"q": pair.q, "k": pair.k},
        recorded=recorded,
        path=path,
        reads=[pair.q_path, pair.k_path],
    )


def learned_query_lines(pair: Pair, summary: Any, state: Float[Array, " d_model"], path: str) -> list[Line]:
    """Return three lines of the score of a learned query: one element of W h + b, its tanh, and the product of the whole u = tanh(W h + b) with the query vector.

    The element is the one that weighs most in the score; h is the key's `state`, recorded at `path`.
    """
    weight, bias = to_numpy(summary.to_k.weight), to_numpy(summary.to_k.bias)
    most = int(np.argmax(np.abs(pair.k * pair.q)))
    inner = sum_line(
        "inner",
        _("W h + b, element {n}", n=most),
        _(
            "A linear map of {key}'s state h. Its element {n}, the one that weighs most below; the last factor belongs to the bias:",
            n=most,
            **TOKENS,
        ),
        f"(W h_{{j}} + b)_{{{most}}}",
        LEARNED,
        columns={"W, b": np.append(weight[most], bias[most]), "h, 1": np.append(state, 1.0)},
        reads=[path],
    )
    return [
        inner,
        expression_line(
            "key",
            _("u, element {n}", n=most),
            _("The tanh of it: an element of {key}'s vector u."),
            "u_{j} = tanh(W h_{j} + b)",
            LEARNED,
            form="tanh({})",
            formula=math.tanh,
            values=[inner.value],
            recorded=float(pair.k[most]),
            path=pair.k_path,
            reads=[path],
        ),
        sum_line(
            "product",
            _("u · learned vector"),
            _(
                "Each number of {key}'s u times that of the learned vector, which is the same for every text; all products added. This is the score."
            ),
            "s_{j} = u_{j} · u",
            LEARNED,
            columns={"u": pair.q, "u_{j}": pair.k},
            reads=[pair.q_path, pair.k_path],
            **pair.score_fields,
        ),
    ]


def general_lines(pair: Pair, score: Any) -> list[Line]:
    """Return the lines of Luong's general score: the key through a matrix, then its product with the query."""
    weight = to_numpy(score.to_key.weight).astype(np.float64)
    mapped = weight @ pair.k
    most = int(np.argmax(np.abs(mapped * pair.q)))
    cites = (*listed("Eq. (11)"), (*TABLE, "general"), LUONG_SCORE)
    return [
        sum_line(
            "mapped",
            _("W · key, element {n}", n=most),
            _(
                "A matrix W of the network turns {key}'s state first. Its element {n}, the one that weighs most in the next line:",
                n=most,
                **TOKENS,
            ),
            f"(W k_{{j}})_{{{most}}} = Σ_{{e}} W_{{{most},e}} k_{{je}}",
            cites,
            columns={"W": weight[most], "k": pair.k},
            reads=[pair.k_path],
        ),
        sum_line(
            "product",
            _("query · W key"),
            _(
                "Each number of {query}'s state times the number of {key}'s turned state at the same index; all products added. This is the score."
            ),
            "s_{ij} = q_{i} · W k_{j}",
            cites,
            columns={"q": pair.q, "W k": mapped},
            reads=[pair.q_path, pair.k_path],
            **pair.score_fields,
        ),
    ]


def linear_lines(pair: Pair, score: Any) -> list[Line]:
    """Return the lines of a linear score: one weighted sum over the query, one over the key, and their sum."""
    cites = listed("Eq. (12)")
    asked, answer = (
        sum_line(
            name,
            title,
            words,
            f"w_{{{letter}}} · {letter}_{{{index}}}",
            cites,
            columns={f"w_{letter}": to_numpy(weight), letter: side},
            reads=[path],
        )
        for name, title, words, letter, index, weight, side, path in (
            (
                "from_query",
                _("the query's part"),
                _(
                    "A vector of weights times {query}'s state: the same number for every key, so it cancels in the softmax."
                ),
                "q",
                "i",
                score.query,
                pair.q,
                pair.q_path,
            ),
            (
                "from_key",
                _("the key's part"),
                _("Another vector of weights times {key}'s state."),
                "k",
                "j",
                score.key,
                pair.k,
                pair.k_path,
            ),
        )
    )
    return [
        asked,
        answer,
        expression_line(
            "score",
            _("the two added"),
            _("The score of this pair."),
            "s_{ij} = w_{q} · q_{i} + w_{k} · k_{j}",
            cites,
            form="{} + {}",
            formula=lambda a, b: a + b,
            values=[asked.value, answer.value],
            size=float(
                np.abs(to_numpy(score.query) * pair.q).sum() + np.abs(to_numpy(score.key) * pair.k).sum()
            ),
            **pair.score_fields,
        ),
    ]


def additive_lines(pair: Pair, score: Any) -> list[Line]:
    """Return the lines of Bahdanau's additive score: query and key through a matrix each, tanh of their sum, a weighted sum."""
    from_query, from_key = (
        to_numpy(score.from_query.weight).astype(np.float64),
        to_numpy(score.from_key.weight).astype(np.float64),
    )
    asked, answer, v = from_query @ pair.q, from_key @ pair.k, to_numpy(score.v)
    unit = int(np.argmax(np.abs(v * np.tanh(asked + answer))))
    cites = (("bahdanau2015", "A.1.2", "v tanh(W s + U h)"), (*TABLE, "additive"), LUONG_SCORE)
    return [
        sum_line(
            "from_query",
            _("W₁ · query, unit {n}", n=unit),
            _(
                "A small network compares. In its hidden unit {n}, the one that weighs most, {query}'s state is worth:",
                n=unit,
                **TOKENS,
            ),
            f"(W_{{1}} q_{{i}})_{{{unit}}}",
            cites,
            columns={"W₁": from_query[unit], "q": pair.q},
            reads=[pair.q_path],
        ),
        sum_line(
            "from_key",
            _("W₂ · key, unit {n}", n=unit),
            _("In the same unit, {key}'s state is worth:"),
            f"(W_{{2}} k_{{j}})_{{{unit}}}",
            cites,
            columns={"W₂": from_key[unit], "k": pair.k},
            reads=[pair.k_path],
        ),
        sum_line(
            "score",
            _("v · tanh of the sums"),
            _(
                "In every unit the two are added and squashed by tanh; each unit has its weight v. All units together are the score."
            ),
            "s_{ij} = v · tanh(W_{1} q_{i} + W_{2} k_{j})",
            cites,
            columns={"v": v, "W₁ q": asked, "W₂ k": answer},
            axis="unit",
            form="{} · tanh({} + {})",
            reads=[pair.q_path, pair.k_path],
            **pair.score_fields,
        ),
    ]


def cosine_lines(pair: Pair, score: Any) -> list[Line]:
    """Return the lines of a cosine score: the dot product, both lengths, their quotient, times the sharpness."""
    cites = ((*TABLE, "content-base attention"),)
    beta = score.sharpness
    first = product_line(pair, cites=(*cites, *listed("Eq. (9)")))
    lengths = [
        sum_line(name, title, words, equation, cites, columns={letter: side}, form="{}²", reads=[path])
        for name, title, words, equation, letter, side, path in (
            (
                "query_length",
                _("length of the query, squared"),
                _("The squares of {query}'s numbers, added."),
                "|q_{i}|^{2} = Σ_{e} q_{ie}^{2}",
                "q",
                pair.q,
                pair.q_path,
            ),
            (
                "key_length",
                _("length of the key, squared"),
                _("The squares of {key}'s numbers, added."),
                "|k_{j}|^{2} = Σ_{e} k_{je}^{2}",
                "k",
                pair.k,
                pair.k_path,
            ),
        )
    ]
    words = _(
        "Divided by both lengths: the cosine of the angle between the two, from −1 to 1. This is the score."
    )
    equation, form = "s_{ij} = q_{i} · k_{j} / (|q_{i}| |k_{j}|)", "{} / (√({}) · √({}))"
    values = [first.value, *(line.value for line in lengths)]
    if beta != 1:
        form, equation = form + f" · {beta:g}", "β · " + equation
        words += _(" It is made sharper by {factor:g}.", factor=beta)
    if 0 in values[1:]:
        form, values = "{}", [0.0]
        words = _("A vector without length has no direction: the score is 0.")
    score_line = expression_line(
        "score",
        _("divided by both lengths"),
        words,
        equation,
        cites,
        form=form,
        formula=lambda x, a=1.0, b=1.0: x / (math.sqrt(a) * math.sqrt(b)) * beta,
        values=values,
        size=beta if len(values) > 1 else 0.0,
        **pair.score_fields,
    )
    return [first, *lengths, score_line]


def location_lines(pair: Pair, score: Any) -> list[Line]:
    """Return the line of Luong's location score: a row of weights times the query; the key is not read."""
    weight = to_numpy(score.to_position.weight)[pair.key_index]
    cites = ((*TABLE, "location-base"), LUONG_SCORE)
    return [
        sum_line(
            "score",
            _("row {n} of W · query", n=pair.key_index),
            _(
                "Position {n} of the source has a row of weights of its own; that row times {query}'s state is the score. What stands there, {key}, is not asked.",
                n=pair.key_index,
                **TOKENS,
            ),
            "s_{ij} = W_{j} · q_{i}",
            cites,
            columns={f"W[{pair.key_index}]": weight, "q": pair.q},
            reads=[pair.q_path],
            **pair.score_fields,
        )
    ]


SCORE_LINES: dict[type, Callable[[Pair, Any], list[Line]]] = {
    scores.Dot: dot_lines,
    scores.ScaledDot: scaled_lines,
    scores.General: general_lines,
    scores.LinearAdditive: linear_lines,
    scores.Additive: additive_lines,
    scores.Cosine: cosine_lines,
    scores.Location: location_lines,
}
"""Every score function and its lines; a test holds this against `core.layers.scores.SCORES`."""
