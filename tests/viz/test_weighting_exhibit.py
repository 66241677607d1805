"""The first exhibit without a browser: the words, the question before them, skimming, the picture, nonsense in the link."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import drawn, said
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

from core.errors import InputError
from viz.charts.patches import PICKED
from viz.course.shared import weighting
from viz.course.why.weighting import exhibit, params, steps
from viz.course.why.weighting.params import Params
from viz.instruments.weighing.weighing import chosen_importances, weighing_packet
from viz.labels import percent
from viz.shell import state


def page(*folded: str, state: dict[str, object] | None = None, **link: str) -> AppTest:
    return drawn(
        "weighting",
        {f"weighting.{name}": value for name, value in link.items()},
        {f"fold:{name}": True for name in folded} | (state or {}),
    )


def words(test: AppTest) -> dict:
    """What the sentence's instrument was sent."""
    return next(
        header
        for e in test.get("bidi_component")
        if e.proto.bytes and "threshold" in (header := opened(e.proto.bytes)[0])
    )


def test_the_page_opens_with_a_question_and_gives_nothing_away():
    test = page()
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.text.info.title
    assert words(test)["covered"] and words(test)["raw"] == list(weighting.BY_HAND)
    assert "%" not in "".join(text.value for text in test.text)
    shares, answer = steps.shares.answer_options(exhibit.compute(Params()))
    assert [one.replace("\\", "") for one in test.get("button_group")[1].options] == list(shares)
    assert shares[answer] == weighting.softmax(weighting.BY_HAND).max()


def test_after_the_guess_the_words_are_shaded_and_the_answer_is_the_runs_own():
    wrong, *_ = steps.shares.answer_options(exhibit.compute(Params()))[0]
    test = page(state={"predict:weighting.first": wrong})
    weights = weighting.softmax(weighting.BY_HAND)
    assert not words(test)["covered"] and words(test)["raw"] == list(weighting.BY_HAND)
    assert states(said(test), f"“{wrong}”", f"“{percent(weights[7])}")
    assert f"is {percent(weights[7], 2)}" in said(
        test
    ) and f"“Leonardo” gets {percent(weights[7], 2)}" in said(test)


def test_other_importances_make_another_answer():
    raw = "0_0_0_0_0_0_0_0_0_4"
    right = steps.shares.answer_options(exhibit.compute(Params(source="own", raw=raw)))[1]
    test = page(source="own", raw=raw, state={"predict:weighting.first": right})
    assert "Right." in said(test) and f"“Vinci” gets {percent(np.exp(4) / (np.exp(4) + 9), 2)}" in said(test)
    shares, right = steps.shares.answer_options(exhibit.compute(Params(source="equal")))
    level = page(source="equal", state={"predict:weighting.first": next(iter(shares))})
    assert list(shares.values())[:3] == pytest.approx([0.1] * 3) and "good as right" in said(level)


def test_the_measures_of_a_prediction_are_explained_with_this_sentence():
    """Cross-entropy, perplexity, bits per byte and temperature: each follows from gpt-mini's run."""
    import math

    import core

    found = said(page("weighting.measures", step="2"))
    text = params.SENTENCE
    run = core.open_model("gpt-mini").run("\n" + text)
    logp = run.logits - np.log(np.exp(run.logits.astype(float)).sum(-1, keepdims=True))
    bits = [-logp[i - 1, run.ids[i]] / math.log(2) for i in range(1, len(run.ids))]
    assert len(bits) == len(core.open_model("gpt-mini").tokenizer.encode(text).ids)
    mean = sum(bits) / len(bits)
    assert f"{mean:.2f} bits per token" in found and f"{2**mean:.0f} equally probable" in found
    assert f"{sum(bits) / len(text):.2f}. Models" in found
    assert f"{percent(weighting.softmax(np.array(weighting.BY_HAND) / 2).max())} at T = 2" in found
    assert "What matters" in found and "not explain" in found


def test_the_sentence_can_be_weighed_by_sliders_and_skimmed():
    """C001."""
    test = page(step="2", source="own", raw="0_0_1_0_5_0_0_5_0_0")
    header, weights = words(test), weighting.softmax([0, 0, 1, 0, 5, 0, 0, 5, 0, 0])
    assert header["words"] == list(weighting.WORDS) and header["raw"][4] == 5 and header["threshold"] is None
    assert f"all ten together {percent(weights.sum(), 2)}" in said(test) and weights.sum() == pytest.approx(1)
    skimmed = page(step="4", threshold="20", source="own", raw="0_0_1_0_5_0_0_5_0_0")
    kept = [word for word, weight in zip(weighting.WORDS, weights, strict=True) if weight >= 0.2]
    assert words(skimmed)["threshold"] == 0.2 and kept == ["portrait", "Leonardo"]
    assert states(said(skimmed), f"{len(kept)} of 10 words", "20%", percent(2 * weights[4]))


def test_equal_sliders_give_a_tenth_each():
    assert "gets 10.0%" in said(page(step="2", source="equal"))


