"""What single kinds have beside the rows of `kinds.py`: old configs, tensors that are told apart, faults that are seen."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest
import torch
import transformers as hf
from deep import deep
from kinds import CASES, LATER_GEMMA
from parity import SAME, redraw, variant
from safetensors.torch import load_file
from test_kinds_parity import MADE, SHORT, TARGET, TEXT, agree, open_and_compare, runs_of, side_of
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position
from transformers.models.t5.modeling_t5 import T5Attention

from core.analysis.arithmetic.cell import attention_row
from core.checkpoints import open_model
from core.checkpoints.foreign.llama import LLAMA
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import WeightMapping
from core.errors import InputError
from core.layers.positions import rotate_pairs
from core.layers.relative_attention import RelativeBias, buckets, log_buckets
from core.models.llama import rope_frequencies


def same(folder, assert_same):
    """Check that both folders open with one config and equal numbers."""
    one, other = open_model(folder), open_model(assert_same)
    assert one.config == other.config
    assert np.array_equal(one.run(SHORT).logits, other.run(SHORT).logits)


BERT = "bert, pretraining"
REMOVED = {"rope_parameters": "absent", "layer_types": "absent", "dtype": "absent", "torch_dtype": "float32"}
OLD = {
    "llama": {**REMOVED, "rope_theta": 10000.0, "rope_scaling": None},
    "gpt_neox": {**REMOVED, "rotary_pct": 0.25, "rotary_emb_base": 10000},
    "gemma2": {**REMOVED, "rope_theta": 10000.0, "model_type": "absent"},
    "gemma3, deep": {**REMOVED, "rope_theta": 1e6, "rope_local_base_freq": 1e4, "model_type": "absent"},
    "modernbert": {
        **REMOVED,
        "model_type": "absent",
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 160000.0,
        "local_rope_theta": 10000.0,
    },
    "deberta": {"model_type": "absent", "dtype": "absent"},
    "albert": {"model_type": "absent"},
    "marian": {"model_type": "absent", "architectures": "absent"},
    "bart": {"model_type": "absent", "architectures": "absent"},
    "roberta": {"model_type": "absent", "architectures": ["XLMRobertaForMaskedLM"]},
    "mpnet": {"model_type": "absent", "architectures": "absent"},
}


ODD = {
    "auto_map": {"AutoModel": "evil.py"},
    "_attn_implementation": "evil/kernel",
    "torch_dtype": "float7",
    "anything": [1],
}
OTHER_KEYS = {
    **dict.fromkeys(("n_layer", "n_head", "n_embd", "n_positions"), "absent"),
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "hidden_size": 33,
    "max_position_embeddings": 61,
}
OLD_CONFIGS = [
    *OLD.items(),
    ("gpt2", OTHER_KEYS | {"n_ctx": 61}),
    ("gpt2", {"model_type": "absent"}),
    ("gpt2", {"activation_function": "gelu_pytorch_tanh", **ODD}),
    ("gpt2", {"activation_function": None, "tie_word_embeddings": "absent", **ODD}),
    (BERT, {"model_type": "absent"}),
    (BERT, {"position_embedding_type": "absolute", "is_decoder": False, "chunk_size_feed_forward": 2}),
    (BERT, {"hidden_act": "gelu_python", **ODD}),
    (BERT, {"hidden_act": None, "tie_word_embeddings": "absent", "bos_token_id": 9, "eos_token_id": 9}),
    (BERT, {"pad_token_id": "absent", "id2label": {"0": "a"}, "classifier_dropout": None}),
]


@pytest.mark.quick(5)
@pytest.mark.parametrize(("name", "config"), OLD_CONFIGS)
def test_old_configs_and_such_without_a_kind_say_the_same(name, config, case_of, tmp_path):
    folder, _ = case_of(name)
    same(folder, variant(folder, tmp_path, config=config))


def bare(state):
    return {re.sub(r"^(bert|transformer)\.", "", name): value for name, value in state.items()}


def repeated(state):
    """Add the copies of tied tensors."""
    if "transformer.wte.weight" in state:
        return state | {"lm_head.weight": state["transformer.wte.weight"]}
    return state | {
        "cls.predictions.decoder.weight": state["bert.embeddings.word_embeddings.weight"],
        "cls.predictions.decoder.bias": state["cls.predictions.bias"],
    }


def with_buffers(state):
    """Add the masks and numbers that old files have."""
    if "bert.pooler.dense.bias" in state:
        return state | {"bert.embeddings.position_ids": torch.arange(61)[None]}
    mask = torch.ones(61, 61, dtype=torch.uint8).tril().view(1, 1, 61, 61)
    old = {f"transformer.h.{i}.attn.bias": mask for i in range(3)}
    return state | old | {f"transformer.h.{i}.attn.masked_bias": torch.tensor(-1e4) for i in range(3)}


def with_old_norms(state):
    """Call the gains and shifts of norms gamma and beta."""

    def old(name):
        return name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta")

    return {old(name): value for name, value in state.items()}


def weight_alone(state):
    return {name: value for name, value in repeated(state).items() if not name.endswith("decoder.bias")}


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", ["gpt2", BERT])
@pytest.mark.parametrize(
    "changes",
    [
        [bare],
        [repeated],
        [with_buffers],
        [with_buffers, bare],
        [repeated, bare],
        [weight_alone],
        [repeated, with_buffers, with_old_norms],
    ],
    ids=lambda changes: ", ".join(change.__name__ for change in changes),
)
def test_names_of_tensors_vary(name, changes, case_of, tmp_path):
    folder, _ = case_of(name)

    def change(state):
        for each in changes:
            state = each(state)
        return state

    same(folder, variant(folder, tmp_path, weights=change))


@pytest.mark.quick(2)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", ["gpt2", BERT])
def test_number_formats_vary(name, dtype, case_of, tmp_path):
    folder, model = case_of(name)
    other = variant(folder, tmp_path, lambda state: {key: value.to(dtype) for key, value in state.items()})
    open_and_compare(other, copy.deepcopy(model).to(dtype).float(), side_of(CASES[name]))


@pytest.mark.parametrize("name", deep(["gpt2", BERT], {"gpt2"}))
def test_shards(name, case_of, tmp_path):
    folder, model = case_of(name)
    shards = variant(folder, tmp_path)
    (shards / "model.safetensors").unlink()
    model.save_pretrained(shards, max_shard_size="40KB")
    assert not (shards / "model.safetensors").exists() and len(list(shards.glob("*.safetensors"))) > 2
    same(folder, shards)


def test_the_output_layer_of_a_neox_has_an_older_name(case_of, tmp_path):
    folder, _ = case_of("gpt_neox")

    def named(state):
        return {name.replace("lm_head", "embed_out"): value for name, value in state.items()}

    same(folder, variant(folder, tmp_path, weights=named))


def test_tensors_of_two_kinds_ask_for_the_name(case_of, tmp_path):
    def bare(state):
        return {
            name.removeprefix("roberta."): value for name, value in state.items() if "lm_head" not in name
        }

    unnamed = {"model_type": "absent", "architectures": "absent"}
    with pytest.raises(InputError, match='may be those of bert, roberta.*Write "model_type": "bert"'):
        open_model(variant(case_of("roberta")[0], tmp_path, weights=bare, config=unnamed))


def test_of_a_gemma_with_a_vision_tower_the_text_model_opens_as_the_refusal_says(tmp_path):
    backend = MADE["decoder"]
    text = {**LATER_GEMMA, "vocab_size": backend.get_vocab_size() + 2}
    eyes = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 9}
    config = hf.Gemma3Config(
        text_config=text,
        vision_config={**eyes, "image_size": 28, "patch_size": 14},
        mm_tokens_per_image=4,
        image_token_index=3,
        attn_implementation="eager",
    )
    whole = redraw(hf.Gemma3ForConditionalGeneration(config))
    whole.save_pretrained(tmp_path / "whole")
    with pytest.raises(InputError, match="its kind is gemma3, which is not read") as refused:
        open_model(tmp_path / "whole")
    lines = re.search(r"text = .*\(folder\);", refused.value.remedy)
    assert lines is not None
    exec(lines[0], {"transformers": hf, "model": whole, "folder": tmp_path / "text"})  # as it is told
    backend.save(str(tmp_path / "text" / "tokenizer.json"))
    opened = open_model(tmp_path / "text")
    assert "logits" in opened.outputs
    agree(opened, whole.model.language_model, runs_of(opened, "decoder"))
    run = opened.run(opened.reader.example)
    with torch.no_grad():
        wanted = whole(input_ids=torch.tensor([run.ids])).logits[0].numpy()
    assert np.abs(run.logits - wanted).max() < 1e-5


@pytest.mark.parametrize(
    "tuned",
    deep(
        [hf.DebertaV2ForSequenceClassification, hf.ModernBertForSequenceClassification],
        {hf.ModernBertForSequenceClassification},
    ),
)
def test_the_body_of_a_tuned_one_gives_the_numbers_of_the_library(tuned, tmp_path):
    case = CASES["deberta" if tuned is hf.DebertaV2ForSequenceClassification else "modernbert"]
    backend = MADE["encoder"]
    values = {**case.values, "vocab_size": backend.get_vocab_size() + 9, "attn_implementation": "eager"}
    model = redraw(tuned(case.config(**values)))
    model.save_pretrained(tmp_path)
    backend.save(str(tmp_path / "tokenizer.json"))
    opened = open_model(tmp_path)
    assert "logits" not in opened.outputs
    agree(opened, model.base_model, runs_of(opened, "encoder"))


@pytest.mark.parametrize(
    "name", deep(["roberta", "camembert", "xlm-roberta", "mpnet", "distilbert"], {"roberta", "distilbert"})
)
def test_a_typed_name_of_padding_counts_places_as_the_library_does(name, case_of):
    """Compare with special=True, alone and beside a longer text: RoBERTa's kin count without padding, DistilBERT does not."""
    pad = 1 if name == "mpnet" else MADE["encoder"].token_to_id("[PAD]")
    typed = MADE["encoder"].id_to_token(pad)
    folder, model = case_of(name, pad_token_id=pad)
    opened = open_model(folder)
    for text in (f"She has {typed} a white car.", f"{typed} She", f"a {typed} {typed} car"):
        for run in (
            opened.run(text, special=True),
            opened.run_many([text, "She has a white car and a white car."], special=True)[0],
        ):
            assert pad in run.ids
            with torch.no_grad():
                theirs = model(torch.tensor([run.ids])).logits[0].numpy()
            assert np.abs(run.logits - theirs).max() <= SAME


