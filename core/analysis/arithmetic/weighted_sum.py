"""The lines after the weights: values mixed, the head's output, and its way into the layer's output."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.analysis.arithmetic.digits import Array
from core.analysis.arithmetic.lines import Citation, Line, expression_line, sum_line, vector_line
from core.analysis.arithmetic.scores import to_numpy
from core.layers.score_terms import SLIDES, SURVEY
from core.wording import TOKENS, _

if TYPE_CHECKING:
    from jaxtyping import Float


MIXED: tuple[Citation, ...] = (
    (SURVEY, "2.4.2", "Eq. (6)"),
    (SLIDES, "query-retrieval modeling", "Eq. (6)"),
    ("vaswani2017", "3.2.1", "Eq. (1)"),
)
CONTEXT: tuple[Citation, ...] = (
    (SURVEY, "2.3", "Eq. (3)"),
    (SLIDES, "sequence-to-sequence model with attention", "Eq. (3)"),
    ("bahdanau2015", "3.1", "Eq. (5)"),
)
PROJECTED: tuple[Citation, ...] = (
    (SURVEY, "3.2.2", "Eq. (22)"),
    (SLIDES, "multihead attention with self-attention", "Eq. (22)"),
    ("vaswani2017", "3.2.2", "MultiHead(Q, K, V)"),
)
RESIDUAL: tuple[Citation, ...] = (
    (SURVEY, "3.2.3", "Eq. (23)"),
    (SLIDES, "layer normalization", "Eq. (23)"),
    ("he2016", "3.1", "Eq. (1)"),
)
ATTENTIONAL: tuple[Citation, ...] = (("luong2015", "3", "Eq. (5)"),)


@dataclass(frozen=True)
class Stream:
    """The residual stream before and after a sublayer is added, at one position (d_model each), with their paths.

    `post_norm` is the root-mean-square norm of the sublayer's output before it is added, None where there is no such norm.
    """

    before: Array
    after: Array
    before_path: str
    after_path: str
    post_norm: Any = None
    normed_path: str = ""

    def gains(self, out: Float[Array, " d_model"]) -> Float[Array, " d_model"]:
        """Return the factor by which each number of the sublayer's output is multiplied on its way into the stream: (d_model,)."""
        if self.post_norm is None:
            return np.ones(len(out))
        out = out.astype(np.float64)
        return to_numpy(self.post_norm.weight) / np.sqrt((out * out).mean() + self.post_norm.eps)


def mixing_lines(
    weights: Float[Array, " key"],
    values: Float[Array, "key d_head"],
    heads: Float[Array, " d_head"],
    key: int,
    keys: Sequence[str],
    element: int | None,
    paths: Callable[[str], str],
    cites: tuple[Citation, ...],
    names: tuple[str, str],
) -> list[Line]:
    """Return the lines of weight times value vector and of one element of the sum over all keys: weights (key), values (key d), heads (d).

    `element` is the one shown, None for the largest. `names` are the letters of a value and of the mixture.
    """
    value, mixture = names
    shown = int(np.argmax(np.abs(heads))) if element is None else element
    scale = np.full(values.shape[1], weights[key])
    part = sum_line(
        "value",
        _("weight times value"),
        _("What {query} takes from {key}: the weight times each number of {key}'s value vector."),
        f"a_{{ij}} {value}_{{j}}",
        cites,
        columns={"a": scale, value: values[key]},
        reads=[paths("pattern"), paths("v")],
    )
    counts = {"number": shown, "n": len(heads), **TOKENS}
    about = (
        _(
            "All keys give their part; added up they are the output of this head for {query}. Here its number {number}, the largest of {n}.",
            **counts,
        )
        if element is None
        else _(
            "All keys give their part; added up they are the output of this head for {query}. Here its number {number} of {n}.",
            **counts,
        )
    )
    whole = sum_line(
        "output",
        _("the sum over all keys, number {number}", number=shown),
        about,
        f"{mixture}_{{i}} = Σ_{{j}} a_{{ij}} {value}_{{j}}",
        cites,
        columns={"a": weights, value: values[:, shown]},
        labels=keys,
        axis="key",
        selected_index=key,
        shared=True,
        recorded=float(heads[shown]),
        path=paths("heads"),
        reads=[paths("pattern"), paths("v")],
    )
    return [vector_line(part), whole]


def _residual_lines(element: int, out: Array, stream: Stream, path: str) -> list[Line]:
    """Return the lines for number `element` of a sublayer's output: its norm, where there is one, and its sum with the stream."""
    given, gain = float(out[element]), float(stream.gains(out)[element])
    behind = stream.post_norm is not None
    normed = expression_line(
        "behind",
        _("normed before it is added"),
        _(
            "Number {number} divided by the root of the mean square of all {n}, times the gain that this norm has learned for it.",
            number=element,
            n=len(out),
        ),
        "n_{t} = g_{t} Z_{t} / √(mean(Z²) + ε)",
        (("zhang2019", "4", "Eq. (4)"),),
        form="{} · {}",
        formula=lambda z, g: z * g,
        values=[given, gain],
        size=abs(given * gain),
        path=stream.normed_path,
        reads=[path],
    )
    added, reads = (normed.value, stream.normed_path) if behind else (given, path)
    total = expression_line(
        "stream",
        _("into the residual stream"),
        _(
            "Added to number {number} of what stood there before: the residual stream after this sublayer.",
            number=element,
        ),
        "z'_{t} = z_{t} + x_{t}",
        RESIDUAL,
        form="{} + {}",
        formula=lambda x, z: x + z,
        values=[float(stream.before[element]), added],
        size=abs(float(stream.before[element])) + abs(added),
        recorded=float(stream.after[element]),
        path=stream.after_path,
        reads=[stream.before_path, reads],
    )
    return [normed, total] if behind else [total]


