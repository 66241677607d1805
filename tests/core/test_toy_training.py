"""Small tasks and the trainings that visitors start: what is drawn, what is measured, one at a time, stopped, killed, left."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import pytest
from safetensors.torch import save_file

from core.data.tasks import MONTHS
from core.errors import InputError
from core.jobs.trainer import Trainer, Training
from core.training import records
from core.training.jobs import weights_file
from core.training.toy import toy_training
from core.training.toy.toy_training import TASKS

QUICK = [sys.executable, "-c"]
LINE = '{"step": %d, "loss": 1.0, "right": 0.5, "looks": [[0.1, 0.2]], "seconds": 0.1}'
FOREVER = f"import time, sys\nprint('{LINE % 0}', flush=True)\ntime.sleep(60)"


def until(fact, seconds=60.0):
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.mark.parametrize("name", TASKS)
def test_the_answer_stands_where_its_source_says(name):
    """Written anew: each sign of an answer that has a source is that sign, but for months, which are looked up."""
    task, rng = TASKS[name], np.random.default_rng(3)
    for length in task.lengths:
        line = task.draw(rng, length, "train")
        answer = line.signs[line.first :]
        assert len(answer) == len(line.source)
        for sign, place in zip(answer, line.source, strict=True):
            if place is not None and len(line.signs[place]) == 1:
                assert line.signs[place] == sign and place < line.first
        assert len(task.tokenizer.encode(line.text).ids) == len(line.signs) <= task.config.n_ctx
        assert task.tokenizer.encode("<unk>", special=True).ids[0] not in task.tokenizer.encode(line.text).ids
    assert task.tokenizer.encode(task.example).uncovered == ()


def test_the_tasks_are_what_they_say():
    rng = np.random.default_rng(0)

    def sides(name, length=6):
        line = TASKS[name].draw(rng, length, "test")
        return "".join(line.signs[: line.first - 1]), "".join(line.signs[line.first :])

    asked, answer = sides("copy")
    assert answer == asked
    asked, answer = sides("reverse")
    assert answer == asked[::-1]
    asked, answer = sides("sort")
    assert answer == "".join(sorted(asked)) and len(set(asked)) == 6
    asked, answer = sides("dates")
    month = MONTHS.index(asked[2:5]) + 1
    assert answer == f"{asked[5:]}-{month:02}-{asked[:2]}"


@pytest.mark.slow
def test_a_training_ends_with_its_time():
    began = time.perf_counter()
    *_, (last, _) = toy_training.training(TASKS["copy"], steps=10**6, longest=1.0)
    assert last.seconds >= 1.0 and last.step < 10**6 and time.perf_counter() - began < 30


def test_the_share_of_weight_on_what_comes_next_is_that_of_the_patterns():
    """Against a plain loop over lines, answers, layers and heads."""
    task = TASKS["sort"]
    (_, weights), *_ = toy_training.training(task, steps=1)
    model = toy_training.model(task, weights, "any")
    rng, total, count = np.random.default_rng(1), np.zeros((2, 2)), 0
    for length in task.lengths:
        for _ in range(max(4, toy_training.MEASURED // len(task.lengths))):
            line = task.draw(rng, length, "test")
            patterns = model.run(line.text, keep=("*.pattern",)).attention("causal").weights
            for i, place in enumerate(line.source):
                total += patterns[:, :, line.first + i - 1, place]
                count += 1
    np.testing.assert_allclose(toy_training.measure_looks(model.network, task), total / count, atol=1e-5)


def test_a_run_is_recorded_and_read(tmp_path):
    run = toy_training.RecordedRun.record(TASKS["reverse"], tmp_path / "reverse", steps=12)
    assert run.steps[0] == 0
    assert run.steps[-1] == run.reports[-1].step == 12
    assert len(run.steps) <= toy_training.N_KEPT
    assert run.open_step(12).name == "recorded: reverse at step 12" and run.open_step(12, "x").name == "x"
    assert (
        abs(
            run.open_step(0).run(run.job.example).logits - run.open_step(12).run(run.job.example).logits
        ).max()
        > 0.01
    )
    with pytest.raises(InputError, match="no weights of step 5"):
        run.open_step(5)
    (tmp_path / "reverse" / records.LOG).write_text('{"reports": [{}]}')
    with pytest.raises(InputError, match="cannot be read"):
        toy_training.RecordedRun.read("reverse", tmp_path / "reverse")
    with pytest.raises(InputError, match="no recorded run"):
        toy_training.RecordedRun.read("nothing")


@pytest.mark.parametrize("name", toy_training.RecordedRun.names())
def test_what_ships_has_learnt_its_task(name):
    run = toy_training.RecordedRun.read(name)
    assert sum(path.stat().st_size for path in run.folder.iterdir()) < 700_000
    assert run.reports[0].right < 0.5 < 0.9 < run.reports[-1].right
    assert run.reports[-1].seconds <= toy_training.LONGEST
    looks = toy_training.measure_looks(run.open_step(run.steps[-1]).network, run.job)
    np.testing.assert_allclose(looks, run.reports[-1].looks, atol=0.02)  # weights of 16 bits


def test_a_model_has_the_name_that_it_is_asked_for_by_at_its_last_step_too(tmp_path):
    run = toy_training.RecordedRun.read("copy")
    last = run.reports[-1].step
    save_file(run.model("any").network.state_dict(), tmp_path / weights_file(TASKS["copy"], last))
    training = Training("yours: copy (1)", "copy", "stopped", 0, run.reports, tmp_path)
    assert training.model().name == "yours: copy (1)"
    assert training.model(last).name == f"yours: copy (1) at step {last}"


@pytest.mark.slow
def test_a_child_trains_and_its_model_reads():
    trainer = Trainer(
        lambda task, folder: [sys.executable, "-m", "core.training.worker", task, str(folder), "--steps", "3"]
    )
    name = trainer.start("Ana", "copy")
    until(lambda: trainer.progress("Ana").over, 120)
    training = trainer.progress("Ana")
    assert (training.state, training.reason, training.name) == ("done", "", name)
    assert training.reports[-1].step == 3
    assert training.model().run(TASKS["copy"].example).attention("causal").weights.shape[:2] == (2, 2)
    assert trainer.find(name, "Ana").name == name
    with pytest.raises(InputError, match="no longer here"):
        trainer.find(name, "Bob")


def test_one_runs_the_others_wait_in_their_order_and_a_stop_lets_the_next_begin():
    trainer = Trainer(lambda task, folder: [*QUICK, FOREVER])
    for session in ("Ana", "Bob", "Cleo"):
        trainer.start(session, "copy")
    until(lambda: trainer.progress("Ana").reports)
    assert [trainer.progress(session).state for session in ("Ana", "Bob", "Cleo")] == [
        "running",
        "waiting",
        "waiting",
    ]
    assert [trainer.progress(session).place for session in ("Ana", "Bob", "Cleo")] == [0, 1, 2]
    trainer.stop("Bob")
    assert trainer.progress("Bob").state == "stopped" and trainer.progress("Cleo").place == 1
    trainer.stop("Ana")
    until(lambda: trainer.progress("Cleo").reports)
    ended = trainer.progress("Ana")
    assert (ended.state, ended.reason, len(ended.reports)) == ("stopped", "You stopped it.", 1)
    trainer.stop("Cleo")
    until(lambda: trainer.progress("Cleo").over)


def test_a_new_training_of_a_session_ends_the_one_before():
    trainer = Trainer(lambda task, folder: [*QUICK, FOREVER])
    first = trainer.start("Ana", "copy")
    until(lambda: trainer.progress("Ana").reports)
    trainer.start("Ana", "sort")
    until(lambda: trainer.progress("Ana").reports)
    assert trainer.progress("Ana").task == "sort" and trainer.find(first).state == "stopped"
    trainer.stop("Ana")
    until(lambda: trainer.progress("Ana").over)


def test_a_killed_child_is_told_and_what_it_had_learnt_stays():
    trainer = Trainer(
        lambda task, folder: [*QUICK, f"import os\nopen('pid', 'w').write(str(os.getpid()))\n{FOREVER}"]
    )
    trainer.start("Ana", "copy")
    until(lambda: trainer.progress("Ana").reports)
    os.kill(int((trainer.progress("Ana").folder / "pid").read_text()), signal.SIGKILL)
    until(lambda: trainer.progress("Ana").over)
    training = trainer.progress("Ana")
    assert training.state == "failed" and "signal 9" in training.reason and len(training.reports) == 1


@pytest.mark.parametrize(
    ("script", "said"), [("raise SystemExit(3)", "code 3"), ("print('nonsense')", "code 0")]
)
def test_a_child_that_fails_is_told(script, said):
    trainer = Trainer(lambda task, folder: [*QUICK, script])
    trainer.start("Ana", "copy")
    until(lambda: trainer.progress("Ana").over)
    assert trainer.progress("Ana").state == "failed" and said in trainer.progress("Ana").reason


def test_a_training_that_nobody_looks_at_ends_and_one_that_takes_too_long():
    trainer = Trainer(lambda task, folder: [*QUICK, FOREVER], patience=0.5)
    name = trainer.start("Ana", "copy")
    until(lambda: trainer.find(name).over)
    assert trainer.find(name).state == "stopped" and "Nobody" in trainer.find(name).reason
    slow = Trainer(lambda task, folder: [*QUICK, FOREVER], longest=0.5)
    slow.start("Ana", "copy")
    until(lambda: slow.progress("Ana").over)
    assert slow.progress("Ana").state == "failed" and "ended after" in slow.progress("Ana").reason


def test_the_row_is_bounded_and_tasks_are_known():
    trainer = Trainer(lambda task, folder: [*QUICK, FOREVER])
    with pytest.raises(InputError, match="There is no task 'fly'"):
        trainer.start("Ana", "fly")
    trainer.start("Ana", "copy")
    until(lambda: trainer.progress("Ana").reports)
    for session in range(20):
        trainer.start(str(session), "copy")
    with pytest.raises(InputError, match="Too many"):
        trainer.start("one more", "copy")
    trainer.stop("Ana")
    for session in range(20):
        trainer.stop(str(session))
    until(lambda: all(job.state not in ("waiting", "running") for job in trainer._jobs.values()))
