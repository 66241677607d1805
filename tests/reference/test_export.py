"""Folders that export writes: the transformers library and we ourselves open them with the same numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from parity import SAME, redraw
from safetensors.torch import load_file
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForNextSentencePrediction,
    AutoModelForPreTraining,
    AutoTokenizer,
)

from core.checkpoints import open_model, store
from core.checkpoints.foreign import formats
from core.checkpoints.safety.load_plan import meta_network
from core.errors import InputError
from core.models import families
from core.text.learn import learn_byte_level_bpe, learn_wordpiece
from core.tools import export
from core.tools.card_template import remove_places
from tests.kind_shapes import tiny

TEXT, PAIR = (
    "The animal didn't cross the street because it was too tired.",
    "She has a white car, on the [MASK].",
)
LINES = [TEXT, "She has a white car.", "Once upon a time"] * 3
IDS = {"gpt": {"start": 1, "end": 2, "pad": 0}, "bert": {"start": 2, "end": 3, "pad": 0, "mask": 4}}


def made(folder, family="bert", **changes):
    """Return a random model of a family, saved and opened again."""
    spec = families()[family]
    backend = (
        learn_wordpiece(LINES, 97)
        if spec.framed
        else learn_byte_level_bpe(LINES, 277, ["<pad>", "<start>", "<end>"])
    )
    backend.save(str(folder.parent / "tokens.json"))
    config = replace(spec.config.tiny(), n_vocab=backend.get_vocab_size() + 2, n_ctx=61, **changes)
    network = redraw(spec.network(config))
    ids = IDS["bert" if spec.framed else "gpt"]
    given = {
        "weights": network.state_dict(),
        "ids": ids,
        "training": {},
        "tokenizer": folder.parent / "tokens.json",
    }
    return open_model(store.save_model(folder, family=family, config=config, **given))


def theirs(kind, folder, **given):
    """Return the outputs of the library's class; every weight must come from the folder."""
    model, loaded = kind.from_pretrained(
        folder, output_loading_info=True, attn_implementation="eager", dtype=torch.float32
    )
    assert not loaded["missing_keys"] and not loaded["mismatched_keys"]
    tokens = AutoTokenizer.from_pretrained(folder)(*given["texts"], return_tensors="pt")
    with torch.no_grad():
        return tokens, model.eval()(**tokens), loaded["unexpected_keys"]


def close(ours, other, tolerance=SAME):
    assert ours.shape == other[0].shape
    assert np.abs(ours - other[0].numpy()).max() <= tolerance


def round_trip(model, folder, **options):
    """Check that the folder opens here with the numbers and tokens that were exported."""
    again, run = open_model(folder), model.run(TEXT, **options)
    assert again.config == replace(model.config, dropout=0.0)
    assert {name: getattr(again.tokenizer, name) for name in IDS["bert"]} == {
        name: getattr(model.tokenizer, name) for name in IDS["bert"]
    }
    back = again.run(TEXT, **options)
    assert (back.ids, back.tokens, back.spans, back.segments) == (
        run.ids,
        run.tokens,
        run.spans,
        run.segments,
    )
    held, given = again.network.state_dict(), model.network.state_dict()
    assert held.keys() == given.keys()
    assert all(torch.equal(value.float(), given[name].float()) for name, value in held.items())
    for (
        path
    ) in run.trace.names():  # what stays in half precision is multiplied in another order of the same sums
        np.testing.assert_allclose(back.trace[path], run.trace[path], rtol=1e-4, atol=1e-4)
    return run


