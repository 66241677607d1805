"""The whole model on one screen: every number is that of the run, and every part leads somewhere."""

from __future__ import annotations

import numpy as np
import pytest
from packets import opened, packets_of
from streamlit.testing.v1 import AppTest

import core
import viz
from core.errors import InputError
from viz.instruments.kit.picture import Picture
from viz.instruments.whole_model.of_run import ALONE, EACH, candidates, screen_of
from viz.instruments.whole_model.whole_model import STRIPES, stripes
from viz.labels import bare_token
from viz.shell import pages
from viz.workspace.whole_model import data, page

LONG = "The king and the queen of the land went out one day to see all their people and the old house by the sea."


def part(picture: Picture, name: str) -> np.ndarray:
    packet = picture.packet
    return np.frombuffer(packet.parts[packet.header[name]], "<f4")


@pytest.mark.parametrize("text", ["The king and the queen", LONG])
def test_a_decoder_is_drawn_with_the_numbers_of_its_run(text: str) -> None:
    run = core.open_model("gpt-mini").run(text)
    picture, n = viz.whole_model(run), min(ALONE, len(run.tokens))
    (stack,) = picture.packet.header["stacks"]
    weights = run.attention("causal").weights[:, :, -n:, -n:]
    assert np.array_equal(part(picture, "causal.0").reshape(weights.shape), weights.astype("f4"))
    assert [*stack["tokens"]] == [token.strip() or token for token in run.tokens[-n:]]
    assert part(picture, "logits") == pytest.approx(np.sort(run.logits[-1])[::-1], abs=1e-6)
    best = bare_token(run.model.tokenizer.token(int(run.logits[-1].argmax())))
    assert picture.packet.header["names"][0] == best and picture.packet.header["position"] == n - 1
    hidden = run.hidden()[:, -n:]
    own = hidden.reshape(*hidden.shape[:2], STRIPES, -1).mean(3)
    assert part(picture, "stripes.0").reshape(own.shape) == pytest.approx(
        own / own.std(axis=(1, 2), keepdims=True), abs=1e-3
    )


def test_a_translator_is_drawn_as_two_stacks_whose_rows_predict_each_next_word() -> None:
    run = core.open_model("translator-en-es").run("She has a white car.")
    screen = screen_of(run)
    encoder, decoder = screen.stacks
    assert (encoder.name, decoder.name) == ("encoder", "decoder")
    assert set(encoder.attention) == {"self"} and set(decoder.attention) == {"causal", "cross"}
    cross = np.asarray(decoder.attention["cross"])
    assert cross.shape[2:] == (len(decoder.tokens), len(encoder.tokens))
    assert np.allclose(cross.sum(3), 1, atol=1e-5)
    for position in range(screen.tokens - 1):
        assert candidates(run, position)[1][0] == decoder.tokens[position + 1], (
            "greedy writes the most probable"
        )
    long = core.open_model("translator-en-es").run(
        "My old friend and her little brother went to the house by the sea."
    )
    assert all(len(stack.tokens) <= EACH for stack in screen_of(long).stacks)


def test_what_cannot_be_drawn_is_refused_in_words() -> None:
    for name, text in (("bert-mini", "A cat."), ("bahdanau-en-es", "A cat.")):
        with pytest.raises(InputError, match="next token"):
            viz.whole_model(core.open_model(name).run(text))
    fitting = {
        name: data.fits(core.open_model(name))
        for name in ("gpt-mini", "translator-en-es", "bert-mini", "elmo-mini", "snail-recall")
    }
    assert fitting == {
        "gpt-mini": True,
        "translator-en-es": True,
        "bert-mini": False,
        "elmo-mini": False,
        "snail-recall": False,
    }


def test_stripes_of_a_narrow_vector_are_its_own_numbers() -> None:
    vectors = np.random.default_rng(0).normal(size=(2, 3, 8))
    assert stripes(vectors) == pytest.approx(vectors / vectors.std(axis=(1, 2), keepdims=True))


@pytest.mark.parametrize("model", ["gpt-mini", "translator-en-es"])
@pytest.mark.parametrize("name", ["embedding", "feed_forward", "logits", "attention"])
def test_every_part_opens_a_page_that_exists(model: str, name: str) -> None:
    run = core.open_model(model).run("A cat.")
    slug, query = page.destination(run, {"name": name, "kind": run.kinds[-1], "layer": 1, "head": 2})
    step = int(query.get(f"{slug}.step", 1))
    assert step <= max(1, len(pages.find(slug).steps))
    if name == "attention":
        assert slug == "look" and (query["layer"], query["head"], query["view"]) == ("1", "2", "full")


def test_the_page_predicts_what_follows_the_position_of_the_link() -> None:
    script = "from viz.shell import pages, state\nwith state.visit('whole_model', True):\n    pages.find('whole_model').page()"
    test = AppTest.from_string(script, default_timeout=60)
    test.query_params.update({"model": "gpt-mini", "text": "Once upon a time", "whole_model.position": "1"})
    test.run()
    assert not test.exception
    (header,) = (head for head, _ in map(opened, packets_of(test)) if "stacks" in head)
    run = core.open_model("gpt-mini").run("Once upon a time")
    assert header["position"] == 1 and header["names"] == list(candidates(run, 1)[1])
