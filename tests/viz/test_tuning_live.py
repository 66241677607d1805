"""A fine-tuning on a page: recorded, missing, trained now and stopped; which model the page uses."""

from __future__ import annotations

import time

import pytest
import tuned_runs
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.jobs import trainer
from core.training import records
from core.training.finetune import tuning
from viz.course.bert import tuning_live
from viz.labels import percent

PAGE = """
import streamlit as st
from viz.course.bert import tuning_live
tuning_live.panel("opinions-full", "x.")
st.text(f"uses {tuning_live.using('opinions-full', 'x.').model}")
"""


@pytest.fixture
def runs(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        yield lambda *names: tuned_runs.recorded(patch, tmp_path, *names)


def page(**link: str) -> AppTest:
    test = AppTest.from_string(PAGE, default_timeout=90)
    for name, value in link.items():
        test.query_params["x." + name] = value
    return test.run()


def texts(test: AppTest) -> str:
    return (
        "\n".join(str(element.value) for element in test.text)
        + "\n"
        + " ".join(str(element.proto.text) for element in test.get("progress"))
    )


def button(test: AppTest, label: str):
    return next(one for one in test.button if one.label == label)


def trained(test: AppTest) -> None:
    """Press the button, and look again until the training is over."""
    button(test, "Train it now").click().run()
    assert [one.label for one in test.button] == ["Stop"]
    end = time.monotonic() + 120
    while test.button[0].label == "Stop":
        assert time.monotonic() < end
        time.sleep(0.2)
        test.run()


@pytest.mark.slow
def test_without_a_recorded_run_the_page_says_so_and_trains(runs):
    with runs():
        test = page()
        assert (
            not test.exception
            and tuning_live.MISSING in texts(test)
            and "uses None" in texts(test)
            and states(texts(test), "bert-mini", "not tuned")
        )
        assert len(test.get("vega_lite_chart")) == 2
        test.query_params["x.seed"] = "7"
        trained(test.run())
        (job,) = trainer.default()._jobs.values()
        assert job.state == "done", job.reason
        assert (
            f"uses {job.name}" in texts(test)
            and "random seed 7" in texts(test)
            and f"step {tuned_runs.STEPS} of 220" in texts(test)
        )
        assert core.serving.engine.default().open(job.name).run("The soup was good.").classes.shape == (2,)
        tuning.RecordedRun.record(tuning.TUNINGS["opinions-full"], records.RUNS / "opinions-full", steps=1)
        assert f"uses {job.name}" in texts(test.run()), "one's own model stays in use"
        test.query_params["x.whose.opinions-full"] = "recorded"
        assert (
            "uses recorded: opinions-full" in texts(test.run())
            and "random seed 0" in texts(test)
            and not test.exception
        )


@pytest.mark.slow
def test_a_recorded_run_is_used_and_told_and_a_training_can_be_stopped(runs):
    with runs("opinions-full"):
        test = page()
        run = tuning.RecordedRun.read("opinions-full")
        first, last = run.reports[0], run.reports[-1]
        assert not test.exception and "uses recorded: opinions-full" in texts(test)
        assert f"{last.step} steps of 8 texts" in texts(test) and states(
            texts(test), percent(first.right), "at step 0", percent(last.right)
        )
        button(test, "Train it now").click().run()
        button(test, "Stop").click().run()
        (job,) = trainer.default()._jobs.values()
        while job.state in ("running", "waiting"):
            time.sleep(0.05)
        assert "You stopped it" in texts(test.run()) and not test.exception


def test_nonsense_in_the_link_is_no_exception(runs):
    with runs("opinions-full"):
        test = page(seed="-3", **{"whose.opinions-full": "yours"})
        assert not test.exception and "uses recorded: opinions-full" in texts(test)
