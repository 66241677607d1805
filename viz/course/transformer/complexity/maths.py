"""Costs of a layer: self-attention against recurrence, counted over n words and width p, and measured.

Table 1 of Vaswani et al. 2017 (Ghojogh and Ghodsi 2020, section 3.4.2): self-attention takes n^2 p
multiplications against n p^2 of recurrence, 1 sequential operation against n, and a maximum path length of 1 against n.
All for one layer and one text.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from core.checkpoints.files import json_object
from core.checkpoints.writing import write_json
from core.data.home import assets
from core.errors import InputError
from core.layers.packed_attention import PackedAttention
from viz.course.shared.machine import machine
from viz.number_text import whole_from

HEADS = 8
NUMBER = 4
"""Bytes of one number, float32."""
WIDTHS = (64, 256, 512)
LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
LONGEST = 2048
"""The recorded run goes one length further: a visitor's may not hold others up for so long."""
RUN = assets("runs", "complexity")
LOG = "run.json"


@dataclass(frozen=True)
class Cost:
    """One row of the table for one n and p: multiplications, steps one after the other, longest way between two words."""

    operations: int
    steps: int
    path: int


def attention(n: int, p: int, *, count_all: bool = False) -> Cost:
    """Return the cost of self-attention. The table counts the products of a query with every key, n^2 p.

    `count_all` counts all multiplications: q, k, v and the merge, 4 n p^2, the scores and the mix of the values,
    2 n^2 p.

    >>> attention(50, 512), attention(50, 512, count_all=True).operations
    (Cost(operations=1280000, steps=1, path=1), 54988800)
    """
    return Cost(4 * n * p * p + 2 * n * n * p if count_all else n * n * p, 1, 1)


def recurrence(n: int, p: int, *, count_all: bool = False) -> Cost:
    """Return the cost of a recurrent layer. The table counts the product of each state with the recurrent weights, n p^2.

    `count_all` counts all multiplications by a weight of an LSTM: four gates, each of input and state, 8 n p^2.
    The way from
    word 1 to word n leads over n - 1 states.

    >>> recurrence(50, 512), recurrence(50, 512, count_all=True).operations
    (Cost(operations=13107200, steps=50, path=49), 104857600)
    """
    return Cost(8 * n * p * p if count_all else n * p * p, n, n - 1)


def crossing(p: int, *, count_all: bool = False) -> int:
    """Return the n at which both cost the same: p by the table, 2 p if everything is counted (against an LSTM).

    >>> [attention(n, 512, count_all=w).operations == recurrence(n, 512, count_all=w).operations for n, w in ((512, False), (1024, True))]
    [True, True]
    """
    return 2 * p if count_all else p


def score_bytes(n: int, heads: int = HEADS) -> int:
    """Return the memory in bytes of a layer's score matrices: n^2 numbers for each head.

    >>> score_bytes(4096)
    536870912
    """
    return n * n * heads * NUMBER


def state_bytes(n: int, p: int) -> int:
    """Return the memory in bytes of the n states of a recurrent layer (or of the outputs of attention): n p numbers.

    >>> state_bytes(4096, 512)
    8388608
    """
    return n * p * NUMBER


def times(ratio: float) -> str:
    """Describe how much cheaper (ratio above 1) or more expensive self-attention is.

    >>> times(10.24), times(0.125), times(1.0)
    ('self-attention is 10 times cheaper', 'self-attention is 8 times more expensive', 'both the same')
    """
    if ratio == 1:
        return "both the same"
    factor, said = max(ratio, 1 / ratio), "cheaper" if ratio > 1 else "more expensive"
    return f"self-attention is {whole_from(factor, 100, '.2g')} times {said}"


@dataclass(frozen=True)
class Data:
    """Both costs at n and p, where they meet, and both curves over `lengths`."""

    attention: Cost
    recurrence: Cost
    crossing: int
    lengths: tuple[int, ...]
    curves: dict[str, tuple[int, ...]]


BOTH: dict[str, Callable[..., Cost]] = {"self-attention": attention, "recurrence": recurrence}


