"""The key-value cache: what is stored, what would be computed again without it, and what that costs here."""

from __future__ import annotations

import time
from dataclasses import astuple, fields

import pandas as pd
import streamlit as st

from core.model import Model
from viz.charts import marks
from viz.widgets import engine_client, page_parts
from viz.workspace.decode.cache_cost import Products, cached_arrays, products, timed

WAYS = {True: "with the cache", False: "without it"}
_TIMES = "decode.cache.times"


def show(model: Model, text: str) -> None:
    """Draw the size of the cache after the text, the products of one more token by length; on a click, measured."""
    n = max(1, min(len(model.reader.encode(text).ids), model.config.n_ctx))
    source = n if model.spec.has_source else 1
    length = 1 if model.spec.has_source else n
    arrays = engine_client.submit(
        ("decode.held", model.name, length, source), lambda: cached_arrays(model, length, source), cost=100
    )
    total = sum(each.nbytes for each in arrays)
    page_parts.summary(
        f"After {'the sentence of ' if model.spec.has_source else 'these '}{n} tokens {model.name} keeps {len(arrays)} arrays, {total / 1024:,.1f} KB: "
        + (
            "the keys and values of every layer, so that the next token is all that has to be read."
            if _grows(model)
            else "states, which do not grow."
        ),
        "cache",
    )
    with page_parts.fold("Every array in the KV cache", "decode.cache.arrays") as opened:
        if opened.open:
            table = pd.DataFrame(
                [(e.layer, e.kind, e.part, " x ".join(map(str, e.shape)), e.nbytes) for e in arrays],
                columns=["layer", "attention", "what", "shape", "bytes"],
            )
            page_parts.dataframe(table, hide_index=True, key="decode.cache.table")
    if not _grows(model):
        st.text(
            "A recurrent decoder carries its states along: each step costs the same, and nothing has to be read again."
        )
        return
    lengths = _lengths(model.config.n_ctx)
    counted = {cached: [products(model, n, cached=cached, source=source) for n in lengths] for cached in WAYS}
    page_parts.show(
        marks.lines(
            pd.DataFrame(
                {WAYS[cached]: [each.total for each in found] for cached, found in counted.items()}, lengths
            ),
            title="multiply-adds of one token",
            x="position of the token in the text",
            form="~s",
            scales=("log2", "log"),
        ),
        "decode.cache.products",
        "Multiply-adds of one token by its position in the text, with the KV cache and without it.",
    )
    longest = len(lengths) - 1
    times = counted[False][longest].total / counted[True][longest].total
    page_parts.summary(
        f"Token {lengths[longest]:,} costs {counted[True][longest].total:,} multiply-adds with the cache and {counted[False][longest].total:,} without it, {times:,.0f} times as many."
    )
    with page_parts.fold("By purpose", "decode.cache.parts") as opened:
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
    names = [field.name.replace("_", " ") for field in fields(Products)]
    return pd.DataFrame(
        zip(names, astuple(cached), astuple(recomputed), strict=True),
        columns=["part", "with the cache", "without it"],
    )


def _measured(model: Model, lengths: list[int], source: int) -> None:
    """Draw seconds on this server, on a click: each length as it is done; the last measures stay."""
    known = st.session_state.setdefault(_TIMES, {})
    if st.button("Measure it here", icon=":material/timer:", key="decode.cache.measure"):
        known[model.name], bar = [], st.progress(0.0, "Measuring.")
        rows, now = timed(model, [0] * max(lengths), lengths, source=[0] * source), time.monotonic_ns()
        for i, n in enumerate(lengths, 1):  # each in its turn, so that nobody else computes meanwhile
            row = engine_client.submit(
                ("decode.timed", model.name, n, now), lambda: next(rows), cost=50.0 * n
            )
            known[model.name].append(row)
            bar.progress(
                i / len(lengths),
                f"{row.n:,} tokens: {1e3 * row.cached:.1f} ms with the cache, {1e3 * row.uncached:.1f} ms without",
            )
        bar.empty()
    if rows := known.get(model.name):
        page_parts.show(
            marks.lines(
                pd.DataFrame(
                    {
                        WAYS[True]: [1e3 * row.cached for row in rows],
                        WAYS[False]: [1e3 * row.uncached for row in rows],
                    },
                    [row.n for row in rows],
                ),
                title="milliseconds of one token",
                x="position of the token in the text",
                scales=("log2", "log"),
            ),
            "decode.cache.times",
            "Measured milliseconds of one token by its position in the text.",
        )
        last = rows[-1]
        page_parts.summary(
            f"On this server, just now: token {last.n:,} took {1e3 * last.cached:.1f} ms with the cache and {1e3 * last.uncached:.1f} ms without it. Nothing else was computed meanwhile; the machine may have other work."
        )
