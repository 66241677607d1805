"""BigBird folders written by the transformers library give its numbers: read in full, and in blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from kinds import BERT
from parity import SAME, redraw
from transformers import BigBirdConfig, BigBirdForPreTraining, BigBirdModel

from core.checkpoints import open_model
from core.checkpoints.foreign import formats
from core.checkpoints.safety.config_schema import Fields
from core.layers.block_sparse import layout
from core.models import Batch, families
from core.text.learn import learn_wordpiece

WORDS = "the animal didn't cross the street because it was too tired and she has a white car once upon a time"
TEXT = " ".join((f"{WORDS} " * 6).split()[:110])
BLOCK, RANDOM = 3, 2
LONGEST_IN_FULL = (5 + 2 * RANDOM) * BLOCK


@pytest.fixture(scope="module")
def backend():
    return learn_wordpiece([WORDS] * 3, 97)


def theirs(kind, n_vocab, **changes):
    sizes = {"max_position_embeddings": 131, "block_size": BLOCK, "num_random_blocks": RANDOM}
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return redraw(kind(BigBirdConfig(**BERT | sizes | off | {"vocab_size": n_vocab} | changes)))


def saved(model, backend, folder):
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
    opened = open_model(saved(model, backend, tmp_path / "model"))
    assert (opened.family, opened.config.activation, opened.config.block) == ("bigbird", "gelu_tanh", BLOCK)
    run = opened.run(" ".join(TEXT.split()[:n_words]))
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
    opened = open_model(saved(model, backend, tmp_path / "model"))
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
