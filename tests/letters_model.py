"""Tiny random models that read no English: a vocabulary of amino acids, with an unknown token and without one."""

from __future__ import annotations

from dataclasses import replace

import tokenizers
from kind_shapes import random_network, tiny
from tokenizers import Regex, models, pre_tokenizers

from core.model import Model
from core.models import families
from core.text import Tokenizer

ACIDS = "ACDEFGHIKLMNPQRSTVWY"
PROTEINS = ("MKTAYIAKQRQISFVKSHFSRQ", "GSHMLEDPVDAFVQ", "ACDACDACDACDACD", "MKTAYMKTAYMKTAY")


def acids(unknown: bool = True) -> Tokenizer:
    """Return a tokenizer of letters; without `unknown` other letters vanish."""
    marks = ("<cls>", "<eos>", "<pad>", "<mask>", *(("<unk>",) if unknown else ()))
    vocab = {name: index for index, name in enumerate((*marks, *ACIDS))}
    backend = tokenizers.Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("."), "isolated")]
    )
    backend.add_special_tokens(list(marks))
    return Tokenizer(backend, start=0, end=1, pad=2, mask=3)


def model(kind: str, name: str, tokenizer: Tokenizer, **changes: int) -> Model:
    """Return a random model of a kind, with the vocabulary of a tokenizer."""
    spec = families()[kind]
    shape = {"bert": "bert", "llama": "llama", "t5": "t5", "transformer": "marian"}[kind]
    config = replace(tiny(shape), n_vocab=len(tokenizer), n_ctx=160, **changes)
    network = random_network(spec, config, 4)
    return Model(name, spec, config, network, tokenizer)
