"""Look with a model that fills blanks: guesses, a second text, special marks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from packets import opened
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.analysis.predictions import top_predictions
from core.maths import softmax
from core.serving.engine import Engine, Listing
from tests.bert_helpers import build
from viz.labels import literal, percent

TEXT = "She has a [MASK] car."


@pytest.fixture
def model(monkeypatch):
    made = replace(build(), name="tiny-bert")
    with Engine(
        opener={"tiny-bert": made}.__getitem__, listing=lambda: (Listing("tiny-bert", True, "", "bert"),)
    ) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield made


def look(**link: str) -> AppTest:
    test = AppTest.from_string("from viz.workspace.look import page\npage.page()", default_timeout=60)
    for key, value in link.items():
        test.query_params[key] = value
    test.run()
    assert not test.exception
    return test


def words(test: AppTest) -> dict:
    return next(
        head
        for p in test.get("bidi_component")
        if p.proto.bytes and "layout" in (head := opened(p.proto.bytes)[0])
    )


def blank(test: AppTest):
    return next(group for group in test.button_group if "blank" in group.label)


def test_probabilities_are_torchs_softmax():
    scores = np.random.default_rng(0).normal(size=(4, 9)).astype(np.float32) * 30
    np.testing.assert_allclose(softmax(scores), torch.tensor(scores).double().softmax(-1), rtol=1e-12)
    assert np.isfinite(softmax(np.array([1e4, -1e4]))).all()


def test_guesses_are_the_best_of_the_row(model):
    run = model.run(TEXT)
    place = run.tokens.index("[MASK]")
    found = top_predictions(run, place, 3)
    order = torch.tensor(run.logits[place]).double().softmax(-1).topk(3)
    assert [word for word, _ in found] == [model.tokenizer.token(int(i)) for i in order.indices]
    assert [chance for _, chance in found] == pytest.approx(order.values.tolist())


def test_the_blank_is_touched_and_its_guesses_are_those_of_the_run(model):
    test = look(text=TEXT)
    head = words(test)
    assert head["words"] is None and head["keys"][head["start"][1]] == "[MASK]"
    assert head["special"] == [[0, len(head["keys"]) - 1]] * 2
    run = model.run(TEXT)
    best = top_predictions(run, run.tokens.index("[MASK]"))
    assert [option.content.split(" ")[0] for option in blank(test).proto.options] == [
        literal(word) for word, _ in best
    ]
    assert [
        f"[{percent(chance)}]" in option.content
        for option, (_, chance) in zip(blank(test).proto.options, best, strict=True)
    ] == [True] * len(best)


def test_choosing_a_guess_writes_it_into_the_sentence(model):
    test = look(text=TEXT)
    run = model.run(TEXT)
    word = top_predictions(run, run.tokens.index("[MASK]"))[1][0]
    blank(test).set_value(word).run()
    assert not test.exception
    assert test.query_params["text"] in (
        [TEXT.replace("[MASK]", word.removeprefix("##"))],
        TEXT.replace("[MASK]", word.removeprefix("##")),
    )


@pytest.mark.slow
def test_the_guesses_stay_so_that_another_can_be_tried_and_the_blank_comes_back(model):
    run = model.run(TEXT)
    best = [word for word, _ in top_predictions(run, run.tokens.index("[MASK]"))]
    test = look(text=TEXT)
    offered = list(blank(test).options)
    for word in (best[1], best[2]):
        blank(test).set_value(word).run()
        assert not test.exception and list(blank(test).options) == offered and blank(test).value == word
        assert test.text_input[0].value == TEXT.replace("[MASK]", word.removeprefix("##"))
    blank(test).set_value(None).run()
    assert test.text_input[0].value == TEXT
    blank(test).set_value(best[0]).run()
    test.text_input[0].set_value("Another sentence.").run()
    assert not [group for group in test.button_group if "blank" in group.label]


def test_of_two_blanks_one_is_filled_and_the_other_is_guessed_with_it(model):
    test = look(text="She [MASK] a ___ car.")
    word = top_predictions(run := model.run("She [MASK] a [MASK] car."), run.tokens.index("[MASK]"))[0][0]
    blank(test).set_value(word).run()
    text = f"She {word.removeprefix('##')} a [MASK] car."
    first, second = [group for group in test.button_group if "blank" in group.label]
    assert (
        "blank 1 of 2" in first.label
        and first.value == word
        and "blank 2 of 2" in second.label
        and second.value is None
    )
    other = top_predictions(run := model.run(text), run.tokens.index("[MASK]"), 1)[0][0]
    assert test.text_input[0].value == text and second.options[0].startswith(literal(other))


def test_a_second_text_is_read_behind_the_first(model):
    test = look(text=TEXT, pair="It was tired.", view="full")
    assert words(test)["keys"][-5:] == ["It", "was", "tired", ".", "[SEP]"]
    chance = softmax(model.run(TEXT, pair="It was tired.").next_sentence)[0]
    assert any(f"a probability of {percent(chance)}" in text.value for text in test.text)
    assert (
        "pair='It was tired.'" in "".join(code.value for code in test.code) or not test.code
    )  # the fold is closed


def test_a_model_that_tells_the_order_of_two_texts_says_so(monkeypatch):
    made = replace(build("albert"), name="tiny-albert")
    with Engine(
        opener={"tiny-albert": made}.__getitem__,
        listing=lambda: (Listing("tiny-albert", True, "", "albert"),),
    ) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        test = look(text=TEXT, pair="It was tired.")
        chance = softmax(made.run(TEXT, pair="It was tired.").sentence_order)[0]
        assert any(
            "in their order" in text.value and f"a probability of {percent(chance)}" in text.value
            for text in test.text
        )
        assert blank(test).options and words(test)["keys"][-2:] == [".", "[SEP]"]


def test_a_checkpoint_without_a_word_head_is_looked_at_all_the_same(monkeypatch):
    made = replace(build(masked_lm=False), name="body")
    with Engine(
        opener={"body": made}.__getitem__, listing=lambda: (Listing("body", True, "", "bert"),)
    ) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        test = look(text=TEXT)
        assert "[MASK]" in words(test)["keys"] and not [
            group for group in test.button_group if "blank" in group.label
        ]


def test_the_sentence_with_nothing_in_it_is_said_and_kept(model):
    test = look(text="   ")
    assert any("Type a sentence" in text.value for text in test.text)


def test_text_that_does_not_fit_offers_a_window(model):
    test = look(text="She has a white car. " * 30)
    assert test.slider and len(words(test)["keys"]) <= model.config.n_ctx


@pytest.mark.quick(1)
@pytest.mark.parametrize("typed", ["She has a ___ car.", "She has a <mask> car.", "She has a [mask] car."])
def test_a_blank_may_be_typed_in_other_ways(model, typed):
    assert list(blank(look(text=typed)).options) == list(blank(look(text=TEXT)).options)


def test_each_of_two_blanks_has_its_guesses(model):
    text = "She [MASK] a ___ car."
    run = model.run("She [MASK] a [MASK] car.")
    groups = [group for group in look(text=text).button_group if "blank" in group.label]
    assert ["blank 1 of 2" in groups[0].label, "blank 2 of 2" in groups[1].label] == [True, True]
    for group, row in zip(
        groups, [row for row, token in enumerate(run.tokens) if token == "[MASK]"], strict=True
    ):
        assert group.options[0].startswith(literal(top_predictions(run, row, 1)[0][0]))
