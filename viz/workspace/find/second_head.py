"""A second head on the page of one: of the same model, of another, or of an earlier step of the training; both measured on the same passages, and their patterns on the text with the difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core import checkpoints
from core.analysis.heads.corpus import MEAN, HeadCorpus, evenly, head_corpus
from core.analysis.heads.corpus_file import ModelCorpus
from core.checkpoints import history
from core.data.texts import Example, texts
from core.errors import InputError
from viz.instruments import heatmap
from viz.labels import head_name, literal
from viz.languages import _
from viz.shell.selection import Selection
from viz.widgets import controls, engine_client
from viz.widgets.pins import View
from viz.workspace.compare import compared, data, panes
from viz.workspace.find import pool
from viz.workspace.find.pool import Head
from viz.workspace.find.scatter import MEASURES
from viz.workspace.shared import attention_kinds, model_run
from viz.workspace.shared.head_ref import HeadRef

AT_MOST = 32
"""Passages that are read at once with both models, where no corpus of both ships."""
HIGH = 300


@dataclass(frozen=True)
class SecondHead:
    """A second head with all heads of its kind, and those of the head in view, `first`; `note` says on what both were measured."""

    head: Head
    heads: HeadCorpus
    first: HeadCorpus
    note: str

    @property
    def strongest(self) -> tuple:
        """Return its strongest rows."""
        return self.heads.strongest[self.head.place.layer][self.head.place.head]


def choose(head: Head, corpus: ModelCorpus, heads: HeadCorpus) -> SecondHead | None:
    """Offer a second head, of a model that has a corpus or of a kept step of the training; None where none is chosen or its model cannot read the passages."""
    base = history.base_name(head.model)
    steps = [f"{base}{history.STEP_MARK}{step}" for step in checkpoints.steps_of(base)]
    models = list(dict.fromkeys([*pool.with_corpus(), *steps]))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="find.corpus.other"):
        model = controls.select(
            _("Beside a head of"), ["", *models], "find.beside", "", lambda name: name or _("no other head")
        )
        if not model:
            return None
        try:
            own, kinds, note = _measured(head, corpus, heads, model, read_now=model in steps)
        except InputError as error:
            st.info(literal(error.text))
            return None
        places = {
            f"{kind} {head_name(layer, number)}": HeadRef(kind, int(layer), int(number))
            for kind, one in kinds.items()
            for layer, number in np.ndindex(*one.shape)
            if Head(model, HeadRef(kind, int(layer), int(number))) != head
        }
        if not places:
            return None
        same = next((name for name, place in places.items() if place == head.place), next(iter(places)))
        place = places[controls.select(_("Which head"), list(places), "find.beside_head", same)]
        return SecondHead(Head(model, place), kinds[place.kind], own, note)


def _measured(
    head: Head, corpus: ModelCorpus, heads: HeadCorpus, model: str, *, read_now: bool
) -> tuple[HeadCorpus, dict[str, HeadCorpus], str]:
    """Return the heads of the model in view and of another, with what they were measured on; `read_now`: both are read now."""
    if model == head.model:
        return heads, dict(corpus.kinds), ""
    if not read_now and not corpus.texts:
        shipped, problem = pool.corpus(model)
        if shipped is None:
            wrong = problem or _("{model} has no corpus.", model=model)
            raise InputError(wrong, _("Two heads are compared on passages."), _("Choose another model."))
        same = shipped.sources == corpus.sources
        note = (
            ""
            if same
            else _("{model} was measured on other passages than {other}.", model=model, other=head.model)
        )
        return heads, dict(shipped.kinds), note
    read = _passages(head, corpus)
    own, other = _read(head.model, read)[head.place.kind], _read(model, read)
    return own, other, _("Both were measured on the same {n} texts.", n=len(read))


def _passages(head: Head, corpus: ModelCorpus) -> tuple[Example, ...]:
    """Return the texts on which two models are read now: the visitor's lines, the model's own task, or our sentences."""
    base = history.base_name(head.model)
    pairs = model_run.open_model(base).spec.has_source
    own = corpus.texts or pool.own_items(base) or texts("heads_en-es" if pairs else "head_maps")
    return tuple(evenly(own, AT_MOST))


def _read(model: str, read: tuple[Example, ...]) -> dict[str, HeadCorpus]:
    opened = model_run.open_model(model)
    return engine_client.submit(
        ("find.second", model, read),
        lambda: head_corpus(opened, read, controls=0),
        60.0 * len(read) * opened.config.n_layers,
    )


def with_difference(scores: pd.DataFrame, head: Head, second: SecondHead) -> pd.DataFrame:
    """Return the scores of a head with those of the second one, and the differences."""
    place, model = second.head.place, second.head.model
    means = {
        _(MEASURES[name]): values[place.layer, place.head, MEAN]
        for name, values in second.heads.measures.items()
    }
    other = np.array([means.get(name, np.nan) for name in scores[_("measure")]])
    step = history.parse_step_name(model)
    name = f"{place} {model}"
    if model == head.model:
        name = str(place)
    elif step and step[0] == history.base_name(head.model):
        name = f"{place}{history.STEP_MARK}{step[1]}"
    scores = scores.copy()
    scores.insert(2, name, other.round(3))
    scores.insert(3, _("difference"), (scores[_("mean")] - other).round(3))
    return scores


def show_patterns(head: Head, second: Head, selection: Selection) -> None:
    """Draw the patterns of both on the text in view, and their difference."""
    st.markdown(_("#### Both on your text"))
    try:
        both = [data.pane_of(_view(one, selection), "word") for one in (head, second)]
        comparison = data.compared(both, "word")
    except InputError as error:
        st.caption(literal(error.text))
        return
    pair = comparison.pair(0, 1)
    for place, (column, one) in enumerate(
        zip(st.columns(3, gap="small"), (*comparison.panes, None), strict=True)
    ):
        with column:
            if one is None:
                _draw(comparison, 0, pair.difference, "A − B", pair.compared, scale="difference", limit=1.0)
            else:
                title = f"{'AB'[place]}: {one.view} {one.view.model}"
                _draw(comparison, place, comparison.weights[place], title, comparison.allowed[place])
    st.caption(
        _distance(pair.likeness.bits, is_picture=comparison.panes[0].is_picture, in_common=bool(pair.order))
    )


def _distance(bits: float, *, is_picture: bool, in_common: bool) -> str:
    """Return how far two patterns are from each other, in words."""
    if not in_common:
        return (
            _("The two have no patches in common.") if is_picture else _("The two have no words in common.")
        )
    if is_picture:
        return _(
            "Jensen-Shannon divergence {bits:.2f} bits (maximum 1), the mean over the patches that both read.",
            bits=bits,
        )
    return _(
        "Jensen-Shannon divergence {bits:.2f} bits (maximum 1), the mean over the words that both read.",
        bits=bits,
    )


def _view(head: Head, selection: Selection) -> View:
    place = head.place
    reads_two = model_run.open_model(head.model).spec.has_source
    target = (selection.target or "") if reads_two else ""
    return View(head.model, selection.text, place.kind, place.layer, place.head, target)


def _draw(
    comparison: compared.Compared,
    place: int,
    weights: np.ndarray,
    title: str,
    allowed: np.ndarray,
    **scale: Any,
) -> None:
    pane = comparison.panes[place]
    pane.tell()
    key = f"find.corpus.pattern.{title[0]}{bool(scale)}"
    if pane.is_picture:
        panes.on_patches(pane, weights, key, None, title=title, **scale)
        return
    heatmap(
        weights,
        comparison.words("queries", place),
        comparison.words("keys", place),
        key=key,
        allowed=allowed,
        lone=comparison.lone(0, 1) if scale else comparison.lone(place),
        axis=attention_kinds.axis_names(pane.view.kind),
        title=title,
        height=HIGH,
        **scale,
    )
