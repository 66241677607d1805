"""One translation: its cross-attention, the head that aligns best, and the effect of an exchanged word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.heads.head_file import shipped_habits
from core.run import Run
from core.serving.engine import RunRequest, default
from viz.course.shared import cross_shapes

COLOURS = {"source": {"red": " black", "white": " black"}, "target": {"roja": " negra", "blanco": " negro"}}
OTHERS = {"source": (" black", " small", " dog"), "target": (" negro", " grande", " perro")}

MODEL = "translator-en-es"
BEST = -1
"""In the link: the head that aligns best."""


@dataclass(frozen=True, eq=False)
class Data:
    """One translation: its run, the tokens on both sides, weights (layer head target source) with rows named by what they write."""

    run: Run
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: np.ndarray
    layer: int
    head: int

    @property
    def pattern(self) -> np.ndarray:
        """Return the weights of the chosen head (target source)."""
        return self.weights[self.layer, self.head]

    @property
    def texts(self) -> tuple[str, str]:
        """Return the source and the target sentence."""
        return self.run.source.text if self.run.source else "", self.run.target_text or ""


def read_run(run: Run, layer: int, head: int) -> Data:
    """Read the cross-attention off a run of the translator."""
    found = run.attention("cross", writing=True)
    names = [tuple(word.removeprefix(" ") or word for word in side) for side in (found.keys, found.queries)]
    return Data(run, names[0], names[1], found.weights, layer, head)


def opening() -> tuple[int, int]:
    """Return layer and head of the best aligner: its target words attend most to the source words that they translate, on pairs set by
    hand.
    """
    found = shipped_habits(MODEL, "cross")
    return found.best_head_by_habit()["aligner"] if found else (0, 0)


def resolve_head(layer: int, head: int) -> tuple[int, int]:
    """Return layer and head, those of the best aligner where none was chosen."""
    best = opening()
    return best[0] if layer == BEST else layer, best[1] if head == BEST else head


def sizes(m: int, n: int) -> tuple[str, ...]:
    """Return answer options for the shape of a map of m rows and n columns: axes exchanged, one sentence only, END left out or included.

    >>> sizes(8, 7), sizes(6, 6)
    (('7 × 7', '7 × 8', '8 × 7', '8 × 8'), ('5 × 6', '6 × 6', '6 × 7'))
    """
    found = dict.fromkeys(((m, n), (n, m), (m, m), (n, n), (m, n + 1), (max(1, m - 1), n)))
    return tuple(f"{rows} × {columns}" for rows, columns in sorted(list(found)[:4]))


def measure_exchange(data: Data, side: str) -> tuple[np.ndarray, str, str]:
    """Measure the change of Q, K, V when the longest word of one side is exchanged for another of one token."""
    source, target, before, after = exchange_token(data, side)

    def run_pair(source: str, target: str) -> Run:
        return default().run(RunRequest(data.run.model.name, source, target=target, keep=cross_shapes.KEEP))

    return cross_shapes.largest_change(run_pair(*data.texts), run_pair(source, target)), before, after


def exchange_token(data: Data, side: str) -> tuple[str, str, str, str]:
    """Exchange one token of one side for another; return both sentences, the old and the new token. The number of tokens stays."""
    source, target = data.texts
    tokenizer = data.run.model.tokenizer
    text = source if side == "source" else target
    encoded = tokenizer.encode(text)
    colours = COLOURS[side]
    spans = sorted(
        (span for span in encoded.spans if span is not None),
        key=lambda span: (text[slice(*span)].strip() not in colours, span[0] - span[1]),
    )
    for start, end in spans:
        for word in (colours.get(text[start:end].strip(), OTHERS[side][0]), *OTHERS[side]):
            new = text[:start] + (word if text[start:end].startswith(" ") else word.strip()) + text[end:]
            if text[start:end].strip() != word.strip() and len(tokenizer.encode(new).ids) == len(encoded.ids):
                left, right = (new, target) if side == "source" else (source, new)
                return left, right, text[start:end].strip(), word.strip()
    return source, target, text, text
