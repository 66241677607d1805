"""The first steps of the exhibit on the heads of a trained model: one word, all heads, two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attention.measures import entropy, first_key_weight, mean_distance, offset_weight
from core.analysis.heads.pattern_distance import compare_patterns
from viz.course.exhibit import Folds
from viz.course.self_attention.heads_compared.charts import looks, maps
from viz.course.self_attention.heads_compared.maths import Layer, favourites
from viz.course.self_attention.heads_compared.params import SLUG, Params
from viz.course.shared.maps import side_by_side
from viz.labels import head_name, literal, percent, query_and_key
from viz.number_text import number
from viz.shell import links
from viz.widgets import controls, exhibit_parts, page_parts

MEAN = "mean"
ROWS = 8
"""Number of words whose bars fit above the control in present mode."""
MANY = ("1", "2 or 3", "4 or more")
DEEPER = {
    "look": "Look",
    "compare": "Compare",
    "what_if": "What if",
    "importance": "What matters",
    "find": "Find heads",
}


def one_word(params: Params, data: Layer) -> Folds:
    """Draw the attention of every head from one query word, each head in its colour."""
    names, row, rows = data.names, data.row, data.weights[:, data.row]
    best = favourites(data.weights, row)
    count, n_heads = len(set(best.tolist())), len(best)
    liked = [
        f"“{names[j]}” by {_and([f'H{h}' for h in np.flatnonzero(best == j)])}"
        for j in dict.fromkeys(best.tolist())
    ]
    known = exhibit_parts.predict(
        f"{SLUG}first",
        f"Reading “{names[row]}”, each of {n_heads} heads attends most to one word. How many different words are these?",
        MANY,
        MANY[0 if count == 1 else 1 if count < 4 else 2],
        f"{count}: {', '.join(liked)}.",
    )
    head, total = data.pointing, rows.sum(0)
    key = int(rows[head].argmax())
    seen = (
        _most(total if known else rows[head], row) if exhibit_parts.presenting() else list(range(len(names)))
    )
    figure = looks(rows[:, seen], [names[i] for i in seen], seen.index(row), only=None if known else head)
    whose, rest = ("each head", "") if known else (f"H{head}", "; the other heads after your guess")
    page_parts.show(figure, f"{SLUG}looks", f"What {whose} gives to each word, reading {names[row]}{rest}.")
    at_key = f"H{head} gives {percent(rows[head, key])} of its attention to “{names[key]}”."
    page_parts.summary(
        f"Reading “{names[row]}”, {at_key} All {n_heads} heads together give "
        f"“{names[int(total.argmax())]}” most: {total.max():.2f} of {total.sum():.2f}."
        if known
        else f"This is one of the {n_heads} heads of layer {data.layer} of {data.model}: {at_key} "
        "The others are shown after your guess."
    )
    # the words are those of the run
    controls.pills("Query word", names, SLUG + "word", names[row])
    i, row_of_heads = row + 1, rows.astype(float)
    return Folds(
        lambda: pd.DataFrame(np.round(row_of_heads, 4), index=heads(data), columns=names),
        {"weights": row_of_heads},
        {"target": _target(data), "name": names[row]},
        known,
        {"heads.query": {}, "self.weights": {}},
        tuple(
            rf"\text{{H}}{h}:\quad a_{{{i},{int(each.argmax()) + 1}}} = {each.max():.4f},"
            rf"\quad \textstyle\sum_j a_{{{i}j}} = {each.sum():.4f}"
            for h, each in enumerate(row_of_heads)
        ),
        note_below=lambda: deeper(params, data),
    )


def _most(total: np.ndarray, row: int) -> list[int]:
    """Return for present mode the words with the most attention and the query word, in the order of the text."""
    return sorted({row, *np.argsort(-total, kind="stable")[:ROWS].tolist()})


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def all_heads(params: Params, data: Layer) -> Folds:
    """Draw every head of the layer as a map on one scale."""
    names, n, room = data.names, len(data.weights), exhibit_parts.presenting()
    height, below = (420, 80) if room else (530, 56)
    page_parts.show(
        maps(
            data.weights,
            names,
            data.row,
            allowed=data.allowed,
            height=height,
            all_names=not room,
            below=below,
        ),
        f"{SLUG}maps",
        f"The {n} heads of layer {data.layer} as maps of {len(names)} by {len(names)} words, on one scale "
        "from 0 to 100%.",
    )
    bits = data.divergences()
    a, b = map(int, np.unravel_index(int(np.nanargmax(bits)), bits.shape)) if len(bits) > 1 else (0, 0)
    page_parts.summary(
        f"{n} maps of {len(names)} × {len(names)}, each row adding up to 1. Largest Jensen-Shannon "
        f"divergence: H{min(a, b)} and H{max(a, b)}: {number(float(bits[a, b]))} bits per row, where 0 is the "
        "same attention and 1 no word in common."
    )
    links.page_link("look", "Open them full size", view="full", **head_link(params, data, a))

    def figures() -> pd.DataFrame:
        w = data.weights[None].astype(float)
        columns = {
            "entropy, bits": entropy(w)[0].mean(-1) / np.log(2),
            "distance, words": mean_distance(w)[0],
            "on the first": first_key_weight(w)[0],
            "on the one before": offset_weight(w, -1)[0],
            "on itself": offset_weight(w, 0)[0],
        }
        return pd.DataFrame(columns, index=heads(data)).round(3)

    mean = float(bits[np.triu_indices(len(bits), 1)].mean() if len(bits) > 1 else 0)
    return Folds(
        figures,
        {"weights": data.weights, "bits": bits},
        {"target": _target(data)},
        equations={"self.weights": {}},
        latex=(
            r"\mathrm{JSD}(a, b) = H\!\left(\tfrac{a + b}{2}\right) - \tfrac{1}{2}\left(H(a) + H(b)\right)",
            rf"\text{{the mean over all rows and pairs of heads: }} {mean:.3f} \text{{ bits}}",
        ),
        note_below=lambda: deeper(params, data),
    )


def two_heads(params: Params, data: Layer) -> Folds:
    """Draw A, B and A - B; B may be the mean of all heads."""
    names, n = data.names, len(data.weights)
    top = st.container()
    # which two open depends on the run
    left, right = st.columns([5, 6], gap="medium")  # B has one choice more
    with left:
        a = controls.pills("A", range(n), SLUG + "a", data.pointing, lambda head: f"H{head}")
    with right:
        b = controls.pills(
            "B",
            (*map(str, range(n)), MEAN),
            SLUG + "b",
            str(int(data.divergences()[a].argmax())),
            lambda head: "mean of all" if head == MEAN else f"H{head}",
        )
    one, other = data.weights[a], data.weights.mean(0) if b == MEAN else data.weights[int(b)]
    called = "the mean" if b == MEAN else f"H{b}"
    difference, alike = one - other, compare_patterns(one, other, data.allowed[a])
    panes = {
        f"{SLUG}pane.Apattern": (one, {"title": f"A: H{a}", "scale": "pattern"}),
        f"{SLUG}pane.Bpattern": (other, {"title": f"B: {called}", "scale": "pattern"}),
        f"{SLUG}pane.Adifference": (difference, {"title": "A − B", "scale": "difference", "limit": 1.0}),
    }
    at = np.unravel_index(int(np.abs(difference).argmax()), one.shape)
    gap = float(difference[at])
    with top:
        height, of_all = (
            250 if exhibit_parts.presenting() else 300,
            {"axis": query_and_key(), "group": "heads_compared"},
        )
        side_by_side(names, panes, allowed=data.allowed[a], height=height, **of_all)
        page_parts.summary(
            f"They differ most in the weight from “{names[at[0]]}” to “{names[at[1]]}”: H{a} gives "
            f"{percent(one[at])}, {called} {percent(other[at])}, a difference of {number(gap)}. The mean "
            f"Jensen-Shannon divergence of a row is {number(alike.bits)} bits (maximum 1); the correlation "
            f"of all weights is {number(alike.correlation)}."
            if np.isfinite(alike.correlation)
            else f"H{a} and {called} differ by {number(abs(gap))} at most."
        )
    second = "weights.mean(0)" if b == MEAN else f"weights[{b}]"
    return Folds(
        lambda: pd.DataFrame(np.round(difference.astype(float), 4), index=names, columns=names),
        {"a": one, "b": other, "difference": difference},
        {"target": _target(data), "one": a, "other": second},
        equations={"self.weights": {}},
        latex=(
            rf"\max_{{ij}} |A_{{ij}} - B_{{ij}}| = {float(np.abs(difference).max()):.4f}",
            r"\textstyle\sum_j (A_{ij} - B_{ij}) = 0 \text{ in every row: both add up to } 1",
        ),
        note_below=lambda: deeper(params, data),
    )


def heads(data: Layer) -> list[str]:
    """Return the names of the heads."""
    return [f"H{head}" for head in range(len(data.weights))]


def _target(data: Layer) -> str:
    """Return the argument `target` for the lines of Python, which only a translator needs."""
    return ", target=''" if data.kind == "self" and data.model.startswith("translator") else ""


def head_link(params: Params, data: Layer, head: int) -> dict[str, Any]:
    """Return the settings that a link to one head of this layer carries."""
    return {"model": data.model, "text": params.text, "kind": data.kind, "layer": data.layer, "head": head}


def deeper(params: Params, data: Layer) -> None:
    """Draw links to the pages for free work on the same head."""
    head = head_name(data.layer, data.pointing)
    st.markdown(f"**Go deeper** with {literal(head)} of {literal(data.model)}:")
    with st.container(horizontal=True, gap="medium"):
        for page, name in DEEPER.items():
            view = {"view": "full"} if page == "look" else {}
            links.page_link(page, name, **view, **head_link(params, data, data.pointing))
