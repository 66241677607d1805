"""Our Muon moves weights as torch's does."""

from __future__ import annotations

import torch

from core.training.loop.muon import Muon, orthogonal

SHAPES = ((6, 6), (12, 6), (6, 6), (6, 12), (12, 6))


def moved(kind: type[torch.optim.Muon]) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(shape, generator=rng)) for shape in SHAPES]
    optim = kind(
        [*weights, torch.nn.Parameter(torch.ones(2, 2))],
        lr=0.05,
        momentum=0.9,
        weight_decay=0.1,
        nesterov=True,
    )
    for _ in range(4):
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=rng)
        optim.step()
    return [weight.detach() for weight in weights]


def test_the_same_steps_as_one_by_one():
    for ours, theirs, before in zip(moved(Muon), moved(torch.optim.Muon), SHAPES, strict=True):
        assert ours.shape == before
        assert (ours - theirs).abs().max() < 0.004  # a step is 0.05 long; bfloat16 has 8 bits


def test_orthogonal_matrices_have_singular_values_near_one():
    found = torch.linalg.svdvals(
        orthogonal(
            torch.randn(3, 20, 8, generator=torch.Generator().manual_seed(1)),
            (3.4445, -4.775, 2.0315),
            5,
            1e-7,
        ).float()
    )
    assert found.min() > 0.6 and found.max() < 1.3


def test_it_is_saved_and_read_as_torchs():
    weight = torch.nn.Parameter(torch.ones(3, 3))
    weight.grad = torch.eye(3)
    optim = Muon([weight], lr=0.1)
    optim.step()
    again = torch.optim.Muon([weight], lr=0.1)
    again.load_state_dict(optim.state_dict())
    assert torch.equal(again.state[weight]["momentum_buffer"], optim.state[weight]["momentum_buffer"])
