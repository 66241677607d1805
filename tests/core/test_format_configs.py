"""Configs of other people's models, read and written without weights."""

from __future__ import annotations

import math

import pytest

from core.checkpoints.foreign import formats
from core.checkpoints.foreign.rope import all_but_every
from core.checkpoints.safety.config_schema import Fields
from core.errors import InputError
from tests.reference.kinds import CASES


def read(name, **changes):
    """Return the format and our config of a row, without weights."""
    case = CASES[name]
    sizes = {"vocab_size": 70, "type_vocab_size": 2, "model_type": case.config.model_type}
    form = formats()[case.config.model_type]
    return form, form.read(Fields(sizes | case.values | changes))[0]


LONG = CASES["phi3, long"].values["rope_parameters"]
FULL, SLIDING = "full_attention", "sliding_attention"
NUMBERS = [
    ("granite", {}, {"embed_scale": 3.0, "output_scale": 1 / 4, "scale": pytest.approx(1 / 0.2**2)}),
    ("granite", {"embedding_multiplier": None}, {"embed_scale": 1.0}),
    ("phi3, long", {}, {"n_ctx": 61, "rope_size": math.sqrt(1 + math.log(8) / math.log(61))}),
    (
        "phi3, long",
        {"rope_parameters": {**LONG, "factor": 4.0}},
        {"rope_size": math.sqrt(1 + math.log(4) / math.log(61))},
    ),
    (
        "phi3, long",
        {"rope_parameters": {**LONG, "factor": 1.5}},
        {"rope_size": math.sqrt(1 + math.log(1.5) / math.log(61))},
    ),
    ("roberta", {"max_position_embeddings": 3, "pad_token_id": 1}, {"n_ctx": 1, "first_place": 2}),
    ("mistral, whole", {}, {"sliding_window": 0}),
    ("qwen2, window", {}, {"sliding_window": 4}),
    ("qwen2, window", {"layer_types": [FULL] * 3}, {"sliding_window": 0}),
    ("falcon, new", {}, {"block": "parallel"}),
    ("deberta, own maps", {}, {"n_buckets": 0, "furthest": 5}),
    ("gpt_neo", {"attention_types": None, "num_layers": 4}, {"local": (1, 3)}),
    ("albert", {}, {"shared": "all"}),
    ("albert, nothing shared", {}, {"shared": "none"}),
]
"""Rows with changes of their config, and values of ours."""
NOT_READ = [
    ("albert", {"num_hidden_groups": 2}),
    ("falcon, new", {"num_ln_in_parallel_attn": 3}),
    ("phi3, long", {"original_max_position_embeddings": None}),
    ("qwen2, window", {"layer_types": [FULL, SLIDING, FULL]}),
]


def test_configs_are_written_as_they_are_read_and_have_the_right_numbers():
    written = {name: form.values(config) for name in CASES for form, config in [read(name)]}
    assert [name for name, values in written.items() if values is None] == ["gemma3, both ways"]
    for name, changes, wanted in NUMBERS:
        config = read(name, **changes)[1]
        assert {key: getattr(config, key) for key in wanted} == wanted, name
    for name, changes in NOT_READ:
        with pytest.raises(InputError, match=next(iter(changes))):
            read(name, **changes)
    for name, kind in (("qwen2", FULL), ("qwen2, window", SLIDING)):
        keys = ("use_sliding_window", "layer_types")
        assert [written[name][key] for key in keys] == [kind == SLIDING, [kind] * 3]


def test_a_depth_that_the_tensors_cannot_fill_is_refused_by_the_first_layer_that_is_missing():
    for name, missing in (("llama", r"layers\.1\."), ("mixtral", r"layers\.0\..*experts\.1\.")):
        form, config = read(name)
        with pytest.raises(InputError, match=missing):
            form.check_depth(config, [f"model.layers.0.experts.0.{i}" for i in range(2)])
    wrapped = [formats()["llama"].plain(f"{before}layers.0.x") for before in ("", "model.", "transformer.")]
    assert wrapped == ["layers.0.x"] * 3
    form, config = read("albert", num_hidden_layers=12)
    form.check_depth(config, ["one", "two"])


def test_layers_with_a_window_are_all_but_one_of_each_group():
    none = Fields({})
    assert all_but_every(2)(none, 5) == [0, 2, 4] and all_but_every(3, first=True)(none, 5) == [1, 2, 4]
    assert all_but_every(6, "pattern")(Fields({"pattern": 2}), 4) == [0, 2]


def test_a_training_on_texts_of_one_token_has_no_factor_of_length():
    with pytest.raises(InputError, match="original_max_position_embeddings 1"):
        read("phi3, long", original_max_position_embeddings=1)


def test_a_stored_name_loses_one_beginning_and_no_second():
    plain = formats()["llama"].plain
    assert plain("model.layers.0") == plain("transformer.layers.0") == plain("layers.0") == "layers.0"
    assert plain("model.transformer.layers.0") == "transformer.layers.0"
