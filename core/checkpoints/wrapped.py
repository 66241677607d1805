"""A model of the transformers library that is in memory, as one of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import tokenizers
import torch
from torch import Tensor

from core.checkpoints.foreign import ENDS, MORE_ENDS, plan_foreign
from core.checkpoints.safety.load_plan import build
from core.checkpoints.safety.safetensors_header import Entry
from core.checkpoints.tokenizer import check_rows, marked
from core.checkpoints.weights import Weights
from core.errors import InputError
from core.model import Model

DTYPES: Mapping[torch.dtype, str] = {
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
}
MEMORY = Path("memory")


@dataclass(frozen=True)
class Held(Weights):
    """Weights that are in memory, by the names of a state_dict."""

    in_files: ClassVar[bool] = False
    tensors: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Held:
        entries = {
            name: Entry(MEMORY, DTYPES.get(value.dtype, str(value.dtype)), tuple(value.shape))
            for name, value in tensors.items()
        }
        return cls(entries, tensors=tensors)

    def _held(self, entry: Entry, name: str) -> Tensor:
        return self.tensors[name].detach().to("cpu", torch.float32, copy=True)


def wrap(network: Any, tokenizer: Any, name: str = "") -> Model:
    """A model of the transformers library with its fast tokenizer, copied: traced, edited and drawn like every other here.

    Its weights are read once, in float32; what happens to `network` later changes nothing here. The same kinds, switches and
    checks as for a folder (`core.open_model`). Raises InputError for a kind that is not read here, and for a tokenizer that
    is not one of the tokenizers library.

    >>> from transformers import AutoModel, AutoTokenizer                                            # doctest: +SKIP
    >>> run = wrap(AutoModel.from_pretrained("gpt2"), AutoTokenizer.from_pretrained("gpt2")).run("Hi")   # doctest: +SKIP
    """
    if not hasattr(network, "config") or not hasattr(network, "state_dict"):
        wrong = f"A {type(network).__name__} is no model of the transformers library."
        raise InputError(wrong, "It has a config and weights.", "Give what from_pretrained returned.")
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, tokenizers.Tokenizer):
        wrong = f"A {type(tokenizer).__name__} has no fast tokenizer inside."
        rule = "Where each token stands in the text is known by those of the tokenizers library alone."
        raise InputError(wrong, rule, "Load it with AutoTokenizer and use_fast=True.")
    backend = tokenizers.Tokenizer.from_str(backend.to_str())
    backend.no_padding()
    backend.no_truncation()
    values = network.config.to_dict()
    writes = getattr(network, "generation_config", None)
    values[MORE_ENDS] = getattr(writes, ENDS, None)
    plan, weights = plan_foreign(values, Held.of(network.state_dict()))
    vocabulary = backend.get_vocab(with_added_tokens=True)
    check_rows(len(vocabulary), max(vocabulary.values(), default=0), plan.config.n_vocab)
    called = name or Path(str(values.get("_name_or_path") or "")).name or values["model_type"]
    network, reader = build(plan, weights), marked(backend, plan)
    return Model(called, plan.spec, plan.config, network, reader, never=plan.never, ends=plan.ends)
