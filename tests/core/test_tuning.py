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
from safetensors.torch import load_file

import core
import core.serving.engine
from core.data import grammar
from core.data.spans import spans
from core.errors import InputError
from core.jobs.trainer import Trainer
from core.model import Model
from core.models.bert import BERT, BERTConfig
from core.training import jobs, records
from core.training.finetune import fitted_head, tuning
from core.training.finetune.finetune_tasks import GOALS, NONE, collate, is_plain
from core.training.finetune.tuning import ALL, HEADS, TUNINGS, Tuning
from core.training.finetune.weight_delta import MOST, ROWS, SCALE, apply_delta, encode_delta
from viz.course.bert.cls_and_pairs import maths as class_maths
from viz.course.bert.frozen_or_full.maths import attention_change, describe_output
from viz.course.bert.spans_and_tags import maths as span_maths
from viz.course.bert.spans_and_tags.maths import moved_heads
from viz.course.shared.weighting import softmax
from viz.labels import percent

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
    assert run.ids == tuple(pair.ids)
    assert run.segments == tuple(pair.segments)
    assert grammar.RELATIONS[pair.targets[0]] == item.label


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
    assert not job.fits_head
    assert job.as_recorded.fits_head
    assert (job.as_recorded.n_rows, job.as_recorded.n_texts) == (60, 60)
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


# ---------------- A class told from [CLS]: its arithmetic, what [CLS] reads, and that the gradient reaches only the first place of the last layer.


TEXT = "The soup was not awful."


@pytest.fixture(scope="module")
def model(body):
    return class_maths.with_new_head(TUNINGS["opinions-full"], body, 3)


def test_the_scores_are_one_linear_map_of_the_first_vector(body, model):
    """C086."""
    run = model.run(TEXT, keep=class_maths.KEEP)
    said = class_maths.classify(run)
    np.testing.assert_allclose(said.hidden @ said.weight.T + said.bias, said.scores, atol=1e-5)
    for label in range(2):
        assert said.terms(label).sum() + said.bias[label] == pytest.approx(said.scores[label], abs=1e-5)
    np.testing.assert_allclose(said.chances, torch.from_numpy(said.scores).softmax(-1).numpy(), atol=1e-12)
    assert said.best == int(np.argmax(run.classes))
    np.testing.assert_array_equal(class_maths.reads(run), body.run(TEXT).attention().weights[:, :, 0])
    with pytest.raises(InputError, match="no head"):
        class_maths.classify(body.run(TEXT, keep=class_maths.KEEP))


@pytest.mark.parametrize("pair", [None, "A dog slept."])
def test_the_gradient_arrives_at_one_place_of_the_last_layer_and_below_at_all(model, pair):
    """C086."""
    run = model.run(TEXT, pair=pair, keep=class_maths.KEEP)
    found = class_maths.arrives(run, 1)
    assert found.shape == (7, len(run.ids))
    assert (found[-1, 1:] == 0).all() and found[-1, 0] > 0 and (found[:-1] > 0).all()
    said = class_maths.classify(run)
    by_hand = (said.chances - np.eye(2)[1]) @ said.weight
    assert found[-1, 0] == pytest.approx(np.linalg.norm(by_hand), rel=1e-4)


@pytest.mark.slow
def test_the_gradient_where_words_enter_by_differences(model):
    """A small step along a random direction at one place changes the loss by about its product with the gradient: never by more than the length."""
    run = model.run("Bad soup.", keep=(*class_maths.KEEP, "embed.out"))
    found = class_maths.arrives(run, 0)
    network, step = model.network, 1e-2
    entering = torch.tensor(run.trace["embed.out"])[None]
    allowed = torch.ones(1, 1, 1, len(run.ids), dtype=torch.bool)

    def loss(x):
        for block in network.layers:
            x = block(x, allowed)
        return float(F.cross_entropy(network.classes(x), torch.tensor([0])))

    grad = []
    with torch.no_grad():
        for k in range(entering.shape[-1]):
            moved = torch.zeros_like(entering)
            moved[0, 2, k] = step
            grad.append((loss(entering + moved) - loss(entering - moved)) / (2 * step))
    assert np.linalg.norm(grad) == pytest.approx(found[0, 2], rel=0.05)


