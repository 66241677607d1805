"""Published shapes of models and their parameters, counted by part from our own classes.

A network is built on the meta device, which needs no memory; closed forms give the same:

    GPT-2:  P = V d + C d + L (12 d^2 + 13 d) + 2 d
    BERT:   P = (V + C + S + 2) d + L (4 (d^2 + d) + 2 d F + F + d + 4 d) + d^2 + d
    ALBERT: E in place of d in the tables, a map of E d + d behind them, and L = 1 whatever the number of layers
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import MappingProxyType
from typing import Any

import pandas as pd
import torch

from core.errors import InputError
from core.models.albert import ALBERT, ALBERTConfig
from core.models.bert import BERT, BERTConfig
from core.models.gpt import GPT, GPTConfig
from viz.course.shared.sizes import attention, feed_forward, norm

WORDS, PLACES, ATTENTION, NETWORK, NORMS, POOLER = (
    "token embeddings",
    "positions and segments",
    "attention",
    "feed-forward",
    "layer norms",
    "pooler",
)
PARTS = (WORDS, PLACES, ATTENTION, NETWORK, NORMS, POOLER)
GIGA = 10**9
BYTES = MappingProxyType(
    {"float32, to use it": 4, "float16, to use it": 2, "float32, to train it (Adam)": 16}
)
"""Bytes a parameter takes; Adam keeps a gradient and two running means beside each weight."""


@dataclass(frozen=True)
class Shape:
    """A published shape. kind: "bert", "albert", "gpt" or "xlnet". stated: the documents' figure, in billions of parameters."""

    kind: str = "gpt"
    n_layers: int = 12
    d_model: int = 768
    n_heads: int = 12
    n_vocab: int = 50_257
    n_ctx: int = 1024
    n_segments: int = 0
    inner: int = 0
    embed: int = 0
    pooler: bool = False
    stated: float | None = None
    differs: str = ""

    @property
    def d_ff(self) -> int:
        """Return the width of the hidden layer, by default four times the model's."""
        return self.inner or 4 * self.d_model


def _bert(
    n_layers: int = 12, d_model: int = 768, n_heads: int = 12, n_vocab: int = 30_522, **more: Any
) -> Shape:
    usual: dict[str, Any] = {"kind": "bert", "n_ctx": 512, "n_segments": 2, "pooler": True}
    size: dict[str, Any] = {"n_layers": n_layers, "d_model": d_model, "n_heads": n_heads, "n_vocab": n_vocab}
    return Shape(**(usual | size | more))


