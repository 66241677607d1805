"""A small good folder to damage, safetensors written byte by byte, and what every refusal must be like."""

from __future__ import annotations

import json
import resource
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from core.checkpoints import open_model
from core.checkpoints.foreign import formats
from core.errors import InputError
from core.models.gpt import GPTConfig
from core.text.learn import learn_byte_level_bpe

CONFIG = {
    "model_type": "gpt2",
    "n_layer": 2,
    "n_head": 3,
    "n_embd": 33,
    "n_inner": 13,
    "n_positions": 17,
    "vocab_size": 277,
    "eos_token_id": 0,
    "activation_function": "gelu_new",
}
SHAPE = GPTConfig(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=277, n_ctx=17)


def good_weights() -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return {
        f"transformer.{take.name}": torch.randn(take.shape, generator=draw)
        for take in formats()["gpt2"].takes(SHAPE)
    }


def good_folder(folder: Path, *, weights: bool = True, config: Any = CONFIG, tokenizer: bool = True) -> Path:
    """A model in Hugging Face format that opens, or parts of it."""
    folder.mkdir(parents=True, exist_ok=True)
    if weights:
        save_file(good_weights(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if tokenizer:
        good_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def good_tokenizer():
    return learn_byte_level_bpe(
        ["the animal did not cross the street", "because it was too tired"] * 3, 277, ["<|endoftext|>"]
    )


def packed(header: Any, data: bytes = b"", *, length: int | None = None) -> bytes:
    """A safetensors file of this header (an object, or bytes as they are) and this data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(shape: list[Any], begin: int, end: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


class Refusal:
    """Opens a folder that must be refused: three parts, in time, without memory, without this machine's paths."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
        self._patch, self._place = monkeypatch, place

    def __call__(self, folder: Path | str, *words: str, before_reading: bool = True) -> InputError:
        if before_reading:
            self._patch.setattr("core.checkpoints.load.build", self._unread)
        peak, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        with pytest.raises(InputError) as caught:
            open_model(folder)
        taken = time.perf_counter() - begun
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
        error = caught.value
        assert all(
            part.rstrip()[-1] in ".?" and len(part) > 5 for part in (error.wrong, error.rule, error.remedy)
        ), error
        assert all(word in error.wrong for word in words), f"{words} not in: {error}"
        assert str(self._place) not in str(error), "a path of this machine is no business of a visitor"
        assert str(error).isprintable()
        assert len(str(error)) < 700, error
        assert taken < 5, f"{taken:.1f} s"
        assert grown < 20 * 1024, f"{grown / 1024:.0f} MB"
        return error

    def _unread(self, _plan: object, _weights: object, between: Callable[[], object]) -> None:
        """In place of reading the weights: waits for a refusal that needs none of them."""
        waited = threading.Event()
        for _ in range(400):
            between()
            waited.wait(0.01)
        raise AssertionError("weights were about to be read")
