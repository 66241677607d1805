"""Tuned GPTs: the place that is read, the rows of four tasks, what Extract says, the two terms by hand, recorded and live trainings."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from drawn_layers import all_rows
from exhibit_pages import drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

from core.data.gpt_inputs import CHOICE, CLASSIFICATION, ENTAILMENT, SIMILARITY, TASKS, combined_objective
from core.jobs import trainer
from core.jobs.names import RECORDED
from core.jobs.trainer import Trainer
from core.serving.engine import default
from core.training.finetune import gpt_tuning
from core.training.finetune.gpt_tuning import tuning_name
from viz.charts.curves import number
from viz.course.gpt.gpt_tasks import exhibit, live
from viz.course.gpt.gpt_tasks.charts.input_rows import EXTRACT, START, Cell, InputRow, input_rows
from viz.course.gpt.gpt_tasks.maths import extracted
from viz.course.gpt.gpt_tasks.params import RIGHT, TEXTS, Example
from viz.labels import percent

FOLDS = [f"fold:gpt_tasks.{name}" for name in ("equation", "looking", "table", "take")] + [
    f"fold:{exhibit.EXHIBIT.text.info.title}.documents"
]


def page(step: int, *folds: str, guess: tuple[str, object] | None = None, **chosen: str) -> AppTest:
    names = {f"gpt_tasks.{name}": value for name, value in ({"step": str(step)} | chosen).items()}
    return drawn(
        "gpt_tasks",
        names,
        dict.fromkeys(folds, True) | ({f"predict:gpt_tasks.{guess[0]}": guess[1]} if guess else {}),
        guarded=True,
    )


def model(task: str, weight: float = 0.5):
    return default().open(RECORDED + tuning_name(task, weight))


def heard(task: str, *texts: str):
    return extracted(model(task), task, texts or Example(task, *TEXTS[task]).texts)


def tables(test: AppTest, place: int = 0) -> list[dict]:
    """All rows that a picture draws."""
    proto = test.get("vega_lite_chart")[place].proto
    spec = json.loads(proto.spec)
    inline = [layer["data"]["values"] for layer in spec["layer"] if "values" in layer.get("data", {})]
    held = [pa.ipc.open_stream(table.data.data).read_all().to_pylist() for table in proto.datasets]
    return [row for rows in (*inline, *held, *spec.get("datasets", {}).values()) for row in rows]


def words(test: AppTest, place: int = 0) -> list[str]:
    """The words in the picture."""
    return [row["text"] for row in tables(test, place) if "text" in row]


@pytest.mark.slow
def test_the_head_reads_the_last_place():
    """C103."""
    answers = set()
    for text in (TEXTS[CLASSIFICATION][0], "The nurse was kind."):
        found = heard(CLASSIFICATION, text)
        answer = f"{len(found.tokens[0]) - 1}: Extract"
        answers.add(answer)
        before = page(1, *FOLDS, **{"classification.first": text})
        assert (
            f"{percent(found.output.probabilities.max())}" not in said(before) + str(words(before))
            and words(before).count("?") == 2
        )
        after = page(1, guess=("place", answer), **{"classification.first": text})
        assert "Right." in said(after) and all(
            percent(p) in words(after) and percent(p) in said(after) for p in found.output.probabilities
        )
        assert words(after).count("Start") == words(after).count("Extract") == 1
    assert len(answers) == 2


@pytest.mark.slow
def test_four_tasks_as_rows():
    """C103: as many rows as answers; similarity is symmetric."""
    for answers in ("sour, delicious, bitter, bad", "good, bad"):
        n = answers.count(",") + 1
        before = page(2, task=CHOICE, **{"choice.second": answers})
        assert words(before).count("Extract") == 1
        after = page(2, *FOLDS, task=CHOICE, guess=("rows", str(n)), **{"choice.second": answers})
        found = heard(CHOICE, TEXTS[CHOICE][0], *(f" {answer}" for answer in answers.split(", ")))
        assert "Right." in said(after) and words(after).count("Extract") == words(after).count(
            "Delim"
        ) == n == len(found.tokens)
        assert f"{n} answers, {n} rows" in said(after) and number(found.output.scores[0]) in said(after)
    for task, count in ((ENTAILMENT, 1), (SIMILARITY, 2), (CLASSIFICATION, 1)):
        test = page(2, task=task)
        assert words(test).count("Extract") == count and words(test).count("Delim") == (
            0 if task == CLASSIFICATION else count
        )
        assert ("sum" in words(test)) == (task == SIMILARITY) == ("swapped" in said(test))


@pytest.mark.slow
def test_what_extract_says_and_where_it_looks():
    for task in TASKS:
        found = heard(task)
        labels = Example(task, *TEXTS[task]).labels
        best = labels[int(found.output.probabilities.argmax())]
        before = page(3, *FOLDS, task=task, layer="1")
        assert words(before).count("?") == len(labels) and "The head predicts" not in said(before)
        look = found.looks[0][1].mean(0)
        assert states(said(before), percent(look[-1]), percent(look[0]))
        after = page(3, task=task, layer="1", guess=("says", best))
        assert "Right." in said(after) and all(
            f"“{label}” {percent(p)}" in said(after)
            for label, p in zip(labels, found.output.probabilities, strict=True)
        )


def test_the_recorded_models_know_the_opening_texts():
    for task in TASKS:
        assert heard(task).output.probabilities.argmax() == RIGHT[task], task


@pytest.mark.slow
def test_both_terms_and_lambda():
    """C102: L by hand on the page; λ = 0 is pure L_2."""
    for weight in ("0", "0.25"):
        found = heard(CLASSIFICATION)
        costs = {
            each: extracted(model(CLASSIFICATION, each), CLASSIFICATION, TEXTS[CLASSIFICATION][:1]).text
            for each in (0.0, 0.5)
        }
        better = f"λ = {max(costs, key=costs.__getitem__):g}"
        before = page(4, tuned=CLASSIFICATION, weight=weight)
        assert number(found.text, 3) not in said(before)
        after = page(4, *FOLDS, tuned=CLASSIFICATION, weight=weight, guess=("cheaper", better))
        l_1, l_2 = found.text, found.label(0)
        assert "Right." in said(after) and all(f"{-cost:.2f} nats" in said(after) for cost in costs.values())
        assert f"= {number(combined_objective(l_1, l_2, float(weight)), 3)}" in said(after) and (
            "only L₂" in said(after)
        ) == (weight == "0")
        assert len(after.dataframe[0].value) == found.n_tokens
    other = page(4, tuned=CLASSIFICATION, guess=("cheaper", better), **{"classification.right": "1"})
    assert number(found.label(1), 3) in said(other)


def answered():
    """What the recorded runs say of the question."""
    runs = [gpt_tuning.RecordedRun.read(tuning_name(CLASSIFICATION, weight)) for weight in (0.0, 0.5)]
    half = live.halfway(runs[0].reports)
    return live.verdict(*(live.share(run, half) for run in runs))


@pytest.mark.slow
def test_recorded_runs():
    """C102: the curves are those of the log."""
    runs = {weight: gpt_tuning.RecordedRun.read(tuning_name(CLASSIFICATION, weight)) for weight in (0.0, 0.5)}
    half = live.halfway(runs[0.0].reports)
    before = page(5, *FOLDS, tuned=CLASSIFICATION)
    assert {row["line"] for row in tables(before) if "line" in row} == {"λ = 0"}
    after = page(5, *FOLDS, tuned=CLASSIFICATION, guess=("helps", answered()))
    assert (
        "Right." in said(after)
        and f"{percent(live.share(runs[0.5], half), 2)} against {percent(live.share(runs[0.0], half), 2)}"
        in said(after)
    )
    assert len(after.dataframe[0].value) == sum(
        len(reports) for run in runs.values() for reports in (run.reports, *run.other_runs)
    )


@pytest.mark.slow
def test_a_training_of_ones_own(monkeypatch):
    """C102: a visitor's model answers on the page."""
    after = page(5, *FOLDS, tuned=CLASSIFICATION, guess=("helps", answered()))
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
    assert "yours, λ = 0.5" in {row["line"] for row in tables(after) if "line" in row}
    found = extracted(default().open(job.name), CLASSIFICATION, TEXTS[CLASSIFICATION][:1])
    after.session_state["predict:gpt_tasks.place"] = f"{len(found.tokens[0]) - 1}: Extract"
    after.query_params["gpt_tasks.step"] = "1"
    assert not after.run().exception and all(percent(p) in said(after) for p in found.output.probabilities)


