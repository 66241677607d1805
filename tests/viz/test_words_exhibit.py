"""The exhibit on word vectors without a browser: each step, its question, its numbers, words of one's own."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from drawn_layers import drawn_rows
from exhibit_pages import bar_labels, chart, drawn, figure
from exhibit_pages import said_and_set as said
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

import core
from core.serving.engine import default
from viz.course.bert import contextual_vectors
from viz.course.look_up import vectors_link as link
from viz.course.look_up.word_vectors import context, exhibit, sums
from viz.course.look_up.word_vectors.params import MODEL, OPENING, READER, READY, SENTENCES, Params
from viz.course.shared import word_vectors
from viz.labels import percent


def page(
    step: int = 1, guess: dict[str, object] | None = None, folded: tuple[str, ...] = (), **values: str
) -> AppTest:
    """The page at a step, questions answered and folds open as asked, with the values of a link."""
    link = {
        name if name in ("text", "layer", "head") else f"word_vectors.{name}": value
        for name, value in values.items()
    }
    answered = {f"predict:word_vectors.{name}": value for name, value in (guess or {}).items()}
    return drawn(
        "word_vectors",
        {"word_vectors.step": str(step)} | link,
        answered | {f"fold:{name}": True for name in folded},
        guarded=True,
    )


def added(**three: str) -> word_vectors.Sum:
    """The sum of the page, or of other words."""
    return sums.added(params := Params(**three), exhibit.compute(params))


def header(test: AppTest, wanted: str) -> dict:
    found = [opened(e.proto.bytes)[0] for e in test.get("bidi_component") if e.proto.bytes]
    return next(each for each in found if wanted in each)


def committed(test: AppTest, name: str, value: float) -> AppTest:
    test.slider(key=f"predict:word_vectors.{name}").set_value(value)
    return test.button(key=f"predict:word_vectors.{name}:commit").click().run()


# ------------------------------------------------------------------ by hand


def test_king_without_man_and_with_woman_is_queen():
    """C010, the table of the documents."""
    assert header(page(), "plus")["blind"] is True
    test = page(guess={"hand": "queen"})
    sent = header(test, "plus")
    assert "Right." in said(test) and states(said(test), "0.00", "1.00", "“queen”")
    assert {p["name"]: tuple(p["at"]) for p in sent["points"][:4]} == {
        "king": (1, 1),
        "man": (1, 0),
        "woman": (0, 0),
        "queen": (0, 1),
    }
    assert [sent["points"][i]["name"] for i in (*sent["plus"], *sent["minus"])] == ["king", "woman", "man"]


def test_other_places_another_answer():
    at = [*OPENING[:3], (-1.5, -1.5), (1.0, -0.8), (0.1, 0.9), OPENING[6]]
    test = page(points=link.pack(at), guess={"hand": "queen"})
    assert states(said(test), "“queen”", "“girl”") and states(said(test), "“girl”")


# ------------------------------------------------------------------ trained


@pytest.mark.quick(2)
@pytest.mark.parametrize("three", READY)
def test_a_sum_of_ones_own_is_the_nearest_by_brute_force(three):
    """C010, words that a visitor types."""
    model = default().open(MODEL)
    table = word_vectors.table_of(model).astype(np.float64)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    a, b, c = (model.tokenizer.encode(word).ids[0] for word in three)
    target = table[a] - table[b] + table[c]
    cosine = table @ target / np.linalg.norm(target)
    cosine[[0, a, b, c]] = -np.inf
    best = int(cosine.argmax())
    name = model.tokenizer.token(best)
    test = page(2, guess={"trained": name}, **dict(zip("abc", three, strict=True)))
    assert "Right." in said(test) and f"“{name}”, cosine {cosine[best]:.3f}" in said(test)
    assert bar_labels(test)[0] == f"{cosine[best]:.3f}"


def test_the_bars_are_covered_before_the_guess_and_the_answer_follows_the_words():
    test = page(2)
    assert "queen" not in json.dumps(chart(test)) and "cosine 0" not in said(test)
    found = added()
    assert (found.nearest[0], found.first, found.place) == ("queen", "king", 2)
    assert added(a="walked", b="walk", c="play").nearest[0] != "queen"


@pytest.mark.parametrize("word", ["", "two words", "xyzzyx", "<b>", "![x](http://a)"])
def test_a_word_that_is_not_in_the_table_gets_a_calm_answer(word):
    test = page(2, a=word)
    assert not test.exception and "Something went wrong" not in said(test)


def test_the_map_keeps_the_sum():
    found = added()
    np.testing.assert_allclose(found.map[0] - found.map[1], found.map[-1] - found.map[2], atol=1e-5)
    test = page(3)
    step = np.linalg.norm(found.map[0] - found.map[1])
    assert states(said(test), f"{step:.2f}") and f"{percent(found.share)}" in said(test)
    assert "queen" in figure(test)["data"][0]["text"]


def test_principal_components_are_those_of_the_covariance():
    rows = np.random.default_rng(2).normal(size=(11, 7))
    places, share = word_vectors.principal_plane(rows)
    values = np.sort(np.linalg.eigvalsh(np.cov(rows.T)))[::-1]
    np.testing.assert_allclose(places.var(0, ddof=1), values[:2])
    assert share == pytest.approx(values[:2].sum() / values.sum())


# ------------------------------------------------------------------ one vector, or a mix


def test_in_a_table_a_word_has_one_vector_and_in_a_model_two():
    model, start = default().open(READER), Params()
    same = word_vectors.layer_cosines(model.run(start.one), model.run(start.two), "bank")
    assert same[0] == pytest.approx(1, abs=1e-6) and same[-1] < 0.9 and len(same) == model.config.n_layers + 2
    test = committed(page(4), "alike", 0.5)
    assert f"{same[0]:.3f}" in said(test) and states(said(test), f"{same[-1]:.3f}")
    other = committed(page(4, two=start.one), "alike", 1.0)
    assert states(said(other), "1.000"), "the same sentence twice: the same vector"


def test_a_word_that_does_not_stand_there_gets_a_calm_answer():
    test = page(4, word="elephant")
    assert not test.exception and "is not in “" in said(test)


@pytest.mark.parametrize("text", SENTENCES)
def test_the_mix_is_a_row_of_the_causal_matrix_over_the_words_so_far(text):
    """C012: the animal sentence, where its word looks in this head, and in all heads."""
    layer, head = context.opening()
    run = core.open_model(READER).run(text)
    row = context.ROWS[text]
    weights = run.attention("causal", by="word").weights[layer, head, row, : row + 1]
    found = word_vectors.head_mix(run, layer, head, row)
    np.testing.assert_allclose(found.weights, weights, atol=1e-6)
    assert (
        math.isclose(found.weights.sum(), 1, abs_tol=1e-5)
        and len(run.side.words) == {SENTENCES[0]: 10, SENTENCES[1]: 12}[text]
    )
    table = np.stack(
        [run.trace["embed.token"][list(word.pieces)].mean(0) for word in run.side.words[: row + 1]]
    )
    np.testing.assert_allclose(found.mix, sum(w * v for w, v in zip(weights, table, strict=True)), atol=1e-5)
    best = found.words[int(weights.argmax())]
    test = page(5, guess={"remember": best}, text=text, folded=("word_vectors.change.4",))
    assert "Right." in said(test) and f"sum at “{found.words[row]}”" in said(test)
    sent = header(test, "mode")
    assert sent["mode"] == "lines" and len(sent["queries"]["words"]) == len(run.side.words)
    assert (
        len(drawn_rows(test, mark="rect", place=-1)) == run.model.config.n_layers * run.model.config.n_heads
    )


def test_it_is_the_word_that_remembers_in_the_animal_sentence():
    """C012."""
    run = core.open_model(READER).run(SENTENCES[1])
    assert run.side.words[context.ROWS[SENTENCES[1]]].text == "it"
    assert "Reading “it”" in said(page(5, text=SENTENCES[1])) and "Reading “chasing”" in said(page(5))


# ------------------------------------------------------------------ link


def test_a_thumbnail_of_the_map():
    assert exhibit.thumbnail().count("<circle") == len(added().map)


WANTED = {"king": "queen", "brother": "sister", "walked": "played", "went": "came", "mice": "children"}


@pytest.mark.parametrize("three", READY, ids=lambda three: three[0])
def test_a_ready_made_sum_comes_out_as_it_should(three: tuple[str, str, str]):
    assert word_vectors.add(core.open_model(MODEL), *three).nearest[0] == WANTED[three[0]]


def test_one_vector_is_compared_with_the_words_that_the_table_has():
    ids = {"bank": [1], "river": [2], "money": [3], "zebra": [0], "piggy bank": [2, 1]}
    weight = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    model = SimpleNamespace(
        name="a table",
        network=SimpleNamespace(embed={"token": SimpleNamespace(weight=weight)}),
        tokenizer=SimpleNamespace(encode=lambda word: SimpleNamespace(ids=ids[word])),
    )
    groups = [["river", "zebra"], ["piggy bank", "money"]]
    assert contextual_vectors.belongs(model, "bank", groups) == [
        ("river", 0, pytest.approx(0.5**0.5)),
        ("money", 1, pytest.approx(0.0)),
    ]
    with pytest.raises(core.InputError, match="zebra"):
        contextual_vectors.belongs(model, "zebra", groups)
