"""The parts of a run in the picture of the whole model, for the page and for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.run import Run
from viz.instruments.whole_model.whole_model import BARS, Stack
from viz.labels import bare_token

ALONE, EACH = 18, 10
"""Tokens that fit below each other: of the one stack of a model, and of each of two."""


@dataclass(frozen=True)
class Screen:
    """The parts of a run that are drawn: the stacks, the first token of each that is drawn, and the tokens of each stack in all."""

    stacks: tuple[Stack, ...]
    starts: tuple[int, ...]
    totals: tuple[int, ...]

    @property
    def tokens(self) -> int:
        """Count the tokens of the last stack that are drawn."""
        return len(self.stacks[-1].tokens)

    def opening_position(self) -> int:
        """Return the position that the page opens with: the last one of a text, the middle of a translation."""
        return self.tokens - 1 if len(self.stacks) == 1 else (self.tokens - 1) // 2


def screen_of(run: Run, heads: Mapping[str, Sequence[int]] | None = None) -> Screen:
    """Return the stacks of a run from left to right; of a long text the last tokens, of a long source and translation the first.

    heads: by kind, the head that each layer opens with. Raises InputError for a model without layers of attention that predict a next token.
    """
    if not any(kind.name == "causal" and kind.layered for kind in run.model.spec.kinds_of(run.model.config)):
        raise InputError(
            f"{run.model.name} does not predict a next token with layers of attention.",
            "The whole model is drawn from its tokens to the next token.",
            "Choose a model such as gpt-mini or translator-en-es.",
        )
    two = run.source is not None
    sides = [run.source, run.side] if run.source is not None else [run.side]
    starts = [0 if two else max(0, len(side.tokens) - ALONE) for side in sides]
    ends = [
        min(len(side.tokens), start + (EACH if two else ALONE))
        for side, start in zip(sides, starts, strict=True)
    ]
    names = ("encoder", "decoder") if two else ("",)
    stacks = []
    for name, side, start, end in zip(names, sides, starts, ends, strict=True):
        rows = slice(start, end)
        attention = {
            kind: run.attention(kind).weights[
                :, :, rows, slice(starts[0], ends[0]) if kind == "cross" else rows
            ]
            for kind in run.kinds
            if not two or (kind == "self") == (name == "encoder")
        }
        stacks.append(
            Stack(
                name,
                [bare_token(token) for token in side.tokens[rows]],
                run.hidden(name or None)[:, rows],
                attention,
                {kind: heads[kind] for kind in attention if heads and kind in heads},
            )
        )
    return Screen(tuple(stacks), tuple(starts), tuple(len(side.tokens) for side in sides))


def candidates(run: Run, position: int) -> tuple[np.ndarray, Sequence[str]]:
    """Return the logits after a position, and the names of the most probable tokens, best first."""
    logits = run.logits[position]
    best = np.argsort(-logits, kind="stable")[:BARS]
    return logits, [bare_token(run.model.choice(int(index))) for index in best]
