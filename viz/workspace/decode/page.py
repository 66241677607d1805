"""Decode: a model writes one token at a time; watch what it could have written, what was taken, and where it looked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import streamlit as st

from core.decoding import Beam, compare
from core.model import Model
from viz.instruments import tree
from viz.instruments.candidates.candidates import requested_token
from viz.instruments.kit import origin
from viz.instruments.timeline.timeline import chosen_step
from viz.instruments.tree.tree import chosen_node, compared_node
from viz.languages import _
from viz.shell import errors, state
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import engine_client, page_parts
from viz.workspace.decode import (
    beam,
    cache,
    controls,
    folds,
    follow,
    forcing,
    forks,
    guess,
    pictures,
    pin,
    player,
    prompts,
)
from viz.workspace.decode import compare as comparison
from viz.workspace.decode.data import Data, Params, compute

PAGE = Page(
    title="Decode",
    order=30,
    claim="A model writes one token at a time: every token of its vocabulary gets a probability, one of them is chosen, and the model reads the longer text again.",
    cites=(
        Cite("ghojogh2023", "decoder: feedforward layer and softmax", "choice of the word"),
        Cite("ghojogh2020", "section 3.3.3", "softmax over the dictionary, choice of the word"),
        Cite("beigy2021", "Transformers inference", "step by step, the output so far is fed back"),
        Cite("beigy2024", "Transformers inference", "step by step, the output so far is fed back"),
        Cite("holtzman2020", "section 3", "nucleus (top-p) sampling, top-k, temperature"),
        Cite("keskar2019", "section on sampling", "penalty for what stands in the text already"),
        Cite("nguyen2024", "min-p sampling"),
        Cite("vijayakumar2018", "diverse beam search", "groups, Hamming diversity"),
        Cite("pimentel2024", "probability of a word", "the mark that begins the next word"),
    ),
    menu="top",
)
TREE = "decode.tree"
WRITE = controls.VIEWS[0]
VIEWS: dict[str, Callable[[Model, str], None]] = dict(
    zip(controls.VIEWS[1:], (guess.show, prompts.show, forcing.show, cache.show), strict=True)
)


def page() -> None:
    """Claim, model and text; then the theatre, or another way to look at writing."""
    head = st.container(key="room-head") if state.presenting() else nullcontext()
    with head:
        page_parts.title(PAGE)
    selection, ticking = controls.choose(), player.pace() if player.playing() else None
    if selection is None:
        return
    model = engine_client.open(selection.model)
    with head:
        view = controls.view(model)
    if view != WRITE:
        with errors.guard():
            origin.tell(model=selection.model, text=selection.text)
            VIEWS[view](model, selection.text)
        return
    st.fragment(_theatre, run_every=ticking)(selection, ticking)


def _theatre(selection: Selection, ticking: float | None) -> None:
    """Draw buttons, picture, one sentence, folds. While it plays, this alone runs again at every beat, one step further."""
    with errors.guard():
        bar = st.container(horizontal=True, vertical_alignment="center", gap="small")
        params = Params(
            selection.model,
            selection.text,
            **controls.knobs(Params()),
            n=player.beat(),
            force=forks.force(engine_client.open(selection.model).config.n_vocab),
        )
        controls.ways(params)
        with engine_client.many() as submit:
            data = compute(params, submit)
        now = forks.branch_to_keep(
            params.model, params.text, params.strategy, forks.Branch(params.force, len(data.steps))
        )
        with bar:
            player.buttons(len(data.steps), data.last, ticking)
            controls.how(params)
        controls.draw_notes(data)
        data = replace(data, looks=state.read("kind", ""))
        head = controls.head(data, selection)
        pictures.whose(data, head)
        with bar:
            pin.show(data, params.text, head)
        strategy = params.strategy
        if isinstance(strategy, Beam):
            node = beam.show(data, params, strategy)
            path = follow.path(data, node)
            shown = follow.followed(data, path)
            if not state.presenting():  # before a room the tree has the wall
                picture = st.container()
                with st.container():
                    pictures.draw_steps(shown, lambda: follow.back_to(path))
                with picture:
                    pictures.show(
                        shown, head, lambda: controls.heads(data, head), lambda: _search_again(data, path)
                    )
            folds.show(PAGE, replace(params, n=len(data.steps)), shown, head, lambda: beam.table(data), node)
        else:
            picture = st.container()
            with st.container():  # sent first: it is small, and tells at once that the click was heard
                if not state.presenting():
                    page_parts.summary(pictures.sentence(data), "surprisal")
                pictures.draw_steps(data, _go_to_step)
            with picture:
                pictures.show(data, head, lambda: controls.heads(data, head), lambda: _forked(now))
            _everything(params, data, now)
            folds.show(PAGE, replace(params, n=len(data.steps)), data, head)
        if (
            not data.last.done
        ):  # all is on its way to the browser: the next token is ready before it is asked for
            with engine_client.many() as submit:
                compute(replace(params, n=len(data.steps) + 1), submit)


def _everything(params: Params, data: Data, now: forks.Branch) -> None:
    """Draw the tree of all branches, once there is more than one; a node leads back to its place."""
    others, other = forks.tried(), forks.other(data.model.config.n_vocab)
    if not others and other is None:
        return
    extra = () if other is None else (other,)
    with engine_client.many() as submit:
        branches = {
            branch: compute(replace(params, force=branch.force, n=branch.n), submit).steps
            for branch in (*others, *extra, now)
        }
    places, given = forks.grow_tree(branches), "" if data.model.spec.has_source else data.window.text
    marks = {} if other is None else forks.marked(places, A=data.last.ids, B=branches[other][-1].ids)

    def back() -> None:
        node = chosen_node(TREE)
        if node is not None and node < len(places):
            player.stop()
            forks.go(now, places[node].to)

    def against() -> None:
        node = compared_node(TREE)
        if node is not None and node < len(places):
            forks.against(places[node].to)

    tree(
        forks.twigs_of(places, data.last.ids),
        key=TREE,
        title=_("Everything tried"),
        on_node=back,
        means={"best": _("the branch in view"), "open": _("tried before"), "score": _("sum of ln p")},
        root=given,
        marks=marks,
        on_second=against,
    )
    if other is not None:
        comparison.show(compare(data.steps, branches[other]), given, lambda: forks.against(None))


def _search_again(data: Data, path: tuple[int, ...]) -> None:
    """Begin the search again after the followed text with the candidate that was clicked."""
    if other := requested_token(pictures.CANDIDATES):
        player.stop()
        follow.search_again(data, path, other.step, other.id)


def _forked(now: forks.Branch) -> None:
    """Write the candidate that was clicked instead; the replaced one stays in the tree."""
    if other := requested_token(pictures.CANDIDATES):
        player.stop()
        forks.go(now, now.forked(other.step, other.id))


def _go_to_step() -> None:
    """Go to the step of the timeline that was clicked."""
    if (step := chosen_step(pictures.TIMELINE)) is not None:
        player.go(step + 1)
