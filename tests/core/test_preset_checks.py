"""What ready-made sentences promise: kept by the shipped models, or told as a failure."""

from __future__ import annotations

from functools import cache

import pytest

import core
from core.analysis.preset_checks import FOLLOWS, check_preset, check_translation
from core.data.texts import Preset, texts
from core.run import Run

KINDS = {
    "translator-en-es": ("translate",),
    "gpt-mini": ("continue",),
    "bert-mini": ("fill", "pair"),
    "copy-lstm-attention": ("copy",),
    "copy-gru-attention": ("copy",),
    "copy-rnn-attention": ("copy",),
    "prompt-tiny": ("prompt",),
    "induction-tiny": ("repeat",),
    "han-genres": ("genre",),
}
"""The models that a page opens with one of these kinds; and the letter copiers that attend."""
ATTENDING = ("bahdanau-en-es", "luong-global-en-es", "luong-local-en-es")
BROKEN = {
    "bert-mini": {"Money is in the [MASK]."},
    "han-genres": {
        row.text for row in texts("presets") if row.task in ("a murder at sea", "a murder on a ranch")
    },
}
"""The documents' own sentence stays although this model, which has read children's books, does not think of a bank: the page says so.
Two crimes are told by the place where they are found: cases where a classifier is wrong, to be seen."""
BLIND = {"copy-lstm", "copy-gru", "copy-rnn"}


@cache
def model(name: str) -> core.Model:
    return core.open_model(name)


def run(name: str, row: Preset) -> Run:
    return model(name).run(row.text, keep=[], **({"pair": row.second} if row.kind == "pair" else {}))


def judged(name: str, *kinds: str) -> dict[str, bool]:
    found = {row: check_preset(row, run(name, row)) for row in texts("presets") if row.kind in kinds}
    return {
        row.text if row.kind != "pair" else f"{row.text} {row.second}": one.passed
        for row, one in found.items()
        if one
    }


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", KINDS)
def test_the_model_that_opens_keeps_every_promise(name: str):
    found = judged(name, *KINDS[name])
    assert len(found) >= 2 and {text for text, kept in found.items() if not kept} == BROKEN.get(name, set())


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ATTENDING)
def test_recurrent_translators_with_attention_keep_nearly_all(name: str):
    found = judged(name, "translate")
    assert len(found) == 12 and sum(found.values()) >= 10, found


@pytest.mark.slow
def test_without_attention_most_are_broken_so_that_there_is_something_to_see():
    found = judged("rnn-en-es", "translate")
    assert 3 <= sum(found.values()) <= 8
    long = next(row.text for row in texts("presets") if row.task == "longer than any in training")
    assert all(not judged(name, "copy")[long] for name in BLIND)


def test_every_sentence_promises_something_but_those_that_only_show_where_a_model_looks():
    silent = [
        row for row in texts("presets") if not row.answers or (row.kind == "pair" and row.task not in FOLLOWS)
    ]
    assert all(row.cites or row.kind == "pair" or row.task == "nothing comes twice" for row in silent)
    assert {row.kind for row in texts("presets") if row.also} == {"translate", "continue", "fill"}


def test_a_broken_promise_is_told_with_what_came_instead():
    row = Preset("fill", "topic", "Money is in the [MASK].", "bank", (), (), "")
    found = check_preset(row, run("bert-mini", row))
    assert (
        found and not found.passed and "“bank” at rank " in found.summary and "first comes “" in found.summary
    )
    kept = check_preset(
        row.__class__(**{**vars(row), "also": (found.summary.split("first comes “")[1].split("”")[0],)}),
        run("bert-mini", row),
    )
    assert kept and kept.passed and "at rank 1 of" in kept.summary


def test_a_word_in_pieces_counts_by_its_first_piece_alone():
    row = Preset(
        "continue",
        "names",
        "The children called the old horse Captain Silver. One day Captain",
        "Silver",
        (),
        (),
        "",
    )
    here = run("gpt-mini", row)
    tokens = model("gpt-mini").tokenizer.encode(" Silver").tokens
    assert len(tokens) > 1
    found = check_preset(row, here)
    assert found and found.passed
    other = check_preset(row.__class__(**{**vars(row), "second": "Jupiter"}), here)
    assert other and ("place 1 of" in other.summary) == (
        model("gpt-mini").tokenizer.encode(" Jupiter").tokens[0] == tokens[0]
    )


def test_nothing_is_judged_where_nothing_is_promised():
    row = next(row for row in texts("presets") if row.kind == "continue" and not row.second)
    assert check_preset(row, run("gpt-mini", row)) is None


@pytest.mark.parametrize(
    ("first", "second", "task", "kept"),
    [("follows", "follows", "follows", True), ("follows", "does not follow", "does not follow", False)],
)
def test_a_pair_is_judged_by_what_the_model_says(first: str, second: str, task: str, kept: bool):
    row = next(row for row in texts("presets") if row.kind == "pair" and row.task == first)
    found = check_preset(row.__class__(**{**vars(row), "task": task}), run("bert-mini", row))
    assert found and found.passed is kept


def test_a_translation_alone_is_judged_as_the_run_is():
    row = next(row for row in texts("presets") if row.text == "She has a white car.")
    here = run("rnn-en-es", row)
    found = check_translation(row.text, "rnn-en-es", here.target_text or "")
    assert (
        found == check_preset(row, here) and found and not found.passed and "coche rojo" in found.summary
    ), "the colour is lost in one vector"
    assert check_translation("I gave my little sister a red ball.", "rnn-en-es", "Le di.") is None
