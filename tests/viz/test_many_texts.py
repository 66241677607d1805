"""The page Many texts: its first screen, its views, the text in the box, texts of the visitor's own, and what cannot be read."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest
from test_look_page import said

import core
from core.errors import InputError
from core.reading import data_set_jobs
from core.reading.data_set_jobs import DataSetProgress
from viz.labels import head_name
from viz.number_text import number
from viz.workspace.many_texts import data, own_texts
from viz.workspace.many_texts import page as many_texts
from viz.workspace.many_texts.data import HEAD, LOSS, SESSION_TEXTS, SortKey, TextSet
from viz.workspace.shared.text_file import TextFile

TOY = {"model": "induction-tiny"}
TEXTS = ["abcabcabc", "aabbccdd", "cbacba"]


def page(texts: TextSet | None = None, **link: str) -> AppTest:
    test = AppTest.from_string(
        "from viz.shell import errors, pages, state\n"
        "with state.visit('many_texts'), errors.guard():\n    pages.find('many_texts').page()",
        default_timeout=120,
    )
    for name, value in link.items():
        test.query_params[name] = value
    if texts:
        test.session_state[SESSION_TEXTS] = texts
    test.run()
    assert not test.exception
    return test


def own_text_set(*texts: str) -> TextSet:
    return own_texts.from_box("\n".join(texts))


def test_texts_are_sorted_by_loss_and_the_one_in_the_box_is_beside_them():
    test = page(own_text_set(*TEXTS), **TOY, text="aabbccdd")
    model = core.open_model("induction-tiny")
    losses = core.over(model, TEXTS, progress=False).values
    frame = test.dataframe[0].value
    assert frame["text"].tolist() == [TEXTS[place] for place in np.argsort(losses)[::-1]]
    assert frame["loss"].tolist() == pytest.approx(sorted(losses, reverse=True), abs=6e-4)
    words = said(test)
    assert f"on average {number(float(np.mean(losses)), 3)}" in words and "## Text 2" in words
    assert states(words, f"**{number(losses[1], 3)}** nats per token")
    below = sum(loss < losses[1] for loss in losses)
    assert states(words, f"{below} of the 3 texts")
    link = words.partition("[Open in Look](/look?")[2].partition(")")[0]
    assert {"model=induction-tiny", "text=aabbccdd"} <= {*link.split("&")}
    lowest = page(own_text_set(*TEXTS), **TOY, text="bca", **{"many_texts.order": "lowest"})
    assert lowest.dataframe[0].value["loss"].is_monotonic_increasing
    assert "in the box" in said(lowest)


def test_one_head_sorts_and_the_mean_of_each_head_is_that_of_single_runs():
    link = {"kind": "causal", "layer": "1", "head": "0", "many_texts.measure": "induction"}
    test = page(own_text_set(*TEXTS), **TOY, **link, **{"many_texts.sort": "head"})
    model = core.open_model("induction-tiny")
    each = [core.over(model, [text], "induction", progress=False).values[0][1, 0] for text in TEXTS]
    frame = test.dataframe[0].value
    order = sorted(range(3), key=lambda place: (np.isnan(each[place]), -each[place]))
    assert frame["text"].tolist() == [TEXTS[place] for place in order]
    assert "layer=1" in said(test) and "L1.H0, induction head" in frame.columns
    test = page(own_text_set(*TEXTS), **TOY, **link, **{"many_texts.by": "heads"})
    assert f"mean {number(float(np.nanmean(each)), 3)}" in said(test)
    test.button("many_texts.sort_by_head").click().run()
    assert "head" in test.query_params["many_texts.sort"] and len(test.dataframe) == 1
    test = page(own_text_set(*TEXTS), **TOY, **link, **{"many_texts.by": "patterns"})
    assert states(said(test), head_name(1, 0), "3 typed texts", "induction-tiny")


def test_the_first_screen_is_measured_and_a_second_model_sorts_by_disagreement(monkeypatch):
    results = many_texts.compute()
    assert results.n_read == len(data.ready_texts("gpt-mini", "battery").lines) == 24
    groups = np.array([line.group for line in results.lines])
    means = {group: results.loss[groups == group].mean() for group in dict.fromkeys(groups)}
    assert max(means, key=means.__getitem__) == "words shuffled"
    rows = list(csv.DictReader(io.StringIO(data.csv(results, SortKey(), [3, 1]).decode(), newline="")))
    assert [row["text"] for row in rows] == [results.lines[place].text for place in (3, 1)]
    assert float(rows[0]["L5.H7 previous word"]) == pytest.approx(
        results.scores["causal"]["previous"][3, 5, 7], abs=1e-6
    )
    arrays = many_texts.arrays(results)
    assert {"loss", "tokens", "mean, causal previous"} <= arrays.keys() and "disagreement" not in arrays
    test = page(**{"many_texts.other": "gpt-twin"}, text=results.lines[0].text)
    assert "disagreement" in test.dataframe[0].value.columns and "bits (maximum 1)" in said(test)
    assert "Text 1 :gray[plain sentence]" in said(test)


def test_long_readings_go_on_behind_the_page_and_say_how_far_they_are(monkeypatch):
    given = own_text_set("ab", "ba")
    monkeypatch.setattr(data_set_jobs, "AT_ONCE", 0)
    monkeypatch.setattr(data_set_jobs.DataSetJobs, "begin", lambda *_: None)
    standing = DataSetProgress(1, 4)
    monkeypatch.setattr(data_set_jobs.DataSetJobs, "progress", lambda *_: standing)
    test = page(given, **TOY)
    texts = [json.dumps(str(one.proto)) for one in test.get("progress")]
    assert states(" ".join(texts), "2 texts", "1 of 4 steps")
    standing = DataSetProgress(problem="Too few.")
    assert "Too few." in said(page(given, **TOY))


def test_own_texts_are_measured_kept_on_an_error_and_given_back():
    test = page(**TOY)
    test.session_state["fold:many_texts.own"] = True
    test.run()
    test.text_area[0].set_value("abab\n\n" + "ba" * 100 + "\n<b>").run()
    next(one for one in test.button if one.label == "Measure these texts").click().run()
    assert [line.text for line in test.session_state[SESSION_TEXTS].lines] == ["abab", "ba" * 100, "<b>"]
    assert states(" ".join(one.value for one in test.caption), "1 text", "first 64 tokens")
    test.text_area[0].set_value(" \n \n").run()
    assert next(one for one in test.button if one.label == "Measure these texts").disabled
    assert len(test.session_state[SESSION_TEXTS].lines) == 3
    next(one for one in test.button if one.label == "Back to the ready-made texts").click().run()
    assert SESSION_TEXTS not in test.session_state


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", b"", "has no text"),
        ("a.txt", b" \n\n", "has no text to read"),
        ("a.txt", b"x" * (2**20 + 1), "a.txt has 1.0 MB"),
        ("a.txt", b"x" * 2**20, "1,048,576 characters"),
        ("a.csv", b"text\n\xff", "is not UTF-8"),
        ("a.csv", b"other\n\n", "has no text"),
    ],
)
def test_a_file_that_holds_nothing_to_read_is_refused_in_three_parts(name, content, words):
    with pytest.raises(InputError, match=words) as refusal:
        own_texts.from_file(TextFile(name, content))
    assert refusal.value.rule and refusal.value.remedy


def test_a_table_has_its_columns_and_a_large_file_only_its_first_texts():
    rows = own_texts.from_file(TextFile("a.csv", b'a,b,c\n"x\ny",z,g\n', "a", "b", "c")).lines
    assert [(row.text, row.target, row.group) for row in rows] == [("x\ny", "z", "g")]
    many = own_texts.from_file(TextFile("a.txt", b"ab\n" * (data_set_jobs.TEXTS + 7)))
    assert many.name == "texts of a.txt"
    assert len(many.lines) == data_set_jobs.TEXTS and many.beyond == 7


def test_what_a_model_lacks_is_not_offered():
    results = many_texts.compute(many_texts.Params("han-genres"))
    assert [*data.sort_names(results)] == [LOSS, "entropy", HEAD, "tokens"]
    test = page(model="han-genres")
    assert "predicted" in said(test) or "tokens" in said(test)
    assert "loss, nats" in said(test) and "nats per token" not in said(test)
    assert "cannot show vit-doodles" in said(page(model="vit-doodles"))