@pytest.mark.quick(1)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_gpt_mini_opens_there_with_the_same_numbers(tmp_path, dtype):
    model = open_model("gpt-mini")
    folder = export.export_model(model, tmp_path / "out", dtype)
    run = round_trip(model, folder)  # what ships is float16: nothing is lost
    tokens, out, unused = theirs(AutoModelForCausalLM, folder, texts=[TEXT])
    assert tokens["input_ids"][0].tolist() == list(run.ids)
    assert not unused
    close(run.logits, out.logits)
    assert {value.dtype for value in load_file(folder / "model.safetensors").values()} == {
        getattr(torch, dtype)
    }
    assert open_model(folder).card == remove_places(model.card, "curve") != ""  # the picture stays behind


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"order": "pre"}, "gpt2"),
        ({"order": "pre", "activation": "gelu", "dropout": 0.1, "eps": 3e-4}, "gpt2"),
        ({"order": "pre", "activation": "relu"}, "gpt2"),
        ({"order": "post", "d_ff": 132, "eps": 3e-4}, "openai-gpt"),
        ({"order": "post", "d_ff": 132, "activation": "relu"}, "openai-gpt"),
    ],
)
def test_both_kinds_of_gpt(tmp_path, changes, kind):
    model = made(tmp_path / "model", "gpt", **changes)
    folder = export.export_model(model, tmp_path / "out")
    assert json.loads((folder / "config.json").read_text())["model_type"] == kind
    run = round_trip(model, folder)
    tokens, out, _ = theirs(AutoModelForCausalLM, folder, texts=[TEXT])
    assert tokens["input_ids"][0].tolist() == list(run.ids)
    close(run.logits, out.logits)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("family", "changes", "output", "theirs_of"),
    [
        ("albert", {"shared": "all", "d_embed": 18}, "sentence_order", "sop_logits"),
        ("albert", {"shared": "none", "d_embed": 18}, "sentence_order", "sop_logits"),
        ("bert", {}, "next_sentence", "seq_relationship_logits"),
    ],
)
def test_bert_and_albert_with_all_their_heads(tmp_path, family, changes, output, theirs_of):
    model = made(tmp_path / "model", family, eps=3e-4, **changes)
    folder = export.export_model(model, tmp_path / "out")
    run = round_trip(model, folder, pair=PAIR)
    tokens, out, unused = theirs(AutoModelForPreTraining, folder, texts=[TEXT, PAIR])
    assert tokens["input_ids"][0].tolist() == list(run.ids)
    assert tokens["token_type_ids"][0].tolist() == list(run.segments)
    assert not unused
    close(run.logits, out.prediction_logits)
    close(getattr(run, output), out[theirs_of])
    close(run.logits, theirs(AutoModelForMaskedLM, folder, texts=[TEXT, PAIR])[1].logits)
    close(run.pooled, theirs(AutoModel, folder, texts=[TEXT, PAIR])[1].pooler_output)
    marks = AutoTokenizer.from_pretrained(folder)
    numbers = [getattr(marks, f"{name}_token_id") for name in ("cls", "sep", "pad", "mask", "unk")]
    assert numbers == [2, 3, 0, 4, 1] and marks.model_max_length == 61


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("heads", "kind", "output", "ours"),
    [
        ({"next_sentence": False, "pooler": False}, AutoModelForMaskedLM, "logits", "logits"),
        ({"masked_lm": False}, AutoModelForNextSentencePrediction, "logits", "next_sentence"),
        ({"masked_lm": False, "next_sentence": False}, AutoModel, "pooler_output", "pooled"),
    ],
)
def test_bert_with_some_of_its_heads(tmp_path, heads, kind, output, ours):
    model = made(tmp_path / "model", **heads)
    folder = export.export_model(model, tmp_path / "out")
    run = round_trip(model, folder, pair=PAIR)
    _, out, unused = theirs(kind, folder, texts=[TEXT, PAIR])
    assert not unused
    close(getattr(run, ours), out[output])
    assert json.loads((folder / "config.json").read_text())["architectures"] == [type_name(kind, folder)]


def type_name(kind, folder):
    return type(kind.from_pretrained(folder)).__name__


