"""The search tree of a beam: every token with its parent, and the texts at its leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.decoding.prompt import Prompt


@dataclass(frozen=True)
class Node:
    """A token in the tree. `parent` is the index of its parent among the nodes, -1 at the root; `logprob` is the sum of
    ln p from the root to here, `cost` the sum of what diversity took off; `group` is the group that tried it. `row`
    is the row of the step's batch that wrote it (`Step.rows`), where its attention and the other candidates are.
    """

    parent: int
    step: int
    id: int
    token: str
    logprob: float
    cost: float = 0.0
    group: int = 0
    row: int = 0


@dataclass(frozen=True)
class Tree:
    """All nodes so far; which of them are open (best first), which ended a text and with what score (best first).

    The score is (logprob - cost) / length ** length_penalty. `best` is the node that the best text ends in.
    """

    nodes: tuple[Node, ...] = field(repr=False)
    open: tuple[int, ...]
    finished: tuple[tuple[int, float], ...]
    best: int
    length_penalty: float = 1.0

    def path(self, place: int) -> tuple[int, ...]:
        """Return the indices of the nodes from the root to this one."""
        path: list[int] = []
        while place >= 0:
            path.append(place)
            place = self.nodes[place].parent
        return tuple(reversed(path))

    def token_logprob(self, place: int) -> float:
        """Return the natural logarithm of the probability of this node's token, given those before it."""
        node = self.nodes[place]
        return node.logprob - (self.nodes[node.parent].logprob if node.parent >= 0 else 0.0)

    def pruned_nodes(self) -> frozenset[int]:
        """Return the nodes that are on the path of no open and no finished text."""
        alive = {
            place for leaf in (*self.open, *(leaf for leaf, _ in self.finished)) for place in self.path(leaf)
        }
        return frozenset(range(len(self.nodes))) - alive

    def node_fates(self) -> tuple[str, ...]:
        """Return the fate of each node: "pruned", "best" (on the path of the best text), "finished" (another text ends here), "open"."""
        pruned, best, ends = (
            self.pruned_nodes(),
            set(self.path(self.best)),
            {place for place, _ in self.finished},
        )
        return tuple(
            "pruned" if at in pruned else "best" if at in best else "finished" if at in ends else "open"
            for at in range(len(self.nodes))
        )


@dataclass(frozen=True)
class Ranked:
    """One text of a beam and its score, with what it is made of: score = (logprob - cost) / divisor, divisor =
    length ** length_penalty. `place` is the node that it ends in; an open text (`ended` False) is scored as if it
    ended there. `length` counts END, `text` has the prompt before it."""

    place: int
    ids: tuple[int, ...]
    text: str
    logprob: float
    cost: float
    length: int
    divisor: float
    score: float
    group: int
    ended: bool


def n_best(tree: Tree, prompt: Prompt) -> tuple[Ranked, ...]:
    """Return the texts of a beam, best first: those that ended, then those that are still open.

    >>> from core.decoding.counterexample import Letters
    >>> nodes = (Node(-1, 0, 0, "a", -0.7), Node(-1, 0, 1, "b", -0.9), Node(1, 1, 1, "b", -1.02), Node(0, 1, 0, "a", -1.6))
    >>> tree = Tree(nodes, open=(), finished=((2, -0.51), (3, -0.8)), best=2)
    >>> [(one.text, one.logprob, one.divisor, round(one.score, 2)) for one in n_best(tree, Prompt((), Letters(), room=3))]
    [('bb', -1.02, 2.0, -0.51), ('aa', -1.6, 2.0, -0.8)]
    """
    leaves = [*((place, True) for place, _ in tree.finished), *((place, False) for place in tree.open)]
    hypotheses = []
    for place, ended in leaves:
        node, path = tree.nodes[place], tree.path(place)
        ids = tuple(tree.nodes[one].id for one in path)
        divisor = len(path) ** tree.length_penalty
        score = (node.logprob - node.cost) / divisor
        text = prompt.text(ids)[0]
        hypotheses.append(
            Ranked(place, ids, text, node.logprob, node.cost, len(path), divisor, score, node.group, ended)
        )
    return tuple(sorted(hypotheses, key=lambda one: (not one.ended, -one.score)))
