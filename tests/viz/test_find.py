"""Find heads: the nearest are those that the numbers say, over models; a drawing ranks them; map, table and card."""

from __future__ import annotations

import json

import numpy as np
import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest
from test_look_page import named, said
from tiny_models import served

from core.analysis.heads import sketch
from core.analysis.heads.pattern_distance import jensen_shannon
from core.data.texts import texts
from viz.workspace.find import charts, pool
from viz.workspace.find import page as find
from viz.workspace.find import sketch as pad
from viz.workspace.find.pool import Head
from viz.workspace.shared.head_ref import HeadRef

MODELS = ("tiny-gpt", "tiny-translator", "tiny-bert", "tiny-albert")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        served(patch, tmp_path_factory.mktemp("models"), *MODELS) as found,
    ):
        sentences = pool.sentences
        patch.setattr(pool, "sentences", lambda models: sentences(models)[:6])
        yield found


def page(**link: str) -> AppTest:
    test = AppTest.from_string(
        "from viz.shell import state\nfrom viz.workspace.find import page\nwith state.visit('find'):\n    page.page()",
        default_timeout=120,
    )
    for key, value in link.items():
        test.query_params[key] = value
    test.run()
    assert not test.exception
    return test


def head_of(name: str) -> Head:
    """`L1.H0 of tiny-gpt` back to a head; the kind is found by the model."""
    place, model = name.split(" of ")
    layer, head = (int(part[1:]) for part in place.split("."))
    return Head(model, HeadRef("causal" if model == "tiny-gpt" else "self", layer, head))


@pytest.mark.slow
def test_the_nearest_head_is_named_with_its_distance(engine):
    found = find.compute(find.Params("tiny-gpt", kind="causal", layer=1, head=1))
    assert {head.model for head in found.pool.heads} == set(MODELS)
    own = found.pool.index(Head("tiny-gpt", HeadRef("causal", 1, 1)))
    assert found.distances[own] == pytest.approx(0, abs=1e-6) and own not in found.order
    assert (np.diff(found.distances[found.order]) >= 0).all()
    test = page(model="tiny-gpt", kind="causal", layer="1", head="1")
    first = found.pool.heads[found.order[0]]
    assert states(said(test), first, f"{found.distances[found.order[0]]:.2f} bits", "maximum 1")
    tiles = [markdown.value for markdown in test.markdown if "JS divergence " in markdown.value]
    assert len(tiles) == 8 and tiles[0].startswith(f"**{first.place}**")
    assert len(named(test, "scale", "axis")) == 1 and len(test.get("plotly_chart")) == 8, (
        "the head in view and eight others"
    )


@pytest.mark.slow
def test_distances_are_those_of_a_plain_calculation(engine):
    found = find.compute(find.Params("tiny-gpt", kind="causal", layer=0, head=0))
    own = found.pool.rows_of("tiny-gpt", "causal")
    model, rows = engine.open("tiny-gpt"), []
    for row in texts("head_maps"):
        w = model.run(row.text).attention("causal", by="word").weights
        w = w.reshape(-1, *w.shape[2:])
        rows.append(jensen_shannon(w[:1], w))
    wanted = np.concatenate(rows, axis=1).mean(1)
    np.testing.assert_allclose(
        found.distances[own], wanted, atol=5e-3
    )  # where another model joins two words, these are joined here too


def test_a_neighbour_becomes_the_head_in_view(engine):
    test = page(model="tiny-gpt", kind="causal", layer="0", head="0")
    found = find.compute(find.Params("tiny-gpt", kind="causal", layer=0, head=0))
    wanted = found.pool.heads[found.order[1]]
    before = said(test)
    test.button(key="find.near.like.1").click().run()
    assert not test.exception and said(test) != before
    assert test.query_params["model"] == [wanted.model] or test.query_params["model"] == wanted.model
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
    test = page(model=model, kind=kind, layer="0", head="0", text="The cat sat.", **{"find.by": by})
    assert test.text and not [box for box in test.warning if "cannot" in box.value]


def test_of_a_long_text_the_first_words_are_shown_and_said_to_be(engine):
    test = page(model="tiny-gpt", kind="causal", layer="0", head="0", text="the cat sat on a mat " * 7)
    assert any(states(caption.value, "32 words") for caption in test.caption)
    assert not [
        caption
        for caption in page(model="tiny-gpt", kind="causal").caption
        if states(caption.value, "32 words")
    ]


def test_heads_between_texts_are_compared_on_pairs_and_only_with_their_like(engine):
    found = pool.pool("tiny-translator", "cross")
    assert {head.place.kind for head in found.heads} == {"cross"} and pool.sentences(found) == texts(
        "heads_en-es"
    )[:6]
    assert {head.place.kind for head in pool.pool("tiny-translator", "self").heads} == {"self", "causal"}


