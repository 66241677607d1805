"""Decode's comparison: two texts that begin alike, token by token, and which of them the model finds more probable."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from core.decoding import ComparedText, Comparison, ScoredToken
from viz.labels import percent, visible
from viz.languages import _, ngettext
from viz.number_text import number, whole_from
from viz.widgets import page_parts
from viz.workspace.decode.pictures import bare, tail

SHARE = st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0, width="small")


def show(
    comparison: Comparison, prompt: str, on_none: Callable[[], None], length_penalty: float | None = None
) -> None:
    """Draw the sentence, the common beginning, both continuations and their sums. `on_none` ends it."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(_("**A and B compared**"), width="content")
        st.button(_("Compare no more"), key="decode.compare.none", on_click=on_none)
    page_parts.summary(sentence(comparison))
    if more := caution(comparison, length_penalty):
        page_parts.summary(more)
    begun = tail("".join((prompt, *(one.token for one in comparison.common))), 70)
    if begun:
        st.text(
            ngettext(
                "Both begin with “{begun}”, {n} token of it written, ln p = {sum}.",
                "Both begin with “{begun}”, {n} tokens of it written, ln p = {sum}.",
                len(comparison.common),
                begun=begun,
                sum=_sum(comparison.common),
            )
            if comparison.common
            else _("Both begin with “{begun}”.", begun=begun)
        )
    left, right = st.columns([3, 2], gap="large")
    with left:
        page_parts.dataframe(
            continuations(comparison),
            hide_index=True,
            column_config={"p, A": SHARE, "p, B": SHARE},
            key="decode.compare.tokens",
        )
    with right:
        page_parts.dataframe(sums(comparison, length_penalty), hide_index=True, key="decode.compare.sums")


def sentence(comparison: Comparison) -> str:
    """Return which is more probable, by what factor, and where they part."""
    a, b = comparison.a.tokens, comparison.b.tokens
    if not a and not b:
        return _("A and B are the same text.")
    at = len(comparison.common) + 1
    if not a or not b:
        short, long, own = ("A", "B", b) if not a else ("B", "A", a)
        values = {
            "short": short,
            "long": long,
            "times": times(comparison.log_ratio),
            "first": at,
            "token": bare(own[0].token),
            "share": percent(own[0].p),
        }
        if len(own) == 1:
            return _(
                "{short} is the beginning of {long}, so it is {times} as probable as {long}: from token {first} on {long} goes on with “{token}” ({share}).",
                **values,
            )
        return ngettext(
            "{short} is the beginning of {long}, so it is {times} as probable as {long}: from token {first} on {long} goes on with “{token}” ({share}) and {n} token more.",
            "{short} is the beginning of {long}, so it is {times} as probable as {long}: from token {first} on {long} goes on with “{token}” ({share}) and {n} tokens more.",
            len(own) - 1,
            **values,
        )
    more, less = ("A", "B") if comparison.log_ratio >= 0 else ("B", "A")
    parting = {
        "first": at,
        "a": bare(a[0].token),
        "p": percent(a[0].p),
        "b": bare(b[0].token),
        "q": percent(b[0].p),
    }
    factor = times(comparison.log_ratio)
    if factor == times(0.0):
        return _(
            "A and B are equally probable; they part at token {first}, where A has “{a}” ({p}) and B “{b}” ({q}).",
            **parting,
        )
    return _(
        "{more} is {times} as probable as {less}; they part at token {first}, where A has “{a}” ({p}) and B “{b}” ({q}).",
        more=more,
        less=less,
        times=factor,
        **parting,
    )


def caution(comparison: Comparison, length_penalty: float | None) -> str:
    """Return the effect of lengths on the comparison: the score of a beam, or the mean surprisal where texts differ in length; "" else."""
    one, other = comparison.a, comparison.b
    if not one.tokens and not other.tokens:
        return ""
    if one.score is not None and other.score is not None:
        ahead = "A" if one.score >= other.score else "B"
        scores = {
            "penalty": length_penalty,
            "ahead": ahead,
            "a": number(one.score, 3),
            "b": number(other.score, 3),
        }
        if one.cost or other.cost:
            return _(
                "By the beam's score, sum of ln p less what diversity cost / length^{penalty:g}, {ahead} is ahead: A {a}, B {b}.",
                **scores,
            )
        return _(
            "By the beam's score, sum of ln p / length^{penalty:g}, {ahead} is ahead: A {a}, B {b}.", **scores
        )
    if one.length == other.length:
        return ""
    return _(
        "A has {a}, B {b}, and every further token makes a text less probable; the cross-entropy is {bits_a:.2f} bits per token for A, {bits_b:.2f} for B.",
        a=_tokens(one.length),
        b=_tokens(other.length),
        bits_a=one.bits,
        bits_b=other.bits,
    )


def times(log_ratio: float) -> str:
    """Return the factor e^|log ratio| in words.

    >>> times(0.0), times(-1.2), times(6.0), times(40.0)
    ('1.0 times', '3.3 times', '403 times', 'about 10^17 times')
    """
    size = abs(log_ratio)
    if size > math.log(1e6):
        return _("about 10^{power} times", power=round(size / math.log(10)))
    factor = math.exp(size)
    return _("{factor} times", factor=whole_from(factor, 9.95, ".1f"))


def continuations(comparison: Comparison) -> pd.DataFrame:
    """Return the rows after the common beginning: the token of each, and its probability; empty where one has ended before."""
    rows, first = max(len(comparison.a.tokens), len(comparison.b.tokens)), len(comparison.common) + 1

    def column(tokens: Sequence[ScoredToken]) -> tuple[list[str], list[float | None]]:
        missing = rows - len(tokens)
        return [visible(one.token) for one in tokens] + [""] * missing, [one.p for one in tokens] + [
            None
        ] * missing

    (a, p), (b, q) = column(comparison.a.tokens), column(comparison.b.tokens)
    return pd.DataFrame({_("token"): range(first, first + rows), "A": a, "p, A": p, "B": b, "p, B": q})


def sums(comparison: Comparison, length_penalty: float | None) -> pd.DataFrame:
    """Return the sums of the two, common beginning included."""

    def column(side: ComparedText) -> list[str]:
        score = [number(side.score, 3)] if side.score is not None else []
        cost = (
            [number(side.cost)]
            if length_penalty is not None and (comparison.a.cost or comparison.b.cost)
            else []
        )
        return [number(side.logprob), *cost, *score, number(side.bits), str(side.length)]

    names = [_("sum of ln p")]
    if length_penalty is not None:
        names += [_("cost of diversity")] if comparison.a.cost or comparison.b.cost else []
        names += [_("score, / length^{penalty:g}", penalty=length_penalty)]
    return pd.DataFrame(
        {"": [*names, _("bits per token"), _("tokens")], "A": column(comparison.a), "B": column(comparison.b)}
    )


def _sum(tokens: Sequence[ScoredToken]) -> str:
    return number(math.fsum(one.logprob for one in tokens))


def _tokens(n: int) -> str:
    return ngettext("{n} token", "{n} tokens", n)
