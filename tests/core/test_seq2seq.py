"""The recurrent family: what its attention looks at, when it asks, and that looking, learning and writing agree."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from decoding_helpers import tokenizer
from deep import deep, in_turn
from small_models import small_network

import core
from core import edits
from core.layers.recurrent import Cell
from core.layers.recurrent.alignment import gaussian
from core.models import Batch
from core.models.seq2seq import ATTENTIONS, FAMILY, Seq2Seq, Seq2SeqConfig
from core.run.batched import beam, greedy
from core.trace import record
from core.training.loop.engine import Plan, train
from core.training.loop.optim import initialise
from core.training.pairs import SentencePairs
from core.training.recipe import recipes

LOOKING = ATTENTIONS[1:]

GLOBAL = ("bahdanau", "luong-global")

LUONG = ("luong-global", "luong-local-m", "luong-local-p")


def build(attention="bahdanau", seed=0, **changes):
    return small_network("seq2seq", seed, attention=attention, **changes)


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


# ---------------- A recurrent translator as a whole: it writes, is edited, saved and opened, and learns.


SOURCE = "the old cat sat on the mat"


def opened(attention="bahdanau", **changes):
    names = tokenizer(prefix_space=True)
    network = build(attention, n_vocab=len(names), n_ctx=41, **changes)
    return core.Model("tiny", FAMILY, network.cfg, network, names)


@pytest.mark.parametrize(("attention", "cell"), in_turn(ATTENTIONS, ("rnn", "lstm", "gru")))
def test_torchs_kernels_while_learning_give_what_the_steps_give(attention, cell):
    network, batch = build(attention, cell=cell), example()
    with torch.no_grad():
        stepped = network(batch)
    learning = network(batch)
    assert learning.requires_grad
    torch.testing.assert_close(learning, stepped, rtol=1e-5, atol=1e-5)
    slope = torch.autograd.grad(learning.square().sum(), [*network.parameters()], allow_unused=True)
    looked, _ = record(network, batch)  # gradients through the explicit steps
    explicit = torch.autograd.grad(looked.square().sum(), [*network.parameters()], allow_unused=True)
    for (name, _), one, other in zip(network.named_parameters(), slope, explicit, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.quick(6)
@pytest.mark.parametrize("score", ["dot", "scaled", "general", "linear", "concat", "cosine", "location"])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_gradients_reach_every_parameter(attention, score):
    network = build(attention, score=score, input_feeding=attention == "luong-global").train()
    network.logits(network(example())).square().sum().backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name
        silent = name.endswith("score.query")  # E8: the query of the linear form cannot be learnt
        assert weight.grad.abs().max() < 1e-3 if silent else (weight.grad != 0).any(), name


def test_a_whole_batch_is_written_as_its_sentences_alone():
    network, batch = build("luong-global", input_feeding=True).requires_grad_(False), example()
    alone = [
        Batch(ids=batch.ids[i : i + 1], real=batch.real[i : i + 1], source=batch.source[i : i + 1, :n])
        for i, n in enumerate((7, 4))
    ]
    for write in (greedy, lambda *a, **k: beam(*a, width=3, **k)):
        with torch.inference_mode():
            together = write(network, batch, start=1, end=2, limit=11)
            assert together == [write(network, each, start=1, end=2, limit=11)[0] for each in alone]


def test_a_model_without_attention_says_so():
    run = opened("none").run(SOURCE, target="el gato")
    assert run.kinds == () and run.hidden("decoder").shape[0] == 3
    for kind in (None, "alignment"):
        with pytest.raises(core.InputError, match="no attention"):
            run.attention(kind)


def test_gradients_belong_to_the_steps():
    m = opened()
    run = m.run(SOURCE, target="el gato", grad="logit:cat")
    step, last = 1e-2, len(run.tokens) - 1
    token = m.tokenizer.encode("cat").ids[0]
    path = f"decoder.step.{last}.attn.context"
    up, down = (
        m.run(SOURCE, target="el gato", edits=[edits.AddVector(path, [sign * step, *[0] * 33])]).logits[
            -1, token
        ]
        for sign in (1, -1)
    )
    np.testing.assert_allclose(run.trace.grad(path)[0, 0], (up - down) / (2 * step), rtol=0.05, atol=1e-3)
    assert run.trace.grad("encoder.embed.token").any()
    with pytest.raises(KeyError, match="step"):
        run.trace.grad("decoder.attn.pattern")


def test_cells_start_orthogonal_with_the_forget_gate_open():
    network = Seq2Seq(Seq2SeqConfig.tiny())
    initialise(network, 2)
    cells = [module for module in network.modules() if isinstance(module, Cell)]
    assert len(cells) == 6
    for cell in cells:
        for part in cell.from_hidden.weight.detach().chunk(4):
            torch.testing.assert_close(part @ part.T, torch.eye(cell.d_hidden), atol=1e-5, rtol=0)
        gates = cell.from_input.bias.detach().chunk(4)
        assert (gates[1] == 1).all() and not gates[0].any() and not cell.from_hidden.bias.any()


@pytest.mark.parametrize(
    ("name", "cell"),
    deep(
        [
            ("bahdanau-en-es", "lstm"),
            ("rnn-en-es", "rnn"),
            ("rnn-en-es", "lstm"),
            ("luong-global-en-es", "gru"),
            ("luong-local-en-es", "lstm"),
        ],
        quick=[("bahdanau-en-es", "lstm")],
    ),
)
def test_a_small_recipe_learns_and_goes_on_where_it_stopped(tmp_path, name, cell):
    """In the engine as it is: bfloat16 where it is offered, dropout, two optimisers, padding."""
    draw = np.random.default_rng(0)
    words = [[int(i) for i in draw.integers(3, 20, n)] for n in draw.integers(1, 7, 64)]
    made = recipes()[name]
    task = SentencePairs(
        [(w, w) for w in words], [(w, w) for w in words], tokenizer(prefix_space=True), 0, torch.device("cpu")
    )
    made = replace(
        made,
        config=replace(made.config, cell=cell, d_model=32, d_ff=13, n_vocab=29, n_ctx=19, dropout=0.1),
        warm_up=5,
    )
    plan = Plan(work=tmp_path, quiet=True, steps=16, check_every=1)
    outcome = train(made, task, plan, torch.device("cpu"))
    lost = [row["valid_nats"] for row in outcome.log]
    assert lost[-1] < lost[0] and np.isfinite(lost).all()
    again = train(made, task, replace(plan, steps=17, resume=True), torch.device("cpu"))
    assert again.steps == 17 and np.isfinite(again.log[-1]["valid_nats"])


def test_recipes_of_translators_are_of_one_size():
    """A comparison with and without attention is about attention: parameters within 10 percent of Bahdanau's."""
    made = {
        name: recipe
        for name, recipe in recipes().items()
        if recipe.family == "seq2seq" and recipe.measure is None
    }
    assert set(made) == {"bahdanau-en-es", "rnn-en-es", "luong-global-en-es", "luong-local-en-es"}
    with torch.device("meta"):
        counts = {
            name: sum(w.numel() for w in Seq2Seq(recipe.config).parameters()) for name, recipe in made.items()
        }
    assert counts["bahdanau-en-es"] == pytest.approx(4.0e6, rel=0.02)
    assert all(count == pytest.approx(counts["bahdanau-en-es"], rel=0.1) for count in counts.values())
    assert len({(recipe.prepare, recipe.config.n_vocab) for recipe in made.values()}) == 1
    assert made["bahdanau-en-es"].steps == made["rnn-en-es"].steps