def test_a_drawing_ranks_the_heads_and_is_in_the_link(engine):
    link = {"model": "tiny-gpt", "kind": "causal", "find.by": "sketch"}
    found = pool.pool("tiny-gpt", "causal")
    ranked = {}
    for name in ("the word before", "the first word"):
        drawn = sketch.named_drawings()[name]
        test = page(**link, **{"find.drawn": pad.pack(drawn)})
        scores = sketch.sketch_similarity(drawn, pool.grids(found))
        best = found.heads[int(scores.argmax())]
        assert states(said(test), best) and f"score {scores.max():.2f} of 1" in said(test)
        ranked[name] = [markdown.value for markdown in test.markdown if "[score " in markdown.value]
    assert len(ranked["the first word"]) == 6 and ranked["the first word"] != ranked["the word before"]
    opening = page(**link)
    assert [markdown.value for markdown in opening.markdown if "[score " in markdown.value] == ranked[
        "the word before"
    ]


def test_an_empty_drawing_asks_for_a_stroke(engine):
    assert "Draw a stroke" in said(
        page(model="tiny-gpt", kind="causal", **{"find.by": "sketch", "find.drawn": "0" * 36})
    )


@pytest.mark.parametrize(
    "link",
    [
        {"find.by": "dance"},
        {"find.by": "sketch", "find.drawn": "zz"},
        {"layer": "99"},
        {"head": "x"},
        {"kind": "sideways"},
        {"find.by": "map", "find.all": "7"},
    ],
)
def test_nonsense_in_a_link_is_told_and_something_is_shown(engine, link):
    test = page(**({"model": "tiny-gpt"} | link))
    assert test.text, "a sentence of numbers all the same"


def test_the_map_has_every_head_of_the_model_and_on_wish_of_all(engine):
    def plotted(**link: str) -> tuple[dict, int]:
        (chart,) = page(
            model="tiny-gpt", kind="causal", layer="1", head="0", **{"find.by": "map"}, **link
        ).get("plotly_chart")
        figure = json.loads(chart.proto.spec)
        return figure, sum(len(trace["customdata"]) for trace in figure["data"] if trace["mode"] == "markers")

    found = pool.pool("tiny-gpt", "causal")
    own, n_own = plotted()
    _, n_all = plotted(**{"find.all": "1"})
    assert n_own == len(found.rows_of("tiny-gpt", "causal")) and n_all == len(found.heads)
    ring = own["data"][-1]
    assert ring["text"] == ["L1.H0"] and ring["marker"]["symbol"] == "circle-open"


def test_a_click_on_the_map_chooses_its_head(engine):
    test = page(model="tiny-gpt", kind="causal", layer="1", head="0", **{"find.by": "map"})
    script = (
        "import streamlit as st\nfrom viz.shell import state\nfrom viz.shell.selection import Selection\n"
        "from viz.workspace.find import map as m, pool\n"
        "with state.visit('find'):\n    st.session_state[m.KEY] = {'selection': {'points': [{'customdata': [2]}]}}\n"
        "    m._choose(list(pool.pool('tiny-gpt', 'causal').heads), Selection('tiny-gpt', 'A', typed='A text.'))\n    st.text(str(st.query_params.to_dict()))"
    )
    clicked = AppTest.from_string(script, default_timeout=60).run()
    wanted = pool.pool("tiny-gpt", "causal").heads[2]
    assert not clicked.exception and not test.exception
    assert all(
        part in clicked.text[0].value
        for part in (
            f"'layer': '{wanted.place.layer}'",
            f"'head': '{wanted.place.head}'",
            f"'model': '{wanted.model}'",
            "'text': 'A text.'",  # not the part that the page reads
        )
    )


def test_the_tree_has_a_row_for_each_head_and_the_chosen_one_stands_out():
    figure = charts.tree(
        np.array([[0, 2, 0.3, 2], [1, 3, 0.5, 3.0]]), [1, 0, 2], ["a", "<b>", "c"], selected=0
    )
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;", "<b>a</b>", "c")
    assert figure.data[0].x[:4] == (0.0, 0.3, 0.3, 0.0) and json.loads(figure.to_json())


def test_a_drawing_survives_the_link():
    drawn = np.random.default_rng(0).random((12, 12)) > 0.5
    np.testing.assert_array_equal(pad.unpack(pad.pack(drawn)), drawn)
    with pytest.raises(ValueError, match="36 of the characters"):
        pad.unpack("xyz")


@pytest.mark.parametrize("by", ["like", "map"])
def test_a_text_without_a_word_is_told(engine, by):
    test = AppTest.from_string(
        "from viz.shell import errors\nfrom viz.workspace.find import page as find\nwith errors.guard():\n    find.page()",
        default_timeout=120,
    )
    for name, value in {"model": "tiny-bert", "text": "\x01\x02" * 50, "find.by": by}.items():
        test.query_params[name] = value
    told = [line.value for line in test.run().text]
    assert (
        not test.exception
        and any("No word" in line for line in told)
        and not any("Something went wrong" in line for line in told)
    ), told