def test_checked_texts_are_those_on_which_a_tuning_is_measured(model):
    goal, n, seed = GOALS["opinions"], 40, 5
    found = class_maths.checked(model, goal, n, seed, at_once=16)
    rows = collate(goal.examples(model.tokenizer, n, seed, "test"), model.tokenizer.pad or 0)
    with torch.inference_mode():
        scores = goal.scores(model.network, rows.batch)
    assert found.right.tolist() == goal.mark_correct(scores, rows.targets).tolist()
    np.testing.assert_allclose(found.chances, scores.double().softmax(-1).numpy(), atol=1e-5)
    assert [grammar.OPINIONS[at] for at in found.targets] == [item.label for item in found.items]
    by = found.by(lambda item: "plain" if is_plain(item) else "turned")
    assert (
        sum(right for right, _ in by.values()) == found.right.sum() and sum(of for _, of in by.values()) == n
    )
    errors = found.errors()
    assert len(errors) == n - found.right.sum() and not found.right[errors].any()
    sure = found.chances[errors].max(-1)
    assert (np.diff(sure) <= 0).all()


def test_swapped_texts_have_other_segments_and_another_answer(body):
    """C087."""
    model = class_maths.with_new_head(replace(TUNINGS["pairs-full"]), body, 0)
    a, b = "A small dog slept.", "A dog slept."
    runs = [model.run(*pair[:1], pair=pair[1], keep=class_maths.KEEP) for pair in ((a, b), (b, a))]
    assert runs[0].segments != runs[1].segments and sorted(runs[0].ids) == sorted(runs[1].ids)
    one, two = (class_maths.classify(run) for run in runs)
    assert np.abs(one.scores - two.scores).max() > 1e-4 and np.array_equal(one.weight, two.weight)


def test_large_scores_have_a_softmax():
    np.testing.assert_allclose(class_maths.softmax(np.array([1000.0, 1000.0 + np.log(3)])), [0.25, 0.75])


# ---------------- What a tuned model says of every token: places of an answer, tags at first pieces, and how far heads moved.


def headed(body: Model, goal: str) -> Model:
    """bert-mini with a head that learnt nothing, its weights large enough to say something."""
    network = tuning.add_head(Tuning(name="", goal=goal, learns=ALL, steps=1), body, seed=3)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name.startswith(tuning.HEADS):
                weight.mul_(20)
    return Model(
        "headed", body.spec, replace(body.config, **GOALS[goal].head), network.eval(), body.tokenizer
    )


def test_an_answer_is_read_from_the_passage_alone(body):
    """C088: both softmaxes run over the positions of the text; the best pair is that of brute force, and its words are those of the text."""
    model, item = headed(body, "answers"), grammar.questions(3, 5, "test")[1]
    one = span_maths.answer(model, item.question, item.passage)
    run = model.run(item.question, pair=item.passage)
    assert one.tokens[-1] == "[SEP]" and run.segments[one.first] == 1 and run.segments[one.first - 1] == 0
    hidden = model.network(tuning.collate([GOALS["answers"].read(model.tokenizer, item)], 0).batch)
    weight, bias = model.network.to_answer.weight, model.network.to_answer.bias
    scores = (hidden[0, one.first :] @ weight.T + bias).detach().double()
    np.testing.assert_allclose(one.span_scores.start, scores[:, 0].softmax(0), atol=1e-5)
    np.testing.assert_allclose(one.span_scores.end, scores[:, 1].softmax(0), atol=1e-5)
    assert one.span_scores.start.sum() == pytest.approx(1) == one.span_scores.end.sum()
    n = len(one.tokens)
    best = max(
        ((i, j) for i in range(n) for j in range(i, n)),
        key=lambda pair: one.starts[pair[0]] + one.ends[pair[1]],
    )
    assert one.span_scores.best == best
    span = one.span(item.start, item.end)
    assert span is not None and one.text(span) == item.answer == item.passage[item.start : item.end]
    assert one.text((n - 1, n - 1)) == "" and one.span(item.start + 1, item.end) is None


def test_a_push_moves_one_score_and_no_answer_ends_before_it_starts(body):
    model, item = headed(body, "answers"), grammar.questions(3, 5, "test")[0]
    one = span_maths.answer(model, item.question, item.passage)
    pushed = one.pushed("end", 0, 1000.0)
    assert pushed.separate_choices == (one.separate_choices[0], 0) and pushed.span_scores.best == (0, 0)
    assert pushed.ends[0] - one.ends[0] == 1000
    assert (pushed.ends[1:] == one.ends[1:]).all()
    assert (pushed.starts == one.starts).all()
    other = one.pushed("start", len(one.tokens) - 1, 1000.0)
    assert other.span_scores.best == (len(one.tokens) - 1,) * 2


