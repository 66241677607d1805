"""Tuned GPTs: the rows of tokens of four tasks, what the head reads, the two terms, what learns, and names that open what was tuned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core.data import grammar, lexicon
from core.data.gpt_inputs import (
    CHOICE,
    CLASSIFICATION,
    ENTAILMENT,
    SIMILARITY,
    SPECIAL_TOKENS,
    TASKS,
    combined_objective,
    extract_positions,
    head_output,
    input_rows,
    n_rows,
)
from core.errors import InputError
from core.models import Batch
from core.models.gpt import GPT, GPTConfig
from core.training import jobs
from core.training.finetune import finetune_tasks, gpt_tuning
from core.training.finetune.gpt_finetune_tasks import (
    ANSWERS,
    GOALS,
    OTHER,
    collate,
    encode_rows,
    find_kind,
    find_thing,
    terms,
)
from core.training.finetune.gpt_tuning import LAMBDAS, NEW, TUNINGS, GPTTuning, tuning_name
from viz.course.gpt.gpt_tasks.maths import LONGEST, extracted

TEXTS = {
    CLASSIFICATION: ("The soup was good.",),
    ENTAILMENT: ("The soup was good.", "The soup was bad."),
    SIMILARITY: ("The soup was good.", "The nurse was not rude."),
    CHOICE: ("The soup was good.", " sweet", " sour", " bad"),
}


@pytest.fixture(scope="module")
def body():
    return gpt_tuning.load_base()


def quick(task, weight=0.5, **more):
    return GPTTuning(name="quick", task=task, weight=weight, steps=3, n_rows=4, n_texts=16, **more)


@pytest.fixture(scope="module")
def tuned(body):
    """A model of each task after three steps."""
    patch = pytest.MonkeyPatch()
    patch.setattr(gpt_tuning, "CHECKED", 32)
    found = {
        task: list(gpt_tuning.training(quick(task), base=body, longest=600.0, every=1e6)) for task in TASKS
    }
    patch.undo()
    return {
        task: (reports, gpt_tuning.model(quick(task), reports[-1][1], "mine", base=body))
        for task, reports in found.items()
    }


def test_the_rows_of_four_tasks_token_by_token():
    """C103."""
    a, b, c = ["x", "y"], ["z"], ["w", "v"]
    s, d, e = SPECIAL_TOKENS
    assert input_rows(CLASSIFICATION, [a], SPECIAL_TOKENS) == ((s, "x", "y", e),)
    assert input_rows(ENTAILMENT, [a, b], SPECIAL_TOKENS) == ((s, "x", "y", d, "z", e),)
    assert input_rows(SIMILARITY, [a, b], SPECIAL_TOKENS) == (
        (s, "x", "y", d, "z", e),
        (s, "z", d, "x", "y", e),
    )
    assert input_rows(CHOICE, [a, b, c], SPECIAL_TOKENS) == (
        (s, "x", "y", d, "z", e),
        (s, "x", "y", d, "w", "v", e),
    )
    for n in range(2, 7):
        made = input_rows(CHOICE, [a, *[b] * n], SPECIAL_TOKENS)
        assert len(made) == n == n_rows(CHOICE, n) and all(
            row[place] == e for row, place in zip(made, extract_positions(made), strict=True)
        )
    assert [n_rows(task) for task in TASKS[:3]] == [1, 1, 2]
    for task, n in ((CLASSIFICATION, 2), (ENTAILMENT, 1), (SIMILARITY, 3), (CHOICE, 2), ("moon", 1)):
        with pytest.raises(InputError):
            input_rows(task, [a] * n, SPECIAL_TOKENS)


def test_what_the_head_says_by_hand():
    """C103: a sum for two orders, a softmax over the rows of a choice."""
    rng = np.random.default_rng(0)
    weight, bias, two, four = (
        rng.normal(size=(3, 5)),
        rng.normal(size=3),
        rng.normal(size=(2, 5)),
        rng.normal(size=(4, 5)),
    )
    by_torch = (
        F.linear(torch.from_numpy(two.sum(0)), torch.from_numpy(weight), torch.from_numpy(bias))
        .softmax(0)
        .numpy()
    )
    np.testing.assert_allclose(head_output(SIMILARITY, two, weight, bias).probabilities, by_torch, atol=1e-12)
    np.testing.assert_allclose(
        head_output(SIMILARITY, two[::-1], weight, bias).probabilities, by_torch, atol=1e-12
    )
    np.testing.assert_allclose(
        head_output(CLASSIFICATION, two[:1], weight, bias).scores, weight @ two[0] + bias
    )
    found = head_output(CHOICE, four, weight[:1], bias[:1])
    np.testing.assert_allclose(
        found.probabilities, np.exp(four @ weight[0]) / np.exp(four @ weight[0]).sum(), atol=1e-12
    )
    assert combined_objective(-2.0, -0.5, 0) == -0.5 and combined_objective(-2.0, -0.5, 0.25) == -1.0


def test_a_gpt_with_a_head_reads_every_place():
    torch.manual_seed(0)
    net, hidden = GPT(replace(GPTConfig.tiny(), n_classes=4)), torch.randn(2, 5, 33)
    torch.testing.assert_close(
        net.classes(hidden), F.linear(hidden, net.to_classes.weight, net.to_classes.bias)
    )
    with pytest.raises(InputError, match="no head"):
        GPT(GPTConfig.tiny()).classes(hidden)
    for wrong in (-1, 1.5, True):
        with pytest.raises(ValueError, match="n_classes"):
            GPTConfig(n_classes=wrong)


def test_labelled_texts_are_right():
    words = {
        label: {word for kind in lexicon.CLASSES.values() for word in kind[3 + at].split()}
        for at, label in enumerate(grammar.OPINIONS)
    }
    for split in ("train", "test"):
        items = {task: GOALS[task].draw(60, 3, split) for task in TASKS}
        opinions = finetune_tasks.sample_opinions(60, 3, split)
        assert [(one.texts[0], grammar.OPINIONS[one.target]) for one in items[CLASSIFICATION]] == opinions
        for one, (text, label) in zip(items[CHOICE], opinions, strict=True):
            assert one.texts[0] == text and len(one.texts) == 1 + ANSWERS
            assert [answer.strip() in words[label] for answer in one.texts[1:]] == [
                at == one.target for at in range(ANSWERS)
            ]
        for one, (_, label) in zip(items[ENTAILMENT], opinions, strict=True):
            word = one.texts[1].rstrip(".").split()[-1]
            assert find_thing(one.texts[1]) == find_thing(one.texts[0]) and find_kind(
                one.texts[1]
            ) == find_kind(one.texts[0])
            assert word in words[OTHER[label] if one.target else label]
        for one, (text, label) in zip(items[SIMILARITY], opinions, strict=True):
            assert one.texts[0] == text
            assert one.texts[1].rstrip(".").split()[-1] in words[OTHER[label] if one.target else label]
        assert all(
            0.3 < np.mean([one.target for one in items[task]]) < 0.7 for task in (ENTAILMENT, SIMILARITY)
        )


@pytest.mark.slow
def test_both_terms_by_hand_and_lambda_zero_is_the_label_alone(body, tuned):
    """C102."""
    for task in TASKS:
        model = tuned[task][1]
        ids, net = gpt_tuning.mark_ids(model), model.network
        batch = collate([(encode_rows(model.tokenizer, task, TEXTS[task], ids), 0)], ids)
        with torch.inference_mode():
            both = terms(net, task, batch, text=True)
            vectors, costs = [], []
            for row in encode_rows(model.tokenizer, task, TEXTS[task], ids):
                one = torch.tensor([row])
                hidden = net(Batch(ids=one, real=one >= 0))
                vectors.append(hidden[0, -1])
                logprobs = net.logits(hidden)[0].log_softmax(-1)
                costs += [-logprobs[place - 1, index] for place, index in enumerate(row) if index not in ids]
        found = head_output(
            task, torch.stack(vectors).numpy(), net.to_classes.weight.numpy(), net.to_classes.bias.numpy()
        )
        assert float(both.l_2[0]) == pytest.approx(-np.log(found.probabilities[0]), abs=1e-4)
        assert both.l_1 is not None and float(both.l_1) == pytest.approx(
            float(torch.stack(costs).mean()), abs=1e-4
        )
        seen = extracted(model, task, TEXTS[task])
        assert seen.text == pytest.approx(-float(both.l_1), abs=1e-4) and seen.label(0) == pytest.approx(
            -float(both.l_2[0]), abs=1e-4
        )
        assert combined_objective(seen.text, seen.label(0), 0.0) == seen.label(0)
    plain = gpt_tuning.add_head(quick(CLASSIFICATION, 0.0), body)
    rows_ = collate(
        [
            (
                encode_rows(
                    plain.tokenizer, CLASSIFICATION, TEXTS[CLASSIFICATION], gpt_tuning.mark_ids(plain)
                ),
                1,
            )
        ],
        gpt_tuning.mark_ids(plain),
    )
    assert terms(plain.network, CLASSIFICATION, rows_, text=False).l_1 is None


def test_what_a_tuned_gpt_reads(tuned):
    """C103: Extract is read, and both orders give the same."""
    for task in TASKS:
        found = extracted(tuned[task][1], task, TEXTS[task])
        assert len(found.tokens) == len(found.vectors) == n_rows(task, len(TEXTS[task]) - 1)
        for tokens, looks in zip(found.tokens, found.looks, strict=True):
            assert tokens[0] == "Start"
            assert tokens[-1] == "Extract"
            assert tokens.count("Delim") == (task != CLASSIFICATION)
            assert looks.shape == (3, 4, len(tokens))
            np.testing.assert_allclose(looks.sum(-1), 1, atol=1e-5)
        assert found.output.probabilities.sum() == pytest.approx(1)
    model = tuned[SIMILARITY][1]
    there, back = (
        extracted(model, SIMILARITY, texts) for texts in (TEXTS[SIMILARITY], TEXTS[SIMILARITY][::-1])
    )
    np.testing.assert_allclose(there.output.probabilities, back.output.probabilities, atol=1e-6)
    assert there.tokens == back.tokens[::-1]
    for texts, why in ((("",), "empty"), (("old " * LONGEST,), "tokens")):
        with pytest.raises(InputError, match=why):
            extracted(tuned[CLASSIFICATION][1], CLASSIFICATION, texts)


def test_what_learns_moves_and_nothing_else(body, tuned):
    reports, model = tuned[CLASSIFICATION]
    old, new = body.network.state_dict(), model.network.state_dict()
    n = body.config.n_vocab
    assert torch.equal(new["embed.token.weight"][:n], old["embed.token.weight"]) and torch.equal(
        new["embed.position.weight"], old["embed.position.weight"]
    )
    first, last = reports[0][1], reports[-1][1]
    assert all(not torch.equal(first[name], last[name]) for name in first if "bias" not in name) and first[
        NEW
    ].shape == (3, body.config.d_model)
    assert (
        first[NEW].std() < 0.05 and [report.step for report, _ in reports][-1] == 3 and reports[0][0].text > 0
    )
    assert all(
        not torch.equal(old[name], new[name])
        for name in old
        if name.startswith("layers.") and name.endswith("weight")
    )
    run = model.run("[Start]The soup was good.[Extract]", special=True)
    np.testing.assert_allclose(
        run.classes[-1], extracted(model, CLASSIFICATION, ("The soup was good.",)).output.scores, atol=1e-4
    )
    with pytest.raises(InputError, match="not those"):
        gpt_tuning.model(quick(CHOICE), last, "mine", base=body)


def test_every_lambda_can_be_trained_and_recorded_runs_open(tmp_path):
    assert (
        {tuning_name(task, weight) for task in TASKS for weight in LAMBDAS} == set(TUNINGS) <= set(jobs.JOBS)
    )
    assert jobs.model_family("gpt-choice-0.5") == "gpt"
    assert jobs.weights_file(TUNINGS["gpt-choice-0.5"], 3) == "last.safetensors"
    for name in gpt_tuning.RecordedRun.names():
        run = gpt_tuning.RecordedRun.read(name)
        assert run.reports[-1].step == run.job.steps and jobs.recorded_steps(name) == (run.job.steps,)
        assert sum(path.stat().st_size for path in run.folder.iterdir()) < 300_000
        assert run.reports[-1].right > max(0.8, run.reports[0].right)
    assert {tuning_name(CLASSIFICATION, 0.0), *(tuning_name(task, 0.5) for task in TASKS)} <= set(
        gpt_tuning.RecordedRun.names()
    )
    with pytest.raises(InputError, match="no recorded run"):
        gpt_tuning.RecordedRun.read("gpt-choice-0.5", tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be read"):
        gpt_tuning.RecordedRun.read("gpt-choice-0.5", tmp_path)


def test_recording_keeps_the_reports_of_other_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(gpt_tuning, "CHECKED", 32)
    monkeypatch.setattr(gpt_tuning, "MOMENTS", 2)
    tuning = replace(TUNINGS["gpt-classification-0"], n_texts=16, n_rows=4)
    run = gpt_tuning.RecordedRun.record(tuning, tmp_path / "run", steps=2, n_other_runs=1)
    assert len(run.other_runs) == 1 and [report.step for report in run.other_runs[0]] == [
        report.step for report in run.reports
    ] == [0, 1, 2]
    assert run.other_runs[0] != run.reports
    model = run.model("again")
    assert model.name == "again" and extracted(
        model, CLASSIFICATION, ("It was good.",)
    ).output.probabilities.shape == (2,)