def test_a_tokenizer_that_does_not_frame_is_made_to(tmp_path):
    model = made(tmp_path / "model")
    held = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(held | {"post_processor": None}))
    folder = export.export_model(open_model(tmp_path / "model"), tmp_path / "out")
    assert AutoTokenizer.from_pretrained(folder)(TEXT)["input_ids"] == list(model.run(TEXT).ids)


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", formats())
def test_the_list_of_names_covers_every_weight_once_and_turns_back(name):
    """Compare the tensors that are read from a folder with those that are written."""
    form = formats()[name]
    spec = families()[form.family]
    config = tiny(name)
    takes = form.takes(config)
    into = [ours for take in takes for ours in take.targets]
    assert sorted(into) == sorted(meta_network(spec, config).state_dict())
    state = redraw(spec.network(config)).state_dict()
    for take in takes:
        assert form.plain(form.full(take.name)) == take.name
        stored = take.to_stored(state)
        assert tuple(stored.shape) == take.shape
        for ours, part in take.from_stored(stored):
            assert torch.allclose(part, state[ours], rtol=0, atol=1e-6 * take.plus), (
                "a gain less 1 is rounded"
            )


# ------------------------------------------------------------------------------------------------------- refused


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("family", "changes", "words"),
    [
        (
            "seq2seq",
            {},
            r"model is a seq2seq, which has no Hugging Face format\. Families that are written: albert, bert, bigbird, bloom, deberta, gemma, gpt, gpt_neo, gpt_oss, llama, modernbert, mpnet, neox, t5, transformer, vit\.",
        ),
        ("transformer", {}, "No Hugging Face format holds a transformer of this shape"),
        ("albert", {"shared": "attention"}, "No Hugging Face format holds a albert of this shape"),
        ("gpt", {"order": "post"}, "No Hugging Face format holds a gpt of this shape"),
        (
            "gpt",
            {"order": "post", "d_ff": 132, "activation": "gelu"},
            "No Hugging Face format holds a gpt of this shape",
        ),
    ],
)
def test_what_has_no_format_is_refused(tmp_path, family, changes, words):
    with pytest.raises(InputError, match=words) as caught:
        export.export_model(made(tmp_path / "model", family, **changes), tmp_path / "out")
    assert all(part.endswith(".") for part in (caught.value.wrong, caught.value.rule, caught.value.remedy))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("there", ["a file", "a folder with a file"])
def test_nothing_is_written_over(tmp_path, there):
    out = tmp_path / "out"
    if there == "a file":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"'out' exists and is not empty\."):
        export.export_model(made(tmp_path / "model"), out)
    assert (out if out.is_file() else out / "mine.txt").read_text() == "mine"


def test_an_empty_folder_is_filled_and_a_missing_parent_made(tmp_path):
    model = made(tmp_path / "model")
    (tmp_path / "out").mkdir()
    for out in (tmp_path / "out", tmp_path / "far" / "away"):
        written = sorted(path.name for path in export.export_model(model, out).iterdir())
        assert written == [
            "config.json",
            "model.safetensors",
            "special_tokens_map.json",
            "tokenizer.json",
            "tokenizer_config.json",
        ]
        assert sorted(path.name for path in out.parent.iterdir() if path.name.startswith(".")) == []


def test_numbers_that_float16_cannot_hold_leave_nothing_behind(tmp_path):
    model = made(tmp_path / "model")
    model.network.masked_lm.bias[3] = 1e6
    with pytest.raises(InputError, match=r"'cls\.predictions\.bias' does not fit into float16"):
        export.export_model(model, tmp_path / "out", "float16")
    assert not (tmp_path / "out").exists()
    assert export.export_model(model, tmp_path / "out").is_dir()


@pytest.mark.slow
def test_the_command(tmp_path, capsys):
    made(tmp_path / "model")
    assert export.main([str(tmp_path / "model"), str(tmp_path / "out"), "--dtype", "float16"]) == 0
    assert "saved" in capsys.readouterr().out
    assert open_model(tmp_path / "out").family == "bert"
    assert export.main([str(tmp_path / "model"), str(tmp_path / "out")]) == 2
    assert "'out' exists and is not empty." in capsys.readouterr().err
    assert export.main(["no-such-model", str(tmp_path / "other")]) == 2
    assert "There is no model" in capsys.readouterr().err
