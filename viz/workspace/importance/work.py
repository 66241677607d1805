"""Parts that the views of What matters share: many small computations with a line for the progress; texts, means."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import streamlit as st

from core.analysis.attribution import ablation_sweep
from core.analysis.attribution.importance import Sample
from core.analysis.attribution.means import mean_outputs
from core.data.texts import texts
from core.errors import InputError
from core.model import Model
from core.reading import bounds
from core.run import Run
from viz.instruments.picture import patches
from viz.languages import _
from viz.widgets import engine_client
from viz.workspace.shared.toy_models import own_texts

T = TypeVar("T")
QUICK = 0.005
"""Seconds within which an answer was known already."""


SENTENCES = 24
"""Texts over which losses and the means of heads are taken."""


def own_samples(model: Model) -> tuple[Sample, ...]:
    """Return texts that mean something to this model: our sentences, of a toy task its own, of pictures our drawings with their classes."""
    if patches.reads_patches(model):
        return ablation_sweep.default_samples(model, SENTENCES)
    lines = own_texts(model.name)[:SENTENCES]
    return tuple(Sample(row.text, row.target) for row in lines) or ablation_sweep.default_samples(
        model, SENTENCES
    )


def averages(model: Model, kind: str) -> np.ndarray:
    """Return the mean output of each head, over these texts."""

    def mean() -> np.ndarray:
        rows = own_samples(model) or tuple(Sample(row.text) for row in texts("heads_en")[:SENTENCES])
        return mean_outputs(
            model,
            [row.text for row in rows],
            kind,
            [row.truth for row in rows] if model.spec.has_source and model.head is None else None,
        )

    return engine_client.submit(("importance.means", model.name, kind), mean, 200.0 * SENTENCES)


def short(run: Run, n: int, each: float = 1) -> None:
    """Refuse what would take long: `each` runs for every one of `n` tokens, of which a given translation may have many. Raises InputError."""
    if n > bounds.LEAST and not bounds.affordable(run.model, each * n, tokens(run)):
        raise InputError(
            _("The text has {n} tokens here, and each would need runs of its own.", n=n),
            _("So many runs would take too long."),
            _("Shorten the text."),
        )


def tokens(run: Run) -> int:
    """Return the number of tokens of a run: of the text, and of a translator its source too."""
    return len(run.ids) + (len(run.source.ids) if run.source else 0)


def each(work: Sequence[tuple[Hashable, Callable[[], T]]], cost: float, doing: str) -> list[T]:
    """Return the value of every (key, function), each through the engine; the line is there from the first that has to be computed."""
    spot, found, slow = st.empty(), [], False
    with engine_client.many() as ask:
        for number, (key, fn) in enumerate(work, 1):
            begun = time.perf_counter()
            found.append(ask(key, fn, cost))
            slow = slow or time.perf_counter() - begun > QUICK
            if slow:
                spot.progress(
                    number / len(work), _("{doing} {number} of {n}", doing=doing, number=number, n=len(work))
                )
    spot.empty()
    return found


def cost(run: Run) -> float:
    """Return what one run of these texts costs the scheduler."""
    return 4.0 * tokens(run) * run.model.config.n_layers
