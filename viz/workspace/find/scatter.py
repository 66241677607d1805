"""All heads of a model as points between two measures of choice, beside those of an untrained copy; a click chooses a head."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads.corpus import DISTANCE, MEAN, STRONGEST_WEIGHT, UNTRAINED
from core.analysis.heads.corpus_file import ModelCorpus
from core.analysis.heads.habits import HABIT_NAMES, HeadHabits
from viz.labels import head_name
from viz.languages import _, mark, ngettext
from viz.number_text import number
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.find import charts, pool, tiles
from viz.workspace.find.pool import Head
from viz.workspace.find.tiles import ViewContent
from viz.workspace.shared.attention_kinds import KINDS
from viz.workspace.shared.head_ref import HeadRef

EQUATION = r"x = \text{one measure}, \qquad y = \text{another}, \qquad \text{measure}(\text{head}) = \frac{1}{N} \sum_{n=1}^{N} \text{measure}(A_n)"
KEY = "find.scatter"
LAYER, EFFECT = "layer", "effect"
MEASURES = HABIT_NAMES | {
    STRONGEST_WEIGHT: mark("strongest weight of a passage"),
    DISTANCE: mark("mean distance, tokens"),
    EFFECT: mark("growth of the loss without the head, nats per token"),
    LAYER: mark("layer"),
    "spread": mark("entropy (1 is uniform)"),
}
"""Names of the axes."""
SURVEY_CODE = """from core.analysis.heads.head_file import read_heads
from core.checkpoints.manifest import shipped_folder

print(read_heads(shipped_folder() / {model!r}).trained[{kind!r}].scores[{name!r}])   # layer, head"""


def show(measured: Mapping[str, HeadHabits], head: Head, selection: Selection) -> ViewContent:
    """Draw the heads of one kind of attention as points, and beside them the head in view."""
    corpus, problem = pool.corpus(head.model)
    kind = head.place.kind
    tables, bare = axes(measured[kind], pool.untrained(head.model).get(kind), corpus, kind)
    names = list(tables)
    start = STRONGEST_WEIGHT if STRONGEST_WEIGHT in names else "spread"
    across = DISTANCE if DISTANCE in names else LAYER
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="find.scatter.choices"):
        if len(measured) > 1:
            controls.segmented(
                _("Which attention"), list(measured), "kind", kind, lambda kind: _(KINDS[kind])
            )
        x = controls.select(_("Across"), names, "find.x", across, lambda name: _(MEASURES[name]))
        y = controls.select(_("Up"), names, "find.y", start, lambda name: _(MEASURES[name]))
    places = list(np.ndindex(*tables[x].shape))
    labels = [head_name(*place) for place in places]
    left, right = st.columns([2, 1], gap="medium")
    with left:
        page_parts.show(
            charts.scatter(
                np.stack([tables[x].ravel(), tables[y].ravel()], 1),
                [pool.habit_label(measured[kind], *place) for place in places],
                labels,
                (_(MEASURES[x]), _(MEASURES[y])),
                order=[_(name) for name in HABIT_NAMES.values()],
                ring=places.index((head.place.layer, head.place.head)),
                untrained=np.stack([bare[x].ravel(), bare[y].ravel()], 1) if {x, y} <= bare.keys() else None,
            ),
            KEY,
            _(
                "{n} heads as points: {x} across, {y} up.",
                n=len(places),
                x=_(MEASURES[x]),
                y=_(MEASURES[y]),
            ),
            on_pick=partial(_choose_point, head, places, selection),
        )
        if {x, y} <= bare.keys():
            st.caption(_("Grey rings are the heads of an untrained copy of the model."))
    with right:
        place = head.place
        st.markdown(
            f"**{place}** :gray[{head.model}]  \n:small[{_('{habit}. Click a point for another head.', habit=pool.habit(head))}]"
        )
        rows = [
            (_(MEASURES[name]), float(table[place.layer, place.head]), _control(bare, name, place))
            for name, table in tables.items()
            if name != LAYER and (name in (x, y) or not state.presenting())
        ]
        if state.presenting():
            for measure, score, untrained in rows:
                control = (
                    ""
                    if np.isnan(untrained)
                    else f" :gray[{_('(untrained {score})', score=number(untrained, 3))}]"
                )
                st.markdown(f"{measure}: **{number(score, 3)}**{control}")
        else:
            page_parts.dataframe(
                pd.DataFrame(rows, columns=[_("measure"), _("score"), _("untrained")])
                .round(2)
                .dropna(axis="columns", how="all"),
                hide_index=True,
                height=320,
                key="find.scatter.scores",
                column_config={_("measure"): st.column_config.TextColumn(width=176)},
            )
        if corpus and not state.presenting():
            pool.corpus_button("find.scatter.corpus")
        tiles.look_link(head, _("Open in Look"), selection)
    if problem:
        st.caption(problem)
    name = start if y == LAYER else y
    if corpus and kind in corpus.kinds:
        read = _("{n:,} passages", n=corpus.kinds[kind].n)
        value = "heads.effect" if name == EFFECT else f"heads.measures[{name!r}][..., {MEAN}]"
        code = f"{pool.corpus_code(head.model, kind, corpus)}print({value})   # layer, head"
    else:
        read = ngettext("{n} text", "{n} texts", measured[kind].n)
        code = SURVEY_CODE.format(model=head.model, kind=kind, name=name)
    return ViewContent(
        _sentence(tables, x, y, labels, head.model, read),
        EQUATION,
        lambda: pd.DataFrame(
            {
                _("head"): labels,
                _("habit"): [pool.habit_label(measured[kind], *place) for place in places],
                **{_(MEASURES[name]): table.ravel() for name, table in tables.items()},
            }
        ),
        lambda: {name.replace(" ", "_"): table for name, table in tables.items()},
        code,
    )


