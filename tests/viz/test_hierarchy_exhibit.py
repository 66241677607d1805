"""The exhibit on words, sentences, a document: weights, products, the class, the text without a sentence, the record."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, bar_labels, lanes, said
from exhibit_visits import answered
from scipy.stats import spearmanr

import core
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import read_scores
from core.errors import InputError
from core.maths import softmax
from core.text.sentences import sentences_of
from viz.course.look_up.hierarchy import exhibit, maths
from viz.course.look_up.hierarchy.params import EXAMPLES, Params
from viz.labels import percent

OWN = "We sat by the fire. A whale rose beside the boat! Who had the key?"
page = StepPages("hierarchy", {"text": OWN}, ())


def data(text: str = OWN) -> maths.Data:
    return exhibit.compute(Params(text=text))


@pytest.mark.quick(2)
@pytest.mark.parametrize("text", [OWN, *EXAMPLES.values(), "whale"])
def test_weights_of_words_of_sentences_and_their_products_sum_to_one(text):
    """C023."""
    found, run = data(text), core.open_model(maths.MODEL).run(text)
    words, sentences = run.attention("words", by="word"), run.attention("sentences")
    for i in range(len(found.sentence_texts)):
        own = found.words_of(i)
        assert found.inside[own].sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(found.inside[own], words.weights[0, 0, i, own], atol=1e-6)
    np.testing.assert_allclose(found.sentences, sentences.weights[0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(found.products, found.inside * found.sentences[found.numbers])
    assert found.products.sum() == pytest.approx(1, abs=1e-5) and (found.products >= 0).all()
    np.testing.assert_allclose(found.rows[-1], found.products)
    np.testing.assert_allclose(found.rows.sum(1), 1, atol=1e-5)
    assert found.words == words.keys and found.sentence_texts == sentences.keys
    np.testing.assert_allclose(found.chances, softmax(run.classes))


def test_without_a_sentence_is_the_text_read_again_without_it():
    found, model = data(), core.open_model(maths.MODEL)
    places = sentences_of(OWN)
    for i, row in enumerate(found.chances_without):
        rest = " ".join(OWN[slice(*place)] for j, place in enumerate(places) if j != i)
        np.testing.assert_allclose(row, softmax(model.run(rest).classes), atol=1e-5)
    assert data("whale").chances_without.shape == (0, 6) and maths.agreement(data("whale")) is None


def test_each_question_has_the_answer_of_the_run():
    found = data()
    best = int(found.products.argmax())
    own = found.words_of(found.heaviest)
    word = own[found.inside[own].argmax()]
    test = answered(page())
    assert page.answer(test, "first") == found.names[found.heaviest]
    assert bar_labels(test) == [f"{weight:.1%}" for weight in found.sentences]
    chance = percent(found.chances[found.predicted_class], 2)
    assert f"Output: {found.classes[found.predicted_class]} ({chance})" in said(test)
    test = answered(page(2))
    assert page.answer(test, "word") == found.words[word]
    assert f"“{found.words[word]}” {percent(found.inside[word], 2)}" in said(test)
    test = answered(page(3))
    factors = percent(found.sentences[found.numbers[best]], 1), percent(found.inside[best], 1)
    assert f"{factors[0]} × {factors[1]} = {percent(found.products[best], 2)}" in said(test)
    assert page.answer(test, "sum") == "1"


@pytest.mark.slow
def test_six_kinds_and_what_one_of_ours_is_meant_as():
    for name, text in EXAMPLES.items():
        found, test = data(text), answered(page(4, text=text))
        assert page.answer(test, "kind") == found.classes[found.predicted_class]
        assert len(drawn_rows(test, "value")) == 6
        meant = next(one for one in maths.preset_results() if one.row.task == name)
        assert ("That is right." in said(test), "A telling error" in said(test)) == (
            meant.passed,
            not meant.passed,
        )
    assert "no class" in said(answered(page(4)))


@pytest.mark.slow
def test_a_deleted_sentence_moves_the_class_or_does_not():
    for text in (OWN, *EXAMPLES.values()):
        found, test = data(text), answered(page(5, text=text))
        best, after = found.predicted_class, found.chances_without.argmax(1)
        kept = after[found.heaviest] == best
        right = "It stays" if kept else f"It becomes {found.classes[after[found.heaviest]]}"
        assert page.answer(test, "gone") == right
        lost = found.chances[best] - found.chances_without[:, best]
        np.testing.assert_allclose(lanes(test)[1], lost, atol=6e-4)
        assert ("No single sentence" in said(test)) == (after == best).all()
        if text != OWN:
            assert maths.agreement(found) == pytest.approx(spearmanr(found.sentences, lost).statistic)
    assert "nothing is left" in said(page(5, text="whale"))


def test_the_record_is_told_beside_its_baselines_and_our_texts_as_they_come_out():
    found, left_out = maths.accuracies(), maths.left_out()
    held = {
        score.subject: score.value
        for score in read_scores(shipped_folder() / maths.MODEL)
        if (score.measure, score.split) == ("accuracy", maths.SPLIT)
    }
    assert found | held == found and held[maths.MODEL] >= 0.80 and len(held) == 3
    test = answered(page(6))
    assert percent(held[maths.MODEL], 2) in said(test)
    others = [value for name, value in found.items() if name != maths.MODEL]
    assert bar_labels(test) == [f"{value:.1%}" for value in (*left_out.values(), *others)]
    assert left_out["test"] == held[maths.MODEL] and len(left_out) == 3
    wrong = [one for one in maths.preset_results() if not one.passed]
    assert wrong and all(one.says in said(test) for one in wrong), "a case where it is wrong is told"


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "text", ["word " * 900, "Слово. Другое слово! Третье?", "你好。再见！", "?", "a" * 3000]
)
def test_odd_texts_are_read_or_answered_calmly(text):
    assert data(text).products.sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("", "holds no word"), ("  ", "holds no word"), ("word " * 1100, "at most 1,024 at once")],
)
def test_nothing_to_read_is_said(text, wrong):
    with pytest.raises(InputError, match=wrong):
        data(text)
