"""Fine-tuning: what is asked of the network, what learns and what does not, recorded runs, and tunings that a visitor starts."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from deep import deep

import core
import core.serving.engine
from core.data import grammar
from core.data.spans import spans
from core.errors import InputError
from core.jobs.trainer import Trainer
from core.models.bert import BERT, BERTConfig
from core.training import jobs, records
from core.training.finetune import fitted_head, tuning
from core.training.finetune.finetune_tasks import GOALS, NONE, collate
from core.training.finetune.tuning import ALL, HEADS, TUNINGS, Tuning

QUICK = {"n_texts": 64, "n_rows": 8}


@pytest.fixture(scope="module")
def body():
    return tuning.load_base()


def tuned(body, goal, learns, steps=3, seed=0):
    job = Tuning(name="quick", goal=goal, learns=learns, steps=steps, **QUICK)
    found = list(tuning.training(job, seed, base=body, longest=600.0, every=1e6))
    return job, found


def test_the_best_span_by_brute_force():
    """C088."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        starts, ends = rng.normal(size=(2, 9))
        allowed = rng.random(9) > 0.3
        allowed[4] = True
        found = spans(starts, ends, allowed)
        pairs = {
            (i, j): starts[i] + ends[j] for i in range(9) for j in range(i, 9) if allowed[i] and allowed[j]
        }
        assert found.best == max(pairs, key=pairs.__getitem__)
        assert found.start.sum() == pytest.approx(1) and found.end.sum() == pytest.approx(1)
        assert found.probability == pytest.approx(found.start[found.best[0]] * found.end[found.best[1]])
        for pair, score in pairs.items():
            assert found.scores[pair] == pytest.approx(score)
        assert np.isneginf(found.scores[np.tril_indices(9, -1)]).all()
    with pytest.raises(InputError, match="shapes"):
        spans(np.zeros(3), np.zeros(4))
    with pytest.raises(InputError, match="No position"):
        spans(np.zeros(3), np.zeros(3), np.zeros(3, dtype=bool))


def test_heads_are_one_linear_map_each():
    torch.manual_seed(0)
    net = BERT(replace(BERTConfig.tiny(), n_classes=4, n_tags=5, answers=True))
    hidden = torch.randn(2, 6, 33)
    torch.testing.assert_close(
        net.classes(hidden), F.linear(hidden[:, 0], net.to_classes.weight, net.to_classes.bias)
    )
    torch.testing.assert_close(net.tags(hidden), F.linear(hidden, net.to_tags.weight, net.to_tags.bias))
    assert net.answer(hidden).shape == (2, 6, 2) and net.to_answer.weight.shape == (2, 33)
    hidden.requires_grad_()
    net.classes(hidden).sum().backward()
    assert hidden.grad is not None and (hidden.grad[:, 1:] == 0).all() and (hidden.grad[:, 0] != 0).any()
    plain = BERT(BERTConfig.tiny())
    for name in ("classes", "tags", "answer"):
        with pytest.raises(InputError, match="no head"):
            getattr(plain, name)(hidden)
    for wrong in ({"n_classes": -1}, {"n_tags": 1.5}, {"answers": 1}):
        with pytest.raises(ValueError, match="must be"):
            BERTConfig(**wrong)


def test_texts_are_read_as_they_are_labelled(body):
    read = body.tokenizer
    for item, example in zip(
        grammar.questions(20, 3, "train"), GOALS["answers"].examples(read, 20, 3, "train"), strict=True
    ):
        first, last = example.targets
        assert read.decode(example.ids[first : last + 1].tolist()).lower() == item.answer.lower()
        assert (example.segments[first : last + 1] == 1).all()
    for item, example in zip(
        grammar.tagged_sentences(20, 3, "train"), GOALS["tags"].examples(read, 20, 3, "train"), strict=True
    ):
        assert [grammar.TAGS[tag] for tag in example.targets if tag != NONE] == list(item.tags)
        assert len(example.ids) == len(example.targets) == len(example.segments)
    pair = GOALS["pairs"].examples(read, 1, 3, "train")[0]
    item = grammar.pairs(1, 3, "train")[0]
    run = body.run(item.first, pair=item.second)
    assert (
        run.ids == tuple(pair.ids)
        and run.segments == tuple(pair.segments)
        and grammar.RELATIONS[pair.targets[0]] == item.label
    )


