"""The key-value cache: what is stored, what would be computed again without it, and what that costs here."""

from __future__ import annotations

import time
from dataclasses import astuple

import pandas as pd
import streamlit as st

from core.model import Model
from viz.charts import marks
from viz.languages import _, mark
from viz.widgets import engine_client, page_parts
from viz.workspace.decode.cache_cost import Products, cached_arrays, products, timed

WAYS = {True: mark("with the cache"), False: mark("without it")}
PURPOSES = (mark("projections"), mark("scores"), mark("mixing"), mark("feed forward"), mark("logits"))
"""The fields of `Products`, in words."""
_TIMES = "decode.cache.times"


def show(model: Model, text: str) -> None:
    """Draw the size of the cache after the text, the products of one more token by length; on a click, measured."""
    n = max(1, min(len(model.reader.encode(text).ids), model.config.n_ctx))
    source = n if model.spec.has_source else 1
    length = 1 if model.spec.has_source else n
    arrays = engine_client.submit(
        ("decode.held", model.name, length, source), lambda: cached_arrays(model, length, source), cost=100
    )
    values = {
        "n": n,
        "model": model.name,
        "arrays": len(arrays),
        "size": sum(each.nbytes for each in arrays) / 1024,
        "kept": _("the keys and values of every layer, so that the next token is all that has to be read.")
        if _grows(model)
        else _("states, which do not grow."),
    }
    page_parts.summary(
        _("After the sentence of {n} tokens {model} keeps {arrays} arrays, {size:,.1f} KB: {kept}", **values)
        if model.spec.has_source
        else _("After these {n} tokens {model} keeps {arrays} arrays, {size:,.1f} KB: {kept}", **values),
        "cache",
    )
    with page_parts.fold(_("Every array in the KV cache"), "decode.cache.arrays") as opened:
        if opened.open:
            table = pd.DataFrame(
                [(e.layer, e.kind, e.part, " x ".join(map(str, e.shape)), e.nbytes) for e in arrays],
                columns=[_("layer"), _("attention"), _("what"), _("shape"), _("bytes")],
            )
            page_parts.dataframe(table, hide_index=True, key="decode.cache.table")
    if not _grows(model):
        st.text(
            _(
                "A recurrent decoder carries its states along: each step costs the same, and nothing has to be read again."
            )
        )
        return
    lengths = _lengths(model.config.n_ctx)
    counted = {cached: [products(model, n, cached=cached, source=source) for n in lengths] for cached in WAYS}
    page_parts.show(
        marks.lines(
            pd.DataFrame(
                {_(WAYS[cached]): [each.total for each in found] for cached, found in counted.items()},
                lengths,
            ),
            title=_("multiply-adds of one token"),
            x=_("position of the token in the text"),
            form="~s",
            scales=("log2", "log"),
        ),
        "decode.cache.products",
        _("Multiply-adds of one token by its position in the text, with the KV cache and without it."),
    )
    longest = len(lengths) - 1
    times = counted[False][longest].total / counted[True][longest].total
    page_parts.summary(
        _(
            "Token {n:,} costs {cached:,} multiply-adds with the cache and {uncached:,} without it, {times:,.0f} times as many.",
            n=lengths[longest],
            cached=counted[True][longest].total,
            uncached=counted[False][longest].total,
            times=times,
        )
    )
    with page_parts.fold(_("By purpose"), "decode.cache.parts") as opened:
        if opened.open:
            page_parts.dataframe(
                _parts(counted[True][longest], counted[False][longest]),
                hide_index=True,
                key="decode.cache.kinds",
            )
    _measured(model, lengths, source)


def _grows(model: Model) -> bool:
    return any(kind.name == "causal" for kind in model.spec.kinds_of(model.config))


def _lengths(most: int) -> list[int]:
    """Return 1, 2, 4 ... and the longest text.

    >>> _lengths(48)
    [1, 2, 4, 8, 16, 32, 48]
    """
    return [*(2**i for i in range(most.bit_length()) if 2**i < most), most]


def _parts(cached: Products, recomputed: Products) -> pd.DataFrame:
    return pd.DataFrame(
        zip(map(_, PURPOSES), astuple(cached), astuple(recomputed), strict=True),
        columns=[_("part"), *map(_, WAYS.values())],
    )


def _measured(model: Model, lengths: list[int], source: int) -> None:
    """Draw seconds on this server, on a click: each length as it is done; the last measures stay."""
    known = st.session_state.setdefault(_TIMES, {})
    if st.button(_("Measure it here"), icon=":material/timer:", key="decode.cache.measure"):
        known[model.name], bar = [], st.progress(0.0, _("Measuring."))
        rows, now = timed(model, [0] * max(lengths), lengths, source=[0] * source), time.monotonic_ns()
        for i, n in enumerate(lengths, 1):  # each in its turn, so that nobody else computes meanwhile
            row = engine_client.submit(
                ("decode.timed", model.name, n, now), lambda: next(rows), cost=50.0 * n
            )
            known[model.name].append(row)
            bar.progress(
                i / len(lengths),
                _(
                    "{n:,} tokens: {cached:.1f} ms with the cache, {uncached:.1f} ms without",
                    n=row.n,
                    cached=1e3 * row.cached,
                    uncached=1e3 * row.uncached,
                ),
            )
        bar.empty()
    if rows := known.get(model.name):
        page_parts.show(
            marks.lines(
                pd.DataFrame(
                    {
                        _(WAYS[True]): [1e3 * row.cached for row in rows],
                        _(WAYS[False]): [1e3 * row.uncached for row in rows],
                    },
                    [row.n for row in rows],
                ),
                title=_("milliseconds of one token"),
                x=_("position of the token in the text"),
                scales=("log2", "log"),
            ),
            "decode.cache.times",
            _("Measured milliseconds of one token by its position in the text."),
        )
        last = rows[-1]
        page_parts.summary(
            _(
                "On this server, just now: token {n:,} took {cached:.1f} ms with the cache and {uncached:.1f} ms without it. Nothing else was computed meanwhile; the machine may have other work.",
                n=last.n,
                cached=1e3 * last.cached,
                uncached=1e3 * last.uncached,
            )
        )
