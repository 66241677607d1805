"""The steps on letters and frames: each draws its question, its picture and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.data.speech.waves import RATE
from viz.course.exhibit import Folds
from viz.course.vision.letters_over_frames import charts, maths
from viz.course.vision.letters_over_frames.maths import END, Heard
from viz.course.vision.letters_over_frames.params import SLUG, Params
from viz.labels import distinct, percent, visible
from viz.widgets import engine_client, exhibit_parts, page_parts

PAUSE = "a pause"


def guess(params: Params, data: Heard) -> Folds:
    """Ask for the part of the sound with the largest weight of one letter."""
    row = asked_letter(data)
    names = distinct([word.name for word in data.words])
    shares = {name: data.share(row, word) for name, word in zip(names, data.words, strict=True)}
    shares[PAUSE] = max(0.0, 1 - sum(shares.values()))
    most = max(shares, key=shares.__getitem__)
    so_far, letter = "".join(data.letters[:row]), data.letters[row]
    told = exhibit_parts.predict(
        f"{SLUG}.first",
        f"The model has read the sound below and output “{so_far.strip() or '(nothing)'}”. Next it outputs "
        f"“{visible(letter)}”. Which part of the sound has the largest attention weight?",
        shares,
        most,
        f"“{most}” has {percent(shares[most])} of the weight. It learned from pairs of a sound and its spelling alone, without "
        "word boundaries.",
    )
    _draw(data, f"{SLUG}.guess", upto=None if told else row, height=exhibit_parts.by_mode(430, 400))
    _hear(data, f"{SLUG}.guess.sound")
    page_parts.summary(
        _spelled(data)
        if told
        else f"{data.length:.2f} seconds of sound; {row} of {len(data.letters)} letters are shown, the rest after your guess."
    )
    return _folds(data, row, {"text": params.text}, revealed=told)


def diagonal(params: Params, data: Heard) -> Folds:
    """Do the weights walk from left to right?"""
    n = len(data.letters)
    known = (
        exhibit_parts.predict_number(
            f"{SLUG}.later",
            f"Nothing in the network forces it to attend from left to right: each letter may attend anywhere. Of the {n - 1} "
            "letters after the first (END is one of them), how many have a later mean time than the letter before?",
            0,
            n - 1,
            data.later,
            f"{data.later} of {n - 1}. Words are spelled in the order in which they are said, so the means move from word to word along a diagonal, not strictly from letter to letter. {percent(maths.on_own_word(data))} of the letters have more weight on their own word than on any other. {_resting(data)}",
            near=1,
        )
        if n > 2
        else True
    )
    _draw(data, f"{SLUG}.diagonal.{known}", line=known, height=exhibit_parts.by_mode(430, 400))
    _hear(data, f"{SLUG}.diagonal.sound")
    page_parts.summary(
        f"{data.later} of {n - 1} letters have a later mean time than the one before. {_spelled(data)}"
        if known
        else f"There are {n} rows of weights; each adds up to 1. {_spelled(data)}"
    )
    return _folds(data, asked_letter(data), {"text": params.text}, revealed=known)


def stretch(params: Params, data: Heard) -> Folds:
    """Draw the same words slower or faster: the weights follow."""
    other = engine_client.submit(
        (SLUG, params.other), lambda: maths.listened(params.other), 60 * len(params.own)
    )
    row = min(asked_letter(data), len(other.letters) - 1)
    here, there = float(data.centres[row]), float(other.centres[row])
    until = max(data.weights.shape[1] * data.step, other.weights.shape[1] * other.step)
    alike = data.letters == other.letters
    known = (
        exhibit_parts.predict_number(
            f"{SLUG}.stretch",
            f"At speed {params.speed:g} the mean time of “{visible(data.letters[row])}” (letter {row + 1}) is {here:.2f} s. "
            f"The sound is played at speed {params.rate:g}: {other.length:.2f} s in place of {data.length:.2f} s. What is "
            "the mean time now?",
            0,
            round(1.5 * until, 1),
            round(there, 2),
            f"{there:.2f} s. The network does not count frames: queries and keys match by their content.",
            near=0.25,
            unit="s",
        )
        if alike
        else True
    )
    height = exhibit_parts.by_mode(340, 225)
    _draw(data, f"{SLUG}.one", line=True, until=until, height=height)
    _draw(other, f"{SLUG}.other.{known}", upto=None if known else 0, line=known, until=until, height=height)
    _hear(other, f"{SLUG}.other.sound")
    slope = maths.slope(data, other)
    said = f"Speed {params.speed:g}: “{data.output}”, {data.length:.2f} s. Speed {params.rate:g}: "
    said += f"“{other.output}”, {other.length:.2f} s. " if known else f"{other.length:.2f} s. "
    if known and slope is not None:
        said += f"Mean times grow by the factor {slope:.2f}; the sound is {other.length / data.length:.2f} times as long."
    elif known:
        said += "The two spellings differ (this speed is too far from the training), so they cannot be compared letter by letter."
    page_parts.summary(said)
    latex = (
        ()
        if slope is None
        else (
            rf"t'_i \approx {slope:.3f}\, t_i + b, \quad \tfrac{{{other.length:.2f}}}{{{data.length:.2f}}} = {other.length / data.length:.3f}",
        )
    )
    return _folds(other, row, {"text": params.other}, revealed=known, latex=latex)


def pyramid(params: Params, data: Heard) -> Folds:
    """Draw the pyramid of the encoder, and the few states that remain for attention."""
    shapes = engine_client.submit(
        (SLUG, "levels", params.text), lambda: maths.levels(params.text), 60 * len(params.own)
    )
    frames, left = shapes["frames"][0], list(shapes.values())[-1][0]
    n, up = len(data.letters), len(shapes) - 2
    known = exhibit_parts.predict_number(
        f"{SLUG}.pyramid",
        f"{data.length:.2f} seconds are {frames} frames, one every {maths.hop():.2f} s. Above them are a recurrent layer and "
        f"{up} levels of a pyramid, each of which reads two neighbours as one. Over how many states does attention run?",
        0,
        frames,
        left,
        f"{left}: {frames} / 2^{up}. A letter's weights are {left} numbers in place of {frames}, and each state covers {data.step:.2f} s of "
        "sound, with its context.",
        near=max(1, frames // 50),
    )
    shown = shapes if known else dict(list(shapes.items())[:2])
    page_parts.show(
        charts.pyramid(shown, height=exhibit_parts.by_mode(240, 300)),
        f"{SLUG}.pyramid",
        "Frames of the sound and the states of each level above them.",
    )
    page_parts.summary(
        f"{n} letters × {left} states = {n * left:,} weights; over frames there would be {n * frames:,}."
        if known
        else f"{frames} frames of {shapes['frames'][1]} numbers each. The levels are shown after your guess."
    )
    rows = {name: {"states": a, "numbers in each": b} for name, (a, b) in shapes.items()}
    return Folds(
        lambda: pd.DataFrame(rows).T,
        {name.replace(" ", "_"): np.array(shape) for name, shape in shapes.items()},
        {"text": params.text},
        known,
        latex=(
            r"h^j_i = \mathrm{BLSTM}(h^j_{i-1}, [h^{j-1}_{2i}; h^{j-1}_{2i+1}])",
            rf"{frames} / 2^{{{up}}} = {left}",
        ),
    )


def asked_letter(data: Heard) -> int:
    """Return the row of the question: the first letter of the second word in the output, else the second letter."""
    if " " in data.letters[:-1]:
        return min(data.letters.index(" ") + 1, len(data.letters) - 1)
    return min(1, len(data.letters) - 1)


def _resting(data: Heard) -> str:
    """Describe the letters that have most of their weight outside all words."""
    inside = np.array([sum(data.share(i, word) for word in data.words) for i in range(len(data.letters))])
    resting = [visible(data.letters[i]) for i in np.flatnonzero(inside[:-1] < 0.5)]
    if not resting:
        return "Every letter has most of its weight on a word."
    return f"{len(resting)} letters ({', '.join(resting)}) have most of their weight on a pause: the list of words is so short that the letters before may be enough to predict the next one."


def _draw(data: Heard, key: str, **how: Any) -> None:
    words = [(word.name, word.begin, word.end) for word in data.words]
    page_parts.show(
        charts.over_frames(data.mel, words, data.letters, data.weights, data.step, **how),
        key,
        f"The sound of {data.transcript or 'a recording'} as a spectrogram, and the attention weights of each letter over it.",
    )


def _hear(data: Heard, key: str) -> None:
    """Draw the player of the sound; in present mode the picture takes its place."""
    if not exhibit_parts.presenting():
        st.audio(data.wave, sample_rate=RATE)


def _spelled(data: Heard) -> str:
    """Name the spoken words and the output."""
    same = data.output == data.transcript
    return f"Spoken: “{data.transcript}”. Written: “{data.output}”" + (
        ", every letter right." if same else "."
    )


def _folds(
    data: Heard, row: int, code: Mapping[str, Any], *, revealed: bool = True, latex: tuple[str, ...] = ()
) -> Folds:
    """Return the table of weights, the arrays, and the weighted sums of one letter."""
    letters, weights = distinct(data.letters), data.weights
    seconds = [f"{place * data.step:.2f} s" for place in range(weights.shape[1])]
    most = int(weights[row].argmax())
    name = "END" if data.letters[row] == END else visible(data.letters[row])

    def table() -> pd.DataFrame:
        frame = pd.DataFrame(weights.round(4), index=letters, columns=seconds)
        frame["their sum"] = weights.sum(1).round(4)
        frame["mean time (s)"] = data.centres.round(3)
        return frame

    return Folds(
        table,
        lambda: {
            "weights": weights,
            "seconds": data.middles,
            "centres": data.centres,
            "mel": data.mel,
            "wave": data.wave,
            "letters": np.array(data.letters),
        },
        {**code, "step": data.step},
        revealed,
        {"attention.softmax": {"a_ij": f"{weights[row, most]:.3f}"}, "attention.context": {}},
        (
            rf"\sum_j a_{{ij}} = {weights[row].sum():.4f}, \quad \sum_j a_{{ij}}\, t_j = {data.centres[row]:.3f}\ \text{{s for “{_set(name)}”}}",
            *latex,
        ),
    )


def _set(name: str) -> str:
    """Return a letter for LaTeX."""
    return name if name.isalnum() and name.isascii() else r"\ "