def test_losses_by_hand(body):
    """Of answers the softmax is over the second text only; tags count words; what is not asked does not count."""
    answers, tags = GOALS["answers"], GOALS["tags"]
    rows = collate(answers.examples(body.tokenizer, 3, 0, "train"), 0)
    scores = torch.randn(*rows.batch.ids.shape, 2)
    inside = (rows.batch.segments == 1) & rows.batch.real
    held = scores.masked_fill(~inside[..., None], -torch.inf)
    wanted = [-held[i, :, edge].log_softmax(0)[rows.targets[i, edge]] for i in range(3) for edge in (0, 1)]
    torch.testing.assert_close(answers.loss(held, rows.targets), torch.stack(wanted).mean())
    rows = collate(tags.examples(body.tokenizer, 3, 0, "train"), 0)
    scores = torch.randn(*rows.batch.ids.shape, 12)
    asked = (rows.targets != NONE).nonzero()
    each = [-scores[i, j].log_softmax(0)[rows.targets[i, j]] for i, j in asked.tolist()]
    torch.testing.assert_close(tags.loss(scores, rows.targets), torch.stack(each).mean())
    assert len(tags.mark_correct(scores, rows.targets)) == len(asked)


@pytest.mark.parametrize(
    ("goal", "learns"), deep([("opinions", 0), ("answers", 2), ("tags", ALL)], {("opinions", 0)})
)
def test_what_learns_moves_and_nothing_else(body, goal, learns):
    """C090: frozen weights are the same bits, and get no gradient."""
    job, found = tuned(body, goal, learns)
    assert [report.step for report, _ in found][-1] == 3 and all(report.looks == () for report, _ in found)
    model = tuning.model(job, found[-1][1], "mine", base=body)
    old = body.network.state_dict()
    for name, weight in model.network.named_parameters():
        if name in old and not tuning.is_trainable(job, name, 6):
            assert torch.equal(weight, old[name]), name
    moved = tuning.measure_change(model, body, job)
    expected = sum(w.numel() for name, w in model.network.named_parameters() if name.startswith(HEADS))
    expected += sum(
        w.numel() for i in range(6 - min(learns, 6), 6) for w in model.network.layers[i].parameters()
    )
    expected += sum(w.numel() for w in model.network.embed.parameters()) if learns == ALL else 0
    assert moved.learning == expected == sum(w.numel() for w in found[-1][1].values())
    assert [far > 0 for far in moved.layers] == [i >= 6 - learns for i in range(6)] and (moved.body > 0) == (
        learns > 0
    )


def test_frozen_weights_have_no_gradient(body):
    network = tuning.add_head(TUNINGS["opinions-frozen"], body)
    rows = collate(GOALS["opinions"].examples(body.tokenizer, 4, 0, "train"), 0)
    GOALS["opinions"].loss(GOALS["opinions"].scores(network, rows.batch), rows.targets).backward()
    assert {name for name, weight in network.named_parameters() if weight.grad is not None} == {
        "to_classes.weight",
        "to_classes.bias",
    }
    assert all(not weight.requires_grad for weight in body.network.parameters())


def test_a_fitted_head_is_at_the_bottom_of_its_loss():
    """Of logistic regression with a weight decay: no slope is left, and no start leads lower."""
    rng = torch.Generator().manual_seed(0)
    vectors, wanted = torch.randn(60, 5, generator=rng), torch.randint(3, (60,), generator=rng)
    path = fitted_head.fit(vectors, wanted, 3, 0.01, max_steps=500)
    weight, bias = (part.double().requires_grad_() for part in (path[-1].weight, path[-1].bias))
    loss = F.cross_entropy(vectors.double() @ weight.T + bias, wanted) + 0.005 * weight.square().sum()
    loss.backward()
    assert path[0].step == 0 and path[-1].step < 500
    assert max(weight.grad.abs().max(), bias.grad.abs().max()) < 1e-4
    assert fitted_head.choose_decay(vectors, wanted, 3, 0, max_steps=30) in fitted_head.DECAYS