def compare(n: int, p: int, lengths: tuple[int, ...], *, count_all: bool = False) -> Data:
    """Compute the cost of both layers at n and p, and over all lengths."""
    curves = {
        name: tuple(cost(each, p, count_all=count_all).operations for each in lengths)
        for name, cost in BOTH.items()
    }
    return Data(
        attention(n, p, count_all=count_all),
        recurrence(n, p, count_all=count_all),
        crossing(p, count_all=count_all),
        lengths,
        curves,
    )


# ------------------------------------------------------------------ measured


@dataclass(frozen=True)
class Timing:
    """The seconds of one pass over n words of width p: our attention layer of 8 heads, and torch.nn.LSTM."""

    n: int
    p: int
    attention: float
    lstm: float


@dataclass(frozen=True)
class Recorded:
    """Timings of an earlier run, and the machine that it ran on."""

    machine: str
    timings: tuple[Timing, ...]

    def of_width(self, p: int) -> tuple[Timing, ...]:
        return tuple(row for row in self.timings if row.p == p)


def measure(n: int, p: int, *, budget: float = 0.12) -> Timing:
    """Time several passes of each layer and return the fastest, within `budget` seconds per layer (at least one warm-up and one pass).

    With one thread the seconds are those of this thread's processor, so that others on the machine do not
    count.
    Raises InputError for a length or width that is not offered.
    """
    if p not in WIDTHS or not 1 <= n <= LONGEST:
        raise InputError(
            f"n = {n}, p = {p} cannot be measured.",
            f"p is one of {WIDTHS}, n at most {LONGEST:,}.",
            "Choose another size.",
        )
    looks, reads = _layers(p)
    x, allowed = torch.ones(1, n, p).cumsum(1) / n, torch.ones(n, n, dtype=torch.bool)
    return Timing(n, p, _fastest(lambda: looks(x, x, allowed), budget), _fastest(lambda: reads(x)[0], budget))


def _fastest(run: Callable[[], Tensor], budget: float) -> float:
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    begun, found = time.perf_counter(), []
    with torch.inference_mode():
        while len(found) < 2 or (time.perf_counter() - begun < budget and len(found) < 50):
            start = clock()
            run()
            found.append(clock() - start)
    return max(min(found[1:]), 1e-7)


@cache
def _layers(p: int) -> tuple[Any, Any]:
    with torch.inference_mode(False), torch.random.fork_rng(devices=[]):
        return PackedAttention(p, HEADS).eval().requires_grad_(False), nn.LSTM(
            p, p, batch_first=True
        ).eval().requires_grad_(False)


def recorded_timings(folder: Path = RUN) -> Recorded:
    """Load the earlier run. Raises InputError where it is missing or cannot be read."""
    try:
        held = json_object(folder, LOG)
        rows = [
            Timing(int(row["n"]), int(row["p"]), float(row["attention"]), float(row["lstm"]))
            for row in held["timings"]
        ]
        return Recorded(str(held["machine"]), tuple(rows))
    except (InputError, OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"The recorded times cannot be read ({type(error).__name__}).",
            "They are written by viz.course.transformer.complexity.maths.",
            "Measure here instead.",
        ) from None


def _rounded(row: Timing) -> dict[str, float]:
    return {name: round(value, 7) for name, value in asdict(row).items()}


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m viz.course.transformer.complexity.maths",
        description="Measure attention and an LSTM on one thread, and keep the times.",
    )
    ask.add_argument("--folder", type=Path, default=RUN)
    ask.add_argument("--budget", type=float, default=1.0)
    opts = ask.parse_args(argv)
    torch.set_num_threads(1)
    rows = [measure(n, p, budget=opts.budget) for p in WIDTHS for n in (*LENGTHS, LONGEST)]
    for row in rows:
        print(json.dumps(_rounded(row)))
    opts.folder.mkdir(parents=True, exist_ok=True)
    write_json(
        opts.folder / LOG,
        {
            "command": "python -m viz.course.transformer.complexity.maths",
            "machine": machine(),
            "timings": [_rounded(row) for row in rows],
        },
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
