"""Figure of the Transformer, drawn from this network: the position and label of each box, and the arrows between boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.analysis.diagram_nodes import Box, tensor_at
from viz.course.shared import sizes
from viz.instruments.diagram.diagram import Edge, Frame, Node, Text
from viz.number_text import with_unit

BOX_STYLES = {  # label, hue, rows high
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
BYPASS_X = {"encoder": 7.0, "decoder": 93.0}
DISC = 2.4
DISCS = ("add", "position")


def label(box: Box) -> str:
    """Return the label inside the box."""
    return (
        "Masked self-attention" if box.kind == "self" and box.side == "decoder" else BOX_STYLES[box.kind][0]
    )


def role(box: Box) -> str:
    """Return the box's name without its layer, as the link has it: "encoder.self"."""
    return box.name if box.layer is None else box.name.replace(f".{box.layer}.", ".", 1)


def layer_boxes(boxes: Sequence[Box], layer: int) -> list[Box]:
    """Return the boxes of one plan: those outside the stacks and those of one layer of each."""
    return [box for box in boxes if box.layer in (None, layer)]


def places(boxes: Sequence[Box]) -> tuple[dict[str, tuple[float, float]], float]:
    """Return the middle of each box (percent, rows from the top), and the number of rows; both columns begin at the bottom."""
    found: dict[str, tuple[float, float]] = {}
    tops = {}
    for side in MIDDLE:
        height = 1.0 + GAP
        for box in (box for box in boxes if box.side == side):
            tall = BOX_STYLES[box.kind][2]
            found[box.name] = MIDDLE[side], height + tall / 2
            height += tall + GAP
        tops[side] = height
    rows = tops["decoder"] + 1.0
    return {name: (x, rows - y) for name, (x, y) in found.items()}, rows


def picture(run: Any, box: Box, upto: int | None) -> tuple[Any, bool]:
    """Return the small picture in a box and whether it is centred on 0: the mean weights of attention, else the tensor that leaves the
    box.
    """
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
    """Build all arguments of `diagram`: nodes, edges, frames, words. `upto`: number of decoder rows to show. `counts`: numbers by box,
    in place of pictures.
    """
    here = layer_boxes(boxes, layer)
    at, rows = places(here)
    nodes = []
    for box in here:
        small, centred = picture(run, box, upto) if pictures and counts is None else (None, True)
        name = label(box)
        if counts is not None and counts[box.name]:
            name = f"{name.replace('self-attention', 'self-att.')} {with_unit(counts[box.name])}"
        _, hue, tall = BOX_STYLES[box.kind]
        disc = box.kind in DISCS
        nodes.append(
            Node(role(box), name, at[box.name], (WIDE, tall), hue, box_description(box), disc, small, centred)
        )
    n = times or run.model.config.n_layers
    words, read = map(without_space, run.source.tokens), [without_space(token) for token in run.tokens][:upto]
    written = [without_space(token) for token in run.side.next_tokens().tokens][: len(read)]
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


def frames(boxes: Sequence[Box], centres: Mapping[str, tuple[float, float]], n: int) -> list[Frame]:
    """Build one frame around the layer of each stack."""
    found = []
    for side, (left, wide) in FRAME.items():
        inside = [box for box in boxes if box.side == side and box.layer is not None]
        first, last = inside[0], inside[-1]
        bottom = centres[first.name][1] + BOX_STYLES[first.kind][2] / 2 + GAP * 0.95
        top = centres[last.name][1] - BOX_STYLES[last.kind][2] / 2 - GAP * 0.4
        found.append(Frame((left, top), (wide, bottom - top), f"{side.title()} × {n}", side == "encoder"))
    return found


def edges(boxes: Sequence[Box], centres: Mapping[str, tuple[float, float]], rows: float) -> list[Edge]:
    """Build the arrows: up from box to box, around each sub-layer, and across from the encoder to the decoder."""
    found = []
    for side, x in MIDDLE.items():
        chain = [box for box in boxes if box.side == side]
        low = rows - 1.0
        for number, box in enumerate(chain):
            y, tall = centres[box.name][1], BOX_STYLES[box.kind][2]
            found.append(Edge(((x, low), (x, y + tall / 2))))
            if box.kind == "norm":
                begin, end, beside = low - GAP * 0.4, centres[chain[number + 2].name][1], BYPASS_X[side]
                disc = x + (DISC if side == "decoder" else -DISC)
                found.append(Edge(((x, begin), (beside, begin), (beside, end), (disc, end)), strong=True))
            low = y - tall / 2
        if side == "decoder":
            found.append(Edge(((x, low), (x, low - GAP))))
    x, memory = centres["encoder.final"]
    top, cross = (
        memory - BOX_STYLES["final"][2] / 2,
        centres[next(box.name for box in boxes if box.kind == "cross")][1],
    )
    across = (
        (x, top),
        (x, top - GAP),
        (50.0, top - GAP),
        (50.0, cross),
        (MIDDLE["decoder"] - WIDE / 2, cross),
    )
    return [*found, Edge(across, strong=True)]


def box_description(box: Box) -> str:
    """Describe a box, for a tooltip and for screen readers."""
    where = f"{box.side}, L{box.layer}" if box.layer is not None else box.side
    sign = {
        "add": "Sum: input plus output of the sub-layer",
        "position": "Sum: word and position",
        "final": "Last layer norm",
    }.get(box.kind, label(box))
    return f"{sign} ({where})"


def without_space(token: str) -> str:
    """Return the token without the space before it."""
    return token.removeprefix(" ") or token


def parameter_counts(boxes: Sequence[Box], size: sizes.Sizes) -> dict[str, int]:
    """Count the parameters of each box for other sizes, by the closed forms; the embedding matrix is counted once."""
    d = size.d_model
    attention, norm = sizes.attention(d), sizes.norm(d)
    each: dict[str, int] = {"self": attention, "cross": attention, "norm": norm, "final": norm}
    each["ffn"] = sizes.feed_forward(d, size.d_ff)
    return {box.name: each.get(box.kind, 0) for box in boxes} | {"encoder.embed": size.n_vocab * d}
