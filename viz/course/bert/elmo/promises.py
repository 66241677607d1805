"""Conditions that make the sentences of the exhibit on ELMo true, step by step."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from core.serving.engine import default
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.elmo import chains, factorizations, layer_mixture
from viz.course.bert.elmo.chains import Chains
from viz.course.bert.elmo.mixture import interval, lengths, recorded
from viz.course.bert.elmo.params import MODEL, READER, Params


def _reversed(params: Params) -> chains.Reversed:
    return chains.reversed_text(default().open(MODEL), params.text)


def _products(params: Params) -> bool:
    both = factorizations.factors(factorizations.joint(params.table), params.words)
    one, other = both.products
    return math.isclose(one, both.joint, rel_tol=1e-9) and math.isclose(other, both.joint, rel_tol=1e-9)


def _layers(params: Params) -> np.ndarray:
    return layer_mixture.layers_of(default().open(MODEL), params.text)[:, 0]


def _scaled(params: Params) -> bool:
    layers = _layers(params)
    one, two = (layer_mixture.mixed(layers, params.w, gamma, 1) for gamma in (1.0, 2.0))
    return bool((one.mixture == layers[1]).all() and np.allclose(one.likeness(), two.likeness()))


@cache
def _n_same_meaning(name: str) -> dict[str, int]:
    word = senses.WORDS[name]
    texts, kinds = zip(*word.uses, strict=True)
    found = {
        MODEL: layer_mixture.uses(default().open(MODEL), texts, name),
        READER: contextual_vectors.uses(default().open(READER), texts, name),
    }
    return {name: contextual_vectors.agree(each.cosines(-1), kinds) for name, each in found.items()}


EACH_WORD = {
    "the chains differ at some word by a factor of ten": lambda params, found: (
        abs(found.forward[found.most_different] - found.backward[found.most_different]) > math.log(10)
    ),
    "each side is better at some words": lambda params, found: (
        0.25 < (found.forward > found.backward).mean() < 0.75
    ),
}
LOSS = {
    "both chains lose about the same, within a tenth": lambda params, found: (
        abs(found.losses[0] - found.losses[1]) < 0.1 * max(found.losses)
    )
}
TURNED = {
    "with the backward chain's weights the same numbers come out": lambda params, found: (
        _reversed(params).gap(found) < 1e-4
    ),
    "the forward chain finds the reversed text far less probable": lambda params, found: (
        _reversed(params).forward.sum() < 1.5 * found.forward.sum()
    ),
}


def _disagree(params: Params, data: Chains) -> bool:
    return abs(data.losses[0] - data.losses[1]) > 0.1


JOINT = {
    "both products are the table's probability": lambda params, found: _products(params),
    "the two trained chains give the sentence different probabilities": _disagree,
}
MIX = {
    "with one layer the mixture is that layer, and γ changes no cosine": lambda params, found: _scaled(
        params
    ),
    "upper layers have longer vectors": lambda params, found: (
        (long := lengths(params.text))[0] < 0.6 * long[1] and long[1] < 0.9 * long[2]
    ),
}


def _one_layer_is_enough(task: str) -> bool:
    """Check that the mixture's accuracy is within the interval of the best single layer's."""
    accuracy, _ = recorded(task)
    mixture, *alone = accuracy.values()
    low, high = interval(max(alone))
    return low <= mixture <= high


LEARNED = {
    "the top layer gets the largest share in both tasks": lambda params, found: all(
        int(np.argmax(recorded(task)[1])) == 2 for task in ("tags", "opinions")
    ),
    "the mixture is not better than the best layer alone": lambda params, found: all(
        map(_one_layer_is_enough, ("tags", "opinions"))
    ),
    "the table alone is worse by five points": lambda params, found: all(
        (accuracy := list(recorded(task)[0].values()))[1] < max(accuracy) - 0.05
        for task in ("tags", "opinions")
    ),
}
BANK = {
    "neither model separates all three words": lambda params, found: all(
        min(_n_same_meaning(which)[name] for which in ("bank", "letter")) < 6 for name in (MODEL, READER)
    ),
    "of “bank” both tell at least 6 of 8 apart": lambda params, found: (
        min(_n_same_meaning("bank").values()) >= 6
    ),
}
