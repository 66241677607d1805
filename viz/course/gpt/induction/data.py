"""A string that comes twice, read by a model with two layers of attention; and a text that comes twice, read by gpt-mini."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.analysis import make_pair, path_patching, score_parts
from core.analysis.attention.measures import induction, offset_weight
from core.edits import ZeroHead
from core.errors import InputError
from core.model import Model
from core.run import Run
from viz.labels import head_name

TINY, LANGUAGE, KIND = "induction-tiny", "gpt-mini", "causal"
SHORTEST, LONGEST, LONGEST_TEXT = 4, 8, 24
Head = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Twice:
    """A string of n symbols read twice: the run, the probability of each next symbol (2 n - 1,), and the symbol that is looked up.

    position: that of a symbol, in the first copy, which is neither the first nor the last of the string and occurs in it once.
    """

    symbols: tuple[str, ...]
    run: Run
    probabilities: np.ndarray
    position: int

    @property
    def n(self) -> int:
        """Return the number of symbols of the string."""
        return len(self.symbols)

    @property
    def query(self) -> int:
        """Return the position of the symbol in the second copy."""
        return self.n + self.position

    @property
    def second_copy(self) -> float:
        """Return the mean probability of the right symbol within the second copy."""
        return float(self.probabilities[self.n :].mean())

    @property
    def weights(self) -> np.ndarray:
        """Return the attention (layer, head, query, key)."""
        return self.run.attention(KIND).weights

    def best(self, scores: np.ndarray, layer: int) -> Head:
        """Return the head of a layer with the largest score."""
        return layer, int(scores[layer].argmax())

    @property
    def previous_head(self) -> Head:
        """Return the head of the first layer that attends most to the symbol before."""
        return self.best(offset_weight(self.weights, -1), 0)

    @property
    def induction_head(self) -> Head:
        """Return the head of the last layer that attends most to the symbol after an earlier occurrence."""
        return self.best(induction(self.weights, self.run.tokens), -1)

    def products(self) -> dict[str, float]:
        """Return the parts of the induction head's score of the looked-up symbol, largest first, by query part and key part."""
        layer, head = self.induction_head
        depth = self.run.model.config.n_layers
        parts = score_parts(self.run, KIND, layer % depth, head, self.query, self.position + 1)
        names = {
            f"{one.label} × {other.label}": float(parts.products[i, j])
            for i, one in enumerate(parts.query_parts)
            for j, other in enumerate(parts.key_parts)
        }
        return dict(sorted(names.items(), key=lambda item: -abs(item[1])))


def read_twice(model: Model, string: str) -> Twice:
    """Read a string twice. Raises InputError for other than 4 to 8 letters and digits, or where no inner one occurs once."""
    symbols = tuple(string.strip().lower())
    if not SHORTEST <= len(symbols) <= LONGEST or not all(
        each in "abcdefghijklmnopqrstuvwxyz0123456789" for each in symbols
    ):
        raise InputError(
            f"“{string.strip()}” cannot be read twice here.",
            f"{model.name} knows the letters a to z and the digits, and {SHORTEST} to {LONGEST} of them fit on the page.",
            "Type such a string, or take an example.",
        )
    inner = [at for at in range(1, len(symbols) - 1) if symbols.count(symbols[at]) == 1]
    if not inner:
        raise InputError(
            f"Every inner symbol of “{string.strip()}” occurs more than once.",
            "A symbol is looked up that has one earlier occurrence.",
            "Type a string with more different symbols.",
        )
    run = model.run("".join(symbols) * 2)
    return Twice(symbols, run, next_probabilities(run), inner[len(inner) // 2])


def next_probabilities(run: Run) -> np.ndarray:
    """Return the probability that each position gives to the token that follows: (pos - 1,)."""
    powers = np.exp(run.logits.astype(np.float64) - run.logits.max(-1, keepdims=True))
    ids = run.side.ids
    return (powers / powers.sum(-1, keepdims=True))[np.arange(len(ids) - 1), ids[1:]]


def ablations(twice: Twice) -> Mapping[str, float]:
    """Return the mean probability of the right symbol in the second copy with heads ablated, by the heads' names."""
    model, text = twice.run.model, twice.run.side.text
    config = model.config
    cuts: dict[str, tuple[Head, ...]] = {"nothing": ()}
    for layer in range(config.n_layers):
        heads = tuple((layer, head) for head in range(config.n_heads))
        cuts |= {f"head {head_name(layer, head)}": ((layer, head),) for layer, head in heads}
        cuts[f"all heads of layer {layer}"] = heads
    shares = {}
    for name, heads in cuts.items():
        edits = [ZeroHead(f"layer.{layer}.self_attn.heads", head) for layer, head in heads]
        shares[name] = float(next_probabilities(model.run(text, keep=(), edits=edits))[twice.n :].mean())
    return shares


def path_shares(twice: Twice) -> Mapping[str, np.ndarray]:
    """Return the share of the logit difference that each head of the first layer restores through one input of the induction head alone.

    The corrupted string has another symbol in place of the looked-up one's first occurrence; measured is the symbol that follows it
    against the one before it.
    """
    model, symbols, at = twice.run.model, twice.symbols, twice.position
    other = next(each for each in "abcdefghijklmnopqrstuvwxyz" if each not in symbols)
    text = "".join(symbols * 2)[: twice.query + 1]
    runs = (model.run(each) for each in (text, text[:at] + other + text[at + 1 :]))
    pair = make_pair(*runs, answer=symbols[at + 1], foil=symbols[at - 1])
    layer, head = twice.induction_head
    receiver = layer % model.config.n_layers, head
    return {by: path_patching(pair, KIND, receiver, by)[0] for by in ("query", "key", "value")}


@dataclass(frozen=True, eq=False)
class TwoReadings:
    """A text read twice by a language model: the surprisal of its tokens but the first, in both readings, and each head's induction score."""

    tokens: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    scores: np.ndarray

    @property
    def best_head(self) -> Head:
        """Return the head with the largest induction score."""
        layer, head = np.unravel_index(int(self.scores.argmax()), self.scores.shape)
        return int(layer), int(head)


def read_text_twice(model: Model, text: str) -> TwoReadings:
    """Read a text twice, a space between. Raises InputError for fewer than 4 tokens, or more than 24."""
    text = text.strip()
    n = len(model.tokenizer.encode(text).ids)
    if not SHORTEST <= n <= LONGEST_TEXT:
        raise InputError(
            f"The text has {n} tokens.",
            f"{SHORTEST} to {LONGEST_TEXT} tokens are read twice here.",
            "Shorten it, or take an example.",
        )
    both = model.run(f"{text} {text}")
    surprisal = -np.log(next_probabilities(both))
    scores = induction(both.attention(KIND).weights, both.tokens)
    return TwoReadings(tuple(both.tokens[1:n]), surprisal[: n - 1], surprisal[n : 2 * n - 1], scores)
