"""A pair all at once and step by step; a private copy that learns it; greedy against a beam."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from deep import deep

from core.decoding import counterexample
from core.errors import InputError
from core.models import families
from tests.core.decoding_helpers import build
from viz.course.transformer.training_and_inference import greedy, parallel_decoder, teacher_forcing_steps

SOURCE, TARGET = "the old cat sat", "el gato blanco"


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(
        teacher_forcing_steps, "OTHERS", (("the cat", "el gato"), ("the old cat", "el gato blanco"))
    )
    return build("transformer")


def copied(model):
    network = families()[model.family].network(model.config)
    network.load_state_dict(model.network.state_dict())
    return network.eval()


def test_the_decoder_reads_start_and_the_target_one_place_later(model):
    found = parallel_decoder.at_once(model, SOURCE, TARGET)
    ids = [*model.tokenizer.encode(TARGET).ids, model.tokenizer.end]
    assert found.ids.tolist() == ids
    assert found.read[0] == "START"
    assert found.read[1:] == found.target[:-1]
    assert found.target[-1] == "END"
    assert parallel_decoder.shifted(tuple(ids), 1) == (1, *ids[:-1])
    table = model.network.embed["token"].weight
    rows = F.one_hot(torch.tensor(ids), len(table)).float() @ table
    torch.testing.assert_close(rows, F.embedding(torch.tensor(ids), table))


def test_losses_are_cross_entropy_and_both_ways_give_the_same_scores(model):
    """C075: one pass over all places, and one place after the other."""
    found = parallel_decoder.at_once(model, SOURCE, TARGET)
    wanted = F.cross_entropy(
        torch.from_numpy(found.logits), torch.from_numpy(found.ids), reduction="none"
    ).numpy()
    np.testing.assert_allclose(found.losses, wanted, atol=1e-9)
    assert parallel_decoder.by_torch(found) == pytest.approx(found.losses.mean())
    assert found.differences.shape == (len(found.ids),) and found.differences.max() < 1e-4
    assert found.differences.max() == pytest.approx(found.forcing.difference, abs=1e-6)
    assert not np.allclose(found.unshifted, found.losses, atol=1e-2)


@pytest.mark.parametrize("rule", deep(teacher_forcing_steps.RATES, {"Adam"}))
def test_steps_are_those_of_torch_and_the_shared_weights_stay(model, rule):
    """One optimiser step by button: the oracle is torch.optim on a copy of its own."""
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    pair = parallel_decoder.at_once(model, SOURCE, TARGET)
    with torch.inference_mode():  # as the engine computes
        steps = list(teacher_forcing_steps.teach(model, SOURCE, TARGET, rule))
    assert [each.step for each in steps] == list(range(teacher_forcing_steps.MOST + 1))
    np.testing.assert_allclose(steps[0].losses, pair.losses, atol=1e-5)
    network = copied(model)
    optimiser = {"SGD": torch.optim.SGD, "Adam": torch.optim.Adam}[rule](
        network.parameters(), lr=teacher_forcing_steps.RATES[rule]
    )
    prompt = parallel_decoder.decoding_prompt(model, SOURCE)
    batch = teacher_forcing_steps._batch(
        [prompt.source], [parallel_decoder.shifted(tuple(pair.ids.tolist()), prompt.ids[-1])]
    )
    for step in steps:
        losses = F.cross_entropy(
            network.logits(network(batch))[0], torch.from_numpy(pair.ids), reduction="none"
        )
        np.testing.assert_allclose(step.losses, losses.detach().numpy(), rtol=2e-3, atol=2e-4)
        optimiser.zero_grad()
        losses.mean().backward()
        optimiser.step()
    assert steps[-1].loss < steps[0].loss
    assert steps[0].changed == 0
    assert 0 < steps[1].changed <= model.n_parameters
    assert all(torch.equal(before[name], value) for name, value in model.network.state_dict().items()), (
        "the shared weights are frozen"
    )
    assert not any(weight.requires_grad for weight in model.network.parameters())


def test_padding_of_other_pairs_does_not_count(model):
    """F.cross_entropy with ignore_index: the mean over both pairs, each alone."""
    first = next(teacher_forcing_steps.teach(model, SOURCE, TARGET))
    alone = [parallel_decoder.at_once(model, *pair).losses for pair in teacher_forcing_steps.OTHERS]
    assert first.others == pytest.approx(np.concatenate(alone).mean(), abs=1e-4)


def test_what_cannot_be_learnt_is_told(model):
    for source, target in (("", TARGET), (SOURCE, ""), (SOURCE, " ".join(["gato"] * 30))):
        with pytest.raises(InputError):
            next(teacher_forcing_steps.teach(model, source, target))
    for rule, rate in (("SGD", 99.0), ("Newton", 1.0)):
        with pytest.raises(InputError, match="not offered"):
            next(teacher_forcing_steps.teach(model, SOURCE, TARGET, rule, rate))
    with pytest.raises(InputError, match="reads no other sentence"):
        parallel_decoder.at_once(build("gpt"), SOURCE, TARGET)


def test_greedy_is_not_always_best_on_paper():
    """E54: .5 / .4 / .1, then .4 at most behind the first, .9 behind the second."""
    (first, best), every = greedy.on_paper()
    assert (round(first.total, 10), round(best.total, 10)) == (0.2, 0.36) and len(every) == 9
    assert counterexample.best_sentence() == ("".join(best.tokens), 0.36) and greedy.parting(first, best) == 0


def test_a_translator_writes_both_ways(model):
    first, beam = greedy.by_model(model, SOURCE)
    assert first.tokens[-1] == "END" or len(first.p) > 0
    assert all(0 < p <= 1 for way in (first, beam) for p in way.p)
    assert first.total == pytest.approx(np.prod(first.p))
