"""Encoders of the newer kind beside the rows of `kinds.py`: what has no class in the transformers library, and files as the Hub has them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers as hf
from kind_shapes import tiny
from kinds import BERT, CASES, ESM
from parity import SAME, redraw
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest
from test_kinds_parity import SHORT, TEXT, pieces, saved
from transformers import BigBirdConfig, BigBirdForPreTraining, BigBirdModel

from core.analysis.routing import routing
from core.analysis.similarity import token_pairs
from core.checkpoints import open_model
from core.checkpoints.foreign import formats
from core.checkpoints.safety.config_schema import Fields
from core.errors import InputError
from core.layers.block_sparse import layout
from core.models import Batch, families
from core.serving.engine import Engine
from core.text.learn import learn_wordpiece
from core.tools.export import export_model
from viz.workspace.inside import experts

AMINO = [*("<cls>", "<pad>", "<eos>", "<unk>"), *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]


def jina(stored, ids, segments, n_heads, n_layers):
    """Return patterns and logits of a jina v2 by the paper's equations (Günther et al. 2023, section 2, figure 1)."""

    def linear(name, x):
        return F.linear(x, stored[f"{name}.weight"], stored.get(f"{name}.bias"))

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], stored[f"{name}.weight"], stored[f"{name}.bias"], 1e-12)

    places = torch.arange(len(ids))
    power = 2 ** int(np.log2(n_heads))
    slopes = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    slopes += [2 ** (-4 * i / power) for i in range(1, 2 * power, 2)][: n_heads - power]
    alibi = -torch.tensor(slopes)[:, None, None] * (places - places[:, None]).abs()
    x = stored["bert.embeddings.word_embeddings.weight"][ids]
    x = norm(
        "bert.embeddings.LayerNorm", x + stored["bert.embeddings.token_type_embeddings.weight"][segments]
    )
    patterns = []
    for i in range(n_layers):
        at = f"bert.encoder.layer.{i}."
        q, k, v = (
            linear(f"{at}attention.self.{part}", x).unflatten(-1, (n_heads, -1)).transpose(0, 1)
            for part in ("query", "key", "value")
        )
        patterns.append((q @ k.mT / q.shape[-1] ** 0.5 + alibi).softmax(-1))
        mixed = (patterns[-1] @ v).transpose(0, 1).flatten(1)
        x = norm(f"{at}attention.output.LayerNorm", x + linear(f"{at}attention.output.dense", mixed))
        gate, up = linear(f"{at}mlp.gated_layers", x).chunk(2, -1)
        x = norm(f"{at}mlp.layernorm", x + linear(f"{at}mlp.wo", F.gelu(gate) * up))
    head = "cls.predictions.transform."
    words = norm(f"{head}LayerNorm", F.gelu(linear(f"{head}dense", x)))
    table = stored["bert.embeddings.word_embeddings.weight"]
    return torch.stack(patterns), words @ table.T + stored["cls.predictions.bias"]


@pytest.mark.parametrize("n_heads", [4, 3])
def test_a_jina_v2_gives_what_its_equations_give(n_heads, tmp_path):
    backend, form = pieces(), formats()["jina_bert"]
    sizes = {"n_heads": n_heads, "d_model": 12, "n_vocab": backend.get_vocab_size(), "n_ctx": 60}
    config = replace(tiny("jina_bert"), eps=1e-12, **sizes)
    torch.manual_seed(3)
    stored = {form.full(take.name): 0.3 * torch.randn(take.shape) for take in form.takes(config)}
    folder = tmp_path / "jina"
    folder.mkdir()
    save_file(stored, folder / "model.safetensors")
    said = {"model_type": "bert", "architectures": ["JinaBertForMaskedLM"], **(form.values(config) or {})}
    (folder / "config.json").write_text(json.dumps(said))
    backend.save(str(folder / "tokenizer.json"))
    model = open_model(folder)
    assert model.config.places == "alibi"
    for run in (model.run(TEXT), model.run(TEXT, pair=SHORT), model.run_many([SHORT, TEXT])[0]):
        n = run.side.n_real
        ids, segments = (torch.tensor(each[:n]) for each in (run.side.ids, run.side.segments))
        patterns, logits = jina(stored, ids, segments, n_heads, config.n_layers)
        assert np.abs(run.attention().weights[:, :, :n, :n] - patterns.numpy()).max() <= SAME
        assert np.abs(run.logits[:n] - logits.numpy()).max() <= SAME
    again = export_model(model, tmp_path / "again")
    assert json.loads((again / "config.json").read_text())["model_type"] == "bert"
    assert open_model(again).config == model.config
    assert load_file(again / "model.safetensors").keys() <= stored.keys()


