"""Long texts: processor seconds in Python from the end of the forward to the packet of the grid. `pytest -m bench -s`.

Memory that a virtual machine never used before costs its host about 2 s a gigabyte at the first touch, whoever asks for
it; so the bench touches as much as the largest run takes first, and lets it go again.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

import core
from core.models import families
from core.models.gpt import GPTConfig
from tests.bench.measuring import judge
from viz.instruments.grid.grid import grid_packet
from viz.workspace.look.tiles import measures

pytestmark = pytest.mark.bench

BUDGET = 2.0
TOUCHED = 2 * 2**30
TEXT = "Once upon a time there was an old man who lived with his wife in a small house near the sea. " * 60


def model_of(shape: str) -> core.Model:
    """gpt-mini as it is shipped, or a model of GPT-2 small's shape with its tokens and random weights."""
    mini = core.open_model("gpt-mini")
    if shape == "gpt-mini":
        return mini
    torch.manual_seed(0)
    config = GPTConfig(n_vocab=mini.config.n_vocab)
    return replace(mini, name=shape, config=config, network=families()["gpt"].network(config), card="")


@pytest.mark.parametrize(("shape", "n"), [("gpt-mini", 512), ("gpt2-small", 512), ("gpt2-small", 1024)])
def test_the_grid_is_ready_soon_after_the_forward(shape, n):
    model = model_of(shape)
    run = model.run(TEXT[: model.tokenizer.encode(TEXT).spans[n - 1][1]], keep=("*.pattern",))
    assert len(run.ids) == n
    np.ones(TOUCHED // 8).sum()
    begun = time.thread_time()
    attention = run.attention("causal", by="word")
    packet = grid_packet(attention.weights, measures=measures(attention), allowed=attention.allowed[0, 0])
    took, size = time.thread_time() - begun, len(packet.to_bytes())
    beside = f"the run holds {run.nbytes / 2**20:.0f} MB"
    judge(f"{shape}, {n} tokens: the grid after the forward", took, BUDGET, "s of the processor", beside)
    judge("its packet", size / 1024, 210, "KB")
