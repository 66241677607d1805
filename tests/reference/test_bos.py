"""A tokenizer whose post-processor puts a mark before every text: the model sees it, in a run and when it goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from kinds import LLAMA
from parity import SAME, redraw
from tokenizers import Tokenizer, processors
from transformers import LlamaConfig, LlamaForCausalLM

from core.checkpoints import open_model
from core.decoding.prompt import fit_prompt, prompt_of
from core.errors import InputError
from core.reading import bounds
from core.text.learn import learn_byte_level_bpe

TEXT, SHORT = "She has a white car.", "Once upon a time"
BOS = "<|begin_of_text|>"


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """Return a random Llama, its library model, and a tokenizer made like Llama 3's."""
    backend = learn_byte_level_bpe([TEXT, SHORT] * 3, 277, [BOS, "<|end_of_text|>"])
    opens = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A {BOS} $B", special_tokens=[(BOS, 0)]
    )
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), opens])
    sizes = {
        **LLAMA,
        "vocab_size": backend.get_vocab_size(),
        "max_position_embeddings": 31,
        "eos_token_id": 1,
    }
    model = redraw(LlamaForCausalLM(LlamaConfig(**sizes)))
    folder = tmp_path_factory.mktemp("llama") / "model"
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return open_model(folder), model, backend


def test_the_model_sees_what_the_library_gives_it(llama):
    opened, model, backend = llama
    run = opened.run(TEXT)
    ids = backend.encode(TEXT).ids
    assert list(run.ids) == ids and ids[0] == 0
    with torch.no_grad():
        assert np.abs(run.logits - model(torch.tensor([ids])).logits[0].numpy()).max() <= SAME
    first, second = run.spans[:2]
    assert (run.tokens[0], first, TEXT[slice(*second)]) == (BOS, None, "Sh")
    batch = opened.run_many([TEXT, SHORT])
    assert [one.ids[0] for one in batch] == [0, 0]


def test_it_goes_on_behind_the_same_tokens(llama):
    opened, _, backend = llama
    prompt = prompt_of(opened, TEXT)
    assert list(prompt.ids) == backend.encode(TEXT).ids and prompt.hidden == 1
    assert prompt.text(())[0] == TEXT and prompt.labels(())[0] == "START"
    assert prompt_of(opened, "").ids == (0,)


def test_a_mark_that_is_typed_is_not_put_twice(llama):
    opened, _, _ = llama
    once = opened.run(BOS + TEXT, special=True).ids
    assert once == opened.run(TEXT).ids
    assert opened.run(BOS + TEXT).ids[0] == 0 and len(opened.run(BOS).ids) > 2, "as letters it is a text"


def test_the_mark_takes_room(llama):
    opened, _, _ = llama
    word = opened.tokenizer.encode(" car").ids
    assert opened.tokenizer.frame_ids == ((0,), ()) and len(word) == 1
    with pytest.raises(InputError, match="32 tokens"):
        opened.run("She" + " car" * 30 if len(opened.tokenizer.encode("She").ids) == 1 else " car" * 31)
    window = fit_prompt(opened, " car" * 40, opened.config.n_ctx)
    assert window.tokens == 30 and len(opened.run(window.text).ids) == 31


def test_spans_are_trimmed_whatever_stands_beside_the_mark(llama, tmp_path):
    """Take the step that trims out of the file: the space before a word still belongs to no token."""
    from core.checkpoints.tokenizer import try_in_child

    held = json.loads(llama[2].to_str())
    held["post_processor"] = held["post_processor"]["processors"][1]
    (tmp_path / "tokenizer.json").write_text(json.dumps(held), encoding="utf-8")
    facts = try_in_child([tmp_path / "tokenizer.json"], "tokenizer.json")
    encoding = Tokenizer.from_str(facts["tokenizer"]).encode(TEXT)
    assert encoding.ids[0] == 0
    assert not any(TEXT[a:b].startswith(" ") for a, b in encoding.offsets if b > a)


def test_a_page_counts_the_mark_to_the_context(llama):
    opened, _, _ = llama
    assert bounds.n_special(opened) == 1
    assert bounds.token_limit(opened) == opened.config.n_ctx - 1
