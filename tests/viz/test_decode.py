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
from workspace_pages import again, linked, page, said

import core.serving.engine
from core.analysis.heads.habits import HeadHabits
from core.decoding import Beam, decode, n_best, prompt_of
from core.model import Model
from core.models import families
from core.serving.engine import Engine, Listing
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from viz.workspace.decode import beam, controls, pictures
from viz.workspace.decode.page import Params, compute

LINES = [
    "once upon a time there was a white car",
    "el gato blanco está en la casa",
    "the king said to the old man",
] * 4
FAMILY = {"gpt-mini": "gpt", "translator-en-es": "transformer"}
N_CTX = 180
CAR = {"model": "translator-en-es", "text": "a white car"}


def small(name: str) -> Model:
    """A random model of the family, with a tokenizer of its own."""
    torch.manual_seed(3)
    family = families()[FAMILY[name]]
    backend = learn_byte_level_bpe(
        LINES, 320, ["<|end|>", "<start>", "<end>"], prefix_space=family.has_source
    )
    names = Tokenizer(backend, pad=0, start=1, end=2)
    config = replace(family.config.tiny(), n_vocab=len(names), n_ctx=N_CTX)
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    return Model(name, family, config, network, names)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The process's engine with two small models; `forwards` counts what the networks compute."""
    seen = SimpleNamespace(forwards=0, models={name: small(name) for name in FAMILY})

    def count(*_: object) -> None:
        seen.forwards += 1

    for model in seen.models.values():
        model.network.register_forward_hook(count)
    listing = tuple(Listing(name, True, "", family) for name, family in FAMILY.items())
    scores = {"first": np.full((2, 3), 0.1) + np.eye(2, 3), "spread": np.full((2, 3), 0.9)}
    survey = dict.fromkeys(("causal", "cross"), HeadHabits(scores, 1))
    monkeypatch.setattr("viz.workspace.shared.head_survey.survey", lambda name: survey)
    with Engine(opener=seen.models.__getitem__, listing=lambda: listing) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield seen


def drawn(**link: str) -> AppTest:
    return page("decode", **link)


def press(test: AppTest, key: str) -> AppTest:
    test.button(key=key).click()
    return again(test)


def test_the_page_opens_on_a_first_token(engine):
    test = drawn()
    assert states(said(test), f"“{Params().text}”", "gpt-mini") and len(test.get("bidi_component")) >= 4
    assert test.button(key="decode.back").disabled and not test.button(key="decode.next").disabled


def test_next_back_and_first_move_in_time_and_the_link_follows(engine):
    test = drawn()
    opening = said(test)
    test = press(press(test, "decode.next"), "decode.next")
    third = said(test)
    assert linked(test)["decode.n"] == "3" and said(drawn(decode__n="3")) == third != opening
    test = press(press(test, "decode.back"), "decode.first")
    assert linked(test).get("decode.n", "1") == "1" and said(test) == opening


def test_the_translator_also_shows_where_it_looks_in_what_it_wrote(engine, monkeypatch):
    seen: list[tuple[str, tuple[int, ...]]] = []
    for name in ("heatmap", "words_view"):
        monkeypatch.setattr(
            pictures, name, lambda weights, *_, name=name, **__: seen.append((name, weights.shape))
        )
    across, before = drawn(**CAR, decode__n="4"), drawn(**CAR, decode__n="4", kind="causal")
    n_source = len(prompt_of(engine.models[CAR["model"]], CAR["text"]).source_tokens)
    assert seen == [("heatmap", (4, n_source)), ("words_view", (4, 4))]  # START and three before the fourth
    assert "translator-en-es gives" in said(across)
    assert [bar.value for bar in before.segmented_control if bar.label == "Which attention"] == ["causal"]


@pytest.mark.slow
def test_drawing_shows_its_knobs_and_the_same_link_draws_the_same(engine):
    query = {"decode__temperature": "1.3", "decode__top_k": "20", "decode__seed": "7", "decode__n": "5"}
    one, two, other = drawn(**query), drawn(**query), drawn(**query | {"decode__seed": "8"})
    assert len(one.slider) == 4 and not drawn().slider
    assert "The random number" in said(one) and said(one) == said(two) != said(other)


def test_a_link_with_forks_writes_the_same_again(engine):
    query = {"decode__n": "4", "decode__force": "1:9.3:12", "decode__tried": "@6;1:5@2"}
    assert said(drawn(**query)) == said(drawn(**query)) != said(drawn(decode__n="4"))
    steps = compute(Params(model="gpt-mini", n=4, force=((1, 9), (3, 12)))).steps
    assert [(step.id, step.chosen_by) for step in steps[1::2]] == [(9, "forced"), (12, "forced")]
    assert steps[0].chosen_by == "argmax"


