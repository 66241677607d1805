"""A small random BERT, or another family that reads a framed text, with a tokenizer of its own."""

from __future__ import annotations

from dataclasses import replace

from kind_shapes import random_network

import core
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_wordpiece

TEXTS = ["She has a white car.", "The animal didn't cross the street because it was too tired."] * 4
IDS = {"pad": 0, "start": 2, "end": 3, "mask": 4}


def build(name: str = "bert", **changes) -> core.Model:
    backend = learn_wordpiece(TEXTS, 120)
    family = families()[name]
    config = replace(family.config.tiny(), n_vocab=backend.get_vocab_size(), n_ctx=61, **changes)
    network = random_network(family, config, 7)
    return core.Model(f"random-{name}", family, config, network, Tokenizer(backend, **IDS))
