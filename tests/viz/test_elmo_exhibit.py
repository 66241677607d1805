"""ELMo: each step by AppTest on small random models, its numbers computed again; odd texts told calmly."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
import torch
from drawn_layers import drawn_rows
from exhibit_pages import drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.checkpoints.scores import Score
from core.models import Batch
from core.training.finetune.mixing import MIXED, SPLIT
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.elmo import chains, factorizations, layer_mixture, mixture
from viz.course.bert.elmo.params import FLOORS, SENTENCES
from viz.labels import percent
from viz.shell import pages

SLUG, TEXT = "elmo.", SENTENCES[1]
TOLD = {"tags": (0.2, 0.5, 0.3), "opinions": (0.1, 0.3, 0.6)}


def scores() -> tuple[Score, ...]:
    """What a training of both tasks might have recorded."""
    rows = []
    for task, s in TOLD.items():
        told = {MIXED: 0.95, **{f"layer {j} alone": 0.8 + 0.05 * j for j in range(3)}}
        rows += [(f"{task}_by_mixture, {of}", value) for of, value in told.items()]
        rows += [(f"{task}_mixture, s {j}", value) for j, value in enumerate(s)]
    return tuple(Score(measure, SPLIT, "elmo-mini", value) for measure, value in rows)


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "elmo-mini", ("elmo", {}))
        patch.setitem(tiny_models.MODELS, "bert-mini", ("bert", {}))
        patch.setattr(mixture, "_scores", scores)
        names = ("elmo-mini", "bert-mini", "tiny-gpt", "tiny-translator")
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), *names) as served:
            yield served


def elmo():
    return core.serving.engine.default().open("elmo-mini")


def page(
    step: int,
    *,
    text: str = TEXT,
    guess: tuple[str, object] | None = None,
    guarded: bool = False,
    **link: str,
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    query = {SLUG + "step": str(step), "text": text} | {SLUG + name: value for name, value in link.items()}
    return drawn("elmo", query, answered, guarded=guarded)


def commit(test: AppTest, name: str) -> AppTest:
    return test.button(key=f"predict:{SLUG}{name}:commit").click().run()


def bars(test: AppTest) -> list[str]:
    """The numbers of all bars of the lanes."""
    return [row["value"] for row in drawn_rows(test, "shade")]


def by_hand(text: str) -> tuple[np.ndarray, np.ndarray]:
    """ln p of each token: forward from what stands before alone, backward from what stands after alone."""
    model, ids = elmo(), elmo().tokenizer.encode(text).ids
    start, end = model.tokenizer.start, model.tokenizer.end
    found: tuple[list[float], list[float]] = ([], [])
    for place, wanted in enumerate(ids):
        for side, row in enumerate(([start, *ids[:place]], [*ids[place + 1 :], end])):
            read = torch.tensor([row])
            with torch.inference_mode():
                hidden = model.network(Batch(ids=read, real=read >= 0))
                scores = (model.network.backward_logits if side else model.network.logits)(hidden)[0]
            found[side].append(float(scores[0 if side else -1].double().log_softmax(-1)[wanted]))
    return np.array(found[0]), np.array(found[1])


@pytest.mark.slow
def test_each_words_probability_both_ways_waits_for_the_guess():
    """C108."""
    forward, backward = by_hand(TEXT)
    found = chains.chains(elmo(), TEXT)
    np.testing.assert_allclose(found.forward, forward, atol=1e-5)
    np.testing.assert_allclose(found.backward, backward, atol=1e-5)
    before = page(1)
    assert not before.exception and not bars(before) and "Mean:" not in said(before)
    place = int(np.abs(forward - backward).argmax())
    right = "forward" if forward[place] > backward[place] else "backward"
    after = page(1, guess=("side", right))
    assert not after.exception and "Right." in said(after)
    wanted = [f"{math.exp(value):.3f}" for value in (*forward, *backward)]
    assert bars(after) == wanted


@pytest.mark.slow
def test_the_loss_is_the_sum_of_both():
    """C108."""
    forward, backward = by_hand(TEXT)
    one, other = -forward.sum(), -backward.sum()
    found = chains.chains(elmo(), TEXT)
    assert found.loss == pytest.approx(one + other, abs=1e-4)
    before = page(2)
    assert f"{other:.2f}" not in said(before) and f"{one:.3f} nats" in said(before)
    after = commit(before, "loss")
    assert f"L = {one:.3f} + {other:.3f} = {one + other:.3f} nats" in said(after)
    assert f"{one / len(forward):.3f} per token forward" in said(after)


@pytest.mark.parametrize("reads", ["back", "ahead"])
def test_in_reverse_the_backward_weights_give_the_same_and_the_forward_ones_do_not(reads):
    """C108: swap direction."""
    found, read = chains.chains(elmo(), TEXT), chains.reversed_text(elmo(), TEXT)
    assert read.gap(found) < 1e-5
    assert np.abs(read.forward - found.backward).max() > 0.01
    turned = elmo().tokenizer.encode(TEXT).ids[::-1]
    start = elmo().tokenizer.end
    row = torch.tensor([[start, *turned[:-1]]])
    with torch.inference_mode():
        logits = elmo().network.logits(elmo().network(Batch(ids=row, real=row >= 0)))[0].double()
    wanted = logits.log_softmax(-1)[torch.arange(len(turned)), torch.tensor(turned)].numpy()[::-1]
    np.testing.assert_allclose(read.forward, wanted, atol=1e-5)
    before = page(3, reads=reads)
    assert len(bars(before)) == len(turned)
    more = "a higher probability" if read.forward.sum() > found.forward.sum() else "a lower probability"
    after = page(3, guess=("turned", more), reads=reads)
    assert "Right." in said(after)
    shown = read.backward if reads == "back" else read.forward
    assert bars(after)[len(turned) :] == [f"{value:,.3f}" for value in shown]


@pytest.mark.slow
def test_both_products_of_a_table_are_its_probability():
    """C108: 0.0276221835 both ways."""
    for draw in range(5):
        joint = factorizations.joint(draw)
        assert joint.sum() == pytest.approx(1) and (joint > 0).all()
        for text in np.ndindex(joint.shape):
            both = factorizations.factors(joint, text)
            assert both.products == pytest.approx((joint[text], joint[text]), rel=1e-12)
    after = page(4, guess=("joint", "the same"))
    assert "Right." in said(after)
    assert said(after).count("0.0276221835") >= 3
    found = chains.chains(elmo(), TEXT)
    assert f"{-found.losses[0]:.2f}".replace("-", "−") in said(after)
    other = page(4, guess=("joint", "the same"), first="dog", third="cat", table="3")
    p = float(factorizations.joint(3)[2, 1, 0])
    assert f"{p:.10f}" in said(other)


@pytest.mark.slow
def test_the_mixture_is_the_softmax_times_the_layers_and_one_hot_returns_one():
    """C109."""
    layers = layer_mixture.layers_of(elmo(), TEXT)[:, 2]
    made = layer_mixture.mixed(layers, (1.0, -0.5, 0.2), 1.5)
    s = np.exp([1.0, -0.5, 0.2]) / np.exp([1.0, -0.5, 0.2]).sum()
    np.testing.assert_allclose(made.mixture, 1.5 * sum(s[j] * layers[j] for j in range(3)))
    for j in range(3):
        assert (layer_mixture.mixed(layers, (1.0, -0.5, 0.2), 1.0, only=j).mixture == layers[j]).all()
    run = elmo().run(TEXT)
    own = elmo().network.mix
    whole = layer_mixture.mixed(run.hidden()[:, 2].astype(np.float64), own.w.tolist(), float(own.gamma))
    np.testing.assert_allclose(run.trace["mixture.out"][2], whole.mixture, atol=1e-5)
    alone = commit(page(5, place="3", only="1"), "share")
    assert states(said(alone), FLOORS[1])
    larger = commit(page(5, place="3", only="1", gamma="2.0"), "share")
    assert "One-hot" not in said(larger) and "0.0" not in percent(made.weights[0])
    slid = commit(page(5, place="3", w0="1.0", w1="-0.5", w2="0.2", gamma="1.5"), "share")
    assert f"s = ({', '.join(percent(value) for value in s)}), γ = 1.5." in said(slid)


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
    before = page(6, task=task)
    assert not before.get("vega_lite_chart") and "95" not in said(before)
    after = page(6, guess=(f"learned.{task}", best), task=task)
    assert "Right." in said(after)
    assert [row["value"] for row in drawn_rows(after, "value", place=1)] == pytest.approx(
        [0.95, 0.8, 0.85, 0.9]
    )
    assert states(said(after), percent(0.95, 2), percent(0.9, 2))


def test_a_model_without_a_recorded_mixture_says_how_to_learn_one(monkeypatch):
    monkeypatch.setattr(mixture, "_scores", lambda: ())
    test = page(6, guarded=True)
    assert not test.exception and "core.training.finetune.mixing" in said(test)


@pytest.mark.slow
def test_bank_again_beside_bert():
    word = senses.WORDS["bank"]
    texts, kinds = [text for text, _ in word.uses], [kind for _, kind in word.uses]
    ours = layer_mixture.uses(elmo(), texts, "bank")
    bert = contextual_vectors.uses(core.serving.engine.default().open("bert-mini"), texts, "bank")
    assert ours.vectors.shape == (4, len(texts), elmo().config.d_model)
    own = elmo().network.mix
    blend = layer_mixture.mixed(ours.vectors[:3, 0], own.w.tolist(), float(own.gamma)).mixture
    np.testing.assert_allclose(ours.vectors[3, 0], blend, atol=1e-5)
    assert ours.cosines(0) == pytest.approx(1), "one vector in the table"
    right = [contextual_vectors.agree(each.cosines(-1), kinds) for each in (ours, bert)]
    before = page(7)
    assert not before.exception and [row["label"] for row in drawn_rows(before, mark="line")] == ["1.000"]
    after = commit(before, "bank.bank")
    assert states(said(after), right[0], f"{right[1]} of {len(texts)}")
    other = contextual_vectors.kept_apart(ours.cosines(-1), kinds)[1]
    assert drawn_rows(after, mark="line")[-1]["label"] == f"{other:.3f}"


@pytest.mark.quick(2)
@pytest.mark.parametrize("step", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("text", "words"), [("", "no text"), ("word " * 900, "tokens"), ("猫が好きです", ""), ("cat", "")]
)
def test_odd_texts_are_told_calmly(step, text, words):
    test = page(step, text=text, guarded=True)
    assert not test.exception and words in said(test)


def test_only_an_elmo_reads_both_ways():
    with pytest.raises(core.InputError, match="both ways"):
        chains.chains(core.serving.engine.default().open("bert-mini"), TEXT)
    with pytest.raises(core.InputError, match="no text"):
        chains.ids_of(elmo(), "  ")  # it has tokens, and nothing to read


@pytest.mark.parametrize("slug", [entry.slug for entry in pages.workspace() if entry.takes_selection])
def test_a_page_on_heads_says_why_it_shows_no_elmo_and_keeps_the_text(slug):
    test = AppTest.from_string(
        f"from viz.shell import pages, state\npage = pages.find({slug!r})\nwith state.visit({slug!r}):\n    page.page()",
        default_timeout=120,
    )
    test.query_params["model"], test.query_params["text"] = "elmo-mini", TEXT
    test.run()
    assert not test.exception
    assert "cannot show elmo-mini" in said(test)
    assert "no attention" in said(test) or "cannot go on" in said(test)
    assert "another model" in said(test) and test.text_input[0].value == TEXT
