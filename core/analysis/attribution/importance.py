"""The importance of heads and keys: the loss without a head, and the size of each key's contribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.analysis.attention.measures import contributions
from core.analysis.task_outputs import activation_of
from core.edits import ZeroHead
from core.errors import InputError
from core.maths import log_softmax, sigmoid
from core.model import Model
from core.run import Run
from core.trace import Edit, Recorder, ready

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
HIDDEN_LOGITS = 2**24
"""Logits that are computed at once while tokens are hidden one by one: 64 MB."""


@dataclass(frozen=True)
class Sample:
    """A text and the correct output: the target of a translator, the whole text for one with blanks, a class."""

    text: str
    truth: str | None = None


def token_losses(run: Run, truth: str | None = None) -> Float[Array, " row"]:
    """Return -log p, in nats, of each token that the model had to predict.

    A decoder predicts each next token (a translator also its END), a masked language model the words in its blanks,
    which `truth`, the text without blanks, tells; one that tells classes the class that `truth` names.
    Raises InputError: nothing to predict, or a truth that does not fit the blanks, or is no class.
    """
    rows, wanted = _rows_and_targets(run, truth)
    if not rows:
        raise InputError(
            "There is nothing to predict.", "A text needs two tokens, or a blank.", "Give a longer text."
        )
    scores = run.scores[rows].astype(np.float64)
    each = activation_of(run.model) == "sigmoid"
    return -(np.log(sigmoid(scores)) if each else log_softmax(scores))[np.arange(len(rows)), wanted]


def hidden_token_losses(run: Run, edits: Sequence[Edit] = ()) -> Float[Array, " pos"]:
    """Return -log p, in nats, of each token of a text while it alone is hidden: the pseudo-loss of a masked language model.

    Salazar et al. 2020, Eq. (1); the model reads the text once per token, with `edits`. The special tokens around the text are not predicted.
    Raises InputError for a model that fills no blanks.
    """
    model, side = run.model, run.side.without_padding
    if not model.can("fill_blanks"):
        raise InputError(
            "{name} fills no blanks.",
            "Hidden tokens are predicted by a masked language model; {lack}",
            "Choose another model.",
            name=model.name,
            lack=model.lacks("fill_blanks"),
        )
    special, output = frozenset(side.special_positions), model.outputs["logits"]
    places = [place for place in range(len(side.ids)) if place not in special]
    if not places:
        raise InputError("The text holds no word.", "A token is hidden at a time.", "Give a longer text.")
    at_once = max(1, HIDDEN_LOGITS // (len(side.ids) * model.config.n_vocab))
    losses: list[float] = []
    for first in range(0, len(places), at_once):
        some = places[first : first + at_once]
        rows = [(*side.ids[:place], model.tokenizer.mask, *side.ids[place + 1 :]) for place in some]
        batch = model.batch([replace(side, ids=row) for row in rows], None)
        tap = Recorder((), ready(model, edits))
        with torch.inference_mode():
            scores = output.compute("logits", model.network, model.network(batch, tap=tap), batch.real, tap)
        each = torch.arange(len(some))
        log_p = scores[each, some].double().log_softmax(-1)
        losses += (-log_p[each, [side.ids[place] for place in some]]).tolist()
    return np.array(losses)


def _rows_and_targets(run: Run, truth: str | None) -> tuple[list[int], list[int]]:
    """Return the rows of the scores and the correct choice of each."""
    if run.model.is_classifier:
        classes = list(run.model.class_names)
        if truth not in classes:
            raise InputError(
                "'{truth}' is not a class of {name}.",
                "Its classes are {names}.",
                "Name one of them as the truth.",
                truth=truth,
                name=run.model.name,
                names=", ".join(classes),
            )
        return [0], [classes.index(truth)]
    if run.model.main_output != "logits":
        raise InputError(
            "No truth is known for what {name} outputs.",
            "A loss compares with the next token, a hidden word or a class.",
            "Choose another model.",
            name=run.model.name,
        )
    ids, n = run.ids, run.side.n_real
    if run.model.spec.framed:
        tokenizer = run.model.tokenizer
        whole = (ids[0], *tokenizer.encode(truth or "").ids, *ids[ids.index(tokenizer.end) : n])
        places = [place for place, token in enumerate(ids[:n]) if token == tokenizer.mask]
        if len(whole) != n or any(
            a != b for place, (a, b) in enumerate(zip(whole, ids, strict=False)) if place not in places
        ):
            raise InputError(
                "The truth is not the text with its blanks filled.",
                "Each blank stands for one token, all else is the same.",
                "Hide a word that is one token.",
            )
        return places, [whole[place] for place in places]
    end = [run.model.tokenizer.end] if run.source is not None and run.model.tokenizer.end is not None else []
    wanted = [*ids[1:n], *end]
    return list(range(len(wanted))), wanted


def ablation_losses(model: Model, samples: Sequence[Sample], kind: str) -> Float[Array, "layer head"]:
    """Measure how many nats per token the mean loss rises when one head is ablated (Michel et al. 2019).

    Each head alone, its output zero, over all tokens of the samples together; below 0 the model does better without it.
    """
    kind_spec = model.spec.kind(kind)
    plain = mean_loss(model, samples, ())
    return np.array(
        [
            [
                mean_loss(model, samples, (ZeroHead(kind_spec.path(layer, "heads"), head),)) - plain
                for head in range(model.config.n_heads)
            ]
            for layer in range(kind_spec.n_layers(model.config))
        ]
    )


def mean_loss(model: Model, samples: Sequence[Sample], edits: Sequence[Edit] = ()) -> float:
    """Return the mean of `token_losses` over all tokens of the samples together, in nats per token."""
    targets = [sample.truth for sample in samples] if model.spec.has_source else None
    runs = model.run_many([sample.text for sample in samples], targets=targets, keep=(), edits=edits)
    return float(
        np.concatenate(
            [token_losses(run, sample.truth) for run, sample in zip(runs, samples, strict=True)]
        ).mean()
    )


def head_contributions(run: Run, kind: str) -> Float[Array, "layer head query key"]:
    """Return how much each key adds to each query, in every head of one kind: weight x length of v W_O (Kobayashi et al. 2020).

    The run must have kept v and pattern.

    The alignment of a recurrent decoder has no W_O: there it is the weight times the size of the encoder's state.
    """
    kind_spec, cfg = run.model.spec.kind(kind), run.model.config
    layers = []
    for layer in range(kind_spec.n_layers(cfg)):
        pattern, v = (run.trace[kind_spec.path(layer, leaf)] for leaf in ("pattern", "v"))
        to_out = np.eye(v.shape[-1])[None]
        if kind_spec.layered:
            out = kind_spec.module(run.model.network, layer).to_out.weight  # (d_model, (head d_head))
            to_out = out.detach().numpy().T.reshape(cfg.n_heads, cfg.d_head, cfg.d_model)
        layers.append(contributions(pattern, v, to_out))
    return np.stack(layers)