@pytest.mark.quick(1)
@pytest.mark.parametrize("model", FAMILY)
def test_a_beam_shows_its_tree_and_what_its_best_text_scores(engine, model):
    text = CAR["text"]
    test = drawn(model=model, text=text, decode__beam="4", decode__length="0.7", decode__n="5")
    data = compute(Params(model=model, text=text, beam=4, length=0.7, n=5))
    want = list(decode(engine.models[model], text, Beam(4, 0.7), max_new_tokens=5))
    best = n_best(data.last.tree, prompt_of(engine.models[model], text))[0]
    trees = [[step.tree.nodes for step in steps[:4]] for steps in (data.steps, want)]
    assert trees[0] == trees[1]  # in the last step all end
    assert f"{best.score:.3f}".replace("-", "−") in said(test)
    nodes = beam.branches(data.last, Beam(4, 0.7))
    assert {node.state for node in nodes} >= {"best", "pruned"} and all("ln p" in node.says for node in nodes)


def test_groups_that_do_not_divide_the_width_are_told(engine):
    test = drawn(decode__beam="4", decode__groups="3", decode__n="2")
    assert states(said(test), "4 texts", "3 groups")
    drawn(decode__beam="4", decode__groups="2", decode__diversity="1.5", decode__n="2")


def test_further_filters_are_drawn_and_named(engine):
    data = compute(Params(model="gpt-mini", temperature=1.0, min_p=0.5, repetition=1.5, n=3))
    assert {cut.by for cut in data.last.cuts} == {"min_p"}
    test = drawn(decode__temperature="1", decode__min_p="0.5", decode__repetition="1.5", decode__n="3")
    assert len(test.slider) == 4


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "link",
    [
        *({"decode__force": wrong} for wrong in ("1:9.", "3:1.2:1", "1:999999", "<b>")),
        {"decode__n": "abc", "decode__temperature": "99", "layer": "88", "head": "-4"},
    ],
    ids=str,
)
def test_nonsense_in_the_link_is_told_and_the_text_goes_on(engine, link):
    assert "cannot be shown" in said(drawn(**{"decode__n": "3"} | link))


def test_another_text_begins_at_its_first_token(engine):
    test = drawn(decode__n="4", decode__force="1:9", decode__tried="@3", decode__with="@5")
    test.text_input[0].set_value("the old man")
    assert states(said(again(test)), "“the old man”")
    assert not {"decode.n", "decode.force", "decode.tried", "decode.with"} & {*linked(test)}


def test_playing_goes_on_by_itself_and_stops(engine):
    test = press(drawn(), "decode.play")
    live = test.session_state["decode.live"]
    assert again(test).session_state["decode.live"] == live + 1
    press(test, "decode.stop")
    assert int(linked(test)["decode.n"]) >= live and not test.session_state["decode.playing"]


def test_a_head_is_chosen_by_what_it_does_and_travels_in_the_link(engine):
    test = drawn()
    pills = test.button_group(key="decode.heads")
    everything, first = list(pills.options)[:2]
    assert states(everything, "6 heads") and "attention sink" in first and states(first, "L0.H0")
    pills.set_value((0, 0))
    assert {"kind": "causal", "layer": "0", "head": "0"}.items() <= linked(again(test)).items()


def test_a_head_of_another_kind_is_not_taken_for_one_of_this(engine):
    tests = (drawn(model="translator-en-es", kind=kind, layer="1", head="2") for kind in ("cross", "self"))
    assert [test.button_group(key="decode.heads").value for test in tests] == [(1, 2), controls.ALL]


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    ("model", "text", "part"),
    [
        ("gpt-mini", "", "start token"),
        ("gpt-mini", "a <|end|> b", "as letters"),
        ("gpt-mini", "the king said to the old man " * 40, "room to write"),
        *(
            (model, text, "")
            for text in ("   ", "car " * 400, "\x00", "😀😀😀", "<b>x</b>")
            for model in FAMILY
        ),
    ],
)
def test_odd_text_gets_a_sentence_and_stays_in_the_box(engine, model, text, part):
    test = drawn(model=model, text=text)
    assert part in said(test) and test.text_input[0].value == text


def test_a_window_of_a_short_text_is_not_told(engine):
    window = compute(Params(model="gpt-mini")).window
    assert window.text == Params().text and window.tokens == window.total > 0
    assert "room to write" not in said(drawn())
