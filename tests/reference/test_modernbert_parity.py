"""Folders of ModernBERT give the numbers of the transformers library, in layers that look everywhere and near by."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, redraw, variant
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    ModernBertConfig,
)
from transformers import (
    ModernBertForSequenceClassification as TUNED,
)

from core.analysis.arithmetic.cell import lines_of, row_of
from core.analysis.attribution.logit_attribution import attribute
from core.analysis.attribution.target_token import Asked
from core.checkpoints import open_model
from core.errors import InputError
from core.text.learn import wordpiece
from core.tools import export

TEXT, SHORT = "The animal didn't [MASK] the street.", "She has a white car."
SIZES = {
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "hidden_size": 30,
    "intermediate_size": 41,
    "max_position_embeddings": 61,
    "norm_eps": 3e-4,
    "local_attention": 4,
    "pad_token_id": 0,
    "attn_implementation": "eager",
}
TURNS = {
    "full_attention": {"rope_type": "default", "rope_theta": 70.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 9.0},
}
WORDS, BODY, SLOW = AutoModelForMaskedLM, AutoModel, pytest.mark.slow
KINDS = {
    "modernbert": (WORDS, {}),
    "modernbert-turned": (WORDS, {"rope_parameters": TURNS, "local_attention": 7}),
    "modernbert-body": (BODY, {"hidden_activation": "relu", "num_hidden_layers": 2}),
    "modernbert-local": (WORDS, {"layer_types": ["sliding_attention"] * 4, "num_attention_heads": 1}),
}


@pytest.fixture(scope="module")
def backend():
    return wordpiece([TEXT.replace("[MASK]", "cross"), SHORT, "Once upon a time"] * 3, 97)


def made(kind, backend, changes, folder):
    config = ModernBertConfig(**{**SIZES, "vocab_size": backend.get_vocab_size() + 9, **changes})
    model = redraw(kind(config) if kind is TUNED else kind.from_config(config, attn_implementation="eager"))
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return model


@pytest.fixture(
    scope="module",
    params=[name if name == "modernbert" else pytest.param(name, marks=SLOW) for name in KINDS],
)
def written(request, backend, tmp_path_factory):
    folder = tmp_path_factory.mktemp("written") / "model"
    return folder, made(KINDS[request.param][0], backend, KINDS[request.param][1], folder)


def agree(opened, model):
    batch = opened.run_many([TEXT, SHORT])
    assert batch[1].side.n_real < len(batch[1].side.ids)
    for runs in ([opened.run(TEXT)], batch):
        real = torch.tensor(
            [[int(place < run.side.n_real) for place in range(len(run.side.ids))] for run in runs]
        )
        ids = torch.where(real > 0, torch.tensor([run.side.ids for run in runs]), 0)
        with torch.no_grad():
            out = model(ids, attention_mask=real, output_attentions=True, output_hidden_states=True)
        for row, run in enumerate(runs):
            n = run.side.n_real
            hidden = np.stack([state[row].numpy() for state in out.hidden_states[:-1]])
            patterns = np.stack([pattern[row].numpy() for pattern in out.attentions])
            assert np.abs(run.hidden()[: len(hidden), :n] - hidden[:, :n]).max() <= SAME
            assert (
                np.abs(run.trace["final_norm.out"][:n] - out.hidden_states[-1][row, :n].numpy()).max() <= SAME
            )
            assert np.abs(run.attention().weights - patterns[:, :, :n, :n]).max() <= SAME
            if "logits" in opened.outputs:
                assert np.abs(run.logits[:n] - out.logits[row, :n].numpy()).max() <= SAME


def test_the_same_numbers_alone_and_in_a_padded_batch(written):
    folder, model = written
    opened = open_model(folder)
    agree(opened, model)
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters())
    allowed, reach = opened.run(TEXT).attention().allowed[:, 0, 0], model.config.local_attention // 2
    assert [row.sum() == 1 + reach for row in allowed] == [
        kind == "sliding_attention" for kind in model.config.layer_types
    ]


def test_what_is_exported_opens_there_and_here(written, tmp_path):
    opened = open_model(written[0])
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    kind = WORDS if "logits" in opened.outputs else BODY
    agree(again, kind.from_pretrained(tmp_path / "out", attn_implementation="eager").eval())


def test_the_arithmetic_on_screen_is_that_of_the_run(written):
    run = open_model(written[0]).run(TEXT)
    assert row_of(run, "self", 1, 0, 3).residue < 1e-4
    assert lines_of(run, "self", 1, 0, 3, 2).residue < 1e-4
    if "logits" in run.model.outputs:
        parts = attribute(run, Asked(3, 7, 9))
        assert parts.total == pytest.approx(parts.logit, abs=1e-3)


def test_old_configs_and_other_heads_are_read(backend, tmp_path):
    model = made(WORDS, backend, {}, tmp_path / "new")
    old = {
        "rope_parameters": "absent",
        "layer_types": "absent",
        "dtype": "absent",
        "model_type": "absent",
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 160000.0,
        "local_rope_theta": 10000.0,
    }
    agree(open_model(variant(tmp_path / "new", tmp_path, config=old)), model)
    tuned = made(TUNED, backend, {}, tmp_path / "tuned")
    opened = open_model(tmp_path / "tuned")
    assert "logits" not in opened.outputs
    agree(opened, tuned.model)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *(({name: True}, name) for name in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")),
        ({"decoder_bias": False}, "decoder_bias"),
        ({"classifier_activation": "relu"}, "classifier_activation is 'relu'"),
        ({"hidden_activation": "swish"}, "hidden_activation is 'swish'"),
        ({"local_attention": 1}, "local_attention is 1"),
        ({"layer_types": ["full_attention"]}, "layer_types is"),
        ({"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0}}}, "kind 'linear'"),
        ({"rope_parameters": {"sliding_attention": {"rope_type": "yarn"}}}, "kind 'yarn'"),
        ({"rope_parameters": {"full_attention": {"rope_theta": "big"}}}, "rope_theta="),
        ({"num_attention_heads": 2}, "d_head=15, which must be even"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(backend, tmp_path, change, said):
    made(WORDS, backend, {}, tmp_path / "good")
    with pytest.raises(InputError) as error:
        open_model(variant(tmp_path / "good", tmp_path, config=change))
    assert said in str(error.value)
