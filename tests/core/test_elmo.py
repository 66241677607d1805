"""ELMo against torch's LSTM, the reversed text, the closed form of the mixture; its scoring token by token; its recipe."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_models import small_network
from torch import nn

from core import edits
from core.layers.recurrent.lstm_sequence import LSTMSequence
from core.models import Batch, families
from core.models.elmo import ELMo, ELMoConfig, Mixture
from core.scoring import both_ways, language
from core.training.finetune import mixing
from core.training.loop.side_by_side import mean_of
from core.training.recipes import elmo_mini
from tests.core.test_evaluate import START, model
from tests.core.test_families import traced
from viz.course.bert.elmo.chains import exchanged


@pytest.fixture
def network():
    return small_network("elmo", std=0.4).requires_grad_(False)


def rows(n=7, batch=3):
    ids = torch.randint(1, 29, (batch, n), generator=torch.Generator().manual_seed(1))
    return Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool))


@pytest.mark.parametrize("residual", [True, False])
def test_each_layer_is_torchs_lstm_and_a_projection(residual):
    torch.manual_seed(0)
    cfg = replace(ELMoConfig.tiny(), residual=residual)
    network = ELMo(cfg).eval()
    batch = rows()
    _, trace = traced(network, batch)
    token = network.embed["token"].weight.detach()[batch.ids]
    torch.testing.assert_close(trace["layer.0.inputs"], torch.cat((token, token), -1), rtol=0, atol=0)
    for chain, name, back in ((network.ahead, "forward", False), (network.back, "backward", True)):
        x = token.flip(1) if back else token
        for i, cell in enumerate(chain.cells):
            lstm = nn.LSTM(cfg.d_half, cfg.d_hidden, batch_first=True)
            with torch.no_grad():
                for theirs, ours in (
                    (lstm.weight_ih_l0, cell.from_input.weight),
                    (lstm.weight_hh_l0, cell.from_hidden.weight),
                    (lstm.bias_ih_l0, cell.from_input.bias),
                    (lstm.bias_hh_l0, cell.from_hidden.bias),
                ):
                    theirs.copy_(ours)
                hidden = lstm(x)[0]
                out = F.linear(hidden, chain.project[i].weight, chain.project[i].bias)
                x = x + out if residual and i else out
            own = trace[f"{name}.layer.{i}.hidden"]
            torch.testing.assert_close(own.flip(1) if back else own, hidden)
            half = trace[f"layer.{i}.out"].chunk(2, -1)[int(back)]
            torch.testing.assert_close(half.flip(1) if back else half, x)


def test_table_and_output_layer_are_one_and_shared_by_both_chains(network):
    cfg = network.cfg
    cell = 4 * cfg.d_hidden * (cfg.d_half + cfg.d_hidden + 2)
    chain = cfg.n_layers * (cell + cfg.d_half * (cfg.d_hidden + 1))
    shared = cfg.n_vocab * (cfg.d_half + 1)
    assert sum(w.numel() for w in network.parameters()) == shared + 2 * chain + cfg.n_layers + 1 + 1
    network.requires_grad_(True)
    hidden = network(rows())
    for scores, mine, other in (
        (network.logits, network.ahead, network.back),
        (network.backward_logits, network.back, network.ahead),
    ):
        loss = scores(hidden).logsumexp(-1).sum()
        found = torch.autograd.grad(loss, [*network.parameters()], retain_graph=True, allow_unused=True)
        got = {
            name: grad is not None and bool(grad.abs().sum() > 0)
            for (name, _), grad in zip(network.named_parameters(), found, strict=True)
        }
        assert got["embed.token.weight"] and got["bias"]
        names = {id(weight): name for name, weight in network.named_parameters()}
        assert all(got[names[id(weight)]] for weight in mine.parameters())
        assert not any(got[names[id(weight)]] for weight in other.parameters())


def test_backward_is_forward_on_the_reversed_text_with_the_same_weights(network):
    batch = rows()
    turned = replace(batch, ids=batch.ids.flip(1))
    there, back = network(batch), exchanged(network)(turned)
    other = exchanged(network)
    torch.testing.assert_close(network.backward_logits(there), other.logits(back).flip(1))
    torch.testing.assert_close(network.logits(there), other.backward_logits(back).flip(1))


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_one_hot_mixture_returns_that_layer(network, layer):
    """C109."""
    hot = torch.eye(3)[layer]
    nn.init.ones_(network.mix.gamma)
    _, trace = traced(network, rows(), edits=[edits.Patch("mixture.weights", hot)])
    path = ("layer.0.inputs", "layer.0.out", "layer.1.out")[layer]
    assert torch.equal(trace["mixture.out"], trace[path])


def test_the_gradient_of_the_mixtures_weights_is_the_closed_form():
    """dL/dw_j = gamma s_j (<h_j, G> - sum_i s_i <h_i, G>) with G = dL/dELMo."""
    torch.manual_seed(0)
    mixture, layers, slope = Mixture(3).double(), torch.randn(5, 3, 7).double(), torch.randn(5, 7).double()
    with torch.no_grad():
        mixture.w.copy_(torch.tensor([0.3, -1.0, 0.7]))
        mixture.gamma.fill_(1.7)
    (mixture(layers) * slope).sum().backward()
    s, each = mixture.w.detach().softmax(0), torch.einsum("njd,nd->j", layers, slope)
    torch.testing.assert_close(mixture.w.grad, 1.7 * s * (each - (s * each).sum()))
    torch.testing.assert_close(mixture.gamma.grad, (s * each).sum())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_our_loops_over_a_sequence_are_torchs_lstm_with_its_gradients(dtype):
    torch.manual_seed(0)
    x, goal = torch.randn(4, 9, 6), torch.randn(4, 9, 5)
    h, c = torch.randn(4, 5), torch.randn(4, 5)
    shapes = ((20, 6), (20, 5), (20,), (20,))
    drawn = [torch.randn(shape) * 0.4 for shape in shapes]

    def run(own):
        weights = [weight.clone().requires_grad_() for weight in drawn]
        first, state, cell = (each.clone().requires_grad_() for each in (x, h, c))
        if own:
            out = LSTMSequence.apply(first.to(dtype), state.to(dtype), cell, *weights)
        else:
            out = torch.lstm(first, (state[None], cell[None]), weights, True, 1, 0.0, True, False, True)[0]
        (out.float() * goal).sum().backward()
        return out.detach().float(), [each.grad for each in (first, state, cell, *weights)]

    ours, theirs = run(True), run(False)
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 0.05, "atol": 0.06}
    torch.testing.assert_close(ours[0], theirs[0], **close)
    for mine, other in zip(ours[1], theirs[1], strict=True):
        torch.testing.assert_close(mine, other, **close)


def test_losses_side_by_side_are_the_plain_mean_with_its_gradients(network):
    network.requires_grad_(True)
    batch = elmo_mini.Rows(rows(), *(torch.randint(1, 29, (3, 7)) for _ in range(2)))
    parts = [partial(elmo_mini.direction_loss, network, batch, direction) for direction in range(2)]

    def gradients(loss):
        network.zero_grad()
        loss.backward()
        return {name: weight.grad for name, weight in network.named_parameters() if weight.grad is not None}

    together, plain = mean_of(parts, network), sum(part() for part in parts) / 2
    torch.testing.assert_close(together, plain)
    mine, theirs = gradients(together), gradients(plain)
    assert mine.keys() == theirs.keys()
    for name, grad in theirs.items():
        torch.testing.assert_close(mine[name], grad, rtol=1e-4, atol=1e-6)


def test_one_way_is_the_top_of_the_whole_pass(network):
    batch = rows()
    for direction in range(2):
        whole = network.top(network(batch), direction)
        torch.testing.assert_close(network.one_way(batch, direction), whole)


@pytest.mark.quick(1)
@pytest.mark.parametrize("n_ctx", [7, 8])
def test_both_directions_are_scored_as_a_token_by_token_computation_does(n_ctx, monkeypatch):
    monkeypatch.setattr(language, "BATCH_TOKENS", 3 * n_ctx)
    tiny = model("elmo", n_ctx=n_ctx)
    text = np.array([START, *np.random.default_rng(3).integers(3, tiny.config.n_vocab, 23)])
    half = max(1, n_ctx // 2)
    for direction in range(2):
        read = both_ways.reverse_tokens(text) if direction else text
        found = language.token_losses(both_ways.OneWay(tiny.network, direction), [read], n_ctx)[0]
        end, wanted = n_ctx, []
        for place in range(1, len(read)):
            end += half if place > end else 0
            first = max(0, min(end, len(read) - 1) - n_ctx)
            seen = torch.tensor(read[first:place])[None]
            seen = seen.flip(1) if direction else seen
            with torch.inference_mode():
                hidden = tiny.network(Batch(ids=seen, real=torch.ones_like(seen, dtype=torch.bool)))
                scores = (
                    tiny.network.backward_logits(hidden)[0, 0]
                    if direction
                    else tiny.network.logits(hidden)[0, -1]
                )
            wanted.append(-float(scores.log_softmax(-1)[read[place]]))
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_the_measures_are_per_token_and_per_byte(tmp_path):
    tiny, file = model("elmo", n_ctx=8), tmp_path / "text.txt"
    file.write_text("=== 1\nthe cat sat on the mat.\na dog\n", encoding="utf-8")
    found = both_ways.measure(tiny, file)
    n_bytes = len("the cat sat on the mat.\na dog\n")
    assert found["bytes"] == n_bytes and found["items"] == 2
    for side in both_ways.DIRECTIONS:
        nats = found[f"nats_per_token_{side}"] * found["tokens"]
        assert found[f"bits_per_byte_{side}"] == pytest.approx(nats / math.log(2) / n_bytes)
        assert found[f"perplexity_{side}"] == pytest.approx(math.exp(found[f"nats_per_token_{side}"]))
    assert found["nats_per_token_forward"] != found["nats_per_token_backward"]


def test_windows_hold_the_token_before_and_after_each(monkeypatch):
    monkeypatch.setattr(elmo_mini, "LENGTH", 4)
    monkeypatch.setattr(elmo_mini, "ROWS", 5)
    monkeypatch.setattr(elmo_mini, "FRESH", 0.0)
    stream = np.arange(1, 200, dtype=np.uint16)
    windows = elmo_mini.Windows(stream, stream, model("elmo").tokenizer, 0, torch.device("cpu"))
    seen = []
    for step in range(9):
        found, n = windows.batch(step)
        again, _ = windows.batch(step)
        assert n == 20 and torch.equal(found.batch.ids, again.batch.ids)
        assert found.batch.ids.shape == ((5, 4) if step % 4 == 3 else (10, 2))
        assert torch.equal(found.after, found.batch.ids + 1) and torch.equal(
            found.before, found.batch.ids - 1
        )
        seen += found.batch.ids.flatten().tolist()
    assert len(set(seen)) == len(seen), "each window once in a pass"


def test_fresh_windows_begin_and_end_with_the_mark_and_foretell_what_stood_there(monkeypatch):
    monkeypatch.setattr(elmo_mini, "LENGTH", 4)
    monkeypatch.setattr(elmo_mini, "ROWS", 5)
    monkeypatch.setattr(elmo_mini, "FRESH", 1.1)
    stream = np.arange(1, 200, dtype=np.uint16)
    found, _ = elmo_mini.Windows(stream, stream, model("elmo").tokenizer, 0, torch.device("cpu")).batch(0)
    ids = found.batch.ids
    assert (ids[:, [0, -1]] == 0).all()
    assert torch.equal(found.before[:, 1:], found.after[:, :-1] - 1), "the targets are those of the text"


def test_training_begins_with_the_table_of_gpt_mini():
    import core

    network = families()["elmo"].network(elmo_mini.RECIPE.config)
    elmo_mini.begin(network)
    table = core.open_model("gpt-mini").network.embed["token"].weight
    torch.testing.assert_close(network.embed["token"].weight.detach(), table)


@pytest.mark.slow
def test_a_mixture_finds_the_layer_that_tells(monkeypatch):
    monkeypatch.setattr(mixing, "LR", 0.03)
    monkeypatch.setattr(mixing, "MIX_LR", 0.03)
    draws = torch.Generator().manual_seed(0)
    layers, wanted = torch.randn(400, 3, 12, generator=draws), torch.randint(0, 2, (400,), generator=draws)
    layers[:, 1, 0] = 2.0 * (2 * wanted - 1) + 0.5 * layers[:, 1, 0]
    one = torch.ones(400, 1, dtype=torch.bool)
    train, test = (
        mixing.States(layers[half][:, None].half(), one[half], wanted[half])
        for half in (slice(0, 300), slice(300, None))
    )
    found = {only: mixing.train_head(train, test, 2, only) for only in (None, 0, 1, 2)}
    assert max(found[None].s) == found[None].s[1] > 0.4
    assert sum(found[None].s) == pytest.approx(1)
    assert found[1].accuracy > 0.95 and found[None].accuracy > 0.95
    assert found[0].accuracy < 0.75 and found[2].accuracy < 0.75
    assert found[2].s == pytest.approx((1 / 3,) * 3), "nothing of the mixture learns where one layer is read"


@pytest.mark.parametrize("task", mixing.TASKS)
def test_states_of_words_and_sentences_are_those_of_the_run(task, monkeypatch):
    tiny = model("elmo", n_ctx=64)
    goal = mixing.GOALS[task]
    examples = goal.examples(tiny.tokenizer, 3, 0, "train")
    monkeypatch.setattr(mixing, "ROWS_AT_ONCE", 2)
    found = mixing.collect_states(tiny, goal, examples)
    shortest = min(examples, key=lambda example: len(example.ids))
    ids = torch.tensor(shortest.ids[None])
    with torch.inference_mode():
        hidden = tiny.network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)))[0]
    if task == "tags":
        asked = torch.tensor(shortest.targets) != mixing.NONE
        torch.testing.assert_close(found.layers[: int(asked.sum()), 0], hidden[asked].half())
        assert found.real.all()
    else:
        n = len(ids[0])
        torch.testing.assert_close(found.layers[0, :n], hidden.half())
        assert found.real[0, :n].all() and not found.real[0, n:].any()
    assert len(found.layers) == len(found.real) == len(found.labels)


def test_a_sentence_is_judged_by_the_largest_numbers_of_its_own_tokens():
    torch.manual_seed(0)
    head = mixing.Head(3, 8, 2, pooled=True)
    layers, real = torch.randn(1, 5, 3, 8).half(), torch.tensor([[True, True, True, False, False]])
    moved = layers.clone()
    moved[:, 3:] = 9.0
    torch.testing.assert_close(head(layers, real), head(moved, real))
    inner = torch.tanh(head.inner(layers.float().mean(2)))[0, :3].amax(0)
    torch.testing.assert_close(head(layers, real)[0], head.to_label(inner))
