"""The figure of the Transformer, drawn as this network is: where each box stands, what it is called, what leads where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.analysis.diagram_nodes import Box, tensor_at
from viz.course.shared import sizes
from viz.instruments.diagram.diagram import Edge, Frame, Node, Text
from viz.number_text import with_unit

SAID = {  # label, hue, rows high
    "embed": ("Embedding", 3, 1.0),
    "position": ("+", 4, 0.66),
    "norm": ("Layer norm", 6, 0.78),
    "self": ("Self-attention", 1, 1.0),
    "add": ("+", 6, 0.66),
    "cross": ("Cross-attention", 1, 1.0),
    "ffn": ("Feed-forward", 7, 1.0),
    "final": ("Layer norm", 6, 0.78),
    "linear": ("Linear", 4, 1.0),
    "softmax": ("Softmax", 2, 1.0),
}
GAP, WIDE = 0.25, 36.0
MIDDLE = {"encoder": 27.0, "decoder": 73.0}
FRAME = {"encoder": (5.0, 42.0), "decoder": (53.0, 42.0)}
BESIDE = {"encoder": 7.0, "decoder": 93.0}
DISC = 2.4
DISCS = ("add", "position")


def label(box: Box) -> str:
    """What stands in the box."""
    return "Masked self-attention" if box.kind == "self" and box.side == "decoder" else SAID[box.kind][0]


def role(box: Box) -> str:
    """Its name whatever the layer, as the link has it: "encoder.self"."""
    return box.name if box.layer is None else box.name.replace(f".{box.layer}.", ".", 1)


def shown(boxes: Sequence[Box], layer: int) -> list[Box]:
    """The boxes of one plan: those outside the stacks and those of one layer of each."""
    return [box for box in boxes if box.layer in (None, layer)]


def places(boxes: Sequence[Box]) -> tuple[dict[str, tuple[float, float]], float]:
    """The middle of each box (percent, rows from the top), and how many rows there are; both columns begin at the bottom."""
    found: dict[str, tuple[float, float]] = {}
    tops = {}
    for side in MIDDLE:
        height = 1.0 + GAP
        for box in (box for box in boxes if box.side == side):
            tall = SAID[box.kind][2]
            found[box.name] = MIDDLE[side], height + tall / 2
            height += tall + GAP
        tops[side] = height
    rows = tops["decoder"] + 1.0
    return {name: (x, rows - y) for name, (x, y) in found.items()}, rows


def picture(run: Any, box: Box, upto: int | None) -> tuple[Any, bool]:
    """What is drawn small in a box: the mean weights of attention, else the tensor that leaves it; and whether it is centred on 0."""
    if box.kind in DISCS:
        return None, True
    if box.kind in ("self", "cross"):
        weights = run.trace[box.gives.removesuffix("out") + "pattern"].mean(0)
        cut = weights[:upto] if box.side == "decoder" else weights
        return (cut if box.kind == "cross" or box.side == "encoder" else cut[:, :upto]), False
    found = tensor_at(run, box.gives)
    return (found[:upto] if box.side == "decoder" else found), box.kind != "softmax"


def plan(
    run: Any,
    boxes: Sequence[Box],
    layer: int,
    *,
    upto: int | None = None,
    counts: Mapping[str, int] | None = None,
    pictures: bool = True,
    times: int | None = None,
) -> dict[str, Any]:
    """Everything `diagram` draws: nodes, edges, frames, words. `upto`: so many rows of the decoder are told. `counts`: by box, in place of pictures."""
    here = shown(boxes, layer)
    at, rows = places(here)
    nodes = []
    for box in here:
        small, centred = picture(run, box, upto) if pictures and counts is None else (None, True)
        name = label(box)
        if counts is not None and counts[box.name]:
            name = f"{name.replace('self-attention', 'self-att.')} {with_unit(counts[box.name])}"
        _, hue, tall = SAID[box.kind]
        disc = box.kind in DISCS
        nodes.append(Node(role(box), name, at[box.name], (WIDE, tall), hue, told(box), disc, small, centred))
    n = times or run.model.config.n_layers
    words, read = map(plain, run.source.tokens), [plain(token) for token in run.tokens][:upto]
    written = [plain(token) for token in run.side.next_tokens().tokens][: len(read)]
    marked = None
    if upto is not None:
        marked = len(written) - 1
        written[marked] = "?"
    texts = [
        Text(tuple(words), (MIDDLE["encoder"], rows - 0.5), 47),
        Text(tuple(read), (MIDDLE["decoder"], rows - 0.5), 47),
        Text(tuple(written), (MIDDLE["decoder"], 0.5), 47, marked=marked),
    ]
    drawn = {"nodes": nodes, "rows": rows, "texts": texts}
    return drawn | {"edges": edges(here, at, rows), "frames": frames(here, at, n)}


def frames(boxes: Sequence[Box], at: Mapping[str, tuple[float, float]], n: int) -> list[Frame]:
    """One frame around the layer of each stack."""
    found = []
    for side, (left, wide) in FRAME.items():
        inside = [box for box in boxes if box.side == side and box.layer is not None]
        first, last = inside[0], inside[-1]
        bottom = at[first.name][1] + SAID[first.kind][2] / 2 + GAP * 0.95
        top = at[last.name][1] - SAID[last.kind][2] / 2 - GAP * 0.4
        found.append(Frame((left, top), (wide, bottom - top), f"{side.title()} × {n}", side == "encoder"))
    return found


def edges(boxes: Sequence[Box], at: Mapping[str, tuple[float, float]], rows: float) -> list[Edge]:
    """Up from box to box, around each sub-layer, and across from the encoder to the decoder."""
    found = []
    for side, x in MIDDLE.items():
        chain = [box for box in boxes if box.side == side]
        low = rows - 1.0
        for number, box in enumerate(chain):
            y, tall = at[box.name][1], SAID[box.kind][2]
            found.append(Edge(((x, low), (x, y + tall / 2))))
            if box.kind == "norm":
                begin, end, beside = low - GAP * 0.4, at[chain[number + 2].name][1], BESIDE[side]
                disc = x + (DISC if side == "decoder" else -DISC)
                found.append(Edge(((x, begin), (beside, begin), (beside, end), (disc, end)), strong=True))
            low = y - tall / 2
        if side == "decoder":
            found.append(Edge(((x, low), (x, low - GAP))))
    x, memory = at["encoder.final"]
    top, cross = memory - SAID["final"][2] / 2, at[next(box.name for box in boxes if box.kind == "cross")][1]
    across = (
        (x, top),
        (x, top - GAP),
        (50.0, top - GAP),
        (50.0, cross),
        (MIDDLE["decoder"] - WIDE / 2, cross),
    )
    return [*found, Edge(across, strong=True)]


def told(box: Box) -> str:
    """A box in words, for a pointer that rests and for screen readers."""
    where = f"{box.side}, L{box.layer}" if box.layer is not None else box.side
    sign = {
        "add": "Sum: input plus output of the sub-layer",
        "position": "Sum: word and position",
        "final": "Last layer norm",
    }.get(box.kind, label(box))
    return f"{sign} ({where})"


def plain(token: str) -> str:
    """A token without the space before it."""
    return token.removeprefix(" ") or token


def counted(boxes: Sequence[Box], chosen: sizes.Sizes) -> dict[str, int]:
    """The parameters of each box for other sizes, by the closed forms; the word table is counted once."""
    d = chosen.d_model
    attention, norm = sizes.attention(d), sizes.norm(d)
    each: dict[str, int] = {"self": attention, "cross": attention, "norm": norm, "final": norm}
    each["ffn"] = sizes.feed_forward(d, chosen.d_ff)
    return {box.name: each.get(box.kind, 0) for box in boxes} | {"encoder.embed": chosen.n_vocab * d}
