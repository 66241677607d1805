"""Beam search: several beginnings side by side, and the whole tree of what was tried."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from core.decoding.filters import Array, log_softmax
from core.decoding.prompt import Prompt
from core.decoding.reader import Reading, Reads
from core.decoding.steps import Step, checked, choose, largest

if TYPE_CHECKING:
    from core.decoding.strategies import Beam


@dataclass(frozen=True)
class Node:
    """One token in the tree. `parent` is the place of its parent among the nodes, -1 at the root; `logprob` the sum of
    ln p from the root to here."""

    parent: int
    step: int
    id: int
    token: str
    logprob: float


@dataclass(frozen=True)
class Tree:
    """All nodes so far; which of them are open (best first), which ended a text and with what score (best first).

    The score is the sum of ln p / length ** length_penalty. `best` is the node that the best text ends in.
    """

    nodes: tuple[Node, ...] = field(repr=False)
    open: tuple[int, ...]
    finished: tuple[tuple[int, float], ...]
    best: int

    def path(self, place: int) -> tuple[int, ...]:
        """The places from the root to this node."""
        path: list[int] = []
        while place >= 0:
            path.append(place)
            place = self.nodes[place].parent
        return tuple(reversed(path))

    def pruned(self) -> frozenset[int]:
        """The nodes that no open and no finished text goes through."""
        alive = {place for leaf in (*self.open, *(leaf for leaf, _ in self.finished)) for place in self.path(leaf)}
        return frozenset(range(len(self.nodes))) - alive


@dataclass
class _Search:
    """The nodes while they grow. An open text is (place of its node, sum of ln p, its ids)."""

    prompt: Prompt
    strategy: Beam
    nodes: list[Node] = field(default_factory=list)
    open: list[tuple[int, float, tuple[int, ...]]] = field(default_factory=lambda: [(-1, 0.0, ())])
    finished: list[tuple[int, float, tuple[int, ...]]] = field(default_factory=list)

    def extend(self, log_p: Array, step: int, last: bool) -> tuple[int, list[int]]:
        """One step from log p (row, vocab): (row of the best continuation, the rows that go on).

        Of the 2 * width best continuations those among the first `width` that end are finished, and the first `width`
        that do not end stay open; in the last step all of the first `width` end.
        """
        width = self.strategy.width
        total = np.array([score for _, score, _ in self.open])[:, None] + log_p
        cells = [divmod(cell, log_p.shape[1]) for cell in largest(total.ravel(), 2 * width) if np.isfinite(total.flat[cell])]
        rows, still = [], []
        for rank, (row, token) in enumerate(cells):
            parent, _, written = self.open[row]
            score, ids = float(total[row, token]), (*written, token)
            ends = last or token == self.prompt.end
            self.nodes.append(Node(parent, step, token, self.prompt.name(token), score))
            place = len(self.nodes) - 1
            if ends and rank < width:
                self.finished.append((place, score / len(ids) ** self.strategy.length_penalty, ids))
            elif not ends and len(still) < width:
                rows.append(row)
                still.append((place, score, ids))
        self.finished = sorted(self.finished, key=lambda text: -text[1])[:width]
        self.open = still
        return cells[0][0], rows

    def over(self) -> bool:
        """Whether no open text is worth carrying on."""
        if not self.open:
            return True
        if len(self.finished) < self.strategy.width:
            return False
        _, score, ids = self.open[0]
        return self.strategy.early_stopping or score / len(ids) ** self.strategy.length_penalty <= self.finished[-1][1]

    def best(self, over: bool) -> tuple[int, tuple[int, ...]]:
        """The best text: at the end the finished one of the best score, before it the best open one."""
        place, _, ids = self.finished[0] if self.finished and (over or not self.open) else self.open[0]
        return place, ids

    def tree(self, best: int) -> Tree:
        finished = tuple((place, score) for place, score, _ in self.finished)
        return Tree(tuple(self.nodes), tuple(place for place, _, _ in self.open), finished, best)


def search(reader: Reads, prompt: Prompt, strategy: Beam, limit: int, forced: Mapping[int, int]) -> Iterator[Step]:
    """Beam search over anything that reads. Width 1 is greedy, save that the limit may cut it short of END."""
    run = _Search(prompt, strategy)
    new: list[tuple[int, ...]] = [prompt.ids]
    for index in range(limit):
        begun = time.perf_counter()
        reading = reader.read(new)
        log_p = log_softmax(checked(reading.logits))
        if index in forced:
            others = np.arange(log_p.shape[1]) != forced[index]
            log_p = np.where(others, -np.inf, log_p)
        labels = [prompt.labels(ids) for _, _, ids in run.open]
        full = len(prompt.ids) + index + 1 >= prompt.room
        first = len(run.nodes)
        row, rows = run.extend(log_p, index, full or index + 1 == limit)
        over = run.over()
        step = _step(run, reading, row, run.nodes[first], index, over)
        labelled = {kind.name: prompt.source_tokens if kind.keys == "source" else labels[row] for kind in reader.kinds}
        reason = "" if not over else "end" if step.ids[-1] == prompt.end else "context" if full else "limit"
        seconds = time.perf_counter() - begun
        yield replace(step, keys=labelled, reason=reason, seconds=seconds, cache_bytes=reader.nbytes)
        if over:
            return
        reader.keep(rows)
        new = [(ids[-1],) for _, _, ids in run.open]


def _step(run: _Search, reading: Reading, row: int, node: Node, index: int, over: bool) -> Step:
    choice = choose(reading.logits[row], run.prompt.name, forced=node.id)
    place, ids = run.best(over)
    text, pending = run.prompt.text(ids)
    return Step(
        index=index,
        token=node.token,
        id=node.id,
        chosen_by="beam",
        draw=None,
        candidates=choice.candidates,
        kept=choice.kept,
        cuts=(),
        logprob=choice.logprob,
        entropy=choice.entropy,
        surprise=choice.surprise,
        log_total=choice.log_total,
        attention={kind: rows[row] for kind, rows in reading.attention.items()},
        allowed={kind: rows[row] for kind, rows in reading.allowed.items()},
        keys={},
        ids=ids,
        text=text,
        pending=pending,
        done=over,
        note=run.prompt.note if index == 0 else "",
        tree=run.tree(place),
    )