def test_an_esm_reads_its_letters_and_fills_a_hidden_one(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(AMINO))
    theirs = hf.EsmTokenizer(str(tmp_path / "vocab.txt"))
    sizes = {**ESM, "vocab_size": len(AMINO), "pad_token_id": 1, "mask_token_id": AMINO.index("<mask>")}
    made = redraw(hf.AutoModelForMaskedLM.from_config(hf.EsmConfig(**sizes), attn_implementation="eager"))
    made.save_pretrained(tmp_path)
    theirs.save_pretrained(tmp_path)
    model = open_model(tmp_path)
    assert model.can("fill_blanks") and model.config.blank == AMINO.index("<mask>")
    for text in ("MKTAYIAKQR", "MKTA<mask>IAK<mask>R", "MJ1 TA"):
        run = model.run(text, special=True)
        ids = theirs(text)["input_ids"]
        if "1" not in text:  # the library takes letters that it does not know together
            assert list(run.ids) == ids
        with torch.no_grad():
            wanted = made(torch.tensor([run.ids])).logits[0]
        assert np.abs(run.logits - wanted.numpy()).max() <= SAME


def test_an_embedding_gemma_maps_its_mean_as_its_folder_says(tmp_path):
    case = CASES["gemma3, both ways"]
    made, d_model = saved(case, tmp_path), case.values["hidden_size"]
    torch.manual_seed(5)
    maps = {"2_Dense": 0.3 * torch.randn(41, d_model), "3_Dense": 0.3 * torch.randn(7, 41)}
    parts = {
        "": "Transformer",
        "1_Pooling": "Pooling",
        **dict.fromkeys(maps, "Dense"),
        "4_Normalize": "Normalize",
    }
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in parts.items()]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    for where, weight in maps.items():
        (tmp_path / where).mkdir()
        save_file({"linear.weight": weight}, tmp_path / where / "model.safetensors")
        said = {"in_features": weight.shape[1], "out_features": weight.shape[0], "bias": False}
        bend = "torch.nn.modules.linear.Identity"
        (tmp_path / where / "config.json").write_text(json.dumps({**said, "activation_function": bend}))
    model = open_model(tmp_path)
    runs = model.run_many([TEXT, SHORT])
    for run in runs:
        with torch.no_grad():
            mean = made(torch.tensor([run.ids[: run.side.n_real]])).last_hidden_state.mean(1)
        wanted = F.normalize(mean @ maps["2_Dense"].T @ maps["3_Dense"].T, dim=-1)
        assert np.abs(run.embedding - wanted[0].numpy()).max() <= 1e-5
    pairs = token_pairs(*(model.run(text) for text in (TEXT, SHORT)))
    assert pairs.shares is not None and abs(pairs.shares.sum() - pairs.total) < 1e-5
    (tmp_path / "3_Dense" / "config.json").write_text('{"in_features": 40, "out_features": 7}')
    assert open_model(tmp_path).pooling is None, "maps that do not fit make no vector"


# ---------------- BigBird folders written by the transformers library give its numbers: read in full, and in blocks.


