"""Small tasks that a tiny model learns while a visitor waits: the lines of each, and its network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from core.data.grammar import Split
from core.data.tasks import (
    MONTHS,
    REPEAT_SYMBOLS,
    SMALL,
    SMALL_LENGTHS,
    TaskLine,
    copy_line,
    date_line,
    repeat_line,
    reverse_line,
    sort_line,
)
from core.models.gpt import GPTConfig
from core.text import Tokenizer
from core.text.learn import character_tokenizer

SPECIAL = ("<end>", "<unk>")
END = 0


@dataclass(frozen=True, kw_only=True)
class Task:
    """Small task: its lines, in words and as a generator, an example line, the network that learns it."""

    name: str
    title: str
    says: str
    draw: Callable[[np.random.Generator, int, Split], TaskLine]
    example: str
    signs: str = SMALL + "="
    words: tuple[str, ...] = ()
    lengths: range = SMALL_LENGTHS
    n_layers: int = 2
    n_heads: int = 2
    d_model: int = 32
    n_ctx: int = 32
    steps: int = 1500
    n_rows: int = 64

    @property
    def config(self) -> GPTConfig:
        n_vocab = len(SPECIAL) + len(self.words) + len(self.signs)
        return GPTConfig(
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_model=self.d_model,
            d_ff=64,
            n_vocab=n_vocab,
            n_ctx=self.n_ctx,
            attention_only=True,
        )

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer(
            character_tokenizer(self.signs, SPECIAL, words=self.words, ends_word=" "),
            start=END,
            end=END,
            pad=END,
        )


TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            Task(
                name="copy",
                title="Copy",
                says="Write the same letters again.",
                draw=copy_line,
                example="d b a f c = d b a f c",
            ),
            Task(
                name="reverse",
                title="Reverse",
                says="Write the letters in reverse order.",
                draw=reverse_line,
                example="d b a f c = c f a b d",
            ),
            Task(
                name="induction",
                title="Repeat",
                says="A string of symbols comes twice: continue it as it went on the first time.",
                draw=repeat_line,
                example="x 4 k 7 m q 2 k 7 m q 2",
                signs=REPEAT_SYMBOLS,
                lengths=range(2, 25),
                d_model=64,
                n_ctx=64,
                n_rows=48,
            ),
            Task(
                name="sort",
                title="Sort",
                says="Write the letters in the order of the alphabet.",
                draw=sort_line,
                example="d b a f c = a b c d f",
            ),
            Task(
                name="dates",
                title="Dates",
                says="Write the day in figures, the year first.",
                draw=date_line,
                example="0 4 mar 1 9 8 7 = 1 9 8 7 - 0 3 - 0 4",
                signs="0123456789=-",
                words=MONTHS,
                lengths=range(1, 2),
            ),
        )
    }
)
