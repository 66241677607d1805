"""Heads over the battery: linked words and their control by hand, heads.json, and that what ships was measured."""

from __future__ import annotations

import json
import time
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from letters_model import PROTEINS, acids, model

import core
import core.serving.engine
from core.analysis.attention import measures
from core.analysis.heads import head_survey
from core.analysis.heads.habits import NOT_NAMED, HeadHabits, mean_scores
from core.analysis.heads.head_file import FILE, METHOD, read_heads, write_heads
from core.analysis.heads.head_survey import (
    UNREAD,
    average_results,
    survey_steps,
    survey_texts,
    with_readability,
)
from core.checkpoints.manifest import read_manifest, shipped_folder
from core.data.readable import unknown_share
from core.data.texts import Example, Sentence, texts
from core.errors import InputError
from core.models import families
from core.reading import surveys
from core.reading.surveys import SurveyProgress, Surveys
from core.run import Attention
from core.serving.engine import Engine, Listing
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe, learn_word_list, learn_wordpiece
from core.training.recipe import untrained

TEXT = "Why did the fox run?"
WORDS = ("Why", "did", "the", "fox", "run", "?")
ASKED = Sentence("quest-x", "questions", TEXT, ((0, 5),), "", "")
TWICE = Sentence("rep-x", "repetitions", "a b c a b", ((0, 3), (1, 4)), "", "")
FOLDERS = [folder for folder in sorted(shipped_folder().iterdir()) if (folder / "config.json").is_file()]


def attention(pattern, words=WORDS):
    pattern = np.asarray(pattern, dtype=np.float32)[None, None]
    allowed = np.broadcast_to(np.tril(np.ones(pattern.shape[2:], dtype=bool)), pattern.shape)
    return Attention("causal", pattern, words, words, allowed, ("p",))


def heads_of(rows):
    return HeadHabits(
        mean_scores([scores for scores, _ in rows]),
        len(rows),
        mean_scores([controls for _, controls in rows]),
    )


def test_what_a_linked_word_gets_anyway_by_hand():
    pattern = np.tril(np.full((6, 6), 0.1))
    pattern[5, 0], pattern[2, 0], pattern[0, 0] = 0.9, 0.5, 1.0
    one = attention(pattern)
    assert measures.alignment(one.weights, ((0, 5),))[0, 0] == pytest.approx(0.9)
    assert measures.alignment_control(one.weights, one.allowed, ((0, 5),))[0, 0] == pytest.approx(
        (0.1 + 0.5 + 0.1 + 0.1) / 4
    )
    two = ((0, 5), (2, 5))
    assert measures.alignment_control(one.weights, one.allowed, two)[0, 0] == pytest.approx(
        (0.1 + 0.5 + 0.1 + 0.1) / 4 + (0.1 + 0.1) / 2
    )


def test_only_the_right_word_looking_makes_a_habit_of_linked_words():
    asks = np.tril(np.full((6, 6), 0.05)) + np.eye(6) * 0.2
    asks[5, 0] = 0.8
    found = heads_of([head_survey.score_sentence(ASKED, attention(asks))])
    assert found.scores["questions"][0, 0] == pytest.approx(0.8) and found.controls["questions"][
        0, 0
    ] == pytest.approx(0.05)
    assert found.habit(0, 0) == "questions" and found.score(0, 0) == pytest.approx(0.8)
    first = np.zeros((6, 6))
    first[:, 0] = 1
    plain = Sentence("prev-x", "previous-word", TEXT, (), "", "")
    rests = heads_of([head_survey.score_sentence(row, attention(first)) for row in (ASKED, plain)])
    assert rests.scores["questions"][0, 0] == 1 and rests.habit(0, 0) == "first"
    assert (
        heads_of([head_survey.score_sentence(ASKED, attention(first))]).habit(0, 0) == "mixed"
    )  # it gives as much to whoever looks


def test_of_a_repetition_the_same_word_and_the_one_behind_it():
    pattern = np.zeros((5, 5))
    pattern[3, 0], pattern[4, 1], pattern[3, 1], pattern[4, 2] = 0.2, 0.4, 0.7, 0.5
    scores, controls = head_survey.score_sentence(TWICE, attention(pattern, tuple("abcab")))
    assert scores["duplicate"][0, 0] == pytest.approx(0.3) and scores["induction"][0, 0] == pytest.approx(0.6)
    assert controls["duplicate"][0, 0] == pytest.approx((0.0 + (0.0 + 0.7) / 2) / 2)


def test_a_shuffled_sentence_is_a_control_and_no_score():
    row = Sentence("shuf-x", "shuffled", TEXT, (), "quest-x", "")
    scores, controls = head_survey.score_sentence(row, attention(np.eye(6)))
    assert scores == {} and set(controls) == {"previous", "itself", "first"} and controls["itself"][0, 0] == 1


