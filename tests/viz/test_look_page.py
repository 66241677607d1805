"""Look and Compare on the shipped translator: what the pictures are sent is what the run holds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from packets import carried, opened, unpacked
from streamlit.testing.v1 import AppTest

import core
from core.analysis.arithmetic.cell import attention_row
from core.analysis.attention.aggregate import aggregate_heads
from viz.labels import percent
from viz.workspace.look import cell as look_cell
from viz.workspace.shared import head_survey

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
    place = next(iter(head_survey.clearest_heads(head_survey.survey(MODEL))))
    assert place.kind == "cross"
    wanted = run.attention("cross", by="word", writing=True).weights[place.layer, place.head]
    np.testing.assert_allclose(unpacked(packet), wanted, atol=1e-6)


def test_the_opening_sentence_was_chosen_by_evidence(run):
    """The best head, found by measuring, links the adjective and the noun across the two languages."""
    place = next(iter(head_survey.clearest_heads(head_survey.survey(MODEL))))
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
    measured = head_survey.survey(MODEL)["cross"]
    assert header["kinds"][header["kind"][1][5]] == measured.label(1, 5)


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["cross", "self", "causal"])
def test_the_heatmap_holds_the_exact_values_of_the_run(run, kind):
    test = page("look", view="full", kind=kind, layer="2", head="3", **{"look.beside": "lines"})
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

    for name in ("cell_arithmetic", "source_lines", "tensor_card"):
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
    assert {header["kit"], header["code"]} < set(header["needs"]) and len(header["needs"]) == 4, (
        "no part but the code of the instrument, whose numbers it shows, and the references"
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
    wanted = aggregate_heads(run, "self", how, "word").weights[1, 0]
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


@pytest.mark.slow
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


@pytest.mark.parametrize(("kind", "own"), [("cross", False), ("self", True)])
def test_only_attention_within_one_text_has_an_own_position(run, kind, own):
    """“blanco” of the opening sentence: six words written, six read, and the fifth looks at the fourth."""
    attention = run.attention(kind, by="word", writing=kind == "cross")
    n = min(attention.weights.shape[-2:])
    diagonal = attention.weights[..., range(n), range(n)]
    layer, head, row = np.unravel_index(int(diagonal.argmax()), diagonal.shape)
    assert diagonal[layer, head, row] > 0.5
    link = {"layer": str(layer), "head": str(head), "look.word": str(row)}
    test = page("look", view="full", kind=kind, **link)
    (packet,) = named(test, "scale", "axis")
    assert opened(packet)[0]["selected"][0] == row
    assert ("its own position" in "\n".join(caption.value for caption in test.caption)) == own


def test_the_arithmetic_ends_at_the_weight_of_the_run(run):
    for kind in run.kinds:
        row = attention_row(run, kind, 1, 4, 2)
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


@pytest.mark.slow
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


@pytest.mark.quick(1)
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


@pytest.mark.quick(1)
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


def test_a_telling_error_is_told_at_the_opening_sentence():
    assert "telling error" in said(page("look", model="rnn-en-es"))
    assert "telling error" not in said(page("look"))
