"""Claims of the exhibit on the encoder about its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from viz.course.shared import sizes
from viz.course.transformer.encoder import maths, steps
from viz.course.transformer.encoder.maths import Data
from viz.course.transformer.encoder.params import Params

Promises = Mapping[str, Callable[[Params, Data], bool]]


def drawn_together(params: Params, data: Data) -> bool:
    """Return whether the word of the question has another nearest word after the layers, much nearer than before."""
    first, last = maths.cosines(data.states[0]), maths.cosines(data.states[-1])
    word = steps.drawn_to(first, last, steps.word_positions(data))
    before, after = (steps.nearest(cosines, word) for cosines in (first, last))
    lead = np.sort(np.delete(last[word], word))
    return (
        before != after
        and last[word, after] - first[word, after] >= 0.3
        and lead[-1] - lead[-2] >= 0.02
        and after in steps.word_positions(data)
    )


def adds_up(params: Params, data: Data) -> bool:
    """Return whether word and attention make the recorded sum, in every layer."""
    for layer in range(len(data.states) - 1):
        by = {stage.name: stage.vector for stage in maths.stages(data.run, layer, steps.example_word(data))}
        if np.abs(by["x, the word"] + by["attention"] - by["x + attention"]).max() > 1e-4:
            return False
    return True


GUESS: Promises = {"the nearest word is another one than before, and nearer by 0.3 and more": drawn_together}
LAYER: Promises = {"word and attention make the recorded sum": adds_up}
STACK: Promises = {
    "a plain loop over the layers gives the run": lambda params, data: data.off < 1e-4,
    "words leave what they were: their cosine with themselves falls": lambda params, data: bool(
        data.depth.with_input[-1].mean() < data.depth.with_input[1].mean() - 0.1
    ),
}
MAPS: Promises = {
    "heads attend differently, by nine tenths and more at one pair of words": lambda params, data: bool(
        np.ptp(data.weights, axis=1).max() >= 0.9
    ),
}
DEPTH: Promises = {
    "words keep less of themselves from layer to layer, and become more alike": lambda params, data: bool(
        data.depth.with_input[-1].mean() < data.depth.with_input[1].mean() - 0.2
        and data.depth.others[-1].mean() > data.depth.others[0].mean() + 0.2
    ),
}
COUNT: Promises = {
    "the formula gives what is counted in the network": lambda params, data: (
        sum(maths.count_parameters(data.run.model).values())
        == sizes.encoder_layer(data.run.model.config.d_model, data.run.model.config.d_ff)
    ),
}
