"""Decode: a model writes one token at a time; watch what it could have written, what was taken, and where it looked."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

import core.engine
from core.decoding import Beam, Greedy, Replay, Sample, Step, Strategy, Window, compare, decode, fit
from core.model import Model
from viz.instruments import origin, tree
from viz.instruments.candidates import asked
from viz.instruments.timeline import gone
from viz.instruments.tree import compared, touched
from viz.pages import Cite, Page
from viz.ui import compute as ask
from viz.ui import errors, parts, state
from viz.workspace import _decode_beam as beams
from viz.workspace import _decode_cache as cache
from viz.workspace import _decode_compare as comparison
from viz.workspace import _decode_controls as controls
from viz.workspace import _decode_folds as folds
from viz.workspace import _decode_follow as follow
from viz.workspace import _decode_forcing as forcing
from viz.workspace import _decode_forks as forks
from viz.workspace import _decode_guess as guess
from viz.workspace import _decode_pictures as pictures
from viz.workspace import _decode_pin as pin
from viz.workspace import _decode_player as player
from viz.workspace import _decode_prompts as prompts

PAGE = Page(
    title="Decode",
    order=30,
    claim="A model writes one token at a time: every token it knows gets a probability, one is taken, and the longer "
    "text is read again.",
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
VIEWS: dict[str, Callable[[Model, str], None]] = dict(zip(controls.VIEWS[1:], (guess.show, prompts.show, forcing.show, cache.show), strict=True))
Submit = Callable[[Hashable, Callable[[], Any], float], Any]


@dataclass(frozen=True)
class Params:
    """A decoding as data: the same values give the same tokens. `n` steps of it are shown; `force` holds (step, token id)."""

    model: str = "gpt-mini"
    text: str = "Once upon a time"
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    n: int = 1
    force: tuple[tuple[int, int], ...] = ()
    min_p: float = 0.0
    repetition: float = 1.0
    beam: int = 0
    length: float = 1.0
    groups: int = 1
    diversity: float = 0.0

    @property
    def strategy(self) -> Strategy:
        """A beam where it has a width, else by lot, else the most probable; groups that do not divide the width are one."""
        if self.beam:
            groups = self.groups if self.beam % self.groups == 0 else 1
            return Beam(self.beam, self.length, groups=groups, diversity=self.diversity if groups > 1 else 0.0)
        if self.temperature == 0 and self.repetition == 1:
            return Greedy()
        return Sample(self.temperature, self.top_k, self.top_p, self.seed, self.min_p, self.repetition)


@dataclass(frozen=True)
class Data:
    """The steps so far, the model that wrote them, the part of the text that it read, and the attention that is shown."""

    steps: tuple[Step, ...]
    model: Model = field(repr=False)
    window: Window
    looks: str = ""

    @property
    def last(self) -> Step:
        return self.steps[-1]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention with which a token is written: over the text so far, across to a source."""
        return tuple(self.last.attention)

    @property
    def kind(self) -> str | None:
        """The one that is shown: the visitor's, else across to the source where there is one; None if the model has none."""
        return self.looks if self.looks in self.kinds else self.kinds[-1] if self.kinds else None

    @property
    def across(self) -> bool:
        """Whether that one looks at a source."""
        return any(kind.name == self.kind and kind.keys == "source" for kind in self.model.spec.kinds)


def at_once(key: Hashable, fn: Callable[[], Any], cost: float) -> Any:
    """Through the engine, for nobody in particular."""
    return core.engine.default().submit(key, fn, cost)


