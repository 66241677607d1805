"""Names of heads from texts that a model can read: ours where its tokenizer knows them, else the visitor's own."""

import time
from dataclasses import replace

import numpy as np
import pytest
from letters_model import PROTEINS, acids, model

import core
import core.serving.engine
from core.analysis.heads.habits import NOT_NAMED, HeadHabits
from core.analysis.heads.head_survey import (
    UNREAD,
    average_results,
    survey_steps,
    survey_texts,
    with_readability,
)
from core.data.readable import unknown_share
from core.data.texts import Example, texts
from core.reading.surveys import SurveyProgress, Surveys
from core.serving.engine import Engine, Listing
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe, learn_word_list, learn_wordpiece

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
