"""The exhibit on training and inference on a small random translator: its questions, pictures, numbers and the button."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from exhibit_pages import drawn, figure, said, said_and_set
from streamlit.testing.v1 import AppTest

import core.engine
from core.lessons import greedy, taught
from core.lessons.at_once import at_once
from viz.exhibits import _training_learn as learn
from viz.exhibits import _training_write as write
from viz.exhibits import training_and_inference as exhibit
from viz.exhibits._training_link import MODEL, SLUG, named, pair
from viz.figures import teaching
from viz.figures.curves import tiny

FOLDS = [f"fold:training_and_inference.{name}" for name in ("equation", "looking", "table", "take")] + [f"fold:{exhibit.EXHIBIT.title}.documents"]


@pytest.fixture(scope="module", autouse=True)
def _engine(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, MODEL, ("transformer", {}))
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), MODEL):
            yield


def model():
    return core.engine.default().open(MODEL)


def page(step: int, *folds: str, guess: tuple[str, object] | None = None, **link: str) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    names = {name if name in ("text", "target") else SLUG + name: value for name, value in link.items()}
    return drawn("training_and_inference", {SLUG + "step": str(step)} | names, dict.fromkeys(folds, True) | answered, guarded=True)


def texts(test: AppTest, place: int = 0) -> list[str]:
    return [note["text"] for note in figure(test, place)["layout"].get("annotations", ())]


@pytest.mark.parametrize("step", range(1, 7))
def test_every_step_has_a_picture_and_every_fold_opens(step):
    test = page(step, *FOLDS)
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.title and test.get("plotly_chart")
    told = said(test)
    assert ("E54" in told) == (step in (1, 3, 5)) and "Beigy" in told and "went wrong" not in told and len(test.dataframe) == 1 and len(test.code) >= 2


def test_the_shift_is_covered_and_then_shown():
    """C055."""
    found = at_once(model(), "You are welcome.", "De nada.")
    read, wanted = named(found.read), named(found.wanted)
    before, after = page(1, *FOLDS), page(1, guess=("shift", read[1]))
    assert texts(before).count("?") == len(wanted) - 1 and "Right" in said(after) and "?" not in texts(after)
    assert all(token in texts(after) for token in (*read, *wanted))
    assert before.dataframe[0].value["decoder input"].tolist() == ["?"] * len(wanted)
    straight = page(1, guess=("shift", read[1]), shift="0")
    assert f"loses {found.unshifted.mean():.2f} nats" in said(straight)
    other = at_once(model(), "I am a student.", "Soy.")
    assert "Right" in said(page(1, guess=("shift", named(other.read)[1]), text="I am a student.", target="Soy."))


def test_the_losses_of_all_places_wait_for_the_guess():
    """C074."""
    found = at_once(model(), "You are welcome.", "De nada.")
    before = page(2, *FOLDS)
    assert set(figure(before)["data"][-1]["text"]) == {"?"} and f"{found.losses.mean():.4f}" not in said_and_set(before)
    places = [f"{i + 1}: {token}" for i, token in enumerate(named(found.wanted))]
    after = page(2, guess=("most", places[int(found.losses.argmax())]))
    assert "Right" in said(after) and figure(after)["data"][-1]["text"] == [f"{value:.3f}" for value in found.losses]
    assert f"torch's cross_entropy says {found.losses.mean():.4f}" in said(after)


def test_step_by_step_has_the_same_scores():
    """C075."""
    found = at_once(model(), "You are welcome.", "De nada.")
    m = len(found.wanted)
    test = page(3)
    assert f"Training: 1 pass. Use: {m} passes." in said(test) and f"differ by {tiny(float(found.differences.max()))} at most" in said(test)
    shown = [text for text in texts(test) if text.startswith(("0.", "1."))]
    assert len(shown) == 2 * m and shown[0] == f"{np.exp(-found.losses[0]):.4f}" == shown[1]
    first = page(3, passes="1")
    assert len([text for text in texts(first) if text.startswith(("0.", "1."))]) == 2


def test_a_press_takes_one_step_and_leaves_the_shipped_weights():
    weights = {name: value.clone() for name, value in model().network.state_dict().items()}
    steps = list(taught.teach(model(), "You are welcome.", "De nada."))
    before = page(4)
    assert f"costs it {steps[0].loss:.3f} nats a token" in said(before)
    gained = steps[0].losses - steps[1].losses
    found = at_once(model(), "You are welcome.", "De nada.")
    places = [f"{i + 1}: {token}" for i, token in enumerate(named(found.wanted))]
    assert "Right" in said(page(4, guess=("gain", places[int(gained.argmax())])))
    test = before.button(key=SLUG + "go").click().run()
    assert not test.exception and test.query_params[SLUG + "steps"] == "1"
    assert f"from {steps[0].loss:.3f} to {steps[1].loss:.3f}, {steps[1].changed:,} weights moved" in said(test)
    test = test.button(key=SLUG + "go").click().run()
    assert figure(test, 1)["data"][-1]["y"] == pytest.approx([each.loss for each in steps[:3]], abs=1e-5)
    np.testing.assert_allclose(figure(test)["data"][0]["x"], steps[0].losses, atol=1e-5)
    assert all((weights[name] == value).all() for name, value in model().network.state_dict().items())
    assert test.button(key=SLUG + "again").click().run().query_params.get(SLUG + "steps") is None
    last = page(4, steps=str(taught.MOST))
    assert last.button(key=SLUG + "go").disabled and f"{taught.MOST} steps" in said(last)


def test_adam_and_another_rate_are_other_steps():
    steps = list(taught.teach(model(), "You are welcome.", "De nada.", "Adam", 4.0))
    assert f"to {steps[2].loss:.3f}" in said(page(4, steps="2", rule="Adam", rate="4"))
    assert len({learn.FACTORS, (0.25, 1.0, 4.0)}) == 1


def test_the_bars_of_the_last_layer_add_up_and_follow_the_temperature():
    """C073."""
    found = at_once(model(), "You are welcome.", "De nada.")
    for heat in ("1", "2"):
        test = page(5, temperature=heat, place="1")
        z = found.logits[1] / float(heat)
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        bars = figure(test)["data"][0]["x"]
        np.testing.assert_allclose(bars[:-1], np.sort(p)[::-1][: write.TOP], rtol=1e-5)
        assert sum(bars) == pytest.approx(1) and f"together {p.sum():.6f}" in said(test)


def test_greedy_is_not_always_best():
    """E54, C077."""
    before, after = page(6, *FOLDS), page(6, guess=("best", "b"))
    assert "0.36" not in json.dumps(figure(before)) and "0.36" not in said_and_set(before)
    assert "Right" in said(after) and "Greedy: 0.5 × 0.4 = 0.20. The best sentence: 0.4 × 0.9 = 0.36." in said(after)
    first, _ = greedy.by_model(model(), "a cat")
    test = page(6, where="model", sentence="a cat")
    assert not test.exception and f"{first.total:.4f}" in said(test)
    assert figure(test)["data"][0]["y"][1:] == pytest.approx(first.products)


@pytest.mark.parametrize("text", ["", " ", "🙂", "<b>x</b> ![x](http://a)", "word " * 300])
def test_odd_texts_give_a_page(text):
    for step in (1, 4):
        test = page(step, text=text)
        assert not test.exception and "went wrong" not in said(test) and test.text_input[0].value == text


def test_nonsense_in_the_link_gives_a_page():
    for step, link in ((4, {"steps": "99", "rule": "x", "rate": "7"}), (3, {"passes": "-1"}), (5, {"place": "80", "temperature": "nan"}), (6, {"where": "moon"}), (9, {})):
        test = page(step, **link)
        assert not test.exception and "went wrong" not in said(test) and test.get("plotly_chart")
    assert callable(pair)


def test_an_example_sets_both_sentences():
    test = page(1)
    pills = next(one for one in test.get("button_group") if one.key == SLUG + "pairs")
    test = pills.set_value(3).run()
    assert not test.exception and test.query_params["target"] == "Soy estudiante." and test.text_input[1].value == "Soy estudiante."


def test_the_lines_to_take_away_make_the_same_numbers(monkeypatch):
    monkeypatch.setattr("core.open_model", lambda name: model())
    names: dict[str, object] = {}
    params = exhibit.Params()
    from viz.exhibits import _training_steps as steps

    for code in (steps._code(params), learn._code(params), write._layer_code(params, 1, 2.0), write._ways_code("paper", ""), write._ways_code("model", "a cat")):
        exec(code, names)
    assert names["found"].losses == pytest.approx(exhibit.compute().losses)
    assert names["steps"][2].loss == pytest.approx([*taught.teach(model(), params.text, params.target)][2].loss)


def test_figures_as_data_and_no_markup():
    upright = teaching.rows(["<b>"] * 8, ["a"] * 8, arrows=False)
    assert "&lt;b&gt;" in [note.text for note in upright.layout.annotations]
    assert exhibit.thumbnail().count("<rect") >= 2
