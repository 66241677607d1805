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


def small_network(name: str, seed: int = 0, std: float = 0.3, **changes) -> torch.nn.Module:
    """The smallest network of a family, its weights large enough that everything matters."""
    torch.manual_seed(seed)
    family = families()[name]
    network = family.network(replace(family.config.tiny(), **changes)).eval()
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=std)
    return network


def build(name: str = "bert", **changes) -> core.Model:
    family = families()[name]
    if family.framed:
        return bert_helpers.build(name, **changes)
    backend = learn_byte_level_bpe(TEXTS, 320, ("<pad>", "<start>", "<end>"), prefix_space=True)
    network = small_network(name, 7, n_vocab=backend.get_vocab_size(), n_ctx=61, **changes)
    return core.Model(
        f"random-{name}", family, network.cfg, network, Tokenizer(backend, pad=0, start=1, end=2)
    )
