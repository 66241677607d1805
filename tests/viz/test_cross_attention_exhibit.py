"""The exhibit on cross-attention on the shipped translator: the map, the shapes, what moves, what is kept, padding, the layer."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, figure, instruments, said
from exhibit_visits import answered
from shown_values import states

import core
from viz.course.shared import cross_shapes
from viz.course.shared.padded_batch import padded_content, run_batch
from viz.course.transformer.cross_attention import exhibit, maths
from viz.course.transformer.cross_attention.charts import computed, flow
from viz.course.transformer.cross_attention.params import MODEL, SENTENCES, Params
from viz.labels import percent, query_and_key

page = StepPages("cross_attention", shared=("text", "layer", "head"))


@pytest.fixture(scope="module")
def data():
    return exhibit.compute(Params())


@pytest.mark.slow
def test_the_map_has_both_sentences_as_axes_and_comes_after_the_guess(data):
    """C070."""
    run = core.open_model(MODEL).run(SENTENCES[0])
    m, n = len(run.ids), len(run.source.ids)
    before = page()
    assert not instruments(before, "scale") and page.answer(before, "shape") == f"{m} × {n}"
    assert m != n, "a map that is no square"
    for packet in instruments(before, "say"):
        assert set(packet["say"].values()) == {""} and set(packet["rows"]) == {-1}
    test = page(guess={"shape": f"{m} × {n}"})
    (heatmap,) = (packet for packet in instruments(test, "scale") if packet["scale"] == "pattern")
    assert heatmap["shape"] == [m, n] and heatmap["axis"] == list(query_and_key("token", across=True))
    assert heatmap["queries"][-1] == "END"
    assert heatmap["keys"] == [token.strip() for token in run.source.tokens]
    weights = run.attention("cross", writing=True).weights[data.layer, data.head]
    np.testing.assert_array_equal(data.pattern, weights)
    row = int(weights[:-1].max(1).argmax())
    assert states(
        said(test),
        f"“{data.target_tokens[row]}”",
        f"L{data.layer}.H{data.head}",
        percent(weights[row].max()),
        f"“{data.source_tokens[int(weights[row].argmax())]}”",
    )


@pytest.mark.parametrize(("m", "n"), [(8, 7), (6, 6), (1, 1), (1, 2), (2, 1)])
def test_different_sizes_are_offered(m, n):
    offered = maths.sizes(m, n)
    assert f"{m} × {n}" in offered and len(set(offered)) == len(offered) >= (3 if m * n > 1 else 2)


def test_the_head_it_opens_with_looks_at_the_words_that_are_translated(data):
    looks = dict(zip(data.target_tokens, data.pattern.argmax(1), strict=True))
    found = {word: data.source_tokens[looks[word]] for word in ("casa", "roja", "vieja")}
    assert found == {"casa": "house", "roja": "red", "vieja": "old"}
    assert maths.measure_exchange(data, "source")[1:] == ("red", "black")


def test_another_sentence_has_another_answer_and_a_chosen_head_is_shown():
    text = "You are welcome."
    run = core.open_model(MODEL).run(text)
    shape = f"{len(run.ids)} × {len(run.source.ids)}"
    test = page(guess={"shape": shape}, text=text, layer=2, head=6)
    assert page.answer(test, "shape") == shape and "L2.H6" in said(test)


def test_shapes_are_those_of_the_run(data):
    config, n, m = data.run.model.config, len(data.source_tokens), len(data.target_tokens)
    test = page(2, "table")
    notes = [line["words"] for line in drawn_rows(test, "words", "y")]
    h, d = config.n_heads, config.d_head
    assert {f"Q: {h} × {m} × {d}", f"V: {h} × {n} × {d}"} <= {*notes}
    assert f"{h} heads × {m} × {n} = {h * m * n} scores" in said(test)
    shape = data.run.trace["decoder.layer.0.cross_attn.scores"].shape
    assert shape == (h, m, n) and " × ".join(map(str, shape)) in test.dataframe[0].value["shape"].tolist()


@pytest.mark.parametrize(("side", "answer"), [("source", "K and V"), ("target", "Q only")])
def test_a_source_word_moves_no_query_of_layer_0_and_a_target_word_no_key(data, side, answer):
    assert not page(3, side=side).get("vega_lite_chart")
    test = page(3, side=side, guess={"moves": answer})
    assert page.answer(test, "moves") == answer
    change, before, after = maths.measure_exchange(data, side)
    assert before != after and (change[0] == 0).tolist() == [side == "source", *[side == "target"] * 2]
    assert [bar["value"] for bar in drawn_rows(test, "value")] == pytest.approx(change.ravel().tolist())


def test_the_source_is_computed_once(data):
    found, n, m = cross_shapes.decode_with_cache(data.run), len(data.source_tokens), len(data.target_tokens)
    test = answered(page(4))
    assert figure(test)["data"][0]["y"] == [n] + [0] * (m - 1) and found.source_cached
    assert states(said(test), f"{m} rows", n, m + n, sum(found.uncached_rows))


@pytest.mark.slow
def test_padding_is_hidden_by_three_masks_and_its_content_changes_nothing():
    """C071."""
    test = page(5)
    titles = [packet.get("title") for packet in instruments(test)]
    assert titles[:4] == ["Source padding", "Target padding", "Causal", "Target: both"]
    change = padded_content(run_batch(core.open_model(MODEL), (Params().first, Params().second)))
    assert change.with_mask == 0.0 and change.without_mask > 0.1
    assert states(said(test), "0.0", f"{change.without_mask:.2f}")


def test_a_layer_has_two_maps_and_an_encoder_layer_inside(data):
    """C072."""
    test, counts = page(6, guess={"less": "exactly as many"}), cross_shapes.counts()
    m, n = len(data.target_tokens), len(data.source_tokens)
    assert page.answer(test, "less") == "exactly as many"
    assert f"{counts.decoder:,} − 1,051,648 = {counts.encoder:,}" in said(test)
    assert [packet["shape"] for packet in instruments(test)[:2]] == [[m, m], [m, n]]
    assert (data.run.attention("causal").weights[..., ~np.tri(m, dtype=bool)] == 0).all()


def test_figures_and_too_long_a_text():
    arrows = drawn_rows(flow(3, 5, 8, 2, 4), "y2", mark="rule")
    assert sum({"W", "Q"} <= {*each["words"].split()} for each in arrows) == 1
    assert computed([1], [2], [], ["<b>"]).layout.xaxis.ticktext == ("&lt;b&gt;",)
    with pytest.raises(core.InputError, match="24"):
        exhibit.compute(Params("word " * 60))
