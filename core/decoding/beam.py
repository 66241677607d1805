"""Beam search: several candidate texts at once, in one group or in several that are pushed to differ."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from core.decoding.choose import check_finite, choose, largest_indices
from core.decoding.filters import Array
from core.decoding.prompt import Prompt
from core.decoding.rows import rows_of
from core.decoding.step import Step
from core.decoding.stepper import StepOutputs, StepReader
from core.decoding.tree import Node, Tree
from core.maths import log_softmax
from core.run.bad_words import banned_next_tokens

if TYPE_CHECKING:
    from core.decoding.strategies import Beam


@dataclass(frozen=True)
class _Text:
    """A candidate text of the search: the index of its last node (-1 before the first), its sums, its ids and their names."""

    place: int = -1
    logprob: float = 0.0
    cost: float = 0.0
    ids: tuple[int, ...] = ()
    tokens: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        return self.logprob - self.cost


@dataclass
class _Group:
    """Candidate texts that compete with one another: `open`, best first, and the best that are `finished`."""

    number: int
    strategy: Beam
    open: list[_Text] = field(default_factory=lambda: [_Text()])
    finished: list[_Text] = field(default_factory=list)

    @property
    def width(self) -> int:
        return self.strategy.width // self.strategy.groups

    def score(self, text: _Text) -> float:
        return text.total / len(text.ids) ** self.strategy.length_penalty

    def over(self) -> bool:
        """Return whether no open text is worth extending."""
        if not self.open:
            return True
        if len(self.finished) < self.width:
            return False
        return self.strategy.early_stopping or self.score(self.open[0]) <= self.score(self.finished[-1])


@dataclass
class _Search:
    """The state of a search: its nodes, and its groups of texts; a plain beam has one group."""

    prompt: Prompt
    strategy: Beam
    nodes: list[Node] = field(default_factory=list)
    groups: list[_Group] = field(init=False)

    def __post_init__(self) -> None:
        self.groups = [_Group(number, self.strategy) for number in range(self.strategy.groups)]

    def active_groups(self) -> list[_Group]:
        return [group for group in self.groups if not group.over()]

    def extend(self, log_p: Array, step: int, last: bool, diversity: float) -> tuple[int, Node, list[int]]:
        """Take one step from log p (row, vocab): return the row and the node of the best continuation, and the rows that are continued.

        The rows are the open texts of the groups that go on, group after group; in the first step all share row 0.
        A token that a group writes costs later groups `diversity` for each of its texts that took it.
        """
        cost = np.zeros(log_p.shape[1])
        tops, rows, first = [], [], 0
        for group in self.active_groups():
            row = first if step else 0
            cells = self._extend(group, log_p, row, cost, step, last)
            first += len(group.open)
            tops.append((row + cells[0][0], cells[0][2]))
            taken = [cell for cell in cells if not self.prompt.is_end(cell[1])][: group.width]
            cost = cost + diversity * np.bincount([token for _, token, _ in taken], minlength=cost.size)
            group.open = [text for _, _, text in taken if not last]
            if not group.over():
                rows += [row + parent for parent, _, _ in taken]
        row, best = max(tops, key=lambda top: top[1].total)
        return row, self.nodes[best.place], rows

    def _extend(
        self, group: _Group, log_p: Array, first: int, cost: Array, step: int, last: bool
    ) -> list[tuple[int, int, _Text]]:
        """Return the best continuations of a group, best first, each as (index of its open parent, token, text), and add
        their nodes: 2 * width of them, and width more for every further token that ends a text.

        Its open texts are the rows of log p from `first` on.
        Those among the first `width` that end are finished; in the last step all of the first `width` end.
        """
        log_p = log_p[first : first + len(group.open)]
        total = np.array([text.total for text in group.open])[:, None] + log_p - cost
        cells = []
        for rank, cell in enumerate(
            largest_indices(total.ravel(), (2 + len(self.prompt.ends)) * group.width)
        ):
            if not np.isfinite(total.flat[cell]):
                break
            row, token = divmod(cell, log_p.shape[1])
            parent = group.open[row]
            logprob, spent = parent.logprob + float(log_p[row, token]), parent.cost + float(cost[token])
            name = self.prompt.name(token)
            text = _Text(len(self.nodes), logprob, spent, (*parent.ids, token), (*parent.tokens, name))
            self.nodes.append(
                Node(parent.place, step, token, name, logprob, spent, group.number, first + row)
            )
            if (last or self.prompt.is_end(token)) and rank < group.width:
                group.finished.append(text)
            cells.append((row, token, text))
        group.finished = sorted(group.finished, key=group.score, reverse=True)[: group.width]
        return cells

    def ids_to(self, place: int) -> tuple[int, ...]:
        """Return the ids of the text that ends in this node; () for -1."""
        return () if place < 0 else (*self.ids_to(self.nodes[place].parent), self.nodes[place].id)

    def best(self) -> _Text:
        """Return the best text: at the end the finished one with the best score, before it the best open one."""
        ranked = [text for group in self.active_groups() for text in group.open]
        if not ranked:
            return max((text for group in self.groups for text in group.finished), key=self.groups[0].score)
        return max(ranked, key=lambda text: text.total)

    def tree(self) -> Tree:
        """Return the tree so far. A group that is over keeps its open texts: they were not pruned but no longer needed."""
        opened = sorted((text for group in self.groups for text in group.open), key=lambda text: -text.total)
        finished = [(text.place, group.score(text)) for group in self.groups for text in group.finished]
        finished.sort(key=lambda leaf: -leaf[1])
        places = tuple(text.place for text in opened)
        return Tree(
            tuple(self.nodes), places, tuple(finished), self.best().place, self.strategy.length_penalty
        )


def search(
    reader: StepReader, prompt: Prompt, strategy: Beam, limit: int, forced: Mapping[int, int]
) -> Iterator[Step]:
    """Run beam search over any reader, plain or in groups. Width 1 is greedy, except that the limit may cut it short of END."""
    run = _Search(prompt, strategy)
    new: list[tuple[int, ...]] = [prompt.ids]
    given = prompt.labels(())
    for index in range(limit):
        begun = time.perf_counter()
        reading = reader.read(new)
        log_p, diversity = log_softmax(check_finite(reading.logits)), strategy.diversity
        texts = [text for group in run.active_groups() for text in group.open][: len(log_p)]
        shut = [banned_next_tokens(prompt.bad_words, prompt.ids + text.ids) for text in texts]
        for row, ids in zip(log_p, shut, strict=True):
            row[ids] = -np.inf
        if index in forced:  # all groups write it, so it costs none of them
            diversity = 0.0
            others = np.arange(log_p.shape[1]) != forced[index]
            free = index == 0 and forced[index] == prompt.first  # what is no choice costs nothing
            log_p = np.where(others, -np.inf, np.zeros_like(log_p) if free else log_p)
        labels = [given + text.tokens for text in texts]
        keys = [
            {kind.name: prompt.source_tokens if kind.keys == "source" else label for kind in reader.kinds}
            for label in labels
        ]
        full = len(prompt.ids) + index + 1 >= prompt.room
        row, node, kept = run.extend(log_p, index, full or index + 1 == limit, diversity)
        over = not run.active_groups()
        step = _step(run, reading, row, node, index, over)
        reason = "" if not over else "end" if prompt.is_end(step.ids[-1]) else "context" if full else "limit"
        seconds = time.perf_counter() - begun
        yield replace(
            step,
            keys=keys[row],
            rows=rows_of(reading, keys, shut),
            reason=reason,
            seconds=seconds,
            cache_bytes=reader.nbytes,
        )
        if over:
            return
        reader.keep(kept)
        new = [(text.ids[-1],) for group in run.active_groups() for text in group.open]


def _step(run: _Search, reading: StepOutputs, row: int, node: Node, index: int, over: bool) -> Step:
    choice = choose(
        reading.logits[row],
        run.prompt.name,
        forced=node.id,
        filters=run.prompt.filters,
        ids=(*run.prompt.ids, *run.ids_to(node.parent)),
    )
    best = run.best()
    text, pending = run.prompt.text(best.ids)
    return Step(
        index=index,
        token=node.token,
        id=node.id,
        chosen_by="beam",
        draw=None,
        candidates=choice.candidates,
        n_kept=choice.n_kept,
        cuts=choice.cuts,
        logprob=choice.logprob,
        entropy=choice.entropy,
        surprise=choice.surprise,
        log_total=choice.log_total,
        log_kept=choice.log_kept,
        filters=choice.filters,
        attention={kind: rows[row] for kind, rows in reading.attention.items()},
        allowed={kind: rows[row] for kind, rows in reading.allowed.items()},
        keys={},
        ids=best.ids,
        text=text,
        pending=pending,
        done=over,
        note=run.prompt.note if index == 0 else "",
        hidden=run.prompt.hidden,
        ends=run.prompt.is_end(node.id),
        tree=run.tree(),
    )
