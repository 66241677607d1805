"""T5's and mT5's encoder alone, as the library saves it: the vectors and patterns of the library, and nothing offered that writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from parity import redraw
from tokenizers.processors import TemplateProcessing

import core
from core.text.learn import byte_level_bpe

SIZES = {"d_model": 16, "d_kv": 8, "d_ff": 20, "num_layers": 2, "num_heads": 2, "vocab_size": 300}


@pytest.mark.parametrize(("kind", "gate"), [("T5", "relu"), ("MT5", "gated-gelu")])
def test_an_encoder_alone_gives_the_vectors_of_the_library(kind: str, gate: str, tmp_path: Path) -> None:
    config = getattr(transformers, f"{kind}Config")(**SIZES, feed_forward_proj=gate)
    made = getattr(transformers, f"{kind}EncoderModel")._from_config(config, attn_implementation="eager")
    redraw(made).save_pretrained(tmp_path)
    rules = byte_level_bpe(["hello world"] * 4, 290, ["<pad>", "</s>", "<s>"])
    rules.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])  # pyright: ignore[reportAttributeAccessIssue]
    rules.save(str(tmp_path / "tokenizer.json"))
    model = core.open_model(str(tmp_path))
    for run in model.run_many(["hello world", "hello"]):
        assert run.tokens[-1] == "</s>"
        with torch.no_grad():
            wanted = made(input_ids=torch.tensor([run.ids]), output_attentions=True)
        patterns = torch.stack(wanted.attentions)[:, 0].numpy()
        assert np.abs(run.attention().weights - patterns).max() < 1e-6
        own = run.outputs.hidden[0, : run.side.n_real].numpy()
        assert np.abs(own - wanted.last_hidden_state[0].numpy()).max() < 1e-5
    assert not model.outputs and "no output layer" in model.lacks("answer") and not model.can("write")
