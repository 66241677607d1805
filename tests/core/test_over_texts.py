"""A model over many texts: each result is that of a single run, bad texts keep their line, files are read as they are."""

from __future__ import annotations

import csv
import io
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import core
from core.analysis.attribution.importance import token_losses
from core.analysis.heads.habits import measures
from core.data.text_lines import TextLine, read_texts, read_upload, upload_columns
from core.errors import InputError
from core.reading import data_set_jobs
from core.reading.data_set_jobs import DataSetJobs
from core.scoring import over_texts
from core.scoring import progress as bars
from core.scoring.data_set import DIFFERENCE, DIVERGENCE, END, START, DataSetReading, disagrees_by

TEXTS = [
    "The cat sat on the mat, and the cat slept.",
    "No.",
    "A horse and a house, and then a horse and a house and a hill behind them.",
    "Mary had a little lamb.",
]


def test_a_batch_gives_what_single_runs_give():
    model = core.open_model("gpt-mini")
    half = core.edits.ScaleHead("layer.1.self_attn.heads", head=3, factor=0.5)
    found = core.over(model, TEXTS, ["loss", "previous token", "attention sink"], edits=[half])
    for text, row in zip(TEXTS, found, strict=True):
        run = model.run(text, edits=[half])
        heads = measures(run.attention("causal", by="word"))
        shifted = run.logits.astype(np.float64) - run.logits.max(-1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        loss = -log_p[np.arange(len(run.ids) - 1), list(run.ids[1:])].mean()
        assert row.text == text and not row.error
        assert row.value["loss"] == pytest.approx(loss, abs=1e-5)
        for name, habit in (("previous token", "previous"), ("attention sink", "first")):
            np.testing.assert_allclose(row.value[name], heads[habit], atol=1e-5)
    mean = found.mean
    assert mean["loss"] == pytest.approx(np.mean([row.value["loss"] for row in found]))
    np.testing.assert_allclose(
        mean["previous token"], np.mean([row.value["previous token"] for row in found], 0)
    )
    whole = core.over(model, TEXTS, "loss")
    assert repr(whole).startswith("Results: gpt-mini, loss, 4 texts, mean ")
    apart = whole.disagreement(core.over(model, TEXTS, "loss", edits=[half]))
    wanted = [abs(a - row.value["loss"]) for a, row in zip(whole.values, found, strict=True)]
    assert apart.values == pytest.approx(wanted) and max(wanted) > 1e-3
    assert [row.line for row in apart.sorted_by()] == [int(place) + 1 for place in np.argsort(wanted)[::-1]]


def test_the_loss_of_a_masked_model_is_that_of_each_token_hidden_in_turn():
    model, words = core.open_model("bert-mini"), ["the", "cat", "is", "old"]
    texts = [" ".join(words), "the old man had a cat"]
    blanks = [" ".join([*words[:place], "[MASK]", *words[place + 1 :]]) for place in range(len(words))]
    each = [token_losses(model.run(blank, special=True), texts[0])[0] for blank in blanks]
    assert core.over(model, texts)[0].value == pytest.approx(np.mean(each), abs=1e-5)


def test_errors_stay_beside_their_line_and_tables_name_every_number():
    tiny = core.open_model("induction-tiny")
    texts = ["abab", "", "abc" * 50, "ba", None, "aabb"]
    found = core.over(tiny, texts, lambda run: {"sums": run.logits.sum(0)[:2], "n": len(run.ids)})
    assert [row.line for row in found if row.value] == [1, 4, 6] and found.mean["n"] == pytest.approx(10 / 3)
    told = found.errors
    assert (
        list(told) == [2, 3, 5] and "empty" in told[2] and "at most 64" in told[3] and "NoneType" in told[5]
    )
    rows = found.table()
    assert list(rows[0]) == ["line", "text", "sums 0", "sums 1", "n", "error"] and rows[1]["n"] is None
    assert [row["text"] for row in csv.DictReader(io.StringIO(found.csv()))][3] == "ba"
    assert [row.line for row in found.sorted_by("n")] == [1, 6, 4, 2, 3, 5]
    assert [row.line for row in found.sorted_by("n", largest_first=False)] == [4, 1, 6, 2, 3, 5]
    heads = core.over(tiny, ["abab", "ba"], "induction")
    assert "L1.H0" in heads.table()[0] and np.isnan(heads[1].value).all() and not np.isnan(heads.mean).any()
    assert core.over(tiny, ["abab", "ba"], lambda run: run.logits).mean is None
    short = core.over(tiny, ["abab", "b"], lambda run: 1 / (len(run.ids) - 1))
    assert short.errors == {2: "ZeroDivisionError: division by zero"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((["ab"], "cheese"), "no measure 'cheese'"),
        ((["ab"], lambda run: run), "returned Run"),
        ((["ab"], ["loss", "separator"]), "has no measure 'separator' on this text"),
        ((["", "abc" * 50],), "Line 1: The text is empty"),
        (([],), "There is no text"),
        (("abab",), r"No file 'abab' can be read: No such file.*write \[text\]"),
        ((3,), "given as int"),
    ],
)
def test_a_call_that_cannot_work_is_refused(arguments, says):
    with pytest.raises(core.InputError, match=says):
        core.over(core.open_model("induction-tiny"), *arguments)
    with pytest.raises(core.InputError, match="begins with a model"):
        core.over(*arguments, "loss")


