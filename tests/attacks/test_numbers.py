"""Finite weights that make numbers which are not: said at once, and nothing is told or drawn of them."""

from __future__ import annotations

import pytest
import torch
from crafting import good_folder, good_weights
from safetensors.torch import save_file

from core.checkpoints import find, open_model
from core.errors import InputError
from core.serving.engine import Engine


def with_weights(folder, change):
    """A good folder whose weights went through `change`."""
    weights = good_weights()
    change(weights)
    save_file(weights, good_folder(folder, weights=False) / "model.safetensors")
    return folder


def times(name, factor):
    return lambda weights: weights[f"transformer.{name}"].mul_(factor)


HUGE = {
    "values in the stream": times("h.0.attn.c_proj.weight", 1e38),
    "queries": times("h.1.attn.c_attn.weight", 1e30),
    "the last gain": times("ln_f.weight", 3e38),
    "logits": lambda weights: (times("ln_f.weight", 1e30)(weights), times("wte.weight", 1e12)(weights)),
}


@pytest.mark.parametrize("case", HUGE)
def test_huge_weights_are_refused_at_opening(refused, tmp_path, case):
    refused(with_weights(tmp_path / "model", HUGE[case]), "NaN or infinite", before_reading=False)


def test_the_list_says_so_once_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.setenv(find.VARIABLE, str(tmp_path))
    with_weights(tmp_path / "huge", HUGE["queries"])
    with Engine() as engine:
        with pytest.raises(InputError, match="NaN or infinite"):
            engine.open("huge")
        entry = next(entry for entry in engine.models() if entry.name == "huge")
    assert not entry.ok
    assert "NaN or infinite" in entry.problem


def test_a_trained_model_is_not_suspected():
    assert torch.isfinite(torch.tensor(open_model("gpt-mini").run("The cat").logits)).all()
