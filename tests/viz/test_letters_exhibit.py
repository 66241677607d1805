"""The exhibit on letters and frames: each number that it says is computed again in runs of the shipped speller."""

from __future__ import annotations

import io
import wave

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, said
from exhibit_visits import answered

import core
from core.data.speech.reader import synthesize
from core.errors import InputError
from viz.course.vision.letters_over_frames import charts, maths, own_voice
from viz.course.vision.letters_over_frames.params import Params
from viz.labels import percent
from viz.widgets import input_hints

OWN = "4 7 2"
TEXT = Params(own=OWN).text
page = StepPages("letters_over_frames", {"own": OWN}, ())


def recording(samples: np.ndarray, channels: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(16000)
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
    rows, seen = drawn_rows(answered(page(2)), "colour"), data.weights[data.weights >= 0.004]
    assert len(rows) == len(seen) and rows[0]["weight"] == percent(float(seen[0]), 1)


@pytest.mark.slow
def test_the_weights_follow_a_stretched_sound():
    one = maths.listened(TEXT)
    for speed in (0.6, 1.6):
        other = maths.listened(f"{TEXT} speed={speed}")
        assert other.output == one.output and maths.slope(one, other) == pytest.approx(1 / speed, rel=0.12)
    assert maths.slope(one, maths.listened("yes")) is None


@pytest.mark.slow
def test_the_pyramid_halves_and_the_page_counts_the_weights():
    shapes = maths.levels(TEXT)
    assert [n for n, _ in shapes.values()] == [96, 96, 48, 24] and shapes["frames"][1] == 24
    assert f"15 letters × 24 states = {15 * 24}" in said(answered(page(4)))


@pytest.mark.slow
def test_errors_by_noise_and_length_are_those_of_what_the_model_writes():
    found, first = maths.in_noise(0), maths._fresh(0, maths.SAID, 1)[0]
    assert found.rates[0] < 0.05 < found.rates[-1]
    output = core.open_model(maths.MODEL).run(first.to_text()).target_text
    assert (found.transcripts[0], found.outputs[0]) == (first.transcript, output)


def test_a_recording_is_spelled_and_what_is_none_is_refused_in_words():
    clip, _ = synthesize(maths.read(TEXT))
    at = np.interp(np.arange(0, len(clip), 0.5), np.arange(len(clip)), clip)
    samples, rate = own_voice.samples(recording(at * 0.5, channels=2))
    assert rate == 16000 and len(samples) == len(at)
    found = maths.recorded(samples, rate)
    assert found.output == "four seven two" and found.weights.shape[0] == len(found.letters)
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-5)
    noise = np.random.default_rng(0).standard_normal(16000).astype(np.float32)
    assert maths.recorded(noise, 16000).length == 1.0
    for n, loud, rate, wrong in (
        (16000, 0, 16000, "silent"),
        (61 * 8000, 0.1, 8000, "61.0 seconds"),
        (0, 0, 8000, "0.0"),
    ):
        with pytest.raises(InputError, match=wrong):
            maths.recorded(np.full(n, loud, np.float32), rate)
    for data in (b"", b"RIFF" + b"x" * 40):
        with pytest.raises(InputError, match="cannot be opened"):
            own_voice.samples(data)


def test_one_word_without_another_and_settings_of_the_text_itself_are_drawn():
    assert "Written: “yes”" in said(answered(page(own="yes noise=0.1 voice=john")))


def test_the_pages_for_free_work_read_a_sound_as_it_is_written():
    text, model = "4 7 voice=Linda", core.open_model(maths.MODEL)
    run = model.run(text)
    steps = list(core.decode(model, text, core.Greedy(), max_new_tokens=20))
    assert steps[-1].text.strip() == run.target_text == "four seven"
    assert input_hints.judge(maths.MODEL, text) is None
    attention = run.attention("alignment", by="word", writing=True)
    assert attention.keys == ("4", "7") and attention.queries[:2] == ("four", "seven")


@pytest.mark.parametrize(("upto", "wanted"), [(None, (3, 0, 3)), (1, (1, 1, 1))])
def test_the_picture_covers_what_is_to_be_guessed(upto, wanted):
    figure = charts.over_frames(np.zeros((12, 3)), [], list("abc"), np.eye(3), 0.08, upto=upto, line=True)
    cells, dots = drawn_rows(figure, "colour"), drawn_rows(figure, "order")
    covers = drawn_rows(figure, mark="rect", without=["colour"])
    assert (len(cells), len(covers), len(dots)) == wanted
