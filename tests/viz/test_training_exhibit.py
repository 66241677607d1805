"""The exhibit on training and inference on a small random translator: its questions, pictures, numbers and the button."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import tiny_models
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states

from core.serving.engine import default
from viz import theme
from viz.course.transformer.training_and_inference import greedy, teacher_forcing_steps, write
from viz.course.transformer.training_and_inference.charts import teacher_forcing
from viz.course.transformer.training_and_inference.parallel_decoder import at_once
from viz.course.transformer.training_and_inference.params import MODEL, as_words
from viz.number_text import tiny

PAIR = ("You are welcome.", "De nada.")
page = StepPages("training_and_inference", {"text": PAIR[0], "target": PAIR[1]}, ("text", "target"))


@pytest.fixture(scope="module", autouse=True)
def _engine(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, MODEL, ("transformer", {}))
        patch.setattr(  # its tokenizer cuts the opening pair into more pieces
            "viz.course.transformer.training_and_inference.parallel_decoder.LONGEST", 24
        )
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), MODEL):
            yield


def model():
    return default().open(MODEL)


@pytest.fixture
def found():
    return at_once(model(), *PAIR)


def texts(test) -> list[str]:
    """Return all words that are drawn in a chart."""
    return [row["text"] for row in all_rows(test) if "text" in row and "fill" not in row]


def bars(test) -> list[dict]:
    return drawn_rows(test, mark="bar")


def places(found, values: np.ndarray) -> str:
    """Return the place with the largest value, as a question names it."""
    i = int(values.argmax())
    return f"{i + 1}: {as_words(found.target)[i]}"


@pytest.mark.slow
def test_the_shift_is_covered_and_then_shown(found):
    """C055."""
    read, wanted, before = as_words(found.read), as_words(found.target), page()
    assert texts(before).count("?") == len(wanted) - 1 and page.answer(before, "shift") == read[1]
    after = texts(answered(before))
    assert "?" not in after and {*read, *wanted} <= {*after}
    straight = said(page(guess={"shift": read[1]}, shift=0))
    assert states(straight, f"{found.unshifted.mean():.2f} nats")
    other = ("I am a student.", "Soy.")
    read = as_words(at_once(model(), *other).read)
    assert page.answer(page(text=other[0], target=other[1]), "shift") == read[1]


@pytest.mark.slow
def test_the_losses_of_all_places_wait_for_the_guess(found):
    """C074."""
    before = page(2)
    assert {(row["label"], row["value"]) for row in bars(before)} == {("?", 0)}
    test = answered(before)
    assert page.answer(test, "most") == places(found, found.losses)
    assert [row["value"] for row in bars(test)] == pytest.approx(found.losses, abs=1e-6)
    assert states(said(test), f"{found.losses.mean():.4f}")


@pytest.mark.slow
def test_step_by_step_has_the_same_scores(found):
    """C075."""
    test, m = page(3), len(found.target)
    assert states(said(test), "1 pass", f"{m} passes")
    assert states(said(test), tiny(float(found.differences.max())))
    assert len(drawn_rows(test, mark="rect")) == m * (m + 1) // 2
    chances = [f"{np.exp(-loss):.4f}" for loss in found.losses]
    for drawn, n in ((test, m), (page(3, passes=1), 1)):
        assert [text for text in texts(drawn) if text.startswith(("0.", "1."))] == 2 * chances[:n]


@pytest.mark.slow
def test_a_press_takes_one_step_and_leaves_the_shipped_weights(found):
    weights = {name: value.clone() for name, value in model().network.state_dict().items()}
    steps = list(teacher_forcing_steps.teach(model(), *PAIR))
    test = page(4)
    assert states(said(test), f"{steps[0].loss:.3f} nats")
    assert page.answer(test, "gain") == places(found, steps[0].losses - steps[1].losses)
    test.button(key="training_and_inference.go").click().run()
    assert test.query_params["training_and_inference.steps"] == "1"
    assert states(said(test), f"{steps[0].loss:.3f}", f"{steps[1].loss:.3f}", f"{steps[1].changed:,} weights")
    test.button(key="training_and_inference.go").click().run()
    curves = pd.DataFrame(drawn_rows(test, mark="line", place=1)).pivot(index="x", columns="line", values="y")
    assert curves.pop("mean").tolist() == pytest.approx([each.loss for each in steps[:3]], abs=1e-5)
    np.testing.assert_allclose(curves, [each.losses for each in steps[:3]], atol=1e-5)
    for group, step in (("before", steps[0]), ("now", steps[2])):
        values = [bar["value"] for bar in bars(test) if bar["group"] == group]
        np.testing.assert_allclose(values, step.losses, atol=1e-5)
    assert all((weights[name] == value).all() for name, value in model().network.state_dict().items())
    test.button(key="training_and_inference.again").click().run()
    assert "training_and_inference.steps" not in test.query_params
    last = page(4, steps=teacher_forcing_steps.MOST)
    assert last.button(key="training_and_inference.go").disabled
    adam = list(teacher_forcing_steps.teach(model(), *PAIR, "Adam", 4.0))
    assert f"to {adam[2].loss:.3f}" in said(page(4, steps=2, rule="Adam", rate=4))


@pytest.mark.slow
@pytest.mark.parametrize("heat", [1, 2])
def test_the_bars_of_the_last_layer_add_up_and_follow_the_temperature(found, heat):
    """C073."""
    test, z = page(5, temperature=heat, place=1), found.logits[1] / heat
    p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    shares = [row["value"] for row in bars(test)]
    np.testing.assert_allclose(shares[:-1], np.sort(p)[::-1][: write.TOP], rtol=1e-5)
    assert sum(shares) == pytest.approx(1) and states(said(test), f"{p.sum():.6f}")


@pytest.mark.slow
def test_greedy_is_not_always_best():
    """E54, C077."""
    before = page(6)
    assert {row["x"] for row in drawn_rows(before, mark="line")} == {0, 1}
    assert page.answer(before, "best") == "b"
    assert states(said(answered(before)), "0.5 × 0.4 = 0.20", "0.4 × 0.9 = 0.36")
    first, _ = greedy.by_model(model(), "a cat")
    test = page(6, where="model", sentence="a cat")
    ways = [row["y"] for row in drawn_rows(test, mark="line") if row["line"].startswith("greedy")]
    assert f"{first.total:.4f}" in said(test) and ways[1:] == pytest.approx(first.products)


@pytest.mark.slow
def test_an_example_sets_both_sentences():
    test = page()
    pills = next(one for one in test.button_group if one.key == "training_and_inference.pairs")
    pills.set_value(3).run()
    assert test.query_params["target"] == test.text_input[1].value == "Soy estudiante."


@pytest.mark.slow
def test_the_two_rows_and_their_arrows():
    figure = teacher_forcing.rows(["De", "nada", "END"], ["START", "De", None], selected=1)
    tiles, lines = drawn_rows(figure, mark="rect"), drawn_rows(figure, mark="rule")
    assert [row["token"] for row in tiles] == ["De", "nada", "END", "START", "De", "?"]
    assert [row["token"] for row in tiles if row["edge"] == theme.CATEGORICAL[1]] == ["nada", "De"]
    assert [(row["x"], round(row["x2"])) for row in lines] == [(0, 1)]
