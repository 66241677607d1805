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
from kinds import CASES, ESM
from parity import SAME, redraw
from safetensors.torch import load_file, save_file
from test_kinds_parity import SHORT, TEXT, pieces, saved

from core.analysis.similarity import token_pairs
from core.checkpoints import open_model
from core.checkpoints.foreign import formats
from core.tools.export import export_model

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
