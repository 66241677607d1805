"""Small random models that write, and one pass over everything they wrote: what the tests of decoding share."""

from __future__ import annotations

from dataclasses import replace

import torch

from core.decoding import decode
from core.model import Model
from core.models import Batch, families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.trace import record

LINES = ["the old cat sat on the mat", "a white car", "el gato blanco está en la casa", "año 😀 niño"] * 3
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


def counted(m):
    """A list whose one number grows with each forward of the model's network."""
    count = [0]
    m.network.register_forward_hook(lambda *_: count.__setitem__(0, count[0] + 1))
    return count
