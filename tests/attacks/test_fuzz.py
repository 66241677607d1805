"""Thousands of damaged headers, configs and tokenizers: each is either fine or refused in words; nothing else ever happens."""

from __future__ import annotations

import json
import random
import time

import pytest
from crafted.case import TOKENIZER, WEIGHTS, folder, good
from crafted.packed_files import packed, whole
from crafting import CONFIG, SHAPE, good_folder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.checkpoints import open_model
from core.checkpoints.load import inspect
from core.checkpoints.safety.safetensors_header import read_header
from core.errors import InputError

PIECES = [
    b"",
    b" " * 9,
    *b'\0|{|}|[|]|"|,|:|-1|1e9|99999999999999999999|NaN|null|true|\xff|F64|"a":{}|\\u0000|\\ud800'.split(
        b"|"
    ),
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


MORE = (
    "hidden_size family ids tie_word_embeddings architectures bos_token_id layer_norm_epsilon scale_attn_weights "
    "quantization_config activation order dropout n_vocab eps"
)
KINDS = ["llama", "roberta", "t5", "albert", "deberta-v2", "gemma3_text", "gpt_neo", "vit", "GGUF"]


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
    keys = [*CONFIG, *MORE.split()]
    sizes = ("n_layers", "n_heads", "d_model", "d_ff", "n_vocab", "n_ctx")
    own = {"family": "gpt", **{name: getattr(SHAPE, name) for name in sizes}}
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


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """A kind of model, one of its files, and that file with a few of its bytes put in other words."""
    kind = draw(st.sampled_from(KINDS))
    name = "it.gguf" if kind == "GGUF" else draw(st.sampled_from(sorted(good(kind))))
    data = bytearray(whole().bytes() if kind == "GGUF" else good(kind)[name])
    end = 8 + int.from_bytes(data[:8], "little") if name == WEIGHTS else len(data)
    if draw(st.booleans()) and name != TOKENIZER:
        end = min(end, 600)
    for _ in range(draw(st.integers(1, 3))):
        place, length = draw(st.integers(0, end - 1)), draw(st.sampled_from([0, 1, 1, 1, 4, 30]))
        data[place : place + length] = draw(st.sampled_from(PIECES) | st.binary(min_size=1, max_size=2))
    return kind, name, bytes(data)


@pytest.mark.slow
@settings(
    max_examples=200,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(damaged())
def test_a_folder_with_a_few_other_bytes_opens_or_is_refused(tmp_path_factory, case):
    kind, name, data = case
    place = tmp_path_factory.mktemp("mutant") / "model"
    packed(lambda _: data)(place) if kind == "GGUF" else folder(kind, files={name: data})(place)

    def used():
        model = open_model(place)
        reads = model.spec.reads
        assert model.run(reads(model.config).example if reads else "the street").tokens

    outcome(used)
