"""What is measured of models of toy tasks: by length, by whole answers, by heads; and the command that says it."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_toy_tasks import _few as _few  # the fixture
from test_toy_tasks import random_model, tokenizer_of

import core
from core.analysis.heads.head_survey import survey_heads
from core.data import tasks
from core.data.grammar import split_of
from core.errors import InputError
from core.model import Model
from core.models import Batch
from core.scoring import copying, episodes, induction, prompts, spelling
from core.text.learn import character_tokenizer
from core.tools import evaluate
from core.training.recipe import recipes
from core.training.recipes import induction_tiny, prompt_tiny


class Planted(torch.nn.Module):
    """Two layers of two heads: L1.H0 looks where the first copy went on, the others evenly at everything before."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, batch: Batch, tap: Any) -> torch.Tensor:
        ids = batch.ids[0]
        n = len(ids)
        evenly = torch.ones(n, n).tril() / torch.arange(1, n + 1)[:, None]
        behind = torch.roll(torch.tril(ids[:, None] == ids[None, :], diagonal=-1), 1, dims=1)
        planted = torch.where(behind.any(1, keepdim=True), behind.float(), evenly)
        for layer, heads in enumerate(((evenly, evenly), (planted, evenly))):
            tap(f"layer.{layer}.self_attn.pattern", torch.stack(heads)[None], "batch head query key")
        self.read = ids[planted.argmax(-1)]
        return torch.zeros(1, n, 1)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(self.read, 99)[None].float()


def test_the_induction_score_of_planted_heads(tmp_path):
    tokenizer = tokenizer_of("induction-tiny", tmp_path)
    model = SimpleNamespace(network=Planted(), tokenizer=tokenizer, config=SimpleNamespace(n_layers=2))
    weights, right = induction.one_row(model, "zabcabc", 4)
    assert right == 1.0
    np.testing.assert_allclose(weights, [[e := (1 / 5 + 1 / 6 + 1 / 7) / 3, e], [1.0, e]], rtol=1e-6)
    found = induction.measure(model, limit=2)
    assert (found["items"], found["best_head"], found["induction_score"], found["copied"]) == (
        12,
        "L1.H0",
        1.0,
        1.0,
    )
    assert set(found["induction_score_by_offset"].values()) == {1.0}


def test_accuracy_by_length_of_a_copier_that_forgets(monkeypatch):
    monkeypatch.setattr(copying, "translate", lambda _model, texts: [text[:30] for text in texts])
    found = copying.measure(None, limit=7)
    assert (found["token_accuracy"], found["exact_match"]) == (1.0, 1.0)
    assert found["token_accuracy_by_length"]["length 30"] == 1.0
    assert found["token_accuracy_by_length"]["length 60"] == 0.5
    assert found["exact_match_by_length"] == {f"length {n}": float(n <= 30) for n in copying.LENGTHS}
    assert found["exact_match_beyond"] == pytest.approx(2 / 5)
    assert max(copying.LENGTHS) == 4 * max(tasks.COPY_LENGTHS)


class Answering(torch.nn.Module):
    """Knows the next id of each row by heart; rows are told apart by their ids."""

    def __init__(self, rows: list[list[int]]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.rows = rows

    def forward(self, batch: Batch) -> torch.Tensor:
        found = torch.zeros(*batch.ids.shape, 99)
        for place, ids in enumerate(batch.ids.tolist()):
            for row in self.rows:
                if (
                    ids[: int(batch.real[place].sum())] == row[: int(batch.real[place].sum())]
                    or ids[:7] == row[:7]
                ):
                    ahead = row[1 : len(ids) + 1]
                    found[place, torch.arange(len(ahead)), torch.tensor(ahead)] = 1
        return found

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden


def test_an_answer_counts_whole_and_with_its_end(tmp_path):
    tokenizer = tokenizer_of("prompt-tiny", tmp_path)
    said = ["copy: abcd = abcd", "reverse: abcd = dcab", "copy: wxyz = wxyza"]
    rows = [[*tokenizer.encode(text).ids, tokenizer.end] for text in said]
    model = SimpleNamespace(network=Answering(rows), tokenizer=tokenizer)
    items = [("copy: abcd =", "abcd"), ("reverse: abcd =", "dcba"), ("copy: wxyz =", "wxyz")]
    assert prompts.correct_answers(model, items) == [True, False, False]
    asked = [SimpleNamespace(text=text, answers=(answer[0],)) for text, answer in items]
    assert episodes.correct_answers(model, asked) == [True, True, True]
    asked[1].answers = ("a",)
    assert episodes.correct_answers(model, asked) == [True, False, True]


@pytest.mark.parametrize("name", ["prompt-tiny", "copy-lstm"])
def test_whole_answers_are_what_greedy_decoding_writes(tmp_path, name):
    """Where guesses are those of a random model: most are wrong, so right answers are taken from the model itself."""
    model = random_model("prompt-tiny", tmp_path)
    written = {}
    for asked in ("copy: ab =", "upper: xyzw ="):
        *_, last = core.decode(model, asked, core.Greedy(), max_new_tokens=3)
        written[asked] = last.text.removeprefix(asked.replace(" ", ""))
    ends = {asked: prompts.correct_answers(model, [(asked, answer)])[0] for asked, answer in written.items()}
    for asked, answer in written.items():
        *_, last = core.decode(model, asked, core.Greedy(), max_new_tokens=9)
        assert ends[asked] == (last.text.removeprefix(asked.replace(" ", "")) == answer)


def run(monkeypatch, capsys, model: Model, *argv: str) -> tuple[int, str, str]:
    monkeypatch.setattr(
        evaluate,
        "open_model",
        lambda _name, step=None: (
            model if step is None else replace(model, name=f"{model.name} at step {step}")
        ),
    )
    code = evaluate.main([model.name, *argv, "--device", "cpu"])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("prompt-tiny", {"exact_match", "exact_match_by_task"}),
        (
            "induction-tiny",
            {"induction_score", "best_head", "copied", "induction_score_by_offset", "copied_by_offset"},
        ),
        (
            "copy-gru-attention",
            {"token_accuracy", "exact_match_beyond", "token_accuracy_by_length", "exact_match_by_length"},
        ),
    ],
)
def test_the_command_measures_without_a_file_and_twice_the_same(monkeypatch, capsys, tmp_path, name, said):
    model = random_model(name, tmp_path)
    first, again = (run(monkeypatch, capsys, model, "--limit", "1") for _ in range(2))
    assert first[0] == 0
    found = json.loads(first[1])
    assert said <= set(found)
    assert found["data"] == "drawn"
    assert {**found, "seconds": 0} == {**json.loads(again[1]), "seconds": 0}


