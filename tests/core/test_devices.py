"""Runs on another device: the same values, in the processor's memory again; the other device here is the cpu under another name."""

from __future__ import annotations

import numpy as np
import pytest

import core
from core.edits import Patch, ZeroHead
from core.errors import InputError

THERE = "cpu:0"


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", ["translator-en-es", "bert-mini", "gpt-mini"])
def test_a_run_on_a_device_has_the_values_of_a_run_on_the_cpu(name):
    model = core.open_model(name)
    text = "The animal was [MASK]." if name == "bert-mini" else "The animal was tired."
    plain = model.run(text)
    where = plain.trace.names("*.heads")[0]
    for edits in ((), (ZeroHead(where, 1), Patch(where, plain.trace[where]))):
        plain, there = model.run(text, edits=edits), model.run(text, edits=edits, device=THERE)
        assert [*plain.trace] == [*there.trace] and plain.target_text == there.target_text
        for path in plain.trace:
            np.testing.assert_array_equal(plain.trace[path], there.trace[path])
        np.testing.assert_array_equal(plain.logits, there.logits)


def test_gradients_come_back_from_a_device():
    model = core.open_model("gpt-mini")
    plain, there = (
        model.run("The animal was tired.", grad=lambda logits: logits[-1, 7], device=device)
        for device in ("cpu", THERE)
    )
    for path in plain.trace.names("*.pattern"):
        np.testing.assert_allclose(plain.trace.grad(path), there.trace.grad(path), atol=1e-7)


@pytest.mark.parametrize("device", ["typewriter", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(InputError, match=device):
        core.open_model("gpt-mini").run("a", device=device)


def test_what_is_read_on_stays_on_the_cpu():
    with pytest.raises(InputError, match="reads_on"):
        core.open_model("gpt-mini").run("a", reads_on=True, device=THERE)