def test_the_lines_to_take_away_make_the_same_numbers():
    names: dict[str, object] = {}
    exec(page(3, *FOLDS).code[-1].value, names)
    np.testing.assert_allclose(names["found"].output.probabilities, heard(CHOICE).output.probabilities)
    assert exhibit.thumbnail().count("<rect") > 3


@pytest.mark.parametrize("rows", [1, 4])
def test_on_a_wall_words_are_as_large_as_their_cells_allow(rows):
    """Type that grew with the wall was taller than its cells; a picture of one row stayed small."""
    tokens = [Cell("Start", START), *(Cell(f" word{n}") for n in range(9)), Cell("Extract", EXTRACT)]
    figure = input_rows([InputRow(tokens, np.ones(4))] * rows, line=27, room=300).to_dict()
    line = 27 if rows == 4 else 60
    boxes = all_rows(figure, "y2", mark="rect")
    assert line <= figure["height"] / max(box["y2"] for box in boxes) < 1.25 * line
    sizes = {
        layer["mark"]["fontSize"]["expr"] for layer in figure["layer"] if layer["mark"]["type"] == "text"
    }
    (most,) = (float(size.split("min(")[1].split(",")[0]) for size in sizes)
    assert 13 < most <= 0.6 * figure["height"] / max(box["y2"] for box in boxes)
    assert len({box["y"] for box in boxes if "word" in box["told"]}) == (2 if rows == 1 else rows)