def projection_lines(
    module: Any,
    head: int,
    heads: Float[Array, "head d_head"],
    out: Float[Array, " d_model"],
    stream: Stream,
    paths: Callable[[str], str],
) -> list[Line]:
    """Return the lines of this head's slice of W_O, of all heads together, of the residual stream, and of the head's
    shares of both.
    """
    n_heads, width = heads.shape
    weight = to_numpy(module.to_out.weight)
    mine = weight[:, head * width : (head + 1) * width].astype(np.float64) @ heads[head]
    at = int(np.argmax(np.abs(mine)))
    row = weight[at].reshape(n_heads, width)
    shares = (row.astype(np.float64) * heads).sum(-1)
    labels = [_("head {n}", n=i) for i in range(n_heads)]
    if module.to_out.bias is not None:
        shares, labels = np.append(shares, float(module.to_out.bias[at])), [*labels, _("bias")]
    return [
        sum_line(
            "projection",
            _("this head's slice of W_O, number {number}", number=at),
            _(
                "The output matrix has {width} columns for this head. They turn its output into a vector as wide as the stream; here number {number} of {n}, the largest.",
                width=width,
                number=at,
                n=len(out),
            ),
            f"c_{{{at}}} = Σ_{{e}} W_{{O,{at}e}} z_{{ie}}",
            PROJECTED,
            columns={"W_O": row[head], "z": heads[head]},
            shared=True,
            reads=[paths("heads")],
        ),
        sum_line(
            "heads",
            _("all heads together"),
            _(
                "Number {number} of all {n} heads and the bias, added: what the sublayer gives.",
                number=at,
                n=n_heads,
            )
            if len(labels) > n_heads
            else _("Number {number} of all {n} heads, added: what the sublayer gives.", number=at, n=n_heads),
            "Z_{t} = W_{O}^{⊤} concat(Z_{1} … Z_{h})",
            PROJECTED,
            columns={"c": shares},
            form="{}",
            labels=labels,
            axis="head",
            selected_index=head,
            shared=True,
            recorded=float(out[at]),
            path=paths("out"),
            reads=[paths("heads")],
        ),
        *_residual_lines(at, out, stream, paths("out")),
        share_line(
            "share",
            _("this head's share of the sublayer"),
            _(
                "How much of what the sublayer gives points where this head's vector c points. The shares of all heads and of the bias add up to 1."
            ),
            mine,
            out,
            "out",
            PROJECTED,
            paths("out"),
        ),
        share_line(
            "stream_share",
            _("this head's share of the stream"),
            _("The same against the whole stream after the sublayer."),
            mine * stream.gains(out),
            stream.after,
            "x",
            RESIDUAL,
            stream.after_path,
        ),
    ]


def share_line(
    name: str,
    title: str,
    words: str,
    part: Float[Array, " d_model"],
    total: Float[Array, " d_model"],
    letter: str,
    cites: tuple[Citation, ...],
    path: str,
) -> Line:
    """Return the line of a part's share of the vector `total`: c · x / |x|²."""
    total = total.astype(np.float64)
    squared = float(total @ total)
    if squared == 0:
        return expression_line(
            name,
            title,
            words + _(" Here there is nothing to share: all of it is 0."),
            "",
            cites,
            form="{}",
            formula=lambda x: x,
            values=[0.0],
            reads=[path],
        )
    return expression_line(
        name,
        title,
        words,
        f"c · {letter} / |{letter}|^{{2}}",
        cites,
        form="{} / {}",
        formula=lambda a, b: a / b,
        values=[float(part.astype(np.float64) @ total), squared],
        reads=[path],
    )


def attentional_lines(
    mix: Any,
    context: Float[Array, " d_model"],
    state: Float[Array, " d_model"],
    mixed: Float[Array, " d_model"],
    paths: dict[str, str],
) -> list[Line]:
    """Return the lines of tanh(W [c; s] + b), which the output layer reads: context, state, mixed (d_model each)."""
    width = len(context)
    weight = to_numpy(mix.weight)
    part = weight[:, :width].astype(np.float64) @ context
    at = int(np.argmax(np.abs(part)))
    bias = 0.0 if mix.bias is None else float(mix.bias[at])
    own = float(weight[at, width:].astype(np.float64) @ state)
    form, values = (
        ("{} + {} + {}", [float(part[at]), own, bias])
        if mix.bias is not None
        else ("{} + {}", [float(part[at]), own])
    )
    return [
        sum_line(
            "projection",
            _("the context's part, number {number}", number=at),
            _(
                "A matrix reads the context and the decoder's state side by side. The half for the context gives, as number {number} of {n}, its largest:",
                number=at,
                n=width,
            ),
            f"(W_{{c}} c_{{t}})_{{{at}}}",
            ATTENTIONAL,
            columns={"W_c": weight[at, :width], "c": context},
            shared=True,
            reads=[paths["heads"]],
        ),
        expression_line(
            "mixed",
            _("with the decoder's state"),
            _(
                "The state's part and the bias are added, and tanh squashes the sum: what the output layer reads."
            ),
            "h̃_{t} = tanh(W [c_{t}; s_{t}])",
            ATTENTIONAL,
            form=f"tanh({form})",
            formula=lambda *x: math.tanh(sum(x)),
            values=values,
            size=sum(map(abs, values)),
            recorded=float(mixed[at]),
            path=paths["mixed"],
            reads=[paths["heads"], paths["state"]],
        ),
    ]
