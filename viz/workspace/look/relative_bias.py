"""The values that a model adds to its scores for the distance of two positions, head by head: T5's and MPNet's table of relative biases, ALiBi's slopes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads.relative_bias import BiasByDistance, Bucket, bias_by_distance
from core.run import Run
from viz.charts import marks
from viz.charts.parts import vega
from viz.languages import _, mark, ngettext
from viz.number_text import signed
from viz.widgets import page_parts
from viz.workspace.shared.head_ref import HeadRef

NAME, KEY = mark("What the distance adds"), "look.distance"
ROW, AROUND = 22, 120


def show(run: Run, place: HeadRef) -> None:
    """Draw a fold with the table of the stack in view; none for a model that adds nothing for the distance."""
    found = bias_by_distance(run.model, place.kind)
    if found is None:
        return
    with page_parts.fold(NAME, KEY) as fold:
        if fold.open:
            alt_text = _(
                "A heatmap of the {heads} heads and {buckets} buckets of distances.",
                heads=found.values.shape[0],
                buckets=len(found.buckets),
            )
            page_parts.show(picture(found, place.head), KEY, alt_text)
            st.markdown(in_words(found, place))


def in_words(bias: BiasByDistance, place: HeadRef) -> str:
    """Return the picture of the head in view in words, and the meaning of its columns."""
    row = bias.values[place.head]
    if not bias.endless:
        return _(
            "Head {head} takes {slope:.3g} off the score for each token that a key stands further away, whatever the words are. The slope is fixed, not learned (ALiBi), the same in all layers, and distances beyond the picture go on in the same way.",
            head=place.head,
            slope=float(abs(row[-2] - row[-1])),
        )
    best, least = (bias.buckets[int(place)] for place in (row.argmax(), row.argmin()))
    return _(
        "Head {head} adds most, {most}, to a key {best}, and least, {least}, to one {worst}, whatever the words are: it is added to the score before the softmax. The numbers are the same in all layers of this stack. Up to a distance of {exact} each has a number of its own; farther distances share one, more of them the farther they are (by the logarithm of the distance), and from {shared} on all share the last.",
        head=place.head,
        most=signed(row.max(), "+.2f"),
        best=_where(best),
        least=signed(row.min(), "+.2f"),
        worst=_where(least),
        exact=bias.exact_distance,
        shared=bias.shared_from,
    )


def picture(bias: BiasByDistance, head: int) -> vega.Layers:
    """Draw a row for each head, a column for each bucket of distances, diverging colours centred on 0; the row of `head` is framed.

    >>> one = BiasByDistance((Bucket(1, None, -1), Bucket(0, 0, 0)), np.array([[0.5, -1.0]], dtype=np.float32))
    >>> [(cell["value"], cell["note"]) for cell in picture(one, 0).to_dict()["data"]["values"]]
    [(0.5, 'bucket 1: 1 or more tokens before it'), (-1.0, 'bucket 0: at its own place')]
    """
    limit = float(np.abs(bias.values).max()) or 1.0
    near = [signed(bucket.nearest, "+d") if bucket.nearest else "0" for bucket in bias.buckets]
    ends = [
        f"≤ {near[0]}" if bias.endless else near[0],
        *near[1:-1],
        near[-1] if bias.buckets[-1].last is not None else f"≥ {near[-1]}",
    ]
    heads = [f"H{i}" for i in range(len(bias.values))]
    return marks.cells(
        pd.DataFrame(bias.values, heads, ends),
        None,
        x=_("where the key stands, in tokens from the query"),
        ends=(-limit, limit),
        key=_("added to the score"),
        highlighted=(head, None),
        notes=[
            _("bucket {number}: {where}", number=bucket.number, where=_where(bucket))
            for bucket in bias.buckets
        ]
        * len(heads),
        height=len(heads) * ROW + AROUND,
    )


def _where(bucket: Bucket) -> str:
    """Return a bucket in words, from the query.

    >>> _where(Bucket(1, -1, -1)), _where(Bucket(0, 0, 0)), _where(Bucket(5, 8, 11)), _where(Bucket(7, None, -113))
    ('1 token before it', 'at its own place', '8 to 11 tokens after it', '113 or more tokens before it')
    """
    if bucket.nearest == 0:
        return _("at its own place")
    near, before = abs(bucket.nearest), bucket.nearest < 0
    ends = [abs(end) for end in (bucket.first, bucket.last) if end is not None]
    if len(ends) < 2:
        many = mark("{near} or more tokens before it") if before else mark("{near} or more tokens after it")
        return _(many, near=near)
    if not bucket.is_single:
        many = mark("{near} to {far} tokens before it") if before else mark("{near} to {far} tokens after it")
        return _(many, near=near, far=max(ends))
    if before:
        return ngettext("{n} token before it", "{n} tokens before it", near)
    return ngettext("{n} token after it", "{n} tokens after it", near)
