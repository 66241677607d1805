"""The fold "Why here?" of the full view: the score of the chosen cell as a sum over what earlier parts put into query and key."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.analysis.attribution.score_parts import Part, ScoreParts, needed_for_parts, score_parts
from core.run import Run
from viz.charts import marks
from viz.labels import bare_token, head_name, literal
from viz.languages import _, mark
from viz.shell import links
from viz.widgets import engine_client, page_parts
from viz.workspace.shared import model_run, target_picker
from viz.workspace.shared.attention_kinds import SHORT
from viz.workspace.shared.head_ref import HeadRef

BARS, LINKS, ROWS = 10, 6, 200
PARTS = (
    *(mark("head"), mark("feed-forward"), mark("convolutions"), mark("biases")),
    *(mark("token embedding"), mark("position embedding"), mark("segment embedding")),
)
"""Names that the core gives to parts, for the catalogues."""
CODE = """from core.analysis.attribution.score_parts import score_parts

parts = score_parts(run, {kind!r}, layer={layer}, head={head}, query={query}, key={key})
print(parts.largest({bars}), parts.total, parts.score)"""


def show(run: Run, place: HeadRef, query: int, key: int) -> None:
    """Draw the fold for a query and a key, both token indices; what it needs is computed once it is open."""
    if not run.model.spec.kind(place.kind).layered or run.model.spec.kind(place.kind).has_learned_queries:
        return
    with page_parts.fold(mark("Why here?"), "look.why") as fold:
        if fold.open:
            _parts(run, place, query, key)


def _parts(run: Run, place: HeadRef, query: int, key: int) -> None:
    model, selection = run.model, model_run.selection_of(run)
    scored = model_run.run_with(selection, needed_for_parts(run, place.kind, place.layer))
    parts = engine_client.submit(
        ("score parts", selection, place, query, key),
        lambda: score_parts(scored, place.kind, place.layer, place.head, query, key),
        6.0 * len(selection.text) * model.config.n_layers,
    )
    largest = parts.largest(BARS)
    others = parts.total - sum(value for *_pair, value in largest) - sum(parts.added.values())
    names = [f"{_name(a, run)}  ×  {_name(b, run)}" for a, b, _value in largest]
    values = [value for *_pair, value in largest]
    labels = [*names, *map(_, parts.added), _("all other pairs")]
    tokens = run.axis(model.spec.kind(place.kind).queries), run.axis(model.spec.kind(place.kind).keys)
    asks, answers = (bare_token(side.tokens[at]) for side, at in zip(tokens, (query, key), strict=True))
    page_parts.summary(
        _(
            "The score of query “{query}” and key “{key}” is {score:.3f}. It is a sum: what each earlier part of the model put into the query, times what each put into the key.",
            query=asks,
            key=answers,
            score=parts.score,
        ),
        "why",
    )
    page_parts.show(
        marks.bars(
            pd.Series([*values, *parts.added.values(), others], labels),
            "{:.2f}",
            title=_("query part × key part"),
            highlighted=labels[:-1],
            row=44,
        ),
        "look.why.bars",
        _(
            "Parts of the score, the largest first: {listed}",
            listed=", ".join(f"{label} {value:.2f}" for label, value in zip(names, values, strict=True)),
        ),
    )
    st.caption(_explain(run, place, parts))
    _links(place, [part for pair in largest for part in pair[:2]], run)
    page_parts.dataframe(_table(run, parts), hide_index=True, key="look.why.table")
    st.code(CODE.format(**vars(place), query=query, key=key, bars=BARS), language="python")


def _explain(run: Run, place: HeadRef, parts: ScoreParts) -> str:
    product = run.model.spec.kind(place.kind).terms(run.model.network, place.layer)[0]
    same = (
        ""
        if product.note
        else _(" What meets the key's biases is the same for every key and does not change the weights.")
    )
    about = _(
        "All {n:,} products add up to {total:.3f}. The scale of each norm is held at its value in this run; then the query and the key are sums, one vector for each embedding, head and feed-forward layer before this one, and one for all biases.",
        n=parts.products.size,
        total=parts.total,
    )
    limit = _(" It says what the score consists of. What would happen without a head, only ablation says.")
    return about + same + limit


def _name(part: Part, run: Run) -> str:
    if part.layer is None:
        return _(part.name)
    if part.head is None:
        return f"{_(part.name)} L{part.layer}"
    return (
        f"{_(part.name)} {head_name(part.layer, part.head, SHORT[part.kind] if len(run.kinds) > 1 else '')}"
    )


def _links(place: HeadRef, parts: list[Part], run: Run) -> None:
    """Offer the heads among some parts, the first ones at most."""
    heads = list(dict.fromkeys(part for part in parts if part.head is not None))[:LINKS]
    if not heads:
        return
    with st.container(horizontal=True, gap="small"):
        for part in heads:
            here = {"kind": part.kind, "layer": part.layer, "head": part.head}
            links.page_link(
                "look",
                target_picker.begin(_name(part, run)),
                icon=":material/visibility:",
                view="full",
                **here,
            )


def _table(run: Run, parts: ScoreParts) -> pd.DataFrame:
    """Return one line for each of the largest products, the largest first."""
    rows = parts.largest(ROWS)
    return pd.DataFrame(
        {
            _("query part"): [literal(_name(a, run)) for a, _b, _value in rows],
            _("key part"): [literal(_name(b, run)) for _a, b, _value in rows],
            _("part of the score"): [round(value, 4) for *_pair, value in rows],
        }
    )
