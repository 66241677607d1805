"""The first exhibit: the words, the question before them, skimming, the picture, nonsense in the link."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, instruments, said
from exhibit_visits import answered
from shown_values import states

import core
from core.errors import InputError
from viz.charts.patches import PICKED
from viz.course.shared import weighting
from viz.course.why.weighting import exhibit, params, steps
from viz.course.why.weighting.params import Params
from viz.instruments.weighing.weighing import chosen_importances, weighing_packet
from viz.labels import percent
from viz.shell import state

page = StepPages("weighting")
RAW = "0_0_1_0_5_0_0_5_0_0"


@pytest.fixture
def written(monkeypatch) -> dict[str, object]:
    """Return what a step writes into the link."""
    values: dict[str, object] = {}
    monkeypatch.setattr(steps.state, "write", lambda **changes: values.update(changes))
    return values


def words(test) -> dict:
    """Return what the sentence's instrument was sent."""
    return instruments(test, "threshold")[0]


def test_the_words_are_covered_until_the_guess_and_the_answer_is_the_runs_own():
    before, weights = page(), weighting.softmax(weighting.BY_HAND)
    shares, answer = steps.shares.answer_options(exhibit.compute(Params()))
    assert words(before)["covered"] and page.answer(before, "first") == answer
    assert shares[answer] == weights.max() == weights[7]
    after = answered(before)
    assert not words(after)["covered"] and words(after)["raw"] == list(weighting.BY_HAND)
    assert f"“Leonardo” gets {percent(weights[7], 2)}" in said(after)


def test_other_importances_make_another_answer():
    test = answered(page(source="own", raw="0_0_0_0_0_0_0_0_0_4"))
    assert f"“Vinci” gets {percent(np.exp(4) / (np.exp(4) + 9), 2)}" in said(test)
    shares, _ = steps.shares.answer_options(exhibit.compute(Params(source="equal")))
    assert list(shares.values())[:3] == pytest.approx([0.1] * 3)
    assert "good as right" in said(answered(page(source="equal")))
    assert "gets 10.0%" in said(page(2, source="equal"))


def test_the_measures_of_a_prediction_are_explained_with_this_sentence():
    """Cross-entropy, perplexity, bits per byte and temperature: each follows from gpt-mini's run."""
    found, text, model = said(page(2, "measures")), params.SENTENCE, core.open_model("gpt-mini")
    run = model.run("\n" + text)
    logp = run.logits - np.log(np.exp(run.logits.astype(float)).sum(-1, keepdims=True))
    bits = [-logp[i - 1, run.ids[i]] / math.log(2) for i in range(1, len(run.ids))]
    assert len(bits) == len(model.tokenizer.encode(text).ids)
    mean = sum(bits) / len(bits)
    assert f"{mean:.2f} bits per token" in found and f"{2**mean:.0f} equally probable" in found
    assert f"{sum(bits) / len(text):.2f}. Models" in found
    assert f"{percent(weighting.softmax(np.array(weighting.BY_HAND) / 2).max())} at T = 2" in found


def test_the_sentence_can_be_weighed_by_sliders_and_skimmed():
    """C001."""
    test, skimmed = page(2, source="own", raw=RAW), page(4, threshold=20, source="own", raw=RAW)
    header, weights = words(test), weighting.softmax([float(each) for each in RAW.split("_")])
    assert header["words"] == list(weighting.WORDS) and header["raw"][4] == 5 and header["threshold"] is None
    assert f"all ten together {percent(weights.sum(), 2)}" in said(test) and weights.sum() == pytest.approx(1)
    kept = [word for word, weight in zip(weighting.WORDS, weights, strict=True) if weight >= 0.2]
    assert words(skimmed)["threshold"] == 0.2 and kept == ["portrait", "Leonardo"]
    assert states(said(skimmed), f"{len(kept)} of 10 words", "20%", percent(2 * weights[4]))


def test_a_slider_that_is_let_go_makes_the_importances_the_visitors_own(monkeypatch, written):
    monkeypatch.setattr(steps, "chosen_importances", lambda key, n: (0.0,) * 9 + (2.5,))
    steps._take("weighting.words")
    assert written == {"weighting.raw": "0_0_0_0_0_0_0_0_0_2.5", "weighting.source": "own"}
    assert params.importances(str(written["weighting.raw"]))[-1] == 2.5


