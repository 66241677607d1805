"""Sums and feed-forward networks of trained models, read from small random ones: against the modules themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.errors import InputError
from core.maths import cosines
from core.model import Model
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe, learn_wordpiece
from viz.course.errata._counts import encoder_layer
from viz.course.shared.unscaled_scores import surprise
from viz.course.transformer import residuals
from viz.course.transformer.feed_forward import maths

TEXT = "She was hungry, so she ate the apple."


def build(name: str) -> Model:
    family = families()[name]
    lines, marks = [TEXT, "He was tired."] * 4, ("<pad>", "<start>", "<end>")
    backend = (
        learn_wordpiece(lines, 300)
        if family.framed
        else learn_byte_level_bpe(lines, 300, marks, prefix_space=family.has_source)
    )
    config = replace(family.config.tiny(), n_vocab=backend.get_vocab_size(), n_ctx=61)
    torch.manual_seed(3)
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    ids = {"pad": 0, "start": 2, "end": 3, "mask": 4} if family.framed else {"pad": 0, "start": 1, "end": 2}
    return Model(name, family, config, network, Tokenizer(backend, **ids))


@pytest.fixture(scope="module", params=["gpt", "transformer", "bert"])
def model(request) -> Model:
    return build(request.param)


def test_sums_and_inner_layers_are_those_of_the_modules(model):
    more = {"target": "."} if model.spec.has_source else {}
    run = model.run(TEXT, keep=(*residuals.KEEP, *maths.KEEP), **more)
    last = model.config.n_layers - 1
    assert residuals.first_sum(run, last).gap == 0
    sizes = residuals.by_layer(run)
    assert sizes.shape == (last + 2,) and sizes[0] == pytest.approx(
        np.sqrt((residuals.first_sum(run, 0).before ** 2).mean())
    )
    found = maths.inner(run, last)
    part = maths.block(model, last)
    with torch.inference_mode():
        again = part.ffn(torch.tensor(found.into)[None])[0].numpy()
        two = torch.nn.functional.linear(
            torch.tensor(found.into), part.ffn.to_hidden.weight, part.ffn.to_hidden.bias
        ).numpy()
    np.testing.assert_allclose(found.out, again, atol=1e-5)
    np.testing.assert_allclose(found.pre, two, atol=1e-5)
    assert found.counts.sum() == found.pre.shape[1] and found.counts[0] == found.dead
    assert (found.counts * np.arange(len(found.counts))).sum() == found.fires.sum()


def test_a_word_turned_round_moves_its_own_output_alone(model):
    """C066: 0.0 elsewhere in the network; in the attention others move, in a GPT only later ones."""
    more = {"target": "."} if model.spec.has_source else {}
    found = maths.inner(model.run(TEXT, keep=maths.KEEP, **more), 0)
    moved = maths.negate_word(model, 0, found, 2)
    assert np.flatnonzero(moved.network).tolist() == [2] and np.delete(moved.network, 2).max() == 0.0
    first = 2 if model.family == "gpt" else 0
    assert np.flatnonzero(moved.attention).tolist() == list(range(first, len(found.tokens)))


def test_what_a_unit_writes_is_its_column(model):
    more = {"target": "."} if model.spec.has_source else {}
    found = maths.inner(model.run(TEXT, keep=maths.KEEP, **more), 0)
    unit = maths.unit_output(model, 0, found, 5, n=3)
    ffn = maths.block(model, 0).ffn
    apart = found.act @ ffn.to_out.weight.detach().numpy().T + ffn.to_out.bias.detach().numpy()
    np.testing.assert_allclose(apart, found.out, atol=1e-4)
    np.testing.assert_array_equal(unit.vector, ffn.to_out.weight[:, 5].numpy())
    every = cosines(model.network.embed["token"].weight.numpy(), unit.vector)
    assert [row for row, _ in unit.nearest] == np.argsort(-every, kind="stable")[
        :3
    ].tolist() and 0 < unit.chance < 1


def test_parameters_are_counted_and_in_closed_form(model):
    config = model.config
    counted = maths.n_parameters(model, 0)
    assert counted["network"] == maths.closed_form(config.d_model, config.d_ff)
    assert sum(counted.values()) == sum(w.numel() for w in maths.block(model, 0).parameters())
    assert encoder_layer(2048) == 4 * (512 * 512 + 512) + maths.closed_form(512, 2048) + 4 * 512


def test_through_a_gpt_with_its_sums_is_the_model_itself():
    model = build("gpt")
    kept, bare = (residuals.run_stream(model, TEXT, residual=residual) for residual in (True, False))
    run = model.run(TEXT)
    assert kept.surprise == pytest.approx(surprise(run.logits, run.ids), abs=1e-4)
    np.testing.assert_allclose(kept.depths.signal, residuals.by_layer(run), rtol=1e-4)
    assert bare.surprise != pytest.approx(kept.surprise) and not np.allclose(
        bare.depths.signal[1:], kept.depths.signal[1:]
    )
    with pytest.raises(InputError, match="no next word"):
        residuals.run_stream(model, "")
