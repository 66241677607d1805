"""A visitor's own lines over all heads: measured behind the page, for this visitor, in turn; odd lines refused in words."""

from __future__ import annotations

import time

import letters_model
import numpy as np
import pytest

import core
from core.analysis.heads.corpus import SHUFFLED, UNTRAINED, head_corpus
from core.analysis.heads.corpus_writes import head_writes
from core.errors import InputError
from core.reading import bounds, corpus_jobs
from core.reading.corpus_jobs import CorpusJobs
from core.training.recipe import untrained


@pytest.fixture(scope="module")
def protein():
    return letters_model.model("bert", "protein", letters_model.acids())


@pytest.fixture(autouse=True)
def current(monkeypatch):
    monkeypatch.setattr("core.serving.engine.Engine.is_current", lambda *_: True)


def ended(jobs, model, visitor):
    while not (standing := jobs.progress(model, visitor)).over:
        time.sleep(0.01)
    return standing


def test_own_lines_give_what_a_direct_reading_gives(protein):
    jobs, lines = CorpusJobs(), [*letters_model.PROTEINS, "", "MK" * 3000]
    assert jobs.progress(protein, "Ana") is None
    jobs.begin(protein, lines, "Ana")
    found = ended(jobs, protein, "Ana")
    assert not found.problem and found.corpus is not None and found.corpus.n == 5
    heads = found.corpus.kinds["self"]
    parts = [
        bounds.slice_tokens(protein, line[: corpus_jobs.LETTERS], 0, corpus_jobs.TOKENS) for line in lines
    ]
    direct = head_corpus(protein, [part for part in parts if part], untrained(protein))["self"]
    assert heads.controls.keys() == {SHUFFLED, UNTRAINED}
    for own, other in (
        (heads.measures, direct.measures),
        *((heads.controls[name], direct.controls[name]) for name in heads.controls),
    ):
        for name, table in other.items():
            np.testing.assert_allclose(own[name], table, atol=1e-5)
    assert jobs.progress(protein, "Ben") is None
    jobs.forget(protein, "Ana")
    assert jobs.progress(protein, "Ana") is None


def test_a_newer_reading_ends_the_older_and_odd_lines_are_refused(protein, monkeypatch):
    monkeypatch.setattr(corpus_jobs, "LINES", 3)
    jobs = CorpusJobs()
    jobs.begin(protein, [letters_model.PROTEINS[0]] * 200, "Ana")
    jobs.begin(protein, [letters_model.PROTEINS[1]] * 5, "Ana")
    found = ended(jobs, protein, "Ana")
    assert found.corpus is not None and found.corpus.n == 3 and found.beyond == 2
    jobs.begin(protein, [" ", ""], "Ana")
    refused = ended(jobs, protein, "Ana")
    assert "There is no text to read" in refused.problem and refused.corpus is found.corpus
    jobs.begin(protein, [" "], "Ben")
    assert ended(jobs, protein, "Ben").corpus is None


@pytest.mark.slow
def test_lines_are_read_by_a_model_without_a_residual_stream_and_cut_at_the_context():
    recurrent, jobs = core.open_model("bahdanau-en-es"), CorpusJobs()
    jobs.begin(recurrent, ["The cat sleeps.", "word " * 200_000], "Ana")
    found = ended(jobs, recurrent, "Ana")
    assert not found.problem and found.corpus is not None and found.corpus.n == 2
    heads = found.corpus.kinds["alignment"]
    assert heads.n == 2 and heads.writes is None and len(found.corpus.texts[1].text) <= corpus_jobs.LETTERS
    with pytest.raises(InputError, match="does not reach a score of words"):
        head_writes(recurrent, found.corpus.texts, "alignment", heads, 0, 0)