def test_what_the_browser_sends_is_checked(monkeypatch):
    module = sys.modules["viz.instruments.weighing.weighing"]
    for sent, expected in (
        ([1, 2], (1.0, 2.0)),
        ([9, -1], (5.0, 0.0)),
        ([1], None),
        (["a", 1], None),
        ({"x": 1}, None),
        ([float("nan"), 1], None),
    ):
        monkeypatch.setattr(module, "stored", lambda key, name, sent=sent: sent)
        assert chosen_importances("k", 2) == expected
    for raw, wrong in (([6.0], "between 0 and 5"), ([1.0, 2.0], "2")):
        with pytest.raises(ValueError, match=wrong):
            weighing_packet(["a"], raw)


def test_what_one_word_gains_the_others_lose_by_one_factor():
    test = answered(page(3))
    after = weighting.weights_after_increase(weighting.BY_HAND, int(np.argmin(weighting.BY_HAND)))
    ratio = after[7] / weighting.softmax(weighting.BY_HAND)[7]
    assert page.answer(test, "share").startswith("All shrink") and f"multiplied by {ratio:.3f}" in said(test)


def test_surprise_of_the_shipped_model():
    test, data = page(2, source="model"), exhibit.compute(Params(source="model"))
    top = int(np.argmax(data.bits))
    assert max(data.raw) == 5.0
    assert states(said(test), f"“{weighting.WORDS[top]}”", f"{data.bits[top]:.1f} bits")
    names, small = data.bits[[0, 1, 4, 7, 9]], data.bits[[2, 3, 6]]
    assert names.min() > small.max(), "names and nouns surprise more than is, a, by"


@pytest.mark.slow
def test_the_picture_is_lit_where_the_patch_is():
    test, parts = page(5, part="hands"), exhibit.compute(Params(part="hands")).parts
    veils = [row["veil"] for row in drawn_rows(test, "veil")]
    assert len(veils) == 80 and int(np.argmin(veils)) in (8 * 8 + 3, 8 * 8 + 4)
    first = max(parts, key=parts.__getitem__)
    assert f"{percent(parts[first])} is on the {first}" in said(test)
    assert sum(parts.values()) == pytest.approx(1)
    assert "patch, H10" in said(page(5, part=params.TOUCHED_PATCH, cell=79))


def test_a_touched_patch_moves_the_attention(monkeypatch, written):
    touched = {"weighting.portrait": {"selection": {PICKED: [{"place": 12}]}}}
    monkeypatch.setattr(steps.page_parts.st, "session_state", touched)
    steps._touch("weighting.portrait")
    assert written == {"weighting.part": params.TOUCHED_PATCH, "weighting.cell": 12}


@pytest.mark.parametrize("text", ["", "1_2", "6_0_0_0_0_0_0_0_0_0", "nan_0_0_0_0_0_0_0_0_0"])
def test_importances_outside_the_scale_are_refused(text):
    with pytest.raises(state.Unusable):
        params.importances(text)


OWN = "The, king ate (the) zebra!"


@pytest.mark.parametrize(
    "chosen",
    [
        Params(),
        Params(source="own", raw="1_" * 9 + "3"),
        Params(source="model"),
        Params(text=OWN, source="model"),
    ],
)
def test_the_lines_to_take_away_make_the_same_weights(chosen):
    names: dict[str, object] = {}
    exec(steps.code(chosen), names)
    np.testing.assert_allclose(names["weights"], exhibit.compute(chosen).weights, atol=1e-6)


def test_ones_own_sentence_is_weighed_by_the_models_surprise():
    """C114."""
    test, data = page(2, sentence=OWN), exhibit.compute(Params(text=OWN, source="model"))
    assert data.words == ("The", "king", "ate", "the", "zebra")
    assert (words(test)["words"], words(test)["raw"]) == (list(data.words), list(data.raw))
    assert f"all 5 together {percent(data.weights.sum(), 2)}" in said(test)
    first = page(sentence=OWN)
    assert words(first)["covered"] and f"“{data.words[int(np.argmax(data.weights))]}” has" in said(first)
    for text, wrong in (("cat", "has 1 word."), ("a " * 17, "has 17 words."), ("", "has 0 words.")):
        with pytest.raises(InputError, match=wrong):
            exhibit.compute(Params(text=text))
