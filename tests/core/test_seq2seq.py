"""The recurrent family: what its attention looks at, when it asks, and that looking, learning and writing agree."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

import core
from core import edits
from core.layers.recurrent.alignment import gaussian
from core.models import Batch
from core.models.seq2seq import ATTENTIONS, Seq2Seq, Seq2SeqConfig
from core.trace import Recorder, record

LOOKING = ATTENTIONS[1:]

GLOBAL = ("bahdanau", "luong-global")

LUONG = ("luong-global", "luong-local-m", "luong-local-p")


def build(attention="bahdanau", seed=0, **changes):
    torch.manual_seed(seed)
    network = Seq2Seq(replace(Seq2SeqConfig.tiny(), attention=attention, **changes)).eval()
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return network


def example():
    """Two sources, of 7 and of 4 words, and targets of 5."""
    draw = torch.Generator().manual_seed(1)
    source, ids = torch.randint(1, 29, (2, 7), generator=draw), torch.randint(1, 29, (2, 5), generator=draw)
    return Batch(ids=ids, real=ids > 0, source=source, source_real=torch.arange(7) < torch.tensor([[7], [4]]))


def traced(network, batch=None, **options):
    with torch.no_grad():
        hidden, trace = record(network, example() if batch is None else batch, **options)
        return network.logits(hidden), trace


def test_two_directions_need_an_even_width():
    with pytest.raises(ValueError, match="d_model=33"):
        replace(Seq2SeqConfig.tiny(), d_model=33)
    assert replace(Seq2SeqConfig.tiny(), d_model=33, bidirectional=False).d_head == 33


@pytest.mark.parametrize("attention", LOOKING)
def test_the_context_is_the_mean_of_the_states_by_the_weights(attention):
    _, trace = traced(build(attention))
    pattern, states = trace["decoder.attn.pattern"], trace["encoder.layer.1.hidden"]
    assert torch.equal(trace["decoder.attn.v"][:, 0], states)
    torch.testing.assert_close(trace["decoder.attn.context"], pattern[:, 0] @ states)
    if attention in GLOBAL:
        torch.testing.assert_close(pattern.sum(-1), torch.ones(2, 1, 5))
        assert (pattern[1, :, :, 4:] == 0).all() and (pattern[0] > 0).all()


@pytest.mark.parametrize("attention", LUONG)
def test_input_feeding_hands_the_mixed_state_to_the_next_step(attention):
    """Without it a look at another word changes what is written, not the states; with it the next state too."""
    for feeding in (False, True):
        network = build(attention, input_feeding=feeding)
        plain, changed = (
            traced(network, edits=e)[1] for e in ([], [edits.Scale("decoder.step.1.attn.context", 2.0)])
        )
        same = [
            torch.equal(plain["decoder.layer.0.hidden"][:, t], changed["decoder.layer.0.hidden"][:, t])
            for t in range(5)
        ]
        assert same == [True, True, *[not feeding] * 3]
        assert not torch.equal(plain["decoder.mixed"][:, 1], changed["decoder.mixed"][:, 1])


def test_gaussian_in_closed_form():
    places, centre = torch.arange(11.0), torch.tensor(4.3)
    torch.testing.assert_close(gaussian(places, centre, 2.0), torch.exp(-((places - 4.3) ** 2) / 8))
    for window in (1, 2, 5):  # sigma = D / 2: at distance D
        assert gaussian(torch.tensor([3.0 + window]), torch.tensor(3.0), window / 2).item() == pytest.approx(
            math.exp(-2)
        )
    assert torch.equal(gaussian(places, centre, 1e9), torch.ones(11)), (
        "a wide one is no factor: the softmax in the window is left"
    )


def test_predicted_windows():
    """p_t = n sigmoid(v_p . tanh(W_p h_t)), the softmax inside [p_t - D, p_t + D], times the Gaussian, not normalised."""
    network = build("luong-local-p")
    _, trace = traced(network)
    attend, length, place = network.decoder.attend, torch.tensor([7, 4])[:, None, None], torch.arange(7.0)
    h = trace["decoder.layer.1.hidden"]
    share = torch.sigmoid(torch.tanh(h @ attend.to_hidden.weight.T) @ attend.to_centre.weight[0])[:, None]
    centre, align, pattern = (trace[f"decoder.attn.{leaf}"] for leaf in ("centre", "align", "pattern"))
    torch.testing.assert_close(centre, length * share)
    distance = place - centre[..., None]
    inside = (distance.abs() <= 2) & (place < length[..., None])
    assert torch.equal(trace["decoder.attn.allowed"], inside) and inside.any(-1).all()
    filled = trace["decoder.attn.scores"].masked_fill(~inside, -math.inf).softmax(-1)
    torch.testing.assert_close(align, filled)
    torch.testing.assert_close(pattern, filled * torch.exp(-(distance**2) / 2))  # sigma = D / 2 = 1
    assert (pattern.sum(-1) < 1).all() and (pattern[~inside] == 0).all()


def test_monotonic_windows_move_with_the_step_and_may_run_out_of_words():
    network = build("luong-local-m", window=1)
    _, trace = traced(network)
    assert torch.equal(trace["decoder.attn.centre"][:, 0], torch.arange(5.0).expand(2, 5))
    allowed = trace["decoder.attn.allowed"][:, 0]
    assert allowed[0, 2].tolist() == [False, True, True, True, False, False, False]
    longer = replace(
        example(), ids=torch.ones(2, 7, dtype=torch.long), real=torch.ones(2, 7, dtype=torch.bool)
    )
    logits, trace = traced(network, longer)
    assert (trace["decoder.attn.pattern"][1, 0, 5:] == 0).all() and logits.isfinite().all()


def test_without_attention_the_source_enters_by_one_vector():
    network = build("none")
    plain, trace = traced(network)
    other = replace(example(), source=example().source % 28 + 1)
    patch = edits.Patch("decoder.start.context", trace["decoder.start.context"])
    assert not torch.equal(traced(network, other)[0], plain)
    assert torch.equal(traced(network, other, edits=[patch])[0], plain)
    states = trace["encoder.layer.1.hidden"]
    torch.testing.assert_close(
        trace["decoder.start.context"][1], torch.cat((states[1, 3, :17], states[1, 0, 17:]))
    )


@pytest.mark.parametrize("attention", LOOKING)
def test_the_whole_is_what_the_steps_were(attention):
    _, trace = traced(build(attention))
    for leaf in ("scores", "allowed", "pattern", "heads"):
        steps = [trace[f"decoder.step.{t}.attn.{leaf}"] for t in range(5)]
        assert torch.equal(trace[f"decoder.attn.{leaf}"], torch.cat(steps, dim=2))
    for side, n in (("encoder.forward", 7), ("encoder.backward", 7), ("decoder", 5)):
        steps = [trace[f"{side}.step.{t}.layer.0.forget"] for t in range(n)]
        assert torch.equal(trace[f"{side}.layer.0.forget"], torch.stack(steps, dim=1))


@pytest.mark.parametrize("attention", LOOKING)
def test_a_forbidden_source_word_is_not_looked_at_and_the_output_changes(attention):
    network = build(attention)
    plain, before = traced(network)
    key = int(before["decoder.attn.pattern"][0, 0, 1].argmax())
    logits, trace = traced(network, edits=[edits.Forbid("decoder.attn.allowed", query=1, key=key)])
    assert trace["decoder.attn.pattern"][0, 0, 1, key] == 0 < before["decoder.attn.pattern"][0, 0, 1, key]
    assert torch.equal(logits[:, 0], plain[:, 0]) and not torch.equal(logits[0, 1], plain[0, 1])
    at_step = edits.Forbid("decoder.step.1.attn.allowed", key=key)
    assert torch.equal(traced(network, edits=[at_step])[0], logits), (
        "an edit of the whole and of the step are the same"
    )


@pytest.mark.parametrize("path", ["decoder.attn.pattern", "decoder.step.2.attn.pattern"])
def test_a_pattern_put_in_place_is_used_from_that_step_on(path):
    network = build("bahdanau")
    plain, _ = traced(network)
    row = edits.SetPattern(path, query=0 if "step" in path else 2, weights=(0, 0, 1, 0, 0, 0, 0))
    logits, trace = traced(network, edits=[row])
    torch.testing.assert_close(trace["decoder.attn.context"][:, 2], trace["encoder.layer.1.hidden"][:, 2])
    assert torch.equal(logits[:, :2], plain[:, :2]) and not torch.equal(logits[:, 2], plain[:, 2])
    assert not torch.equal(logits[:, 3], plain[:, 3]), "the state goes on from there"


