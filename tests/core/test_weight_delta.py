"""What a tuning moved, stored small and read back; and what it changed in a run."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.errors import InputError
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS
from core.training.finetune.tuning import TUNINGS
from core.training.finetune.weight_delta import MOST, ROWS, SCALE, apply_delta, encode_delta
from viz.course.bert.frozen_or_full.maths import attention_change, describe_output
from viz.course.shared.weighting import softmax
from viz.labels import percent


@pytest.fixture(scope="module")
def body():
    return tuning.load_base()


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
            assert (
                set(load_file(run.folder / tuning.WEIGHTS)) == {"to_classes.weight", "to_classes.bias"}
                and size < 8_000
            )
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
