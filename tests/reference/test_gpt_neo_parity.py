"""Folders of GPT-Neo (gpt_neo) give the numbers of the transformers library, layers with a window too."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, redraw, variant
from transformers import AutoModelForCausalLM, GPTNeoConfig, GPTNeoForCausalLM

from core.analysis.arithmetic.cell import lines_of, row_of
from core.checkpoints import open_model
from core.decoding import decode
from core.errors import InputError
from core.text.learn import byte_level_bpe
from core.tools import export

TEXT, SHORT = "The animal didn't cross the street because it was too tired.", "She has a white car."
SIZES = {
    "num_layers": 2,
    "num_heads": 3,
    "hidden_size": 33,
    "intermediate_size": 41,
    "max_position_embeddings": 61,
    "window_size": 4,
    "attention_types": [[["global", "local"], 1]],
    "layer_norm_epsilon": 3e-4,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "attn_implementation": "eager",
}
KINDS = {
    "gpt_neo": {},
    "four-times-as-wide": {"intermediate_size": None, "activation_function": "relu"},
    "all-local": {"attention_types": [[["local"], 3]], "num_layers": 3, "num_heads": 1},
    "two-patterns": {"attention_types": [[["local"], 1], [["global", "global"], 1]], "num_layers": 3},
}


@pytest.fixture(scope="module", params=KINDS)
def written(request, tmp_path_factory):
    backend = byte_level_bpe([TEXT, SHORT, "Once upon a time"] * 3, 277, ["<|endoftext|>"])
    config = GPTNeoConfig(**{**SIZES, "vocab_size": backend.get_vocab_size() + 2, **KINDS[request.param]})
    model, folder = redraw(GPTNeoForCausalLM(config)), tmp_path_factory.mktemp("written") / "model"
    model.save_pretrained(folder)
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


@pytest.mark.quick(1)
def test_the_same_numbers_alone_and_in_a_padded_batch(written):
    folder, model = written
    opened = open_model(folder)
    agree(opened, model)
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters())
    wanted = [kind == "local" for kind in model.config.attention_layers]
    allowed = opened.run(TEXT).attention().allowed[:, 0, -1]
    assert [row.sum() == 4 for row in allowed] == wanted


def test_it_writes_what_the_library_writes(written):
    folder, model = written
    opened = open_model(folder)
    ids = torch.tensor([opened.run(SHORT).ids])
    with torch.no_grad():
        theirs = model.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=None)[0, ids.shape[1] :]
    ours = [step.id for step in decode(opened, SHORT, max_new_tokens=8)]
    assert ours == theirs.tolist()[: len(ours)] and len(ours) > 2


@pytest.mark.quick(1)
def test_what_is_exported_opens_there_and_here(written, tmp_path):
    opened = open_model(written[0])
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    agree(again, AutoModelForCausalLM.from_pretrained(tmp_path / "out", attn_implementation="eager").eval())


def test_the_arithmetic_on_screen_is_that_of_the_run(written):
    run = open_model(written[0]).run(TEXT)
    row = row_of(run, "causal", 1, 0, 5)
    assert row.residue < 1e-4 and not row.terms[1:]
    assert lines_of(run, "causal", 1, 0, 5, 4).residue < 1e-4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"attention_types": [[["global"], 1]]}, "attention_types names 1 layers, num_layers 2"),
        ({"attention_types": [[["global", "local"], 10**9]]}, "attention_types"),
        ({"attention_types": [[["global", "dilated"], 1]]}, "attention_types"),
        ({"attention_types": "global"}, "attention_types is 'global'"),
        ({"attention_types": [["global", 2]]}, "attention_types"),
        ({"attention_types": {"global": 2}}, "attention_types"),
        ({"attention_types": 3}, "attention_types is 3"),
        ({"attention_types": []}, "attention_types names 0 layers"),
        ({"window_size": 0}, "window_size is 0"),
        ({"activation_function": "swish"}, "activation_function is 'swish'"),
        ({"intermediate_size": 42}, "has the shape"),
        ({"add_cross_attention": True}, "add_cross_attention"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(tmp_path, change, said):
    folder = tmp_path / "neo"
    GPTNeoForCausalLM(GPTNeoConfig(**{**SIZES, "vocab_size": 50})).save_pretrained(folder)
    with pytest.raises(InputError) as error:
        open_model(variant(folder, tmp_path, config=change))
    assert said in str(error.value)
