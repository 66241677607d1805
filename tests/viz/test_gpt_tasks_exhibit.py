"""Tuned GPTs: the place that is read, the rows of four tasks, what Extract says, the two terms by hand, recorded and live trainings."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest
from drawn_layers import all_rows
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states

from core.data.gpt_inputs import CHOICE, CLASSIFICATION, ENTAILMENT, SIMILARITY, TASKS, combined_objective
from core.jobs import trainer
from core.jobs.names import RECORDED
from core.jobs.trainer import Trainer
from core.serving.engine import default
from core.training.finetune import gpt_tuning
from core.training.finetune.gpt_tuning import tuning_name
from viz.charts.curves import number
from viz.course.gpt.gpt_tasks import live
from viz.course.gpt.gpt_tasks.charts.input_rows import EXTRACT, START, Cell, InputRow, input_rows
from viz.course.gpt.gpt_tasks.maths import extracted
from viz.course.gpt.gpt_tasks.params import RIGHT, TEXTS, Example
from viz.labels import percent

page = StepPages("gpt_tasks", shared=())


def heard(task: str, *texts: str, weight: float = 0.5):
    model = default().open(RECORDED + tuning_name(task, weight))
    return extracted(model, task, texts or Example(task, *TEXTS[task]).texts)


def words(test) -> list[str]:
    """Return the words in the picture."""
    return [row["text"] for row in all_rows(test, "text")]


@pytest.mark.slow
@pytest.mark.parametrize("text", [TEXTS[CLASSIFICATION][0], "The nurse was kind."])
def test_the_head_reads_the_last_place(text):
    """C103."""
    found = heard(CLASSIFICATION, text)
    before = page(**{"classification.first": text})
    assert page.answer(before, "place") == f"{len(found.tokens[0]) - 1}: Extract"
    assert words(before).count("?") == 2
    after = answered(before)
    shares = {percent(p) for p in found.output.probabilities}
    assert shares <= {*words(after)} and all(share in said(after) for share in shares)
    assert words(after).count("Start") == words(after).count("Extract") == 1


@pytest.mark.slow
def test_four_tasks_as_rows():
    """C103: as many rows as answers; similarity is symmetric."""
    for answers in ("sour, delicious, bitter, bad", "good, bad"):
        n = answers.count(",") + 1
        found = heard(CHOICE, TEXTS[CHOICE][0], *(f" {answer}" for answer in answers.split(", ")))
        before = page(2, task=CHOICE, **{"choice.second": answers})
        assert words(before).count("Extract") == 1 and page.answer(before, "rows") == str(n)
        after = answered(before)
        assert words(after).count("Extract") == words(after).count("Delim") == n == len(found.tokens)
        assert f"{n} answers, {n} rows" in said(after) and number(found.output.scores[0]) in said(after)
    for task, rows, delimiters in ((ENTAILMENT, 1, 1), (SIMILARITY, 2, 2), (CLASSIFICATION, 1, 0)):
        test = page(2, task=task)
        assert (words(test).count("Extract"), words(test).count("Delim")) == (rows, delimiters)
        assert ("sum" in words(test)) == (task == SIMILARITY) == ("swapped" in said(test))


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_what_extract_says_and_where_it_looks(task):
    found, labels = heard(task), Example(task, *TEXTS[task]).labels
    before = page(3, task=task, layer=1)
    assert words(before).count("?") == len(labels)
    assert page.answer(before, "says") == labels[int(found.output.probabilities.argmax())]
    look = found.looks[0][1].mean(0)
    assert states(said(before), percent(look[-1]), percent(look[0]))
    after = said(answered(before))
    for label, p in zip(labels, found.output.probabilities, strict=True):
        assert f"“{label}” {percent(p)}" in after


def test_the_recorded_models_know_the_opening_texts():
    assert {task: heard(task).output.probabilities.argmax() for task in TASKS} == RIGHT


@pytest.mark.slow
@pytest.mark.parametrize("weight", ["0", "0.25"])
def test_both_terms_and_lambda(weight):
    """C102: L by hand on the page; λ = 0 is pure L_2."""
    found = heard(CLASSIFICATION)
    costs = {each: heard(CLASSIFICATION, weight=each).text for each in (0.0, 0.5)}
    before = page(4, "table", tuned=CLASSIFICATION, weight=weight)
    assert page.answer(before, "cheaper") == f"λ = {max(costs, key=costs.__getitem__):g}"
    after = answered(before)
    assert all(f"{-cost:.2f} nats" in said(after) for cost in costs.values())
    total = combined_objective(found.text, found.label(0), float(weight))
    assert f"= {number(total, 3)}" in said(after) and ("only L₂" in said(after)) == (weight == "0")
    assert len(after.dataframe[0].value) == found.n_tokens
    other = answered(page(4, tuned=CLASSIFICATION, **{"classification.right": "1"}))
    assert number(found.label(1), 3) in said(other)


@pytest.mark.slow
def test_recorded_runs():
    """C102: the curves are those of the log."""
    runs = [gpt_tuning.RecordedRun.read(tuning_name(CLASSIFICATION, weight)) for weight in (0.0, 0.5)]
    steps, half = np.array([report.step for report in runs[0].reports]), live.halfway(runs[0].reports)
    assert half == np.abs(steps - steps[-1] / 2).argmin()
    alone, both = (live.share(run, half) for run in runs)
    before = page(5, "table", tuned=CLASSIFICATION)
    assert page.answer(before, "helps") == live.verdict(alone, both)
    assert {row["line"] for row in all_rows(before, "line")} == {"λ = 0"}
    after = answered(before)
    assert f"{percent(both, 2)} against {percent(alone, 2)}" in said(after)
    reports = sum(len(reports) for run in runs for reports in (run.reports, *run.other_runs))
    assert len(after.dataframe[0].value) == reports


@pytest.mark.slow
def test_a_training_of_ones_own(monkeypatch):
    """C102: a visitor's model answers on the page."""
    after = answered(page(5, tuned=CLASSIFICATION))
    own = Trainer(
        lambda task, place: [sys.executable, "-m", "core.training.worker", task, str(place), "--steps", "1"],
        patience=600.0,
    )
    monkeypatch.setattr(trainer, "_default", own)
    after.button(key="gpt_tasks.start").click().run()
    (job,) = own._jobs.values()
    while job.state in ("waiting", "running"):
        time.sleep(0.05)
    assert job.state == "done" and job.task == tuning_name(CLASSIFICATION, 0.5), job.reason
    assert states(str([bar.proto for bar in after.run().get("progress")]), "1 of 300")
    assert "yours, λ = 0.5" in {row["line"] for row in all_rows(after, "line")}
    found = extracted(default().open(job.name), CLASSIFICATION, TEXTS[CLASSIFICATION][:1])
    after.query_params["gpt_tasks.step"] = "1"
    after = answered(after.run())
    assert not after.exception and all(percent(p) in said(after) for p in found.output.probabilities)


@pytest.mark.parametrize("rows", [1, 4])
def test_on_a_wall_words_are_as_large_as_their_cells_allow(rows):
    """Type that grew with the wall was taller than its cells; a picture of one row stayed small."""
    tokens = [Cell("Start", START), *(Cell(f" word{n}") for n in range(9)), Cell("Extract", EXTRACT)]
    figure = input_rows([InputRow(tokens, np.ones(4))] * rows, line=27, room=300).to_dict()
    line = 27 if rows == 4 else 60
    boxes = all_rows(figure, "y2", mark="rect")
    height = figure["height"] / max(box["y2"] for box in boxes)
    assert line <= height < 1.25 * line
    texts = [layer["mark"] for layer in figure["layer"] if layer["mark"]["type"] == "text"]
    (most,) = {float(text["fontSize"]["expr"].split("min(")[1].split(",")[0]) for text in texts}
    assert 13 < most <= 0.6 * height
    assert len({box["y"] for box in boxes if "word" in box["told"]}) == (2 if rows == 1 else rows)
