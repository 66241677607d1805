"""Small random models of any family of words, with a tokenizer of its own: a framed text in pieces, others in bytes."""

from __future__ import annotations

from dataclasses import replace

import torch

import core
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from tests import bert_helpers

TEXTS = [
    "She has a white car.",
    "Ella tiene un auto blanco.",
    "The animal didn't cross the street because it was too tired.",
] * 4


def build(name: str = "bert", **changes) -> core.Model:
    family = families()[name]
    if family.framed:
        return bert_helpers.build(name, **changes)
    torch.manual_seed(7)
    backend = learn_byte_level_bpe(TEXTS, 320, ("<pad>", "<start>", "<end>"), prefix_space=True)
    config = replace(family.config.tiny(), n_vocab=backend.get_vocab_size(), n_ctx=61, **changes)
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return core.Model(f"random-{name}", family, config, network, Tokenizer(backend, pad=0, start=1, end=2))
