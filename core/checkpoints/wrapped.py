"""Model of the transformers library in memory, as one of ours."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import tokenizers
import torch
from torch import Tensor, nn

from core.checkpoints.foreign import ENDS, FIRST, MORE_ENDS, plan_foreign
from core.checkpoints.library_model import LibraryModel, open_library_model
from core.checkpoints.safety.load_plan import Plan, build
from core.checkpoints.safety.safetensors_header import Entry
from core.checkpoints.tokenizer import check_rows, marked
from core.checkpoints.weights import Weights
from core.errors import InputError, UnknownKind
from core.model import Model
from core.text import Tokenizer

DTYPES: Mapping[torch.dtype, str] = {
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
}
MEMORY = Path("memory")


@dataclass(frozen=True)
class MemoryWeights(Weights):
    """Weights in memory, by the names of a state_dict."""

    in_files: ClassVar[bool] = False
    tensors: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> MemoryWeights:
        entries = {
            name: Entry(MEMORY, DTYPES.get(value.dtype, str(value.dtype)), tuple(value.shape))
            for name, value in tensors.items()
        }
        return cls(entries, tensors=tensors)

    def _read_float32(self, entry: Entry, name: str) -> Tensor:
        return self.tensors[name].detach().to("cpu", torch.float32, copy=True)


def wrap(
    network: Any, tokenizer: Any = None, name: str = "", *, in_place: bool = False
) -> Model | LibraryModel:
    """Return a model of the transformers library with its fast tokenizer, copied: traced, edited and drawn like every other here.

    Its weights are read once, in float32; what happens to `network` later changes nothing here. The same kinds, switches and
    checks as for a folder (`core.open_model`). A model of pictures needs no tokenizer. A kind that is not read here is not copied: the
    library runs it, and gives its attention patterns, logits and outputs of heads (`LibraryModel`). With `in_place` that is so for every kind:
    the network stays on its device and in its precision, such as CUDA and bfloat16. Raises InputError for a kind without attention
    patterns, for weights that are not loaded yet, and for a tokenizer that is not one of the tokenizers library.

    >>> from transformers import AutoModel, AutoTokenizer                                            # doctest: +SKIP
    >>> run = wrap(AutoModel.from_pretrained("gpt2"), AutoTokenizer.from_pretrained("gpt2")).run("Hi")   # doctest: +SKIP
    """
    network = _inner(network)
    if not hasattr(network, "config") or not hasattr(network, "state_dict"):
        wrong = f"A {type(network).__name__} is no model of the transformers library."
        raise InputError(wrong, "It has a config and weights.", "Give what from_pretrained returned.")
    called, stored = type(network).__name__, _as_saved(network)
    if any(value.is_meta for value in stored.values()):
        raise InputError(
            f"The weights of this {called} are not in memory: they are on the device 'meta'.",
            "A model is copied with its numbers.",
            "Load it without device_map or init_empty_weights; with nnsight, give dispatch=True.",
        )
    values: dict[str, Any] = {
        **json.loads(network.config.to_json_string(use_diff=False)),
        "architectures": [called],
    }
    said = getattr(network, "generation_config", None)
    values |= {MORE_ENDS: getattr(said, ENDS, None), FIRST: getattr(said, FIRST, None)}
    title = name or Path(str(values.get("_name_or_path") or "")).name or values["model_type"]
    if in_place:
        return open_library_model(network, _backend(tokenizer), title)
    try:
        with _in_memory(called):
            plan, weights = plan_foreign(values, MemoryWeights.from_tensors(stored))
            ours = _tokenizer(tokenizer, plan)
            built = build(plan, weights)
    except UnknownKind:
        if tokenizer is None:
            raise
        return open_library_model(network, _backend(tokenizer), title)
    writing = {"bad_words": plan.never, "ends": plan.ends, "first": plan.first}
    return Model(title, plan.spec, plan.config, built, ours, **writing, head=plan.head)


def _as_saved(network: Any) -> Mapping[str, Tensor]:
    """Return the weights by the names of a file: from version 5 on the library has others for some kinds in memory."""
    library = sys.modules.get("transformers.core_model_loading")
    state = network.state_dict()
    return state if library is None else library.revert_weight_conversion(network, state)


def _inner(network: Any) -> Any:
    """Return the model inside the wrappers of compiling or of several devices."""
    for around in ("_orig_mod", "module"):
        inner = getattr(network, around, None)
        if isinstance(inner, nn.Module):
            return _inner(inner)
    return network


def _tokenizer(tokenizer: Any, plan: Plan) -> Tokenizer:
    """Return our tokenizer of a fast one, or of the plan's where no text is read."""
    if plan.tokenizer is not None:
        return Tokenizer(plan.tokenizer, **plan.ids)
    backend = _backend(tokenizer)
    vocabulary = backend.get_vocab(with_added_tokens=True)
    check_rows(len(vocabulary), max(vocabulary.values(), default=0), plan.config.n_vocab)
    return marked(backend, plan)


def _backend(tokenizer: Any) -> tokenizers.Tokenizer:
    """Return a copy of what a fast tokenizer of the transformers library has inside, without padding and truncation."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, tokenizers.Tokenizer):
        given = (
            "There is no tokenizer"
            if tokenizer is None
            else f"A {type(tokenizer).__name__} has no fast tokenizer inside"
        )
        rule = "Where each token stands in the text is known by those of the tokenizers library alone."
        raise InputError(
            f"{given}.",
            rule,
            "Give AutoTokenizer.from_pretrained(..., use_fast=True) as the second argument.",
        )
    backend = tokenizers.Tokenizer.from_str(backend.to_str())
    backend.no_padding()
    backend.no_truncation()
    return backend


@contextmanager
def _in_memory(called: str) -> Iterator[None]:
    """Change the words of errors inside the block, which speak of files, to fit a model that is in memory."""
    try:
        yield
    except InputError as error:
        wrong = error.wrong.replace("config.json", f"The config of this {called}")
        rule = error.rule.replace("config.json", "the config")
        from_files = error.messages[2].startswith(("Download", "Correct", "Export"))
        remedy = "Load it with the class that from_pretrained of AutoModelForCausalLM, AutoModelForSeq2SeqLM or AutoModelForMaskedLM gives."
        raise type(error)(wrong, rule, remedy if from_files else error.remedy) from None
