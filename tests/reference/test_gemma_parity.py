"""Folders of Gemma 2 and 3 give the numbers of the transformers library: capped, normed behind, with and without a window."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, redraw, variant
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3Config,
    Gemma3ForCausalLM,
    Gemma3ForConditionalGeneration,
    Gemma3TextConfig,
)

from core.analysis.arithmetic.cell import lines_of, row_of
from core.analysis.attention.lenses import log_sums
from core.analysis.attribution.logit_attribution import attribute
from core.analysis.attribution.target_token import Asked
from core.checkpoints import open_model
from core.decoding import decode
from core.errors import InputError
from core.text.learn import byte_level_bpe
from core.tools import export

TEXT, SHORT = "The animal didn't cross the street because it was too tired.", "She has a white car."
SIZES = {
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 32,
    "intermediate_size": 41,
    "head_dim": 6,
    "max_position_embeddings": 61,
    "rms_norm_eps": 3e-4,
    "query_pre_attn_scalar": 11,
    "sliding_window": 4,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": None,
    "attn_implementation": "eager",
}
SECOND, THIRD = (Gemma2ForCausalLM, Gemma2Config), (Gemma3ForCausalLM, Gemma3TextConfig)
CAPS = {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 5.0}
WIDE = {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e3}
NEAR = {"rope_type": "default", "rope_theta": 70.0}
SLOW = pytest.mark.slow
KINDS = {
    "gemma2": (*SECOND, CAPS),
    "gemma2-untied": (*SECOND, {**CAPS, "tie_word_embeddings": False, "num_key_value_heads": 1}),
    "gemma2-no-caps": (*SECOND, {"attn_logit_softcapping": None, "final_logit_softcapping": None}),
    "gemma2-all-local": (
        *SECOND,
        {**CAPS, "layer_types": ["sliding_attention"] * 2, "num_hidden_layers": 2, "num_key_value_heads": 4},
    ),
    "gemma3": (*THIRD, {"rope_parameters": {"full_attention": WIDE, "sliding_attention": NEAR}}),
    "gemma3-deep": (*THIRD, {"num_hidden_layers": 7, "query_pre_attn_scalar": 6}),
    "gemma3-capped": (*THIRD, {"final_logit_softcapping": 3.0, "layer_types": ["full_attention"] * 3}),
    "gemma3-untied": (*THIRD, {"tie_word_embeddings": False, "num_key_value_heads": 1, "head_dim": 10}),
}
QUICK = ("gemma2", "gemma3")


@pytest.fixture(scope="module")
def backend():
    return byte_level_bpe([TEXT, SHORT, "Once upon a time"] * 3, 277, ["<|endoftext|>"])


@pytest.fixture(
    scope="module", params=[name if name in QUICK else pytest.param(name, marks=SLOW) for name in KINDS]
)
def written(request, backend, tmp_path_factory):
    kind, shape, changes = KINDS[request.param]
    model = redraw(kind(shape(**{**SIZES, "vocab_size": backend.get_vocab_size() + 2, **changes})))
    folder = tmp_path_factory.mktemp("written") / "model"
    model.save_pretrained(folder, max_shard_size="40KB" if request.param == "gemma3-deep" else "5GB")
    backend.save(str(folder / "tokenizer.json"))
    return folder, model


def agree(opened, model):
    for run in [opened.run(TEXT), *opened.run_many([TEXT, SHORT])]:
        n = run.side.n_real
        with torch.no_grad():
            out = model(torch.tensor([run.ids[:n]]), output_attentions=True, output_hidden_states=True)
        states = np.stack([state[0].numpy() for state in out.hidden_states])
        patterns = np.stack([pattern[0].numpy() for pattern in out.attentions])
        assert np.abs(run.hidden()[: len(states) - 1, :n] - states[:-1]).max() <= SAME
        assert np.abs(run.trace["final_norm.out"][:n] - states[-1]).max() <= SAME
        assert np.abs(run.attention().weights[:, :, :n, :n] - patterns).max() <= SAME
        assert np.abs(run.logits[:n] - out.logits[0].numpy()).max() <= SAME


def test_the_same_numbers_alone_and_in_a_padded_batch(written):
    folder, model = written
    opened = open_model(folder)
    agree(opened, model)
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters())
    wanted = [kind == "sliding_attention" for kind in model.config.layer_types]
    allowed = opened.run(TEXT).attention().allowed[:, 0, -1]
    assert [row.sum() == 4 for row in allowed] == wanted


def test_it_writes_what_the_library_writes(written):
    opened = open_model(written[0])
    ids = torch.tensor([opened.run(SHORT).ids])
    with torch.no_grad():
        theirs = written[1].generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=None)
    ours = [step.id for step in decode(opened, SHORT, max_new_tokens=8)]
    assert ours == theirs[0, ids.shape[1] :].tolist()[: len(ours)] and len(ours) > 2


@pytest.mark.quick(1)
def test_what_is_exported_opens_there_and_here(written, tmp_path):
    opened = open_model(written[0])
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out", attn_implementation="eager").eval()
    assert type(theirs) is type(written[1])
    agree(again, theirs)


def test_the_arithmetic_on_screen_is_that_of_the_run(written):
    run = open_model(written[0]).run(TEXT)
    for layer in range(2):
        row, lines = row_of(run, "causal", layer, 0, 5), lines_of(run, "causal", layer, 0, 5, 4)
        assert (
            row.residue < 1e-4
            and [term.name for term in row.terms][1:3]
            == ["scale", "cap"][: 1 + bool(run.model.config.score_cap)]
        )
        assert (
            lines.residue < 1e-3
            and ("cap" in lines) == (run.model.config.score_cap > 0)
            and "behind" in lines
        )
        assert log_sums(run, "causal", layer, 0) is not None
    parts = attribute(run, Asked(5, 7, 9))
    assert parts.total == pytest.approx(parts.logit, abs=1e-3)


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"attn_logit_softcapping": 0.0}, "attn_logit_softcapping is 0.0"),
        ({"final_logit_softcapping": -3}, "final_logit_softcapping is -3"),
        ({"query_pre_attn_scalar": 0}, "query_pre_attn_scalar is 0"),
        ({"sliding_window": 0}, "sliding_window is 0"),
        ({"layer_types": ["full_attention"] * 2}, "layer_types is"),
        ({"layer_types": ["full_attention", "chunked_attention", "full_attention"]}, "layer_types is"),
        ({"layer_types": 3}, "layer_types is 3"),
        ({"attention_bias": True}, "attention_bias"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ({"hidden_activation": "relu"}, "hidden_activation is 'relu'"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "kind 'yarn'"),
        ({"model_type": "gemma3_text", "attn_logit_softcapping": 3.0}, "attn_logit_softcapping is 3.0"),
        ({"model_type": "gemma3_text", "attn_logit_softcapping": None}, "rope_parameters names"),
        (
            {
                "model_type": "gemma3_text",
                "attn_logit_softcapping": None,
                "rope_parameters": {"full_attention": {"rope_type": "yarn"}},
            },
            "kind 'yarn'",
        ),
        (
            {
                "model_type": "gemma3_text",
                "attn_logit_softcapping": None,
                "rope_parameters": {"sliding_attention": WIDE},
            },
            "kind 'linear'",
        ),
        ({"model_type": "gemma3"}, "this is a gemma3, which is not read"),
        ({"model_type": "gemma"}, "left over"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(tmp_path, change, said):
    folder = tmp_path / "gemma"
    Gemma2ForCausalLM(Gemma2Config(**{**SIZES, "vocab_size": 50})).save_pretrained(folder)
    with pytest.raises(InputError) as error:
        open_model(variant(folder, tmp_path, config=change))
    assert said in str(error.value)


@pytest.mark.slow
def test_old_configs_say_the_same(backend, tmp_path):
    """As on the Hub: no kinds of layers and no rope_parameters, and of a third one no model type either."""
    sizes = {**SIZES, "vocab_size": backend.get_vocab_size() + 2, "num_hidden_layers": 7}
    for kind, shape in (SECOND, THIRD):
        folder = tmp_path / shape.__name__
        redraw(kind(shape(**sizes))).save_pretrained(folder)
        backend.save(str(folder / "tokenizer.json"))
        new = open_model(folder)
        base = (
            {"rope_theta": 10000.0}
            if kind is Gemma2ForCausalLM
            else {"rope_theta": 1e6, "rope_local_base_freq": 1e4}
        )
        old = {
            "rope_parameters": "absent",
            "layer_types": "absent",
            "dtype": "absent",
            "torch_dtype": "float32",
            **base,
        }
        again = open_model(variant(folder, folder, config={**old, "model_type": "absent"}))
        assert again.config == new.config
        assert np.array_equal(again.run(SHORT).logits, new.run(SHORT).logits)


def test_of_one_with_a_vision_tower_the_text_model_opens_as_the_refusal_says(backend, tmp_path):
    text = {**SIZES, "vocab_size": backend.get_vocab_size() + 2, "num_hidden_layers": 2}
    eyes = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 9}
    whole = Gemma3ForConditionalGeneration(
        Gemma3Config(
            text_config=text,
            vision_config={**eyes, "image_size": 28, "patch_size": 14},
            mm_tokens_per_image=4,
            image_token_index=3,
            attn_implementation="eager",
        )
    )
    redraw(whole)
    whole.save_pretrained(tmp_path / "whole")
    with pytest.raises(
        InputError, match=r"this is a gemma3, which is not read.*language_model.save_pretrained"
    ):
        open_model(tmp_path / "whole")
    whole.model.language_model.save_pretrained(tmp_path / "text")
    backend.save(str(tmp_path / "text" / "tokenizer.json"))
    opened = open_model(tmp_path / "text")
    run = opened.run(TEXT)
    with torch.no_grad():
        out = whole.model.language_model(torch.tensor([run.ids]), output_attentions=True)
    theirs = torch.stack([weights[0] for weights in out.attentions]).numpy()
    assert np.abs(run.attention().weights - theirs).max() <= SAME and "logits" not in opened.outputs
