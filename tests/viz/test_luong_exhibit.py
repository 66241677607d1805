"""The exhibit on global and local attention, on small random models under the shipped names."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from exhibit_pages import drawn, said
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.checkpoints.manifest import shipped_folder
from viz.course.look_up.luong import exhibit, maths, params, steps
from viz.course.look_up.luong.params import Params
from viz.course.shared import luong, unscaled_scores
from viz.labels import distinct

SLUG = steps.SLUG
TEXT = "She has a white car."
ALL = {
    maths.CONCAT: {"attention": "bahdanau"},
    maths.GENERAL: {"attention": "luong-global", "score": "general", "input_feeding": True},
    maths.PREDICTIVE: {"attention": "luong-local-p", "score": "general", "input_feeding": True, "window": 3},
}


def _served(folder, *names: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setitem(tiny_models.MODELS, name, ("seq2seq", ALL[name]))
        with tiny_models.served(patch, folder, *names):
            yield


@pytest.fixture(scope="module")
def every(tmp_path_factory) -> Iterator[None]:
    """All three models."""
    yield from _served(tmp_path_factory.mktemp("all"), *ALL)


@pytest.fixture
def only(tmp_path_factory) -> Iterator[None]:
    """bahdanau-en-es alone."""
    yield from _served(tmp_path_factory.mktemp("one"), maths.CONCAT)


def page(
    step: int = 1, *folds: str, guess: tuple[str, object] | None = None, text: str = TEXT, **link: str
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    return drawn(
        "luong",
        {"text": text, SLUG + "step": str(step)} | {SLUG + name: value for name, value in link.items()},
        dict.fromkeys(folds, True) | answered,
    )


def asked(test: AppTest, name: str) -> tuple:
    return test.session_state[f"predict:{SLUG}{name}:asked"]["of"]


def matrix(test: AppTest) -> dict:
    return next(
        h
        for h in (opened(e.proto.bytes)[0] for e in test.get("bidi_component") if e.proto.bytes)
        if "queries" in h
    )


@pytest.mark.slow
def test_the_page_opens_without_luongs_model_and_says_what_is_missing(only):
    for step in range(1, 5):
        test = page(step)
        assert not test.exception and states(said(test), "luong-global-en-es", "is not among")
    assert set(maths.models_by_score()) == {"concat", "dot"}
    assert maths.CONCAT in matrix(page())["title"]


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("score", "model"), [("concat", maths.CONCAT), ("general", maths.GENERAL), ("dot", maths.GENERAL)]
)
def test_dot_general_and_concat_can_be_chosen(every, score, model):
    """C021."""
    test, data = page(score=score), exhibit.compute(Params(TEXT, score))
    assert data.model == model and model in matrix(test)["title"]
    run = core.serving.engine.default().open(model).run(TEXT, target=data.target)
    if score != "dot":
        np.testing.assert_allclose(data.weights, run.trace["decoder.attn.pattern"][0], atol=1e-6)
    else:
        q, k = (run.trace[f"decoder.attn.{leaf}"][0] for leaf in "qk")
        np.testing.assert_allclose(data.scores, q @ k.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(data.weights.sum(-1), 1.0, atol=1e-5)
    n, m = data.weights.shape
    assert f"{n} × {m} = {n * m} scores" in said(test)
    assert "is not among" not in said(test)


def test_the_asked_row_is_left_out_until_the_guess_and_the_answer_is_the_runs(every):
    data = exhibit.compute(Params(TEXT, "concat"))
    row = luong.crossing(data.weights)
    before = page(score="concat")
    assert len(matrix(before)["queries"]) == len(data.written_words) - 1
    answer = distinct(data.source)[int(data.weights[row].argmax())]
    after = page(score="concat", guess=("global", answer))
    assert "Right" in said(after) and len(matrix(after)["queries"]) == len(data.written_words)
    assert asked(after, "global")[2] == answer


@pytest.mark.slow
def test_another_sentence_is_another_question(every):
    for text in (TEXT, "The red house on the hill is old."):
        data = exhibit.compute(Params(text, "general"))
        n, m = data.weights.shape
        inside = np.abs(np.minimum(np.arange(n), m - 1)[:, None] - np.arange(m)) <= 2
        assert asked(page(2, text=text, score="general"), "kept")[3] == round(
            float(data.weights[inside].sum() / n), 2
        )
        assert set(asked(page(1, text=text, score="general"), "global")[1]) == set(distinct(data.source))


def test_curves_and_their_sum_with_sliders_for_centre_window_and_sigma(every):
    """C022."""
    hidden = page(3, score="concat", row="1", p="2.5", window="2", sigma="0.75")
    assert not _array(json.loads(hidden.get("plotly_chart")[0].proto.spec)["data"][1]["y"]).any(), (
        "no product before the guess"
    )
    test = hidden.button(key=f"predict:{SLUG}total:commit").click().run()
    data = exhibit.compute(Params(TEXT, "concat"))
    wanted = luong.local(data.scores[1], 2.5, 2, 0.75)
    softmax, product, curve = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
    np.testing.assert_allclose(_array(softmax["y"]), wanted.align, atol=1e-6)
    np.testing.assert_allclose(_array(product["y"]), wanted.product, atol=1e-6)
    assert curve["name"] == "Gaussian" and _array(curve["y"]).max() == pytest.approx(1.0, abs=1e-3)
    assert states(said(test), f"{wanted.total:.3f}")
    assert {s.label[0] for s in test.slider} >= {"p", "D", "σ"}
    opening = luong.local(data.scores[1], steps.middle(Params(TEXT, "concat"), data, 1), 2)
    assert asked(test, "total")[3] == round(opening.total, 2), (
        "asked about the opening window, whatever the sliders say"
    )


def _array(values) -> np.ndarray:
    import base64

    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
    return np.asarray(values, dtype=float)


def test_sigma_follows_the_window_until_it_is_moved(every):
    assert "σ = 2.00" in said(page(3, window="4")) and "σ = 0.50" in said(page(3, window="4", sigma="0.5"))


@pytest.mark.slow
def test_the_cost_is_what_the_model_does_inside_the_windows(every):
    data = exhibit.compute(Params(TEXT, "concat"))
    centres = tuple(luong.monotonic(t, len(data.source)) for t in range(len(data.written_words)))
    found = maths.cost(TEXT, data, centres, 3)
    model = core.serving.engine.default().open(data.model)
    allowed = luong.windows(centres, 2, len(data.source))
    run = model.run(TEXT, target=data.target, edits=(luong.restrict_to_windows(allowed),))
    assert found.loss[1] == pytest.approx(unscaled_scores.surprise(run.logits, run.ids), abs=1e-5)
    assert found.n_scores[1] == allowed.sum()
    assert (run.trace["decoder.attn.pattern"][0][~allowed] == 0).all()
    test = page(4, score="concat", centre="monotonic", guess=("cost", "much more"))
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
    run = core.serving.engine.default().open(maths.PREDICTIVE).run(TEXT, target=data.target)
    np.testing.assert_allclose(maths.predicted(TEXT, data), run.trace["decoder.attn.centre"][0], atol=1e-5)
    assert "predictive" in params.centres()
    assert not page(2, centre="predictive").exception
