"""The exhibit on the feed-forward network: each step by AppTest on small random models, its numbers computed again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
import torch
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import covers, drawn, figure, lanes, plain, said
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from viz.course.errata._counts import encoder_layer
from viz.course.transformer.feed_forward import exhibit, maths, steps
from viz.course.transformer.feed_forward.charts import Tile, vectors
from viz.course.transformer.feed_forward.params import END, Params
from viz.labels import percent

SLUG = "feed_forward."
TEXT = "She was hungry, so she ate."


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "translator-en-es", ("transformer", {"d_ff": 40}))
        patch.setitem(tiny_models.MODELS, "gpt-mini", ("gpt", {}))
        with tiny_models.served(
            patch, tmp_path_factory.mktemp("models"), "translator-en-es", "gpt-mini"
        ) as served:
            yield served


def page(
    step: int = 1, *folds: str, guess: tuple[str, object] | None = None, guarded: bool = False, **link: str
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    names = {
        name if name == "text" else SLUG + name: value for name, value in ({"text": TEXT} | link).items()
    }
    return drawn(
        "feed_forward",
        {SLUG + "step": str(step)} | names,
        {f"fold:{name}": True for name in folds} | answered,
        guarded=guarded,
    )


def answer(test: AppTest) -> float:
    return test.session_state[f"predict:{SLUG}on:asked"]["of"][3]


@pytest.mark.slow
def test_the_hidden_layer_is_covered_until_one_guessed_and_is_the_runs_own():
    """C066."""
    data = exhibit.compute(Params(text=TEXT))
    before = page()
    assert not before.exception and before.title[0].value == "The feed-forward network"
    assert {cell["name"].split()[0] for cell in drawn_rows(before, "share")} == {"number"} and [
        row["text"] for row in all_rows(before, "text") if row["text"] == "?"
    ] == ["?", "?"]
    told = page()
    told.button(key=f"predict:{SLUG}on:commit").click().run()
    units = [float(cell["value"]) for cell in drawn_rows(told, "share") if cell["name"].startswith("unit")]
    np.testing.assert_allclose(units, data.act[2], atol=6e-4)
    on = int((data.pre[2] > 0).sum())
    assert f"{on} units are on ({percent(on / 40, 2)})" in said(told) and "units are on" not in said(before)
    assert answer(before) == round(on / 40, 3)
    assert states(said(told), f"{data.act.shape[1] // 2:,}")


@pytest.mark.slow
def test_another_word_and_another_model_have_other_answers():
    found = {
        answer(page(word=str(word), model=model))
        for word in (0, 3, 5)
        for model in ("translator-en-es", "gpt-mini")
    }
    assert len(found) > 2


def test_relu_and_gelu_with_the_words_own_units():
    """C066: gelu(-1) = -0.158655, its tanh form -0.158808."""
    test = page(2)
    assert states(said(test), "−1.0", "0.000000", "−0.158655", "−0.158808")
    data = exhibit.compute(Params(text=TEXT))
    dots = next(
        trace
        for trace in figure(test)["data"]
        if trace.get("customdata") is not None and trace["type"] == "scatter"
    )
    seen = np.abs(data.pre[2]) <= END
    np.testing.assert_allclose(plain(dots["x"]), data.pre[2][seen], rtol=1e-5)
    np.testing.assert_allclose(plain(dots["y"]), np.maximum(data.pre[2][seen], 0), rtol=1e-5)
    other = page(2, at="2", model="gpt-mini")
    two = torch.tensor(2.0, dtype=torch.float64)
    assert states(
        said(other),
        f"{torch.nn.functional.gelu(two).item():.6f}",
        f"{torch.nn.functional.gelu(two, approximate='tanh').item():.6f}",
    )
    assert sum("this model" in str(trace.get("name")) for trace in figure(other)["data"]) >= 1


def test_units_by_word_and_words_by_unit():
    data = exhibit.compute(Params(text=TEXT, layer=1))
    test = page(3, layer="1")
    np.testing.assert_allclose(lanes(test, 0)[0], 100 * (data.pre > 0).mean(1), atol=0.06)
    counts = np.bincount((data.pre > 0).sum(0), minlength=len(data.tokens) + 1)
    np.testing.assert_allclose(lanes(test, 1)[0], counts)
    assert states(said(test), f"{counts[0]} units ({percent(counts[0] / 40)})")


def test_a_word_turned_round_moves_only_its_own_output():
    """C066: position-wise."""
    n = len(exhibit.compute(Params(text=TEXT)).tokens)
    before = page(4, word="1")
    assert covers(before) == 1 and len(lanes(before)) == 1 and "exactly 0.0" not in said(before)
    told = page(4, word="1", guess=("alone", steps.HOW_MANY[0]))
    network, attention = lanes(told)
    assert (
        "Right." in said(told)
        and np.flatnonzero(network).tolist() == [1]
        and np.flatnonzero(attention).tolist() == list(range(n))
    )
    assert states(said(told), "0.0")


def test_one_unit_its_words_and_what_it_writes():
    params = Params(text=TEXT)
    data, model = exhibit.compute(params), core.serving.engine.default().open("translator-en-es")
    top = int(data.act[2].argmax())
    found = maths.unit_output(model, 0, data, top)
    test = page(5)
    np.testing.assert_allclose(lanes(test)[0], data.act[:, top], atol=6e-4)
    assert states(said(test), top, f"{int((data.pre[:, top] > 0).sum())} of {len(data.tokens)} words")
    assert states(said(test), f"{found.nearest[0][1]:.2f}", f"{found.chance:.2f}")
    second = int((-data.act[2]).argsort(kind="stable")[1])
    assert f"Unit {second} fires" in said(page(5, unit=str(second))) and f"Unit {top} fires" in said(
        page(5, unit="nonsense")
    )


def test_parameters_are_counted():
    """C066: 2 d d_ff + d + d_ff."""
    test = page(6)
    model = core.serving.engine.default().open("translator-en-es")
    counted = sum(w.numel() for w in model.network.encoder[0].ffn.parameters())
    assert states(
        said(test), f"{counted:,}"
    ) and f"has {encoder_layer(2048):,} with $d_{{ff}}$ = 2,048" in said(test)
    assert f"{encoder_layer(512):,} with $d_{{ff}}$ = 512" in said(page(6, d_ff="512"))


@pytest.mark.quick(2)
@pytest.mark.parametrize("step", range(1, 6))
def test_word_model_and_layer_can_be_changed(step):
    test = page(step, f"feed_forward.change.{step - 1}")
    words = [row.label for row in test.button_group]
    assert (
        not test.exception
        and words.count("Model") == words.count("Layer") == 1
        and words.count("Word") == (step != 3)
    )


def test_figures_as_data():
    shown = vectors([Tile("a", np.arange(5.0), 2, marked=3), Tile("b", None, 2)])
    assert [cell["value"] for cell in drawn_rows(shown, "share")] == [f"{value}.000" for value in range(5)]
    rings = drawn_rows(shown, mark="rect", without=["fill", "share"])
    assert len(rings) == 1 == [row["text"] for row in all_rows(shown, "text")].count("?")
    assert exhibit.thumbnail().startswith("<svg")
