"""The exhibit on cross-attention on the shipped translator: the map, the shapes, what moves, what is kept, padding, the layer."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import drawn, figure, said
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

import core
from viz.course.shared import cross_shapes
from viz.course.shared.padded_batch import padded_content, run_batch
from viz.course.transformer.cross_attention import exhibit, maths
from viz.course.transformer.cross_attention.charts import computed, flow
from viz.course.transformer.cross_attention.params import MODEL, SENTENCES, Params
from viz.labels import percent, query_and_key

SLUG = "cross_attention"
TABLE = f"{SLUG}.table"
OTHER = "You are welcome."


def page(*folded: str, state: dict[str, object] | None = None, text: str = "", **link: str) -> AppTest:
    values = {f"{SLUG}.{name}": value for name, value in link.items()} | ({"text": text} if text else {})
    test = drawn(SLUG, values, {f"fold:{name}": True for name in folded} | (state or {}))
    assert not test.exception and "went wrong" not in said(test)
    return test


def packets(test: AppTest) -> list[dict]:
    return [opened(element.proto.bytes)[0] for element in test.get("bidi_component") if element.proto.bytes]


@pytest.mark.slow
def test_the_map_has_both_sentences_as_axes_and_comes_after_the_guess():
    """C070."""
    run = core.open_model(MODEL).run(SENTENCES[0])
    m, n = len(run.ids), len(run.source.ids)
    before = page()
    assert not any("scale" in packet for packet in packets(before)) and f"{m} × {n} = {m * n}" not in said(
        before
    )
    test = page(f"{SLUG}.take", state={f"predict:{SLUG}.shape": f"{m} × {n}"})
    shown = next(packet for packet in packets(test) if packet.get("scale") == "pattern")
    assert (
        "Right." in said(test)
        and shown["shape"] == [m, n]
        and shown["axis"] == list(query_and_key("token", across=True))
    )
    assert shown["queries"][-1] == "END" and shown["keys"] == [token.strip() for token in run.source.tokens]
    data = exhibit.compute(Params())
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
    names: dict[str, object] = {}
    exec(next(code.value for code in test.code if "core.open_model" in code.value), names)
    np.testing.assert_allclose(names["found"].weights[data.layer, data.head], weights, atol=1e-6)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.slow
def test_the_opening_sentence_shows_the_lesson_and_nothing_is_said_before_the_guess():
    data = exhibit.compute(Params())
    assert len(data.source_tokens) != len(data.target_tokens), "a map that is no square"
    for m, n in ((8, 7), (6, 6), (1, 1), (1, 2), (2, 1)):
        offered = maths.sizes(m, n)
        assert f"{m} × {n}" in offered and len(set(offered)) == len(offered) >= (3 if m * n > 1 else 2), (
            m,
            n,
        )
    before = next(packet for packet in packets(page()) if "say" in packet)
    assert set(before["say"].values()) == {""} and set(before["rows"]) == {-1}
    after = next(
        packet
        for packet in packets(
            page(state={f"predict:{SLUG}.shape": f"{len(data.target_tokens)} × {len(data.source_tokens)}"})
        )
        if "say" in packet
    )
    assert "Writing {word}" in after["say"]["looks"]
    assert "chance" in said(page(text="She has a white car.")) and "two languages" in said(page())


def test_the_head_it_opens_with_looks_at_the_words_that_are_translated():
    data = exhibit.compute(Params())
    looked = {
        word: data.source_tokens[int(row.argmax())]
        for word, row in zip(data.target_tokens, data.pattern, strict=True)
    }
    assert looked["casa"] == "house" and looked["roja"] == "red" and looked["vieja"] == "old", looked
    _, before, after = maths.measure_exchange(data, "source")
    assert (before, after) == ("red", "black")


def test_another_sentence_has_another_answer_and_a_chosen_head_is_shown():
    run = core.open_model(MODEL).run(OTHER)
    test = drawn(
        SLUG,
        {"text": OTHER, "layer": "2", "head": "6"},
        {f"predict:{SLUG}.shape": f"{len(run.ids)} × {len(run.source.ids)}"},
    )
    assert "Right." in said(test) and "L2.H6" in said(test)


def test_shapes_are_those_of_the_run():
    test = page(TABLE, step="2")
    data = exhibit.compute(Params())
    config, n, m = data.run.model.config, len(data.source_tokens), len(data.target_tokens)
    notes = [line["words"] for line in drawn_rows(test, "words", "y")]
    assert (
        f"Q: {config.n_heads} × {m} × {config.d_head}" in notes
        and f"V: {config.n_heads} × {n} × {config.d_head}" in notes
    )
    assert f"{config.n_heads} heads × {m} × {n} = {config.n_heads * m * n} scores" in said(test)
    shape = data.run.trace["decoder.layer.0.cross_attn.scores"].shape
    assert (
        shape == (config.n_heads, m, n)
        and " × ".join(map(str, shape)) in test.dataframe[0].value["shape"].tolist()
    )


def test_a_source_word_moves_no_query_of_layer_0_and_a_target_word_no_key():
    answers = {"source": "K and V", "target": "Q only"}
    for side, answer in answers.items():
        test = page(step="3", side=side, state={f"predict:{SLUG}.moves": answer})
        assert "Right." in said(test), side
        change, before, after = maths.measure_exchange(exhibit.compute(Params()), side)
        assert before != after and np.array_equal(
            change[0] == 0, np.array([side == "source", side == "target", side == "target"])
        )
        assert [bar["value"] for bar in drawn_rows(test, "value")] == pytest.approx(change.ravel().tolist())
    hidden = page(step="3")
    assert not hidden.get("vega_lite_chart") and "exactly 0" not in said(hidden)


def test_the_source_is_computed_once():
    hidden = page(step="4")
    assert all(set(trace["y"]) == {0} for trace in figure(hidden)["data"] if trace["name"] == "source words")
    test = page(step="4").button(key=f"predict:{SLUG}.rows:commit").click().run()
    data = exhibit.compute(Params())
    found, n, m = cross_shapes.decode_with_cache(data.run), len(data.source_tokens), len(data.target_tokens)
    assert figure(test)["data"][0]["y"] == [n] + [0] * (m - 1) and found.source_cached
    assert states(said(test), f"{m} rows", n, m + n, sum(found.uncached_rows))


@pytest.mark.slow
def test_padding_is_hidden_by_three_masks_and_its_content_changes_nothing():
    """C071."""
    test = page(step="5")
    titles = [packet.get("title") for packet in packets(test)]
    assert titles[:4] == ["Source padding", "Target padding", "Causal", "Target: both"]
    change = padded_content(run_batch(core.open_model(MODEL), (Params().first, Params().second)))
    assert change.with_mask == 0.0 and change.without_mask > 0.1
    assert states(said(test), "0.0", f"{change.without_mask:.2f}")


def test_a_layer_has_two_maps_and_an_encoder_layer_inside():
    """C072."""
    hidden = page(step="6")
    assert "3,152,384" not in said(hidden) and "789,760" not in said(hidden)
    test = page(step="6", state={f"predict:{SLUG}.less": "exactly as many"})
    data, counts = exhibit.compute(Params()), cross_shapes.counts()
    m, n = len(data.target_tokens), len(data.source_tokens)
    assert "Right." in said(test) and f"{counts.decoder:,} − 1,051,648 = {counts.encoder:,}" in said(test)
    own, cross = packets(test)[:2]
    assert own["shape"] == [m, m] and cross["shape"] == [m, n]
    assert (
        data.run.attention("causal").weights[..., np.triu_indices(m, 1)[0], np.triu_indices(m, 1)[1]] == 0
    ).all()


def test_figures_and_the_small_picture():
    arrows = drawn_rows(flow(3, 5, 8, 2, 4), "y2", mark="rule")
    assert sum({"W", "Q"} <= {*each["words"].split()} for each in arrows) == 1
    assert computed([1], [2], [], ["<b>"]).layout.xaxis.ticktext == ("&lt;b&gt;",)
    assert exhibit.thumbnail().count("<rect") > 20
    with pytest.raises(core.InputError, match="24"):
        exhibit.compute(Params("word " * 60))
