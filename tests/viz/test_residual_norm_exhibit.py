"""The exhibit on residual sums and layer norm: each step by AppTest on small random models, its numbers computed again."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from drawn_layers import drawn_rows
from exhibit_pages import covers, drawn, figure, lanes, plain, said, said_and_set
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.transformer import depth, residuals
from viz.course.transformer.residual_norm import exhibit, maths, norms, sums
from viz.course.transformer.residual_norm.charts import Panel, by_depth
from viz.course.transformer.residual_norm.params import LONGEST, ORDERS, Params
from viz.labels import percent
from viz.number_text import two_digits

SLUG = "residual_norm."
TEXT = "She was hungry, so she ate."


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "gpt-mini", ("gpt", {}))
        patch.setitem(tiny_models.MODELS, "bert-mini", ("bert", {}))
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), "gpt-mini", "bert-mini") as served:
            yield served


def page(
    step: int = 1, *folds: str, guess: tuple[str, str] | None = None, guarded: bool = False, **link: str
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    names = {
        name if name == "text" else SLUG + name: value for name, value in ({"text": TEXT} | link).items()
    }
    return drawn(
        "residual_norm",
        {SLUG + "step": str(step)} | names,
        {f"fold:{name}": True for name in folds} | answered,
        guarded=guarded,
    )


@pytest.mark.slow
def test_the_sum_is_covered_until_one_guessed_and_is_the_models_own():
    data = exhibit.compute(Params(text=TEXT, layer=1))
    ratio = np.linalg.norm(data.added[2]) / np.linalg.norm(data.before[2])
    before = page(layer="1")
    assert not before.exception and before.title[0].value == exhibit.EXHIBIT.text.info.title
    assert len(lanes(before)) == 1 and covers(before) == 2
    told = page(1, "residual_norm.equation", layer="1", guess=("long", sums.LENGTHS[0]))
    np.testing.assert_allclose(
        lanes(told), [v[2][: sums.FIRST] for v in (data.before, data.added, data.after)], atol=6e-4
    )
    assert (
        data.gap == 0
        and states(said_and_set(told), "at most } 0")
        and f"{percent(ratio)} of it" in said(told)
    )
    assert f"{percent(ratio)} of it" not in said(before)


@pytest.mark.slow
def test_the_answer_follows_the_model_and_the_word():
    right = set()
    for name, layer, word in (
        ("gpt-mini", 0, 0),
        ("bert-mini", 0, 3),
        ("bert-mini", 1, 5),
        ("gpt-mini", 1, 3),
    ):
        data = exhibit.compute(Params(text=TEXT, model=name, layer=layer))
        ratio = np.linalg.norm(data.added[word]) / np.linalg.norm(data.before[word])
        wanted = sums.LENGTHS[0] if ratio < 0.5 else sums.LENGTHS[1] if ratio <= 1.5 else sums.LENGTHS[2]
        test = page(model=name, layer=str(layer), word=str(word), guess=("long", wanted))
        assert "Right." in said(test), (name, ratio)
        right.add(wanted)
    assert len(right) > 1, "small models chosen so that the answers differ"


def test_a_long_text_is_told_in_words():
    test = page(text="a " * 80, guarded=True)
    assert not test.exception and states(said(test), LONGEST)


@pytest.mark.slow
def test_the_switch_takes_the_sums_out_and_signal_and_gradient_are_drawn_by_depth():
    """C063."""
    found = {
        residual: depth.by_depth("none", residual=residual, size=0.5, n_layers=sums.LAYERS)
        for residual in (True, False)
    }
    for chosen, residual in (("on", True), ("off", False)):
        test = page(2, residual=chosen)
        lines = figure(test)["data"]
        np.testing.assert_allclose(
            [plain(line["y"]) for line in lines],
            [found[True].signal, found[False].signal, found[True].gradient, found[False].gradient],
            rtol=1e-6,
        )
        assert [line["opacity"] == 1 for line in lines] == [residual, not residual] * 2
        assert states(
            said(test), f"{two_digits(found[residual].signal[-1] / found[residual].signal[0])} times"
        )
    other = page(2, "residual_norm.equation", size="1", residual="on")
    grown = depth.by_depth("none", size=1.0, n_layers=sums.LAYERS)
    assert two_digits(grown.signal[-1] / grown.signal[0]) in said(other) and "I + " in said_and_set(other)


def test_a_trained_model_without_its_sums():
    model = core.serving.engine.default().open("gpt-mini")
    kept, bare = (residuals.run_stream(model, TEXT, residual=residual) for residual in (True, False))
    blind = math.log(model.config.n_vocab)
    right = (
        sums.FARES[0]
        if bare.surprise < kept.surprise + 0.1
        else sums.FARES[1]
        if bare.surprise < blind
        else sums.FARES[2]
    )
    before = page(3)
    assert len(figure(before)["data"]) == 2 and f"{bare.surprise:.2f} nats" not in said(before)
    told = page(3, "residual_norm.table", guess=("fares", right))
    assert "Right." in said(told) and f"{bare.surprise:.2f} nats instead of {kept.surprise:.2f}" in said(told)
    np.testing.assert_allclose(plain(figure(told)["data"][1]["y"]), bare.depths.mean_cosine, atol=1e-6)
    assert len(told.dataframe) == 1 and len(told.dataframe[0].value.columns) == 6


@pytest.mark.slow
def test_layer_norm_before_and_after_with_gain_bias_and_the_printed_sigma():
    """C064."""
    data = exhibit.compute(Params(text=TEXT, layer=1))
    x = data.after[2].astype(float)
    test = page(4, "residual_norm.equation", layer="1", gain="2", bias="-1")
    np.testing.assert_allclose(lanes(test)[1], maths.layer_norm(x, 2, -1)[: sums.FIRST], atol=6e-4)
    assert states(said(test), "1.000", "−1.00", "2.000")
    drawn_ones = page(4, numbers="drawn", printed="1")
    assert states(said(drawn_ones), "0.001953 = 1/512", "1")
    own = page(4, layer="1", printed="1")
    assert f"1/{len(x)}, not 1" in said(own) and drawn_rows(own, mark="rule") == drawn_rows(
        page(4, layer="1"), mark="rule"
    ), "one scale for both"


def test_layer_norm_moves_one_word_and_batch_norm_all():
    data = exhibit.compute(Params(text=TEXT, layer=1))
    found = norms.tables(data, 2, 4.0)
    n = len(found["table"])
    test = page(5, layer="1", push="4")
    assert states(said(test), f"1 of {n} words", "0.00", f"{n} of {n}")
    np.testing.assert_allclose(found["batch now"].mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(found["layer now"].mean(1), 0, atol=1e-9)
    single = page(5, text="a", axis="batch")
    assert not single.exception


@pytest.mark.slow
def test_the_three_orders_with_their_drawing_and_their_effect_by_depth():
    """C065."""
    found = norms.by_order(0.5)
    for order, formula in ORDERS.items():
        test = page(6, order=order)
        notes = [note["text"] for note in figure(test, 0)["layout"]["annotations"]]
        way = [name for name in notes if name in ("f", "+", "LN")]
        assert (
            way == {"post": ["f", "+", "LN"], "pre": ["LN", "f", "+"], "worded": ["f", "LN", "+"]}[order]
            and formula in notes
        )
        strong = [line["name"] for line in figure(test, 1)["data"] if line["opacity"] == 1]
        assert strong == [norms.CALLED[order]] * 2
        assert states(
            said(test),
            formula,
            norms.CALLED[order],
            f"{norms.LAYERS} layers",
            two_digits(found[norms.CALLED[order]].signal[-1]),
        )
    run = core.serving.engine.default().open("bert-mini").run(TEXT, keep=residuals.KEEP)
    assert states(said(page(6, order="post")), f"{residuals.by_layer(run)[0]:.2f}")


@pytest.mark.parametrize("step", [1, 4, 5])
def test_model_and_layer_can_be_changed(step):
    test = page(step, f"residual_norm.change.{step - 1}", layer="1")
    words = [row.label for row in test.button_group]
    assert not test.exception and {"Word", "Model", "Layer"} <= set(words) and words.count("Word") == 1


def test_figures_as_data():
    assert [
        bar["name"]
        for bar in drawn_rows(bar_lanes([Lane("a", np.ones(2))], labels=["<b>", "x"], across=True), "shade")
    ] == ["<b>", "x"]
    shown = by_depth([Panel("t", {"a": np.array([1.0, 0.0])})], {"a": 0})
    assert np.isfinite(shown.layout.yaxis.range).all()
    assert exhibit.thumbnail().startswith("<svg")
