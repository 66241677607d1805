"""The exhibit on letters and frames: each number that it says is computed again in runs of the shipped speller."""

from __future__ import annotations

import io
import wave

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import drawn, said
from shown_values import states

import core
from core.data.speech.reader import synthesize
from core.errors import InputError
from viz.course.vision.letters_over_frames import charts, maths, own_voice
from viz.course.vision.letters_over_frames.params import SLUG, Params
from viz.labels import percent
from viz.widgets import input_hints

OWN = "4 7 2"
TEXT = Params(own=OWN).text


def page(step, known=True, **link):
    query = {
        f"{SLUG}.step": str(step),
        f"{SLUG}.own": OWN,
        **{f"{SLUG}.{name}": value for name, value in link.items()},
    }
    test = drawn(SLUG, query, {})
    assert not test.exception
    if known:
        for pills in [each for each in test.button_group if str(each.key).startswith("predict:")]:
            test = drawn(SLUG, query, {pills.key: pills.options[1]})
        for button in [each for each in test.button if str(each.key).endswith(":commit")]:
            test = button.click().run()
        assert not test.exception
    return test


def recording(samples, rate=16000, channels=1):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes((np.repeat(samples, channels) * 32767).astype("<i2").tobytes())
    return file.getvalue()


@pytest.mark.slow
def test_letters_over_frames_is_a_map_whose_rows_sum_to_one_and_walk_along_the_sound():
    """C053."""
    data, run = maths.listened(TEXT), core.open_model(maths.MODEL).run(TEXT)
    assert data.output == data.transcript == "four seven two"
    assert data.weights.shape == (len(data.letters), len(run.source.ids)) == (15, 24)
    np.testing.assert_allclose(data.weights, run.trace["decoder.attn.pattern"][0], atol=1e-7)
    np.testing.assert_allclose(data.weights.sum(1), 1, atol=1e-5)
    begins = [data.centres[i] for i in (0, 5, 11)]  # f, s, t: the first letter of each word
    for at, word in zip(begins, data.words, strict=True):
        assert word.begin - 0.1 < at < word.end
    rows = drawn_rows(page(2), "colour")
    assert len(rows) == (data.weights >= 0.004).sum()
    assert rows[0]["weight"] == percent(float(data.weights[data.weights >= 0.004][0]), 1)


@pytest.mark.slow
def test_the_guess_is_about_the_weights_of_one_row_and_tells_nothing_before():
    data = maths.listened(TEXT)
    shares = [data.share(5, word) for word in data.words]
    assert max(shares) == shares[1] > 0.5
    hidden = page(1, known=False)
    assert percent(shares[1]) not in said(hidden) and "“four”" in said(hidden)
    assert (
        max(row["top"] for row in drawn_rows(hidden, "colour"))
        < drawn_rows(hidden, mark="rect", without=["colour"])[0]["top"] + 1e-9
    )
    assert states(said(page(1)), "“7”", percent(shares[1]))


@pytest.mark.slow
def test_the_weights_follow_a_stretched_sound():
    one = maths.listened(TEXT)
    for speed in (0.6, 1.6):
        other = maths.listened(f"{TEXT} speed={speed}")
        assert other.output == one.output
        assert maths.slope(one, other) == pytest.approx(1 / speed, rel=0.12)
    assert maths.slope(one, maths.listened("yes")) is None


@pytest.mark.slow
def test_the_pyramid_halves_and_the_page_counts_the_weights():
    shapes = maths.levels(TEXT)
    assert [n for n, _ in shapes.values()] == [96, 96, 48, 24] and shapes["frames"][1] == 24
    assert f"15 letters × 24 states = {15 * 24}" in said(page(4))


@pytest.mark.slow
def test_errors_by_noise_and_length_are_those_of_what_the_model_writes():
    found = maths.in_noise(0)
    assert found.rates[0] < 0.05 < found.rates[-1]
    model = core.open_model(maths.MODEL)
    first = maths._fresh(0, maths.SAID, 1)[0]
    assert (found.transcripts[0], found.outputs[0]) == (
        first.transcript,
        model.run(first.to_text()).target_text,
    )


def test_a_recording_is_spelled_and_what_is_none_is_refused_in_words():
    clip, _ = synthesize(maths.read(TEXT))
    at = np.interp(np.arange(0, len(clip), 0.5), np.arange(len(clip)), clip)
    samples, rate = own_voice.samples(recording(at * 0.5, channels=2))
    assert rate == 16000 and len(samples) == len(at)
    found = maths.recorded(samples, rate)
    assert found.output == "four seven two" and found.weights.shape[0] == len(found.letters)
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-5)
    silent, endless = np.zeros(16000, np.float32), np.full(61 * 8000, 0.1, np.float32)
    noise = np.random.default_rng(0).standard_normal(16000).astype(np.float32)
    assert maths.recorded(noise, 16000).length == 1.0
    for wave_, rate, wrong in (
        (silent, 16000, "silent"),
        (endless, 8000, "61.0 seconds"),
        (silent[:0], 8000, "0.0"),
    ):
        with pytest.raises(InputError, match=wrong):
            maths.recorded(wave_, rate)
    for data, wrong in ((b"", "cannot be opened"), (b"RIFF" + b"x" * 40, "cannot be opened")):
        with pytest.raises(InputError, match=wrong):
            own_voice.samples(data)


@pytest.mark.parametrize("text", ["elephant", "<script>alert(1)</script>", "4 speed=fast", "4 " * 400])
def test_a_text_that_is_no_sound_is_told_calmly(text):
    test = page(1, known=False, own=text)
    assert any(word in said(test) for word in ("no clip", "cannot be used", "long"))


def test_one_word_without_another_and_settings_of_the_text_itself_are_drawn():
    test = page(1, own="yes noise=0.1 voice=john")
    assert "Written: “yes”" in said(test)


def test_the_pages_for_free_work_read_a_sound_as_it_is_written():
    text = "4 7 voice=Linda"
    assert input_hints.judge(maths.MODEL, text) is None
    run = core.open_model(maths.MODEL).run(text)
    steps = list(core.decode(core.open_model(maths.MODEL), text, core.Greedy(), max_new_tokens=20))
    assert steps[-1].text.strip() == run.target_text == "four seven"
    attention = run.attention("alignment", by="word", writing=True)
    assert attention.keys == ("4", "7") and attention.queries[:2] == ("four", "seven")


def test_the_picture_covers_what_is_to_be_guessed():
    weights = np.eye(3)
    for upto, wanted in ((None, (3, 0, 3)), (1, (1, 1, 1))):
        figure = charts.over_frames(np.zeros((12, 3)), [], list("abc"), weights, 0.08, upto=upto, line=True)
        covers = drawn_rows(figure, mark="rect", without=["colour"])
        cells, dots = drawn_rows(figure, "colour"), drawn_rows(figure, "order")
        assert (len(cells), len(covers), len(dots)) == wanted
