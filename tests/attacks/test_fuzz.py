"""Thousands of damaged headers and configs: each is either fine or refused in words; nothing else ever happens."""

from __future__ import annotations

import json
import random
import time

import pytest
from crafting import CONFIG, good_folder

from core.checkpoints.load import inspect
from core.checkpoints.safety.safetensors_header import read_header
from core.errors import InputError

PIECES = [
    b"",
    b"\0",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"-1",
    b"1e9",
    b"99999999999999999999",
    b"NaN",
    b"null",
    b"true",
    b"\xff",
    b"F64",
    b'"a":{}',
    b"\\u0000",
    b"\\ud800",
    b" " * 9,
]
VALUES = [
    0,
    -1,
    1,
    2,
    3,
    2**31,
    2**63,
    10**30,
    0.0,
    0.5,
    -0.0,
    1e308,
    True,
    False,
    None,
    "",
    "2",
    "gpt2",
    "\0",
    "é" * 50,
    [],
    [1],
    {},
    {"a": 1},
    [[]],
]


def mutated(data: bytes, draw: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(min(len(out), 3000))
        out[place : place + draw.choice((0, 1, 1, 1, 4, 30))] = (
            draw.choice(PIECES) if draw.random() < 0.7 else draw.randbytes(2)
        )
    return bytes(out)


def outcome(check) -> str:
    begun, said = time.perf_counter(), ""
    try:
        check()
    except InputError as error:
        said = str(error)
    assert time.perf_counter() - begun < 5
    assert said.isprintable()
    assert len(said) < 900
    return "refused" if said else "fine"


@pytest.mark.parametrize("mutants", [500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_mutated_headers(tmp_path, mutants):
    folder = good_folder(tmp_path / "model")
    data = (folder / "model.safetensors").read_bytes()
    draw = random.Random(1)
    path = tmp_path / "mutant.safetensors"
    seen = set()
    for _ in range(mutants):
        path.write_bytes(mutated(data, draw))
        seen.add(outcome(lambda: read_header(path)))
    assert seen == {"fine", "refused"}


@pytest.mark.parametrize("mutants", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mutated_configs(tmp_path, mutants):
    folder = good_folder(tmp_path / "model")
    keys = [
        *CONFIG,
        "hidden_size",
        "family",
        "ids",
        "tie_word_embeddings",
        "architectures",
        "bos_token_id",
        "layer_norm_epsilon",
        "scale_attn_weights",
        "quantization_config",
        "activation",
        "order",
        "dropout",
        "n_vocab",
        "eps",
    ]
    own = {
        "family": "gpt",
        "n_layers": 2,
        "n_heads": 3,
        "d_model": 33,
        "d_ff": 13,
        "n_vocab": 277,
        "n_ctx": 17,
    }
    draw = random.Random(2)
    seen = set()
    for number in range(mutants):
        held = dict(own if number % 3 == 0 else CONFIG)
        for _ in range(draw.randint(1, 2)):
            held[draw.choice(keys)] = draw.choice(VALUES)
        text = json.dumps(held).encode()
        (folder / "config.json").write_bytes(mutated(text, draw) if number % 4 == 0 else text)
        seen.add(outcome(lambda: inspect(folder)))
    assert seen == {"fine", "refused"}