def test_heads_json_is_read_as_it_was_written(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    rng = np.random.default_rng(0)
    made = {
        "causal": HeadHabits(
            {"first": rng.random((2, 3)), "spread": rng.random((2, 3))}, 7, {"first": rng.random((2, 3))}
        )
    }
    bare = {
        "causal": HeadHabits(
            {"first": np.zeros((2, 3)), "spread": np.ones((2, 3))}, 7, {"first": np.zeros((2, 3))}
        )
    }
    held = write_heads(tmp_path, made, bare, 0)
    for kind, tables in (("scores", made["causal"].scores), ("controls", made["causal"].controls)):
        for name, table in tables.items():
            np.testing.assert_allclose(getattr(held.trained["causal"], kind)[name], table, atol=6e-5)
    assert held.untrained["causal"].scores["spread"].min() == 1 and held.trained["causal"].n == 7
    assert held.matches(tmp_path)
    for reads_a_source, method, kept in ((False, 0, True), (True, 0, False), (True, METHOD, True)):
        write_heads(tmp_path, made, {}, 0, method=method)
        kinds = (SimpleNamespace(name="causal", n_layers=lambda _: 2),)
        spec = SimpleNamespace(has_source=reads_a_source, kinds_of=lambda _, all=kinds: all)
        model = SimpleNamespace(spec=spec, config=SimpleNamespace(n_heads=3))
        assert (surveys._read_saved(tmp_path, model) is not None) == kept
    (tmp_path / "model.safetensors").write_bytes(b"others")
    assert not held.matches(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda held: held.pop("weights"),
        lambda held: held["kinds"]["causal"]["untrained"].pop("scores"),
        lambda held: held["kinds"]["causal"]["trained"]["scores"].update(first=[[2.0]]),
        lambda held: held["kinds"]["causal"]["trained"]["scores"].update(first=[[0.1, 0.2]]),
        lambda held: held["kinds"]["causal"]["trained"]["scores"].update(first=["a"]),
        lambda held: held["kinds"]["causal"]["trained"]["scores"].pop("spread"),
    ],
)
def test_a_heads_json_that_is_not_understood_is_refused_by_name(tmp_path, change):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    one = {"causal": HeadHabits({"first": np.zeros((1, 1)), "spread": np.ones((1, 1))}, 1)}
    write_heads(tmp_path, one, one, 0)
    held = json.loads((tmp_path / FILE).read_text())
    change(held)
    (tmp_path / FILE).write_text(json.dumps(held))
    with pytest.raises(InputError, match=r"heads\.json") as caught:
        read_heads(tmp_path)
    assert "core.tools.survey" in caught.value.remedy


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_heads_of_shipped_models_were_measured_on_the_weights_that_ship(folder):
    held = read_heads(folder)
    if held is None:
        values = json.loads((folder / "config.json").read_text())
        family = families()[values.pop("family")]
        sizes = {part.name: values[part.name] for part in fields(family.config) if part.name in values}
        assert not family.kinds_of(family.config(**sizes)), (
            f"{family.name} has heads: run python -m core.tools.survey {folder.name}"
        )
        return
    assert held.weights == read_manifest(shipped_folder())[folder.name].files["model.safetensors"].sha256
    assert (folder / FILE).stat().st_size < 60_000
    for name, heads in held.trained.items():
        assert held.untrained[name].shape == heads.shape
        assert not {"previous", "spread"} & set(held.untrained[name].best_head_by_habit()) - {"spread"}, (
            "an untrained head has no habit"
        )


def test_the_untrained_copy_is_the_beginning_of_the_training():
    model = core.open_model("gpt-mini")
    copy = untrained(model)
    assert copy.config == model.config and copy.n_parameters == model.n_parameters
    name = "layers.0.self_attn.to_q.weight"
    first, again = copy.network.state_dict()[name], untrained(model).network.state_dict()[name]
    assert (first == again).all() and not np.allclose(first, model.network.state_dict()[name], atol=0.1)
    assert float(first.std()) == pytest.approx(0.6 * model.config.d_model**-0.5, rel=0.02)


# ---------------- Names of heads from texts that a model can read: ours where its tokenizer knows them, else the visitor's own.


LINES = 12
"""In place of 300."""
ENGLISH = [row.text for row in texts("heads_en")]


@pytest.fixture
def protein(monkeypatch):
    made = model("bert", "protein", acids())
    with Engine(
        opener={"protein": made}.__getitem__, listing=lambda: (Listing("protein", True, "", "bert"),)
    ) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        engine.open("protein")
        yield made


def ended(survey: Surveys, of, visitor: str) -> SurveyProgress:
    end = time.monotonic() + 60
    while not (found := survey.visitor_survey(of, visitor)).over and time.monotonic() < end:
        time.sleep(0.01)
    return found


