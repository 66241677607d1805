"""Conditions that make the sentences of the exhibit on sizes true, step by step."""

from __future__ import annotations

from viz.course.gpt.sizes import maths
from viz.course.gpt.sizes.maths import BERTS, GPT2, RACE, Shape, blocks, closed, counted, total
from viz.course.gpt.sizes.params import Data, Params


def _closed(params: Params, data: Data) -> bool:
    return all(sum(closed(shape).values()) == total(shape) for shape in BERTS.values())


def _near(stated: float, count: int, within: float) -> bool:
    return abs(count / 1e9 / stated - 1) < within


BY_PART = {
    "most parameters are in the feed-forward networks": lambda params, data: (
        max(data.counts[params.model], key=data.counts[params.model].__getitem__) == maths.NETWORK
    ),
    "110M and 340M are the counts, rounded": lambda params, data: all(
        _near(BERTS[name].stated or 0, data.total(name), 0.02) for name in ("BERT-Base", "BERT-Large")
    ),
    "the number of heads changes no count": lambda params, data: (
        total(Shape(n_heads=4)) == total(Shape(n_heads=12))
    ),
}
VARIANTS = {
    "counted and closed form agree for every variant": _closed,
    "RoBERTa is larger than BERT-Base": lambda params, data: data.total("RoBERTa") > data.total("BERT-Base"),
    "BERT-Small is a quarter of BERT-Base": lambda params, data: (
        0.2 < data.total("Small BERT") / data.total("BERT-Base") < 0.3
    ),
}
FOUR_SIZES = {
    "1.5 billion is the count of the largest alone": lambda params, data: (
        [name for name in GPT2 if _near(1.5, data.total(name), 0.05)] == ["GPT-2 XL"]
    ),
    "DistilGPT-2 keeps the whole embedding matrix": lambda params, data: (
        counted(GPT2["DistilGPT-2"])[maths.WORDS] == counted(GPT2["GPT-2 small"])[maths.WORDS]
    ),
}
RACED = {
    "15½ months from GPT-2 to GPT-3, and about 112 times the parameters": lambda params, data: (
        maths.months("GPT-2 XL", "GPT-3") == 15.5 and 105 < data.total("GPT-3") / data.total("GPT-2 XL") < 120
    ),
    "stated and counted differ by a twentieth at most": lambda params, data: all(
        _near(shape.stated, data.total(name), 0.05) for name, shape in RACE.items() if shape.stated
    ),
}
CALCULATOR = {
    "12·L·d² is poor for a small model and good for a large one": lambda params, data: (
        blocks(data.shape) / sum(data.own.values()) < 0.75
        and blocks(RACE["GPT-3"]) / data.total("GPT-3") > 0.99
    )
}
