"""The exhibit on global and local attention, on small random models under the shipped names."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from exhibit_pages import StepPages, figure, instruments, plain, said
from exhibit_visits import answered
from shown_values import states

from core.checkpoints.manifest import shipped_folder
from core.serving.engine import default
from viz.course.look_up.luong import exhibit, maths, params, steps
from viz.course.look_up.luong.params import Params
from viz.course.shared import luong, unscaled_scores
from viz.labels import distinct

TEXT = "She has a white car."
ALL = {
    maths.CONCAT: {"attention": "bahdanau"},
    maths.GENERAL: {"attention": "luong-global", "score": "general", "input_feeding": True},
    maths.PREDICTIVE: {"attention": "luong-local-p", "score": "general", "input_feeding": True, "window": 3},
}
page = StepPages("luong", {"text": TEXT})


def _served(folder, *names: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setitem(tiny_models.MODELS, name, ("seq2seq", ALL[name]))
        with tiny_models.served(patch, folder, *names):
            yield


@pytest.fixture(scope="module")
def every(tmp_path_factory) -> Iterator[None]:
    """Serve all three models."""
    yield from _served(tmp_path_factory.mktemp("all"), *ALL)


@pytest.fixture
def only(tmp_path_factory) -> Iterator[None]:
    """Serve bahdanau-en-es alone."""
    yield from _served(tmp_path_factory.mktemp("one"), maths.CONCAT)


@pytest.mark.slow
def test_the_page_opens_without_luongs_model_and_says_what_is_missing(only):
    for step in range(1, 5):
        assert states(said(page(step)), "luong-global-en-es", "is not among")
    assert set(maths.models_by_score()) == {"concat", "dot"}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("score", "model"), [("concat", maths.CONCAT), ("general", maths.GENERAL), ("dot", maths.GENERAL)]
)
def test_dot_general_and_concat_can_be_chosen(every, score, model):
    """C021."""
    test, data = page(score=score), exhibit.compute(Params(TEXT, score))
    assert data.model == model and model in instruments(test, "queries")[0]["title"]
    run = default().open(model).run(TEXT, target=data.target)
    if score != "dot":
        np.testing.assert_allclose(data.weights, run.trace["decoder.attn.pattern"][0], atol=1e-6)
    else:
        q, k = (run.trace[f"decoder.attn.{leaf}"][0] for leaf in "qk")
        np.testing.assert_allclose(data.scores, q @ k.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(data.weights.sum(-1), 1.0, atol=1e-5)
    n, m = data.weights.shape
    assert f"{n} × {m} = {n * m} scores" in said(test) and "is not among" not in said(test)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("text", "score"),
    [(TEXT, "concat"), (TEXT, "general"), ("The red house on the hill is old.", "general")],
)
def test_the_asked_row_is_left_out_until_the_guess_and_the_answer_is_the_runs(every, text, score):
    data = exhibit.compute(Params(text, score))
    w, row, n = data.weights, luong.crossing(data.weights), len(data.written_words)
    before = page(text=text, score=score)
    assert page.answer(before, "global") == distinct(data.source)[int(w[row].argmax())]
    assert len(instruments(before, "queries")[0]["queries"]) == n - 1
    assert len(instruments(answered(before), "queries")[0]["queries"]) == n
    centres = np.minimum(np.arange(len(w)), w.shape[1] - 1)
    inside = np.abs(centres[:, None] - np.arange(w.shape[1])) <= 2
    kept = round(float(w[inside].sum() / len(w)), 2)
    assert page.answer(page(2, text=text, score=score), "kept") == kept


def test_curves_and_their_sum_with_sliders_for_centre_window_and_sigma(every):
    """C022."""
    before = page(3, score="concat", row=1, p="2.5", window=2, sigma="0.75")
    assert not plain(figure(before)["data"][1]["y"]).any(), "no product before the guess"
    test, data = answered(before), exhibit.compute(Params(TEXT, "concat"))
    wanted = luong.local(data.scores[1], 2.5, 2, 0.75)
    softmax, product, curve = figure(test)["data"]
    np.testing.assert_allclose(plain(softmax["y"]), wanted.align, atol=1e-6)
    np.testing.assert_allclose(plain(product["y"]), wanted.product, atol=1e-6)
    assert curve["name"] == "Gaussian" and plain(curve["y"]).max() == pytest.approx(1.0, abs=1e-3)
    assert states(said(test), f"{wanted.total:.3f}")
    opening = luong.local(data.scores[1], steps.middle(Params(TEXT, "concat"), data, 1), 2)
    answer = page.answer(test, "total")
    assert answer == round(opening.total, 2), "of the opening window, whatever the sliders say"
    assert "σ = 2.00" in said(page(3, window=4)) and "σ = 0.50" in said(page(3, window=4, sigma="0.5"))


@pytest.mark.slow
def test_the_cost_is_what_the_model_does_inside_the_windows(every):
    data = exhibit.compute(Params(TEXT, "concat"))
    centres = tuple(luong.monotonic(t, len(data.source)) for t in range(len(data.written_words)))
    found = maths.cost(TEXT, data, centres, 3)
    allowed = luong.windows(centres, 2, len(data.source))
    edits = (luong.restrict_to_windows(allowed),)
    run = default().open(data.model).run(TEXT, target=data.target, edits=edits)
    assert found.loss[1] == pytest.approx(unscaled_scores.surprise(run.logits, run.ids), abs=1e-5)
    assert found.n_scores[1] == allowed.sum()
    assert (run.trace["decoder.attn.pattern"][0][~allowed] == 0).all()
    test = answered(page(4, score="concat", centre="monotonic"))
    assert states(said(test), "D = 2", f"{found.n_scores[1]} scores", allowed.size)


def test_training_with_windows_keeps_the_quality_as_the_cards_record_it(monkeypatch):
    """The windows cost a model that was trained without them; BLEU of the one trained with them is no lower."""
    told = steps._with_windows()
    for name in ("luong-local-en-es", "luong-global-en-es"):
        rows = json.loads((shipped_folder() / name / "scores.json").read_text("utf-8"))
        bleu = {(row["measure"], row["split"], row["of"]): row["value"] for row in rows}
        assert f"{name} has BLEU {bleu['bleu_beam4', 'test', name]:.1f}" in told
    monkeypatch.setattr(maths, "is_available", lambda name: False)
    assert steps._with_windows() == ""


@pytest.mark.slow
def test_the_trained_centres_are_offered_where_their_model_is(every):
    data = exhibit.compute(Params(TEXT, "concat"))
    run = default().open(maths.PREDICTIVE).run(TEXT, target=data.target)
    np.testing.assert_allclose(maths.predicted(TEXT, data), run.trace["decoder.attn.centre"][0], atol=1e-5)
    assert "predictive" in params.centres()
    page(2, centre="predictive")