def compute(p: Params = Params(), submit: Submit = at_once) -> Data:
    """The first `n` steps. Each is computed once for everybody; going on costs one step."""
    model = core.engine.default().open(p.model)
    cfg, most = model.config, player.MOST
    if model.spec.has_source:
        window = Window(p.text, 0, 0)
    else:
        window = submit(("decode.fit", p.model, p.text), lambda: fit(model, p.text, cfg.n_ctx - min(most, cfg.n_ctx // 2)), len(p.text) / 50 + 1)
    force = p.force
    key = (p.model, window.text, p.strategy, force)
    longest = cfg.n_ctx if model.spec.has_source else min(cfg.n_ctx, window.tokens + most)
    held = 8 * cfg.n_layers * cfg.d_model * longest * max(1, p.beam)  # keys and values of whole texts; recurrent states are smaller

    def begin() -> Replay:
        return Replay(lambda: decode(model, window.text, p.strategy, max_new_tokens=most, force=force), held)

    steps: list[Step] = []
    while len(steps) < max(1, p.n) and not (steps and steps[-1].done):
        index = len(steps)
        cost = cfg.n_layers * (8 + (min(len(window.text), 4 * cfg.n_ctx) if index == 0 else 0))
        steps.append(submit(("decode.step", key, index), lambda i=index: submit(("decode", key), begin, 1).step(i), cost))
    return Data(tuple(steps), model, window)


def page() -> None:
    """Claim, model and text; then the theatre, or another way to look at writing."""
    parts.title(PAGE)
    wanted, ticking = controls.request(Params()), player.pace() if player.playing() else None
    if wanted is None:
        return
    view = controls.view(core.engine.default().open(wanted.model))
    if view != WRITE:
        with errors.guard():
            origin.tell(model=wanted.model, text=wanted.text)
            VIEWS[view](core.engine.default().open(wanted.model), wanted.text)
        return
    st.fragment(_theatre, run_every=ticking)(wanted, ticking)


def _theatre(wanted: controls.Request, ticking: float | None) -> None:
    """Buttons, picture, one sentence, folds. While it plays, this alone runs again at every beat, one step further."""
    with errors.guard():
        bar = st.container(horizontal=True, vertical_alignment="center", gap="small")
        n_vocab = core.engine.default().open(wanted.model).config.n_vocab
        params = Params(wanted.model, wanted.text, **controls.knobs(Params()), n=player.beat(), force=forks.force(n_vocab))
        controls.ways(params)
        with ask.many() as submit:
            data = compute(params, submit)
        now = forks.left(params.model, params.text, params.strategy, forks.Branch(params.force, len(data.steps)))
        with bar:
            player.buttons(len(data.steps), data.last, ticking)
            controls.how(params)
        controls.told(data)
        data = replace(data, looks=state.read("kind", ""))
        head = controls.head(data)
        pictures.whose(data, head)
        controls.shows(data, head)
        with bar:
            pin.show(data, params.text, head)
        strategy = params.strategy
        if isinstance(strategy, Beam):
            node = beams.show(data, params, strategy)
            path = follow.path(data, node)
            shown = follow.followed(data, path)
            pictures.show(shown, head, lambda: controls.heads(data, head), lambda: _anew(data, path))
            pictures.written(shown, lambda: follow.back_to(path))
            folds.show(PAGE, replace(params, n=len(data.steps)), shown, head, lambda: beams.table(data), node)
        else:
            picture, written = st.container(), st.container()
            with written:  # sent first: it is small, and tells at once that the click was heard
                parts.numbers(pictures.sentence(data))
                pictures.written(data, _gone)
            with picture:
                pictures.show(data, head, lambda: controls.heads(data, head), lambda: _forked(now))
            _everything(params, data, now)
            folds.show(PAGE, replace(params, n=len(data.steps)), data, head)
        if not data.last.done:  # all is on its way to the browser: the next token is ready before it is asked for
            with ask.many() as submit:
                compute(replace(params, n=len(data.steps) + 1), submit)


def _everything(params: Params, data: Data, now: forks.Branch) -> None:
    """The tree of all branches, once there is more than one; a node leads back to its place."""
    others, other = forks.tried(), forks.other(data.model.config.n_vocab)
    if not others and other is None:
        return
    extra = () if other is None else (other,)
    with ask.many() as submit:
        branches = {branch: compute(replace(params, force=branch.force, n=branch.n), submit).steps for branch in (*others, *extra, now)}
    places, given = forks.grown(branches), "" if data.model.spec.has_source else data.window.text
    marks = {} if other is None else forks.marked(places, A=data.last.ids, B=branches[other][-1].ids)

    def back() -> None:
        node = touched(TREE)
        if node is not None and node < len(places):
            player.stop()
            forks.go(now, places[node].to)

    def against() -> None:
        node = compared(TREE)
        if node is not None and node < len(places):
            forks.against(places[node].to)

    tree(
        forks.drawn(places, data.last.ids), key=TREE, title="Everything tried", on_node=back, means={"best": "the branch in view", "open": "tried before", "score": "sum of ln p"},
        root=given, marks=marks, on_second=against,
    )  # fmt: skip
    if other is not None:
        comparison.show(compare(data.steps, branches[other]), given, lambda: forks.against(None))


def _anew(data: Data, path: tuple[int, ...]) -> None:
    """Another candidate of the text that is followed was clicked: the search begins anew behind that text with this token."""
    if other := asked(pictures.CANDIDATES):
        player.stop()
        follow.anew(data, path, other.step, other.id)


def _forked(now: forks.Branch) -> None:
    """Another candidate was clicked: it is written instead, and what was there stays in the tree."""
    if other := asked(pictures.CANDIDATES):
        player.stop()
        forks.go(now, now.forked(other.step, other.id))


def _gone() -> None:
    """A step of the timeline was clicked."""
    if (step := gone(pictures.TIMELINE)) is not None:
        player.go(step + 1)
