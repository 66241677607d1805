"""A map of all heads: near points look alike; below it the tree of the nearest."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from core.analysis.heads import head_embedding
from core.analysis.heads.habits import HABIT_NAMES
from viz.labels import percent
from viz.languages import _
from viz.memo import remembered
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.find import charts, like, pool, tiles
from viz.workspace.find.pool import Head, Pool
from viz.workspace.find.tiles import ViewContent

EQUATION = r"D_{ab} = \sqrt{d(a, b)}, \qquad B = -\tfrac{1}{2} J D^{2} J, \qquad J = I - \tfrac{1}{n} \mathbf{1}\mathbf{1}^{\top}, \qquad x = \sqrt{\lambda_1}\, v_1,\; y = \sqrt{\lambda_2}\, v_2"
KEY = "find.points"


def show(heads_pool: Pool, head: Head, selection: Selection) -> ViewContent:
    """Draw all heads as points, the chosen one beside them."""
    others = len(heads_pool.members) > 1 and controls.toggle(
        _("With the heads of the other models"), "find.all", False
    )
    some = list(range(len(heads_pool.heads))) if others else heads_pool.rows_of(head.model, head.place.kind)
    heads = [heads_pool.heads[number] for number in some]
    bits = pool.between(heads_pool, tuple(some))
    plane = remembered(bits, "plane", lambda: head_embedding.classical_mds(head_embedding.js_distances(bits)))
    names = [str(other) if others else str(other.place) for other in heads]
    kinds = [pool.habit(other) for other in heads]
    place = heads.index(head)
    left, right = st.columns([5, 2], gap="medium")
    with left:
        page_parts.show(
            charts.points(
                plane.points, kinds, names, order=[_(name) for name in HABIT_NAMES.values()], selected=place
            ),
            KEY,
            _("{n} heads as points; heads that look alike are near each other.", n=len(some)),
            on_pick=partial(_choose, heads, selection),
        )
    with right:
        st.markdown(
            f"**{head.place}** :gray[{head.model}]  \n:small[{_('{habit}. Click a point for another head.', habit=pool.habit(head))}]"
        )
        tiles.draw(head, tiles.on_text(heads_pool, selection, [head])[head], "find.chosen")
        tiles.look_link(head, _("Open in Look"), selection)
    with page_parts.fold(_("A tree of the most similar heads"), "find.tree") as fold:
        if fold.open:
            links = remembered(
                bits, "tree", lambda: head_embedding.average_linkage(head_embedding.js_distances(bits))
            )
            page_parts.show(
                charts.tree(links, head_embedding.leaf_order(links), names, selected=place),
                "find.dendrogram",
                _("Heads joined in the order of their distance."),
            )
    last = "from core.analysis.heads import head_embedding\n\nplane = head_embedding.classical_mds(head_embedding.js_distances(head_similarity.pairwise_divergences(rows)))\nprint(plane.points, plane.explained_share)"
    return ViewContent(
        _sentence(heads_pool, names, bits, plane.explained_share),
        EQUATION,
        lambda: like.table(
            heads_pool,
            {
                "x": _full(heads_pool, some, plane.points[:, 0]),
                "y": _full(heads_pool, some, plane.points[:, 1]),
            },
            some,
        ),
        lambda: {
            "bits": like.heads_along(heads_pool, bits, some, "other head"),
            "points": like.heads_along(heads_pool, plane.points, some, "coordinate"),
        },
        like.code(heads_pool, last),
    )


def _choose(heads: list[Head], selection: Selection) -> None:
    """Choose the head of the point that was clicked."""
    clicked = st.session_state[KEY]["selection"]["points"]
    if clicked:
        place = np.ravel(clicked[0]["customdata"])[0]
        pool.choose(heads[int(place)], selection)


def _sentence(pool: Pool, names: list[str], bits: np.ndarray, explained_share: float) -> str:
    if len(names) < 3:
        return _("A map needs three heads or more.")
    upper = np.triu_indices(len(names), 1)
    near, far = (int(pick(bits[upper])) for pick in (np.argmin, np.argmax))
    one, other = (names[int(axis[near])] for axis in upper)
    left, right = (names[int(axis[far])] for axis in upper)
    return _(
        "{n} heads on {texts}: most alike are {one} and {other} ({least:.3f} bits), least {left} and {right} ({most:.3f}). The plane holds {share} of the squared distances; the rest is lost in the projection.",
        n=len(names),
        texts=pool.texts,
        one=one,
        other=other,
        least=bits[upper][near],
        left=left,
        right=right,
        most=bits[upper][far],
        share=percent(explained_share),
    )


def _full(pool: Pool, some: list[int], values: np.ndarray) -> np.ndarray:
    """Return values of some heads among all, as a table of all needs them."""
    every = np.zeros(len(pool.heads))
    every[some] = values.round(4)
    return every
