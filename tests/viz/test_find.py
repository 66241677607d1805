"""Find heads: the nearest are those that the numbers say, over models; a drawing ranks them; map, table and card."""

from __future__ import annotations

import json

import numpy as np
import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest
from tiny_models import serving
from workspace_pages import again, linked, page, said, sent

from core.analysis.heads import sketch
from core.analysis.heads.pattern_distance import jensen_shannon
from core.data.texts import texts
from viz.workspace.find import charts, pool
from viz.workspace.find import page as find
from viz.workspace.find import sketch as pad
from viz.workspace.find.pool import Head
from viz.workspace.shared.head_ref import HeadRef

MODELS = ("tiny-gpt", "tiny-translator", "tiny-bert", "tiny-albert")
GPT = {"model": "tiny-gpt", "kind": "causal"}


SENTENCES = pool.sentences
engine = serving(*MODELS, changed=[(pool, "sentences", lambda models: SENTENCES(models)[:6])])


@pytest.mark.slow
def test_the_nearest_head_is_named_with_its_distance(engine):
    found = find.compute(find.Params(**GPT, layer=1, head=1))
    assert {head.model for head in found.pool.heads} == set(MODELS)
    own = found.pool.index(Head("tiny-gpt", HeadRef("causal", 1, 1)))
    assert found.distances[own] == pytest.approx(0, abs=1e-6) and own not in found.order
    assert (np.diff(found.distances[found.order]) >= 0).all()
    test, first = page("find", **GPT, layer="1", head="1"), found.pool.heads[found.order[0]]
    assert states(said(test), first, f"{found.distances[found.order[0]]:.2f} bits", "maximum 1")
    tiles = [markdown.value for markdown in test.markdown if "JS divergence " in markdown.value]
    assert len(tiles) == 8 and tiles[0].startswith(f"**{first.place}**")
    pictures = len(sent(test, "scale", "axis")), len(test.get("plotly_chart"))
    assert pictures == (1, 8), "the head in view and eight others"


@pytest.mark.slow
def test_distances_are_those_of_a_plain_calculation(engine):
    found = find.compute(find.Params(**GPT, layer=0, head=0))
    model, rows = engine.open("tiny-gpt"), []
    for row in texts("head_maps"):
        w = model.run(row.text).attention("causal", by="word").weights
        w = w.reshape(-1, *w.shape[2:])
        rows.append(jensen_shannon(w[:1], w))
    own = found.distances[found.pool.rows_of("tiny-gpt", "causal")]
    # where another model joins two words, these are joined here too
    np.testing.assert_allclose(own, np.concatenate(rows, axis=1).mean(1), atol=5e-3)


def test_a_neighbour_becomes_the_head_in_view(engine):
    test = page("find", **GPT, layer="0", head="0")
    found = find.compute(find.Params(**GPT, layer=0, head=0))
    wanted, before = found.pool.heads[found.order[1]], said(test)
    test.button(key="find.near.like.1").click()
    assert said(again(test)) != before and linked(test)["model"] == wanted.model
    assert states(said(test), wanted.place) and wanted.model in said(test)


@pytest.mark.quick(6)
@pytest.mark.parametrize("by", list(find.BY))
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("tiny-bert", "self"),
        ("tiny-albert", "self"),
        ("tiny-translator", "cross"),
        ("tiny-translator", "causal"),
    ],
)
def test_every_view_draws_for_every_kind_of_attention(engine, monkeypatch, by, model, kind):
    monkeypatch.setattr("core.analysis.heads.evidence.SAMPLE_STEP", 60)
    test = page("find", model=model, kind=kind, layer="0", head="0", text="The cat sat.", find__by=by)
    assert test.text and not [box for box in test.warning if "cannot" in box.value]


def test_of_a_long_text_the_first_words_are_shown_and_said_to_be(engine):
    for link, cut in (({"text": "the cat sat on a mat " * 7}, True), ({}, False)):
        captions = page("find", **GPT, layer="0", head="0", **link).caption
        assert any(states(caption.value, "32 words") for caption in captions) == cut


