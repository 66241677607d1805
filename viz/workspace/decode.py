"""Decode: a model writes one token at a time; watch what it could have written, what was taken, and where it looked."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

import core.engine
from core.decoding import Greedy, Replay, Sample, Step, Window, decode, fit
from core.model import Model
from viz.pages import Cite, Page
from viz.ui import compute as ask
from viz.ui import errors, parts
from viz.workspace import _decode_controls as controls
from viz.workspace import _decode_folds as folds
from viz.workspace import _decode_pictures as pictures
from viz.workspace import _decode_player as player

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
    ),
    menu="top",
)
Submit = Callable[[Hashable, Callable[[], Any], float], Any]


@dataclass(frozen=True)
class Params:
    """A decoding as data: the same values give the same tokens. `n` steps of it are shown."""

    model: str = "gpt-mini"
    text: str = "Once upon a time"
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    n: int = 1

    @property
    def strategy(self) -> Greedy | Sample:
        if self.temperature == 0:
            return Greedy()
        return Sample(self.temperature, self.top_k, self.top_p, self.seed)


@dataclass(frozen=True)
class Data:
    """The steps so far, the model that wrote them, and the part of the text that it read."""

    steps: tuple[Step, ...]
    model: Model = field(repr=False)
    window: Window

    @property
    def last(self) -> Step:
        return self.steps[-1]

    @property
    def kind(self) -> str | None:
        """The attention that is shown: across to the source where there is one, else over the text so far; None if none."""
        return next((kind.name for kind in reversed(self.model.spec.kinds_of(self.model.config))), None)


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
    key = (p.model, window.text, p.strategy)
    held = 8 * cfg.n_layers * cfg.d_model * cfg.n_ctx  # keys and values of a full context; recurrent states are smaller

    def begin() -> Replay:
        return Replay(lambda: decode(model, window.text, p.strategy, max_new_tokens=most), held)

    steps: list[Step] = []
    while len(steps) < max(1, p.n) and not (steps and steps[-1].done):
        index = len(steps)
        cost = cfg.n_layers * (8 + (min(len(window.text), 4 * cfg.n_ctx) if index == 0 else 0))
        steps.append(submit(("decode.step", key, index), lambda i=index: submit(("decode", key), begin, 1).step(i), cost))
    return Data(tuple(steps), model, window)


def page() -> None:
    """Claim, model and text, then the theatre."""
    parts.title(PAGE)
    asked, ticking = controls.request(Params()), player.playing()
    st.fragment(_theatre, run_every=player.BEAT if ticking else None)(asked, ticking)


def _theatre(asked: controls.Request, ticking: bool) -> None:
    """Buttons, picture, one sentence, folds. While it plays, this alone runs again at every beat, one step further."""
    with errors.guard():
        bar = st.container(horizontal=True, vertical_alignment="center", gap="small")
        params = Params(asked.model, asked.text, **controls.knobs(Params()), n=player.beat())
        if params.temperature:
            controls.lot(Params())
        data = compute(params, ask.submit)
        with bar:
            player.buttons(len(data.steps), data.last, ticking)
            controls.how(params.temperature)
        controls.told(data)
        head = controls.head(data)
        pictures.show(data, head, lambda: controls.heads(data, head))
        parts.numbers(pictures.sentence(data))
        folds.show(PAGE, replace(params, n=len(data.steps)), data, head)
