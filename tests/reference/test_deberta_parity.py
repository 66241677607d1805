"""Folders of DeBERTa v2 and v3 give the numbers of the transformers library, and a score is the sum of its parts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, redraw, variant
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForMaskedLM, DebertaV2Config
from transformers import DebertaV2ForSequenceClassification as TUNED
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

from core.analysis.arithmetic.cell import lines_of, row_of
from core.analysis.attention.lenses import log_sums
from core.analysis.attribution.logit_attribution import attribute
from core.analysis.attribution.target_token import Asked
from core.checkpoints import open_model
from core.errors import InputError
from core.layers.relative_attention import log_buckets
from core.text.learn import wordpiece
from core.tools import export

TEXT, SHORT = "The animal didn't [MASK] the street.", "She has a white car."
SIZES = {
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "hidden_size": 33,
    "intermediate_size": 41,
    "max_position_embeddings": 61,
    "layer_norm_eps": 3e-4,
    "relative_attention": True,
    "pad_token_id": 0,
    "attn_implementation": "eager",
}
THIRD = {
    "pos_att_type": "p2c|c2p",
    "position_buckets": 4,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
    "position_biased_input": False,
}
WORDS, BODY, SLOW = AutoModelForMaskedLM, AutoModel, pytest.mark.slow
KINDS = {
    "deberta-v3": (WORDS, THIRD),
    "deberta-v3-microsofts-head": (WORDS, {**THIRD, "legacy": False, "max_relative_positions": 9}),
    "deberta-own-maps": (
        WORDS,
        {"pos_att_type": ["c2p", "p2c"], "type_vocab_size": 2, "max_relative_positions": 5},
    ),
    "deberta-one-part": (WORDS, {**THIRD, "pos_att_type": ["c2p"], "num_attention_heads": 1}),
    "deberta-other-part": (BODY, {"pos_att_type": "p2c", "hidden_act": "relu", "position_buckets": 6}),
}


@pytest.fixture(scope="module")
def backend():
    return wordpiece([TEXT.replace("[MASK]", "cross"), SHORT, "Once upon a time"] * 3, 97)


def made(kind, backend, changes, folder):
    config = DebertaV2Config(**{**SIZES, "vocab_size": backend.get_vocab_size() + 9, **changes})
    model = redraw(kind(config) if kind is TUNED else kind.from_config(config))
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return model


@pytest.fixture(
    scope="module",
    params=[name if name == "deberta-v3" else pytest.param(name, marks=SLOW) for name in KINDS],
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
            n, last = run.side.n_real, f"layer.{opened.config.n_layers - 1}.resid_out"
            hidden = np.stack([state[row].numpy() for state in out.hidden_states[:-1]])
            patterns = np.stack([pattern[row].numpy() for pattern in out.attentions])
            assert np.abs(run.hidden()[: len(hidden), :n] - hidden[:, :n]).max() <= SAME
            assert np.abs(run.trace[last][:n] - out.hidden_states[-1][row, :n].numpy()).max() <= SAME
            assert np.abs(run.attention().weights - patterns[:, :, :n, :n]).max() <= SAME
            if "logits" in opened.outputs:
                assert np.abs(run.logits[:n] - out.logits[row, :n].numpy()).max() <= SAME


def test_the_same_numbers_alone_and_in_a_padded_batch(written):
    folder, model = written
    opened = open_model(folder)
    agree(opened, model)
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters()) - (
        opened.config.n_vocab
        if "cls.predictions.decoder.bias" in load_file(folder / "model.safetensors")
        else 0
    )


def test_what_is_exported_opens_there_and_here(written, tmp_path):
    opened = open_model(written[0])
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    kind = WORDS if "logits" in opened.outputs else BODY
    agree(again, kind.from_pretrained(tmp_path / "out").eval())


def test_a_score_is_the_sum_of_its_parts_and_that_is_on_screen(written):
    run = open_model(written[0]).run(TEXT)
    _, scale, *added = run.model.network.layers[1].self_attn.score_terms()
    added = [term.name for term in added]
    parts = [run.trace[f"layer.1.self_attn.{part}"] for part in ("content", *added)]
    np.testing.assert_allclose(sum(parts), run.trace["layer.1.self_attn.scores"], atol=1e-5)
    assert len(parts) > 1 and all(np.ptp(part) > 0 for part in parts)
    row, lines = row_of(run, "self", 1, 0, 3), lines_of(run, "self", 1, 0, 3, 2)
    assert row.residue < 1e-4 and [*row.added] == added
    assert scale.where == f"d = {(1 + len(added)) * row.d_head}"
    assert lines.residue < 1e-3 and all(part in lines for part in added)
    assert log_sums(run, "self", 1, 0) is not None
    if "logits" in run.model.outputs:
        shares = attribute(run, Asked(3, 7, 9))
        assert shares.total == pytest.approx(shares.logit, abs=1e-3)


@pytest.mark.parametrize(("n", "furthest"), [(4, 16), (6, 61), (32, 128), (256, 512)])
def test_the_buckets_are_the_librarys(n, furthest):
    away = torch.arange(-2 * furthest, 2 * furthest)
    assert torch.equal(
        log_buckets(away, n=n, furthest=furthest), make_log_bucket_position(away, n, furthest).long()
    )


def test_a_tuned_one_and_one_without_a_kind_are_read(backend, tmp_path):
    tuned = made(TUNED, backend, THIRD, tmp_path / "tuned")
    agree(open_model(tmp_path / "tuned"), tuned.deberta)
    model = made(WORDS, backend, THIRD, tmp_path / "plain")
    agree(
        open_model(variant(tmp_path / "plain", tmp_path, config={"model_type": "absent", "dtype": "absent"})),
        model,
    )


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"relative_attention": False}, "relative_attention"),
        ({"conv_kernel_size": 3}, "conv_kernel_size is 3"),
        ({"embedding_size": 7}, "embedding_size is 7"),
        ({"attention_head_size": 7}, "attention_head_size is 7"),
        ({"pos_att_type": "c2p|p2p"}, "pos_att_type is"),
        ({"pos_att_type": []}, "to_place=False and from_place=False"),
        ({"pos_att_type": 3}, "pos_att_type is 3"),
        ({"norm_rel_ebd": "batch_norm"}, "norm_rel_ebd is 'batch_norm'"),
        ({"position_buckets": 3}, "position_buckets=3"),
        ({"position_buckets": -2}, "position_buckets is -2"),
        ({"position_buckets": 6}, "has the shape"),
        ({"share_att_key": False}, "missing: encoder.layer.0.attention.self.pos_key_proj.weight"),
        ({"position_biased_input": True}, "missing: embeddings.position_embeddings.weight"),
        ({"is_decoder": True}, "is_decoder"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(backend, tmp_path, change, said):
    made(WORDS, backend, THIRD, tmp_path / "good")
    with pytest.raises(InputError) as error:
        open_model(variant(tmp_path / "good", tmp_path, config=change))
    assert said in str(error.value)