WORDS = "the animal didn't cross the street because it was too tired and she has a white car once upon a time"
LONG = " ".join((f"{WORDS} " * 6).split()[:110])
BLOCK, RANDOM = 3, 2
LONGEST_IN_FULL = (5 + 2 * RANDOM) * BLOCK


@pytest.fixture(scope="module")
def backend():
    return learn_wordpiece([WORDS] * 3, 97)


def theirs(kind, n_vocab, **changes):
    sizes = {"max_position_embeddings": 131, "block_size": BLOCK, "num_random_blocks": RANDOM}
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return redraw(kind(BigBirdConfig(**BERT | sizes | off | {"vocab_size": n_vocab} | changes)))


def save_folder(model, backend, folder):
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder


def asked(model, run, **options):
    with torch.no_grad():
        return model(torch.tensor([run.ids]), output_attentions=True, **options)


def close(ours, other):
    assert np.abs(np.asarray(ours) - other.detach().numpy()).max() <= SAME


@pytest.mark.quick(2)
@pytest.mark.parametrize("attention", ["original_full", "block_sparse"])
@pytest.mark.parametrize("n_words", [12, 50, 110])
def test_a_folder_gives_the_numbers_of_the_library(backend, tmp_path, attention, n_words):
    model = theirs(BigBirdForPreTraining, backend.get_vocab_size(), attention_type=attention)
    opened = open_model(save_folder(model, backend, tmp_path / "model"))
    assert (opened.family, opened.config.activation, opened.config.block) == ("bigbird", "gelu_tanh", BLOCK)
    run = opened.run(" ".join(LONG.split()[:n_words]))
    assert (len(run.ids) > LONGEST_IN_FULL) == (n_words > 12)
    out = asked(model, run)
    close(run.logits, out.prediction_logits[0])
    close(run.next_sentence, out.seq_relationship_logits[0])
    sparse = attention == "block_sparse" and n_words > 12
    assert run.attention().allowed.all() != sparse
    if attention == "original_full":
        close(run.attention().weights, torch.cat(out.attentions))


@pytest.mark.quick(1)
@pytest.mark.parametrize("n", [98, 99, 128])
def test_blocks_alone_give_the_numbers_of_the_library(backend, tmp_path, n):
    """Compare scores where keys are gathered, because no pattern is recorded; with padding and without."""
    model = theirs(BigBirdModel, backend.get_vocab_size())
    opened = open_model(save_folder(model, backend, tmp_path / "model"))
    ids = torch.randint(5, opened.config.n_vocab, (2, n), generator=torch.Generator().manual_seed(n))
    real = torch.ones_like(ids, dtype=torch.bool)
    assert opened.network.layout_of(n, 0).saves
    with torch.no_grad():
        ours = opened.network(Batch(ids=ids, real=real))
        close(ours, model(ids).last_hidden_state)
        close(opened.network.pooled(ours), model(ids).pooler_output)


def test_with_our_random_blocks_in_its_place_the_library_gives_our_numbers(backend, monkeypatch):
    """Give each layer of the library the random blocks of ours, head by head."""
    model = theirs(BigBirdModel, backend.get_vocab_size())
    family, n = families()["bigbird"], 99
    form = formats()["big_bird"]
    config = replace(form.read(Fields(model.config.to_dict()))[0], draw="each", seed=4)
    network = family.network(config).eval()
    state = dict(model.state_dict())
    for take in form.takes(config):
        network.load_state_dict(dict(take.from_stored(state[take.name])), strict=False)

    drawn = [network.layout_of(n, layer) for layer in range(config.n_layers)]
    for layer, block in enumerate(model.encoder.layer):
        blocks = [
            np.stack([np.flatnonzero(row) for row in head[1:-1]])
            for head in drawn[layer].parts["random"].numpy()
        ]
        assert all(each.shape == (n // BLOCK - 2, RANDOM) for each in blocks)
        monkeypatch.setattr(
            block.attention.self, "_bigbird_block_rand_mask_with_head", lambda blocks=blocks, **_: blocks
        )
    ids = torch.randint(5, config.n_vocab, (2, n), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        ours = network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)))
        close(ours, model(ids).last_hidden_state)


