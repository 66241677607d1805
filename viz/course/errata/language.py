"""Errata on language models: the product of conditionals, the choice of a word, the beginning of a text."""

from __future__ import annotations

from itertools import product

import numpy as np

from core.decoding import Beam, Greedy
from core.decoding.counterexample import best_sentence, write_sentence
from core.models.gpt import GPTConfig
from viz.course.errata.entry import Array, Evidence, Panel, erratum
from viz.languages import _
from viz.number_text import small_difference

N_WORDS = 4


def _joint() -> Array:
    """Sample a probability for every text of three words out of four, always the same: (first, second, third)."""
    return np.random.default_rng(0).dirichlet(np.full(N_WORDS**3, 2.0)).reshape((N_WORDS,) * 3)


def _forward(joint: Array, text: tuple[int, ...], window: int | None = None) -> float:
    """Return the product of the probabilities of the words, each given at most `window` words before it."""
    total = 1.0
    for place, word in enumerate(text):
        first = 0 if window is None else max(0, place - window)
        known = joint.sum(tuple(axis for axis in range(joint.ndim) if not first <= axis <= place))
        behind = known[text[first:place]]
        total *= float(behind[word] / behind.sum())
    return total


def _text(joint: Array) -> tuple[int, ...]:
    """Return the text whose probability a window of one word gets most wrong."""
    every = product(range(N_WORDS), repeat=joint.ndim)
    return max(every, key=lambda text: abs(_forward(joint, text, 1) - float(joint[text])))


@erratum("E46")
def two_directions() -> Evidence:
    joint = _joint()
    text = _text(joint)
    forward, backward = _forward(joint, text), _forward(joint.transpose(2, 1, 0), text[::-1])
    numbers = {
        "joint": float(joint[text]),
        "forward": forward,
        "backward": backward,
        "gap": abs(forward - backward),
    }
    sentence = _(
        "One table of probabilities of texts of {ndim} words, drawn once: for one text the product from left to right is {forward:.10f}, from right to left {backward:.10f}; they differ by {gap}.",
        ndim=joint.ndim,
        forward=forward,
        backward=backward,
        gap=small_difference(numbers["gap"]),
    )
    return Evidence(numbers, sentence)


@erratum("E51")
def window() -> Evidence:
    joint = _joint()
    text = _text(joint)
    one, all_ = 1, joint.ndim - 1
    whole, short = float(joint[text]), _forward(joint, text, one)
    numbers = {"joint": whole, "window_1": short, "window_2": _forward(joint, text, all_)}
    sentence = _(
        "A text of {ndim} words: its joint probability is {whole:.4f}; the product with k = {one} is {short:.4f}, with k = {all}, which reaches the beginning, {window_2:.4f}.",
        ndim=joint.ndim,
        whole=whole,
        one=one,
        short=short,
        all=all_,
        window_2=numbers["window_2"],
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Probability of the text"),
                [[short], [numbers["window_2"]], [whole]],
                (f"k = {one}", f"k = {all_}", _("joint")),
                (_("probability"),),
                "bars",
                4,
            ),
        ),
    )


@erratum("E54")
def greedy_only() -> Evidence:
    (_text, greedy), (_text, beam), (_text, most) = (
        write_sentence(Greedy()),
        write_sentence(Beam(width=2)),
        best_sentence(),
    )
    numbers = {"greedy": greedy, "beam": beam, "best": most}
    sentence = _(
        "A tree of words on paper: always the most probable word gives a text of probability {greedy:.2f}, a beam {beam:.2f}; the best of all has {most:.2f}.",
        greedy=greedy,
        beam=beam,
        most=most,
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Probability of the text"),
                [[greedy], [beam], [most]],
                (_("greedy"), _("beam"), _("best of all")),
                (_("probability"),),
                "bars",
                2,
            ),
        ),
    )


@erratum("E57")
def boundary() -> Evidence:
    n_vocab = GPTConfig().n_vocab
    pieces = 50_000
    numbers = {"last": float(n_vocab - 1), "bytes": float(2**8), "special": float(n_vocab - 2**8 - pieces)}
    sentence = _(
        "GPT-2's vocabulary has {n_vocab:,} entries, and was published with {pieces:,} merges: with {bytes} bytes that leaves {special:.0f}, number {last:,}: the boundary.",
        n_vocab=n_vocab,
        pieces=pieces,
        bytes=2**8,
        special=numbers["special"],
        last=n_vocab - 1,
    )
    return Evidence(numbers, sentence, computed=False)
