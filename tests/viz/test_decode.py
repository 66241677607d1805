"""Decode: the steps behind the page, and the page itself, on small random models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.analysis.heads.habits import HeadHabits
from core.decoding import Beam, decode, n_best, prompt_of
from core.model import Model
from core.models import families
from core.serving.engine import Engine, Listing
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from viz.workspace.decode import beam, controls, page, pictures

LINES = [
    "once upon a time there was a white car",
    "el gato blanco está en la casa",
    "the king said to the old man",
] * 4

FAMILY = {"gpt-mini": "gpt", "translator-en-es": "transformer"}

N_CTX = 180


def small(name: str) -> Model:
    """A random model of the family, with a tokenizer of its own."""
    torch.manual_seed(3)
    family = families()[FAMILY[name]]
    special = ["<|end|>", "<start>", "<end>"]
    names = Tokenizer(
        learn_byte_level_bpe(LINES, 320, special, prefix_space=family.has_source), pad=0, start=1, end=2
    )
    config = replace(family.config.tiny(), n_vocab=len(names), n_ctx=N_CTX)
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    return Model(name, family, config, network, names)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The process's engine with two small models; `forwards` counts what the networks compute."""
    made = {name: small(name) for name in FAMILY}
    seen = SimpleNamespace(forwards=0, models=made)

    def count(*_: object) -> None:
        seen.forwards += 1

    for model in made.values():
        model.network.register_forward_hook(count)
    listing = tuple(Listing(name, True, "", family) for name, family in FAMILY.items())
    with Engine(opener=made.__getitem__, listing=lambda: listing) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        measured = HeadHabits(
            {"first": np.full((2, 3), 0.1) + np.eye(2, 3), "spread": np.full((2, 3), 0.9)}, 1
        )
        monkeypatch.setattr(
            "viz.workspace.shared.head_survey.survey", lambda name: {"causal": measured, "cross": measured}
        )
        yield seen


SCRIPT = """
from viz.shell import errors
from viz.workspace.decode import page as decode
with errors.guard():
    decode.page()
"""


def drawn(**query: str) -> AppTest:
    test = AppTest.from_string(SCRIPT, default_timeout=60)
    for name, value in query.items():
        test.query_params[name.replace("__", ".")] = value
    return test.run()


def said(test: AppTest) -> str:
    return "\n".join(
        str(element.value) for kind in (test.text, test.markdown, test.caption) for element in kind
    )


def n_of(test: AppTest) -> str:
    return str(test.query_params.get("decode.n", "1"))


def press(test: AppTest, key: str) -> AppTest:
    return test.button(key=key).click().run()


def test_the_page_opens_on_a_first_token(engine):
    test = drawn()
    assert not test.exception
    assert states(said(test), f"“{page.Params().text}”", "gpt-mini")
    assert len(test.get("bidi_component")) == 4
    assert test.button(key="decode.back").disabled
    assert not test.button(key="decode.next").disabled


def test_next_back_and_first_move_in_time_and_the_link_follows(engine):
    test = drawn()
    opening = said(test)
    test = press(press(test, "decode.next"), "decode.next")
    assert n_of(test) == "3"
    third = said(test)
    test = press(press(test, "decode.back"), "decode.first")
    assert n_of(test) == "1"
    assert said(test) == opening
    assert said(drawn(decode__n="3")) == third != opening


def test_the_translator_draws_a_matrix_with_a_row_a_step(engine):
    test = drawn(model="translator-en-es", text="a white car", decode__n="4")
    assert not test.exception
    assert "translator-en-es gives" in said(test)
    assert len(test.get("bidi_component")) == 4


def test_the_translator_also_shows_where_it_looks_in_what_it_wrote(engine, monkeypatch):
    seen: list[tuple[str, tuple[int, ...]]] = []
    for name in ("heatmap", "words_view"):
        monkeypatch.setattr(
            pictures, name, lambda weights, *_, name=name, **__: seen.append((name, weights.shape))
        )
    query = {"model": "translator-en-es", "text": "a white car", "decode__n": "4"}
    across, before = drawn(**query), drawn(**query, kind="causal")
    assert not across.exception and not before.exception
    n_source = len(prompt_of(engine.models["translator-en-es"], "a white car").source_tokens)
    assert seen == [
        ("heatmap", (4, n_source)),
        ("words_view", (4, 4)),
    ]  # START and three words before the fourth
    assert [group.value for group in before.segmented_control if group.label == "Which attention"] == [
        "causal"
    ]


@pytest.mark.slow
def test_drawing_shows_its_knobs_and_the_same_link_draws_the_same(engine):
    assert not drawn().slider
    query = {"decode__temperature": "1.3", "decode__top_k": "20", "decode__seed": "7", "decode__n": "5"}
    one, two, other = drawn(**query), drawn(**query), drawn(**{**query, "decode__seed": "8"})
    assert len(one.slider) == 4
    assert "The random number" in said(one)
    assert said(one) == said(two) != said(other)


def test_a_link_with_forks_writes_the_same_again(engine):
    query = {"decode__n": "4", "decode__force": "1:9.3:12", "decode__tried": "@6;1:5@2"}
    one = drawn(**query)
    assert not one.exception and said(one) == said(drawn(**query)) != said(drawn(decode__n="4"))
    forced = page.compute(page.Params(model="gpt-mini", n=4, force=((1, 9), (3, 12)))).steps
    assert [forced[1].id, forced[3].id] == [9, 12] and {forced[1].chosen_by, forced[0].chosen_by} == {
        "forced",
        "argmax",
    }