def test_a_slider_that_is_let_go_makes_the_importances_the_visitors_own(monkeypatch):
    written: dict[str, object] = {}
    monkeypatch.setattr(steps.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(steps, "chosen_importances", lambda key, n: (0.0,) * 9 + (2.5,))
    steps._take("weighting.words")
    assert written == {"weighting.raw": "0_0_0_0_0_0_0_0_0_2.5", "weighting.source": "own"}
    assert params.importances(str(written["weighting.raw"]))[-1] == 2.5


def test_what_the_browser_sends_is_checked(monkeypatch):
    for sent, expected in (
        ([1, 2], (1.0, 2.0)),
        ([9, -1], (5.0, 0.0)),
        ([1], None),
        (["a", 1], None),
        ({"x": 1}, None),
        ([float("nan"), 1], None),
    ):
        monkeypatch.setattr(
            sys.modules["viz.instruments.weighing.weighing"], "stored", lambda key, name, sent=sent: sent
        )
        assert chosen_importances("k", 2) == expected
    with pytest.raises(ValueError, match="between 0 and 5"):
        weighing_packet(["a"], [6.0])
    with pytest.raises(ValueError, match="2"):
        weighing_packet(["a"], [1.0, 2.0])


def test_what_one_word_gains_the_others_lose_by_one_factor():
    test = page(step="3", state={"predict:weighting.share": "They stay as they are"})
    raw = np.array(weighting.BY_HAND)
    place = int(raw.argmin())
    after = weighting.weights_after_increase(weighting.BY_HAND, place)
    ratio = after[7] / weighting.softmax(raw)[7]
    assert states(said(test), "“All shrink", "same factor") and f"multiplied by {ratio:.3f}" in said(test)


def test_surprise_of_the_shipped_model():
    test = page(step="2", source="model")
    data = exhibit.compute(Params(source="model"))
    assert data.bits is not None and max(data.raw) == 5.0
    top = int(np.argmax(data.bits))
    assert states(said(test), f"“{weighting.WORDS[top]}”", f"{data.bits[top]:.1f} bits")
    informative, small = data.bits[[0, 1, 4, 7, 9]], data.bits[[2, 3, 6]]
    assert informative.min() > small.max(), "names and nouns surprise more than is, a, by"


@pytest.mark.slow
def test_the_picture_is_lit_where_the_patch_is():
    test = page(step="5", part="hands")
    veils = [row["veil"] for row in drawn_rows(test, "veil")]
    assert (
        not test.get("plotly_chart") and len(veils) == 80 and int(np.argmin(veils)) in (8 * 8 + 3, 8 * 8 + 4)
    )
    data = exhibit.compute(Params(part="hands"))
    first = max(data.parts, key=data.parts.__getitem__)
    assert f"{percent(data.parts[first])} is on the {first}" in said(test) and sum(
        data.parts.values()
    ) == pytest.approx(1)
    touched = page(step="5", part=params.TOUCHED_PATCH, cell="79")
    assert "The brightest patch, H10" in said(touched)


def test_a_touched_patch_moves_the_attention(monkeypatch):
    written: dict[str, object] = {}
    monkeypatch.setattr(steps.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(
        steps.page_parts.st, "session_state", {"weighting.portrait": {"selection": {PICKED: [{"place": 12}]}}}
    )
    steps._touch("weighting.portrait")
    assert written == {"weighting.part": params.TOUCHED_PATCH, "weighting.cell": 12}


def test_importances_outside_the_scale_are_refused():
    for text in ("", "1_2", "6_0_0_0_0_0_0_0_0_0", "nan_0_0_0_0_0_0_0_0_0"):
        with pytest.raises(state.Unusable):
            params.importances(text)


def test_the_lines_to_take_away_make_the_same_weights():
    for chosen in (Params(), Params(source="own", raw="1_" * 9 + "3"), Params(source="model")):
        names: dict[str, object] = {}
        exec(steps.code(chosen), names)
        np.testing.assert_allclose(names["weights"], exhibit.compute(chosen).weights, atol=1e-6)


def test_ones_own_sentence_is_weighed_by_the_models_surprise():
    """C114."""
    own = "The, king ate (the) zebra!"
    test = page(step="2", sentence=own)
    data = exhibit.compute(Params(text=own, source="model"))
    assert (
        data.words == ("The", "king", "ate", "the", "zebra")
        and words(test)["words"] == list(data.words)
        and words(test)["raw"] == list(data.raw)
    )
    assert f"all 5 together {percent(data.weights.sum(), 2)}" in said(test)
    first = page(sentence=own)
    assert words(first)["covered"] and f"“{data.words[int(np.argmax(data.weights))]}” has" in said(first)
    names: dict[str, object] = {}
    exec(steps.code(Params(text=own, source="model")), names)
    np.testing.assert_allclose(names["weights"], data.weights, atol=1e-6)
    for text, wrong in (("cat", "has 1 word."), ("a " * 17, "has 17 words."), ("", "has 0 words.")):
        with pytest.raises(InputError, match=wrong):
            exhibit.compute(Params(text=text))
