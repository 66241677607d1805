"""Find heads over a corpus: the rows and scores that ship, the scatter of all heads, and a file that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest
from test_find_kinds import TOY
from workspace_pages import again, page, said

from core.analysis.heads.corpus import MEAN, CorpusRow, head_corpus
from core.analysis.heads.corpus_file import ModelCorpus, Source, shipped_corpus
from core.analysis.heads.pattern_distance import compare_patterns
from core.data.texts import Example
from core.reading import corpus_jobs
from core.reading.corpus_jobs import CorpusProgress
from core.training.recipe import recipes
from viz.number_text import number, signed
from viz.workspace.find import corpus, pool, scatter


@pytest.fixture
def shipped() -> ModelCorpus:
    found = shipped_corpus("induction-tiny")
    assert found is not None
    return found


def by_corpus(**link: str) -> AppTest:
    return page("find", **TOY, find__by="corpus", **link)


def notes(test: AppTest, kind: str = "caption") -> str:
    return " ".join(one.value for one in getattr(test, kind)).replace("\\", "")


def test_a_head_has_an_address_with_its_strongest_rows_and_controls(shipped):
    heads, test = shipped.kinds["causal"], by_corpus(layer="1", head="0")
    tables = [one.value for one in test.markdown if "from → to" in one.value]
    for table, rows in zip(tables, (heads.strongest[1][0], heads.deciles[1][0]), strict=True):
        assert table.count("\n") == len(rows) + 1
    strongest = heads.strongest[1][0][0]
    assert f"**{strongest.query_token}**" in tables[0] and f"{strongest.weight:.0%}"[:-1] in tables[0]
    writes = heads.writes[1][0] if heads.writes else None
    assert writes and heads.effect is not None
    for one in writes.rows[0]:
        assert f"{one.word}\u00a0:gray[:small[{signed(one.added, '+.1f')}]]" in tables[0]
    raised = next(one.value for one in test.markdown if "Words that it raises most" in one.value)
    assert f"{writes.raised[0].word}\u00a0:gray[:small[{signed(writes.raised[0].added, '+.2f')}]]" in raised
    assert f"In {writes.copies} of 8 rows" in notes(test)
    scores = test.dataframe[0].value.set_index("measure")
    for name, table in heads.measures.items():
        row = scores.loc[scatter.MEASURES[name]]
        controls = [heads.controls[control][name] for control in ("shuffled", "untrained")]
        wanted = [each[1, 0, MEAN] for each in (table, *controls)]
        assert row[["mean", "shuffled", "untrained"]].tolist() == pytest.approx(wanted, abs=6e-4)
    assert states(said(test), "L1.H0", "32", f"{heads.measures['strongest'][1, 0, MEAN]:.2f}")
    assert f"{signed(heads.effect[1, 0], '.3f')} nats per token" in said(test)


def test_a_corpus_is_taken_along_and_two_heads_stand_side_by_side(shipped):
    test = by_corpus(layer="1", head="0")
    test.session_state["fold:find.take"] = True
    assert any("HeadVis" in button.label for button in again(test).download_button)
    test.session_state["fold:find.take"] = False
    test.selectbox[0].select_index(0)
    assert "L0.H0 on 32 passages" in said(again(test))
    test.query_params["find.beside"] = "induction-tiny"
    row = again(test).dataframe[0].value.set_index("measure").loc["induction head"]
    own, other = shipped.kinds["causal"].measures["induction"][0, :2, MEAN]
    assert row[["mean", "L0.H1", "difference"]].tolist() == pytest.approx([own, other, own - other], abs=1e-3)


def test_the_scatter_has_every_head_between_two_measures(shipped):
    test = page("find", **TOY, find__by="scatter", find__x="layer", find__y="distance")
    table = shipped.kinds["causal"].measures["distance"][..., MEAN]
    place = np.unravel_index(table.argmax(), table.shape)
    most = f"L{place[0]}.H{place[1]} ({number(table.max(), 3)})"
    assert states(said(test), "“mean distance, tokens”", most)
    survey = pool.head_survey.survey("induction-tiny")["causal"]
    trained, bare = scatter.axes(survey, None, shipped, "causal")
    assert trained.keys() >= {"layer", "strongest", "effect"} and "strongest" in bare
    assert np.array_equal(trained["layer"], [[0, 0], [1, 1]])


def test_a_broken_file_is_refused_and_the_page_works_without(monkeypatch, tmp_path):
    path = tmp_path / "induction-tiny.json.gz"
    path.write_bytes(b"no gzip")
    monkeypatch.setattr(pool, "corpus_path", lambda _: path)
    monkeypatch.setattr("core.analysis.heads.corpus_file.corpus_path", lambda _: path)
    assert "induction-tiny.json.gz is broken" in notes(by_corpus(), "info")
    assert "induction head" in said(page("find", **TOY, find__by="scatter", find__y="induction"))


def test_lines_of_the_visitors_own_take_the_place_of_the_shipped_passages(monkeypatch, tmp_path):
    monkeypatch.setattr(pool, "corpus_path", lambda _: tmp_path / "none.json.gz")
    assert "no corpus" in notes(by_corpus(), "info")
    lines = ["abcdefghabcdefgh", "hgfedcbahgfedcba"]
    found = head_corpus(pool.model_run.open_model("induction-tiny"), lines)
    own = ModelCorpus((Source("lines of yours", 2, ""),), found, texts=tuple(map(Example, lines)))
    standing = CorpusProgress(corpus=own)
    monkeypatch.setattr(corpus_jobs.CorpusJobs, "progress", lambda *_: standing)
    test = by_corpus()
    assert states(notes(test), "2 passages", "2 lines")
    assert "untrained" not in test.dataframe[0].value.columns
    assert "Words that it raises most" in said(test)
    standing = CorpusProgress(problem="Too few.")
    assert "Too few." in notes(by_corpus(), "info")


def test_tokens_are_never_markup():
    row = CorpusRow(3, 0.9, 4, 2, "<b>", (1, 2, 4), ("[x](http://a)", "|*y*", "<b>"), (0.01, 0.9, 0.05))
    table = corpus.rows_table([row])
    assert "[x](" not in table and "*y*" not in table and table.count("…") == 2
    assert table.splitlines()[2].replace("\\|", "").count("|") == 4
    assert 'background="rgba(91, 106, 222, 0.63)"' in table


@pytest.mark.slow
def test_a_step_of_the_training_is_beside_the_head_on_the_same_texts():
    names = ("induction-tiny", "induction-tiny at step 0")
    test = by_corpus(layer="1", head="0", find__beside=names[1])
    models = [pool.model_run.open_model(name) for name in names]
    examples = list(recipes()["induction-tiny"].examples())
    own, early = (
        head_corpus(model, examples)["causal"].measures["induction"][1, 0, MEAN] for model in models
    )
    row = test.dataframe[0].value.set_index("measure").loc["induction head"]
    columns = ["mean", "L1.H0 at step 0", "difference"]
    assert row[columns].tolist() == pytest.approx([own, early, own - early], abs=1.5e-3)
    assert own > 0.9 and early < 0.2 and "the same 32 texts" in notes(test)
    first, second = (model.run(TOY["text"]).attention("causal", by="word").weights[1, 0] for model in models)
    bits = compare_patterns(first, second, np.tril(np.ones(first.shape, dtype=bool))).bits
    assert f"Jensen-Shannon divergence {bits:.2f} bits" in notes(test)