@pytest.mark.quick(1)
@pytest.mark.parametrize("model", FAMILY)
def test_a_beam_shows_its_tree_and_what_its_best_text_scores(engine, model):
    test = drawn(model=model, text="a white car", decode__beam="4", decode__length="0.7", decode__n="5")
    assert not test.exception
    data = page.compute(page.Params(model=model, text="a white car", beam=4, length=0.7, n=5))
    want = list(decode(engine.models[model], "a white car", Beam(4, 0.7), max_new_tokens=5))
    best = n_best(data.last.tree, prompt_of(engine.models[model], "a white car"))[0]
    assert [step.tree.nodes for step in data.steps[:4]] == [
        step.tree.nodes for step in want[:4]
    ]  # in the last step all end
    assert f"{best.score:.3f}".replace("-", "−") in said(test)
    nodes = beam.branches(data.last, Beam(4, 0.7))
    assert {node.state for node in nodes} >= {"best", "pruned"} and all("ln p" in node.says for node in nodes)


def test_groups_that_do_not_divide_the_width_are_told(engine):
    test = drawn(decode__beam="4", decode__groups="3", decode__n="2")
    assert not test.exception and states(said(test), "4 texts", "3 groups")
    assert not drawn(decode__beam="4", decode__groups="2", decode__diversity="1.5", decode__n="2").exception


def test_further_filters_are_drawn_and_named(engine):
    data = page.compute(page.Params(model="gpt-mini", temperature=1.0, min_p=0.5, repetition=1.5, n=3))
    assert {cut.by for cut in data.last.cuts} <= {"min_p"} and data.last.cuts
    test = drawn(decode__temperature="1", decode__min_p="0.5", decode__repetition="1.5", decode__n="3")
    assert not test.exception and len(test.slider) == 4


@pytest.mark.quick(1)
@pytest.mark.parametrize("wrong", ["1:9.", "3:1.2:1", "1:999999", "<b>"])
def test_a_broken_fork_in_the_link_is_told_and_the_text_goes_on(engine, wrong):
    test = drawn(decode__n="3", decode__force=wrong)
    assert not test.exception and "cannot be shown" in said(test)


def test_another_text_begins_at_its_first_token(engine):
    test = drawn(decode__n="4", decode__force="1:9", decode__tried="@3")
    test = test.text_input[0].set_value("the old man").run()
    assert not {"decode.n", "decode.force", "decode.tried"} & set(test.query_params)
    assert states(said(test), "“the old man”")


def test_playing_goes_on_by_itself_and_stops(engine):
    test = drawn()
    test = press(test, "decode.play")
    assert not test.exception
    live = test.session_state["decode.live"]
    test = test.run()
    assert test.session_state["decode.live"] == live + 1
    test = press(test, "decode.stop")
    assert int(n_of(test)) >= live
    assert not test.session_state["decode.playing"]


def test_a_head_is_chosen_by_what_it_does_and_travels_in_the_link(engine):
    test = drawn()
    pills = next(group for group in test.button_group if group.key == "decode.heads")
    everything, first = list(pills.options)[:2]
    assert states(everything, "6 heads") and "attention sink" in first and states(first, "L0.H0")
    test = pills.set_value((0, 0)).run()
    assert test.query_params["layer"] == "0"
    assert (test.query_params["head"], test.query_params["kind"]) == ("0", "causal")
    assert not test.exception


def test_a_head_of_another_kind_is_not_taken_for_one_of_this(engine):
    mine, other = (
        drawn(model="translator-en-es", kind=kind, layer="1", head="2") for kind in ("cross", "self")
    )
    lit = [
        next(group for group in test.button_group if group.key == "decode.heads").value
        for test in (mine, other)
    ]
    assert lit == [(1, 2), controls.ALL]


def test_an_empty_prompt_begins_behind_start_and_says_so(engine):
    test = drawn(text="")
    assert "start token" in said(test)


def test_a_long_prompt_says_which_part_is_read_and_keeps_the_text(engine):
    text = "the king said to the old man " * 40
    test = drawn(text=text)
    assert "room to write" in said(test)
    assert test.text_input[0].value == text


@pytest.mark.quick(2)
@pytest.mark.parametrize("text", ["", "   ", "car " * 400, "\x00", "😀😀😀", "<b>x</b>", "<|end|> <start>"])
@pytest.mark.parametrize("model", FAMILY)
def test_bad_text_gets_a_sentence_and_stays_in_the_box(engine, model, text):
    test = drawn(model=model, text=text)
    assert not test.exception
    assert "Something went wrong" not in said(test)
    assert test.text_input[0].value == text


def test_special_names_that_are_typed_are_told(engine):
    assert states(said(drawn(text="a <|end|> b")), "<|end|>", "as letters")


def test_nonsense_in_the_link_is_told_and_mended(engine):
    test = drawn(decode__n="abc", decode__temperature="99", layer="88", head="-4")
    assert not test.exception
    assert "cannot be shown" in said(test)
    assert "Something went wrong" not in said(test)


def test_a_window_of_a_short_text_is_not_told(engine):
    window = page.compute(page.Params(model="gpt-mini")).window
    assert window.text == page.Params().text
    assert window.tokens == window.total > 0
    assert "room to write" not in said(drawn())
