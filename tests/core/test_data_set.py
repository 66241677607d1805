"""A data set through a model, or two: each number is that of a plain loop over single runs, files that were sent are read as they are, odd texts keep their line."""

from __future__ import annotations

import csv
import io
import time

import numpy as np
import pytest

import core
from core.analysis.heads.habits import measures
from core.data.text_lines import TextLine, read_upload, upload_columns
from core.errors import InputError
from core.reading import data_set_jobs
from core.reading.data_set_jobs import DataSetJobs
from core.scoring.data_set import DIFFERENCE, DIVERGENCE, END, START, DataSetReading, disagrees_by

TEXTS = ["The cat sat on the mat, and the cat slept.", "No.", "Mary had a little lamb.", ""]


def lines(texts, targets=()):
    return [
        TextLine(n, text, "" if text else "The text is empty.", target)
        for n, (text, target) in enumerate(zip(texts, targets or [""] * len(texts), strict=True), 1)
    ]


def measured(model, rows, other=None):
    reading = DataSetReading(model, rows, other)
    return reading.join([reading.read(step) for step in range(len(reading.steps))])


def log_p(logits):
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def bits(p):
    return float(-(p * np.log2(np.where(p > 0, p, 1))).sum())


def test_numbers_of_a_decoder_and_of_a_second_one_are_those_of_single_runs():
    model, other = core.open_model("gpt-mini"), core.open_model("gpt-twin")
    results = measured(model, lines(TEXTS), other)
    assert results.disagrees_by == DIVERGENCE and results.n_read == 3
    assert "empty" in results.notes[3] and np.isnan(results.loss[3]) and results.tokens[3] == 0
    sums, counts = {START: 0, END: 0}, {START: 0, END: 0}
    for place, text in enumerate(TEXTS[:3]):
        one, two = model.run(text), other.run(text)
        assert results.tokens[place] == len(one.ids)
        each = [log_p(run.logits) for run in (one, two)]
        for found, own in ((results.loss, each[0]), (results.other_loss, each[1])):
            wanted = -np.mean([own[at, token] for at, token in enumerate(one.ids[1:])])
            assert found[place] == pytest.approx(wanted, abs=1e-5)
        apart = [
            bits((np.exp(a) + np.exp(b)) / 2) - (bits(np.exp(a)) + bits(np.exp(b))) / 2
            for a, b in zip(*each, strict=True)
        ]
        assert results.disagreement[place] == pytest.approx(np.mean(apart), abs=1e-5)
        heads = measures(one.attention("causal", by="word"))
        for name in ("previous", "first", "spread"):
            np.testing.assert_allclose(results.scores["causal"][name][place], heads[name], atol=1e-5)
        pattern = one.attention("causal").weights[2, 3]
        n, whole = len(one.ids), 16
        for end, at in ((START, 0), (END, whole - n)):
            wide, seen = np.zeros((whole, whole)), np.zeros((whole, whole))
            wide[at : at + n, at : at + n], seen[at : at + n, at : at + n] = pattern, 1
            sums[end], counts[end] = sums[end] + wide, counts[end] + seen
    for end in (START, END):
        mean = results.patterns["causal", end]
        size = len(mean.queries)
        cut = slice(0, size) if end == START else slice(16 - size, None)
        np.testing.assert_array_equal(mean.counts, counts[end][cut, cut])
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(mean.weights[2, 3], (sums[end] / counts[end])[cut, cut], atol=1e-5)


def test_masked_models_are_compared_by_pseudo_losses_per_character():
    model, other, text = core.open_model("bert-mini"), core.open_model("albert-mini"), "the cat is old"
    results = measured(model, lines([text]), other)
    sums = []
    for one in (model, other):
        ids = one.run(text).ids
        words = text.split()
        assert len(ids) == len(words) + 2, "each word is one token, between two special ones"
        total = 0.0
        for place in range(len(words)):
            blank = " ".join([*words[:place], "[MASK]", *words[place + 1 :]])
            total -= log_p(one.run(blank, special=True).logits)[place + 1, ids[place + 1]]
        sums.append(total)
    assert results.disagrees_by == DIFFERENCE
    assert results.loss[0] == pytest.approx(sums[0] / 4, abs=1e-5)
    assert results.other_loss[0] == pytest.approx(sums[1] / 4, abs=1e-5)
    assert results.disagreement[0] == pytest.approx(abs(sums[0] - sums[1]) / len(text), abs=1e-5)