@pytest.mark.parametrize(
    ("reads", "lines", "least", "most"),
    [
        (acids(), ENGLISH, 0.5, 1.0),
        (acids(), PROTEINS, 0.0, 0.0),
        (Tokenizer(learn_wordpiece(ENGLISH, 300)), ENGLISH, 0.0, 0.0),
        (Tokenizer(learn_wordpiece(ENGLISH, 300)), ["我有一辆白色的汽车"], 0.9, 1.0),
        (Tokenizer(learn_byte_level_bpe(ENGLISH, 300, ["<e>"])), ["我有", "हिन्दी"], 0.0, 0.0),
        (Tokenizer(learn_word_list(ENGLISH, 20)), ENGLISH, 0.2, 0.9),
        (acids(), [], 0.0, 0.0),
        (Tokenizer(learn_wordpiece(ENGLISH, 300)), ["\x00\x01 she"], 0.2, 0.8),
    ],
)
def test_the_share_of_tokens_that_say_nothing(reads, lines, least, most):
    assert least <= unknown_share(lines, reads) <= most


@pytest.mark.parametrize(("lines", "named"), [(ENGLISH, False), (PROTEINS, True), (["MKT", "the"], False)])
def test_texts_of_unknown_tokens_name_no_head(protein, lines, named):
    heads, share = with_readability(
        average_results([read() for read in survey_steps(protein, [Example(x) for x in PROTEINS])]),
        protein,
        lines,
    )
    (one,) = heads.values()
    assert one.readable == named == (share <= UNREAD)
    words = {one.label(*place) for place in np.ndindex(*one.shape)}
    assert (words == {NOT_NAMED}) != named
    assert all(one.habit(*place) == "mixed" for place in np.ndindex(*one.shape)) or named


@pytest.mark.parametrize("name", ["gpt-mini", "bert-mini", "translator-en-es"])
def test_shipped_models_can_read_the_survey(name):
    opened = core.open_model(name)
    heads, share = with_readability(
        {"self": HeadHabits({"spread": np.ones((1, 1))}, 1)}, opened, survey_texts(opened)
    )
    assert share <= UNREAD / 5 and heads["self"].readable


def test_a_visitors_texts_name_the_heads_for_this_visitor(protein):
    survey = Surveys()
    assert survey.visitor_survey(protein, "Ana") is None
    survey.name_on(protein, [*PROTEINS, "", "  "], "Ana")
    found = ended(survey, protein, "Ana")
    assert not found.problem and found.unread == 0
    (heads,) = found.heads.values()
    assert heads.n == len(PROTEINS) and heads.readable
    direct = average_results([read() for read in survey_steps(protein, [Example(line) for line in PROTEINS])])
    for name, scores in direct["self"].scores.items():
        np.testing.assert_array_equal(heads.scores[name], scores)
    assert survey.heads(protein, "Ana") == found.heads and survey.heads(protein, "Ben") is None
    survey.forget(protein, "Ana")
    assert survey.heads(protein, "Ana") is None


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "There is no text"),
        (["", " "], "There is no text"),
        ([*PROTEINS, "MK" * 3000], ""),
        ([PROTEINS[0]] * (LINES + 5), ""),
        (["\x00", PROTEINS[0]], ""),
        (["the cat sat"], ""),
    ],
)
def test_odd_texts_are_cut_left_out_or_refused_in_words(protein, monkeypatch, lines, says):
    monkeypatch.setattr("core.reading.surveys.LINES", LINES)
    survey = Surveys()
    survey.name_on(protein, lines, "")
    found = ended(survey, protein, "")
    assert says in found.problem and bool(found.problem) == bool(says)
    if not says:
        (heads,) = found.heads.values()
        assert heads.n == len([line for line in lines if line.strip()][:LINES])
        assert heads.readable == (lines != ["the cat sat"])


def test_a_newer_naming_ends_the_older(protein):
    survey = Surveys()
    survey.name_on(protein, [PROTEINS[0]] * 200, "Ana")
    survey.name_on(protein, PROTEINS[:2], "Ana")
    (heads,) = ended(survey, protein, "Ana").heads.values()
    assert heads.n == 2


def test_an_encoder_decoder_is_measured_on_what_it_writes_itself():
    made = model("t5", "titles", Tokenizer(learn_wordpiece(ENGLISH, 300), start=2, end=3, pad=0), tied=True)
    steps = survey_steps(made, translates=False)
    own = steps[-1]()["cross"][0]
    assert "aligner" not in own and "previous" not in own and "spread" in own
    ours = survey_steps(replace(made, name="ours"))[-1]()["cross"][0]
    assert "aligner" in ours
