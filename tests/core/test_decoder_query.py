"""Which state asks, the two ways of writing the additive score, and how weights answer to scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import core
from core.model import Model
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from viz.course.why.alignment import maths

TEXT, TARGET = "She has a white car.", "Ella tiene un auto."


def build(attention: str, **changes) -> Model:
    backend = learn_byte_level_bpe([TEXT, TARGET] * 4, 300, ("<pad>", "<start>", "<end>"), prefix_space=True)
    family = families()["seq2seq"]
    config = replace(
        family.config.tiny(), n_vocab=backend.get_vocab_size(), n_ctx=61, attention=attention, **changes
    )
    torch.manual_seed(3)
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return Model(attention, family, config, network, Tokenizer(backend, pad=0, start=1, end=2))


def ran(attention: str, **changes):
    return build(attention, **changes).run(TEXT, target=TARGET, keep=maths.NEEDED)


def test_bahdanau_asks_with_the_state_before_and_luong_with_the_present_one():
    """C009."""
    before, now = maths.who_asks(ran("bahdanau"))
    assert before == 0 and now > 0.1
    for feeding in (False, True):
        before, now = maths.who_asks(ran("luong-global", score="general", input_feeding=feeding))
        assert now == 0 and before > 0.1


def test_both_ways_of_writing_the_additive_score_agree_and_are_the_runs_own():
    run = ran("bahdanau")
    for step in range(len(run.tokens)):
        found = maths.split_score(run, step)
        np.testing.assert_allclose(found.stacked, found.parted, atol=1e-12)
        np.testing.assert_allclose(found.parted, run.trace["decoder.attn.scores"][0, step], atol=1e-5)
    assert maths.split_score(ran("luong-global", score="general"), 0) is None


def test_the_slopes_of_a_softmax_are_those_of_autograd():
    s = torch.tensor([0.3, -1.2, 2.0, 0.0], dtype=torch.float64)
    oracle = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), s)
    np.testing.assert_allclose(maths.slopes(s.softmax(-1).numpy()), oracle.numpy(), atol=1e-12)


def test_a_model_without_attention_is_refused():
    run = build("none").run(TEXT, target=TARGET)
    with pytest.raises(core.InputError, match="no alignment"):
        maths.who_asks(run)
