"""The measures of a prediction, each with its number for the visitor's sentence: surprisal to temperature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.maths import log_softmax
from core.run import Run
from viz.course.shared import weighting
from viz.course.why.weighting.params import MODEL, Params
from viz.course.why.weighting.shares import Data
from viz.labels import distinct, literal, percent
from viz.languages import _, mark
from viz.widgets import engine_client

NAME = mark("Loss, perplexity, temperature")
TEMPERATURES = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Measures:
    """A text as a language model predicts it: tokens, their total surprisal in bits, and the bytes of the text."""

    tokens: int
    total: float
    bytes: int

    @property
    def cross_entropy(self) -> float:
        """Return the mean surprisal, in bits per token."""
        return self.total / self.tokens

    @property
    def perplexity(self) -> float:
        return 2**self.cross_entropy

    @property
    def bits_per_byte(self) -> float:
        return self.total / self.bytes


def measured(run: Run, text: str) -> Measures:
    """Return the measures of `text`, which the run has read after one line break."""
    logp = log_softmax(np.asarray(run.logits, dtype=np.float64))
    places = [place for place in range(1, len(run.ids)) if (span := run.spans[place]) and span[1] > 1]
    total = -sum(float(logp[place - 1, run.ids[place]]) for place in places) / math.log(2)
    return Measures(len(places), total, len(text.encode()))


def largest(data: Data, temperature: float) -> float:
    """Return the largest weight when every score is divided by the temperature."""
    return float(weighting.softmax(np.asarray(data.raw) / temperature).max())


def explained(params: Params, data: Data) -> None:
    """Draw the measures as a list, each with its formula and this sentence's number."""
    text = "\n" + params.text
    run = engine_client.run(MODEL, text)
    found = measured(run, params.text)
    bits = weighting.word_bits(run, data.words, text)
    top = int(bits.argmax())
    word = literal(distinct(data.words)[top])
    sharper = ", ".join(_("{share} at T = {t:g}", share=percent(largest(data, t)), t=t) for t in TEMPERATURES)
    st.markdown(
        _(
            "How well does {model} predict this sentence, one token after another?\n\n- **Surprisal** of a token: −log₂ p, p its probability before it is read. “{word}” has {bits:.1f} bits, the most of all words: p = {p:.2g}.\n- **Cross-entropy**: the mean surprisal, here {total:.1f} bits / {tokens} tokens = {cross_entropy:.2f} bits per token. Training lowers this loss.\n- **Perplexity**: 2 to the power of it, {perplexity:.0f}. The model is as uncertain as in a choice among {perplexity:.0f} equally probable tokens.\n- **Bits per byte**: {total:.1f} bits / {bytes} bytes = {bits_per_byte:.2f}. Models that split a text into different tokens are compared by it.\n- **Temperature** T: the softmax of scores / T. A low T sharpens it, a high T flattens it. With the scores of this page the largest weight is {sharper}. β = 1 / T is the inverse temperature.",
            model=MODEL,
            word=word,
            bits=bits[top],
            p=2.0 ** (-bits[top]),
            total=found.total,
            tokens=found.tokens,
            cross_entropy=found.cross_entropy,
            perplexity=found.perplexity,
            bytes=found.bytes,
            bits_per_byte=found.bits_per_byte,
            sharper=sharper,
        )
    )
