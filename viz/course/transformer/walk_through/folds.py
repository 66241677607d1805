"""Folds of every step of the map: the equations of the selected box, a table of all boxes, Python code."""

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
    """State of a step for its folds: the box, the row of the decoder, its stations, the sizes of the counting step."""

    step: int
    layer: int
    box: Box
    row: int
    way: tuple[Station, ...]
    sizes: sizes.Sizes


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


def folds(data: Data, step: StepState, revealed: bool = True) -> Folds:
    """Return the folds: the equations of the selected box, the parameters of the whole, a table of all boxes."""
    chosen, by = step.sizes, sizes.parameter_counts(step.sizes)

    def counted() -> None:
        page_parts.summary(
            f"N = {chosen.n_layers}, d = {chosen.d_model}, d_ff = {chosen.d_ff}, V = {chosen.n_vocab:,}: encoder layer {sizes.encoder_layer(chosen.d_model, chosen.d_ff):,}, "
            f"decoder layer {sizes.decoder_layer(chosen.d_model, chosen.d_ff):,}, both stacks {sizes.stacks(chosen):,}, with the embedding matrix {sum(by.values()):,}.\n"
            f"The base model of 2017 without its table: {sizes.stacks(sizes.Sizes()):,}, as torch.nn.Transformer() has.\n"
            f"The network that runs, counted: {data.total:,}; the sum over its boxes: {sum(data.counts.values()):,}."
        )

    return Folds(
        lambda: table(data),
        lambda: arrays(data, step),
        {"box": step.box.name, "gives": step.box.gives, "row": step.row},
        revealed,
        {key: {} for key in EQUATIONS[inside.kind(step.box)]},
        (
            r"V d + N\,(\underbrace{4(d^2+d) + 2 d d_{ff} + d + d_{ff} + 4 d}_{\text{encoder layer}} + \underbrace{8(d^2+d) + 2 d d_{ff} + d + d_{ff} + 6 d}_{\text{decoder layer}}) + 4 d",
        ),
        counted,
    )


def table(data: Data) -> pd.DataFrame:
    """Return a table of every box: its output, its shape, its parameters; the last row is the network."""
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


def arrays(data: Data, step: StepState) -> dict[str, np.ndarray]:
    """Return the input and output of the selected box, and the parameters of all boxes."""
    found = {path: tensor_at(data.run, path) for path in (*step.box.reads, step.box.gives)}
    return found | {
        "parameters": np.array(list(data.counts.values())),
        "length": np.array([station.size for station in step.way]),
    }