BERTS = MappingProxyType(
    {
        "ALBERT-Base": _bert(
            n_vocab=30_000, kind="albert", embed=128, differs="one layer's weights twelve times"
        ),
        "TinyBERT": _bert(4, 312, inner=1200, differs="4 thin layers, taught by a large one"),
        "ALBERT-Large": _bert(
            24, 1024, 16, 30_000, kind="albert", embed=128, differs="one layer's weights 24 times"
        ),
        "Small BERT": _bert(4, 512, 8, differs="4 layers, width 512 (Turc et al. 2019)"),
        "DistilBERT": _bert(6, n_segments=0, pooler=False, differs="half the layers, no segments, no pooler"),
        "ClinicalBERT": _bert(n_vocab=28_996, differs="Base with capital letters, trained on hospital notes"),
        "BioBERT": _bert(n_vocab=28_996, differs="Base with capital letters, trained on medical papers"),
        "BERT-Base": _bert(stated=0.110, differs="the model of the paper; here the default"),
        "XLNet": Shape(
            "xlnet", n_vocab=32_000, n_ctx=0, differs="a fifth matrix for distances, other training"
        ),
        "RoBERTa": _bert(
            n_vocab=50_265, n_ctx=514, n_segments=1, differs="a larger vocabulary, longer training"
        ),
        "BERT-Large": _bert(24, 1024, 16, stated=0.340, differs="twice the layers, width 1024"),
    }
)
"""BERT and the variants that the documents name."""
GPT2 = MappingProxyType(
    {
        "DistilGPT-2": Shape(n_layers=6, differs="half the layers of small"),
        "GPT-2 small": Shape(differs="12 layers"),
        "GPT-2 medium": Shape(n_layers=24, d_model=1024, n_heads=16, differs="24 layers"),
        "GPT-2 large": Shape(n_layers=36, d_model=1280, n_heads=20, differs="36 layers"),
        "GPT-2 XL": Shape(n_layers=48, d_model=1600, n_heads=25, stated=1.5, differs="48 layers"),
    }
)
RACE = MappingProxyType(
    {
        "BERT-Base": BERTS["BERT-Base"],
        "BERT-Large": BERTS["BERT-Large"],
        "GPT-2 XL": GPT2["GPT-2 XL"],
        "Megatron-LM": Shape(
            n_layers=72,
            d_model=3072,
            n_heads=32,
            stated=8.0,
            differs="GPT-2's vocabulary and 1,024 positions",
        ),
        "Turing-NLG": Shape(
            n_layers=78,
            d_model=4256,
            n_heads=28,
            stated=17.0,
            differs="GPT-2's vocabulary and 1,024 positions assumed",
        ),
        "GPT-3": Shape(
            n_layers=96,
            d_model=12_288,
            n_heads=96,
            n_ctx=2048,
            stated=175.0,
            differs="GPT-2's vocabulary, 2,048 positions",
        ),
    }
)
PUBLISHED = MappingProxyType(
    {
        "BERT-Base": date(2018, 10, 11),
        "BERT-Large": date(2018, 10, 11),
        "GPT-2 XL": date(2019, 2, 14),
        "Megatron-LM": date(2019, 9, 17),
        "Turing-NLG": date(2020, 2, 13),
        "GPT-3": date(2020, 5, 28),
    }
)
"""The day of the announcement or of the first preprint; the weights of GPT-2 XL followed in November 2019."""
ALL = MappingProxyType({**BERTS, **GPT2, **RACE})


def months_between(first: str, second: str) -> float:
    """Return the months from one model of RACE to another, to the nearest half.

    >>> months_between("GPT-2 XL", "GPT-3")
    15.5
    """
    return round(2 * (PUBLISHED[second] - PUBLISHED[first]).days / 30.4375) / 2


def screen_name(name: str) -> str:
    """Return the name on screen; links keep the older one.

    >>> screen_name("Small BERT"), screen_name("RoBERTa")
    ('BERT-Small', 'RoBERTa')
    """
    return {"Small BERT": "BERT-Small"}.get(name, name)


def closed_form(shape: Shape) -> dict[str, int]:
    """Return the parameters by part from the closed forms, without a network.

    >>> sum(closed_form(BERTS["BERT-Base"]).values()), sum(closed_form(GPT2["GPT-2 XL"]).values())
    (109482240, 1557611200)
    """
    n, d, f = shape.n_layers, shape.d_model, shape.d_ff
    if shape.kind == "albert":
        e, places = shape.embed, shape.n_ctx + shape.n_segments
        return {
            WORDS: shape.n_vocab * e + e * d + d,
            PLACES: places * e,
            ATTENTION: attention(d),
            NETWORK: feed_forward(d, f),
            NORMS: 2 * norm(d) + norm(e),
            POOLER: d * d + d,
        }
    # XLNet: five maps without bias, three biases of a head, two segment vectors a head; one mask vector
    places, attending, norms = (
        (d + n * 2 * d, n * (5 * d * d + 3 * d), 2 * n)
        if shape.kind == "xlnet"
        else ((shape.n_ctx + shape.n_segments) * d, n * attention(d), 2 * n + 1)
    )
    counts = {
        WORDS: shape.n_vocab * d,
        PLACES: places,
        ATTENTION: attending,
        NETWORK: n * feed_forward(d, f),
        NORMS: norms * norm(d),
    }
    return counts | ({POOLER: d * d + d} if shape.pooler else {})