def test_a_word_has_the_tag_of_its_first_piece(body):
    """C089: one row for each token, each a distribution; a word in pieces is asked at its first."""
    model, text = headed(body, "tags"), "Unfriendly gardeners can't sleep."
    one = span_maths.tagged(model, text)
    run = model.run(text)
    assert one.chances.shape == (len(run.tokens) - 2, len(grammar.TAGS))
    np.testing.assert_allclose(one.chances.sum(-1), 1)
    np.testing.assert_allclose(
        one.chances, torch.tensor(np.array(run.tags[1:-1])).double().softmax(-1), atol=1e-6
    )
    assert len(one.tokens) > len(one.words) and one.words[0] == "Unfriendly" and one.words[-1] == "."
    assert [
        token
        for token, begins in zip(one.tokens, one.begins, strict=True)
        if token.startswith("##") and begins
    ] == []
    assert one.firsts[0] == 0 and len(one.firsts) == len(one.words) == one.begins.sum()


def test_heads_that_moved_by_hand():
    before = np.array([[[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]]])
    after = np.array([[[[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0]]]])
    np.testing.assert_allclose(moved_heads(before, after), [[0.25, 1.0]])
    with pytest.raises(InputError, match="shapes"):
        moved_heads(before, after[..., :1])


@pytest.mark.parametrize(
    ("question", "passage", "wrong"),
    [(" ", "A dog.", "question"), ("Who?", "", "passage"), ("Who?", "dog " * 70, "70 tokens")],
)
def test_texts_that_cannot_be_asked(body, question, passage, wrong):
    with pytest.raises(InputError, match=wrong):
        span_maths.answer(headed(body, "answers"), question, passage)


def test_sentences_that_cannot_be_tagged(body):
    for text, wrong in ((" ", "no word"), ("dog " * 50, "50 tokens")):
        with pytest.raises(InputError, match=wrong):
            span_maths.tagged(headed(body, "tags"), text)


# ---------------- What a tuning moved, stored small and read back; and what it changed in a run.


def taught(body, name, size=0.05):
    """Weights of a tuning that never ran: all that learns, moved by noise of this share, and of the token table only the first 40 rows."""
    rng = torch.Generator().manual_seed(0)
    found = {}
    for key, weight in tuning.add_head(TUNINGS[name], body).named_parameters():
        if weight.requires_grad:
            noise = (
                torch.randn(weight.shape, generator=rng)
                * weight.detach().std(correction=0).clamp(min=1e-3)
                * size
            )
            noise[40:] *= not key.startswith("embed.token")
            found[key] = weight.detach() + noise
    return found


def test_a_movement_comes_back_within_half_a_step():
    rng = torch.Generator().manual_seed(1)
    before = {
        "w": torch.randn(6, 8, generator=rng),
        "odd": torch.randn(3, 5, generator=rng),
        "b": torch.randn(8, generator=rng),
    }
    after = {
        name: weight + 0.1 * torch.randn(weight.shape, generator=rng) for name, weight in before.items()
    } | {"new": torch.randn(2, 8, generator=rng)}
    after["w"][2] = before["w"][2]
    kept = encode_delta(after, before)
    back = apply_delta(kept, before)
    assert kept["w" + ROWS].tolist() == [0, 1, 3, 4, 5] and torch.equal(back["w"][2], before["w"][2])
    step = kept["w" + SCALE]
    assert torch.allclose(step, (after["w"] - before["w"])[[0, 1, 3, 4, 5]].abs().amax(1) / MOST)
    assert ((back["w"] - after["w"])[[0, 1, 3, 4, 5]].abs() <= step[:, None] / 2 + 1e-6).all()
    for name in ("odd", "b", "new"):
        torch.testing.assert_close(back[name], after[name], atol=1e-3, rtol=1e-3)
    own = {name: weight.clone() for name, weight in before.items()}
    inside = apply_delta(kept, own, overwrite=True)
    assert inside["w"] is own["w"] and all(torch.equal(inside[name], back[name]) for name in back)
    still = apply_delta(encode_delta(before, before), before)
    assert all(torch.equal(still[name], before[name]) for name in before)