def test_texts_are_read_ahead_in_parts_and_runs_are_dropped(monkeypatch):
    monkeypatch.setattr(over_texts, "WINDOW", 8)
    monkeypatch.setattr(over_texts, "MOST_TEXTS", 4)
    read = []
    runs = []
    most, calls = 0, []

    def texts():
        for place in range(20):
            read.append(place)
            yield "ab" * (1 + place * 7 % 5)

    def measure(run: core.Run) -> np.ndarray:
        nonlocal most
        runs.append(weakref.ref(run))
        alive = sum(each() is not None for each in runs)
        most = max(most, 2 * alive, len(read) - 8 * (len(calls) // 8))
        return run.trace["layer.0.self_attn.pattern"][0, 0, :1]  # a view of the whole batch

    found = core.over(
        core.open_model("induction-tiny"), texts(), measure, progress=lambda *each: calls.append(each)
    )
    assert len(found) == 20
    assert most == 8
    assert not any(each() for each in runs)
    assert calls == [(n, None) for n in range(1, 21)]
    assert all(value.base is None for value in found.values)
    monkeypatch.setattr(over_texts, "ROOM", 1)  # no two texts fit: one at a time
    assert core.over(
        core.open_model("induction-tiny"), ["ab", "b", "abc"], lambda run: len(run.ids)
    ).values == [2, 1, 3]


def test_the_bar_of_a_table_counts_each_text_once(monkeypatch, capsys):
    monkeypatch.setattr(bars, "_is_watched", lambda: True)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    core.over(core.open_model("induction-tiny"), ["ab", "b"], lambda run: len(run.ids), progress=True)
    assert [part.strip() for part in capsys.readouterr().err.split("\r")] == [
        "",
        "1 of 2 texts",
        "2 of 2 texts",
        "",
        "",
    ]


def _lines(path: Path, data: bytes, **options) -> list[tuple[int, str, str]]:
    path.write_bytes(data)
    return [(row.line, row.text[:20], row.error.split(".")[0]) for row in read_texts(path, **options)]


def test_files_of_lines_and_columns(tmp_path):
    table, lines = tmp_path / "a.csv", tmp_path / "a.txt"
    data = b'\xef\xbb\xbfid,text\r\n1,"He said ""no"",\nand left."\r\n\r\n2\r\n3,\r\n4,caf\xc3\xa9\r\n'
    assert _lines(table, data) == [
        (2, 'He said "no",\nand le', ""),
        (5, "", "The row cannot be read: it has 1 of 2 columns"),
        (6, "", "The text is empty"),
        (7, "café", ""),
    ]
    assert _lines(table, data, column="id")[-1] == (7, "4", "")
    long = b'text\nok\n"' + b"x" * 2**20 + b'"\nlast\n'
    assert _lines(table, long) == [
        (2, "ok", ""),
        (3, "", "The text has too many characters"),
        (4, "last", ""),
    ]
    assert _lines(tmp_path / "a.tsv", b"n\ttext\n1\ta, b\n") == [(2, "a, b", "")]
    got = _lines(lines, b"\xef\xbb\xbffirst\r\n\ncaf\xe9\n" + b"x" * 5 * 2**20 + b"\nlast")
    assert got == [
        (1, "first", ""),
        (2, "", "The text is empty"),
        (3, "caf?", "The text has bytes that its encoding does not have"),
        (4, "x" * 20, "The text has 4,194,304 characters"),
        (5, "last", ""),
    ]
    assert _lines(lines, b"caf\xe9\n", encoding="cp1252") == [(1, "café", "")]
    assert _lines(lines, "café\nno".encode("utf-16"), encoding="utf-16") == [(1, "café", ""), (2, "no", "")]
    for path, content, options, says in (
        (lines, "no".encode("utf-16"), {}, 'UTF-16.*encoding="utf-16"'),
        (lines, b"", {}, "has no text"),
        (lines, b"a", {"encoding": "klingon"}, "unknown encoding"),
        (table, b"", {}, "is empty"),
        (table, b"a,b\n1,2\n", {}, "Which column.*columns a, b"),
        (table, b"a,b\n1,2\n", {"column": "c"}, "no column 'c'.*columns a, b"),
    ):
        with pytest.raises(core.InputError, match=says):
            _lines(path, content, **options)
    for wrong, options, says in (
        (tmp_path, {}, "can be read: Is a directory"),
        ("a b. " * 99, {}, "too long.*write"),
        (["a"], {"column": "x"}, "of a list"),
    ):
        with pytest.raises(core.InputError, match=says):
            list(read_texts(wrong, **options))


# ---------------- A data set through a model, or two: each number is that of a plain loop over single runs, files that were sent are read as they are, odd texts keep their line.


FOUR = ["The cat sat on the mat, and the cat slept.", "No.", "Mary had a little lamb.", ""]


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
    results = measured(model, lines(FOUR), other)
    assert results.disagrees_by == DIVERGENCE and results.n_read == 3
    assert "empty" in results.notes[3] and np.isnan(results.loss[3]) and results.tokens[3] == 0
    sums, counts = {START: 0, END: 0}, {START: 0, END: 0}
    for place, text in enumerate(FOUR[:3]):
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
    with pytest.raises(InputError, match=words):
        list(read_upload(name, data, encoding=encoding))


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