def test_the_blocks_that_are_read_are_those_of_the_library():
    """Compare row by row: the first and the last block read all, the second 0, 1, 2 and the last, and so on."""
    n_blocks = 20
    found = layout(n_blocks, draw="first").parts
    there = (found["window"] + found["global"])[0] > 0
    last = n_blocks - 1
    wanted = {
        0: range(n_blocks),
        1: (0, 1, 2, last),
        5: (0, 4, 5, 6, last),
        last - 1: (0, last - 2, last - 1, last),
    }
    for row, blocks in wanted.items():
        assert torch.nonzero(there[row])[:, 0].tolist() == list(blocks)
    assert (
        found["random"][0, 1:-1].sum(-1).tolist() == [3] * (n_blocks - 2) and not found["random"][0, 0].any()
    )


def test_base_has_the_parameters_of_the_library():
    with torch.device("meta"):
        ours = families()["bigbird"].network(
            families()["bigbird"].config(masked_lm=False, next_sentence=False)
        )
        other = BigBirdModel(BigBirdConfig())
    counts = [sum(weight.numel() for weight in each.parameters()) for each in (ours, other)]
    assert counts == [127_468_800, 127_468_800]


# ---------------- The routers of mixtures of experts: scores, experts and weights are those of the transformers library, and Inside draws them.


AMONG = {"olmoe": False, "qwen3_moe": False}
"""Kinds whose softmax goes over all experts; in the others over the chosen ones."""


@pytest.mark.parametrize("name", ["mixtral", "qwen3_moe", "olmoe", "gpt_oss"])
def test_a_router_gives_tokens_to_the_experts_of_the_library(name, case_of, monkeypatch):
    folder, made = case_of(name)
    model = open_model(folder)
    run = model.run(TEXT)
    found, n_active = routing(run), model.config.n_active
    with torch.no_grad():
        logits = made(torch.tensor([run.ids]), output_router_logits=True).router_logits
    for layer, theirs in enumerate(logits):
        assert np.abs(found.scores[layer] - theirs.numpy()).max() <= 1e-5
        best = theirs.topk(n_active, -1)
        shares = (
            best.values.softmax(-1) if AMONG.get(name, True) else theirs.softmax(-1).gather(-1, best.indices)
        )
        wanted = torch.zeros_like(theirs).scatter(-1, best.indices, shares).numpy()
        assert np.abs(found.weights[layer] - wanted).max() <= 1e-5
        assert found.experts_of(layer, 3) == best.indices[3].tolist()
        assert found.counts(layer).sum() == n_active * len(run.ids)
    last = len(run.ids) - 1
    said = experts.sentence(run, found, 1, last)
    assert f"computed by expert {found.experts_of(1, last)[0]} (" in said
    assert ("left out" in said) == (found.weights[1, last].sum() < 0.99)
    if name == "olmoe":
        _check_page(folder, monkeypatch, said)


def _check_page(folder, monkeypatch, said):
    """Draw Inside: a row per token, and the sentence of the last one, of OLMoE with the share that is left out."""
    monkeypatch.setenv("ATLAS_MODELS", str(folder.parent))
    with Engine() as engine:
        monkeypatch.setattr("core.serving.engine._default", engine)
        test = AppTest.from_string("from viz.workspace.inside import page\npage.page()", default_timeout=60)
        for key, value in {
            "model": folder.name,
            "text": TEXT,
            "inside.by": "experts",
            "inside.layer": "1",
        }.items():
            test.query_params[key] = value
        test.run()
        assert not test.exception
        text = " ".join(element.value for element in (*test.markdown, *test.text, *test.caption))
        assert said in text, text[-420:]


def test_a_model_with_one_network_a_layer_has_no_router(case_of):
    with pytest.raises(InputError, match="no router"):
        routing(open_model(case_of("llama")[0]).run(TEXT))
