"""The steps of the exhibit on training and inference: each draws its question, picture, numbers and control."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.course.exhibit import Folds
from viz.course.transformer.training_and_inference.charts import learned_task, teacher_forcing
from viz.course.transformer.training_and_inference.parallel_decoder import AtOnce, by_torch, losses
from viz.course.transformer.training_and_inference.params import MODEL, SLUG, Params, as_words, word
from viz.labels import list_values, percent
from viz.number_text import number, tiny
from viz.shell import links, present_layout
from viz.widgets import controls, exhibit_parts, page_parts


def shift(params: Params, data: AtOnce) -> Folds:
    """Draw the target and the decoder input as two rows; before the guess the lower one is hidden."""
    read, wanted, m = as_words(data.read), as_words(data.target), len(data.target)
    at = min(1, m - 1)
    answer = read[at]
    told = exhibit_parts.predict(
        SLUG + "shift",
        f"At one position the decoder should predict “{wanted[at]}”. What does it read there?",
        tuple(dict.fromkeys((*read[:4], wanted[at]))),
        answer,
        f"The target shifted one position to the right: at the position of “{wanted[at]}” is “{answer}”. So each position learns: after this word, predict that one.",
    )
    moved = params.shift
    given = list(read if moved else wanted)
    shown = given if told else [given[0] if moved else None] + [None] * (m - 1)
    page_parts.show_large(
        teacher_forcing.rows(wanted, shown, arrows=moved, selected=at),
        SLUG + "shift.picture",
        f"Two rows of {m} tokens: the target, and what the decoder reads."
        + (f" It reads {', '.join(given)}." if told else ""),
        260 if m <= teacher_forcing.WRAPPED else present_layout.MAX_HEIGHT,
    )
    page_parts.summary(
        _shift_numbers(data, moved)
        if told
        else f"The target has {m} tokens, END included. The decoder reads {m} tokens, too."
    )
    frame = pd.DataFrame({"target": wanted, "decoder input": given}, index=range(1, m + 1)).rename_axis(
        "place"
    )
    return Folds(
        frame,
        {"target": data.ids, "losses": data.losses, "unshifted": data.unshifted},
        {"model": MODEL},
        told,
        equations={"training.loss": {"m": str(m)}},
        latex=(
            rf"\mathrm{{input}}_1 = \mathrm{{START}}, \qquad \mathrm{{input}}_t = y_{{t-1}}, \quad t = 2, \ldots, {m}",
        ),
        look={"d": default().open(MODEL).config.d_model},
    )


def _shift_numbers(data: AtOnce, shifted: bool) -> str:
    if shifted:
        return f"{len(data.target)} positions, {len(data.target)} predictions: the mean loss is {number(data.losses.mean(), 3)} nats per token."
    return (
        f"Now each position reads the very word that it should predict: copying would be enough, and nothing about translating would be learned. This decoder learned with the "
        f"shift; fed like this its loss is {number(data.unshifted.mean(), 2)} nats per token instead of {number(data.losses.mean(), 3)}."
    )


def words_of(tokens: Sequence[str]) -> list[int]:
    """Return the positions of tokens with a letter, of those that end in END; all where there is none.

    >>> words_of((" De", " nada", ".", "END")), words_of((".", "END")), words_of(("THE", "END", "END"))
    ([0, 1], [0, 1], [0, 1])
    """
    found = [i for i, token in enumerate(tokens[:-1]) if any(map(str.isalpha, token))]
    return found or list(range(len(tokens)))


def all_at_once(params: Params, data: AtOnce) -> Folds:
    """Draw the loss of every position, hidden until the guess."""
    wanted, m = as_words(data.target), len(data.target)
    places = [f"{i + 1}: {token}" for i, token in enumerate(wanted)]
    values, words = data.losses, words_of(data.target)
    most, least = (int(words[int(pick(values[words]))]) for pick in (np.argmax, np.argmin))
    told = exhibit_parts.predict(
        SLUG + "most",
        "The model gives each target token a probability. Which word has the largest loss?",
        {places[i]: float(values[i]) for i in words},
        places[most],
        f"The model gives “{wanted[most]}” {percent(np.exp(-values[most]))}, so the loss there is {number(values[most], 3)}; “{wanted[least]}” gets {percent(np.exp(-values[least]))}.",
    )
    page_parts.show_large(
        learned_task.losses(as_words(data.read), wanted, values if told else None),
        SLUG + "once.picture",
        "The loss of each position"
        + (": " + list_values(zip(places, values, strict=True), "{:.3f}") if told else ", still covered")
        + ".",
        260,
    )
    n_vocab = data.logits.shape[1]
    one_pass = f"One pass gives {m} × {n_vocab:,} logits"
    page_parts.summary(
        f"{one_pass}. The cross-entropy, the mean of the {m} losses, is {number(values.mean(), 4)} nats per token; the perplexity is e^{number(values.mean(), 4)} = {number(float(np.exp(values.mean())))}."
        if told
        else f"{one_pass}: for every position, every token of the vocabulary."
    )
    frame = pd.DataFrame(
        {
            "reads": as_words(data.read),
            "target": wanted,
            "probability": np.exp(-values).round(5),
            "loss": values.round(5),
        },
        index=range(1, m + 1),
    )
    sums = " + ".join(number(value, 3) for value in values)
    return Folds(
        frame,
        {"losses": values, "perplexity": np.exp(values.mean())},
        {"model": MODEL},
        told,
        {"training.loss": {"m": str(m), "L": number(values.mean(), 4)}},
        latex=(
            rf"L = \tfrac{{1}}{{{m}}} ({sums}) = {number(values.mean(), 4)}",
            rf"\text{{cross entropy of PyTorch: }} {number(by_torch(data), 4)}",
        ),
        look={"V": n_vocab, "even": np.log(n_vocab)},
    )


def step_by_step(params: Params, data: AtOnce) -> Folds:
    """Pass after pass, and the same probability from the one pass."""
    m = len(data.target)
    one, step = (np.exp(-each) for each in (data.losses, losses(data.stepwise, data.ids)))
    picture, sentence = st.container(), st.container()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=320):
            upto = controls.slider("Passes", 1, m, SLUG + "passes", m)
        links.page_link(
            "decode",
            "Watch it write in Decode",
            icon=":material/arrow_forward:",
            model=MODEL,
            text=params.text,
            **{"decode.show": "Training and inference"},
        )
    with picture:
        page_parts.show_large(
            teacher_forcing.passes(as_words(data.read), as_words(data.target), one, step, upto),
            SLUG + "passes.picture",
            f"{upto} of {m} passes; after each the probability of the wanted token, from one pass and step by step.",
            290 if m <= teacher_forcing.WRAPPED else 370,
        )
    free = data.forcing.free
    end = data.ids[-1]
    own = "".join(place.next for place in free if place.next_id != end).strip()
    same = (
        "the same as the target" if data.forcing.first_difference is None else "which differs from the target"
    )
    with sentence:
        page_parts.summary(
            f"Training: 1 pass. Inference: {m} passes. The {m} × {data.logits.shape[1]:,} logits differ by {tiny(float(data.differences.max()))} at most. At inference the model writes “{own}”, {same}."
        )
    frame = pd.DataFrame(
        {
            "reads": as_words(data.read),
            "P, one pass": one.round(6),
            "P, step by step": step.round(6),
            "largest difference of a logit": data.differences,
        },
        index=range(1, m + 1),
    )
    return Folds(
        frame,
        {"one pass": one, "step by step": step, "difference": data.differences},
        {"model": MODEL},
        equations={"decoding.greedy": {"y_t": word(free[0].next)}},
        latex=(rf"\max_{{t, v}} |z_{{t v}} - z'_{{t v}}| = {data.differences.max():.1e}",),
    )
