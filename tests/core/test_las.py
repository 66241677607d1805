"""Listen, attend and spell: sounds as texts, what is heard of them, the pyramid, and what is written; against oracles."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from small_models import small_network
from torch import nn
from transformers.audio_utils import mel_filter_bank, spectrogram, window_function

from core.data.speech import clips, reader, waves
from core.data.speech.sampling import RowSampler
from core.errors import InputError
from core.models import Batch
from core.models.las import LasConfig
from core.scoring import spelling
from core.scoring.spelling import sample_items
from core.text.words import words_of
from core.trace import Recorder


def network(**changes):
    return small_network("las", **changes)


def batch(n_places=5, n_letters=4, numbers=12):
    draw = torch.Generator().manual_seed(1)
    ids, source = torch.randint(1, 29, (2, n_letters), generator=draw), torch.arange(n_places).expand(2, -1)
    values = torch.randn(2, n_places, numbers, generator=draw)
    return Batch(ids=ids, real=ids >= 0, source=source, source_real=source >= 0, values=values)


def test_log_mel_is_that_of_transformers():
    wave, _ = reader.synthesize(reader.read("4 tree noise=0.2 voice=Steph"))
    bank = mel_filter_bank(
        num_frequency_bins=129,
        num_mel_filters=24,
        min_frequency=100.0,
        max_frequency=3800.0,
        sampling_rate=8000,
        norm=None,
        mel_scale="htk",
    )
    theirs = spectrogram(
        wave,
        window=window_function(200, "hann"),
        frame_length=200,
        hop_length=160,
        fft_length=256,
        power=2.0,
        center=False,
    )
    np.testing.assert_allclose(waves.mel_filters(), bank.T, atol=1e-9)
    ours = waves.log_mel(wave)
    np.testing.assert_allclose(ours[: theirs.shape[1]], np.log10(bank.T @ theirs + waves.FLOOR).T, atol=1e-4)
    assert 0 <= len(ours) - theirs.shape[1] <= 1  # the last window is filled up with silence


def test_eight_bits_keep_a_wave_finer_where_it_is_quiet():
    wave = np.linspace(-1, 1, 2001, dtype=np.float32)
    again = waves.from_bytes(waves.to_bytes(wave))
    error = np.abs(again - wave)
    assert error.max() < 0.025 and error[np.abs(wave) < 0.02].max() < 0.001


@pytest.mark.parametrize("speed", [0.6, 1.7])
def test_what_is_stretched_lasts_longer_and_is_as_high(speed):
    tone = np.sin(2 * np.pi * 440 * np.arange(8000) / 8000).astype(np.float32)
    other = waves.stretch(tone, speed)
    assert len(other) == int(8000 / speed)
    peak = np.abs(np.fft.rfft(other)).argmax() * 8000 / len(other)
    assert abs(peak - 440) < 12
    inner = other[400:-800]
    assert abs(np.sqrt(np.mean(inner**2)) - np.sqrt(0.5)) < 0.08


def test_a_text_is_a_sound_and_each_place_knows_its_word():
    spoken = reader.SpeechReader(4, 256)
    text = "47 tree voice=linda speed=0.8 noise=.1 seed=3"
    found = spoken.encode(text)
    assert found.values.shape == (len(found.tokens), 96) and np.isfinite(found.values).all()
    said = [text[slice(*span)] for span in found.spans]
    assert list(dict.fromkeys(said)) == ["4", "7", "tree"]
    assert [word.text for word in words_of(text, found.tokens, found.spans)] == ["47", "tree"]
    assert found.tokens[:2] == ("0.00 s", "0.08 s")
    again, other = spoken.encode(text + " "), spoken.encode(text.replace("seed=3", "seed=4"))
    assert np.array_equal(again.values, found.values) and not np.array_equal(other.values, found.values)
    slow = spoken.encode("4 7 speed=0.5")
    assert len(slow.tokens) == pytest.approx(2 * len(spoken.encode("4 7").tokens), abs=1)


def test_a_sound_is_written_back_as_it_was_read():
    for text in ("4 7 2", "yes 4 voice=John speed=1.25 noise=0.1 seed=7", "0"):
        assert reader.read(text).to_text() == text


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "no word"),
        ("voice=linda", "no word"),
        ("4 elephant", "elephant"),
        ("4 voice=elvis", "elvis"),
        ("4 speed=9", "speed=9"),
        ("4 speed=nan", "speed=nan"),
        ("4 noise=loud", "noise=loud"),
        ("4 seed=1.5", "seed=1.5"),
        ("4 pitch=2", "pitch"),
        ("4 " * 40, "long"),
        ("4 " * 5000, "long"),
        ("<b>4</b>", "<b>"),
    ],
)
def test_a_text_that_is_no_sound_is_refused_in_words(text, wrong):
    with pytest.raises(InputError, match=wrong):
        reader.SpeechReader(4, 256).encode(text)


def test_every_word_ships_in_every_voice():
    shipped = clips.shipped_clips()
    assert {*shipped} == {(word, voice) for word in clips.WORDS for voice in reader.VOICES}
    assert all(0.1 < len(code) / waves.RATE < 1.2 for code in shipped.values())
    loud = [np.sqrt(np.mean(clips.clip(word, voice) ** 2)) for word, voice in list(shipped)[::17]]
    assert np.allclose(loud, waves.LOUDNESS, rtol=0.1)
    assert not {*clips.TRAINING_VOICES} & {*clips.HELD_OUT_VOICES}


def test_each_level_of_the_pyramid_has_half_the_states():
    for n_levels in (1, 2, 3):
        net, given = network(n_levels=n_levels), batch(numbers=3 * 2**n_levels)
        tap = Recorder(("encoder.*",))
        with torch.no_grad():
            states = net.encode(given, tap)
        trace = tap.close()
        lengths = [trace[f"encoder.layer.{i}.hidden"].shape[1] for i in range(n_levels + 1)]
        assert lengths == [5 * 2**level for level in range(n_levels, -1, -1)] and states.shape == (2, 5, 34)


def test_the_listener_is_torchs_lstm_over_pairs():
    net, given = network(), batch()
    x = given.values.reshape(2, 20, 3)
    for i, (ahead, behind) in enumerate(
        zip(net.encoder.forward_cells, net.encoder.backward_cells, strict=True)
    ):
        x = x if i == 0 else torch.cat((x[:, 0::2], x[:, 1::2]), dim=-1)
        oracle = nn.LSTM(x.shape[-1], 17, batch_first=True, bidirectional=True)
        for suffix, cell in (("", ahead), ("_reverse", behind)):
            for ours, theirs in (("from_input", "ih"), ("from_hidden", "hh")):
                for part in ("weight", "bias"):
                    getattr(oracle, f"{part}_{theirs}_l0{suffix}").data = getattr(
                        getattr(cell, ours), part
                    ).data
        x = oracle(x)[0].detach()
    with torch.no_grad():
        torch.testing.assert_close(net.encode(given), x, rtol=1e-5, atol=1e-5)


def test_the_speller_is_the_paper_step_by_step():
    net, given = network(n_layers=1), batch()
    with torch.no_grad():
        memory, score = net.encode(given), net.decoder.attend.score
        cell = nn.LSTMCell(68, 34)  # reads the letter and the context side by side
        own = net.decoder.cells[0]
        cell.weight_ih.data = torch.cat((own.from_input.weight, net.decoder.from_context.weight), dim=1)
        cell.weight_hh.data, cell.bias_ih.data = own.from_hidden.weight.data, own.from_input.bias.data
        cell.bias_hh.data = own.from_hidden.bias.data
        state, context, out = (torch.zeros(2, 34), torch.zeros(2, 34)), torch.zeros(2, 34), []
        for letter in given.ids.T:
            state = cell(torch.cat((net.embed["token"](letter), context), dim=-1), state)
            fits = torch.tanh(score.from_query(state[0])[:, None] + score.from_key(memory)) @ score.v
            context = (fits.softmax(-1)[:, :, None] * memory).sum(1)
            out.append(torch.tanh(net.decoder.mix(torch.cat((context, state[0]), dim=-1))))
        wanted = torch.stack(out, dim=1) @ net.embed["token"].weight.T
        torch.testing.assert_close(net.logits(net(given)), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("wrong", [{"score": "magic"}, {"n_heads": 2}, {"d_model": 35}, {"n_levels": 0}])
def test_a_config_that_cannot_be_built_names_its_numbers(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(LasConfig.tiny(), **wrong)


def test_without_numbers_behind_the_places_nothing_is_heard():
    with pytest.raises(ValueError, match="values"):
        network().encode(replace(batch(), values=None))


def test_rows_of_the_training_are_drawn_from_the_clips_and_differ():
    drawing = RowSampler(
        {(word, f"{voice} 0"): code for (word, voice), code in clips.shipped_clips().items()}
    )
    (values, said), again, other = (drawing.sample(np.random.default_rng(seed), 3, 4) for seed in (1, 1, 2))
    assert values.shape[1] == 96 and len(said.split()) == 3 and {*said.split()} <= {*clips.WORDS}
    assert np.array_equal(values, again[0]) and said == again[1] and other[1] != said


def test_every_sound_is_counted_and_may_be_written_to_its_end(monkeypatch):
    read, limits = [], []
    monkeypatch.setattr(spelling, "_read", lambda _model, items: read.extend(items) or [""] * len(items))
    monkeypatch.setattr(spelling, "baselines", lambda *_: {})
    assert spelling.measure(None, limit=1)["items"] == len(read) == 19
    wave = np.random.default_rng(0).standard_normal(4000).astype(np.float32)
    np.testing.assert_array_equal(spelling._shape(wave)[:, [0, -1]], waves.log_mel(wave)[[0, -1]].T)
    cfg, texts = LasConfig(), ["tree", "tree four"]
    net = SimpleNamespace(cfg=cfg, parameters=lambda: iter([torch.zeros(1)]))
    monkeypatch.setattr(spelling, "greedy", lambda *_, limit, **__: limits.extend(limit) or [[]] * len(limit))
    spelling.transcribe(net, SimpleNamespace(start=1, end=2, decode=str), texts)
    states = [len(waves.log_mel(reader.synthesize(reader.read(text))[0])) / cfg.n_frames for text in texts]
    assert limits == [math.ceil(n) + 10 for n in states]


def test_held_out_sounds_are_in_voices_that_no_training_hears():
    items = sample_items(6, sizes=(1, 3))
    voices = {reader.read(item.text).voice for item in items}
    assert voices == {*clips.HELD_OUT_VOICES} and [reader.read(item.text).transcript for item in items] == [
        i.transcript for i in items
    ]