@cache
def _count(shape: Shape) -> tuple[tuple[str, int], ...]:
    size: dict[str, Any] = {
        "n_layers": shape.n_layers,
        "d_model": shape.d_model,
        "n_heads": shape.n_heads,
        "d_ff": shape.d_ff,
        "n_vocab": shape.n_vocab,
        "n_ctx": shape.n_ctx,
    }
    with torch.device("meta"):
        if shape.kind == "gpt":
            network: torch.nn.Module = GPT(GPTConfig(**size))
        elif shape.kind == "albert":
            own = {"d_embed": shape.embed, "masked_lm": False, "sentence_order": False}
            network = ALBERT(ALBERTConfig(**size, **own))
        else:
            network = BERT(
                BERTConfig(
                    **size,
                    n_segments=max(1, shape.n_segments),
                    pooler=shape.pooler,
                    masked_lm=False,
                    next_sentence=False,
                )
            )
    counts: Counter[str] = Counter()
    for path, weight in network.named_parameters():
        if "segment" not in path or shape.n_segments:
            counts[_part_of(path)] += weight.numel()
    return tuple((part, counts[part]) for part in PARTS if counts[part])


def count_by_part(shape: Shape) -> dict[str, int]:
    """Return the parameters by part, counted in a network of our own class; of XLNet, which has no class here, by the closed form.

    Raises InputError where the heads cannot share the width.

    >>> count_by_part(GPT2["GPT-2 small"])["feed-forward"], count(GPT2["GPT-2 small"])
    (56669184, 124439808)
    """
    if shape.kind == "xlnet":
        return closed_form(shape)
    if shape.d_model % shape.n_heads:
        raise InputError(
            f"{shape.n_heads} heads cannot share a width of {shape.d_model}.",
            "d must be a multiple of h.",
            "Choose another h, or another d.",
        )
    return dict(_count(shape))


def _part_of(path: str) -> str:
    if path.startswith(("embed.token", "embed.to_model")):
        return WORDS
    if path.startswith(("embed.position", "embed.segment")):
        return PLACES
    return next(
        (
            part
            for name, part in (("self_attn", ATTENTION), ("ffn", NETWORK), ("norm", NORMS))
            if name in path
        ),
        POOLER,
    )


def count(shape: Shape) -> int:
    """Return the number of all parameters."""
    return sum(count_by_part(shape).values())


def block_weights(shape: Shape) -> int:
    """Return 12 L d^2: the entries of the weight matrices of all blocks, four of d x d and two of d x 4d.

    >>> block_weights(RACE["GPT-3"])
    173946175488
    """
    return 12 * shape.n_layers * shape.d_model**2


def memory_in_gb(count: int) -> dict[str, float]:
    """Return the billions of bytes that so many parameters take, by number format and purpose.

    >>> memory_in_gb(10**9)["float16, to use it"]
    2.0
    """
    return {name: count * each / GIGA for name, each in BYTES.items()}


def year_of(name: str) -> float:
    """Return when a model of RACE was published, in years."""
    day = PUBLISHED[name]
    return day.year + (day - day.replace(month=1, day=1)).days / 365


@dataclass(frozen=True)
class Data:
    """Parameters by part: of each named model, and of one shape."""

    counts: Mapping[str, Mapping[str, int]]
    shape: Shape
    parts: Mapping[str, int]

    def total(self, name: str) -> int:
        """Return all parameters of a named model."""
        return sum(self.counts[name].values())

    def table(self, shapes: Mapping[str, Shape]) -> pd.DataFrame:
        """Return these models, a row each, with their parameters."""
        base = self.total("BERT-Base")
        rows = [
            {
                "model": name,
                "parameters": self.total(name),
                "of BERT-Base": round(self.total(name) / base, 2),
                "layers": shape.n_layers,
                "width": shape.d_model,
                "heads": shape.n_heads,
                "inner": shape.d_ff,
                "vocabulary": shape.n_vocab,
                "what changes": shape.differs,
            }
            for name, shape in shapes.items()
        ]
        return pd.DataFrame(rows).set_index("model")
