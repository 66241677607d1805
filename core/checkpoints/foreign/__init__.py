"""Checkpoints of other programs: one file a format, found by name. A format file declares `FORMAT`."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from core.checkpoints.fields import Fields
from core.checkpoints.files import shown
from core.checkpoints.plan import NEVER, Plan, Take, check_names
from core.checkpoints.weights import Weights
from core.errors import InputError
from core.models import families


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a folder whose config.json names `model_type` becomes one of our families.

    `config` reads the checked fields into the family's config and refuses switches that change the arithmetic;
    `takes` lists every tensor it must hold (names without `prefix`); `repeated`, `passed`, `heads` as in `check_names`.
    `architecture` is how the class names begin that old configs give instead of a model type.
    """

    model_type: str
    architecture: str
    family: str
    config: Callable[[Fields], Any]
    takes: Callable[[Any], tuple[Take, ...]]
    prefix: str = ""
    repeated: Mapping[str, str] = field(default_factory=dict)
    passed: re.Pattern[str] = NEVER
    heads: re.Pattern[str] = NEVER


@cache
def formats() -> Mapping[str, Format]:
    """Every format by model type, found by looking into this folder.

    >>> sorted(formats())
    ['gpt2', 'openai-gpt']
    """
    found = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return {module.FORMAT.model_type: module.FORMAT for module in found}


def plan_foreign(values: Mapping[str, Any], weights: Weights) -> tuple[Plan, Weights]:
    """The plan for a config.json in Hugging Face format, and the weights under the names the plan uses.

    Raises InputError: a model type, a switch or a size that is not implemented; weights that do not fit the config.
    """
    form, fields = _format(values), Fields(values)
    for name, why in REFUSED.items():
        fields.absent(name, why)
    config = form.config(fields)
    weights, takes = weights.without(form.prefix), form.takes(config)
    if values.get("tie_word_embeddings") is False and not set(form.repeated) <= set(weights.entries):
        fields.only("tie_word_embeddings", True, "Without an output layer of its own this model must be tied.")
    unused = check_names(weights.entries, takes, form.repeated, passed=form.passed, heads=form.heads)
    end = fields.token_id("eos_token_id", config.n_vocab)
    start = fields.token_id("bos_token_id", config.n_vocab)
    ids = {"start": end if start is None else start, "end": end, "pad": fields.token_id("pad_token_id", config.n_vocab)}
    plan = Plan(
        spec=families()[form.family],
        config=config,
        ids={name: value for name, value in ids.items() if value is not None},
        takes=takes,
        repeated=form.repeated,
        unused=unused,
    )
    return plan, weights


REFUSED: Mapping[str, str] = {
    "quantization_config": "Quantised weights are not read.",
    "pruned_heads": "Models with heads cut out are not read.",
    "is_encoder_decoder": "This kind of model has one stack here.",
    "add_cross_attention": "This kind of model has no cross-attention here.",
}


def _format(values: Mapping[str, Any]) -> Format:
    given, classes = values.get("model_type"), values.get("architectures")
    if isinstance(given, str) and given in formats():
        return formats()[given]
    if given is None and isinstance(classes, list) and classes and isinstance(classes[0], str):
        for form in formats().values():
            if classes[0].startswith(form.architecture):
                return form
    said = f"model_type is '{shown(str(given), 40)}'" if given is not None else "model_type is missing"
    raise InputError(f"config.json: {said}.", f"Kinds read here: {', '.join(sorted(formats()))}.", "Open a model of one of these kinds.")
