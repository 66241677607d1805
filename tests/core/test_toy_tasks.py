"""Toy tasks: nothing tested is ever trained on, tokenizers read what a visitor types, recipes begin, models are measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from deep import deep

from core.checkpoints import open_model, steps_of
from core.checkpoints.history import steps
from core.data import tasks
from core.data.grammar import split_of
from core.model import Model
from core.models import families
from core.scoring import induction
from core.text import Tokenizer
from core.tools import evaluate, train
from core.training.loop import engine
from core.training.recipe import Recipe, recipes, spaced_steps
from core.training.recipes import copiers, gpt_mini, gpt_twin

CPU = torch.device("cpu")

COPIERS = [f"copy-{cell}{looks}" for cell in ("rnn", "lstm", "gru") for looks in ("", "-attention")]

DRAWN = ["induction-tiny", "prompt-tiny", *COPIERS]


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """Enough strings to see what happens."""
    monkeypatch.setattr(copiers, "N_TRAIN", 200)
    monkeypatch.setattr(copiers, "N_VALID", 16)


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_model(name: str, folder: Path) -> Model:
    """A model of a recipe before its first step, weights large enough to differ from sign to sign."""
    recipe = recipes()[name]
    task = recipe.prepare(folder, folder, 0, CPU)
    network = families()[recipe.family].network(recipe.config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return Model(name, families()[recipe.family], recipe.config, network, task.tokenizer)


def test_the_same_generator_draws_the_same_and_another_one_others():
    for draw in (
        lambda r: tasks.sample_question(r, 5, "train"),
        lambda r: tasks.sample_string(r, "abcdef", 7, "test"),
        lambda r: tasks.sample_repeat(r, 9, "train"),
    ):
        assert draw(rng()) == draw(rng()) != draw(rng(4))


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_string_is_of_its_split_by_its_own_hash(split):
    draw = rng()
    for _ in range(200):
        assert split_of(tasks.sample_string(draw, "abc", 5, split)) == split
        asked, answer = tasks.sample_question(draw, 4, split)
        task, text = asked.removesuffix(" =").split(": ")
        assert split_of(text) == split
        assert len(text) == 4
        assert answer == {"copy": text, "reverse": "".join(reversed(text)), "upper": text.upper()}[task]
        row, second = tasks.sample_repeat(draw, 6, split)
        assert row[second:] == row[second - 6 : second]
        assert split_of(row[second:]) == split
        assert len(set(row[:second])) == second, "so only one place tells how it goes on"


@pytest.mark.slow
def test_every_length_has_strings_of_both_splits():
    for n in tasks.COPY_LENGTHS:
        assert tasks.sample_strings(3, rng(), tasks.COPY_LETTERS, n, "test")
        assert not set(tasks.sample_strings(50, rng(), tasks.COPY_LETTERS, n, "train")) & set(
            tasks.sample_strings(50, rng(), tasks.COPY_LETTERS, n, "test")
        )
    with pytest.raises(ValueError, match="no string of 1 symbols"):
        tasks.sample_string(rng(), "a", 1, "test" if split_of("a") == "train" else "train")


def test_lengths_are_all_drawn_and_second_copies_begin_anywhere():
    draw = rng()
    drawn = [tasks.sample_length(draw, tasks.REPEAT_LENGTHS) for _ in range(600)]
    assert set(drawn) == set(tasks.REPEAT_LENGTHS)
    assert drawn.count(3) > 3 * drawn.count(24)
    assert {tasks.sample_repeat(draw, 7, "train")[1] - 7 for _ in range(200)} == set(tasks.BEFORE)
    longest = max(tasks.BEFORE) + 2 * max(tasks.REPEAT_LENGTHS)
    assert longest <= recipes()["induction-tiny"].config.n_ctx
    assert max(induction.OFFSETS) in tasks.REPEAT_LENGTHS


def test_steps_to_keep():
    assert spaced_steps(5, 1000) == (0, 1, 10, 100, 1000)
    for made, n in ((recipes()["induction-tiny"], 16), (recipes()["gpt-twin"], 12)):
        assert len(set(made.keep_at)) == n
        assert (made.keep_at[0], made.keep_at[-1]) == (0, made.steps)


def tokenizer_of(name: str, folder: Path) -> Tokenizer:
    return recipes()[name].prepare(folder, folder, 0, CPU).tokenizer


@pytest.mark.parametrize(
    ("name", "typed", "tokens", "text"),
    [
        ("prompt-tiny", "copy: abC =", ["copy", ":", "a", "b", "C", "="], "copy:abC="),
        ("prompt-tiny", " upper:a b c=", ["upper", ":", "a", "b", "c", "="], "upper:abc="),
        ("prompt-tiny", "reverse: copy", ["reverse", ":", "c", "o", "p", "y"], "reverse:copy"),
        ("copy-gru", "b a d", ["b", "a", "d"], "bad"),
        ("copy-gru-attention", "bad\n", ["b", "a", "d"], "bad"),
        ("induction-tiny", "x1 x1", ["x", "1", "x", "1"], "x1x1"),
    ],
)
def test_what_is_typed_is_read_sign_by_sign(tmp_path, name, typed, tokens, text):
    tokenizer = tokenizer_of(name, tmp_path)
    encoded = tokenizer.encode(typed)
    assert list(encoded.tokens) == tokens
    assert [typed[slice(*span)] for span in encoded.spans] == tokens
    assert tokenizer.decode(encoded.ids) == text
    written, again = tokenizer.decode_with_spans(encoded.ids)
    assert (written, [written[slice(*span)] for span in again.spans]) == (text, tokens)


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", DRAWN)
def test_other_signs_are_the_unknown_one_and_every_id_has_a_row(tmp_path, name):
    tokenizer = tokenizer_of(name, tmp_path)
    assert set(tokenizer.encode("é🎉<end>?").tokens) <= {"<unk>", "e", "n", "d"}
    assert tokenizer.encode("é").tokens == ("<unk>",)
    assert tokenizer.encode("").ids == tokenizer.encode(" \n").ids == ()
    assert len(tokenizer) == recipes()[name].config.n_vocab
    random_model(name, tmp_path).run("né ab ä")


def test_several_recipes_of_one_module_are_found():
    assert set(COPIERS) <= set(recipes())
    without, attends = recipes()["copy-lstm"].config, recipes()["copy-lstm-attention"].config
    assert (without.attends, attends.attends) == (False, True)
    assert replace(attends, attention="none") == without


def texts_of(task: Any, batch: Any) -> list[str]:
    """The strings behind a batch: of a copier's sources, a question's middle, a row's second half."""
    inputs = batch[0]
    if inputs.source is not None:
        return [task.tokenizer.decode(ids) for ids in inputs.source.tolist()]
    rows = [
        task.tokenizer.decode([ids[0], *wanted])
        for ids, wanted in zip(inputs.ids.tolist(), batch[1].tolist(), strict=True)
    ]
    if ":" in rows[0]:
        return [row.split(":")[1].split("=")[0] for row in rows]
    known = batch[2].sum(1).tolist()
    return [row[len(row) - n - 1 :] for row, n in zip(rows, known, strict=True)]


