"""Parameter counts of networks of any shape: built from our own classes without memory for the weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import nn

from core.models.albert import ALBERT, ALBERTConfig
from core.models.bert import BERT, BERTConfig
from core.models.gpt import GPT, GPTConfig
from core.models.transformer import PostNormEncoderBlock, TransformerConfig


def parameters(network: type[nn.Module], config: Any) -> int:
    """Count the parameters of a network without allocating its weights.

    >>> parameters(GPT, GPTConfig())
    124439808
    """
    with torch.device("meta"):
        return sum(weight.numel() for weight in network(config).parameters())


@cache
def bert(**shape: Any) -> int:
    """Count the parameters of BERT with pooler and without the two heads of pre-training.

    >>> bert()
    109482240
    """
    heads: dict[str, Any] = {"masked_lm": False, "next_sentence": False}
    return parameters(BERT, BERTConfig(**(heads | shape)))


LARGE: dict[str, Any] = {"n_layers": 24, "d_model": 1024, "n_heads": 16, "d_ff": 4096}


@cache
def gpt(**shape: Any) -> int:
    """Count the parameters of a GPT; without arguments those of GPT-2 small."""
    return parameters(GPT, GPTConfig(**shape))


@cache
def encoder_layer(d_ff: int = 2048, d_model: int = 512, n_heads: int = 8) -> int:
    """Count the parameters of one encoder layer; the defaults are those of the Transformer's base model.

    >>> encoder_layer()
    3152384
    """
    return parameters(PostNormEncoderBlock, TransformerConfig(d_ff=d_ff, d_model=d_model, n_heads=n_heads))


@cache
def albert(d_model: int, n_heads: int, *, n_vocab: int = 30_000, d_embed: int = 128, n_ctx: int = 512) -> int:
    """Count the parameters of ALBERT with pooler and without the two heads of pre-training; one layer's weights serve any number of
    layers.

    >>> albert(1024, 16)
    17683968
    """
    shape: dict[str, Any] = {
        "d_model": d_model,
        "n_heads": n_heads,
        "d_ff": 4 * d_model,
        "n_vocab": n_vocab,
        "d_embed": d_embed,
        "n_ctx": n_ctx,
    }
    return parameters(ALBERT, ALBERTConfig(masked_lm=False, sentence_order=False, **shape))
