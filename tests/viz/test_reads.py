"""What a model can read is said where one types, and a text that it cannot is answered before nonsense is shown."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from exhibit_pages import drawn
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import again, click, linked, page, said, sent

import core
from core.data.readable import to_sentence_case
from core.data.texts import texts
from core.reading import bounds
from viz.widgets import input_hints
from viz.workspace.shared import reading_hints as _reads

NO_SENTENCE = {
    "albert/params": "texts that a bag of words counts, and no model reads",
    "autoencoder/params": "one word, which no model reads",
    "sparse_attention/params": "a long text for bigbird-mini",
    "bert_input/pieces": "pieces of a vocabulary",
    "retrieval/params": "a query",
    "self_attention/params": "words that only name rows",
    "word_vectors/params": "words of a table",
    "bottleneck/params": "letters, as its label says",
    "induction/exhibit": "a string of symbols, as its placeholder says",
    "prompting/exhibit": "letters, and one word, as their labels say",
}
"""Files of exhibits whose boxes take no sentence for a model, and why; beside them only boxes of single words and wanted translations."""
GERMAN, LOUD = "Das weiße Auto steht vor dem Haus.", "I AM VERY ANGRY WITH YOU"


def captions(test: AppTest) -> str:
    return "\n".join(str(caption.value) for caption in test.caption).replace("\\", "")


@pytest.mark.parametrize("name", ["look", "decode", "compare", "what_if"])
def test_what_the_model_reads_is_said_where_one_types(name):
    test = page(name, model="gpt-twin", text="The cat sat.")
    n = bounds.token_limit(core.open_model("gpt-twin"))
    assert states(captions(test), f"{n:,} tokens")
    assert not [button for button in test.button if "small letters" in button.label], (
        "nothing is wrong with it"
    )


def test_the_line_comes_from_the_model():
    lines = {
        name: _reads.hint(core.open_model(name), "Letters")
        for name in ("translator-en-es", "bert-mini", "copy-gru-attention")
    }
    assert states(lines["translator-en-es"], "48 tokens")
    assert states(lines["bert-mini"], "254 tokens")
    assert states(lines["copy-gru-attention"], "no language", "Letters")


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "model"),
    [("look", "translator-en-es"), ("decode", "gpt-twin"), ("what_if", "gpt-twin"), ("compare", "gpt-twin")],
)
def test_another_language_is_answered_and_a_ready_made_sentence_is_one_touch_away(name, model):
    test = page(name, model=model, text=GERMAN)
    assert states(said(test), model)
    assert test.get("bidi_component"), "the picture is shown all the same"
    offered = next(
        row.text for row in texts("presets") if row.kind == ("translate" if "en-es" in model else "continue")
    )
    test = click(test, "Try “")
    assert linked(test)["text"] == offered and "another language" not in said(test)
    assert test.session_state["presets.typed"] == {"text": GERMAN}, "what was typed is offered again"


def test_capitals_are_written_small_by_one_touch():
    test = page("look", model="translator-en-es", text=LOUD)
    assert states(said(test), "19 tokens", "letters into 6")
    test = click(test, "small letters")
    assert test.text_input[0].value == to_sentence_case(LOUD) == LOUD.capitalize()
    assert "capitals" not in said(test) and test.session_state["presets.typed"] == {"text": LOUD}


def test_characters_without_a_token_are_named():
    test = page("look", model="bert-mini", text="The 猫 sat on the [MASK].")
    assert states(said(test), "“猫”")


@pytest.mark.parametrize("name", ["look", "compare"])
@pytest.mark.parametrize("sign", ["___", "<mask>", "[mask]", "[MASK]"])
def test_a_blank_is_read_as_one_however_it_is_typed(name, sign):
    test = page(name, model="bert-mini", text=f"The cat sat on the {sign}.")
    assert "no token" not in said(test)
    assert any("[MASK]" in str(opened(packet)[0]) for packet in sent(test))


def test_markup_in_a_text_is_not_read_as_such():
    assert "no token for" in said(page("look", model="bert-mini", text="**汉** ![x](http://a.b/c.png)"))


def test_every_box_for_a_sentence_names_the_model_that_reads_it():
    missing = []
    for file in sorted(file for file in Path("viz/course").rglob("*.py") if "pages" not in file.parts):
        source = file.read_text("utf-8")
        if file.stem not in ("params", "exhibit") and "controls.text(" not in source:
            continue
        for call in ast.walk(ast.parse(source)):
            if (
                isinstance(call, ast.Call)
                and (
                    ast.unparse(call.func) == "controls.text"
                    or (ast.unparse(call.func) == "sentence" and file.stem in ("params", "exhibit"))
                )
                and not any(word.arg in ("model", None) for word in call.keywords)
            ):
                missing.append(
                    (
                        f"{file.parent.name}/{file.stem}",
                        ast.unparse(call.args[ast.unparse(call.func) == "controls.text"]),
                    )
                )
    assert [file for file, _ in missing if file not in NO_SENTENCE] == [
        "bank/params",
        "training_and_inference/params",
    ]
    assert set(NO_SENTENCE) <= {file for file, _ in missing}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("slug", "model", "most"),
    [
        ("encoder", "bert-mini", 28),
        ("masked_words", "bert-mini", 30),
        ("permutation", "bert-mini", 12),
    ],
)
def test_an_exhibit_says_what_is_read_and_answers_what_is_not(slug, model, most):
    assert input_hints.hint(model, f"up to {most} tokens") in captions(drawn(slug, {}, {}))
    assert input_hints.hint(model) == _reads.hint(core.open_model(model), "")
    test = drawn(slug, {"text": "Das Haus ist sehr alt."}, {})
    assert states(said(test), model)


def test_an_exhibit_writes_capitals_small_by_one_touch():
    test = drawn("encoder", {"text": LOUD, "encoder.of": "translator-en-es"}, {})
    assert "capitals" in said(test)
    test = click(test, "small letters")
    assert test.text_input[0].value == to_sentence_case(LOUD) and "capitals" not in said(test)


def test_in_compare_a_box_of_one_pane_says_it_too():
    test = page("compare", model="gpt-twin", text="The cat sat.")
    test.text_input(key="compare.text.1").set_value(GERMAN)
    assert states(said(again(test)), "gpt-twin", "another language")
    assert captions(test).count(_reads.hint(core.open_model("gpt-twin"), "")) == 3
