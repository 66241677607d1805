"""A decoding as data, and its steps: what Decode shows, and the next tokens on the first screen."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import core.serving.engine
from core.decoding import Beam, Greedy, Replay, Sample, Step, Strategy, Window, decode, fit_prompt
from core.model import Model
from core.run import Run
from viz.widgets import engine_client
from viz.workspace.decode import player

Submit = Callable[[Hashable, Callable[[], Any], float], Any]
AT_ONCE = 4
"""Steps that are computed in one visit of the engine; each is kept by itself."""


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
        """Return a beam where it has a width, else sampling, else the most probable; groups that do not divide the width are one."""
        if self.beam:
            groups = self.groups if self.beam % self.groups == 0 else 1
            return Beam(
                self.beam, self.length, groups=groups, diversity=self.diversity if groups > 1 else 0.0
            )
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
        """Return the kinds of attention with which a token is written: over the text so far, across to a source."""
        return tuple(self.last.attention)

    @property
    def kind(self) -> str | None:
        """Return the kind that is shown: the visitor's, else across to the source where there is one; None if the model has none."""
        return self.looks if self.looks in self.kinds else self.kinds[-1] if self.kinds else None

    @property
    def across(self) -> bool:
        """Return whether that one looks at a source."""
        return any(kind.name == self.kind and kind.keys == "source" for kind in self.model.spec.kinds)


def at_once(key: Hashable, fn: Callable[[], Any], cost: float) -> Any:
    """Compute through the engine, for no session in particular."""
    return core.serving.engine.default().submit(key, fn, cost)


def compute(p: Params = Params(), submit: Submit = at_once, run: Run | None = None) -> Data:
    """Compute the first `n` steps. Each is computed once for everybody; going on costs one step. A `run` of the text saves reading it again."""
    model = engine_client.open(p.model)
    cfg, most = model.config, player.MOST
    if model.spec.has_source:
        window = Window(p.text, 0, 0)
    else:
        window = submit(
            ("decode.fit", p.model, p.text),
            lambda: fit_prompt(model, p.text, cfg.n_ctx - min(most, cfg.n_ctx // 2)),
            len(p.text) / 50 + 1,
        )
    force = p.force
    key = (p.model, window.text, p.strategy, force)
    longest = cfg.n_ctx if model.spec.has_source else min(cfg.n_ctx, window.tokens + most)
    held = (
        8 * cfg.n_layers * cfg.d_model * longest * max(1, p.beam)
    )  # keys and values of whole texts; recurrent states are smaller

    def begin() -> Replay:
        return Replay(
            lambda: decode(model, window.text, p.strategy, max_new_tokens=most, force=force, run=run), held
        )

    def cost(index: int) -> float:
        return cfg.n_layers * (8 + (min(len(window.text), 4 * cfg.n_ctx) if index == 0 else 0))

    def step(index: int) -> Step:
        return submit(
            ("decode.step", key, index), lambda: submit(("decode", key), begin, 1).step(index), cost(index)
        )

    def several(start: int, stop: int) -> list[Step]:
        found: list[Step] = []
        while start + len(found) < stop and not (found and found[-1].done):
            found.append(step(start + len(found)))
        return found

    steps: list[Step] = []
    while len(steps) < max(1, p.n) and not (steps and steps[-1].done):
        start, stop = len(steps), min(len(steps) + AT_ONCE, max(1, p.n))
        steps += submit(
            ("decode.steps", key, start, stop),
            lambda start=start, stop=stop: several(start, stop),
            sum(map(cost, range(start, stop))),
        )
    return Data(tuple(steps), model, window)
