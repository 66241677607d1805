"""What every step of the map leaves for its folds: the equations of the box that is shown, every box as a table, lines of Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.analysis.diagram_nodes import Box, tensor_at
from viz.course.exhibit import Folds
from viz.course.shared import sizes
from viz.course.transformer.walk_through import inside
from viz.course.transformer.walk_through.maths import Station
from viz.course.transformer.walk_through.params import Data
from viz.widgets import page_parts


@dataclass(frozen=True, eq=False)
class StepState:
    """What the step showed, for the folds: the box, the row of the decoder, its stations, the sizes of the step that counts."""

    step: int
    layer: int
    box: Box
    row: int
    way: tuple[Station, ...]
    chosen: sizes.Sizes


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


def folds(data: Data, told: StepState, known: bool = True) -> Folds:
    """The equations of the box that is shown, the count of the whole, every box as a table."""
    chosen, by = told.chosen, sizes.counted(told.chosen)

    def counted() -> None:
        page_parts.summary(
            f"N = {chosen.n_layers}, d = {chosen.d_model}, d_ff = {chosen.d_ff}, V = {chosen.n_vocab:,}: encoder layer {sizes.encoder_layer(chosen.d_model, chosen.d_ff):,}, "
            f"decoder layer {sizes.decoder_layer(chosen.d_model, chosen.d_ff):,}, both stacks {sizes.stacks(chosen):,}, with the embedding matrix {sum(by.values()):,}.\n"
            f"The base model of 2017 without its table: {sizes.stacks(sizes.Sizes()):,}, as torch.nn.Transformer() has.\n"
            f"The network that runs, counted: {data.total:,}; the sum over its boxes: {sum(data.counts.values()):,}."
        )

    return Folds(
        lambda: table(data),
        lambda: arrays(data, told),
        {"box": told.box.name, "gives": told.box.gives, "row": told.row},
        known,
        {key: {} for key in EQUATIONS[inside.kind(told.box)]},
        (
            r"V d + N\,(\underbrace{4(d^2+d) + 2 d d_{ff} + d + d_{ff} + 4 d}_{\text{encoder layer}} + \underbrace{8(d^2+d) + 2 d d_{ff} + d + d_{ff} + 6 d}_{\text{decoder layer}}) + 4 d",
        ),
        counted,
    )


def table(data: Data) -> pd.DataFrame:
    """Every box: what it gives, its shape, its parameters; the last row is the network."""
    rows = [
        (
            inside.heading(box),
            box.gives,
            " × ".join(f"{size:,}" for size in tensor_at(data.run, box.gives).shape),
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


def arrays(data: Data, told: StepState) -> dict[str, np.ndarray]:
    """What goes into the box that is shown and what comes out, and the parameters of all."""
    found = {path: tensor_at(data.run, path) for path in (*told.box.reads, told.box.gives)}
    return found | {
        "parameters": np.array(list(data.counts.values())),
        "length": np.array([station.size for station in told.way]),
    }
