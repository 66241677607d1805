"""The folds of the map: equations, what is seen, documents, every box as a table, lines of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.diagram_nodes import value
from viz.course.shared.maths import sizes
from viz.course.transformer.walk_through import box as of
from viz.widgets import lesson, parts

EQUATIONS = {
    "embed": ("positions.add",), "position": ("positions.sinusoid", "positions.add"), "norm": ("norm.apply", "norm.mean", "norm.deviation"),
    "final": ("norm.apply", "norm.mean", "norm.deviation"), "self": ("self.matrix",), "masked": ("masked.matrix", "masked.mask"), "cross": ("cross.matrix",),
    "add": ("residual.first", "ffn.residual"), "ffn": ("ffn.inside",), "linear": ("output.softmax",), "softmax": ("output.softmax",),
}  # fmt: skip
LOOKING = (
    "The map is Vaswani's figure, drawn as the network here is built. The small picture in a box is real: the weights of attention (from 0 to 1, the mean of the heads), or "
    "the tensor that leaves the box (blue above 0, orange below, white 0). A row is a word, a column one of its d numbers. Thick lines pass the word on unchanged (residual connections): around "
    "each sub-layer to its sum, and from the encoder to every cross-attention. One layer of each stack is shown; the layer is chosen at the third step."
)
ORDER = (
    "The figure of the paper has the norm after each sum; this network has it before each sub-layer and once more above each stack, which trains more easily. "
    "Shifted right means one position, START first: the target itself never stands where it is to be written."
)


def show(info: Any, params: Any, data: Any, told: Any) -> None:
    """The five usual folds."""
    with parts.fold(parts.EQUATION, "walk_through.equation") as opened:
        if opened.open:
            _equation(data, told)
    with parts.fold(parts.LOOKING, "walk_through.looking") as opened:
        if opened.open:
            st.markdown(LOOKING)
    parts.documents(info, _documents)
    parts.as_table(lambda: table(data), "walk_through")
    parts.take_away(lambda: arrays(data, told), code(params, told), key="walk_through")


def _documents() -> None:
    st.markdown(ORDER)
    lesson.errata("E16", "E10", "E50")


def _equation(data: Any, told: Any) -> None:
    """The equations of the box that is shown, and the count of the whole."""
    for key in EQUATIONS[of.kind(told.box)]:
        lesson.equation(key, "walk_through")
    chosen, by = told.chosen, sizes.counted(told.chosen)
    parts.equation(r"V d + N\,(\underbrace{4(d^2+d) + 2 d d_{ff} + d + d_{ff} + 4 d}_{\text{encoder layer}} + \underbrace{8(d^2+d) + 2 d d_{ff} + d + d_{ff} + 6 d}_{\text{decoder layer}}) + 4 d")
    parts.numbers(
        f"N = {chosen.n_layers}, d = {chosen.d_model}, d_ff = {chosen.d_ff}, V = {chosen.n_vocab:,}: encoder layer {sizes.encoder_layer(chosen.d_model, chosen.d_ff):,}, "
        f"decoder layer {sizes.decoder_layer(chosen.d_model, chosen.d_ff):,}, both stacks {sizes.stacks(chosen):,}, with the embedding matrix {sum(by.values()):,}.\n"
        f"The base model of 2017 without its table: {sizes.stacks(sizes.Sizes()):,}, as torch.nn.Transformer() has.\n"
        f"The network that runs, counted: {data.total:,}; the sum over its boxes: {sum(data.counts.values()):,}."
    )


def table(data: Any) -> pd.DataFrame:
    """Every box: what it gives, its shape, its parameters; the last row is the network."""
    rows = [(of.heading(box), box.gives, " × ".join(f"{size:,}" for size in value(data.run, box.gives).shape), data.counts[box.name]) for box in data.boxes]
    frame = pd.DataFrame([*rows, ("all boxes", "", "", sum(data.counts.values())), ("the network, counted", "", "", data.total)], columns=["box", "gives", "shape", "parameters"])
    return frame.set_index("box")


def arrays(data: Any, told: Any) -> dict[str, np.ndarray]:
    """What goes into the box that is shown and what comes out, and the parameters of all."""
    found = {path: value(data.run, path) for path in (*told.box.reads, told.box.gives)}
    return found | {"parameters": np.array(list(data.counts.values())), "length": np.array([station.size for station in told.way])}


def code(params: Any, told: Any) -> str:
    """Lines that make the numbers again."""
    return (
        f"import core\nfrom core.analysis.diagram_nodes import boxes, parameters, value\nfrom viz.course.transformer.walk_through.maths import journey\n\nmodel = core.open_model('translator-en-es')\n"
        f"run = model.run({params.text!r})\nbox = next(box for box in boxes(model) if box.name == {told.box.name!r})\n"
        f"out = value(run, {told.box.gives!r})\nprint(out.shape, parameters(model, box), sum(parameters(model, each) for each in boxes(model)))\n"
        f"way = journey(run, {told.row})\nprint([round(station.size, 2) for station in way])"
    )
