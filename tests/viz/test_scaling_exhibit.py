"""The exhibit on the scale: each step by AppTest on a small random model, its numbers computed again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from viz.course.look_up.scaling import exhibit, maths, overflow
from viz.course.shared import unscaled_scores
from viz.labels import percent

SLUG = "scaling."
ACROSS = ("score", "the keys, best score first", "dₖ, the numbers", "layer", "s, what goes into exp")


@pytest.fixture(scope="module", autouse=True)
def _engine(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "gpt-mini", ("gpt", {}))
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), "gpt-mini"):
            yield


def page(step: int = 1, *, guess: tuple[str, object] | None = None, **link: str) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    return drawn(
        "scaling",
        {SLUG + "step": str(step)}
        | {name if name == "text" else SLUG + name: value for name, value in link.items()},
        answered,
    )


def titles(test: AppTest) -> list[str]:
    """What is written above each lane."""
    return [row["text"] for row in drawn_rows(test, "text")]


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("step", "guess"),
    [(1, None), (1, ("spread", "about 1")), (2, None), (3, None), (4, None), (5, ("overflow", "1.00"))],
)
def test_every_step_shows_its_picture(step, guess):
    test = page(step, guess=guess)
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.text.info.title
    assert not test.get("plotly_chart") and len(test.get("vega_lite_chart")) == 1 + (step == 3)
    assert f'"title": "{ACROSS[step - 1]}' in json.dumps(
        json.loads(test.get("vega_lite_chart")[0].proto.spec), ensure_ascii=False
    )


def test_before_the_guess_the_asked_histogram_is_not_in_the_page():
    """C031: with the slider at 64 only another width is drawn until one commits."""
    before = page()
    assert (
        "d = 4:" in titles(before)[0]
        and "64" not in str(titles(before))
        and max(abs(row["right"]) for row in drawn_rows(before, mark="rect"))
        == pytest.approx(np.abs(maths.sample_scores(4).raw).max())
    )
    after = page(guess=("spread", "about 8"))
    drawn = maths.sample_scores(64)
    texts = " ".join(titles(after))
    counted = [
        np.histogram(scores, bins=48, range=(-end, end), density=True)[0]
        for scores in (drawn.raw, drawn.scaled)
        for end in [np.abs(scores).max()]
    ]
    np.testing.assert_allclose(
        [float(row["density"]) for row in drawn_rows(after, mark="rect")], np.concatenate(counted), atol=6e-5
    )
    assert (
        f"variance {drawn.raw.var():.2f} (closed form 64)" in texts
        and f"variance {drawn.scaled.var():.2f} (closed form 1)" in texts
    )
    assert states(said(after), f"{drawn.raw.var():.2f}", "64")


@pytest.mark.parametrize(("d_k", "answer"), [("4", "about 2"), ("64", "about 8"), ("1024", "about 32")])
def test_the_answer_is_computed_from_the_width(d_k, answer):
    test = page(guess=("spread", answer), d_k=d_k)
    assert "Right" in said(test)
    assert states(said(test), f"{maths.sample_scores(int(d_k)).raw.std():.2f}")


def test_one_row_with_and_without():
    test = page(2, d_k="256")
    drawn = maths.sample_scores(256)
    row = maths.typical(drawn.raw)
    best = [np.exp(s[row] - s[row].max()) for s in (drawn.raw, drawn.scaled)]
    raw, scaled = (float(e.max() / e.sum()) for e in best)
    order = np.argsort(-drawn.raw[row])
    np.testing.assert_allclose(
        np.reshape([bar["value"] for bar in drawn_rows(test, mark="bar")], (-1, 2)),
        np.stack([(e / e.sum())[order] for e in best], axis=1),
        atol=6e-5,
    )
    assert states(said(test), percent(raw)) and f"scaled {percent(scaled)}" in said(test)


def test_entropy_over_every_width_with_and_without_scaling():
    """C031: the lines of the picture are the measures; the visitor's width is marked."""
    test = page(3, d_k="16")
    found = maths.by_width()
    for place, leaf in enumerate(("entropy", "slope")):
        dots = drawn_rows(test, mark="line", place=place)
        assert [row["x"] for row in dots] == [*maths.WIDTHS] * 2
        wanted = [getattr(m, leaf) for name in ("raw", "scaled") for m in found[name]]
        np.testing.assert_allclose([row["y"] for row in dots], wanted)
        assert {"x": 16} in all_rows(test, mark="rule", place=place)
    assert states(said(test), "16", f"{maths.measured(maths.sample_scores(16).raw).entropy:.2f} nats")


@pytest.mark.slow
def test_the_real_model_with_and_without_the_division():
    text = "I am a student."
    before, after = (
        page(4, text=text),
        page(4, text=text).button(key=f"predict:{SLUG}real:commit").click().run(),
    )
    assert {row["line"] for row in all_rows(before, mark="circle")} == {"with 1/√d, as trained"}, (
        "before the guess only the model as it was trained"
    )
    model = core.serving.engine.default().open("gpt-mini")
    runs = [
        unscaled_scores.reading(model.run(text, edits=edits))
        for edits in ((), unscaled_scores.without_scale(model.config))
    ]
    assert not np.allclose(runs[0].evenness, runs[1].evenness)
    np.testing.assert_allclose(
        [row["y"] for row in drawn_rows(after, mark="point")],
        np.concatenate([run.evenness.ravel() for run in runs]),
        atol=1e-6,
    )
    np.testing.assert_allclose(
        [row["y"] for row in drawn_rows(after, mark="line")],
        np.concatenate([run.evenness.mean(1) for run in runs]),
        atol=1e-6,
    )
    committed = after.session_state[f"predict:{SLUG}real:asked"]["of"][3]
    assert committed == round(float(runs[1].evenness.mean()), 2)
    other = page(4, text="She was hungry, so she ate the apple.")
    assert (
        other.session_state[f"predict:{SLUG}real:asked"]["of"][0]
        != after.session_state[f"predict:{SLUG}real:asked"]["of"][0]
    )


@pytest.mark.slow
def test_naive_softmax_overflows_and_the_page_shows_it():
    """C032."""
    broken = page(5, guess=("overflow", overflow.NOT_A_NUMBER), score="200")
    assert "Right" in said(broken) and states(said(broken), "0.00")
    assert [row["text"] for row in drawn_rows(broken, "text")] == ["first: ∞", "second: ∞", "third: 1"]
    cured = page(5, guess=("overflow", overflow.NOT_A_NUMBER), score="200", safe="1")
    e = math.exp(-1)
    assert f"The weights are {1 / (1 + e):.2f}, {e / (1 + e):.2f}, 0.00" in said(cured)
    assert [row["text"] for row in drawn_rows(cured, "text")] == ["first: 1", "second: 0.37", "third: 0"]


@pytest.mark.slow
def test_a_smaller_score_has_another_answer():
    fits = page(5, guess=("overflow", overflow.NOT_A_NUMBER), score="80")
    assert "It is “0.73”" in said(fits)
    hidden = page(5, score="80")
    assert "0.73" not in said(hidden).split("which weight")[-1]


def test_another_width_after_the_guess_is_another_picture_not_another_question():
    test = page(guess=("spread", "about 8"))
    test.select_slider[0].set_value(256).run()
    texts = " ".join(titles(test))
    assert "d = 256: variance" in texts and "Right" in said(test)