def test_heads_between_texts_are_compared_on_pairs_and_only_with_their_like(engine):
    cross, within = (pool.pool("tiny-translator", kind) for kind in ("cross", "self"))
    assert {head.place.kind for head in cross.heads} == {"cross"}
    assert {head.place.kind for head in within.heads} == {"self", "causal"}
    assert pool.sentences(cross) == texts("heads_en-es")[:6]


def test_a_drawing_ranks_the_heads_and_is_in_the_link(engine):
    found = pool.pool("tiny-gpt", "causal")

    def ranked(**link: str) -> tuple[str, list[str]]:
        test = page("find", **GPT, find__by="sketch", **link)
        return said(test), [markdown.value for markdown in test.markdown if "[score " in markdown.value]

    order = []
    for name in ("the word before", "the first word"):
        drawn = sketch.named_drawings()[name]
        told, heads = ranked(find__drawn=pad.pack(drawn))
        scores = sketch.sketch_similarity(drawn, pool.grids(found))
        assert states(told, found.heads[int(scores.argmax())]) and f"score {scores.max():.2f} of 1" in told
        order.append(heads)
    assert len(order[1]) == 6 and order[0] != order[1] and ranked()[1] == order[0]
    assert "Draw a stroke" in ranked(find__drawn="0" * 36)[0]


@pytest.mark.parametrize(
    "link",
    [
        {"find__by": "dance"},
        {"find__by": "sketch", "find__drawn": "zz"},
        {"layer": "99"},
        {"head": "x"},
        {"kind": "sideways"},
        {"find__by": "map", "find__all": "7"},
    ],
)
def test_nonsense_in_a_link_is_told_and_something_is_shown(engine, link):
    assert page("find", **{"model": "tiny-gpt"} | link).text, "a sentence of numbers all the same"


def test_the_map_has_every_head_of_the_model_and_on_wish_of_all(engine):
    def plotted(**link: str) -> tuple[dict, int]:
        test = page("find", **GPT, layer="1", head="0", find__by="map", **link)
        data = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
        return data[-1], sum(len(trace["customdata"]) for trace in data if trace["mode"] == "markers")

    found, (ring, n_own) = pool.pool("tiny-gpt", "causal"), plotted()
    assert n_own == len(found.rows_of("tiny-gpt", "causal")) and plotted(find__all="1")[1] == len(found.heads)
    assert (ring["text"], ring["marker"]["symbol"]) == (["L1.H0"], "circle-open")


def test_a_click_on_the_map_chooses_its_head(engine):
    clicked = AppTest.from_string(
        "import streamlit as st\nfrom viz.shell import state\nfrom viz.shell.selection import Selection\n"
        "from viz.workspace.find import map as m, pool\n"
        "with state.visit('find'):\n    st.session_state[m.KEY] = {'selection': {'points': [{'customdata': [2]}]}}\n"
        "    m._choose(list(pool.pool('tiny-gpt', 'causal').heads), Selection('tiny-gpt', 'A', typed='A text.'))",
        default_timeout=60,
    ).run()
    wanted = pool.pool("tiny-gpt", "causal").heads[2]
    assert (
        not clicked.exception
        and linked(clicked).items()
        >= {
            "layer": str(wanted.place.layer),
            "head": str(wanted.place.head),
            "model": wanted.model,
            "text": "A text.",  # not the part that the page reads
        }.items()
    )


def test_the_tree_has_a_row_for_each_head_and_the_chosen_one_stands_out():
    joined = np.array([[0, 2, 0.3, 2], [1, 3, 0.5, 3.0]])
    figure = charts.tree(joined, [1, 0, 2], ["a", "<b>", "c"], selected=0)
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;", "<b>a</b>", "c")
    assert figure.data[0].x[:4] == (0.0, 0.3, 0.3, 0.0)


def test_a_drawing_survives_the_link():
    drawn = np.random.default_rng(0).random((12, 12)) > 0.5
    np.testing.assert_array_equal(pad.unpack(pad.pack(drawn)), drawn)
    with pytest.raises(ValueError, match="36 of the characters"):
        pad.unpack("xyz")


@pytest.mark.parametrize("by", ["like", "map"])
def test_a_text_without_a_word_is_told(engine, by):
    assert "No word" in said(page("find", model="tiny-bert", text="\x01\x02" * 50, find__by=by))
