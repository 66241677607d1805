"""Checkpoints of other programs: one file a format, found by name. A format file declares `FORMAT`."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import tokenizers

from core.checkpoints.files import shown
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import NEVER, ONE_MARK, Plan, Take, check_names
from core.checkpoints.weights import Weights
from core.errors import InputError
from core.models import families


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a folder whose config.json names `model_type` becomes one of our families.

    `config` reads the checked fields, and the names of what is stored, into the family's config and refuses switches
    that change the arithmetic; `values` is the other way round, None for a config that this kind cannot say; `classes`
    names the class of the transformers library. `takes` lists every tensor it must hold, without the `prefix` that all
    names may have but those that begin with `outside`; `endings` are old ends of names with the present ones;
    `passed` and `heads` as in `check_names`, `marks` as in `Plan`.
    `tokenizer` names what a model of a config reads where that is no text, and its folders have none.
    `architecture` is how the class names begin that old configs give instead of a model type.
    """

    model_type: str
    architecture: str
    family: str
    config: Callable[[Fields, Collection[str]], Any]
    values: Callable[[Any], Mapping[str, Any] | None]
    classes: Callable[[Any], str]
    takes: Callable[[Any], tuple[Take, ...]]
    prefix: str
    outside: str | tuple[str, ...] = "lm_head."
    endings: Mapping[str, str] = field(default_factory=dict)
    passed: re.Pattern[str] = NEVER
    heads: re.Pattern[str] = NEVER
    marks: Mapping[str, str] = field(default_factory=lambda: ONE_MARK)
    tokenizer: Callable[[Any], tokenizers.Tokenizer] | None = None

    def plain(self, stored: str) -> str:
        """The name that `takes` uses for a stored one."""
        bare = stored.removeprefix(self.prefix)
        bare = stored if bare.startswith(self.outside) else bare
        for old, new in self.endings.items():
            if bare.endswith(old):
                return bare.removesuffix(old) + new
        return bare

    def full(self, plain: str) -> str:
        """The name that is written for one of `takes`."""
        return plain if plain.startswith(self.outside) else self.prefix + plain


@cache
def formats() -> Mapping[str, Format]:
    """Every format by model type, found by looking into this folder.

    >>> formats()["gpt2"].family
    'gpt'
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
    weights = weights.renamed(form.plain)
    config = form.config(fields, weights.entries.keys())
    takes, spec = form.takes(config), families()[form.family]
    if any(take.again and take.again not in weights.entries for take in takes):
        fields.only(
            "tie_word_embeddings", True, "Without an output layer of its own this model must be tied."
        )
    unused = check_names(weights.entries, takes, passed=form.passed, heads=form.heads)
    ids = {} if spec.framed else _ids(fields, config.n_vocab)  # the marks of a frame are found by name
    named = form.tokenizer(config) if form.tokenizer else None
    plan = Plan(
        spec=spec, config=config, ids=ids, takes=takes, marks=form.marks, unused=unused, tokenizer=named
    )
    return plan, weights


def _ids(fields: Fields, n_vocab: int) -> dict[str, int]:
    end, start, pad = (fields.token_id(f"{name}_token_id", n_vocab) for name in ("eos", "bos", "pad"))
    ids = {"start": end if start is None else start, "end": end, "pad": pad}
    return {name: value for name, value in ids.items() if value is not None}


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
    raise InputError(
        f"config.json: {said}.",
        f"Kinds read here: {', '.join(sorted(formats()))}.",
        "Open a model of one of these kinds.",
    )
