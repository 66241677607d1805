"""Look on the shipped translator: what the pictures are sent is what the run holds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from packets import carried, packets_of
from streamlit.testing.v1 import AppTest
from workspace_pages import NEAR, again, header, linked, matrix, page, said, sent

import core
from core.analysis.arithmetic.cell import attention_row
from core.analysis.attention.aggregate import aggregate_heads
from viz.labels import percent
from viz.workspace.look import cell as look_cell
from viz.workspace.shared import head_survey

MODEL, TEXT = "translator-en-es", "She has a white car."
KINDS = pytest.mark.parametrize("kind", ["cross", "self", "causal"])


@pytest.fixture(scope="module")
def run() -> core.Run:
    return core.open_model(MODEL).run(TEXT)


def full(**link: str) -> AppTest:
    """The full view of one head, its arithmetic in view."""
    names = {"layer": "2", "head": "3"} | link
    return page("look", NEAR, view="full", **names)


def of_run(run: core.Run, kind: str) -> core.Attention:
    """The attention of a run as Look draws it."""
    return run.attention(kind, by="word", writing=kind == "cross")


def captions(test: AppTest) -> str:
    return "\n".join(caption.value for caption in test.caption)


def test_the_first_screen_draws_the_aligner_on_the_opening_sentence(run):
    test = page("look")
    head = header(test, "layout")
    assert head["keys"] == ["She", "has", "a", "white", "car", "."]
    assert "blanco" in head["words"] and head["layout"] == "two"
    place = next(iter(head_survey.clearest_heads(head_survey.survey(MODEL))))
    assert place.kind == "cross"
    attention = of_run(run, "cross")
    weights = attention.weights[place.layer, place.head]
    np.testing.assert_allclose(matrix(test, "layout"), weights, atol=1e-6)
    for written, source in (("auto", "car"), ("blanco", "white")):  # why this sentence was chosen
        row = weights[attention.queries.index(written)]
        assert attention.keys[int(row.argmax())] == source and row.max() > 0.8


def test_all_heads_are_one_picture_on_one_scale(run):
    head = header(page("look", view="heads"), "kinds", "size")
    assert head["size"] == [3, 8] and [len(row) for row in head["kind"]] == [8] * 3
    assert head["tokens"] == list(of_run(run, "cross").weights.shape[2:])
    assert head["kinds"][head["kind"][1][5]] == head_survey.survey(MODEL)["cross"].label(1, 5)


@pytest.mark.quick(1)
@KINDS
def test_the_heatmap_holds_the_exact_values_of_the_run(run, kind):
    test = full(kind=kind, look__beside="lines")
    for picture in (("scale", "axis"), ("inks",)):
        np.testing.assert_allclose(matrix(test, *picture), of_run(run, kind).weights[2, 3], atol=1e-6)
        assert header(test, *picture)["group"] == "look"


@KINDS
def test_the_arithmetic_is_that_of_the_chosen_cell_and_the_source_that_of_its_tensor(run, kind):
    test = full(kind=kind)
    cell, code, place = header(test, "cell", "residue"), header(test, "scope"), header(test, "scale", "axis")
    assert cell["weight"] == pytest.approx(of_run(run, kind).weights[2, 3][*place["selected"]], abs=1e-6)
    assert cell["cell"][:2] == [2, 3] and cell["light"] is False and cell["told"][0]["result"]
    card = json.loads(carried(*packets_of(test))[code["card"]])
    assert code["selected"] == card["path"] == run.attention(kind).paths[2]


def test_nothing_is_calculated_while_nobody_sees_it(run, monkeypatch):
    for name in ("cell_arithmetic", "source_lines", "tensor_card"):
        monkeypatch.setattr(look_cell, name, lambda *_, **__: pytest.fail("calculated for nobody"))
    test = page("look", view="full", kind="cross", layer="2", head="3")
    cell, place = header(test, "light"), header(test, "scale", "axis")["selected"]
    assert cell["light"] is True and cell["cell"][:2] == [2, 3]
    assert cell["weight"] == pytest.approx(of_run(run, "cross").weights[2, 3][*place], abs=1e-6)
    assert not {"lines", "told", "numbers"} & set(cell) and not sent(test, "scope")
    assert {cell["kit"], cell["code"]} < set(cell["needs"]) and len(cell["needs"]) == 4, (
        "no part but the code of the instrument, whose numbers it shows, and the references"
    )


def test_the_browser_has_the_last_word_on_what_is_in_view():
    test = page("look", view="full")
    before = header(test, "light")
    test.session_state["look.cell"] = NEAR["look.cell"]
    after = header(again(test), "light")
    assert (before["light"], after["light"]) == (True, False) and before["of"] == after["of"]
    test.query_params["head"] = "3"
    other = header(again(test), "light")
    assert other["light"] is False and other["of"] != after["of"], "in view at the last word: no second trip"


@pytest.mark.parametrize(
    ("how", "says"),
    [("mean", "no single head"), ("largest", "do not add up"), ("rollout", "picture of paths")],
)
def test_heads_joined_are_those_of_the_core_and_come_with_a_word_of_care(run, how, says):
    test = full(kind="self", layer="1", look__how=how)
    wanted = aggregate_heads(run, "self", how, "word").weights[1, 0]
    np.testing.assert_allclose(matrix(test, "scale", "axis"), wanted, atol=1e-6)
    assert says in captions(test) and not sent(test, "cell", "residue")


@pytest.mark.parametrize("kind", ["self", "cross"])
def test_the_text_can_be_shaded_in_the_place_of_lines(run, kind):
    test, wanted = full(kind=kind, look__beside="text"), of_run(run, kind)
    np.testing.assert_allclose(matrix(test, "direction", "mode"), wanted.weights[2, 3], atol=1e-6)
    head = header(test, "direction", "mode")
    assert head["queries"]["words"] == list(wanted.queries) and (head["keys"] is None) == (kind == "self")
    assert not sent(test, "inks")


def test_rollout_is_not_offered_between_two_texts():
    (bar,) = [
        group
        for group in full(kind="cross", look__how="rollout").segmented_control
        if group.label == "Heads of the layer"
    ]
    assert "Rollout" not in bar.options and bar.value == "one"


@pytest.mark.parametrize(("kind", "own"), [("cross", False), ("self", True)])
def test_only_attention_within_one_text_has_an_own_position(run, kind, own):
    """“blanco” of the opening sentence: six words written, six read, and the fifth looks at the fourth."""
    weights = of_run(run, kind).weights
    n = min(weights.shape[-2:])
    diagonal = weights[..., range(n), range(n)]
    layer, head, row = np.unravel_index(int(diagonal.argmax()), diagonal.shape)
    assert diagonal[layer, head, row] > 0.5
    test = full(kind=kind, layer=str(layer), head=str(head), look__word=str(row))
    assert header(test, "scale", "axis")["selected"][0] == row
    assert ("its own position" in captions(test)) == own


@KINDS
def test_the_arithmetic_ends_at_the_weight_of_the_run(run, kind):
    row = attention_row(run, kind, 1, 4, 2)
    np.testing.assert_allclose(row.weights, run.attention(kind).weights[1, 4, 2], atol=1e-5)
    assert row.residue < 1e-4


def test_a_typed_translation_is_read_as_it_is():
    test = full(target="Ella tiene un coche.")
    assert header(test, "scale", "axis")["queries"] == ["Ella", "tiene", "un", "coche", ".", "END"]


def test_an_empty_box_asks_for_a_sentence_and_draws_nothing():
    test = page("look", text=" ")
    assert "Type a sentence" in said(test) and not sent(test, "layout")


def test_the_sentence_of_the_documents_gives_ten_lines_each_a_causal_row():
    """ "The FBI is chasing a criminal on the run .": one line a word, each shaded by what it looks back at."""
    text = "The FBI is chasing a criminal on the run ."
    test = full(model="gpt-mini", text=text, layer="3", head="6", look__beside="text")
    lines, shades = header(test, "direction", "mode")["queries"]["words"], matrix(test, "direction", "mode")
    assert lines == text.split() and len(lines) == 10
    wanted = core.open_model("gpt-mini").run(text).attention("causal", by="word").weights[3, 6]
    np.testing.assert_allclose(shades, wanted, atol=1e-6)
    np.testing.assert_allclose(shades.sum(1), 1, atol=1e-5)
    assert (np.triu(shades, 1) == 0).all()


@pytest.mark.parametrize(("word", "several"), [("3", True), ("1", False)])
def test_of_words_with_several_pieces_the_heaviest_pair_is_calculated_and_said_so(word, several):
    text = "The old man didn't know."
    test = full(model="gpt-mini", text=text, layer="3", head="6", look__word=word)
    told = [line for line in captions(test).split("\n") if "pair of tokens" in line]
    run = core.open_model("gpt-mini").run(text)
    row = run.attention("causal", by="word").weights[3, 6, int(word)]
    pieces, key = (run.side.words[place].pieces for place in (int(word), int(row.argmax())))
    largest = run.attention("causal").weights[3, 6][np.ix_(pieces, key)].max()
    assert header(test, "cell", "residue")["weight"] == pytest.approx(largest, abs=1e-6)
    assert bool(told) == several == (len(pieces) + len(key) > 2)
    assert not several or (percent(row.max()) in told[0] and percent(largest) in told[0])


@pytest.mark.slow
def test_a_text_beyond_the_context_says_what_is_read_and_lets_it_be_moved():
    text = " ".join(f"word{i}" for i in range(400))
    tokens = len([span for span in core.open_model("gpt-mini").tokenizer.encode(text).spans if span])
    test = page("look", model="gpt-mini", text=text)
    (slider,) = [slider for slider in test.slider if "Shown from token" in slider.label]
    assert f"{tokens:,} tokens" in slider.label and "512 at once" in slider.label
    assert (slider.min, slider.max) == (0, tokens - 512)
    assert header(test, "layout", "words")["keys"][0] == "word0"
    slider.set_value(tokens - 512)
    assert linked(again(test))["look.from"] == str(tokens - 512)
    keys = header(test, "layout", "words")["keys"]
    assert keys[-1] == "word399" and keys[0] != "word0" and text.endswith(" ".join(keys[1:]))


FAILURES = ("telling error", "find an end")


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("model", "link", "told"),
    [
        (MODEL, {}, ""),
        (MODEL, {"text": "ha ha ha ha"}, "find an end: it repeats “gran” "),
        ("bert-mini", {"text": "Money is in the [MASK]."}, "bert-mini has “bank” at rank "),
        ("rnn-en-es", {}, "telling error"),
        ("rnn-en-es", {"text": "Give me the black hat, not the white one."}, "rnn-en-es writes “Dame "),
        (MODEL, {"text": "The black cat is sleeping on the white bed."}, ""),
        (MODEL, {"text": "cat", "target": "gato"}, ""),
        ("bert-mini", {"text": "She is eating a green [MASK]."}, ""),
    ],
)
def test_what_a_model_fails_at_is_told_below_the_picture_and_nothing_else(model, link, told):
    here = said(page("look", model=model, **link))
    assert told in here and any(failure in here for failure in FAILURES) == bool(told)
