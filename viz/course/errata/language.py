"""Language models: what a product of conditionals is, how a word is chosen, and where a text begins."""

from __future__ import annotations

from itertools import product

import numpy as np

from core.decoding import Beam, Greedy
from core.decoding.counterexample import best, written
from core.models.gpt import GPTConfig
from viz.course.errata.entry import Array, Evidence, Panel, Where, erratum, tiny

N_WORDS = 4


def _joint() -> Array:
    """The probability of every text of three words out of four, drawn once: (first, second, third)."""
    return np.random.default_rng(0).dirichlet(np.full(N_WORDS**3, 2.0)).reshape((N_WORDS,) * 3)


def _forward(joint: Array, text: tuple[int, ...], window: int | None = None) -> float:
    """The product of the probabilities of the words, each behind at most `window` words before it."""
    total = 1.0
    for place, word in enumerate(text):
        first = 0 if window is None else max(0, place - window)
        known = joint.sum(tuple(axis for axis in range(joint.ndim) if not first <= axis <= place))
        behind = known[text[first:place]]
        total *= float(behind[word] / behind.sum())
    return total


def _text(joint: Array) -> tuple[int, ...]:
    """The text that a window of one word judges most wrongly."""
    every = product(range(N_WORDS), repeat=joint.ndim)
    return max(every, key=lambda text: abs(_forward(joint, text, 1) - float(joint[text])))


@erratum(
    "E46",
    "D",
    "ELMo's loss is printed with and without its parameters; the mix of layers only in words.",
    (Where("beigy2021", "ELMo"), Where("beigy2024", "ELMo")),
    says="One deck has Θ_e, Θ_LSTM for both directions and Θ_s, the other no parameters; the combination is told in words.",
    right="Embedding and softmax are shared, each direction has its own LSTM, and ELMo_k = γ Σ_j s_j h_kj.",
    note="Both directions factor the same joint probability. Two trained networks need not agree on it.",
)
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
    sentence = (
        f"One table of probabilities of texts of {joint.ndim} words, drawn once: for one text the product from left to right is "
        f"{forward:.10f}, from right to left {backward:.10f}; they differ by {tiny(numbers['gap'])}."
    )
    return Evidence(numbers, sentence)


@erratum(
    "E51",
    "L",
    "The product over windows of k tokens is not the joint probability.",
    (Where("beigy2024", "GPT, pre-training", "L_1"),),
    says="L_1 sums log P(u_i | u_{i−k}, .., u_{i−1}); the product is the joint probability.",
    right="Only when k reaches back to the beginning.",
    note="A model with a window of k forgets what lies further back.",
)
def window() -> Evidence:
    joint = _joint()
    text = _text(joint)
    one, all_ = 1, joint.ndim - 1
    whole, short = float(joint[text]), _forward(joint, text, one)
    numbers = {"joint": whole, "window_1": short, "window_2": _forward(joint, text, all_)}
    sentence = (
        f"A text of {joint.ndim} words: its joint probability is {whole:.4f}; the product with k = {one} is {short:.4f}, with k = {all_}, which "
        f"reaches the beginning, {numbers['window_2']:.4f}."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "Probability of the text",
                [[short], [numbers["window_2"]], [whole]],
                (f"k = {one}", f"k = {all_}", "joint"),
                ("probability",),
                "bars",
                4,
            ),
        ),
    )


@erratum(
    "E54",
    "L",
    "“The token or word with the largest probability is the next word”: that is one choice of several.",
    (Where("ghojogh2023", "decoder; GPT"), Where("ghojogh2020", "3.3.3; 5")),
    says="For the sake of sequence generation, the token or word with the largest probability is the next word.",
    right="That is greedy choice. Sampling and beam search are used as well, and the best words need not make the best text.",
    note="The Decode page compares them on real models.",
)
def greedy_only() -> Evidence:
    (_, greedy), (_, beam), (_, most) = written(Greedy()), written(Beam(width=2)), best()
    numbers = {"greedy": greedy, "beam": beam, "best": most}
    sentence = (
        f"A tree of words on paper: always the most probable word gives a text of probability {greedy:.2f}, a beam {beam:.2f}; the best "
        f"of all has {most:.2f}."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "Probability of the text",
                [[greedy], [beam], [most]],
                ("greedy", "beam", "best of all"),
                ("probability",),
                "bars",
                2,
            ),
        ),
    )


@erratum(
    "E57",
    "D",
    "GPT-2 needs no special tokens, says one deck; the other's picture begins with one.",
    (Where("beigy2024", "GPT-2"), Where("beigy2021", "GPT-2", "picture with <$>")),
    says="GPT-2 needs no Start, Delim and Extract; in the picture the first input is a start symbol.",
    right="It has no tokens for tasks. One token, <|endoftext|>, stands between texts and also serves as start.",
    note="It is the last entry of the vocabulary.",
)
def boundary() -> Evidence:
    n_vocab = GPTConfig().n_vocab
    pieces = 50_000
    numbers = {"last": float(n_vocab - 1), "bytes": float(2**8), "special": float(n_vocab - 2**8 - pieces)}
    sentence = (
        f"GPT-2's vocabulary has {n_vocab:,} entries, and was published with {pieces:,} merges: with {2**8} bytes that leaves {numbers['special']:.0f}, "
        f"number {n_vocab - 1:,}: the boundary."
    )
    return Evidence(numbers, sentence, computed=False)