@pytest.mark.slow
def test_a_recorded_frozen_head_is_fitted_to_all_its_texts(body):
    job = Tuning(
        name="quick", goal="pairs", learns=0, steps=3, recorded_steps=200, n_texts=20, converges=True
    )
    assert (
        not job.fits_head
        and job.as_recorded.fits_head
        and (job.as_recorded.n_rows, job.as_recorded.n_texts) == (60, 60)
    )
    found = list(tuning.training(job.as_recorded, base=body, longest=600.0))
    steps = [report.step for report, _ in found]
    assert steps == sorted(set(steps)) and steps[0] == 0 < steps[-1] <= 200
    assert set(found[-1][1]) == {"to_classes.weight", "to_classes.bias"}
    model = tuning.model(job, found[-1][1], "mine", base=body)
    rows = collate(GOALS["pairs"].examples(body.tokenizer, 60, 0, "train"), 0)
    with torch.inference_mode():
        right = GOALS["pairs"].mark_correct(GOALS["pairs"].scores(model.network, rows.batch), rows.targets)
    assert right.mean() > 0.8


@pytest.mark.slow
def test_a_tuned_model_runs_as_any_other(body):
    job, found = tuned(body, "answers", 0)
    model = tuning.model(job, found[-1][1], "mine", base=body)
    run = model.run("Who found the key?", pair="Anna found the key.")
    assert run.answer.shape == (len(run.ids), 2) and run.trace.axes("answer") == ("pos", "edge")
    np.testing.assert_array_equal(
        run.attention().weights,
        body.run("Who found the key?", pair="Anna found the key.").attention().weights,
    )
    with pytest.raises(InputError, match="not those of"):
        tuning.model(TUNINGS["tags-frozen"], found[-1][1], "mine", base=body)


@pytest.mark.slow
def test_a_run_is_recorded_and_read_again(body, tmp_path, monkeypatch):
    job = replace(TUNINGS["tags-frozen"], **QUICK)
    monkeypatch.setattr(tuning.RecordedRun, "jobs", {job.name: job})
    run = tuning.RecordedRun.record(job, tmp_path / job.name, steps=4)
    assert run.reports[-1].step == 4 and run.job == job
    model = run.model("recorded: tags-frozen")
    assert model.run("The dog slept.").tags.shape == (6, 12)
    with pytest.raises(InputError, match="no recorded run"):
        tuning.RecordedRun.read("tags-full", tmp_path / "nowhere")
    (tmp_path / job.name / records.LOG).write_text('{"reports": 1}')
    with pytest.raises(InputError, match="cannot be read"):
        tuning.RecordedRun.read(job.name, tmp_path / job.name)


@pytest.mark.parametrize("name", deep(tuning.RecordedRun.names(), {"tags-frozen"}))
def test_recorded_runs_open_and_are_as_good_as_they_say(name):
    run = tuning.RecordedRun.read(name)
    model = core.serving.engine.default().open(f"recorded: {name}")
    goal = run.job.goal_spec
    rows = collate(goal.examples(model.tokenizer, tuning.CHECKED, run.seed, "test"), 0)
    with torch.inference_mode():
        right = goal.mark_correct(goal.scores(model.network, rows.batch), rows.targets)
    assert right.mean() == pytest.approx(run.reports[-1].right, abs=0.03)
    if (
        name != "opinions-frozen"
    ):  # from what a frozen body says of a sentence, no head can tell an opinion: chance, as the page says
        assert run.reports[-1].loss < run.reports[0].loss


@pytest.mark.slow
def test_a_visitor_s_tuning_runs_in_a_process_of_its_own():
    trainer = Trainer(
        lambda task, folder: [sys.executable, "-m", "core.training.worker", task, str(folder), "--steps", "2"]
    )
    name = trainer.start("me", "opinions-frozen")
    end = time.monotonic() + 120
    while not (now := trainer.progress("me")).over:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert now.state == "done" and now.reports[-1].step == 2, now.reason
    model = trainer.find(name, "me").model()
    assert model.name == name and model.run("The soup was good.").classes.shape == (2,)
    assert jobs.model_family("opinions-frozen") == "bert" and jobs.model_family("copy") == "gpt"