def test_translators_read_the_given_translation_and_classifiers_the_given_class():
    model = core.open_model("translator-en-es")
    rows = lines(["She has a white car.", "My sister is very tall."], ["Ella tiene un auto blanco.", ""])
    results = measured(model, rows)
    run = model.run(rows[0].text, target=rows[0].target)
    wanted = -np.mean(
        [log_p(run.logits)[at, token] for at, token in enumerate([*run.ids[1:], model.tokenizer.end])]
    )
    assert results.loss[0] == pytest.approx(wanted, abs=1e-5)
    np.testing.assert_allclose(
        results.scores["self"]["previous"][0],
        measures(run.attention("self", by="word"))["previous"],
        atol=1e-5,
    )
    assert {kind for kind, _ in results.patterns} == {"self", "causal", "cross"}
    books = core.open_model("han-genres")
    tale = "Once upon a time there was a king who had three daughters."
    results = measured(books, lines([tale] * 3, ["fairy_tale", "", "novel"]))
    shares = np.exp(log_p(books.run(tale).classes))
    assert results.loss[0] == pytest.approx(-np.log(shares[books.class_names.index("fairy_tale")]), abs=1e-5)
    assert np.isnan(results.loss[1]) and "'novel' is not a class" in results.notes[2]
    assert results.entropy == pytest.approx([bits(shares)] * 3, abs=1e-5)
    assert results.predicted[0] == books.class_names[int(shares.argmax())]
    assert not disagrees_by(model, books) and not disagrees_by(core.open_model("gpt-mini"), model)


QUOTED = 'id,text,kind\n1,"say ""hi"", twice\nand again",a\n2,plain,b\n'


def test_tables_with_quotes_line_ends_and_semicolons_are_read_by_their_columns():
    rows = list(read_upload("a.csv", QUOTED.encode(), column="text", group="kind"))
    assert [(row.line, row.text, row.group) for row in rows] == [
        (2, 'say "hi", twice\nand again', "a"),
        (4, "plain", "b"),
    ]
    other = QUOTED.replace("id,text,kind", "id;text;kind").replace("1,", "1;").replace('again",a', 'again";a')
    other = other.replace("2,plain,b", "2;plain;b")
    assert [row.text for row in read_upload("a.csv", other.encode("cp1252"), encoding="cp1252")] == [
        row.text for row in rows
    ]
    assert upload_columns("a.tsv", "eins\tzwei\n".encode("utf-16"), "utf-16") == ["eins", "zwei"]
    assert [row.text for row in read_upload("a.txt", b"\xef\xbb\xbfone\r\ntwo")] == ["one", "two"]
    assert len(list(csv.reader(io.StringIO(QUOTED)))) == 3


@pytest.mark.parametrize(
    ("name", "data", "encoding", "words"),
    [
        ("a.txt", b"", "utf-8", "a.txt has no text"),
        ("a.csv", b"", "utf-8", "a.csv is empty"),
        ("a.txt", "Stra\xdfe".encode("cp1252"), "utf-8", "a.txt is not UTF-8: the byte at 5"),
        ("a.csv", b"text\n\0\0", "utf-8", "it has zero bytes"),
        ("a.csv", b"text\na\n", "utf-16", "a.csv is not UTF-16"),
        ("a.txt", "no mark".encode("utf-16-le"), "utf-16", "a.txt is not UTF-16"),
        ("a.csv", b"a,b\n1,2", "utf-8", "Which column of a.csv has the texts is not clear"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_three_parts(name, data, encoding, words):
    with pytest.raises(InputError, match=words) as refusal:
        list(read_upload(name, data, encoding=encoding))
    assert refusal.value.rule and refusal.value.remedy


def test_a_line_of_a_megabyte_and_long_texts_keep_their_line():
    rows = list(read_upload("a.txt", b"one\n" + b"x" * 2**20 + b"\ntwo"))
    assert [bool(row.error) for row in rows] == [False, True, False]
    assert "1,048,576 characters" in rows[1].error
    model = core.open_model("translator-en-es")
    long = " ".join(["house"] * 400)
    cut, refused = data_set_jobs.fit(model, [TextLine(1, long), TextLine(2, long, target="casa")])
    assert not cut.error and 0 < len(model.reader.encode(cut.text).ids) <= data_set_jobs.TOKENS
    assert "with its translation is read whole" in refused.error


def test_a_thread_gives_what_a_direct_reading_gives_and_ends_when_forgotten(monkeypatch):
    tiny = core.open_model("induction-tiny")
    monkeypatch.setattr("core.serving.engine.Engine.is_current", lambda *_: True)
    jobs, rows = DataSetJobs(), lines(["abcabc", "aabb", ""])
    jobs.begin("Ana", DataSetReading(tiny, rows))
    while not (standing := jobs.progress("Ana")).over:
        time.sleep(0.005)
    direct = measured(tiny, rows)
    assert standing.results is not None
    np.testing.assert_array_equal(standing.results.loss, direct.loss)
    jobs.begin("Ana", DataSetReading(tiny, lines(["", ""])))
    while not (standing := jobs.progress("Ana")).over:
        time.sleep(0.005)
    assert "None of the texts can be read" in standing.problem
    jobs.forget("Ana")
    assert jobs.progress("Ana") is None and jobs.progress("Ben") is None
