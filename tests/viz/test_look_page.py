"""Look and Compare on the shipped translator: what the pictures are sent is what the run holds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from test_instruments_faces import carried, opened, unpacked

import core
from core.analysis.arithmetic.cell import row_of
from core.analysis.attention.aggregate import aggregated
from core.analysis.heads.evidence import TESTS
from core.analysis.heads.habits import WORDS
from core.analysis.heads.head_file import read_heads
from core.analysis.heads.occasions import occurs
from core.checkpoints.manifest import shipped_folder
from core.glossary import term
from viz.labels import percent
from viz.workspace.compare import data, folds
from viz.workspace.look import cell as look_cell
from viz.workspace.shared import heads

MODEL, TEXT = "translator-en-es", "She has a white car."


@pytest.fixture(scope="module")
def run() -> core.Run:
    return core.open_model(MODEL).run(TEXT)


def page(name: str, near: str = "yes", **link: str) -> AppTest:
    test = AppTest.from_string(
        f"from viz.shell import pages\npage = pages.find({name!r})\npage.page()", default_timeout=60
    )
    for key, value in link.items():
        test.query_params[key] = value
    if near:
        test.session_state["look.cell"] = {
            "near": True
        }  # what the browser says when the arithmetic is in view
    test.run()
    assert not test.exception
    return test


def packets(test: AppTest) -> list[bytes]:
    return [element.proto.bytes for element in test.get("bidi_component") if element.proto.bytes]


def said(test: AppTest) -> str:
    return "\n".join(str(element.value) for element in (*test.text, *test.markdown))


def named(test: AppTest, *fields: str) -> list[bytes]:
    """The packets whose header has these fields."""
    return [packet for packet in packets(test) if all(field in opened(packet)[0] for field in fields)]


def test_the_first_screen_draws_the_aligner_on_the_opening_sentence(run):
    (packet,) = named(page("look"), "layout")
    header = opened(packet)[0]
    assert header["keys"] == ["She", "has", "a", "white", "car", "."]
    assert "blanco" in header["words"] and header["layout"] == "two"
    place = next(iter(heads.habits(heads.survey(MODEL))))
    assert place.kind == "cross"
    wanted = run.attention("cross", by="word", writing=True).weights[place.layer, place.head]
    np.testing.assert_allclose(unpacked(packet), wanted, atol=1e-6)


def test_the_opening_sentence_was_chosen_by_evidence(run):
    """The best head, found by measuring, links the adjective and the noun across the two languages."""
    place = next(iter(heads.habits(heads.survey(MODEL))))
    attention = run.attention("cross", by="word", writing=True)
    for written, source in (("auto", "car"), ("blanco", "white")):
        row = attention.weights[place.layer, place.head, attention.queries.index(written)]
        assert attention.keys[int(row.argmax())] == source and row.max() > 0.8


def test_all_heads_are_one_picture_on_one_scale(run):
    test = page("look", view="heads")
    (packet,) = named(test, "kinds", "size")
    header = opened(packet)[0]
    assert (
        header["size"] == [3, 8]
        and [len(row) for row in header["kind"]] == [8] * 3
        and header["tokens"] == list(run.attention("cross", by="word", writing=True).weights.shape[2:])
    )
    measured = heads.survey(MODEL)["cross"]
    assert header["kinds"][header["kind"][1][5]] == measured.word(1, 5)


@pytest.mark.parametrize("kind", ["cross", "self", "causal"])
def test_the_heatmap_holds_the_exact_values_of_the_run(run, kind):
    test = page("look", view="full", kind=kind, layer="2", head="3")
    (packet,) = named(test, "scale", "axis")
    wanted = run.attention(kind, by="word", writing=kind == "cross").weights[2, 3]
    np.testing.assert_allclose(unpacked(packet, page=packets(test)), wanted, atol=1e-6)
    (lines,) = named(test, "inks")
    np.testing.assert_allclose(unpacked(lines, page=packets(test)), wanted, atol=1e-6)
    assert opened(lines)[0]["group"] == opened(packet)[0]["group"] == "look"


@pytest.mark.parametrize("kind", ["cross", "self", "causal"])
def test_the_arithmetic_is_that_of_the_chosen_cell_and_the_source_that_of_its_tensor(run, kind):
    test = page("look", view="full", kind=kind, layer="2", head="3")
    (heat,), (cell,), (code,) = (
        named(test, "scale", "axis"),
        named(test, "cell", "residue"),
        named(test, "scope"),
    )
    header, (query, key) = opened(cell)[0], opened(heat)[0]["selected"]
    weights = run.attention(kind, by="word", writing=kind == "cross").weights[2, 3]
    assert header["weight"] == pytest.approx(weights[query, key], abs=1e-6) and header["cell"][:2] == [2, 3]
    told = opened(code)[0]
    assert (
        told["selected"]
        == json.loads(carried(*packets(test))[told["card"]])["path"]
        == run.attention(kind).paths[2]
    )
    assert header["light"] is False and header["told"][0]["result"]


def test_nothing_is_calculated_while_nobody_sees_it(run, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("calculated for nobody")

    for name in ("lines_of", "source_of", "tensor_card"):
        monkeypatch.setattr(look_cell, name, never)
    test = page("look", view="full", kind="cross", layer="2", head="3", near="")
    (heat,), (cell,) = named(test, "scale", "axis"), named(test, "light")
    header, (query, key) = opened(cell)[0], opened(heat)[0]["selected"]
    weights = run.attention("cross", by="word", writing=True).weights[2, 3]
    assert (
        header["light"] is True
        and header["cell"][:2] == [2, 3]
        and header["weight"] == pytest.approx(weights[query, key], abs=1e-6)
    )
    assert not {"lines", "told", "numbers"} & set(header) and not named(test, "scope")
    assert {header["kit"], header["code"]} < set(header["needs"]) and len(header["needs"]) == 3, (
        "no part but the code of the instrument and whose numbers it shows"
    )


def test_the_browser_has_the_last_word_on_what_is_in_view():
    test = page("look", view="full", near="")
    before = opened(named(test, "light")[0])[0]
    test.session_state["look.cell"] = {"near": True}
    after = opened(named(test.run(), "light")[0])[0]
    assert (before["light"], after["light"]) == (True, False) and before["of"] == after["of"]
    test.query_params["head"] = "3"
    other = opened(named(test.run(), "light")[0])[0]
    assert other["light"] is False and other["of"] != after["of"], "in view at the last word: no second trip"


@pytest.mark.parametrize(
    ("how", "says"),
    [("mean", "no single head"), ("largest", "do not add up"), ("rollout", "picture of paths")],
)
def test_heads_joined_are_those_of_the_core_and_come_with_a_word_of_care(run, how, says):
    test = page("look", view="full", kind="self", layer="1", **{"look.how": how})
    (packet,) = named(test, "scale", "axis")
    wanted = aggregated(run, "self", how, "word").weights[1, 0]
    np.testing.assert_allclose(unpacked(packet, page=packets(test)), wanted, atol=1e-6)
    assert says in "\n".join(caption.value for caption in test.caption) and not named(test, "cell", "residue")


@pytest.mark.parametrize("kind", ["self", "cross"])
def test_the_text_can_be_shaded_in_the_place_of_lines(run, kind):
    test = page("look", view="full", kind=kind, layer="2", head="3", **{"look.beside": "text"})
    (packet,) = named(test, "direction", "mode")
    wanted = run.attention(kind, by="word", writing=kind == "cross")
    np.testing.assert_allclose(unpacked(packet, page=packets(test)), wanted.weights[2, 3], atol=1e-6)
    header = opened(packet)[0]
    assert header["queries"]["words"] == list(wanted.queries) and (header["keys"] is None) == (kind == "self")
    assert not named(test, "inks")


def test_rollout_is_not_offered_between_two_texts():
    test = page("look", view="full", kind="cross", **{"look.how": "rollout"})
    (bar,) = [group for group in test.segmented_control if group.label == "Heads of the layer"]
    assert "Rollout" not in bar.options and bar.value == "one"


def test_a_sink_is_named_where_there_is_one_and_not_elsewhere():
    def cautioned(layer: int, head: int) -> str:
        test = page(
            "look",
            model="gpt-mini",
            view="full",
            layer=str(layer),
            head=str(head),
            text="The old man sat by the fire and told a story.",
        )
        return "\n".join(caption.value for caption in test.caption)

    pattern = (
        core.open_model("gpt-mini")
        .run("The old man sat by the fire and told a story.")
        .attention("causal", by="word")
        .weights
    )
    rest = pattern[:, :, 1:, 0].mean(-1)
    most, least = (np.unravel_index(int(place), rest.shape) for place in (rest.argmax(), rest.argmin()))
    assert rest[most] > 0.55 and rest[least] < 0.45
    assert "attention sink" in cautioned(*most) and "attention sink" not in cautioned(*least)


def test_the_arithmetic_ends_at_the_weight_of_the_run(run):
    for kind in run.kinds:
        row = row_of(run, kind, 1, 4, 2)
        assert row.residue < 1e-4 and row.weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(row.weights, run.attention(kind).weights[1, 4, 2], atol=1e-5)
        assert (row.weights[~row.allowed] == 0).all()


def test_a_typed_translation_is_read_as_it_is():
    test = page("look", target="Ella tiene un coche.", view="full")
    (packet,) = named(test, "scale", "axis")
    assert opened(packet)[0]["queries"] == ["Ella", "tiene", "un", "coche", ".", "END"]


def test_an_empty_box_asks_for_a_sentence_and_draws_nothing():
    test = page("look", text=" ")
    assert "Type a sentence" in said(test) and not named(test, "layout")


def test_compare_opens_with_two_different_heads_and_their_difference(run):
    test = page("compare", model=MODEL, text=TEXT)
    drawn = named(test, "scale", "axis")
    assert [opened(packet)[0]["scale"] for packet in drawn] == ["pattern", "pattern", "difference"]
    left, right, difference = (unpacked(packet) for packet in drawn)
    assert not np.allclose(left, right)
    np.testing.assert_allclose(difference, left - right, atol=1e-5)
    assert "They differ most at" in said(test)


def test_compare_of_a_head_with_itself_says_so():
    test = page(
        "compare", model=MODEL, text=TEXT, **{"compare.panes": f"{MODEL}~cross~1.3|{MODEL}~cross~1.3"}
    )
    assert "one head beside itself" in said(test)


def test_every_head_in_figures(run):
    attention = run.attention("self", by="word")
    table = folds.figures(heads.survey(MODEL)["self"], attention.weights).set_index("head")
    assert len(table) == 24
    layer, head = heads.survey(MODEL)["self"].best()["previous"]
    name, row = f"L{layer}.H{head}", attention.weights[layer, head]
    assert table.loc[name, "habit"] == "previous word" and table.loc[name, "on previous word, battery"] > 0.35
    bits = -(row * np.log2(np.where(row > 0, row, 1))).sum(-1).mean()
    assert table.loc[name, "entropy here, bits"] == pytest.approx(bits, abs=0.006)
    far = sum(row[i, j] * abs(i - j) for i in range(6) for j in range(6)) / 6
    assert table.loc[name, "mean distance here, words"] == pytest.approx(far, abs=0.006)


def test_names_of_heads_are_those_that_ship_and_measured_where_none_do(monkeypatch):
    held = read_heads(shipped_folder() / MODEL)
    assert held is not None
    shipped = heads.survey(MODEL)
    for kind, measured in held.trained.items():
        assert (
            shipped[kind].scores.keys() == measured.scores.keys() and shipped[kind].best() == measured.best()
        )
    monkeypatch.setattr(heads, "FILE", "none.json")
    here = heads.survey(MODEL)
    assert here["self"].n == 16 < shipped["self"].n and not here["self"].controls
    assert next(iter(heads.habits(here))) == next(iter(heads.habits(shipped)))
    np.testing.assert_allclose(here["cross"].scores["aligner"], shipped["cross"].scores["aligner"], atol=1e-3)


def test_the_sentence_of_the_documents_gives_ten_lines_each_a_causal_row():
    """ "The FBI is chasing a criminal on the run .": one line a word, each shaded by what it looks back at."""
    text = "The FBI is chasing a criminal on the run ."
    test = page(
        "look", model="gpt-mini", text=text, view="full", layer="3", head="6", **{"look.beside": "text"}
    )
    (packet,) = named(test, "direction", "mode")
    lines = opened(packet)[0]["queries"]["words"]
    assert lines == text.split() and len(lines) == 10
    shades = unpacked(packet, page=packets(test))
    wanted = core.open_model("gpt-mini").run(text).attention("causal", by="word").weights[3, 6]
    np.testing.assert_allclose(shades, wanted, atol=1e-6)
    np.testing.assert_allclose(shades.sum(1), 1, atol=1e-5)
    assert (np.triu(shades, 1) == 0).all()


@pytest.mark.parametrize(("word", "several"), [("3", True), ("1", False)])
def test_of_words_with_several_pieces_the_heaviest_pair_is_calculated_and_said_so(word, several):
    text = "The old man didn't know."
    test = page("look", model="gpt-mini", text=text, view="full", layer="3", head="6", **{"look.word": word})
    (cell,) = named(test, "cell", "residue")
    header, said = (
        opened(cell)[0],
        [caption.value for caption in test.caption if "pair of tokens" in caption.value],
    )
    run = core.open_model("gpt-mini").run(text)
    row = run.attention("causal", by="word").weights[3, 6, int(word)]
    pieces, key = (run.side.words[place].pieces for place in (int(word), int(row.argmax())))
    pattern = run.attention("causal").weights[3, 6][np.ix_(pieces, key)]
    assert header["weight"] == pytest.approx(pattern.max(), abs=1e-6)
    assert bool(said) == several == (len(pieces) + len(key) > 2)
    assert not several or (percent(row.max()) in said[0] and percent(pattern.max()) in said[0])


def test_a_text_beyond_the_context_says_what_is_read_and_lets_it_be_moved():
    text = " ".join(f"word{i}" for i in range(400))
    tokens = len([span for span in core.open_model("gpt-mini").tokenizer.encode(text).spans if span])
    test = page("look", model="gpt-mini")
    test.text_input[0].set_value(text).run()
    (slider,) = [slider for slider in test.slider if "Shown from token" in slider.label]
    assert (
        f"{tokens:,} tokens" in slider.label
        and "512 at once" in slider.label
        and (slider.min, slider.max) == (0, tokens - 512)
    )
    (packet,) = named(test, "layout", "words")
    assert opened(packet)[0]["keys"][0] == "word0"
    slider.set_value(tokens - 512).run()
    assert not test.exception and test.query_params["look.from"] == str(tokens - 512)
    (packet,) = named(test, "layout", "words")
    keys = opened(packet)[0]["keys"]
    assert keys[-1] == "word399" and keys[0] != "word0" and text.endswith(" ".join(keys[1:]))


@pytest.mark.parametrize(
    ("model", "text", "told"),
    [
        (MODEL, "ha ha ha ha", "translator-en-es does not find an end: it repeats “gran” "),
        ("bert-mini", "Money is in the [MASK].", "A telling error: bert-mini has “bank” at rank "),
        (
            "rnn-en-es",
            "Give me the black hat, not the white one.",
            "A telling error: rnn-en-es writes “Dame ",
        ),
    ],
)
def test_what_a_model_fails_at_is_told_below_the_picture(model: str, text: str, told: str):
    assert told in said(page("look", model=model, text=text))


@pytest.mark.parametrize(
    ("model", "link"),
    [
        (MODEL, {"text": "The black cat is sleeping on the white bed."}),
        (MODEL, {"text": "cat", "target": "gato"}),
        ("bert-mini", {"text": "She is eating a green [MASK]."}),
    ],
)
def test_what_a_model_does_well_or_was_given_is_no_failure(model: str, link: dict[str, str]):
    here = said(page("look", model=model, **link))
    assert "telling error" not in here and "find an end" not in here


def test_a_head_is_told_with_its_kind_where_kinds_stand_side_by_side():
    test = page("look", view="heads")
    labels = [option.content for group in test.get("button_group") for option in group.proto.options]
    assert any("enc.L" in label for label in labels) and any("cross.L" in label for label in labels)
    assert not any("small[L" in label for label in labels)
    (grid,) = named(test, "kinds", "size")
    assert opened(grid)[0]["before"] == "cross."
    alone = page("look", model="gpt-mini", view="heads")
    assert opened(named(alone, "kinds", "size")[0])[0]["before"] == ""


def test_a_telling_error_is_told_at_the_opening_sentence():
    assert "A telling error: rnn-en-es writes “" in said(page("look", model="rnn-en-es"))
    assert "telling error" not in said(page("look"))


def test_what_a_head_is_stands_behind_a_question_mark_beside_the_heads():
    for link in ({}, {"view": "full"}):
        told = next(
            element.help
            for element in page("look", **link).markdown
            if element.value == ":gray[:small[Heads]]"
        )
        assert told.startswith(term("head").sentence) and "L3.H5" in told
        named = heads.habits(heads.survey(MODEL), core.open_model(MODEL).run(TEXT))
        assert all(
            f"**{word}**: {TESTS[habit]}" in told
            for word in list(named.values())[:4]
            for habit in TESTS
            if WORDS[habit] == word
        )


QUOTE, PLAIN = '"Come with me," said the fox.', "The animal didn't cross the street."


def test_a_head_of_quotes_is_offered_only_where_something_is_quoted():
    survey = heads.survey("gpt-mini")
    place = heads.Place("causal", *survey["causal"].best()["quotes"])
    with_, without = (
        heads.habits(survey, core.open_model("gpt-mini").run(text, keep=[])) for text in (QUOTE, PLAIN)
    )
    assert place in with_ and place not in without and without
    offered = next(
        group
        for group in page("decode", model="gpt-mini", text=PLAIN).button_group
        if group.key == "decode.heads"
    )
    assert not any("opening quote" in option.content for option in offered.proto.options)


def test_compare_opens_with_heads_whose_habits_have_an_occasion():
    for text in (PLAIN, QUOTE):
        for view in data.opening("gpt-mini", text):
            assert occurs(heads.survey("gpt-mini")["causal"].kind(view.layer, view.head), text)
    first = data.opening("gpt-mini", QUOTE)[0]
    assert (
        heads.survey("gpt-mini")["causal"].best(PLAIN) != heads.survey("gpt-mini")["causal"].best(QUOTE)
        and first
    )
