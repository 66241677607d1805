"""The plan of GPT: the Transformer's right half with cross-attention struck out, and what a touched box holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz.charts.tensors import Panel, side_by_side
from viz.course.shared.transformer_map import BOX_STYLES, GAP, without_space
from viz.exhibit_text import data
from viz.instruments.diagram.diagram import Edge, Frame, Node, Text
from viz.labels import distinct

X, WIDE, BESIDE = 54.0, 50.0, 85.0
DISC = 2.6


@dataclass(frozen=True)
class Part:
    """A box of the plan: its kind, the tensor that leaves it ("{}" for the layer), and what it does in words."""

    name: str
    kind: str
    leaf: str
    does: str


DOES = data(__file__)["does"]
PARTS = tuple(
    Part(name, what, leaf, DOES[name])
    for name, what, leaf in (
        ("embed", "embed", "embed.token"),
        ("position", "position", "embed.out"),
        ("norm1", "norm", "layer.{}.norm1.out"),
        ("self", "self", "layer.{}.self_attn.out"),
        ("add1", "add", "layer.{}.resid_mid"),
        ("norm.cross", "norm", ""),
        ("cross", "cross", ""),
        ("add.cross", "add", ""),
        ("norm2", "norm", "layer.{}.norm2.out"),
        ("ffn", "ffn", "layer.{}.ffn.out"),
        ("add2", "add", "layer.{}.resid_out"),
        ("final", "final", "final_norm.out"),
        ("linear", "linear", "logits"),
        ("softmax", "softmax", "probabilities"),
    )
)
DROPPED = ("norm.cross", "cross", "add.cross")


def heading(part: Part) -> str:
    """Return the name of a part."""
    return {"self": "Masked self-attention", "add": "Sum", "position": "Token + position"}.get(
        part.kind, BOX_STYLES[part.kind][0]
    )


def value(run: Any, part: Part, layer: int) -> np.ndarray:
    """Return the tensor that leaves a box (token, ..)."""
    if part.leaf != "probabilities":
        return run.trace[part.leaf.format(layer)]
    powers = np.exp(run.logits.astype(np.float64) - run.logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def plan(run: Any, layer: int, *, struck: bool) -> dict[str, Any]:
    """Return the arguments of `diagram`; not `struck`: the decoder layer of the Transformer, all parts alike."""
    at, rows = _places()
    nodes = []
    for part in PARTS:
        small, centred = _picture(run, part, layer)
        label = "+" if part.kind in ("add", "position") else heading(part)
        gone = struck and part.name in DROPPED
        nodes.append(
            Node(
                part.name,
                label,
                (X, at[part.name]),
                (WIDE, BOX_STYLES[part.kind][2]),
                BOX_STYLES[part.kind][1],
                part.does if struck else label,
                part.kind in ("add", "position"),
                small,
                centred,
                gone,
            )
        )
    words = tuple(without_space(token) for token in run.tokens)
    probabilities = value(run, PARTS[-1], layer)
    names = run.model.tokenizer
    guesses = tuple(
        "END" if int(i) == names.end else without_space(names.token(int(i))) for i in probabilities.argmax(-1)
    )
    texts = [Text(words, (X, rows - 0.5), 88), Text(guesses, (X, 0.5), 60, marked=len(words) - 1)]
    texts.append(Text(("no encoder",) if struck else ("encoder",), (13, at["cross"] - 0.55), 25, quiet=True))
    bottom, top = (
        at["norm1"] + BOX_STYLES["norm"][2] / 2 + GAP * 0.95,
        at["add2"] - BOX_STYLES["add"][2] / 2 - GAP * 0.4,
    )
    frame = Frame(
        (X - WIDE / 2 - 3, top),
        (BESIDE - X + WIDE / 2 + 7, bottom - top),
        f"{'block' if struck else 'decoder layer'} × {run.model.config.n_layers}",
        False,
    )
    return {
        "nodes": nodes,
        "rows": rows,
        "edges": _edges(at, rows, struck),
        "frames": [frame],
        "texts": texts,
    }


def _places() -> tuple[dict[str, float], float]:
    found, height = {}, 1.0 + GAP
    for part in PARTS:
        tall = BOX_STYLES[part.kind][2]
        found[part.name] = height + tall / 2
        height += tall + GAP
    rows = height + 1.0
    return {name: rows - y for name, y in found.items()}, rows


def _edges(heights: Mapping[str, float], rows: float, struck: bool) -> list[Edge]:
    found, low = [], rows - 1.0
    for number, part in enumerate(PARTS):
        y, tall = heights[part.name], BOX_STYLES[part.kind][2]
        found.append(Edge(((X, low), (X, y + tall / 2))))
        if part.kind == "norm" and not (struck and part.name in DROPPED):
            to = heights[PARTS[number + 2].name]
            found.append(
                Edge(
                    ((X, low - GAP * 0.4), (BESIDE, low - GAP * 0.4), (BESIDE, to), (X + DISC, to)),
                    strong=True,
                )
            )
        low = y - tall / 2
    found.append(Edge(((X, low), (X, low - GAP))))
    if not struck:
        found.append(Edge(((20.0, heights["cross"]), (X - WIDE / 2, heights["cross"])), strong=True))
    return found


def _picture(run: Any, part: Part, layer: int) -> tuple[Any, bool]:
    if not part.leaf or part.kind in ("add", "position"):
        return None, True
    if part.kind == "self":
        return run.trace[f"layer.{layer}.self_attn.pattern"].mean(0), False
    return value(run, part, layer), part.kind != "softmax"


def panels(run: Any, part: Part, layer: int) -> list[Panel]:
    """Return the tensor that leaves a box, and for attention its weights head by head; nothing for a box that is struck out."""
    if not part.leaf:
        return []
    words = distinct(without_space(token) for token in run.tokens)
    found = value(run, part, layer)
    if part.kind in ("linear", "softmax"):
        found = np.stack([each.max(1) for each in np.array_split(found, 200, axis=1)], axis=1)
    weights = (
        [
            Panel(
                "weights, head by head",
                side_by_side(run.trace[f"layer.{layer}.self_attn.pattern"]),
                words,
                True,
            )
        ]
        if part.kind == "self"
        else []
    )
    return [
        *weights,
        Panel(
            "what leaves the box"
            + (", the largest of each 200th part" if part.kind in ("linear", "softmax") else ""),
            found,
            words,
            part.kind == "softmax",
        ),
    ]
