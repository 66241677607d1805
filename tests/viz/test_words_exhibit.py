"""The exhibit on word vectors: each step, its question, its numbers, words of one's own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, bar_labels, figure, instruments
from exhibit_pages import said_and_set as said
from exhibit_visits import answered
from shown_values import states

import core
from core.serving.engine import default
from viz.course.bert import contextual_vectors
from viz.course.look_up import vectors_link as link
from viz.course.look_up.word_vectors import context, exhibit, sums
from viz.course.look_up.word_vectors.params import MODEL, OPENING, READER, READY, SENTENCES, Params
from viz.course.shared import word_vectors
from viz.labels import percent

page = StepPages("word_vectors", shared=("text", "layer", "head"))


def added(**three: str) -> word_vectors.Sum:
    """Return the sum of the page, or of other words."""
    params = Params(**three)
    return sums.added(params, exhibit.compute(params))


def test_king_without_man_and_with_woman_is_queen():
    """C010, the table of the documents."""
    test = page(guess={"hand": "queen"})
    (plane,) = instruments(test, "plus")
    assert page.answer(test, "hand") == "queen" and states(said(test), "0.00", "1.00", "“queen”")
    points = {point["name"]: tuple(point["at"]) for point in plane["points"]}
    assert points | {"king": (1, 1), "man": (1, 0), "woman": (0, 0), "queen": (0, 1)} == points
    terms = [plane["points"][i]["name"] for i in (*plane["plus"], *plane["minus"])]
    assert terms == ["king", "woman", "man"] and instruments(page(), "plus")[0]["blind"]
    other = link.pack([*OPENING[:3], (-1.5, -1.5), (1.0, -0.8), (0.1, 0.9), OPENING[6]])
    assert page.answer(page(points=other), "hand") == "girl"


@pytest.mark.quick(2)
@pytest.mark.parametrize("three", READY)
def test_a_sum_of_ones_own_is_the_nearest_by_brute_force(three):
    """C010, words that a visitor types."""
    model = default().open(MODEL)
    table = word_vectors.table_of(model).astype(np.float64)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    ids = [model.tokenizer.encode(word).ids[0] for word in three]
    target = table[ids[0]] - table[ids[1]] + table[ids[2]]
    cosine = table @ target / np.linalg.norm(target)
    cosine[[0, *ids]] = -np.inf
    name, most = model.tokenizer.token(int(cosine.argmax())), cosine.max()
    test = answered(page(2, **dict(zip("abc", three, strict=True))))
    assert page.answer(test, "trained") == name and f"“{name}”, cosine {most:.3f}" in said(test)
    assert bar_labels(test)[0] == f"{most:.3f}"


def test_the_answer_follows_the_words():
    found = added()
    assert (found.nearest[0], found.first, found.place) == ("queen", "king", 2)
    assert added(a="walked", b="walk", c="play").nearest[0] != "queen"


def test_the_map_keeps_the_sum():
    found, test = added(), page(3)
    step = found.map[0] - found.map[1]
    np.testing.assert_allclose(step, found.map[-1] - found.map[2], atol=1e-5)
    assert states(said(test), f"{np.linalg.norm(step):.2f}") and percent(found.share) in said(test)
    assert "queen" in figure(test)["data"][0]["text"]


def test_principal_components_are_those_of_the_covariance():
    rows = np.random.default_rng(2).normal(size=(11, 7))
    places, share = word_vectors.principal_plane(rows)
    values = np.sort(np.linalg.eigvalsh(np.cov(rows.T)))[::-1]
    np.testing.assert_allclose(places.var(0, ddof=1), values[:2])
    assert share == pytest.approx(values[:2].sum() / values.sum())


def test_in_a_table_a_word_has_one_vector_and_in_a_model_two():
    model, start = default().open(READER), Params()
    same = word_vectors.layer_cosines(model.run(start.one), model.run(start.two), "bank")
    assert same[0] == pytest.approx(1, abs=1e-6) and same[-1] < 0.9 and len(same) == model.config.n_layers + 2
    test = said(answered(page(4)))
    assert f"{same[0]:.3f}" in test and states(test, f"{same[-1]:.3f}")
    assert page.answer(page(4, two=start.one), "alike") == 1.0, "the same sentence twice: the same vector"
    assert "is not in “" in said(page(4, word="elephant"))


@pytest.mark.parametrize("text", SENTENCES)
def test_the_mix_is_a_row_of_the_causal_matrix_over_the_words_so_far(text):
    """C012: the animal sentence, where its word looks in this head, and in all heads."""
    (layer, head), run, row = context.opening(), core.open_model(READER).run(text), context.ROWS[text]
    weights = run.attention("causal", by="word").weights[layer, head, row, : row + 1]
    found, words = word_vectors.head_mix(run, layer, head, row), run.side.words
    np.testing.assert_allclose(found.weights, weights, atol=1e-6)
    assert found.weights.sum() == pytest.approx(1, abs=1e-5)
    table = [run.trace["embed.token"][list(word.pieces)].mean(0) for word in words[: row + 1]]
    np.testing.assert_allclose(found.mix, weights @ np.stack(table), atol=1e-5)
    best = found.words[int(weights.argmax())]
    test = page(5, "change.4", guess={"remember": best}, text=text)
    assert page.answer(test, "remember") == best and f"sum at “{found.words[row]}”" in said(test)
    (lines,) = (each for each in instruments(test, "mode") if each["mode"] == "lines")
    assert len(lines["queries"]["words"]) == len(words)
    heads = run.model.config.n_layers * run.model.config.n_heads
    assert len(drawn_rows(test, mark="rect", place=-1)) == heads


def test_it_is_the_word_that_remembers_in_the_animal_sentence():
    """C012."""
    run = core.open_model(READER).run(SENTENCES[1])
    assert run.side.words[context.ROWS[SENTENCES[1]]].text == "it"
    assert "Reading “it”" in said(page(5, text=SENTENCES[1])) and "Reading “chasing”" in said(page(5))


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
