"""Heads like this one: the head in view, and the nearest of all layers and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads.habits import HeadHabits
from core.analysis.heads.head_similarity import nearest_heads
from viz.languages import _
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets.export import Labelled
from viz.workspace.find import pool, tiles
from viz.workspace.find.pool import Head, Pool
from viz.workspace.find.tiles import ViewContent
from viz.workspace.shared import head_pills, model_run
from viz.workspace.shared.toy_models import KIND

NEAREST = 8
EQUATION = r"d(a, b) = \frac{1}{R} \sum_{r=1}^{R} \mathrm{JSD}(a_r, b_r), \qquad \mathrm{JSD}(p, q) = H\left(\tfrac{p + q}{2}\right) - \tfrac{1}{2}\left(H(p) + H(q)\right)"
CODE = """import core
from core.analysis.heads import head_similarity
{imports}

members = {members!r}
models = {{name: core.open_model(name) for name, _ in members}}


def seen(name, kind, row):
    target = (row.target or "") if models[name].spec.has_source else None
    return head_similarity.text_patterns(models[name].run(row.text, target=target), kind, {by!r})


rows = head_similarity.stack_rows([[seen(*member, row) for member in members] for row in {texts}])
"""


def code(heads_pool: Pool, last: str) -> str:
    """Return the lines of Python that make the rows of all heads, and those of a view that use them."""
    toy = heads_pool.models[0] in KIND or heads_pool.reads_pictures
    texts = (
        f'recipes()["{heads_pool.models[0]}"].examples()'
        if toy
        else 'texts("head_maps")'
        if heads_pool.space == pool.READ
        else 'texts("heads_en-es")'
    )
    imports = "from core.training.recipe import recipes" if toy else "from core.data.texts import texts"
    if heads_pool.reads_pictures:
        texts = f"[replace(row, text=with_hidden_mark(row.text, ())) for row in {texts}]"
        imports = (
            "from core.data.patches import with_hidden_mark\n" + imports + "\nfrom dataclasses import replace"
        )
    return (
        CODE.format(
            imports=imports,
            members=[member[:2] for member in heads_pool.members],
            by=heads_pool.by,
            texts=texts,
        )
        + last
    )


def show(
    heads_pool: Pool, head: Head, selection: Selection, measured: Mapping[str, HeadHabits]
) -> ViewContent:
    """Draw the head at left, with others of its model to choose from, the nearest at right."""
    distances = pool.near(heads_pool, head)
    order = nearest_heads(distances, heads_pool.index(head))
    ranked = [
        (heads_pool.heads[other], _("JS divergence {bits:.2f} bits", bits=distances[other]))
        for other in order[:NEAREST]
    ]
    with st.container(key="find.reading"):  # which models read the text changes; what follows keeps its place
        pictures = tiles.on_text(heads_pool, selection, [head, *(each[0] for each in ranked)])
    others = st.container(horizontal=True, vertical_alignment="center")
    left, right = st.columns([2, 5], gap="medium")
    with left:
        st.markdown(
            f"{_('**The head in view: {head}**', head=head.place)} :gray[{head.model}]  \n:small[{pool.habit(head)}]"
        )
        tiles.draw(head, pictures[head], "find.query")
        with others if state.presenting() else st.container():
            tiles.look_link(head, _("Open in Look"), selection)
            run = pictures[head].run or model_run.run(selection)
            head_pills.draw_pills(measured, head.place, run)
    with right:
        tiles.tiles(ranked, pictures, selection, "find.near")
    return ViewContent(
        sentence(heads_pool, distances, order),
        EQUATION,
        lambda: table(
            heads_pool, {_("JS divergence, bits"): distances.round(4)}, [heads_pool.index(head), *order]
        ),
        lambda: {"bits": heads_along(heads_pool, distances)},
        code(
            heads_pool,
            f"bits = head_similarity.divergences_from(rows, {heads_pool.index(head)})   # from {head.place} of {head.model}\nprint(head_similarity.nearest_heads(bits, {heads_pool.index(head)})[:8])",
        ),
    )


def heads_along(pool: Pool, values: np.ndarray, some: Sequence[int] | None = None, *more: str) -> Labelled:
    """Return numbers with a row for each head (or for `some`), named; `more` names the other axes ("other head": heads again)."""
    names = [f"{head.model} {head.place}" for head in pool.heads]
    names = names if some is None else [names[number] for number in some]
    return Labelled(
        values, {"head": names, **{axis: names if axis == "other head" else None for axis in more}}
    )


def sentence(pool: Pool, distances: np.ndarray, order: list[int]) -> str:
    if not order:
        return _("There is no other head to compare with.")
    first, median = pool.heads[order[0]], float(np.median(distances[order]))
    values = {"head": first, "bits": distances[order[0]], "texts": pool.texts, "median": median}
    if pool.reads_pictures:
        return _(
            "Nearest is {head}: Jensen-Shannon divergence {bits:.2f} bits (maximum 1) on {texts}; the median head has {median:.2f}. 0 is the same pattern, 1 is no patch in common.",
            **values,
        )
    return _(
        "Nearest is {head}: Jensen-Shannon divergence {bits:.2f} bits (maximum 1) on {texts}; the median head has {median:.2f}. 0 is the same pattern, 1 is no word in common.",
        **values,
    )


def table(heads_pool: Pool, columns: dict[str, np.ndarray], order: list[int]) -> pd.DataFrame:
    """Return every head with its habit and a view's own numbers."""
    some = [heads_pool.heads[number] for number in order]
    return pd.DataFrame(
        {
            _("head"): [str(head.place) for head in some],
            _("model"): [head.model for head in some],
            _("attention"): [head.place.kind for head in some],
            _("habit"): [pool.habit(head) for head in some],
            **{name: values[order] for name, values in columns.items()},
        }
    )
