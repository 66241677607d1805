"""BERT folders written by the transformers library give its numbers, path by path, in every form they come in."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from parity import (
    SAME,
    SWAPS,
    alike,
    by_head,
    first_divergence,
    narrowed,
    of_row,
    redraw,
    swapped,
    variant,
    watched,
)
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    BertTokenizer,
)

from core import masks
from core.checkpoints import open_model
from core.data.passages import framed, padded
from core.errors import InputError
from core.model import Model
from core.models import Batch
from core.text.learn import BERT_SPECIAL, wordpiece
from viz.course.bert.sentence_pairs.maths.next_sentence import negative_logs

TEXT, PAIR = "The animal didn't [MASK] the street.", "It was too tired, and the café was closed!"
TEXTS, PAIRS = [TEXT, "She has a white car."], [PAIR, None]
LINES = [TEXT.replace("[MASK]", "cross"), PAIR, "She has a white car.", "Once upon a time"]


@pytest.fixture(scope="module")
def backend():
    return wordpiece(LINES * 3, 97)


@pytest.fixture(scope="module")
def bert(backend):
    config = BertConfig(
        num_hidden_layers=3,
        num_attention_heads=3,
        hidden_size=33,
        intermediate_size=41,
        max_position_embeddings=61,
        vocab_size=backend.get_vocab_size() + 2,
        attn_implementation="eager",
        layer_norm_eps=3e-4,
    )
    return redraw(BertForPreTraining(config))


@pytest.fixture(scope="module")
def written(bert, backend, tmp_path_factory):
    """The folder as the library saves it, with the tokenizer beside."""
    return saved(bert, backend, tmp_path_factory.mktemp("written") / "model")


def saved(model, backend, folder, **options):
    model.save_pretrained(folder, **options)
    backend.save(str(folder / "tokenizer.json"))
    return folder


# ------------------------------------------------------------------------------- the other side, value by value


def reference(model, runs):
    """For each run every value of the other implementation under our path names, (..) without the batch axis."""
    body, heads = model.bert, by_head(model.config.num_attention_heads)
    embed, words = body.embeddings, model.cls.predictions
    with watched() as (found, keep), torch.no_grad():
        keep(embed.word_embeddings, "embed.token")
        keep(embed.token_type_embeddings, "embed.segment")
        keep(embed.position_embeddings, "embed.position")
        keep(embed.LayerNorm, "embed.sum", before=True)
        keep(embed, "embed.out")
        for i, block in enumerate(body.encoder.layer):
            here, attention = f"layer.{i}", block.attention
            keep(block, f"{here}.resid_in", before=True)
            for name, part in (
                ("q", attention.self.query),
                ("k", attention.self.key),
                ("v", attention.self.value),
            ):
                keep(part, f"{here}.self_attn.{name}", heads)
            keep(attention.output.dense, f"{here}.self_attn.heads", heads, before=True)
            keep(attention.output.dense, f"{here}.self_attn.out")
            keep(attention.output.LayerNorm, f"{here}.resid_mid", before=True)
            keep(attention, f"{here}.norm1.out")
            keep(block.intermediate.dense, f"{here}.ffn.pre")
            keep(block.output.dense, f"{here}.ffn.act", before=True)
            keep(block.output.dense, f"{here}.ffn.out")
            keep(block.output, f"{here}.norm2.out")
            keep(block, f"{here}.resid_out")
        keep(words.transform.dense, "masked_lm.pre")
        keep(words.transform.LayerNorm, "masked_lm.act", before=True)
        keep(words.transform, "masked_lm.norm.out")
        keep(body.pooler.dense, "pooler.pre")
        keep(body.pooler, "pooler.out")
        real = torch.tensor([[int(place < run.side.n_real) for place in range(len(run.ids))] for run in runs])
        ids, segments = (torch.tensor([getattr(run, name) for run in runs]) for name in ("ids", "segments"))
        out = model(
            ids,
            attention_mask=real,
            token_type_ids=segments,
            output_attentions=True,
            output_hidden_states=True,
        )
    found |= {"logits": out.prediction_logits, "next_sentence": out.seq_relationship_logits}
    return [of_row(found, out, row) for row in range(len(runs))]


def faulty(opened, model, **options):
    run = opened.run(TEXT, pair=PAIR, **options)
    return first_divergence(run, reference(model, [run])[0])


def agree(folder, model, tolerance=SAME, heads=("logits", "pooled", "next_sentence")):
    """One text, a pair, and both in a padded batch: the same numbers; the outputs are those of these heads."""
    opened = open_model(folder)
    assert tuple(opened.outputs) == heads
    one, two, batch = opened.run(TEXT), opened.run(TEXT, pair=PAIR), opened.run_many(TEXTS, pairs=PAIRS)
    assert set(two.segments) == {0, 1} and batch[1].side.n_real < len(batch[1].ids)
    others = [*reference(model, [one]), *reference(model, [two]), *reference(model, batch)]
    for run, other in zip([one, two, *batch], others, strict=True):
        alike(run, other, tolerance)
        for name in heads:
            path = "pooler.out" if name == "pooled" else name
            assert getattr(run, name).shape == other[path].shape
            assert np.abs(getattr(run, name) - other[path]).max() <= tolerance
        allowed = np.arange(len(run.ids)) < run.side.n_real
        assert (run.attention().allowed == np.broadcast_to(allowed, run.attention().weights.shape)).all()
    return opened


# ------------------------------------------------------------------------------------------- as the library saves


def test_bert_gives_the_same_numbers_at_every_path(written, bert):
    opened = agree(written, bert)
    assert (opened.family, opened.config.activation, opened.config.eps, opened.config.n_segments) == (
        "bert",
        "gelu",
        3e-4,
        2,
    )
    tokenizer = opened.tokenizer
    assert (tokenizer.pad, tokenizer.start, tokenizer.end, tokenizer.mask) == (0, 2, 3, 4)
    assert opened.run(TEXT, pair=PAIR).tokens[:4] == ("[CLS]", "the", "animal", "didn")


def test_float32_weights_are_taken_over_bit_by_bit(written, bert):
    ours, theirs = open_model(written).network, bert.bert.encoder.layer[1]
    assert torch.equal(ours.layers[1].self_attn.to_k.weight, theirs.attention.self.key.weight)
    assert torch.equal(ours.layers[1].norm1.bias, theirs.attention.output.LayerNorm.bias)
    assert torch.equal(ours.masked_lm.bias, bert.cls.predictions.bias)


# ------------------------------------------------------------------------------------ faults the comparison must see


def test_a_wrong_scaling_is_seen(written, bert, monkeypatch):
    monkeypatch.setattr("core.layers.attention.math.sqrt", lambda value: value)
    assert faulty(open_model(written), bert).startswith("layer.0.self_attn.pattern")


def test_a_causal_mask_is_seen(written, bert, monkeypatch):
    padding = masks.not_padding
    monkeypatch.setattr("core.masks.not_padding", lambda real: padding(real) & masks.causal(real.shape[1]))
    assert faulty(open_model(written), bert).startswith("layer.0.self_attn.pattern")


def test_padding_that_is_read_is_seen(written, bert, monkeypatch):
    monkeypatch.setattr("core.masks.not_padding", lambda real: torch.ones_like(real)[:, None, None])
    runs = open_model(written).run_many(TEXTS, pairs=PAIRS)
    long, short = (
        first_divergence(run, other) for run, other in zip(runs, reference(bert, runs), strict=True)
    )
    assert long is None
    assert short.startswith("layer.0.self_attn.pattern")


def test_segments_that_are_ignored_are_seen(written, bert, monkeypatch):
    batch = Model._batch
    monkeypatch.setattr(Model, "_batch", lambda *given: replace(batch(*given), segments=None))
    opened = open_model(written)
    assert faulty(opened, bert).startswith("embed.segment")
    run = opened.run(TEXT)
    assert first_divergence(run, reference(bert, [run])[0]) is None  # one text alone cannot tell


MORE_SWAPS = {
    "layer.0.self_attn.k": ("layers.0.self_attn.to_k.weight", "layers.0.self_attn.to_v.weight"),
    "layer.1.norm1.out": ("layers.1.norm1.weight", "layers.1.norm2.weight"),
    "embed.out": ("embed.norm.bias", "masked_lm.norm.bias"),
    "masked_lm.pre": ("masked_lm.to_hidden.weight", "pooler.weight"),
    "masked_lm.norm.out": ("masked_lm.norm.weight", "masked_lm.norm.bias"),
}


@pytest.mark.parametrize(("path", "names"), (SWAPS | MORE_SWAPS).items())
def test_swapped_parameters_are_seen_where_they_act(written, bert, path, names):
    assert faulty(swapped(open_model(written), *names), bert).startswith(path + ":")


@pytest.mark.parametrize(
    ("name", "change", "path"),
    [
        ("to_next_sentence.weight", lambda value: value.flip(0), "next_sentence"),
        ("to_next_sentence.bias", lambda value: value.flip(0), "next_sentence"),
        ("masked_lm.bias", torch.zeros_like, "logits"),
        ("embed.segment.weight", lambda value: value.flip(0), "embed.segment"),
        ("embed.position.weight", lambda value: value.roll(1, 0), "embed.position"),
        ("layers.0.self_attn.to_out.weight", lambda value: value.T, "layer.0.self_attn.out"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_changed_parameter_is_seen_where_it_acts(written, bert, name, change, path):
    opened = open_model(written)
    state = opened.network.state_dict()
    opened.network.load_state_dict(state | {name: change(state[name]).clone()})
    assert faulty(opened, bert).startswith(path + ":")


def test_the_other_gelu_is_seen(written, bert, tmp_path):
    assert faulty(open_model(variant(written, tmp_path, config={"hidden_act": "gelu_new"})), bert).startswith(
        "layer.0.ffn.act"
    )


def test_a_norm_without_its_eps_is_seen(written, bert, tmp_path):
    assert faulty(open_model(variant(written, tmp_path, config={"layer_norm_eps": 1e-12})), bert).startswith(
        "embed.out"
    )


# ------------------------------------------------------------------------------------------- the forms folders take


def body(state):
    return {name.removeprefix("bert."): value for name, value in state.items() if not name.startswith("cls.")}


def without_prefix(state):
    return {name.removeprefix("bert."): value for name, value in state.items()}


def repeated(state):
    table = next(value for name, value in state.items() if name.endswith("word_embeddings.weight"))
    return state | {
        "cls.predictions.decoder.weight": table,
        "cls.predictions.decoder.bias": state["cls.predictions.bias"],
    }


def with_weight_alone(state):
    return {name: value for name, value in repeated(state).items() if name != "cls.predictions.decoder.bias"}


def with_old_buffers(state):
    return state | {"bert.embeddings.position_ids": torch.arange(61)[None]}


def with_bare_old_buffers(state):
    return without_prefix(state) | {"embeddings.position_ids": torch.arange(61)[None]}


def with_old_norms(state):
    old = {".weight": ".gamma", ".bias": ".beta"}
    return {
        name.replace(end, old[end]) if "LayerNorm" in name else name: value
        for name, value in state.items()
        for end in (name[name.rindex(".") :],)
    }


@pytest.mark.parametrize(
    "change",
    [
        without_prefix,
        repeated,
        with_weight_alone,
        with_old_buffers,
        with_bare_old_buffers,
        with_old_norms,
        lambda state: with_old_norms(with_old_buffers(repeated(state))),
        lambda state: repeated(without_prefix(state)),
    ],
    ids=[
        "no prefix",
        "decoder repeated",
        "its weight alone",
        "old buffers",
        "no prefix, old buffers",
        "gamma and beta",
        "as of 2019",
        "no prefix, decoder repeated",
    ],
)
def test_names_vary(written, bert, tmp_path, change):
    agree(variant(written, tmp_path, change), bert)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "absent"},
        {
            "type_vocab_size": 2,
            "position_embedding_type": "absolute",
            "is_decoder": False,
            "chunk_size_feed_forward": 2,
        },
        {
            "hidden_act": "gelu_python",
            "auto_map": {"AutoModel": "evil.py"},
            "_attn_implementation": "evil/kernel",
        },
        {
            "hidden_act": None,
            "tie_word_embeddings": "absent",
            "torch_dtype": "float7",
            "bos_token_id": 9,
            "eos_token_id": 9,
        },
        {
            "pad_token_id": "absent",
            "gradient_checkpointing": False,
            "id2label": {"0": "a"},
            "classifier_dropout": None,
        },
    ],
)
def test_configs_vary(written, bert, tmp_path, config):
    assert agree(variant(written, tmp_path, config=config), bert).tokenizer.end == 3


@pytest.mark.parametrize(
    ("theirs", "ours"), [("gelu_new", "gelu_tanh"), ("gelu_pytorch_tanh", "gelu_tanh"), ("relu", "relu")]
)
def test_activations_vary(bert, backend, tmp_path, theirs, ours):
    config = copy.deepcopy(bert.config)
    config.hidden_act = theirs
    other = BertForPreTraining(config).eval()
    other.load_state_dict(bert.state_dict())
    assert agree(saved(other, backend, tmp_path / "other"), other).config.activation == ours


def test_shards(bert, backend, tmp_path):
    folder = saved(bert, backend, tmp_path / "shards", max_shard_size="40KB")
    assert not (folder / "model.safetensors").exists()
    assert len(list(folder.glob("*.safetensors"))) > 2
    agree(folder, bert)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_number_formats_vary(written, bert, tmp_path, dtype):
    agree(*narrowed(written, tmp_path, bert, dtype))


@pytest.mark.parametrize(
    ("kind", "heads", "unused"),
    [
        (BertForMaskedLM, ("logits",), ()),
        (BertForNextSentencePrediction, ("pooled", "next_sentence"), ()),
        (BertForSequenceClassification, ("pooled",), ("classifier.bias", "classifier.weight")),
        (BertForTokenClassification, (), ("classifier.bias", "classifier.weight")),
        (BertForQuestionAnswering, (), ("qa_outputs.bias", "qa_outputs.weight")),
        (BertModel, ("pooled",), ()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_class_of_the_library_opens_with_the_heads_it_has(
    bert, backend, tmp_path, caplog, kind, heads, unused
):
    caplog.set_level("INFO", "core.checkpoints")
    other = kind(copy.deepcopy(bert.config))
    state = bert.bert.state_dict() if kind is BertModel else bert.state_dict()
    missing, _ = other.load_state_dict(state, strict=False)
    assert sorted(missing) == sorted(unused)
    opened = agree(saved(other, backend, tmp_path / "model"), bert, heads=heads)
    assert (f"not used: {', '.join(unused)}" in caplog.text) == bool(unused)
    run = opened.run(TEXT, pair=PAIR)
    for name in {"logits", "pooled", "next_sentence"} - set(heads):
        with pytest.raises(InputError, match="This checkpoint has no") as caught:
            getattr(run, name)
        assert all(
            part.endswith((".", ")")) for part in (caught.value.wrong, caught.value.rule, caught.value.remedy)
        )


# ------------------------------------------------------------------------------------------------ refused by name


def less(*names):
    return lambda state: {name: value for name, value in state.items() if name not in names}


def heads_of_words_without(state):
    kept = {name: value for name, value in state.items() if not name.startswith("cls.predictions.")}
    return kept | {"cls.predictions.decoder.weight": state["bert.embeddings.word_embeddings.weight"]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (less("cls.predictions.bias"), r"missing: cls\.predictions\.bias\."),
        (
            less("cls.predictions.transform.dense.weight"),
            r"missing: cls\.predictions\.transform\.dense\.weight\.",
        ),
        (less("cls.seq_relationship.bias"), r"missing: cls\.seq_relationship\.bias\."),
        (less("bert.pooler.dense.bias"), r"missing: pooler\.dense\.bias\."),
        (
            less("bert.pooler.dense.weight", "bert.pooler.dense.bias"),
            r"missing: pooler\.dense\.weight, pooler\.dense\.bias\.",
        ),
        (heads_of_words_without, r"missing: cls\.predictions\.transform\.dense\.weight"),
        (lambda state: state | {"bert.cls.x": torch.ones(2)}, r"left over: bert\.cls\.x"),
        (lambda state: state | {"cls.other.weight": torch.ones(2)}, r"left over: cls\.other\.weight"),
        (
            lambda state: (
                repeated(state)
                | {"cls.predictions.decoder.weight": repeated(state)["cls.predictions.decoder.weight"] + 1}
            ),
            r"'cls\.predictions\.decoder\.weight' differs from 'embeddings\.word_embeddings\.weight'",
        ),
        (
            lambda state: (
                repeated(state) | {"cls.predictions.decoder.bias": state["cls.predictions.bias"] + 1}
            ),
            r"'cls\.predictions\.decoder\.bias' differs from 'cls\.predictions\.bias'",
        ),
        (
            lambda state: state | {"embeddings.LayerNorm.weight": torch.ones(33)},
            r"'embeddings\.LayerNorm\.weight' is stored twice",
        ),
        (
            lambda state: state | {"bert.embeddings.LayerNorm.gamma": torch.ones(33)},
            r"'embeddings\.LayerNorm\.weight' is stored twice",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(written, tmp_path, change, words):
    with pytest.raises(InputError, match=words):
        open_model(variant(written, tmp_path, change))


@pytest.mark.parametrize(
    "config",
    [
        {"position_embedding_type": "relative_key"},
        {"position_embedding_type": "relative_key_query"},
        {"is_decoder": True},
        {"add_cross_attention": True},
        {"hidden_act": "silu"},
        {"tie_word_embeddings": False},
        {"type_vocab_size": 0},
        {"layer_norm_eps": 0},
        {"quantization_config": {"bits": 4}},
    ],
    ids=lambda config: next(iter(config)),
)
def test_arithmetic_that_is_not_implemented_is_refused_by_name(written, tmp_path, config):
    with pytest.raises(InputError, match=f"config.json: {next(iter(config))} is"):
        open_model(variant(written, tmp_path, config=config))


def test_a_body_that_is_not_tied_has_nothing_to_tie(written, bert, tmp_path):
    agree(variant(written, tmp_path, body, {"tie_word_embeddings": False}), bert, heads=("pooled",))


# -------------------------------------------------------------------------------------------------- the tokenizer

SAMPLES = [
    TEXT.replace("[MASK]", "cross"),
    PAIR,
    "  Two  spaces\n",
    "É e\u0301 日本 한국어 👩‍👩‍👧",
    "[mask] typed, x\u0000y",
    "a" * 101,
    "white-car's",
]


def with_words_alone(written, backend, tmp_path, said=None, words=None):
    """The folder with vocab.txt instead of tokenizer.json."""
    folder = variant(written, tmp_path)
    (folder / "tokenizer.json").unlink()
    vocab = backend.get_vocab()
    (folder / "vocab.txt").write_text(
        "\n".join(words or sorted(vocab, key=vocab.__getitem__)) + "\n", encoding="utf-8"
    )
    if said is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(said))
    return folder


def test_a_vocabulary_without_a_tokenizer_json(written, bert, backend, tmp_path):
    opened, whole = agree(with_words_alone(written, backend, tmp_path), bert), open_model(written)
    for text in (*SAMPLES, TEXT):
        assert opened.tokenizer.encode(text) == whole.tokenizer.encode(text)
        assert (
            opened.tokenizer.encode(text, special=True).ids == whole.tokenizer.encode(text, special=True).ids
        )


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"do_lower_case": True, "model_max_length": 10**30},
        {"do_lower_case": False},
        {"do_lower_case": None},
        {"do_lower_case": False, "strip_accents": True},
        {"strip_accents": False},
        {"tokenize_chinese_chars": False},
    ],
    ids=str,
)
def test_a_vocabulary_is_read_as_the_library_reads_it(written, backend, tmp_path, said):
    words = [*sorted(backend.get_vocab(), key=backend.get_vocab().__getitem__), "The", "日"]
    words[40:42] = ["É", "é"]
    folder = with_words_alone(written, backend, tmp_path, said, words)
    lower = True if said is None or said.get("do_lower_case") is None else said["do_lower_case"]
    rest = {
        name: value
        for name, value in (said or {}).items()
        if name not in ("do_lower_case", "model_max_length")
    }
    other = BertTokenizer(
        vocab={word: index for index, word in enumerate(words)}, do_lower_case=lower, **rest
    )
    ours = open_model(folder).tokenizer
    for text in SAMPLES:
        assert list(ours.encode(text).ids) == other.encode(text, add_special_tokens=False)


def test_the_library_frames_a_pair_alike(written, backend, tmp_path):
    folder = with_words_alone(
        written, backend, tmp_path, {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    )
    run, other = open_model(folder).run(TEXT, pair=PAIR), BertTokenizer.from_pretrained(folder)(TEXT, PAIR)
    assert list(run.ids) == other["input_ids"]
    assert list(run.segments) == other["token_type_ids"]


def test_marks_that_the_file_does_not_call_special_are_found_by_name(written, bert, tmp_path):
    folder = variant(written, tmp_path)
    held = json.loads((folder / "tokenizer.json").read_text())
    held["added_tokens"], held["post_processor"] = [], None
    (folder / "tokenizer.json").write_text(json.dumps(held))
    assert set(agree(folder, bert).tokenizer.special_tokens) == set(BERT_SPECIAL) - {"[UNK]"}


def test_a_tokenizer_without_marks_is_refused(written, tmp_path):
    folder = variant(written, tmp_path)
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text().replace("[SEP]", "[END]"))
    with pytest.raises(InputError, match=r"no marks to put around a text\. .* needs \[CLS\] and \[SEP\]\."):
        open_model(folder)


def test_the_loss_of_pre_training(written, bert):
    """C085."""
    model = open_model(written)
    rows = [
        framed(model.tokenizer, *(np.array(model.tokenizer.encode(text).ids) for text in pair))
        for pair in ((TEXTS[1], PAIR), (PAIR, LINES[3]))
    ]
    ids, segments, real = (torch.from_numpy(array) for array in padded(rows, 0))
    labels = torch.where(torch.arange(ids.shape[1]) % 3 == 1, ids, -100).masked_fill(~real, -100)
    follow = torch.tensor([True, False])
    with torch.no_grad():
        words, pairs, chances = negative_logs(
            model.network, Batch(ids=ids, real=real, segments=segments), labels, follow
        )
        theirs = bert(
            input_ids=ids,
            attention_mask=real.long(),
            token_type_ids=segments,
            labels=labels,
            next_sentence_label=(~follow).long(),
        )
    np.testing.assert_allclose(float(words.mean() + pairs.mean()), float(theirs.loss), rtol=1e-5)
    np.testing.assert_allclose(
        chances.numpy(), theirs.seq_relationship_logits.softmax(-1)[:, 0].numpy(), rtol=1e-4
    )
