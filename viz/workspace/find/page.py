"""Find heads: those like the one in view, those like a drawing, a map and a scatter of all, what each of them does, and one head over a corpus."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.analysis.heads.habits import HeadHabits
from core.analysis.heads.head_similarity import nearest_heads
from viz.instruments.picture import patches
from viz.labels import literal
from viz.languages import ENGLISH, _, current, mark
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.find import corpus, kinds, like, map, scatter, sketch
from viz.workspace.find import pool as heads
from viz.workspace.find.pool import Head, Pool
from viz.workspace.find.tiles import ViewContent
from viz.workspace.shared import head_pills, head_survey, model_run, toolbar
from viz.workspace.shared.head_ref import HeadRef

PAGE = Page(
    title="Find heads",
    order=42,
    claim="Choose a head, or draw a pattern. Which heads, in all layers of all models, are most like it?",
    cites=(
        Cite("vaswani2017", "3.2.2", "multi-head attention"),
        Cite("clark2019", "section 6", "clustering attention heads by Jensen-Shannon divergence, Fig. 6"),
        Cite("voita2019", "section 5", "heads by what they do"),
        Cite("beigy2021", "Multi-head attention", "different heads focus on different words"),
    ),
    menu="lab",
    activity="heads that look alike",
)
BY = {
    "like": mark("Like this head"),
    "scatter": mark("Scatter"),
    "corpus": mark("Over a corpus"),
    "sketch": mark("Sketch"),
    "map": mark("Map"),
    "kinds": mark("Kinds"),
}
WORDS = {"drawn": mark("drawing")} | {
    word: word
    for word in (
        mark("score"),
        mark("head"),
        mark("passage"),
        mark("measure"),
        mark("one measure"),
        mark("another"),
        mark("rows with a stroke"),
    )
}
"""Words of the equations, and their messages."""
OF_ONE_MODEL = ("scatter", "corpus")
"""Views of one model, which compare it with no other."""
LOOKING = {
    "scatter": mark(
        "Each point is a head, between two measures of your choice; its colour and symbol show the habit that names it. Grey rings are the heads of an untrained copy: where rings and points overlap, "
        "the network has this measure without having learned anything. A measure over a corpus is the mean over its passages, by token."
    ),
    "corpus": mark(
        "The strongest rows show the most a head does, not what it does usually; the passages of each tenth show the whole range. A head that attends to the previous token has weights near 1 in every passage. "
        "A large weight over shuffled words is a matter of position or of single tokens; a large one in an untrained copy is no finding at all. Each row shows a few tokens around the query and the key, from texts that the model did not learn from."
    ),
    "like": mark(
        "Rows are the queries (the words that attend), columns the keys (the words attended to). The pictures show your sentence; the distance is measured on sentences of our own, the same for "
        "all models, word by word. What a model adds to a text (START, [CLS], [SEP]) counts as one further position, “special tokens”. Two heads of one kind in different models may have nothing else in common: “alike” means that they attend to the same words."
    ),
    "sketch": mark(
        "Each head's patterns on all sentences are stretched to the same grid of twelve by twelve positions and averaged. So a drawing finds positional habits: the word before, the "
        "first word, a block. A habit of meaning, such as a pronoun and its noun, is at a different place in each sentence and averages out."
    ),
    "map": mark(
        "Each point is a head; near points attend to the same words in the same sentences. The two axes have no meaning of their own: they are the plane that keeps the distances best. "
        "Colour and symbol show the kind that was measured on the battery, not on the map, so a cloud of one colour is a finding."
    ),
    "kinds": mark(
        "Each score is a mean over rows of sentences that were written for this test. A head is named by its strongest habit if that is strong enough; the same network with random "
        "weights shows what a score is worth. A positional habit stays when the words of a sentence are shuffled."
    ),
}


SEEING = {
    "like": mark(
        "The large picture shows your drawing and what the chosen patch attends to; the small ones show what the class token attends to in each head, from 0 to its largest weight. The distance is "
        "measured on drawings of ours, the same for all models, over the rows of all patches and of the class token. A masked autoencoder is shown every patch here: only what both see can be compared."
    ),
    "kinds": mark(
        "Each score is a mean over patches of drawings of ours; a head is named by its strongest habit if that is strong enough. Lines fill much of a drawing, so that uniform attention gives them much: "
        "a head is named by them only if it leaves elsewhere at most half of what uniform attention would leave there. The dots are the picture of Dosovitskiy and others: how far a head looks, layer by layer, "
        "weighted by attention, the class token left out. In large ViTs some heads of the first layers look at what is near; whether these do can be seen here. The untrained copy says what a distance is worth."
    ),
}
"""The same where heads look at pictures."""


@dataclass(frozen=True)
class Params(Selection):
    """The head in view."""

    model: str = toolbar.MODEL
    text: str = toolbar.TEXT
    kind: str = "causal"
    layer: int = 0
    head: int = 0


@dataclass(frozen=True)
class Ranking:
    """All heads that can be compared with the one in view, how far each is in bits, and the order of the others."""

    pool: Pool
    distances: np.ndarray
    order: list[int]


def compute(p: Params = Params()) -> Ranking:
    """Find the nearest heads, on the sentences of the battery's maps."""
    compared, head = heads.pool(p.model, p.kind), Head(p.model, HeadRef(p.kind, p.layer, p.head))
    distances = heads.near(compared, head)
    return Ranking(compared, distances, nearest_heads(distances, compared.index(head)))


