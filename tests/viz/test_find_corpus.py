"""Find heads over a corpus: the rows and scores that ship, the scatter of all heads, and a file that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
from shown_values import states
from test_find import page
from test_look_page import said

from core.analysis.heads.corpus import MEAN, CorpusRow, head_corpus
from core.analysis.heads.corpus_file import ModelCorpus, Source, shipped_corpus
from core.analysis.heads.pattern_distance import compare_patterns
from core.data.texts import Example
from core.reading import corpus_jobs
from core.reading.corpus_jobs import CorpusProgress
from core.training.recipe import recipes
from viz.number_text import number, signed
from viz.workspace.find import corpus, pool, scatter

TOY = {"model": "induction-tiny", "kind": "causal", "text": "7 k m x 2 q a 7 k m x 2"}


def test_a_head_has_an_address_with_its_strongest_rows_and_controls():
    found = shipped_corpus("induction-tiny")
    assert found is not None
    heads = found.kinds["causal"]
    test = page(**TOY, layer="1", head="0", **{"find.by": "corpus"})
    tables = [one.value for one in test.markdown if "from → to" in one.value]
    assert len(tables) == 2
    for table, rows in zip(tables, (heads.strongest[1][0], heads.deciles[1][0]), strict=True):
        assert table.count("\n") == len(rows) + 1
    strongest = heads.strongest[1][0][0]
    assert f"**{strongest.query_token}**" in tables[0] and f"{strongest.weight:.0%}"[:-1] in tables[0]
    writes = heads.writes[1][0] if heads.writes else None
    assert writes and all(
        f"{one.word}\u00a0:gray[:small[{signed(one.added, '+.1f')}]]" in tables[0] for one in writes.rows[0]
    )
    raised = next(one.value for one in test.markdown if "Words that it raises most" in one.value)
    assert f"{writes.raised[0].word}\u00a0:gray[:small[{signed(writes.raised[0].added, '+.2f')}]]" in raised
    assert f"In {writes.copies} of 8 rows" in " ".join(one.value for one in test.caption)
    scores = test.dataframe[0].value.set_index("measure")
    for name, table in heads.measures.items():
        row = scores.loc[scatter.MEASURES[name]]
        assert row["mean"] == pytest.approx(table[1, 0, MEAN], abs=6e-4)
        for control in ("shuffled", "untrained"):
            assert row[control] == pytest.approx(heads.controls[control][name][1, 0, MEAN], abs=6e-4)
    own = heads.measures["strongest"][1, 0, MEAN]
    assert states(said(test), "L1.H0", "32", f"{own:.2f}")
    assert heads.effect is not None and f"{signed(heads.effect[1, 0], '.3f')} nats per token" in said(test)
    test.session_state["fold:find.take"] = True
    test.run()
    assert any("HeadVis" in button.label for button in test.download_button)
    test.session_state["fold:find.take"] = False
    test.selectbox[0].select_index(0).run()
    assert "L0.H0 on 32 passages" in said(test) and not test.exception
    test.query_params["find.beside"] = "induction-tiny"
    test.run()
    pair = test.dataframe[0].value.set_index("measure")
    own, other = (heads.measures["induction"][0, number, MEAN] for number in (0, 1))
    row = pair.loc["induction head"]
    assert (row["mean"], row["L0.H1"], row["difference"]) == pytest.approx(
        (own, other, own - other), abs=1e-3
    )


def test_the_scatter_has_every_head_between_two_measures():
    test = page(**TOY, **{"find.by": "scatter", "find.x": "layer", "find.y": "distance"})
    found = shipped_corpus("induction-tiny")
    assert found is not None
    table = found.kinds["causal"].measures["distance"][..., MEAN]
    place = np.unravel_index(table.argmax(), table.shape)
    assert states(
        said(test), "“mean distance, tokens”", f"L{place[0]}.H{place[1]} ({number(table.max(), 3)})"
    )
    trained, bare = scatter.axes(pool.head_survey.survey("induction-tiny")["causal"], None, found, "causal")
    assert trained.keys() >= {"layer", "strongest", "effect"} and "strongest" in bare
    assert np.array_equal(trained["layer"], [[0, 0], [1, 1]])


def test_a_broken_file_is_refused_and_the_page_works_without(monkeypatch, tmp_path):
    path = tmp_path / "induction-tiny.json.gz"
    path.write_bytes(b"no gzip")
    monkeypatch.setattr(pool, "corpus_path", lambda _: path)
    monkeypatch.setattr("core.analysis.heads.corpus_file.corpus_path", lambda _: path)
    test = page(**TOY, **{"find.by": "corpus"})
    assert "induction-tiny.json.gz is broken" in " ".join(one.value for one in test.info)
    assert "induction head" in said(page(**TOY, **{"find.by": "scatter", "find.y": "induction"}))


def test_lines_of_the_visitors_own_take_the_place_of_the_shipped_passages(monkeypatch, tmp_path):
    monkeypatch.setattr(pool, "corpus_path", lambda _: tmp_path / "none.json.gz")
    test = page(**TOY, **{"find.by": "corpus"})
    assert "no corpus" in " ".join(one.value for one in test.info)
    found = head_corpus(pool.model_run.open_model("induction-tiny"), ["abcdefghabcdefgh", "hgfedcbahgfedcba"])
    texts = tuple(map(Example, ("abcdefghabcdefgh", "hgfedcbahgfedcba")))
    progress = CorpusProgress(corpus=ModelCorpus((Source("lines of yours", 2, ""),), found, texts=texts))
    monkeypatch.setattr(corpus_jobs.CorpusJobs, "progress", lambda *_: progress)
    test = page(**TOY, **{"find.by": "corpus"})
    assert states(" ".join(one.value for one in test.caption).replace("\\", ""), "2 passages", "2 lines")
    assert "untrained" not in test.dataframe[0].value.columns
    assert any("Words that it raises most" in one.value for one in test.markdown)
    monkeypatch.setattr(corpus_jobs.CorpusJobs, "progress", lambda *_: CorpusProgress(problem="Too few."))
    assert "Too few." in page(**TOY, **{"find.by": "corpus"}).info[0].value.replace("\\", "")


def test_tokens_are_never_markup():
    row = CorpusRow(3, 0.9, 4, 2, "<b>", (1, 2, 4), ("[x](http://a)", "|*y*", "<b>"), (0.01, 0.9, 0.05))
    table = corpus.rows_table([row])
    assert "[x](" not in table and "*y*" not in table and table.count("…") == 2
    assert table.splitlines()[2].replace("\\|", "").count("|") == 4
    assert 'background="rgba(91, 106, 222, 0.63)"' in table


@pytest.mark.slow
def test_a_step_of_the_training_is_beside_the_head_on_the_same_texts():
    other = "induction-tiny at step 0"
    test = page(**TOY, layer="1", head="0", **{"find.by": "corpus", "find.beside": other})
    assert not test.exception
    scores = test.dataframe[0].value.set_index("measure")
    examples = list(recipes()["induction-tiny"].examples())
    own, early = (
        head_corpus(pool.model_run.open_model(name), examples)["causal"].measures["induction"][1, 0, MEAN]
        for name in ("induction-tiny", other)
    )
    row = scores.loc["induction head"]
    assert (row["mean"], row["L1.H0 at step 0"], row["difference"]) == pytest.approx(
        (own, early, own - early), abs=1.5e-3
    )
    assert own > 0.9 and early < 0.2
    assert "the same 32 texts" in " ".join(one.value for one in test.caption)
    runs = [pool.model_run.open_model(name).run(TOY["text"]) for name in ("induction-tiny", other)]
    first, second = (run.attention("causal", by="word").weights[1, 0] for run in runs)
    bits = compare_patterns(first, second, np.tril(np.ones(first.shape, dtype=bool))).bits
    assert f"Jensen-Shannon divergence {bits:.2f} bits" in " ".join(one.value for one in test.caption)
