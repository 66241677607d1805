"""The importance of heads and keys: the loss without a head, and the size of each key's contribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.attention.measures import contributions
from core.analysis.task_outputs import activation_of
from core.edits import ZeroHead
from core.errors import InputError
from core.maths import log_softmax, sigmoid
from core.model import Model
from core.run import Run
from core.trace import Edit

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray


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


def _rows_and_targets(run: Run, truth: str | None) -> tuple[list[int], list[int]]:
    """Return the rows of the scores and the correct choice of each."""
    if run.model.is_classifier:
        classes = list(run.model.class_names)
        if truth not in classes:
            raise InputError(
                f"'{truth}' is not a class of {run.model.name}.",
                f"Its classes are {', '.join(classes)}.",
                "Name one of them as the truth.",
            )
        return [0], [classes.index(truth)]
    if run.model.main_output != "logits":
        rule = "A loss compares with the next token, a hidden word or a class."
        raise InputError(
            f"No truth is known for what {run.model.name} outputs.", rule, "Choose another model."
        )
    ids, n = run.ids, run.side.n_real
    if run.model.spec.framed:
        tokenizer = run.model.tokenizer
        whole = (ids[0], *tokenizer.encode(truth or "").ids, *ids[ids.index(tokenizer.end) : n])
        places = [place for place, token in enumerate(ids[:n]) if token == tokenizer.mask]
        if len(whole) != n or any(
            a != b for place, (a, b) in enumerate(zip(whole, ids, strict=False)) if place not in places
        ):
            wrong = "The truth is not the text with its blanks filled."
            raise InputError(
                wrong,
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
    found = model.spec.kind(kind)
    plain = mean_loss(model, samples, ())
    return np.array(
        [
            [
                mean_loss(model, samples, (ZeroHead(found.path(layer, "heads"), head),)) - plain
                for head in range(model.config.n_heads)
            ]
            for layer in range(found.n_layers(model.config))
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
    found, cfg = run.model.spec.kind(kind), run.model.config
    layers = []
    for layer in range(found.n_layers(cfg)):
        pattern, v = (run.trace[found.path(layer, leaf)] for leaf in ("pattern", "v"))
        to_out = np.eye(v.shape[-1])[None]
        if found.layered:
            out = found.module(run.model.network, layer).to_out.weight  # (d_model, (head d_head))
            to_out = out.detach().numpy().T.reshape(cfg.n_heads, cfg.d_head, cfg.d_model)
        layers.append(contributions(pattern, v, to_out))
    return np.stack(layers)
