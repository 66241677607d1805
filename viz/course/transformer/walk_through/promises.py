"""Claims of the map of the Transformer about its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from core.analysis.diagram_nodes import tensor_at
from viz.course.shared import sizes
from viz.course.transformer.walk_through import steps
from viz.course.transformer.walk_through.maths import journey, name
from viz.course.transformer.walk_through.params import Data, Params

Promises = Mapping[str, Callable[[Params, Data], bool]]


def chances(data: Data) -> np.ndarray:
    """Return the largest probabilities at the position that the question is about, the largest first."""
    return np.sort(tensor_at(data.run, "probabilities")[steps.telling(data)])[::-1]


def arrives(params: Params, data: Data) -> bool:
    """Return whether the walk of every written word ends in that word."""
    written = data.run.side.next_tokens().tokens
    return all(
        (end := journey(data.run, row)[-1].guess) is not None and end[0] == word.removeprefix(" ")
        for row, word in enumerate(written)
    )


def largest(data: Data) -> list[int]:
    """Return the numbers of parameters of the parts of the network, the largest first."""
    return sorted(sizes.parameter_counts(steps.sizes_of(data)).values(), reverse=True)


GUESS: Promises = {
    "one word comes next by far: seven in ten and more, no other above a quarter": lambda params, data: bool(
        chances(data)[0] >= 0.7 and chances(data)[1] <= 0.25
    ),
}
FEED: Promises = {
    "the decoder reads what it wrote, one position later": lambda params, data: (
        [name(data.run, row) for row in tensor_at(data.run, "probabilities").argmax(1)][:-1]
        == [token.removeprefix(" ") for token in data.run.tokens[1:]]
    ),
}
OPEN: Promises = {
    "the boxes together hold every parameter": lambda params, data: sum(data.counts.values()) == data.total,
}
COUNT: Promises = {
    "the sizes give the parameters of the network that runs": lambda params, data: (
        sum(largest(data)) == data.total
    ),
    "one part has more than any other, by a tenth": lambda params, data: (
        largest(data)[0] > 1.1 * largest(data)[1]
    ),
}
WALK: Promises = {"every way ends in the word that is written": arrives}
