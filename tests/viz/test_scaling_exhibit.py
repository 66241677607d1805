"""The exhibit on the scale: each step by AppTest on a small random model, its numbers computed again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import tiny_models
from exhibit_pages import drawn, figure, said
from streamlit.testing.v1 import AppTest

import core.engine
from core.lessons import scaling as lessons
from core.lessons import unscaled
from viz.exhibits import _scaling_steps as steps
from viz.exhibits import scaling as exhibit
from viz.exhibits._scaling_folds import GUESS

SLUG = "scaling."
FOLDS = [f"fold:{SLUG}equation", f"fold:{SLUG}looking", f"fold:{exhibit.EXHIBIT.title}.documents", "fold:scaling.table", "fold:scaling.take"]


@pytest.fixture(scope="module", autouse=True)
def _engine(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "gpt-mini", ("gpt", {}))
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), "gpt-mini"):
            yield


def page(step: int = 1, *folds: str, guess: tuple[str, object] | None = None, **link: str) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    return drawn("scaling", {SLUG + "step": str(step)} | {name if name == "text" else SLUG + name: value for name, value in link.items()}, dict.fromkeys(folds, True) | answered)




@pytest.mark.parametrize(("step", "guess"), [(1, None), (1, ("spread", "about 1")), (2, None), (3, None), (4, None), (5, ("overflow", "1.00"))])
def test_every_step_shows_a_picture_and_every_fold_opens(step, guess):
    test = page(step, *FOLDS, guess=guess)
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.title
    assert test.get("plotly_chart")[0].key == f"{SLUG}{('spread', 'row', 'widths', 'real', 'overflow')[step - 1]}.picture"
    told = said(test)
    assert "E36" in told and "E26" in told and "Vaswani" in told
    assert "Something went wrong" not in told
    assert len(test.dataframe) == 1 and len(test.code) >= 2
    assert (GUESS in told) == (guess is None and step in (1, 4)), "numbers that would give the answer away wait for the guess"


def test_before_the_guess_the_asked_histogram_is_not_in_the_page():
    """C031: with the slider at 64 only another width is drawn until one commits."""
    before = page()
    assert "d = 4:" in json.dumps(figure(before)) and "64" not in json.dumps([a["text"] for a in figure(before)["layout"]["annotations"]])
    after = page(guess=("spread", "about 8"))
    drawn = lessons.drawn(64)
    texts = " ".join(a["text"] for a in figure(after)["layout"]["annotations"])
    assert f"variance {drawn.raw.var():.2f} (closed form 64)" in texts and f"variance {drawn.scaled.var():.2f} (closed form 1)" in texts
    assert f"their variance is {drawn.raw.var():.2f}, the closed form says 64" in said(after)


@pytest.mark.parametrize(("d_k", "answer"), [("4", "about 2"), ("64", "about 8"), ("1024", "about 32")])
def test_the_answer_is_computed_from_the_width(d_k, answer):
    test = page(guess=("spread", answer), d_k=d_k)
    assert "Right" in said(test)
    assert f"Measured on this draw: {lessons.drawn(int(d_k)).raw.std():.2f}" in said(test)


def test_one_row_with_and_without():
    test = page(2, d_k="256")
    drawn = lessons.drawn(256)
    row = lessons.typical(drawn.raw)
    best = [np.exp(s[row] - s[row].max()) for s in (drawn.raw, drawn.scaled)]
    raw, scaled = (float(e.max() / e.sum()) for e in best)
    assert f"undivided its best key takes {raw:.0%}" in said(test) and f"divided {scaled:.0%}" in said(test)


def test_entropy_over_every_width_with_and_without_scaling():
    """C031: the lines of the picture are the measures; the visitor's width is marked."""
    test = page(3, d_k="16")
    lines = [trace["y"] for trace in figure(test)["data"]]
    found = lessons.by_width()
    wanted = [[getattr(m, leaf) for m in found[name]] for leaf in ("entropy", "slope") for name in ("raw", "scaled")]
    np.testing.assert_allclose(lines, wanted)
    assert f"At d = 16 the mean entropy is {lessons.measured(lessons.drawn(16).raw).entropy:.2f} undivided" in said(test)


def test_the_real_model_with_and_without_the_division():
    text = "I am a student."
    before, after = page(4, text=text), page(4, text=text, guess=("real", 5.0))
    assert len(figure(before)["data"]) == 2, "before the guess only the model as it was trained"
    model = core.engine.default().open("gpt-mini")
    runs = [unscaled.reading(model.run(text, edits=edits)) for edits in ((), unscaled.without_scale(model.config))]
    assert not np.allclose(runs[0].evenness, runs[1].evenness)
    committed = after.session_state[f"predict:{SLUG}real:asked"]["of"][3]
    assert committed == round(float(runs[1].evenness.mean()), 2)
    other = page(4, text="She was hungry, so she ate the apple.")
    assert other.session_state[f"predict:{SLUG}real:asked"]["of"][0] != after.session_state[f"predict:{SLUG}real:asked"]["of"][0]


@pytest.mark.parametrize("text", ["", " ", "🙂", "<b>x</b> ![x](http://a)", "a"])
def test_odd_texts(text):
    test = page(4, text=text)
    assert not test.exception and "Something went wrong" not in said(test)


def test_naive_softmax_overflows_and_the_page_shows_it():
    """C032."""
    broken = page(5, guess=("overflow", steps.NOT_A_NUMBER), score="200")
    assert "Right" in said(broken) and "the sum is infinite, the weights are not a number, not a number, 0.00" in said(broken)
    assert any("∞" in str(trace.get("text")) for trace in figure(broken)["data"])
    cured = page(5, guess=("overflow", steps.NOT_A_NUMBER), score="200", safe="1")
    e = math.exp(-1)
    assert f"The weights are {1 / (1 + e):.2f}, {e / (1 + e):.2f}, 0.00" in said(cured)
    assert not any("∞" in str(trace.get("text")) for trace in figure(cured)["data"])


def test_a_smaller_score_has_another_answer():
    fits = page(5, guess=("overflow", steps.NOT_A_NUMBER), score="80")
    assert "It is “0.73”" in said(fits)
    hidden = page(5, score="80")
    assert "0.73" not in said(hidden).split("which weight")[-1]


@pytest.mark.parametrize("link", [{"d_k": "63"}, {"d_k": "x"}, {"score": "1e9"}, {"draw": "-4"}, {"safe": "maybe"}])
def test_nonsense_in_the_link_leaves_a_page(link):
    for step in (1, 5):
        test = page(step, **link)
        assert not test.exception and len(test.get("plotly_chart")) == 1


def test_the_lines_to_take_away_run():
    from viz.exhibits import _scaling_folds as folds

    for step in (0, 4):
        exec(folds.code(step, exhibit.Params()), {})
    assert folds.arrays(replace(exhibit.Params(), d_k=4))["raw"].shape == (lessons.N_QUERIES, lessons.N_KEYS)


def test_the_small_picture_is_drawn_from_numbers():
    assert exhibit.thumbnail().startswith("<svg")


def test_another_width_after_the_guess_is_another_picture_not_another_question():
    test = page(guess=("spread", "about 8"))
    test.select_slider[0].set_value(256).run()
    texts = " ".join(a["text"] for a in figure(test)["layout"]["annotations"])
    assert "d = 256: variance" in texts and "Right" in said(test)
