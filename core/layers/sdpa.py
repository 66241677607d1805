"""Attention in training without taps: the same sums, a few rows at a time, in the processor's cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


AT_ONCE = 2**20
"""Cells of scores formed at a time."""


def fused_attention(
    q: Float[Tensor, "batch head query d_head"],
    k: Float[Tensor, "batch head key d_head"],
    v: Float[Tensor, "batch head key d_head"],
    allowed: Bool[Tensor, "... #query key"],
) -> Float[Tensor, "batch head query d_head"]:
    """Return softmax(q k^T / sqrt(d_head)) v where allowed, without a tensor for each step of it.

    The numbers and gradients are those of `MultiHeadAttention.mix`, in the type of autocast. For the backward pass only
    the pattern is stored; scores are written and read while they are still in the cache. Models in use do not call it.

    >>> q = torch.ones(1, 1, 2, 4, requires_grad=True)
    >>> fused_attention(q, q, q, torch.ones(2, 2, dtype=torch.bool).tril()).shape
    torch.Size([1, 1, 2, 4])
    """
    kind = q.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else q.dtype
    if q.is_cuda:
        return fused_attention_on_gpu(q.to(dtype), k.to(dtype), v.to(dtype), allowed)
    return _Attend.apply(*(side.to(dtype).contiguous() for side in (q, k, v)), allowed)  # pyright: ignore


def fused_attention_on_gpu(
    q: Float[Tensor, "batch head query d_head"],
    k: Float[Tensor, "batch head key d_head"],
    v: Float[Tensor, "batch head key d_head"],
    allowed: Bool[Tensor, "... #query key"],
) -> Float[Tensor, "batch head query d_head"]:
    """Return the same by torch's kernel, which on a graphics card forms no scores in memory at all.

    >>> q = torch.ones(1, 1, 2, 4)
    >>> fused_attention_on_gpu(q, q, q, torch.tensor([[True, False], [False, False]]))[0, 0, :, 0].tolist()
    [1.0, 0.0]
    """
    mask = allowed.expand(len(q), -1, -1, -1) if allowed.ndim == 4 else allowed
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return torch.where(allowed.any(-1, keepdim=True), found, 0.0)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor) -> Tensor:
        n_batch, n_heads, n_query, d_head = q.shape
        cells = (n_batch, n_heads, n_query, k.shape[2])
        pattern, out = q.new_empty(cells), torch.empty_like(q)
        forbidden = torch.zeros(allowed.shape, dtype=q.dtype, device=q.device).masked_fill_(
            ~allowed, torch.finfo(q.dtype).min
        )
        forbidden = (
            forbidden.expand(n_batch, -1, -1, -1)
            if forbidden.ndim == 4
            else forbidden.expand(n_batch, 1, -1, -1)
        )
        nothing = ~allowed.any(-1, keepdim=True)
        scale, at_once = d_head**-0.5, min(n_batch, max(1, AT_ONCE // (n_heads * n_query * k.shape[2])))
        room = q.new_empty(at_once, *cells[1:])
        with torch.autocast(q.device.type, enabled=False):
            for first in range(0, n_batch, at_once):
                rows = slice(first, first + at_once)
                scores = torch.matmul(q[rows] * scale, k[rows].mT, out=room[: n_batch - first])
                torch.softmax(scores.add_(forbidden[rows]), dim=-1, out=pattern[rows])
                torch.matmul(pattern[rows], v[rows], out=out[rows])
        if nothing.any():
            pattern.masked_fill_(nothing, 0.0)
            out.masked_fill_(nothing, 0.0)
        ctx.save_for_backward(q, k, v, pattern)
        ctx.scale, ctx.at_once = scale, at_once
        return out

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, pattern = ctx.saved_tensors
        to_q, to_k, to_v = (torch.empty_like(side) for side in (q, k, v))
        to_out = grad[0].to(q.dtype).contiguous()
        room = pattern.new_empty(ctx.at_once, *pattern.shape[1:])
        with torch.autocast(q.device.type, enabled=False):
            for first in range(0, len(q), ctx.at_once):
                rows = slice(first, first + ctx.at_once)
                weights, slope = pattern[rows], to_out[rows]
                torch.matmul(weights.mT, slope, out=to_v[rows])
                scores = torch.matmul(slope, v[rows].mT, out=room[: len(weights)])
                scores = torch._softmax_backward_data(scores, weights, -1, q.dtype, grad_input=scores).mul_(
                    ctx.scale
                )
                torch.matmul(scores, k[rows], out=to_q[rows])
                torch.matmul(scores.mT, q[rows], out=to_k[rows])
        return to_q, to_k, to_v, None