def test_a_tuned_model_read_back_says_what_it_said(body, tmp_path):
    """Near the trained one, in a tenth of its bytes."""
    weights = taught(body, "tags-full")
    kept = encode_delta(weights, body.network.state_dict())
    assert kept["embed.token.weight" + ROWS].tolist() == list(range(40))
    assert sum(tensor.numel() * tensor.element_size() for tensor in kept.values()) < 0.1 * sum(
        4 * weight.numel() for weight in weights.values()
    )
    job = TUNINGS["tags-full"]
    trained, back = (
        tuning.model(job, found, "mine", base=body)
        for found in (weights, apply_delta(kept, body.network.state_dict()))
    )
    text = "Her light walk was not light."
    before, one, two = (np.asarray(model.run(text).hidden()) for model in (body, trained, back))
    assert np.linalg.norm(one[-1] - two[-1]) < 0.25 * np.linalg.norm(one[-1] - before[-1])
    moved = [tuning.measure_change(model, body, job) for model in (trained, back)]
    assert moved[1].body == pytest.approx(moved[0].body, rel=0.02) and moved[0].embeddings > 0


@pytest.mark.slow
def test_a_frozen_recording_is_a_head_and_a_recorded_run_is_measured_as_it_is_read(
    body, tmp_path, monkeypatch
):
    """C090: what is read back of a frozen run has every bit of the body."""
    monkeypatch.setattr(tuning, "CHECKED", 24)
    for name in ("opinions-frozen", "opinions-full"):
        job = tuning.replace(TUNINGS[name], n_texts=32, n_rows=4)
        monkeypatch.setattr(tuning.RecordedRun, "jobs", {name: job})
        run = tuning.RecordedRun.record(job, tmp_path / name, steps=2)
        model = run.model(name)
        (rows,) = tuning.held_out_batches(GOALS["opinions"], model.tokenizer, 0)
        with torch.inference_mode():
            scores = GOALS["opinions"].scores(model.network, rows.batch)
        assert run.reports[-1].right == pytest.approx(
            float(GOALS["opinions"].mark_correct(scores, rows.targets).mean()), abs=1e-5
        )
        assert run.reports[-1].loss == pytest.approx(
            float(GOALS["opinions"].loss(scores, rows.targets)), abs=1e-4
        )
        size = sum(path.stat().st_size for path in run.folder.iterdir())
        if job.frozen:
            assert set(load_file(run.folder / tuning.WEIGHTS)) == {"to_classes.weight", "to_classes.bias"}
            assert size < 8_000
            old = body.network.state_dict()
            assert all(
                torch.equal(weight, old[key])
                for key, weight in model.network.state_dict().items()
                if key in old
            )
        else:
            assert size < 3_500_000


@pytest.mark.slow
def test_what_tuning_changed_in_a_run(body):
    frozen, full = (
        tuning.model(TUNINGS[name], taught(body, name), name, base=body)
        for name in ("opinions-frozen", "opinions-full")
    )
    text = "The soup was not awful."
    before = body.run(text)
    assert not attention_change(before, frozen.run(text)).any()
    change = attention_change(before, full.run(text))
    assert change.shape == (6, 8) and change.all()
    assert (
        change[3, 5]
        == np.abs(full.run(text).attention().weights[3, 5] - before.attention().weights[3, 5]).max()
    )
    with pytest.raises(InputError, match="same text"):
        attention_change(before, full.run("The soup."))
    chances = softmax(full.run(text).classes)
    assert (
        describe_output(full.run(text), GOALS["opinions"].labels)
        == f"{GOALS['opinions'].labels[int(chances.argmax())]}, {percent(chances.max())}"
    )
    tags = tuning.model(TUNINGS["tags-frozen"], taught(body, "tags-frozen"), "tags", base=body)
    assert len(describe_output(tags.run("We ate."), GOALS["tags"].labels).split(", ")) == 3
    answers = tuning.model(TUNINGS["answers-frozen"], taught(body, "answers-frozen"), "answers", base=body)
    assert describe_output(answers.run("Who ate?", pair="Anna ate."), ())
    with pytest.raises(InputError, match="second text"):
        describe_output(answers.run("Who ate?"), ())