def page() -> None:
    page_parts.title(PAGE)
    bench = toolbar.choose("find", runs=toolbar.heads)
    if bench is None:
        return
    measured = head_survey.survey(bench.selection.model)
    run = model_run.run(bench.selection)
    place = head_pills.chosen_head(measured, run)
    selection = bench.announce(head=place)
    head, reads_pictures = Head(selection.model, place), patches.reads_patches(run.model)
    ways = [way for way in BY if way != "sketch" or not reads_pictures]
    by = controls.segmented(_("Find heads by"), ways, "find.by", "like", lambda by: _(BY[by]), quiet=True)
    numbers = st.container()
    if by in OF_ONE_MODEL:
        content = (scatter if by == "scatter" else corpus).show(measured, head, selection)
    else:
        content = _among_others(by, head, selection, measured)
    with numbers:
        page_parts.summary(content.numbers)
    with page_parts.fold(page_parts.EQUATION, "find.equation") as fold:
        if fold.open:
            page_parts.equation(_in_words(content.equation))
            page_parts.dataframe(content.table().head(12), hide_index=True, key="find.equation.numbers")
    with page_parts.fold(page_parts.LOOKING, "find.looking") as fold:
        if fold.open:
            st.markdown(_(SEEING.get(by, LOOKING[by]) if reads_pictures else LOOKING[by]))
    page_parts.sources_fold(PAGE)
    page_parts.table_fold(content.table, "find")
    page_parts.export_fold(content.data, content.code, key="find", archives=content.archives)


def _in_words(latex: str) -> str:
    """Return an equation with its words in the language of the page."""
    if current() is ENGLISH:
        return latex
    return re.sub(r"\\text\{([^{}]+)\}", lambda found: rf"\text{{{_(WORDS[found[1]])}}}", latex)


def _among_others(
    by: str, head: Head, selection: Selection, measured: Mapping[str, HeadHabits]
) -> ViewContent:
    """Draw a view that compares the head with those of other models."""
    found = heads.pool(head.model, head.place.kind)
    if own := heads.large(head.model):
        controls.multi_pills(
            _("Compare with models of yours, too (each is opened and run)"), own, heads.WITH, ()
        )
    if found.left_out:
        st.caption(literal(_("Left out. {reasons}", reasons=" ".join(found.left_out))))
    if by == "like":
        return like.show(found, head, selection, measured)
    if by == "sketch":
        return sketch.show(found, selection)
    if by == "map":
        return map.show(found, head, selection)
    return kinds.show(measured, head, selection)
