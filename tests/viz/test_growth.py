"""While learning: what is drawn at a moment is what the weights of that moment do, and a training that one starts is told."""

from __future__ import annotations

import time

import numpy as np
import pytest
from packets import opened, unpacked
from shown_values import states
from test_look_page import named, packets, page, said

import core
from core.analysis.heads.head_file import read_heads
from core.checkpoints import history, steps_of
from core.checkpoints.manifest import shipped_folder
from core.jobs import trainer
from core.training import growth as measured
from core.training.recipes.induction_tiny import examples
from core.training.toy import toy_training
from viz.workspace.growth import course as courses
from viz.workspace.growth import page as growth

MODEL = "induction-tiny"


@pytest.mark.parametrize("name", measured.models_with_growth())
def test_what_ships_is_of_the_weights_that_ship(name):
    """The steps are those kept, and the last moment is what heads.json says of the finished model."""
    folder = shipped_folder() / name
    found = measured.read(folder)
    assert found.steps == steps_of(name)
    held = read_heads(folder).trained["causal"].scores
    for habit, score in found.scores.items():
        assert abs(score[-1] - held[habit]).max() < 0.01, (
            "the weights of the history are of 16 bits, as are those that ship"
        )
    assert found.weights == measured.File.of_path(folder / history.FILE).sha256


def test_a_moment_measured_again_is_what_ships():
    found = measured.read(shipped_folder() / MODEL)
    at = found.steps.index(643)
    nats, scores = measured.measure_moment(core.open_model(MODEL, step=643), examples())
    assert nats == pytest.approx(found.nats[at], abs=2e-4)
    for habit, score in scores.items():
        np.testing.assert_allclose(score, found.scores[habit][at], atol=2e-4)


def test_the_loss_is_that_of_what_can_be_foretold():
    """Written anew for one line, place by place."""
    model, example = core.open_model(MODEL), examples()[3]
    run = model.run(example.text)
    lost = []
    for i in range(len(run.ids) - 1):
        if run.tokens[i] in run.tokens[:i]:
            exps = np.exp(run.logits[i].astype(np.float64))
            lost.append(-np.log(exps[run.ids[i + 1]] / exps.sum()))
    assert measured.mean_nats(model, [example]) == pytest.approx(np.mean(lost), abs=1e-5)


def test_it_opens_where_the_head_forms():
    test = page("growth")
    (grid,) = named(test, "kinds", "size")
    then, now = named(test, "scale", "axis")
    course = courses.shipped(MODEL)
    step = int(opened(grid)[0]["title"].rpartition(" ")[2])
    head = course.heads[course.best]
    wanted = core.open_model(MODEL, step=step).run(course.text).attention("causal", by="word").weights
    np.testing.assert_allclose(unpacked(now, page=packets(test)), wanted[head], atol=1e-6)
    np.testing.assert_allclose(
        unpacked(then, page=packets(test)),
        core.open_model(MODEL, step=0).run(course.text).attention("causal", by="word").weights[head],
        atol=1e-6,
    )
    curve = course.curve(course.best)
    i = measured.steepest_moment(curve)
    assert step == course.steps[i + 1] and curve[i + 1] - curve[i] > 0.3
    assert states(said(test), f"{course.steps[i]:,}", f"{step:,}", "“induction head”")
    assert f"from {curve[i]:.2f} to {curve[i + 1]:.2f}" in said(test)


def test_the_link_chooses_moment_head_and_what_it_is_compared_with():
    test = page(
        "growth",
        **{"growth.of": "gpt-twin", "growth.step": "0", "growth.other": "2000", "growth.head": "L0.H1"},
    )
    then, now = named(test, "scale", "axis")
    assert opened(now)[0]["title"] == "L0.H1 at step 0" and opened(then)[0]["title"] == "L0.H1 at step 2,000"
    text = courses.shipped("gpt-twin").text
    np.testing.assert_allclose(
        unpacked(then, page=packets(test)),
        core.open_model("gpt-twin", step=2000).run(text).attention("causal", by="word").weights[0, 1],
        atol=1e-6,
    )


def test_a_model_without_moments_is_named_and_one_with_them_opens():
    """The model of the page before comes along in the link."""
    assert "is not shown" in captions(page("growth", model="gpt-mini"))
    twin = page("growth", model="gpt-twin")
    assert "is not shown" not in captions(twin)
    assert [
        box.value for box in twin.get("button_group") or twin.segmented_control if box.label == "What learns"
    ] in (
        ["gpt-twin"],
        [["gpt-twin"]],
    )


def captions(test) -> str:
    return " ".join(caption.value.replace("\\", "") for caption in test.caption)


