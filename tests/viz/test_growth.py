"""While learning: what is drawn at a moment is what the weights of that moment do, and a training that one starts is told."""

from __future__ import annotations

import time

import numpy as np
import pytest
from packets import opened
from shown_values import states
from workspace_pages import button, click, header, matrices, page, said, sent

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


def grown(**link: str):
    return page("growth", **{f"growth__{name}": value for name, value in link.items()})


def title(test) -> str:
    """Return the title of the grid of heads, which names the moment."""
    return header(test, "kinds", "size")["title"]


def pattern(test, which: int) -> np.ndarray:
    """Return the pattern that the head is compared with (0) or has now (1)."""
    return matrices(test, "scale", "axis")[which]


def weights(model: core.Model, text: str, head) -> np.ndarray:
    return model.run(text).attention("causal", by="word").weights[head]


def standing(test) -> str:
    return " ".join(str(element.proto.text) for element in test.get("progress"))


@pytest.mark.parametrize("name", measured.models_with_growth())
def test_what_ships_is_of_the_weights_that_ship(name):
    """The steps are those kept, and the last moment is what heads.json says of the finished model."""
    folder = shipped_folder() / name
    found, held = measured.read(folder), read_heads(folder).trained["causal"].scores
    assert found.steps == steps_of(name)
    for habit, score in found.scores.items():
        assert abs(score[-1] - held[habit]).max() < 0.01, "the weights of the history are of 16 bits"
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
    run, lost = model.run(example.text), []
    for i in range(len(run.ids) - 1):
        if run.tokens[i] in run.tokens[:i]:
            exps = np.exp(run.logits[i].astype(np.float64))
            lost.append(-np.log(exps[run.ids[i + 1]] / exps.sum()))
    assert measured.mean_nats(model, [example]) == pytest.approx(np.mean(lost), abs=1e-5)


def test_it_opens_where_the_head_forms():
    test, course = grown(), courses.shipped(MODEL)
    step, head = int(title(test).rpartition(" ")[2]), course.heads[course.best]
    for which, moment in enumerate((0, step)):
        wanted = weights(core.open_model(MODEL, step=moment), course.text, head)
        np.testing.assert_allclose(pattern(test, which), wanted, atol=1e-6)
    curve = course.curve(course.best)
    i = measured.steepest_moment(curve)
    assert step == course.steps[i + 1] and curve[i + 1] - curve[i] > 0.3
    assert states(said(test), f"{course.steps[i]:,}", f"{step:,}", "“induction head”")
    assert f"from {curve[i]:.2f} to {curve[i + 1]:.2f}" in said(test)


def test_the_link_chooses_moment_head_and_what_it_is_compared_with():
    test = grown(of="gpt-twin", step="0", other="2000", head="L0.H1")
    titles = [opened(packet)[0]["title"] for packet in sent(test, "scale", "axis")]
    assert titles == ["L0.H1 at step 2,000", "L0.H1 at step 0"]
    wanted = weights(core.open_model("gpt-twin", step=2000), courses.shipped("gpt-twin").text, (0, 1))
    np.testing.assert_allclose(pattern(test, 0), wanted, atol=1e-6)
    odd = grown(step="641")
    assert "step 643" in title(odd) and "growth.step=641" in said(odd)


def test_a_model_without_moments_is_named_and_one_with_them_opens():
    """The model of the page before comes along in the link."""
    other, twin = (page("growth", model=model) for model in ("gpt-mini", "gpt-twin"))
    named_as_missing = [
        "is not shown" in " ".join(each.value for each in test.caption) for test in (other, twin)
    ]
    assert named_as_missing == [True, False]
    boxes = [box.value for box in twin.get("button_group") if box.label == "What learns"]
    assert np.ravel(boxes).tolist() == ["gpt-twin"]


def test_the_slider_moves_all_pictures_and_the_link():
    test = grown()
    (slider,) = [one for one in test.select_slider if one.label == "Step of the training"]
    slider.set_value(2000).run()
    assert test.query_params["growth.step"] == "2000" and states(title(test), "2,000")
    assert states(said(test), "2,000", "1.00")


def test_play_walks_through_the_moments_and_ends_at_the_last():
    test = grown(step="1370")
    assert title(test)  # the page keeps what does not change, and later packets name it only
    click(test, "Play")
    assert states(title(test), "2,000") and test.query_params["growth.step"] == "2000"
    assert button(test, "Play")


def test_a_moment_opens_on_other_pages_and_no_menu_lists_it():
    name = f"{MODEL} at step 643"
    look, compare = page("look", model=name), page("compare", model=name, text="b r 4 t b r 4")
    assert header(look, "layout", "words")["keys"][:3] == ["7", "k", "m"] and "cannot be shown" not in said(
        look
    )
    assert len(opened(sent(compare, "scale", "axis")[0])[0]["queries"]) == 7
    missing = page("compare", model=f"{MODEL} at step 640")
    assert states(said(missing), "640") and "643" in said(missing)


@pytest.mark.quick(2)
@pytest.mark.parametrize("task", toy_training.RecordedRun.names())
def test_a_recorded_run_is_shown_as_recorded(task):
    test, run, course = (
        grown(of="here", task=task),
        toy_training.RecordedRun.read(task),
        courses.recorded(task),
    )
    assert "Recorded run" in standing(test)
    now = opened(sent(test, "scale", "axis")[1])[0]["title"]
    model = run.open_step(int(now.rpartition(" ")[2].replace(",", "")))
    wanted = weights(model, run.job.example, course.heads[course.best])
    np.testing.assert_allclose(pattern(test, 1), wanted, atol=1e-6)
    assert button(test, "Train it yourself")


@pytest.mark.slow
def test_a_training_is_started_and_stopped_and_its_model_opens_in_look(monkeypatch):
    made = trainer.Trainer()
    monkeypatch.setattr(trainer, "_default", made)
    test = grown(of="here", task="copy")
    click(test, "Train it")
    (job,) = made._jobs.values()
    for _ in range(300):
        assert not test.run().exception
        if len(job.reports) > 2:
            break
        time.sleep(0.2)
    assert "is learning" in standing(test)
    click(test, "Stop")
    while job.state == "running":
        time.sleep(0.05)
    assert "You stopped it." in standing(test.run())
    look = page("look", model=job.name)
    words = toy_training.TASKS["copy"].example.split(" ")
    assert header(look, "layout", "words")["keys"] == words
    assert sent(page("look", model=f"{job.name} at step {job.reports[-1].step}", view="full"))
    job.session = "somebody else"
    assert "no longer" in said(page("look", model=job.name))


@pytest.mark.parametrize(
    ("scores", "word", "missing"),
    [((0.1, 0.2, 0.3), "grows most", "appears"), ((0.3, 0.1), "never", "appears")],
)
def test_the_sentence_does_not_cry_wolf(scores, word, missing):
    steps = tuple(range(len(scores)))
    losses = tuple(3.0 - step for step in steps)
    curve = np.array(scores).reshape(-1, 1, 1)
    course = courses.Course("any", steps, steps, losses, curve, "previous", "a b")
    told = growth.sentence(course, "L0.H0", steps[-1])
    assert word in told and missing not in told
