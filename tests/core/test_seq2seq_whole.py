"""A recurrent translator as a whole: it writes, is edited, saved and opened, and learns."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from decoding_helpers import LINES, ids_of, tokenizer
from deep import deep, in_turn
from test_seq2seq import build, example

import core
from core import edits
from core.checkpoints import store
from core.decoding import decode
from core.layers.recurrent import Cell
from core.models import Batch
from core.models.seq2seq import ATTENTIONS, FAMILY, Seq2Seq, Seq2SeqConfig
from core.run.batched import beam, greedy
from core.text.learn import learn_byte_level_bpe
from core.trace import record
from core.training.loop.engine import Plan, train
from core.training.loop.optim import initialise
from core.training.pairs import SentencePairs
from core.training.recipe import recipes

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
