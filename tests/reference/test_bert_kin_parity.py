"""Folders of the kinds with BERT's layers give the numbers of the transformers library: RoBERTa's kin and DistilBERT."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, redraw, variant
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    CamembertConfig,
    DistilBertConfig,
    ElectraConfig,
    MPNetConfig,
    RobertaConfig,
    XLMRobertaConfig,
)

from core.analysis.arithmetic.cell import lines_of, row_of
from core.checkpoints import open_model
from core.errors import InputError
from core.text.learn import wordpiece
from core.tools import export

TEXT, SHORT = "The animal didn't [MASK] the street.", "She has a white car."
LINES = [TEXT.replace("[MASK]", "cross"), SHORT, "Once upon a time"]
BERT = {
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "hidden_size": 33,
    "intermediate_size": 41,
    "max_position_embeddings": 61,
    "layer_norm_eps": 3e-4,
}
DISTIL = {"n_layers": 2, "n_heads": 3, "dim": 33, "hidden_dim": 41, "max_position_embeddings": 61}
WORDS, BODY = AutoModelForMaskedLM, AutoModel
KINDS = {
    "roberta": (WORDS, RobertaConfig, {**BERT, "type_vocab_size": 1}),
    "roberta-body": (BODY, RobertaConfig, {**BERT, "type_vocab_size": 1, "hidden_act": "relu"}),
    "roberta-padding-0": (WORDS, RobertaConfig, {**BERT, "pad_token_id": 0}),
    "roberta-padding-far": (WORDS, RobertaConfig, {**BERT, "pad_token_id": 7, "type_vocab_size": 3}),
    "xlm-roberta": (WORDS, XLMRobertaConfig, {**BERT, "type_vocab_size": 1, "num_hidden_layers": 3}),
    "xlm-roberta-body": (BODY, XLMRobertaConfig, {**BERT, "type_vocab_size": 1}),
    "camembert": (WORDS, CamembertConfig, {**BERT, "type_vocab_size": 1, "num_attention_heads": 1}),
    "electra": (WORDS, ElectraConfig, {**BERT, "embedding_size": 33}),
    "electra-narrow": (WORDS, ElectraConfig, {**BERT, "embedding_size": 7}),
    "electra-narrow-body": (BODY, ElectraConfig, {**BERT, "embedding_size": 7, "hidden_act": "relu"}),
    "electra-body": (BODY, ElectraConfig, {**BERT, "embedding_size": 33, "type_vocab_size": 1}),
    "mpnet": (WORDS, MPNetConfig, BERT),
    "mpnet-body": (BODY, MPNetConfig, {**BERT, "hidden_act": "relu"}),
    "mpnet-deeper": (WORDS, MPNetConfig, {**BERT, "num_hidden_layers": 4, "layer_norm_eps": 1e-12}),
    "mpnet-one-head": (WORDS, MPNetConfig, {**BERT, "num_attention_heads": 1, "num_hidden_layers": 3}),
    "distilbert": (WORDS, DistilBertConfig, DISTIL),
    "distilbert-body": (BODY, DistilBertConfig, {**DISTIL, "sinusoidal_pos_embds": True}),
    "distilbert-relu": (WORDS, DistilBertConfig, {**DISTIL, "activation": "relu"}),
    "distilbert-one-head": (WORDS, DistilBertConfig, {**DISTIL, "n_heads": 1, "n_layers": 3}),
}


@pytest.fixture(scope="module")
def backend():
    return wordpiece(LINES * 3, 97)


@pytest.fixture(scope="module", params=KINDS)
def written(request, backend, tmp_path_factory):
    """A random model of a kind, and its folder as the library saves it, with the tokenizer beside."""
    kind, shape, changes = KINDS[request.param]
    config = shape(**{**changes, "vocab_size": backend.get_vocab_size() + 9})
    torch.manual_seed(0)
    model = redraw(kind.from_config(config, attn_implementation="eager"))
    folder = tmp_path_factory.mktemp("written") / "model"
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder, model


def theirs(model, runs):
    """Hidden states, patterns and logits of the library for texts of one padded batch."""
    real = torch.tensor(
        [[int(place < run.side.n_real) for place in range(len(run.side.ids))] for run in runs]
    )
    ids = torch.tensor([run.side.ids for run in runs])
    pad = model.config.pad_token_id or 0
    with torch.no_grad():
        return model(
            torch.where(real > 0, ids, pad),
            attention_mask=real,
            output_attentions=True,
            output_hidden_states=True,
        )


def agree(opened, model):
    batch = opened.run_many([TEXT, SHORT])
    assert batch[1].side.n_real < len(batch[1].side.ids)
    for runs in ([opened.run(TEXT)], batch):
        out = theirs(model, runs)
        for row, run in enumerate(runs):
            n = run.side.n_real
            hidden = np.stack([state[row].numpy() for state in out.hidden_states[:-1]])
            patterns = np.stack([pattern[row].numpy() for pattern in out.attentions])
            assert np.abs(run.hidden()[: len(hidden), :n] - hidden[:, :n]).max() <= SAME
            assert np.abs(run.attention().weights - patterns[:, :, :n, :n]).max() <= SAME
            if "logits" in opened.outputs:
                assert np.abs(run.logits[:n] - out.logits[row, :n].numpy()).max() <= SAME
            else:
                last = run.trace[f"layer.{opened.config.n_layers - 1}.resid_out"]
                assert np.abs(last[:n] - out.last_hidden_state[row, :n].numpy()).max() <= SAME


@pytest.mark.quick(3)
def test_the_same_numbers_alone_and_in_a_padded_batch(written):
    folder, model = written
    opened = open_model(folder)
    agree(opened, model)
    kind = model.config.model_type
    narrow = getattr(model.config, "embedding_size", model.config.hidden_size) < model.config.hidden_size
    assert opened.family == ("mpnet" if kind == "mpnet" else "albert" if narrow else "bert")
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters())
    segments = kind not in ("mpnet", "distilbert")
    assert ("embed.segment" in opened.run(SHORT).trace) == segments


@pytest.mark.quick(3)
def test_what_is_exported_opens_there_and_here(written, tmp_path):
    folder, model = written
    opened = open_model(folder)
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    kind = WORDS if "logits" in opened.outputs else BODY
    loaded = kind.from_pretrained(tmp_path / "out", attn_implementation="eager").eval()
    alike = {"xlm-roberta": "roberta", "camembert": "roberta"}
    if model.config.model_type == "electra":
        alike = {"electra": opened.family}
    assert loaded.config.model_type == alike.get(model.config.model_type, model.config.model_type)
    agree(again, loaded)


@pytest.mark.parametrize(
    "kind", [RobertaConfig, CamembertConfig, XLMRobertaConfig, MPNetConfig, DistilBertConfig]
)
def test_a_typed_name_of_padding_counts_places_as_the_library_does(kind, backend, tmp_path):
    """Typed with special=True, alone and beside a longer text: RoBERTa's kin leave it out when they count, DistilBERT does not."""
    pad = 1 if kind is MPNetConfig else backend.token_to_id("[PAD]")
    name = backend.id_to_token(pad)
    shape = DISTIL if kind is DistilBertConfig else BERT
    model = redraw(
        WORDS.from_config(
            kind(**shape, vocab_size=backend.get_vocab_size() + 9, pad_token_id=pad),
            attn_implementation="eager",
        )
    )
    model.save_pretrained(tmp_path / "model")
    backend.save(str(tmp_path / "model" / "tokenizer.json"))
    opened = open_model(tmp_path / "model")
    for text in (f"She has {name} a white car.", f"{name} She", f"a {name} {name} car"):
        for run in (
            opened.run(text, special=True),
            opened.run_many([text, "She has a white car and a white car."], special=True)[0],
        ):
            assert pad in run.ids
            with torch.no_grad():
                theirs = model(torch.tensor([run.ids])).logits[0].numpy()
            assert np.abs(run.logits - theirs).max() <= SAME


