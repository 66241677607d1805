"""Small random models that write, and one pass over everything they wrote: what the tests of decoding share."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from core.decoding import decode
from core.decoding.choose import LISTED
from core.maths import softmax
from core.model import Model
from core.models import Batch, families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.trace import record

LINES = ["the old cat sat on the mat", "a white car", "el gato blanco está en la casa", "año 😀 niño"] * 3
TEXT = "the old cat sat on"
N_CTX = 41


def tokenizer(prefix_space):
    backend = learn_byte_level_bpe(LINES, 300, ["<pad>", "<start>", "<end>"], prefix_space=prefix_space)
    return Tokenizer(backend, pad=0, start=1, end=2)


RECURRENT = {
    "none": {},
    "bahdanau": {"cell": "gru"},
    "luong-global": {"score": "general", "input_feeding": True},
    "luong-local-m": {"score": "dot", "bidirectional": False},
    "luong-local-p": {"score": "concat"},
}


def build(name, order="pre", seed=0):
    return _random(name, name, seed, order=order)


def recurrent(attention, seed=0):
    return _random("seq2seq", attention, seed, attention=attention, **RECURRENT[attention])


def _random(family, name, seed, **shape):
    torch.manual_seed(seed)
    spec = families()[family]
    names = tokenizer(prefix_space=spec.has_source)
    config = replace(spec.config.tiny(), n_vocab=len(names), n_ctx=N_CTX, **shape)
    network = spec.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return Model(name, spec, config, network, names)


WRITERS = {
    **{name: partial(build, name) for name in ("gpt", "transformer")},
    **{name: partial(recurrent, name) for name in RECURRENT},
}


def random_tree(seed, n_vocab, n_words):
    """Probabilities of the next word behind every text of fewer words."""
    draw = np.random.default_rng(seed)
    rows = itertools.chain.from_iterable(itertools.product(range(n_vocab), repeat=n) for n in range(n_words))
    return {row: softmax(draw.normal(size=n_vocab) * 2) for row in rows}


def ids_of(m, text, strategy, **options):
    return list(decode(m, text, strategy, **options))[-1].ids


def whole_pass(m, text, ids, edits=()):
    """Logits, attention and masks of one teacher-forced pass over everything that was written, and how much was given."""
    source = m.tokenizer.encode(text).ids
    given = (m.tokenizer.start,) if m.spec.has_source else source
    row = torch.tensor([[*given, *ids]])
    batch = Batch(ids=row, real=row >= 0)
    if m.spec.has_source:
        words = torch.tensor([source])
        batch = replace(batch, source=words, source_real=words >= 0)
    with torch.inference_mode():
        hidden, trace = record(m.network, batch, keep=["*"], edits=edits)
        return m.network.logits(hidden)[0].numpy(), trace, len(given)


def assert_is_a_run_of(m, path, ids, changes=()):
    """Check attention, masks, candidates and probabilities of the steps that wrote `ids` behind TEXT against one pass."""
    logits, trace, given = whole_pass(m, TEXT, ids, changes)
    kinds = {kind.name: kind for kind in m.spec.kinds_of(m.config) if kind.queries == "target"}
    assert tuple(step.id for step in path) == ids and path[-1].ids == ids
    for row, step in enumerate(path, given - 1):
        assert set(step.attention) == set(step.allowed) == set(step.keys) == set(kinds)
        for name, kind in kinds.items():
            n_keys = len(step.keys[name])
            for found, leaf in ((step.attention[name], "pattern"), (step.allowed[name], "allowed")):
                layers = (trace.numpy(kind.path(i, leaf))[0, :, row] for i in range(kind.n_layers(m.config)))
                whole = np.stack([*layers])
                assert found.dtype == (np.float32 if leaf == "pattern" else bool)
                np.testing.assert_allclose(found, whole[..., :n_keys], atol=1e-5)
                assert not whole[..., n_keys:].any()
        p = softmax(logits[row].astype(float))
        assert step.logprob == pytest.approx(np.log(p[step.id]), abs=1e-4)
        assert step.entropy == pytest.approx(-(p * np.log(p)).sum(), abs=1e-4)
        for candidate in step.candidates:
            assert candidate.logit == pytest.approx(logits[row, candidate.id], abs=1e-4)
            assert candidate.before == pytest.approx(p[candidate.id], abs=1e-5)
        assert step.chosen_candidate.id == step.id and len(step.candidates) in (LISTED, LISTED + 1)
        before = [candidate.before for candidate in step.candidates[:LISTED]]
        assert before == sorted(before, reverse=True)


def counted(m):
    """A list whose one number grows with each forward of the model's network."""
    count = [0]
    m.network.register_forward_hook(lambda *_: count.__setitem__(0, count[0] + 1))
    return count
