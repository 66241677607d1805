"""One more token of one text through a GPT: the operations of core/models/gpt.py in their order, without modules and taps.

A step of writing multiplies each weight with one vector. In a model of a few layers the calls on the way (modules, taps,
masks, views) take longer than these products; here they are left out, because nothing is edited and only the patterns are
wanted. A test compares both ways, logits and patterns, token by token.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from core.layers.cache import Cache
from core.layers.linear import PackedWeight
from core.layers.norm import LayerNorm
from core.models.gpt import GPT


class _Layer(NamedTuple):
    norm1: LayerNorm
    qkv: PackedWeight
    out: PackedWeight
    norm2: LayerNorm
    hidden: PackedWeight
    activation: Callable[[Tensor], Tensor]
    back: PackedWeight


class OneToken:
    """A frozen pre-norm GPT that reads one token of one text per call; `fits` tells for which networks.

    `cache` holds what was read so far, and the new keys and values afterwards: the same that the network itself reads
    and writes. Gives the logits (vocab,) and the patterns (layer, head, key) of the new token.
    """

    def __init__(self, network: GPT) -> None:
        self._token, self._position = (
            network.embed["token"].weight,
            network.embed["position"].weight[network.cfg.first_place :],
        )
        self._layers = [_layer(block) for block in network.layers]
        self._norm: Any = network.final_norm
        self._scores: PackedWeight = network.embed["token"].packed_weight()
        self._shape = (3, network.cfg.n_heads, 1, network.cfg.d_head)
        self._root = math.sqrt(network.cfg.d_head)

    @staticmethod
    def fits(network: nn.Module) -> bool:
        """Return whether the network is a GPT with pre-norm, in float32 on the CPU, that is not being trained and has no hooks."""
        if not isinstance(network, GPT) or network.cfg.order != "pre" or network.cfg.attention_only:
            return False
        if any(part._forward_hooks or part._forward_pre_hooks for part in network.modules()):
            return False
        return all(
            w.device.type == "cpu" and w.dtype == torch.float32 and not w.requires_grad
            for w in network.parameters()
        )

    @torch.inference_mode()
    def __call__(self, token: int, cache: Cache) -> tuple[Tensor, Tensor]:
        x = self._token[token] + self._position[cache.n_read]
        patterns = []
        for layer, store in zip(self._layers, cache.self_attn, strict=True):
            q, k, v = layer.qkv.multiply_vector(_normed(layer.norm1, x)).view(self._shape).unbind(0)
            keys, values = store(lambda _, new=(k[None], v[None]): new, x)
            pattern = (q @ keys[0].mT / self._root).softmax(dim=-1)
            patterns.append(pattern)
            x = x + layer.out.multiply_vector((pattern @ values[0]).view(-1))
            x = x + layer.back.multiply_vector(
                layer.activation(layer.hidden.multiply_vector(_normed(layer.norm2, x)))
            )
        return self._scores.multiply_vector(_normed(self._norm, x)), torch.stack(patterns)[:, :, 0]


def _normed(norm: LayerNorm, x: Tensor) -> Tensor:
    return torch.layer_norm(x, x.shape, norm.weight, norm.bias, norm.eps)


def _layer(block: Any) -> _Layer:
    attn, ffn = block.self_attn, block.ffn
    return _Layer(
        block.norm1,
        attn.packed_qkv(),
        attn.to_out.packed_weight(),
        block.norm2,
        ffn.to_hidden.packed_weight(),
        ffn.activation,
        ffn.to_out.packed_weight(),
    )