def test_marks_and_rows_of_a_roberta_are_its_own(case_of, tmp_path):
    folder = variant(case_of("roberta")[0], tmp_path)
    text = (folder / "tokenizer.json").read_text()
    for old, new in {"[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}.items():
        text = text.replace(old, new)
    (folder / "tokenizer.json").write_text(text)
    opened = open_model(folder)
    run = opened.run("She has a <mask> car.")
    assert (run.tokens[0], run.tokens[-1], "<mask>" in run.tokens) == ("<s>", "</s>", True)
    table, position = opened.network.embed["position"].weight, run.trace["embed.position"]
    assert opened.config.n_ctx == 59 and len(table) == 61
    assert np.array_equal(position, table[2 : 2 + len(position)].numpy())


def test_an_output_layer_of_its_own_is_read_where_the_config_does_not_tie_it(case_of, tmp_path):
    folder, model = case_of("t5")
    state = load_file(folder / "model.safetensors")
    own = torch.randn(state["shared.weight"].shape, generator=torch.Generator().manual_seed(3))
    change = {"tie_word_embeddings": False, "scale_decoder_outputs": False}
    apart = variant(folder, tmp_path / "apart", lambda held: {**held, "lm_head.weight": own}, change)
    run = open_model(apart).run(TEXT, target=TARGET)
    with torch.no_grad():
        hidden = model.decoder(
            torch.tensor([run.ids]), encoder_hidden_states=model.encoder(torch.tensor([run.source.ids]))[0]
        )[0]
    assert np.abs(run.logits - (hidden @ own.T)[0].numpy()).max() <= SAME
    with pytest.raises(InputError, match="lm_head"):
        open_model(variant(folder, tmp_path / "tied", lambda held: {**held, "lm_head.weight": own}))


def test_what_a_translator_reads_and_writes_is_framed_as_the_library_does(case_of):
    for name in ("bart", "t5"):  # of a Marian test_opus_folders.py
        folder, model = case_of(name)
        opened, backend = open_model(folder), MADE["two"]
        run = opened.run(TEXT, target=TARGET)
        assert list(run.source.ids) == backend.encode(TEXT).ids
        assert list(run.ids) == [model.config.decoder_start_token_id, *backend.encode(TARGET).ids[:-1]]
        ids = opened.run(SHORT).ids
        with torch.no_grad():
            source = torch.tensor([opened.run(SHORT).source.ids])
            out = model.generate(
                source, max_new_tokens=len(ids) - 1, min_new_tokens=0, do_sample=False, num_beams=1
            )
        assert list(ids) == out[0].tolist()[: len(ids)]


@pytest.mark.parametrize(("n", "furthest"), [(8, 12), (32, 128), (6, 100), (256, 512)])
def test_buckets_are_the_librarys(n, furthest):
    distance = torch.arange(-2 * furthest, 2 * furthest)
    for both in (True, False):
        theirs = T5Attention._relative_position_bucket(distance, both, n, furthest)
        assert torch.equal(buckets(distance, both=both, n=n, furthest=furthest), theirs)
    theirs = make_log_bucket_position(distance, n, furthest).long()
    assert torch.equal(log_buckets(distance, n=n, furthest=furthest), theirs)


TERMS = {
    "gpt_neo": ["product"],
    "t5": ["product", "bias"],
    "mpnet": ["product", "scale", "bias"],
    "gemma2": ["product", "scale", "cap"],
    "gemma3": ["product", "scale"],
    "deberta, own maps": ["product", "scale", "content_position", "position_content"],
}


@pytest.mark.parametrize("name", TERMS)
def test_a_score_is_made_of_the_terms_of_its_kind(name, case_of):
    run = open_model(case_of(name)[0]).run(TEXT)
    kind = run.model.spec.kinds[0]
    row = attention_row(run, kind.name, 1, 0, 3)
    assert [term.name for term in row.terms] == TERMS[name] and row.residue < 1e-4
    assert all(np.ptp(part) > 0 for part in row.added_scores.values())
    if name.startswith("deberta"):
        parts = [run.trace[kind.path(1, part)] for part in ("content", *row.added_scores)]
        np.testing.assert_allclose(sum(parts), run.trace[kind.path(1, "scores")], atol=1e-5)


def test_stretched_frequencies_are_the_librarys(case_of):
    config = case_of("llama, stretched")[1].config
    theirs, factor = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    ours = rope_frequencies(LLAMA.read(Fields(config.to_dict()))[0])
    assert factor == 1.0
    torch.testing.assert_close(ours.float(), theirs.float(), rtol=1e-6, atol=0)


def _thirds(patch):
    patch.setattr(
        WeightMapping,
        "from_stored",
        lambda self, value: zip(self.targets, value.chunk(len(self.targets)), strict=True),
    )


def _pairs(patch):
    patch.setattr("core.models.llama.rotate_pairs", lambda x, angle: rotate_pairs(x, angle, interleaved=True))


def _flat(patch):
    patch.setattr(RelativeBias, "forward", lambda self, n, m: torch.zeros(1, 1, n, m))


def _wide_sight(patch):
    patch.setattr("core.masks.causal", lambda n, past=0: torch.ones(n, n, dtype=torch.bool).tril(1))


@pytest.mark.parametrize(
    ("name", "fault"),
    [("gpt_neox", _thirds), ("llama", _pairs), ("t5", _flat), ("mpnet", _flat), ("gpt_neo", _wide_sight)],
)
def test_a_fault_in_the_arithmetic_is_seen(name, fault, case_of, monkeypatch):
    folder, model = case_of(name)
    fault(monkeypatch)
    opened = open_model(folder)
    with pytest.raises(AssertionError):
        agree(opened, model, runs_of(opened, side_of(CASES[name])))
