"""Toy tasks: nothing tested is ever trained on, tokenizers read what a visitor types, recipes begin, models are measured."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from deep import deep

import core
from core.analysis.heads.head_survey import survey_heads
from core.checkpoints import open_model, steps_of
from core.checkpoints.history import steps
from core.data import tasks
from core.data.grammar import split_of
from core.errors import InputError
from core.model import Model
from core.models import Batch, families
from core.scoring import copying, episodes, induction, prompts, spelling
from core.text import Tokenizer
from core.tools import evaluate, train
from core.training.loop import engine
from core.training.recipe import recipes, spaced_steps
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


def texts_of(task, batch) -> list[str]:
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
    task = recipes()[name].prepare(tmp_path, tmp_path, 0, CPU)
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
    recipe = replace(recipes()[name], keep_at=kept, warm_up=2)
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


# ---------------- What is measured of models of toy tasks: by length, by whole answers, by heads; and the command that says it.


class Planted(torch.nn.Module):
    """Two layers of two heads: L1.H0 looks where the first copy went on, the others evenly at everything before."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, batch: Batch, tap) -> torch.Tensor:
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

    def __init__(self, rows: list[list[int]]):
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
    drawn = []

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
