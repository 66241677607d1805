"""Interface between recipes and the engine, and the list of recipes: one file each in `core/training/recipes`, or one for several."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from core.data.corpora import TextDescription
from core.data.texts import Example
from core.model import Model
from core.models import Family
from core.scoring import Metrics
from core.text import Tokenizer
from core.training.loop.optim import initialise

CPU = torch.device("cpu")
SEED = 0
"""Of the untrained copy, which every score of a head is held against."""


class Task(Protocol):
    """Prepared data of one training: the interface that the loop uses."""

    tokenizer: Tokenizer

    def batch(self, step: int) -> tuple[Any, int]:
        """Return the batch of this step and its number of tokens; the same step gives the same batch."""
        ...

    def loss(self, network: nn.Module, batch: Any) -> Tensor: ...

    def check(self, network: nn.Module) -> Mapping[str, float]:
        """Return quick measures on held-out data, by name."""
        ...


@runtime_checkable
class Follower(Protocol):
    """Task that receives the network as it begins, where it continues from weights."""

    def follow(self, network: nn.Module) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Training recipe of one shipped model.

    `prepare(data, work, seed, device)` reads the data (caching what is slow in `work`) and returns a Task; `begin`
    changes the weights that the engine drew, before the first step; then `inherit` may put in their place what another
    shipped model has learned, which a copy of the network that knows nothing does without. The weights after the steps of `keep_at` (0: before
    the first) are shipped too, so that one can see how the model came to what it does. `measure(model, limit, seed)`, where
    given, is how such a model is measured without a file: on items that are drawn with the seed and that no training sees; then
    `examples` are some of them, on which its heads are measured. `reads` says what texts it learns from, None where they are no language. `outside`: see `optimisers`.
    `then` is a second stage: it begins with the weights that the first ended with, on data and with rates of its own.
    """

    name: str
    family: str
    config: Any
    steps: int
    prepare: Callable[[Path, Path, int, torch.device], Task]
    begin: Callable[[nn.Module], None] = lambda network: None
    inherit: Callable[[nn.Module], None] = lambda network: None
    keep_at: Sequence[int] = ()
    measure: Callable[..., Metrics] | None = None
    examples: Callable[[], Sequence[Example]] = tuple
    reads: TextDescription | None = None
    ids: Mapping[str, int] = field(default_factory=dict[str, int])
    lr: float = 3e-3
    matrix_lr: float = 0.02
    weight_decay: float = 0.01
    outside: tuple[str, ...] = ()
    warm_up: int = 200
    clip: float = 1.0
    then: Recipe | None = None


def initial_network(
    family: Family, config: Any, seed: int, begin: Callable[[nn.Module], None], device: torch.device = CPU
) -> Any:
    """Return a network before its first step: weights drawn with this seed, then changed by `begin`."""
    torch.manual_seed(seed)
    network = family.network(replace(config)).to(device)
    initialise(network, config.n_layers)
    begin(network)
    return network


def spaced_steps(n: int, last: int, first: int = 1) -> tuple[int, ...]:
    """Return n steps to store: 0, and from `first` to `last` by equal factors.

    >>> spaced_steps(6, 1000, first=10)
    (0, 10, 32, 100, 316, 1000)
    """
    return (0, *(int(step) for step in np.geomspace(first, last, n - 1).round()))


def untrained(model: Model, seed: int = SEED) -> Model:
    """Return the same network before its training: new random weights, then changed as its recipe begins."""
    recipe = recipes().get(model.name)
    with torch.random.fork_rng(devices=[]):  # others in this process draw, too
        network = initial_network(
            model.spec, model.config, seed, recipe.begin if recipe else lambda network: None
        )
    return replace(model, network=network)


@cache
def recipes() -> Mapping[str, Recipe]:
    """Return every recipe by the name of the model it trains: of each module its `RECIPE`, or all of its `RECIPES`."""
    package = import_module("core.training.recipes")
    found = (
        import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    )
    return {recipe.name: recipe for module in found for recipe in _recipes_in(module)}


def _recipes_in(module: Any) -> Sequence[Recipe]:
    return getattr(module, "RECIPES", None) or (module.RECIPE,)