@pytest.fixture(scope="module")
def roberta(backend, tmp_path_factory):
    config = RobertaConfig(**{**BERT, "type_vocab_size": 1, "vocab_size": backend.get_vocab_size() + 9})
    folder = tmp_path_factory.mktemp("roberta") / "model"
    redraw(WORDS.from_config(config)).save_pretrained(folder)
    text = backend.to_str()
    for old, new in {"[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}.items():
        text = text.replace(old, new)
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    return folder


def test_the_arithmetic_of_a_biased_score_is_that_of_the_run(backend, tmp_path):
    config = MPNetConfig(**BERT, vocab_size=backend.get_vocab_size() + 9)
    redraw(WORDS.from_config(config)).save_pretrained(tmp_path / "model")
    backend.save(str(tmp_path / "model" / "tokenizer.json"))
    run = open_model(tmp_path / "model").run(TEXT)
    row = row_of(run, "self", 1, 2, 3)
    assert (
        row.residue < 1e-4
        and [term.name for term in row.terms] == ["product", "scale", "bias"]
        and np.ptp(row.added["bias"]) > 0
    )
    lines = lines_of(run, "self", 1, 2, 3, 1)
    assert lines.residue < 1e-4 and {"product", "scale", "bias"} <= {line.name for line in lines.lines}


def test_its_own_marks_stand_around_a_text(roberta):
    run = open_model(roberta).run("She has a <mask> car.")
    assert (run.tokens[0], run.tokens[-1], "<mask>" in run.tokens) == ("<s>", "</s>", True)


def test_rows_from_the_first_are_seen(roberta):
    opened = open_model(roberta)
    table = opened.network.embed["position"].weight
    position = opened.run(SHORT).trace["embed.position"]
    assert opened.config.n_ctx == 59 and len(table) == 61
    assert np.array_equal(position, table[2 : 2 + len(position)].numpy())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pad_token_id": -1}, "pad_token_id is -1"),
        ({"pad_token_id": 60}, "max_position_embeddings is 61 and pad_token_id is 60"),
        ({"pad_token_id": "1"}, "pad_token_id is '1'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ({"is_decoder": True}, "is_decoder"),
        ({"hidden_act": "gelu_new"}, "hidden_act"),
        ({"type_vocab_size": 10**6}, "type_vocab_size"),
        ({"model_type": "mpnet", "relative_attention_num_buckets": 8}, "relative_attention_num_buckets is 8"),
        ({"model_type": "mpnet", "pad_token_id": 0}, "pad_token_id is 0"),
        ({"model_type": "electra", "embedding_size": 0}, "embedding_size is 0"),
        ({"model_type": "electra", "embedding_size": 10**9}, "embedding_size is 1000000000"),
        ({"model_type": "bert"}, "missing: embeddings.word_embeddings"),
        ({"model_type": "distilbert"}, "missing: embeddings"),
        ({"model_type": "absent", "architectures": ["RobertaPreLayerNormModel"]}, "RobertaPreLayerNorm"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(roberta, tmp_path, change, said):
    with pytest.raises(InputError) as error:
        open_model(variant(roberta, tmp_path, config=change))
    assert said in str(error.value)


def test_a_kind_is_found_by_its_class_or_by_its_tensors(roberta, tmp_path):
    wanted = open_model(roberta)
    unnamed = {"model_type": "absent", "architectures": ["XLMRobertaForMaskedLM"]}
    by_class = open_model(variant(roberta, tmp_path / "class", config=unnamed))
    by_tensors = open_model(
        variant(roberta, tmp_path / "tensors", config={**unnamed, "architectures": "absent"})
    )
    assert wanted.config == by_class.config == by_tensors.config
    assert np.array_equal(by_tensors.run(SHORT).logits, wanted.run(SHORT).logits)


def test_tensors_of_two_kinds_ask_for_the_name(roberta, tmp_path):
    def bare(state):
        return {
            name.removeprefix("roberta."): value for name, value in state.items() if "lm_head" not in name
        }

    unnamed = {"model_type": "absent", "architectures": "absent"}
    with pytest.raises(InputError, match='may be those of bert, roberta.*Write "model_type": "bert"'):
        open_model(variant(roberta, tmp_path, weights=bare, config=unnamed))
