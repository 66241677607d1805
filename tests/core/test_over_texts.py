"""A model over many texts: each result is that of a single run, bad texts keep their line, files are read as they are."""

from __future__ import annotations

import csv
import io
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import core
from core.analysis.attribution.importance import token_losses
from core.analysis.heads.habits import measures
from core.data.text_lines import read_texts
from core.scoring import over_texts
from core.scoring import progress as bars

TEXTS = [
    "The cat sat on the mat, and the cat slept.",
    "No.",
    "A horse and a house, and then a horse and a house and a hill behind them.",
    "Mary had a little lamb.",
]


def test_a_batch_gives_what_single_runs_give() -> None:
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


def test_the_loss_of_a_masked_model_is_that_of_each_token_hidden_in_turn() -> None:
    model, words = core.open_model("bert-mini"), ["the", "cat", "is", "old"]
    texts = [" ".join(words), "the old man had a cat"]
    blanks = [" ".join([*words[:place], "[MASK]", *words[place + 1 :]]) for place in range(len(words))]
    each = [token_losses(model.run(blank, special=True), texts[0])[0] for blank in blanks]
    assert core.over(model, texts)[0].value == pytest.approx(np.mean(each), abs=1e-5)


def test_errors_stay_beside_their_line_and_tables_name_every_number() -> None:
    tiny = core.open_model("induction-tiny")
    texts: list[Any] = ["abab", "", "abc" * 50, "ba", None, "aabb"]
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
def test_a_call_that_cannot_work_is_refused(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(core.InputError, match=says):
        core.over(core.open_model("induction-tiny"), *arguments)
    with pytest.raises(core.InputError, match="begins with a model"):
        core.over(*arguments, "loss")  # type: ignore[arg-type]


def test_texts_are_read_ahead_in_parts_and_runs_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_texts, "WINDOW", 8)
    monkeypatch.setattr(over_texts, "MOST_TEXTS", 4)
    read: list[int] = []
    runs: list[weakref.ref[core.Run]] = []
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
    assert (
        len(found) == 20
        and most == 8
        and not any(each() for each in runs)
        and calls == [(n, None) for n in range(1, 21)]
    )
    assert all(value.base is None for value in found.values)
    monkeypatch.setattr(over_texts, "ROOM", 1)  # no two texts fit: one at a time
    assert core.over(
        core.open_model("induction-tiny"), ["ab", "b", "abc"], lambda run: len(run.ids)
    ).values == [2, 1, 3]


def test_the_bar_of_a_table_counts_each_text_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


def _lines(path: Path, data: bytes, **options: Any) -> list[tuple[int, str, str]]:
    path.write_bytes(data)
    return [(row.line, row.text[:20], row.error.split(".")[0]) for row in read_texts(path, **options)]


def test_files_of_lines_and_columns(tmp_path: Path) -> None:
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
