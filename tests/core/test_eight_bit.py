"""Weights in 8 bits: how far a number may move, what opens, and what is refused."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_store import parts, tokenizer  # noqa: F401 - a fixture

from core.checkpoints import eight_bit, store
from core.checkpoints.weights import SINGLE
from core.errors import InputError
from core.tools.card_sections import architecture

LARGE = "embed.token.weight"


@pytest.fixture
def folder(tmp_path, tokenizer, monkeypatch):  # noqa: F811 - the fixture above
    monkeypatch.setattr(eight_bit, "SMALLEST", 64)
    return store.save_model(tmp_path / "it", tokenizer=tokenizer, **parts()[1])


def test_no_number_moves_by_more_than_half_a_step_of_its_row():
    torch.manual_seed(0)
    matrix = torch.randn(64, 96) * torch.logspace(-6, 3, 64)[:, None]
    matrix[7] = 0
    kept = eight_bit.packed({"w": matrix})
    again = kept["w"].float() * kept["w.scale"][:, None]
    assert ((again - matrix).abs() <= matrix.abs().amax(1, keepdim=True) / 254 * 1.0001).all()
    largest = matrix.abs().argmax(1)
    rows = torch.arange(64)
    torch.testing.assert_close(again[rows, largest], matrix[rows, largest], rtol=1e-6, atol=0)


def test_a_packed_folder_opens_says_so_and_is_half_as_large(folder, capsys):
    before, halves = store.load_model(folder, "it"), load_file(folder / SINGLE)
    assert eight_bit.main(["it", "--out", str(folder.parent)]) == 0
    told = capsys.readouterr().out
    after, stored = store.load_model(folder, "it"), load_file(folder / SINGLE)
    assert stored[LARGE].dtype == torch.int8 and f"{(folder / SINGLE).stat().st_size:,} after" in told
    sizes = {name: value.numel() for name, value in stored.items() if value.dtype == torch.int8}
    assert len(sizes) > 5 and all(size == halves[name].numel() for name, size in sizes.items())
    assert after.n_parameters == before.n_parameters
    assert "8 bits with a scale a row" in architecture(folder) and f"{after.n_parameters:,}" in architecture(
        folder
    )
    for (name, one), other in zip(
        before.network.state_dict().items(), after.network.state_dict().values(), strict=True
    ):
        bound = one.abs().amax(-1, keepdim=True) / 254 * 1.0001 if name in sizes else 0
        assert ((one - other).abs() <= bound).all(), name
    assert not torch.equal(before.network.state_dict()[LARGE], after.network.state_dict()[LARGE])
    assert eight_bit.main(["it", "--out", str(folder.parent)]) == 2
    assert "in 8 bits already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held.pop(f"{LARGE}.scale"), f"'{LARGE}' is stored as I8"),
        (lambda held: held.update({f"{LARGE}.scale": torch.ones(3)}), "left over: " + LARGE + r"\.scale"),
        (lambda held: held[f"{LARGE}.scale"].fill_(float("nan")), f"'{LARGE}' is NaN or infinite at"),
        (
            lambda held: held.update({f"{LARGE}.scale": torch.ones(len(held[LARGE]), dtype=torch.int32)}),
            "left over: " + LARGE + r"\.scale",
        ),
    ],
)
def test_a_scale_that_is_missing_misshapen_or_no_number_is_refused(folder, change, said):
    eight_bit.pack(folder)
    held = load_file(folder / SINGLE)
    change(held)
    save_file(held, folder / SINGLE, metadata={"format": "pt"})
    with pytest.raises(InputError, match=said):
        store.load_model(folder, "it")
