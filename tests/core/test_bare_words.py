"""The shipped translator on bare words and greetings, as one types them: `bare_words.tsv`, a word and every translation that is right."""

from pathlib import Path

import pytest

import core
from core.scoring.translation import translate

WANTED = 180
ROWS = [
    line.split("\t")
    for line in (Path(__file__).parent / "bare_words.tsv").read_text(encoding="utf-8").splitlines()
]


def plain(text: str) -> str:
    """Without case and without the marks around it."""
    return text.strip(" .!?¡¿").lower()


def test_there_are_two_hundred_different_ones():
    assert len(ROWS) == len({word for word, _ in ROWS}) == 200
    assert all(plain(word) and all(map(plain, right.split("|"))) for word, right in ROWS)


@pytest.mark.slow
def test_nine_of_ten_bare_words_are_translated():
    model = core.open_model("translator-en-es")
    written = translate(model, [word for word, _ in ROWS])
    wrong = [
        (word, out)
        for (word, right), out in zip(ROWS, written, strict=True)
        if plain(out) not in map(plain, right.split("|"))
    ]
    assert len(ROWS) - len(wrong) >= WANTED, wrong


@pytest.mark.quick(1)
@pytest.mark.parametrize("word", ["cat", "Hello", "Good morning"])
def test_the_batch_writes_what_the_app_does(word):
    model = core.open_model("translator-en-es")
    assert translate(model, [word]) == [model.run(word).target_text]
