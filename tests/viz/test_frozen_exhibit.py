"""The exhibit on freezing, on recorded runs that are written here: no training, the head and, in full, the body moved by noise."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from drawn_layers import drawn_rows, specification
from exhibit_pages import StepPages, instruments, said
from exhibit_visits import answered
from safetensors.torch import save_file
from shown_values import states

import core.serving.engine
from core.serving.engine import Engine
from core.training import records
from core.training.finetune import tuning
from core.training.finetune.tuning import TUNINGS
from core.training.finetune.weight_delta import encode_delta
from viz.course.bert.frozen_or_full import exhibit
from viz.course.bert.frozen_or_full.params import TWO
from viz.labels import percent

RIGHT = {"opinions": (0.52, 0.96), "pairs": (0.4, 0.71), "answers": (0.05, 0.6), "tags": (0.91, 0.98)}
page = StepPages("frozen_or_full", shared=("text", "layer", "head"))


def learning(name: str, of) -> dict[str, torch.Tensor]:
    """Return the weights that a tuning changes."""
    network = tuning.add_head(TUNINGS[name], of)
    return {key: weight.detach() for key, weight in network.named_parameters() if weight.requires_grad}


def write(folder, name: str, right: float, of) -> None:
    """Write a recorded run: what learns, moved by noise, and two reports."""
    rng = torch.Generator().manual_seed(len(name))
    weights = {
        key: weight * (1 + 0.1 * torch.randn(weight.shape, generator=rng))
        for key, weight in learning(name, of).items()
    }
    (folder / name).mkdir(parents=True, exist_ok=True)
    save_file(encode_delta(weights, of.network.state_dict()), folder / name / tuning.WEIGHTS)
    reports = [
        {"step": step, "loss": 1.0, "right": share, "looks": [], "seconds": 0.5 * step}
        for step, share in ((0, 0.1), (40, right))
    ]
    log = {"command": "", "seed": 0, "machine": "1 CPU thread", "reports": reports}
    (folder / name / records.LOG).write_text(json.dumps(log))


@pytest.fixture(scope="module")
def body():
    return tuning.load_base()


@pytest.fixture(scope="module", autouse=True)
def runs(body, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, shares in RIGHT.items():
        for way, share in zip(("frozen", "full"), shares, strict=True):
            write(folder, f"{name}-{way}", share, body)
    with pytest.MonkeyPatch.context() as patch, Engine() as engine:
        patch.setattr(records, "RUNS", folder)
        patch.setattr(core.serving.engine, "_default", engine)
        yield folder


def patterns(test) -> int:
    return sum(packet["scale"] == "pattern" for packet in instruments(test, "scale"))


@pytest.mark.slow
def test_for_which_task_the_head_is_enough(runs, body):
    """C090: side by side, and the answer is what was measured."""
    test = page(guess={"enough": "Tags"})
    assert page.answer(test, "enough") == "Tags" and "frozen 52%" in said(test)
    assert states(said(test), "91% frozen", "98% fully fine-tuned")
    write(runs, "opinions-frozen", 0.95, body)
    try:
        assert page.answer(page(), "enough") == "Opinions"
    finally:
        write(runs, "opinions-frozen", RIGHT["opinions"][0], body)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "answer"), [("opinions", "514"), ("tags", "3,084"), ("pairs", "771")])
def test_how_many_weights_learn_follows_the_task(body, task, answer):
    """C090: the count of what learns."""
    test = page(2, task=task, guess={"count": answer})
    frozen, full = (
        f"{sum(weight.numel() for weight in learning(f'{task}-{way}', body).values()):,}"
        for way in ("frozen", "full")
    )
    assert page.answer(test, "count") == frozen == answer and states(said(test), f"{full} weights", frozen)


@pytest.mark.parametrize(("over", "end"), [("steps", 40), ("seconds", 20)])
def test_the_course_over_steps_and_over_seconds(over, end):
    test = page(3, task="tags", over=over)
    assert states(said(test), "40 steps", "20 seconds", "10%", "91%")
    assert "Full fine-tuning: 40 steps" in said(test)
    assert any(button.label == "Train it now" for button in test.button)
    assert specification(test)[0]["encoding"]["x"]["title"] == over
    assert [point["x"] for point in drawn_rows(test, "x")] == [0, end, 0, end]


@pytest.mark.slow
def test_how_far_the_body_went(body):
    """C090: frozen 0, in full what `tuning.moved` says."""
    frozen, moved = (
        tuning.measure_change(run.model("x"), body, run.job)
        for run in map(tuning.RecordedRun.read, ("tags-frozen", "tags-full"))
    )
    names = ["embeddings", *(f"layer {i}" for i in range(6))]
    most = names[int(np.argmax([moved.embeddings, *moved.layers]))]
    before = page(4, task="tags")
    assert page.answer(before, "far") == most and "every bit" in said(before) and frozen.body == 0
    assert states(said(page(4, task="tags", guess={"far": most})), percent(moved.body, 2))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["The soup was not awful.", "Anna is kind."])
def test_attention_before_frozen_and_in_full(body, text):
    """C090: frozen, exactly as before."""
    tuned = (tuning.RecordedRun.read(f"opinions-{way}").model(way) for way in ("frozen", "full"))
    before, frozen, full = (model.run(text).attention().weights for model in (body, *tuned))
    assert np.array_equal(before, frozen)
    change = np.abs(full - before).max((2, 3))
    layer, head = np.unravel_index(change.argmax(), change.shape)
    asked = page(5, "take", text=text)
    assert patterns(asked) == 2 and page.answer(asked, "heads") == (change > 0.5).sum()
    test = answered(asked)
    assert patterns(test) == 3 and "every bit" in said(test)
    assert states(said(test), f"L{layer}.H{head}", f"{change.max():.2f}")
    names: dict = {}
    exec(next(code.value for code in test.code if "abs(after" in code.value), names)
    after, was = (names[name].attention().weights for name in ("after", "before"))
    assert np.abs(after - was).max() == change.max()


@pytest.mark.slow
def test_two_texts_odd_links_and_no_runs(monkeypatch, tmp_path):
    for task in ("pairs", "answers", "tags"):
        test = page(5, task=task)
        assert patterns(test) == 2 and len(test.text_input) == 1 + (task in TWO)
        assert patterns(answered(test)) == 3
    monkeypatch.setattr(records, "RUNS", tmp_path)
    assert all("no recorded run" in said(page(step)) for step in (1, 4))
    assert exhibit.thumbnail().startswith("<svg")
