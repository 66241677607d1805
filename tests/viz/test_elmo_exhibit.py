"""ELMo: its numbers computed again on small random models; odd texts told calmly."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states
from streamlit.testing.v1 import AppTest
from tiny_models import stand_ins

import core
from core.checkpoints.scores import Score
from core.models import Batch
from core.serving.engine import default
from core.training.finetune.mixing import MIXED, SPLIT
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.elmo import chains, factorizations, layer_mixture, mixture
from viz.course.bert.elmo.params import FLOORS, SENTENCES
from viz.labels import percent
from viz.shell import pages

TEXT = SENTENCES[1]
TOLD = {"tags": (0.2, 0.5, 0.3), "opinions": (0.1, 0.3, 0.6)}
engine = stand_ins(
    {
        "elmo-mini": ("elmo", {}),
        "bert-mini": ("bert", {}),
        "tiny-gpt": ("gpt", {}),
        "tiny-translator": ("transformer", {}),
    }
)
page = StepPages("elmo", {"text": TEXT})


@pytest.fixture(autouse=True)
def _scores(monkeypatch):
    """Give what a training of both tasks might have recorded."""
    rows: dict[str, float] = {}
    for task, s in TOLD.items():
        told = {MIXED: 0.95, **{f"layer {j} alone": 0.8 + 0.05 * j for j in range(3)}}
        rows |= {f"{task}_by_mixture, {of}": value for of, value in told.items()}
        rows |= {f"{task}_mixture, s {j}": value for j, value in enumerate(s)}
    scores = tuple(Score(measure, SPLIT, "elmo-mini", value) for measure, value in rows.items())
    monkeypatch.setattr(mixture, "_scores", lambda: scores)


def elmo():
    return default().open("elmo-mini")


def bars(test) -> list[str]:
    """Return the numbers of all bars of the lanes."""
    return [row["value"] for row in drawn_rows(test, "shade")]


def log_probabilities(row: list[int], backward: bool = False) -> torch.Tensor:
    read, network = torch.tensor([row]), elmo().network
    with torch.inference_mode():
        hidden = network(Batch(ids=read, real=read >= 0))
        scores = (network.backward_logits if backward else network.logits)(hidden)[0]
    return scores.double().log_softmax(-1)


def by_hand() -> np.ndarray:
    """Return ln p of each token: forward from what stands before alone, backward from what stands after alone."""
    tokenizer = elmo().tokenizer
    ids = tokenizer.encode(TEXT).ids
    return np.array(
        [
            [log_probabilities([tokenizer.start, *ids[:i]])[-1, ids[i]] for i in range(len(ids))],
            [log_probabilities([*ids[i + 1 :], tokenizer.end], True)[0, ids[i]] for i in range(len(ids))],
        ]
    )


@pytest.mark.slow
def test_each_words_probability_both_ways_waits_for_the_guess():
    """C108."""
    forward, backward = by_hand()
    found, before = chains.chains(elmo(), TEXT), page()
    np.testing.assert_allclose((found.forward, found.backward), (forward, backward), atol=1e-5)
    place = int(np.abs(forward - backward).argmax())
    assert not bars(before)
    assert page.answer(before, "side") == ("forward" if forward[place] > backward[place] else "backward")
    assert bars(answered(before)) == [f"{math.exp(value):.3f}" for value in (*forward, *backward)]


@pytest.mark.slow
def test_the_loss_is_the_sum_of_both():
    """C108."""
    forward, backward = by_hand()
    one, other = -forward.sum(), -backward.sum()
    assert chains.chains(elmo(), TEXT).loss == pytest.approx(one + other, abs=1e-4)
    before = page(2)
    assert f"{one:.3f} nats" in said(before)
    after = said(answered(before))
    assert f"L = {one:.3f} + {other:.3f} = {one + other:.3f} nats" in after
    assert f"{one / len(forward):.3f} per token forward" in after


@pytest.mark.parametrize("reads", ["back", "ahead"])
def test_in_reverse_the_backward_weights_give_the_same_and_the_forward_ones_do_not(reads):
    """C108: swap direction."""
    found, read = chains.chains(elmo(), TEXT), chains.reversed_text(elmo(), TEXT)
    assert read.gap(found) < 1e-5 and np.abs(read.forward - found.backward).max() > 0.01
    turned = elmo().tokenizer.encode(TEXT).ids[::-1]
    rows = log_probabilities([elmo().tokenizer.end, *turned[:-1]])
    wanted = rows[torch.arange(len(turned)), torch.tensor(turned)].numpy()[::-1]
    np.testing.assert_allclose(read.forward, wanted, atol=1e-5)
    more = "a higher probability" if read.forward.sum() > found.forward.sum() else "a lower probability"
    test = page(3, guess={"turned": more}, reads=reads)
    values = read.backward if reads == "back" else read.forward
    assert page.answer(test, "turned") == more
    assert bars(test)[len(turned) :] == [f"{value:,.3f}" for value in values]


@pytest.mark.slow
def test_both_products_of_a_table_are_its_probability():
    """C108: 0.0276221835 both ways."""
    for draw in range(5):
        joint = factorizations.joint(draw)
        assert joint.sum() == pytest.approx(1) and (joint > 0).all()
        for text in np.ndindex(joint.shape):
            products = factorizations.factors(joint, text).products
            assert products == pytest.approx((joint[text], joint[text]), rel=1e-12)
    test = page(4, guess={"joint": "the same"})
    assert page.answer(test, "joint") == "the same" and said(test).count("0.0276221835") >= 3
    loss = -chains.chains(elmo(), TEXT).losses[0]
    assert f"{loss:.2f}".replace("-", "−") in said(test)
    other = page(4, guess={"joint": "the same"}, first="dog", third="cat", table=3)
    assert f"{factorizations.joint(3)[2, 1, 0]:.10f}" in said(other)


@pytest.mark.slow
def test_the_mixture_is_the_softmax_times_the_layers_and_one_hot_returns_one():
    """C109."""
    layers, w = layer_mixture.layers_of(elmo(), TEXT)[:, 2], (1.0, -0.5, 0.2)
    s = np.exp(w) / np.exp(w).sum()
    np.testing.assert_allclose(layer_mixture.mixed(layers, w, 1.5).mixture, 1.5 * s @ layers)
    for j in range(3):
        assert (layer_mixture.mixed(layers, w, 1.0, only=j).mixture == layers[j]).all()
    run, own = elmo().run(TEXT), elmo().network.mix
    whole = layer_mixture.mixed(run.hidden()[:, 2].astype(np.float64), own.w.tolist(), float(own.gamma))
    np.testing.assert_allclose(run.trace["mixture.out"][2], whole.mixture, atol=1e-5)
    alone, larger = (said(answered(page(5, place=3, only=1, gamma=gamma))) for gamma in ("1.0", "2.0"))
    assert states(alone, FLOORS[1]) and "One-hot" not in larger
    moved = said(answered(page(5, place=3, w0="1.0", w1="-0.5", w2="0.2", gamma="1.5")))
    assert f"s = ({', '.join(percent(value) for value in s)}), γ = 1.5." in moved


def test_the_gradient_of_w_is_that_of_the_numbers():
    layers, slope = np.random.default_rng(0).normal(size=(3, 7)), np.random.default_rng(1).normal(size=7)
    w, gamma, step = np.array([0.3, -0.2, 0.9]), 1.3, 1e-6
    s = layer_mixture.mixed(layers, w, gamma).weights
    closed = gamma * s * (layers @ slope - s @ (layers @ slope))
    for j in range(3):
        up, down = (layer_mixture.mixed(layers, w + sign * step * np.eye(3)[j], gamma) for sign in (1, -1))
        assert ((up.mixture - down.mixture) @ slope) / (2 * step) == pytest.approx(closed[j], abs=1e-6)


@pytest.mark.parametrize("task", sorted(TOLD))
def test_what_a_task_learned_is_what_is_recorded(task):
    best = FLOORS[int(np.argmax(TOLD[task]))]
    test = page(6, guess={f"learned.{task}": best}, task=task)
    assert page.answer(test, f"learned.{task}") == best
    accuracies = [row["value"] for row in drawn_rows(test, "value", place=1)]
    assert accuracies == pytest.approx([0.95, 0.8, 0.85, 0.9])
    assert states(said(test), percent(0.95, 2), percent(0.9, 2))


def test_a_model_without_a_recorded_mixture_says_how_to_learn_one(monkeypatch):
    monkeypatch.setattr(mixture, "_scores", lambda: ())
    assert "core.training.finetune.mixing" in said(page(6))


@pytest.mark.slow
def test_bank_again_beside_bert():
    word = senses.WORDS["bank"]
    texts, kinds = [text for text, _ in word.uses], [kind for _, kind in word.uses]
    ours = layer_mixture.uses(elmo(), texts, "bank")
    bert = contextual_vectors.uses(default().open("bert-mini"), texts, "bank")
    own = elmo().network.mix
    blend = layer_mixture.mixed(ours.vectors[:3, 0], own.w.tolist(), float(own.gamma)).mixture
    np.testing.assert_allclose(ours.vectors[3, 0], blend, atol=1e-5)
    assert ours.cosines(0) == pytest.approx(1), "one vector in the table"
    right = [contextual_vectors.agree(each.cosines(-1), kinds) for each in (ours, bert)]
    before = page(7)
    assert [row["label"] for row in drawn_rows(before, mark="line")] == ["1.000"]
    after = answered(before)
    assert states(said(after), right[0], f"{right[1]} of {len(texts)}")
    other = contextual_vectors.kept_apart(ours.cosines(-1), kinds)[1]
    assert drawn_rows(after, mark="line")[-1]["label"] == f"{other:.3f}"


def test_only_an_elmo_reads_both_ways():
    with pytest.raises(core.InputError, match="both ways"):
        chains.chains(default().open("bert-mini"), TEXT)
    with pytest.raises(core.InputError, match="no text"):
        chains.ids_of(elmo(), "  ")  # it has tokens, and nothing to read


@pytest.mark.parametrize("slug", [entry.slug for entry in pages.workspace() if entry.takes_selection])
def test_a_page_on_heads_says_why_it_shows_no_elmo_and_keeps_the_text(slug):
    test = AppTest.from_string(
        f"from viz.shell import pages, state\nwith state.visit({slug!r}):\n    pages.find({slug!r}).page()",
        default_timeout=120,
    )
    test.query_params["model"], test.query_params["text"] = "elmo-mini", TEXT
    test.run()
    assert not test.exception and "cannot show elmo-mini" in said(test) and "another model" in said(test)
    assert "no attention" in said(test) or "cannot go on" in said(test)
    assert test.text_input[0].value == TEXT
