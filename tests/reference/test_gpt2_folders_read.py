"""Which folders of GPT are read: vocabularies, bodies without a head, snapshots of the hub; and which are refused."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import pytest
from parity import (
    variant,
)
from test_gpt2_parity import TEXT, agree
from test_gpt2_parity import backend as backend  # the fixture
from test_gpt2_parity import gpt2 as gpt2  # the fixture
from test_gpt2_parity import written as written  # the fixture
from transformers import (
    GPT2ForSequenceClassification,
)

from core.checkpoints import open_model


def test_vocabulary_and_merges_without_a_tokenizer_json(written, gpt2, backend, tmp_path):
    folder = variant(written, tmp_path)
    (folder / "tokenizer.json").unlink()
    backend.model.save(str(folder))
    opened = agree(folder, gpt2)
    whole = open_model(written).tokenizer
    for text in (TEXT, "  two  spaces\n", "é日👩‍👩‍👧", "<|endoftext|> typed"):
        assert opened.tokenizer.encode(text) == whole.encode(text)
        assert opened.tokenizer.encode(text, special=True).ids == whole.encode(text, special=True).ids


def test_spans_do_not_depend_on_how_the_tokenizer_was_saved(written, gpt2, tmp_path):
    folder = variant(written, tmp_path)
    held = json.loads((folder / "tokenizer.json").read_text())
    held["post_processor"] |= {"add_prefix_space": True, "trim_offsets": False}
    held["padding"] = {
        "strategy": {"Fixed": 90},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }
    held["truncation"] = {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    (folder / "tokenizer.json").write_text(json.dumps(held))
    opened = agree(folder, gpt2)
    assert opened.tokenizer.encode(TEXT) == open_model(written).tokenizer.encode(TEXT)


def test_a_task_head_is_read_and_takes_the_place_of_words(gpt2, backend, tmp_path):
    classifier = GPT2ForSequenceClassification(copy.deepcopy(gpt2.config))
    classifier.transformer.load_state_dict(gpt2.transformer.state_dict())
    classifier.save_pretrained(tmp_path)
    backend.save(str(tmp_path / "tokenizer.json"))
    outputs = open_model(tmp_path).outputs
    assert "logits" not in outputs and "classes" in outputs


def test_a_snapshot_of_the_hubs_cache_is_made_of_links(written, gpt2, tmp_path):
    home = tmp_path / "models--owner--name"
    snapshot = home / "snapshots" / "abc123"
    snapshot.mkdir(parents=True)
    shutil.copytree(written, home / "blobs")
    for path in (home / "blobs").iterdir():
        (snapshot / path.name).symlink_to(Path("../../blobs") / path.name)
    agree(snapshot, gpt2)


def test_another_output_layer_is_refused_by_name(written, tmp_path):
    folder = variant(
        written, tmp_path, lambda state: state | {"lm_head.weight": state["transformer.wte.weight"] + 1}
    )
    with pytest.raises(ValueError, match=r"'lm_head\.weight' differs from 'wte\.weight'"):
        open_model(folder)
