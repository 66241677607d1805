"""ELMo's way of reading, in small: two stacks of LSTM cells, one from each end, that meet only at the top.

Peters et al. 2018: h_i = [forward_i ; backward_i]. These are chains of our own cells with random weights, not the trained
model of the family elmo. Which input can move which output does not depend on what a chain has learned, but on how it is built.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from core.layers.recurrent import LSTMCell, unroll

Array = np.ndarray
WIDTH, LAYERS, DRAW = 16, 2, 7
SIDES = ("from the left", "from the right", "both, joined")


def chain(*, backward: bool, draw: int = DRAW) -> nn.ModuleList:
    """Return a stack of cells with random weights; the same `draw` gives the same ones."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw + backward)
        cells = [LSTMCell(WIDTH, WIDTH) for _ in range(LAYERS)]
        for cell in cells:
            nn.init.normal_(cell.from_input.weight, std=WIDTH**-0.5)
            cell.initialise()
    return nn.ModuleList(cells)


def top_states(cells: nn.ModuleList, x: Tensor, *, backward: bool) -> Tensor:
    """Return the states of the top layer: x (1 pos width) -> (pos width)."""
    real = torch.ones(x.shape[:2], dtype=torch.bool)
    for cell in cells:
        x = unroll(cell, x, real, backward=backward)  # pyright: ignore[reportArgumentType]
    return x[0]


def influence(n: int, draw: int = DRAW) -> dict[str, Array]:
    """Return how much each output moves when one input vector is moved: (output, input) for each chain and for both joined.

    |h'_i - h_i| / |h_i|; where no change arrives, exactly 0.

    >>> {name: (moved > 0).astype(int).tolist() for name, moved in influence(2).items()}
    {'from the left': [[1, 0], [1, 1]], 'from the right': [[1, 1], [0, 1]], 'both, joined': [[1, 1], [1, 1]]}
    """
    draws = torch.Generator().manual_seed(draw)
    x, push = torch.randn(1, n, WIDTH, generator=draws), torch.randn(WIDTH, generator=draws)
    changes = {name: np.zeros((n, n)) for name in SIDES}
    with torch.no_grad():
        chains = [(chain(backward=side, draw=draw), side) for side in (False, True)]
        before = [top_states(cells, x, backward=side) for cells, side in chains]
        for place in range(n):
            pushed = x.clone()
            pushed[0, place] += push
            after = [top_states(cells, pushed, backward=side) for cells, side in chains]
            for name, one, other in zip(
                SIDES, (*before, torch.cat(before, -1)), (*after, torch.cat(after, -1)), strict=True
            ):
                changes[name][:, place] = ((other - one).norm(dim=-1) / one.norm(dim=-1)).numpy()
    return changes