def axes(
    measured: HeadHabits, bare: HeadHabits | None, corpus: ModelCorpus | None, kind: str
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the measures (layer, head) of a kind that an axis can have, and those of an untrained copy: over the corpus where there is one, else of the survey."""
    layers = np.broadcast_to(np.arange(measured.shape[0])[:, None], measured.shape)
    if corpus is None or kind not in corpus.kinds:
        return {LAYER: layers, **measured.scores}, {LAYER: layers, **(bare.scores if bare else {})}
    found = corpus.kinds[kind]
    tables = {name: table[..., MEAN] for name, table in found.measures.items() if np.isfinite(table).all()}
    if found.effect is not None:
        tables[EFFECT] = found.effect
    control = {name: table[..., MEAN] for name, table in found.controls.get(UNTRAINED, {}).items()}
    return {LAYER: layers, **tables}, ({LAYER: layers, **control} if control else {})


def _control(bare: Mapping[str, np.ndarray], name: str, place: HeadRef) -> float:
    return float(bare[name][place.layer, place.head]) if name in bare else float("nan")


def _choose_point(head: Head, places: list[tuple[int, ...]], selection: Selection) -> None:
    """Choose the head of the point that was clicked."""
    clicked = st.session_state[KEY]["selection"]["points"]
    if clicked and "customdata" in clicked[0]:
        layer, number = places[int(np.ravel(clicked[0]["customdata"])[0])]
        pool.choose(Head(head.model, HeadRef(head.place.kind, int(layer), int(number))), selection)


def _sentence(
    tables: Mapping[str, np.ndarray], x: str, y: str, labels: list[str], model: str, read: str
) -> str:
    name = x if y == LAYER else y
    most, least = (labels[int(pick(tables[name]))] for pick in (np.argmax, np.argmin))
    if name == LAYER:
        return _("{n} heads of {model}.", n=len(labels), model=model)
    high, low = float(tables[name].max()), float(tables[name].min())
    return _(
        "{n} heads of {model} on {texts}. Highest in “{measure}” is {most} ({high}), lowest {least} ({low}); the median head has {median}.",
        n=len(labels),
        model=model,
        texts=read,
        measure=_(MEASURES[name]),
        most=most,
        high=number(high, 3),
        least=least,
        low=number(low, 3),
        median=number(float(np.median(tables[name])), 3),
    )
