"""The page Many texts: its first screen, its views, the text in the box, texts of the visitor's own, and what cannot be read."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import again, button, linked, page, said

import core
from core.errors import InputError
from core.reading import data_set_jobs
from core.reading.data_set_jobs import DataSetProgress
from viz.labels import head_name
from viz.number_text import number
from viz.workspace.many_texts import data, own_texts
from viz.workspace.many_texts import page as many_texts
from viz.workspace.many_texts.data import HEAD, LOSS, SESSION_TEXTS, SortKey
from viz.workspace.shared.text_file import TextFile

TEXTS = ["abcabcabc", "aabbccdd", "cbacba"]


def toy(*texts: str, **link: str) -> AppTest:
    """The page with induction-tiny and these texts of the visitor's own."""
    own = {SESSION_TEXTS: own_texts.from_box("\n".join(texts))} if texts else {}
    return page("many_texts", own, model="induction-tiny", **link)


def test_texts_are_sorted_by_loss_and_the_one_in_the_box_is_beside_them():
    test = toy(*TEXTS, text="aabbccdd")
    losses = core.over(core.open_model("induction-tiny"), TEXTS, progress=False).values
    frame, words = test.dataframe[0].value, said(test)
    assert frame["text"].tolist() == [TEXTS[place] for place in np.argsort(losses)[::-1]]
    assert frame["loss"].tolist() == pytest.approx(sorted(losses, reverse=True), abs=6e-4)
    assert f"on average {number(float(np.mean(losses)), 3)}" in words and "## Text 2" in words
    assert states(words, f"**{number(losses[1], 3)}** nats per token")
    assert states(words, f"{sum(loss < losses[1] for loss in losses)} of the 3 texts")
    link = words.partition("[Open in Look](/look?")[2].partition(")")[0]
    assert {"model=induction-tiny", "text=aabbccdd"} <= {*link.split("&")}
    lowest = toy(*TEXTS, text="bca", many_texts__order="lowest")
    assert lowest.dataframe[0].value["loss"].is_monotonic_increasing and "in the box" in said(lowest)


def test_one_head_sorts_and_the_mean_of_each_head_is_that_of_single_runs():
    link = {"kind": "causal", "layer": "1", "head": "0", "many_texts__measure": "induction"}
    test, model = toy(*TEXTS, **link, many_texts__sort="head"), core.open_model("induction-tiny")
    each = [core.over(model, [text], "induction", progress=False).values[0][1, 0] for text in TEXTS]
    order = sorted(range(3), key=lambda place: (np.isnan(each[place]), -each[place]))
    frame = test.dataframe[0].value
    assert frame["text"].tolist() == [TEXTS[place] for place in order]
    assert "layer=1" in said(test) and "L1.H0, induction head" in frame.columns
    test = toy(*TEXTS, **link, many_texts__by="heads")
    assert f"mean {number(float(np.nanmean(each)), 3)}" in said(test)
    test.button("many_texts.sort_by_head").click()
    assert linked(again(test))["many_texts.sort"] == "head" and len(test.dataframe) == 1
    test = toy(*TEXTS, **link, many_texts__by="patterns")
    assert states(said(test), head_name(1, 0), "3 typed texts", "induction-tiny")


def test_the_first_screen_is_measured_and_a_second_model_sorts_by_disagreement():
    results = many_texts.compute()
    assert results.n_read == len(data.ready_texts("gpt-mini", "battery").lines) == 24
    groups = np.array([line.group for line in results.lines])
    means = {group: results.loss[groups == group].mean() for group in groups}
    assert max(means, key=means.__getitem__) == "words shuffled"
    rows = list(csv.DictReader(io.StringIO(data.csv(results, SortKey(), [3, 1]).decode(), newline="")))
    assert [row["text"] for row in rows] == [results.lines[place].text for place in (3, 1)]
    score = results.scores["causal"]["previous"][3, 5, 7]
    assert float(rows[0]["L5.H7 previous word"]) == pytest.approx(score, abs=1e-6)
    arrays = many_texts.arrays(results)
    assert {"loss", "tokens", "mean, causal previous"} <= arrays.keys() and "disagreement" not in arrays
    test = page("many_texts", many_texts__other="gpt-twin", text=results.lines[0].text)
    assert "disagreement" in test.dataframe[0].value.columns and "bits (maximum 1)" in said(test)
    assert "Text 1 :gray[plain sentence]" in said(test)


def test_long_readings_go_on_behind_the_page_and_say_how_far_they_are(monkeypatch):
    monkeypatch.setattr(data_set_jobs, "AT_ONCE", 0)
    monkeypatch.setattr(data_set_jobs.DataSetJobs, "begin", lambda *_: None)
    standing = DataSetProgress(1, 4)
    monkeypatch.setattr(data_set_jobs.DataSetJobs, "progress", lambda *_: standing)
    bars = " ".join(json.dumps(str(one.proto)) for one in toy("ab", "ba").get("progress"))
    assert states(bars, "2 texts", "1 of 4 steps")
    standing = DataSetProgress(problem="Too few.")
    assert "Too few." in said(toy("ab", "ba"))


def test_own_texts_are_measured_kept_on_an_error_and_given_back():
    test = toy()
    test.session_state["fold:many_texts.own"] = True
    texts = ["abab", "ba" * 100, "<b>"]
    again(test).text_area[0].set_value("abab\n\n" + "\n".join(texts[1:]))
    button(again(test), "Measure these texts").click()
    assert [line.text for line in again(test).session_state[SESSION_TEXTS].lines] == texts
    assert states(" ".join(one.value for one in test.caption), "1 text", "first 64 tokens")
    test.text_area[0].set_value(" \n \n")
    assert button(again(test), "Measure these texts").disabled
    assert len(test.session_state[SESSION_TEXTS].lines) == 3
    button(test, "Back to the ready-made texts").click()
    assert SESSION_TEXTS not in again(test).session_state


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
    (row,) = own_texts.from_file(TextFile("a.csv", b'a,b,c\n"x\ny",z,g\n', "a", "b", "c")).lines
    assert (row.text, row.target, row.group) == ("x\ny", "z", "g")
    many = own_texts.from_file(TextFile("a.txt", b"ab\n" * (data_set_jobs.TEXTS + 7)))
    assert (many.name, len(many.lines), many.beyond) == ("texts of a.txt", data_set_jobs.TEXTS, 7)


def test_what_a_model_lacks_is_not_offered():
    results = many_texts.compute(many_texts.Params("han-genres"))
    assert [*data.sort_names(results)] == [LOSS, "entropy", HEAD, "tokens"]
    told = said(page("many_texts", model="han-genres"))
    assert "loss, nats" in told and "nats per token" not in told
    assert "cannot show vit-doodles" in said(page("many_texts", model="vit-doodles"))
