"""The trace by itself: what it keeps, what it refuses."""

from __future__ import annotations

import threading

import pytest
import torch

import core
from core.trace import OFF, Recorder, record


def test_off_returns_its_argument_and_its_scope_is_itself():
    value = torch.arange(3)
    assert OFF("x", value, "pos") is value
    assert (OFF / "layer.0" / "self_attn") is OFF


def test_a_path_names_the_call_not_the_module():
    layer = torch.nn.Linear(3, 3).eval()

    def four_calls(x, tap):
        for step in range(4):
            x = (tap / f"step.{step}")("out", layer(x), "batch d_model")
        return x

    out, trace = record(four_calls, torch.ones(2, 3))
    assert trace.names() == [f"step.{step}.out" for step in range(4)]
    assert torch.equal(trace["step.3.out"], out)
    assert trace.stack("step.*.out").shape == (4, 2, 3)


@pytest.mark.parametrize(
    ("body", "keep", "edits", "said"),
    [
        (lambda x, tap: tap("a", x, "batch pos"), ["*"], [], "has 1 axes"),
        (lambda x, tap: tap("a", tap("a", x, "pos"), "pos"), ["*"], [], "tapped twice"),
        (lambda x, tap: tap("a", x, "pos"), ["*.pattern"], [], "met no value"),
        (lambda x, tap: tap("a", x, "pos"), ["*"], [core.edits.Scale("b", 2.0)], "met no value"),
        (
            lambda x, tap: tap("a", x, "pos"),
            ["*"],
            [core.edits.Patch("a", torch.ones(1, dtype=torch.float64))],
            None,
        ),
    ],
)
def test_loud_by_construction(body, keep, edits, said):
    if said is None:
        out, _ = record(body, torch.zeros(3), keep=keep, edits=edits)
        assert out.dtype == torch.float32
        return
    with pytest.raises(ValueError, match=said):
        record(body, torch.zeros(3), keep=keep, edits=edits)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda value: value[:1], r"makes \(1,\) torch.float32 of \(3,\) torch.float32 at 'a'"),
        (lambda value: value.double(), r"makes \(3,\) torch.float64 of \(3,\) torch.float32 at 'a'"),
        (lambda value: value + torch.ones(2), "The function of the edit at 'a' raises RuntimeError"),
    ],
)
def test_an_edit_keeps_shape_and_dtype(change, said):
    with pytest.raises(core.InputError, match=said) as caught:
        record(lambda x, tap: tap("a", x, "pos"), torch.zeros(3), edits=[core.edits.Function("a", change)])
    assert caught.value.rule.count("shape and dtype") == 1 and caught.value.remedy


def test_training_mode_is_refused():
    class Net(torch.nn.Module):
        def forward(self, x, tap=OFF):
            return tap("x", x, "pos")

    with pytest.raises(ValueError, match="training mode"):
        record(Net(), torch.ones(1))


def test_in_place_operations_on_a_named_value_are_caught():
    def careless(x, tap):
        kept = tap("x", x * 1, "pos")
        kept.mul_(2)
        return kept

    _, trace = record(careless, torch.ones(2))
    assert trace.changed_in_place() == ["x"]


def test_two_recorders_on_one_network_never_meet():
    layer = torch.nn.Linear(5, 5).eval()

    def net(x, tap):
        return (tap / "layer.0")("out", layer(x), "batch d_model")

    inputs = [torch.full((1, 5), float(i)) for i in range(8)]
    alone = [record(net, x)[1]["layer.0.out"] for x in inputs]
    seen: dict[int, list[torch.Tensor]] = {i: [] for i in range(8)}

    def work(i):
        edits = [core.edits.Scale("layer.0.out", 3.0)] if i % 2 else []
        for _ in range(50):
            seen[i].append(record(net, inputs[i], edits=edits)[1]["layer.0.out"])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, values in seen.items():
        wanted = alone[i] * 3.0 if i % 2 else alone[i]
        assert len(values) == 50 and all(torch.equal(value, wanted) for value in values)


def test_the_limit_counts_bytes():
    recorder = Recorder(limit=100)
    recorder("a", torch.zeros(10), "pos")
    with pytest.raises(MemoryError):
        recorder("b", torch.zeros(100), "pos")
