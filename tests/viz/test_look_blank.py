"""Look with a model that fills blanks: guesses, a second text, special marks."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from workspace_pages import again, header, linked, page, said, served_alone

from core.analysis.predictions import top_predictions
from core.maths import softmax
from tests.bert_helpers import build
from viz.labels import literal, percent

TEXT = "She has a [MASK] car."


@pytest.fixture
def model(monkeypatch):
    with served_alone(monkeypatch, replace(build(), name="tiny-bert")) as made:
        yield made


def blanks(test) -> list:
    return [group for group in test.button_group if "blank" in group.label]


def guesses(model, text: str) -> list[list[tuple[str, float]]]:
    """The best words of each blank of a text."""
    run = model.run(text)
    return [top_predictions(run, row) for row, token in enumerate(run.tokens) if token == "[MASK]"]


def filled(text: str, word: str) -> str:
    return text.replace("[MASK]", word.removeprefix("##"), 1)


def test_guesses_are_the_best_of_the_row(model):
    run = model.run(TEXT)
    place = run.tokens.index("[MASK]")
    order = torch.tensor(run.logits[place]).double().softmax(-1).topk(3)
    assert top_predictions(run, place, 3) == [
        (model.tokenizer.token(index), pytest.approx(chance))
        for index, chance in zip(order.indices.tolist(), order.values.tolist(), strict=True)
    ]


def test_the_blank_is_touched_and_its_guesses_are_those_of_the_run(model):
    test = page("look", text=TEXT)
    head = header(test, "layout")
    assert head["words"] is None and head["keys"][head["start"][1]] == "[MASK]"
    assert head["special"] == [[0, len(head["keys"]) - 1]] * 2
    (best,), (blank,) = guesses(model, TEXT), blanks(test)
    for (word, chance), option in zip(best, blank.proto.options, strict=True):
        assert option.content.split(" ")[0] == literal(word) and f"[{percent(chance)}]" in option.content


@pytest.mark.slow
def test_the_guesses_stay_so_that_another_can_be_tried_and_the_blank_comes_back(model):
    best = [word for word, _ in guesses(model, TEXT)[0]]
    test = page("look", text=TEXT)
    (blank,) = blanks(test)
    for word in (best[1], best[2]):
        blanks(test)[0].set_value(word).run()
        assert (blanks(test)[0].options, blanks(test)[0].value) == (blank.options, word)
        assert test.text_input[0].value == filled(TEXT, word)
    blanks(test)[0].set_value(None).run()
    assert test.text_input[0].value == TEXT
    blanks(test)[0].set_value(best[0]).run()
    test.text_input[0].set_value("Another sentence.").run()
    assert not test.exception and not blanks(test)


def test_of_two_blanks_one_is_filled_and_the_other_is_guessed_with_it(model):
    test, text = page("look", text="She [MASK] a ___ car."), "She [MASK] a [MASK] car."
    best = guesses(model, text)
    for group, (first, *_) in zip(blanks(test), best, strict=True):
        assert group.options[0].startswith(literal(first[0]))
    word, text = best[0][0][0], filled(text, best[0][0][0])
    blanks(test)[0].set_value(word)
    first, second = blanks(again(test))
    assert "blank 1 of 2" in first.label and "blank 2 of 2" in second.label
    assert (first.value, second.value, linked(test)["text"]) == (word, None, text)
    assert second.options[0].startswith(literal(guesses(model, text)[0][0][0]))


def test_a_second_text_is_read_behind_the_first(model):
    test = page("look", text=TEXT, pair="It was tired.", view="full")
    assert header(test, "layout")["keys"][-5:] == ["It", "was", "tired", ".", "[SEP]"]
    chance = softmax(model.run(TEXT, pair="It was tired.").next_sentence)[0]
    assert f"a probability of {percent(chance)}" in said(test)


def test_a_model_that_tells_the_order_of_two_texts_says_so(monkeypatch):
    with served_alone(monkeypatch, replace(build("albert"), name="tiny-albert")) as made:
        test = page("look", text=TEXT, pair="It was tired.")
        chance = softmax(made.run(TEXT, pair="It was tired.").sentence_order)[0]
        assert "in their order" in said(test) and f"a probability of {percent(chance)}" in said(test)
        assert blanks(test) and header(test, "layout")["keys"][-2:] == [".", "[SEP]"]


def test_a_checkpoint_without_a_word_head_is_looked_at_all_the_same(monkeypatch):
    with served_alone(monkeypatch, replace(build(masked_lm=False), name="body")):
        test = page("look", text=TEXT)
        assert "[MASK]" in header(test, "layout")["keys"] and not blanks(test)


def test_text_that_does_not_fit_offers_a_window(model):
    test = page("look", text="She has a white car. " * 30)
    assert test.slider and len(header(test, "layout")["keys"]) <= model.config.n_ctx
