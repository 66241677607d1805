"""scores.json: written by evaluate, read for the Models page, refused when it is not understood."""

from __future__ import annotations

import json

import pytest

from core.checkpoints.scores import FILE, Score, read_scores, record
from core.checkpoints.store import shipped_folder
from core.errors import InputError
from core.tools import evaluate

OWN = {
    "items": 3,
    "seconds": 1.5,
    "bits_per_byte": 1.5,
    "best_head": "L1.H0",
    "bleu_by_length": {"2-5 words": 3.0},
}


def test_a_record_replaces_its_own_rows_and_keeps_the_baselines(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    assert read_scores(folder) == ()
    baseline = Score("bits_per_byte", "valid", "trigram", 1.6)
    rows = [
        {"measure": "bits_per_byte", "split": "valid", "of": of, "value": value}
        for of, value in (("trigram", 1.6), ("model", 9.0))
    ]
    (folder / FILE).write_text(json.dumps(rows))
    record(folder, "valid", OWN)
    record(folder, "test", OWN | {"bits_per_byte": 1.7})
    assert read_scores(folder) == (
        Score("bits_per_byte", "test", "model", 1.7),
        Score("bleu_by_length, 2-5 words", "test", "model", 3.0),
        Score("bits_per_byte", "valid", "model", 1.5),
        Score("bleu_by_length, 2-5 words", "valid", "model", 3.0),
        baseline,
    )


def test_weights_of_an_earlier_step_have_rows_of_their_own(tmp_path):
    record(tmp_path, "valid", OWN)
    record(tmp_path, "valid", {"bits_per_byte": 8.5}, subject=f"{tmp_path.name} at step 0")
    assert {
        (score.subject, score.value) for score in read_scores(tmp_path) if score.measure == "bits_per_byte"
    } == {
        (tmp_path.name, 1.5),
        (f"{tmp_path.name} at step 0", 8.5),
    }


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '[{"measure": "m", "split": "s", "of": "o"}]',
        '[{"measure": "m", "split": "s", "of": "o", "value": "high"}]',
        '[{"measure": "m", "split": "s", "of": 3, "value": 1}]',
        '[{"measure": "m", "split": "s", "of": "o", "value": NaN}]',
        "[",
    ],
)
def test_a_file_that_is_not_understood_is_refused_by_name(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError, match=r"scores\.json") as caught:
        read_scores(tmp_path)
    assert caught.value.remedy


def test_a_part_of_a_split_is_not_recorded(capsys):
    with pytest.raises(SystemExit):
        evaluate.main(["gpt-mini", "--data", "x.txt", "--limit", "3", "--record", "valid"])
    assert "whole split" in capsys.readouterr().err


def test_shipped_models_have_a_score_of_their_own_and_a_baseline():
    for folder in filter(lambda path: (path / "config.json").is_file(), shipped_folder().iterdir()):
        scores = read_scores(folder)
        own = {(score.measure, score.split) for score in scores if score.subject == folder.name}
        others = {(score.measure, score.split) for score in scores if score.subject != folder.name}
        assert own & others, folder.name