@pytest.mark.parametrize(
    ("module", "items"), [(prompts, "correct_answers"), (copying, "translate"), (episodes, "correct_answers")]
)
def test_another_seed_draws_other_items(monkeypatch, module, items):
    drawn: list[object] = []

    def note(_model, texts):
        drawn.extend(texts)
        return [""] * len(texts) if items == "translate" else [True] * len(texts)

    monkeypatch.setattr(module, items, note)
    sets = []
    for seed in (0, 0, 1):
        module.measure(None, limit=2, seed=seed)
        sets.append(tuple(map(str, drawn)))
        drawn.clear()
    assert sets[0] == sets[1] != sets[2]


def test_every_recipe_that_draws_its_items_takes_a_seed():
    own = {name: recipe.measure for name, recipe in recipes().items() if recipe.measure}
    assert {"speller", "snail-recall-attention", "prompt-tiny", "captioner", "induction-tiny"} <= own.keys()
    assert [
        name for name, measure in own.items() if "seed" not in inspect.signature(measure).parameters
    ] == []
    assert spelling.sample_items(3, seed=0) == spelling.sample_items(3) != spelling.sample_items(3, seed=1)


@pytest.mark.parametrize("argv", [("--seed", "-1"), ("--seed", "3", "--data", "own.txt")])
def test_a_seed_that_draws_nothing_is_refused(monkeypatch, capsys, tmp_path, argv):
    code, out, err = run(monkeypatch, capsys, random_model("prompt-tiny", tmp_path), *argv)
    assert (code, out) == (2, "")
    assert "Leave --seed out" in err


def test_a_record_names_step_and_length(monkeypatch, capsys, tmp_path):
    model = random_model("copy-rnn", tmp_path)
    monkeypatch.setattr(evaluate.store, "shipped_folder", lambda: tmp_path)
    monkeypatch.setattr(evaluate.store, "write_manifest", lambda _folder: {})
    monkeypatch.setattr(copying, "EACH", 1)
    (tmp_path / "copy-rnn").mkdir()
    for step in ((), ("--step", "0")):
        assert run(monkeypatch, capsys, model, "--record", "unseen strings", *step)[0] == 0
    rows = json.loads((tmp_path / "copy-rnn" / "scores.json").read_text())
    named = {(row["measure"], row["split"], row["of"]) for row in rows}
    for of in ("copy-rnn", "copy-rnn at step 0"):
        assert {
            ("token_accuracy", "unseen strings", of),
            ("token_accuracy_by_length, length 20", "unseen strings", of),
        } <= named


def test_a_model_that_draws_nothing_asks_for_a_file(monkeypatch, capsys, tmp_path):
    model = replace(random_model("prompt-tiny", tmp_path), name="gpt-mini")
    code, out, err = run(monkeypatch, capsys, model)
    assert (code, out) == (2, "")
    assert "Give --data FILE" in err
    assert "prompt-tiny" in err
    with pytest.raises(InputError, match="nothing to measure"):
        evaluate.evaluate(replace(model, name="no such recipe"))


def joined(text: str) -> str:
    """The string of an example: what a training might draw."""
    shown = text.partition(":")[2].partition("=")[0] or text
    return shown.replace(" ", "")


@pytest.mark.parametrize("name", ["copy-gru-attention", "prompt-tiny", "induction-tiny"])
def test_examples_are_held_out_and_read_sign_by_sign(tmp_path, name):
    model, examples = random_model(name, tmp_path), recipes()[name].examples()
    assert len(examples) == len(set(examples)) == 32
    texts = [joined(example.text) for example in examples]
    if name == "induction-tiny":
        texts = [
            text[-n:] for text in texts for n in range(1, len(text) // 2 + 1) if text.endswith(text[-n:] * 2)
        ]
    assert {split_of(text) for text in texts} == {"test"}
    for example in examples[:4]:
        run = model.run(example.text, target=example.target)
        assert model.tokenizer.encode("<unk>", special=True).ids[0] not in run.ids
        if run.kinds:
            assert run.attention(by="word").keys == tuple(example.text.replace(":", " :").split())


def test_a_copier_is_surveyed_on_its_own_strings(tmp_path):
    """The aligner's score is the mean of its diagonal, each row the sign that is written."""
    model, own = random_model("copy-gru-attention", tmp_path), recipes()["copy-gru-attention"].examples()[:3]
    found = survey_heads(model, own)["alignment"]
    assert found.n == 3
    by_hand = []
    for example in own:
        run = model.run(example.text, target=example.target)
        weights = run.attention("alignment").weights[0]
        by_hand.append(np.mean([weights[0, i, i] for i in range(10)]))
    assert found.scores["aligner"].shape == (1, 1)
    assert found.scores["aligner"][0, 0] == pytest.approx(np.mean(by_hand), abs=1e-6)