@pytest.mark.parametrize("name", ["induction-tiny", "prompt-tiny", "copy-rnn"])
def test_batches_hold_strings_of_the_training_and_checks_others(tmp_path, name):
    task: Any = recipes()[name].prepare(tmp_path, tmp_path, 0, CPU)
    assert {split_of(text) for text in texts_of(task, task.batch(0)[0])} == {"train"}
    held_out = task.valid if name != "copy-rnn" else task.valid[0]
    assert {split_of(text) for text in texts_of(task, held_out)} == {"test"}
    assert (
        texts_of(task, task.batch(5)[0])
        == texts_of(task, task.batch(5)[0])
        != texts_of(task, task.batch(6)[0])
    )


def test_of_a_row_what_cannot_be_known_does_not_count(tmp_path):
    task = recipes()["induction-tiny"].prepare(tmp_path, tmp_path, 0, CPU)
    (inputs, wanted, counts), _ = task.batch(0)
    for row, known in zip(torch.cat((inputs.ids[:, :1], wanted), 1).tolist(), counts.tolist(), strict=True):
        places = [place + 1 for place, yes in enumerate(known) if yes]
        n = len(places) + 1
        assert [row[place] for place in places] == [row[place - n] for place in places]


@pytest.mark.parametrize("name", deep(DRAWN, list(DRAWN)[:1]))
def test_a_recipe_begins_and_what_it_saves_is_measured(tmp_path, monkeypatch, name):
    (tmp_path / "work").mkdir()
    kept = (0, 2) if name == "induction-tiny" else ()
    recipe: Recipe = replace(recipes()[name], keep_at=kept, warm_up=2)
    task = recipe.prepare(tmp_path, tmp_path / "work", 0, CPU)
    outcome = engine.train(recipe, task, engine.Plan(work=tmp_path / "work", steps=2, quiet=True), CPU)
    assert outcome.steps == 2
    assert outcome.log[-1]["valid_nats"] < 6
    train.save(outcome, recipe, tmp_path / "work", tmp_path / "out", 0, [])
    made = open_model(tmp_path / "out" / name)
    found = evaluate.evaluate(made, limit=1)
    assert found["items"] >= 6
    assert steps(tmp_path / "out" / name) == kept
    assert steps_of("no such model") == ()
    if kept:
        early = open_model(tmp_path / "out" / name, step=0)
        assert early.name == "induction-tiny at step 0"
        assert evaluate.evaluate(early, limit=1)["induction_score"] < 0.2


def test_the_twin_reads_what_its_sister_reads(tmp_path, monkeypatch):
    asked = []

    def prepare(data: Path, work: Path, seed: int, device: torch.device, batch_tokens: int) -> str:
        asked.append((data, work, seed, batch_tokens))
        (work / "tokenizer.json").write_text("{}")
        return "windows"

    monkeypatch.setattr(gpt_mini, "prepare", prepare)
    work = tmp_path / "gpt-twin"
    work.mkdir()
    assert gpt_twin.prepare(Path("data"), work, 7, CPU) == "windows"
    assert asked == [(Path("data"), tmp_path / "gpt-mini", 7, gpt_twin.BATCH_TOKENS)]
    assert (work / "tokenizer.json").read_text() == "{}"
    assert gpt_twin.RECIPE.config.n_vocab == gpt_mini.RECIPE.config.n_vocab
    made = gpt_twin.RECIPE
    n_weights = sum(weight.numel() for weight in families()["gpt"].network(made.config).parameters())
    assert 2 * n_weights * (len(made.keep_at) + 1) < 9.6e6  # the tokenizer is 0.3 MB
