"""What a step of the map has open: the box, the layer, the word on its way; the map that is touched, and the
folds of what is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from streamlit.delta_generator import DeltaGenerator

from core.analysis.boxes import Box, value
from viz.course.lesson import Folds
from viz.course.shared import transformer_map
from viz.course.shared.maths import sizes
from viz.course.transformer.walk_through import inside
from viz.course.transformer.walk_through.maths import Data, Station, journey
from viz.course.transformer.walk_through.params import Params
from viz.instruments import diagram
from viz.instruments.diagram.diagram import picked
from viz.shell import state
from viz.widgets import lesson, parts

SLUG = "walk_through."
MAP = f"{SLUG}map"
EQUATIONS = {
    "embed": ("positions.add",),
    "position": ("positions.sinusoid", "positions.add"),
    "norm": ("norm.apply", "norm.mean", "norm.deviation"),
    "final": ("norm.apply", "norm.mean", "norm.deviation"),
    "self": ("self.matrix",),
    "masked": ("masked.matrix", "masked.mask"),
    "cross": ("cross.matrix",),
    "add": ("residual.first", "ffn.residual"),
    "ffn": ("ffn.inside",),
    "linear": ("output.softmax",),
    "softmax": ("output.softmax",),
}


@dataclass(frozen=True, eq=False)
class Seen:
    """What is open: the layer, the box, the row of the decoder, its stations, the sizes that are counted."""

    layer: int
    box: Box
    row: int
    way: tuple[Station, ...]
    chosen: sizes.Sizes


def telling(data: Data) -> int:
    """The row to ask about: the written word whose second choice is the most probable; never END or a
    sign."""
    chances, written = value(data.run, "probabilities"), data.run.side.written().tokens
    rows = [
        row
        for row in range(len(written))
        if any(letter.isalpha() for letter in written[row]) and written[row] != "END"
    ] or [0]
    return max(rows, key=lambda row: float(np.sort(chances[row])[-2]))


def seen(data: Data, opens: str, row: int | None = None) -> Seen:
    """The box and the layer of the link; `opens` is the box without one, `row` the telling one."""
    layer = state.read("layer", 0, state.whole(0, data.run.model.config.n_layers - 1))
    roles = tuple(dict.fromkeys(map(transformer_map.role, data.boxes)))
    role = state.read(f"{SLUG}box", opens, state.one_of(roles))
    box = next(box for box in transformer_map.shown(data.boxes, layer) if transformer_map.role(box) == role)
    row = telling(data) if row is None else row
    return Seen(layer, box, row, journey(data.run, row), data.sizes)


def draw(
    seen: Seen,
    data: Data,
    place: DeltaGenerator,
    touch: Callable[[str], Mapping[str, Any]],
    *,
    lit: bool = True,
    **options: Any,
) -> None:
    """The map; `touch` says of a touched box what is chosen by it. Not `lit`: no box stands out."""
    here = transformer_map.plan(data.run, data.boxes, seen.layer, **options)
    names = [node.name for node in here["nodes"]]

    def touched() -> None:
        role = picked(MAP, names)
        if role is not None:
            state.write(**touch(role))

    selected = transformer_map.role(seen.box) if lit else ""
    with place:
        diagram(**here, key=MAP, on_pick=touched, selected=selected, row=27 if lesson.presenting() else 30)


def folds(params: Params, data: Data, seen: Seen, known: bool = True) -> Folds:
    """The equations of the box that is open, the count of the whole, every box as a table."""
    return Folds(
        lambda: table(data),
        lambda: arrays(data, seen),
        code(params, seen),
        known,
        {key: {} for key in EQUATIONS[inside.kind(seen.box)]},
        (
            r"V d + N\,(\underbrace{4(d^2+d) + 2 d d_{ff} + d + d_{ff} + 4 d}_{\text{encoder layer}} + "
            r"\underbrace{8(d^2+d) + 2 d d_{ff} + d + d_{ff} + 6 d}_{\text{decoder layer}}) + 4 d",
        ),
        lambda: _counted(data, seen.chosen),
    )


def _counted(data: Data, chosen: sizes.Sizes) -> None:
    by = sizes.counted(chosen)
    parts.numbers(
        f"N = {chosen.n_layers}, d = {chosen.d_model}, d_ff = {chosen.d_ff}, V = {chosen.n_vocab:,}: "
        f"encoder layer {sizes.encoder_layer(chosen.d_model, chosen.d_ff):,}, decoder layer "
        f"{sizes.decoder_layer(chosen.d_model, chosen.d_ff):,}, both stacks {sizes.stacks(chosen):,}, with "
        f"the embedding matrix {sum(by.values()):,}.\n"
        f"The base model of 2017 without its table: {sizes.stacks(sizes.Sizes()):,}, as "
        f"torch.nn.Transformer() has.\nThe network that runs, counted: {data.total:,}; the sum over its "
        f"boxes: {sum(data.counts.values()):,}."
    )


def table(data: Data) -> pd.DataFrame:
    """Every box: what it gives, its shape, its parameters; the last row is the network."""
    rows = [
        (
            inside.heading(box),
            box.gives,
            " × ".join(f"{size:,}" for size in value(data.run, box.gives).shape),
            data.counts[box.name],
        )
        for box in data.boxes
    ]
    frame = pd.DataFrame(
        [
            *rows,
            ("all boxes", "", "", sum(data.counts.values())),
            ("the network, counted", "", "", data.total),
        ],
        columns=["box", "gives", "shape", "parameters"],
    )
    return frame.set_index("box")


def arrays(data: Data, seen: Seen) -> dict[str, np.ndarray]:
    """What goes into the box that is shown and what comes out, and the parameters of all."""
    found = {path: value(data.run, path) for path in (*seen.box.reads, seen.box.gives)}
    return found | {
        "parameters": np.array(list(data.counts.values())),
        "length": np.array([station.size for station in seen.way]),
    }


def code(params: Params, seen: Seen) -> str:
    """Lines that make the numbers again."""
    return (
        "import core\nfrom core.analysis.boxes import boxes, parameters, value\n"
        "from viz.course.transformer.walk_through.maths import journey\n\n"
        f"model = core.open_model('translator-en-es')\nrun = model.run({params.text!r})\n"
        f"box = next(box for box in boxes(model) if box.name == {seen.box.name!r})\n"
        f"out = value(run, {seen.box.gives!r})\nprint(out.shape, parameters(model, box), "
        f"sum(parameters(model, each) for each in boxes(model)))\nway = journey(run, {seen.row})\n"
        "print([round(station.size, 2) for station in way])"
    )