def test_nonsense_in_the_link_is_told():
    test = page(
        "growth",
        **{
            "growth.of": "no such",
            "growth.step": "641",
            "growth.head": "<b>",
            "growth.other": "x",
            "growth.task": "fly",
        },
    )
    assert "growth.head=<b>" in said(test) and "growth.step=641" in said(test)
    assert "step 643" in opened(named(test, "kinds", "size")[0])[0]["title"]


def test_the_slider_moves_all_pictures_and_the_link():
    test = page("growth")
    (slider,) = [one for one in test.select_slider if one.label == "Step of the training"]
    slider.set_value(2000).run()
    assert not test.exception and test.query_params["growth.step"] == "2000"
    assert states(opened(named(test, "kinds", "size")[0])[0]["title"], "2,000")
    assert states(said(test), "2,000", "1.00")


def test_play_walks_through_the_moments_and_ends_at_the_last():
    test = page("growth", **{"growth.step": "1370"})
    assert named(test, "kinds", "size")  # the page keeps what does not change, and later packets name it only
    next(button for button in test.button if button.label == "Play").click().run()
    assert not test.exception
    assert states(opened(named(test, "kinds", "size")[0])[0]["title"], "2,000")
    assert test.query_params["growth.step"] == "2000" and any(
        button.label == "Play" for button in test.button
    )


def test_a_moment_opens_on_other_pages_and_no_menu_lists_it():
    name = f"{MODEL} at step 643"
    test = page("look", model=name)
    (packet,) = named(test, "layout", "words")
    assert opened(packet)[0]["keys"][:3] == ["7", "k", "m"]
    assert "cannot be shown" not in said(test)
    test = page("compare", model=name, text="b r 4 t b r 4")
    left, *_ = named(test, "scale", "axis")
    assert len(opened(left)[0]["queries"]) == 7
    test = page("compare", model=f"{MODEL} at step 640")
    assert states(said(test), "640") and "643" in said(test)


@pytest.mark.quick(2)
@pytest.mark.parametrize("task", toy_training.RecordedRun.names())
def test_a_recorded_run_is_shown_as_recorded(task):
    test = page("growth", **{"growth.of": "here", "growth.task": task})
    run = toy_training.RecordedRun.read(task)
    assert any("Recorded run" in str(element.proto.text) for element in test.get("progress"))
    now = named(test, "scale", "axis")[1]
    course = courses.recorded(task)
    title = opened(now)[0]["title"]
    step = int(title.rpartition(" ")[2].replace(",", ""))
    np.testing.assert_allclose(
        unpacked(now, page=packets(test)),
        run.open_step(step)
        .run(run.job.example)
        .attention("causal", by="word")
        .weights[course.heads[course.best]],
        atol=1e-6,
    )
    assert any(button.label == "Train it yourself" for button in test.button)


@pytest.mark.slow
def test_a_training_is_started_and_stopped_and_its_model_opens_in_look(monkeypatch):
    made = trainer.Trainer()
    monkeypatch.setattr(trainer, "_default", made)
    test = page("growth", **{"growth.of": "here", "growth.task": "copy"})
    next(button for button in test.button if button.label.startswith("Train it")).click().run()
    for _ in range(300):
        test.run()
        assert not test.exception
        (job,) = made._jobs.values()
        if len(job.reports) > 2:
            break
        time.sleep(0.2)
    assert "is learning" in standing(test) and any(button.label == "Stop" for button in test.button)
    next(button for button in test.button if button.label == "Stop").click().run()
    while job.state == "running":
        time.sleep(0.05)
    test.run()
    assert "You stopped it." in standing(test)
    look = page("look", model=job.name)
    assert opened(named(look, "layout", "words")[0])[0]["keys"] == list(
        toy_training.TASKS["copy"].example.split(" ")
    )
    look = page("look", model=f"{job.name} at step {job.reports[-1].step}", view="full")
    assert packets(look)
    job.session = "somebody else"
    test = page("look", model=job.name)
    assert "no longer" in said(test)


def standing(test) -> str:
    return " ".join(str(element.proto.text) for element in test.get("progress"))


def test_the_sentence_does_not_cry_wolf():
    slow = courses.Course(
        "any",
        (0, 1, 2),
        (0, 1, 2),
        (3.0, 2.0, 1.0),
        np.linspace(0.1, 0.3, 3).reshape(3, 1, 1),
        "previous",
        "a b",
    )
    assert "appears" not in growth.sentence(slow, "L0.H0", 2) and "grows most" in growth.sentence(
        slow, "L0.H0", 2
    )
    falling = courses.Course(
        "any", (0, 1), (0, 1), (3.0, 2.0), np.array([0.3, 0.1]).reshape(2, 1, 1), "previous", "a b"
    )
    assert "never" in growth.sentence(falling, "L0.H0", 1)
