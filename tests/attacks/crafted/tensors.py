"""Tensors that are missing, too many, misshapen or no numbers, and folders with other weights than a model's."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import torch

from crafted.case import WEIGHTS, Case, Tensors, folder
from crafted.lists import Canary


def filled(part: str, value: float, dtype: torch.dtype = torch.float32) -> Callable[[Tensors], object]:
    """One number somewhere in the tensor whose name ends so."""

    def change(held: Tensors) -> None:
        name = next(name for name in sorted(held) if name.endswith(part))
        held[name] = held[name].to(dtype)
        held[name].view(-1)[-1] = value

    return change


def typed(dtype: torch.dtype) -> Callable[[Tensors], Tensors]:
    return lambda held: {name: value.to(dtype) for name, value in held.items()}


def without(part: str) -> Callable[[Tensors], Tensors]:
    return lambda held: {name: value for name, value in held.items() if part not in name}


def more(name: str, shape: tuple[int, ...]) -> Callable[[Tensors], Tensors]:
    return lambda held: {**held, name: torch.ones(shape)}


def turned(part: str) -> Callable[[Tensors], object]:
    def change(held: Tensors) -> None:
        name = next(name for name in sorted(held) if name.endswith(part))
        held[name] = held[name].T.contiguous()

    return change


def again(new: str, part: str) -> Callable[[Tensors], Tensors]:
    return lambda held: {**held, new: held[next(name for name in sorted(held) if name.endswith(part))] + 1}


LATE: dict[str, tuple[Any, ...]] = {
    "NaN": ("llama", filled("q_proj.weight", float("nan")), "self_attn.q_proj.weight", "NaN or infinite"),
    "infinity": ("t5", filled("shared.weight", float("inf")), "shared.weight", "NaN or infinite"),
    "infinity below zero": ("vit", filled("cls_token", -float("inf")), "cls_token", "NaN or infinite"),
    "infinity in two bytes": ("gemma", filled("norm.weight", float("inf"), torch.float16), "NaN or infinite"),
    "a double that is too large": (
        "albert",
        filled("embeddings.weight", 1e300, torch.float64),
        "NaN or infinite",
    ),
    "numbers that multiply to none": (
        "roberta",
        lambda held: {n: v * 1e37 for n, v in held.items()},
        "NaN or infinite",
    ),
    "another copy of a tied table": ("marian", again("lm_head.weight", "shared.weight"), "differs from"),
    "another copy of T5's table": (
        "t5",
        again("decoder.embed_tokens.weight", "shared.weight"),
        "differs from",
    ),
}
EARLY: dict[str, tuple[Any, ...]] = {
    "a table under another name, of another shape": (
        "gpt2",
        lambda held: {
            ("lm_head.weight" if n.endswith("wte.weight") else n): (v[:-1] if n.endswith("wte.weight") else v)
            for n, v in held.items()
        },
        "wte.weight",
        "(292, 33)",
    ),
    "two wrappers that make one name of two": (
        "gpt2",
        lambda held: {**held, "transformer.wte._orig_mod.weight": torch.ones(292, 33)},
        "stored twice",
    ),
    "another prefix": ("gpt2", lambda held: {f"x.y.{n}": v for n, v in held.items()}),
    "a prefix without an end": (
        "gpt2",
        lambda held: {f"{'x.' * 40}{n}": v for n, v in held.items()},
        "Weights missing",
        "wte.weight",
        "more",
    ),
    "a bias that is not there": (
        "gpt2",
        without("h.1.mlp.c_fc.bias"),
        "Weights missing",
        "h.1.mlp.c_fc.bias",
    ),
    "a layer too many": ("gpt2", more("transformer.h.2.ln_1.weight", (33,)), "left over", "h.2.ln_1.weight"),
    "a tensor under both names": ("gpt2", more("wte.weight", (292, 33)), "stored twice"),
    "a tensor the wrong way round": (
        "gpt2",
        turned("h.0.attn.c_attn.weight"),
        "h.0.attn.c_attn.weight",
        "(99, 33)",
        "(33, 99)",
    ),
    "whole numbers": (
        "gpt2",
        lambda held: held.update({"transformer.ln_f.bias": torch.ones(33, dtype=torch.int64)}),
        "ln_f.bias",
        "I64",
    ),
    "switches": (
        "llama",
        lambda held: held.update({"model.norm.weight": torch.ones(30, dtype=torch.bool)}),
        "norm.weight",
        "BOOL",
    ),
    "no answering heads": ("llama", without("k_proj"), "Weights missing", "self_attn.k_proj.weight"),
    "a bias where none is": (
        "llama",
        more("model.layers.0.self_attn.q_proj.bias", (48,)),
        "left over",
        "q_proj.bias",
    ),
    "experts": (
        "mistral",
        more("model.layers.0.block_sparse_moe.gate.weight", (2, 30)),
        "left over",
        "block_sparse_moe",
    ),
    "adapters": (
        "qwen2",
        more("model.layers.0.self_attn.q_proj.lora_A.weight", (4, 30)),
        "left over",
        "lora_A",
    ),
    "a ViT without its head": ("vit", without("classifier"), "without its head for classes"),
    "T5 without its table of distances": (
        "t5",
        without("relative_attention_bias"),
        "Weights missing",
        "relative_attention_bias",
    ),
    "DeBERTa without its distances": (
        "deberta-v2",
        without("rel_embeddings"),
        "Weights missing",
        "rel_embeddings",
    ),
    "the tensors of another kind": (
        "modernbert",
        lambda held: {"model.norm.weight": held["model.final_norm.weight"]},
        "Weights missing",
    ),
    "nothing": ("bart", lambda held: {"x": torch.ones(0)}, "Weights missing"),
}
FINE: dict[str, tuple[Any, ...]] = {
    "numbers of two bytes": ("qwen3", typed(torch.bfloat16)),
    "numbers of eight bytes": ("gpt_neox", typed(torch.float64)),
    "numbers below float32's smallest": ("bert", filled("pooler.dense.weight", 1e-300, torch.float64)),
}

CASES = [
    Case(f"{kind}: {name}", folder(kind, weights=change), tuple(words), late=late)
    for late, cases in ((True, LATE), (False, EARLY | FINE))
    for name, (kind, change, *words) in cases.items()
] + [
    Case(
        f"gpt2: only {name}",
        folder("gpt2", without=(WEIGHTS,), files={name: pickle.dumps({"weights": Canary()})}),
        (name, "pickle"),
    )
    for name in ("pytorch_model.bin", "model.pt", "pytorch_model.bin.index.json")
]
