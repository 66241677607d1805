"""Decode's forks: which tokens the visitor put in the place of others, and every branch that was tried; all of it is in the link.

A branch is the tokens that were forced, by step, and how many steps of it were seen: "3:512.7:18@12". The branches that
were left stand one behind the other, ";" between them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from core.decoding import Step
from core.decoding.record import decode_force, encode_force
from viz.instruments.tree.tree import Branch as Twig
from viz.languages import _, mark
from viz.number_text import number
from viz.shell import state

Forced = tuple[tuple[int, int], ...]
MOST_BRANCHES = 24
OTHER = "decode.with"
_VISITED = "decode.seen"
REASONS = {
    "forced": mark("put in by you"),
    "draw": mark("drawn"),
    "argmax": mark("the most probable"),
    "rule": mark("always written first"),
}
_NUMBER = re.compile(r"0|[1-9][0-9]{0,2}")


@dataclass(frozen=True)
class Branch:
    """`force`: (step, token id), rising; `n` steps of it were seen.

    >>> Branch(((3, 512), (7, 18)), 12).text, Branch((), 4).text
    ('3:512.7:18@12', '@4')
    """

    force: Forced
    n: int

    @property
    def text(self) -> str:
        return f"{encode_force(self.force)}@{self.n}"

    def forked(self, step: int, token: int) -> Branch:
        """Return the branch that is the same up to `step` and has this token there."""
        return Branch((*(pair for pair in self.force if pair[0] < step), (step, token)), step + 1)


def parsed(raw: str) -> Branch:
    """Read the branch of a text. Raises ValueError for one that is none.

    >>> parsed("3:512.7:18@12").force
    ((3, 512), (7, 18))
    """
    force, _at, n = raw.partition("@")
    if not _NUMBER.fullmatch(n):
        raise state.Unusable(
            _(
                "A branch is step:token for each token that was put in, then @ and the number of steps: 3:512@9."
            )
        )
    return Branch(decode_force(force), int(n))


def several(raw: str) -> tuple[Branch, ...]:
    """Read the branches of a text, ";" between them; the newest MOST_BRANCHES of them."""
    return tuple(parsed(part) for part in raw.split(";") if part)[-MOST_BRANCHES:]


def force(n_vocab: int) -> Forced:
    """Return the tokens that now replace others."""

    return state.read("decode.force", (), lambda raw: _check_tokens(decode_force(raw), n_vocab))


def other(n_vocab: int) -> Branch | None:
    """Return the branch that the one in view is compared with."""

    def parse(raw: str) -> Branch:
        found = parsed(raw)
        _check_tokens(found.force, n_vocab)
        return found

    return state.read(OTHER, None, parse)


def _check_tokens(forced: Forced, n_vocab: int) -> Forced:
    if any(token >= n_vocab for step, token in forced):
        raise state.Unusable(_("This model has {n:,} tokens, counted from 0.", n=n_vocab))
    return forced


def tried() -> tuple[Branch, ...]:
    """Return the branches that were left, the oldest first."""
    return state.read("decode.tried", (), several)


def branch_to_keep(model: str, text: str, strategy: object, now: Branch) -> Branch:
    """Return the branch in view with as many steps of it as this visitor has seen: the part that is kept when it is left."""
    seen = st.session_state.setdefault(_VISITED, {})
    place = (model, text, strategy, now.force)
    seen[place] = max(now.n, seen.get(place, 0))
    return replace(now, n=seen[place])


def go(now: Branch, to: Branch) -> None:
    """Go from one branch (see `left`) to another; the one that is left is remembered, if the other does not go through all of it."""
    kept = [branch for branch in tried() if not _contains(branch, now) and not _contains(branch, to)]
    link(to, [*kept, *([] if _contains(now, to) else [now])])


def _contains(branch: Branch, other: Branch) -> bool:
    """Return whether `other` goes through all of `branch`."""
    return branch.n <= other.n and branch.force == tuple(pair for pair in other.force if pair[0] < branch.n)


def against(branch: Branch | None) -> None:
    """Compare the branch in view with this one, or with none."""
    state.write(**{OTHER: branch.text if branch else None})


def link(to: Branch, others: Sequence[Branch]) -> None:
    text = ";".join(branch.text for branch in others[-MOST_BRANCHES:])
    state.write(
        **{"decode.force": encode_force(to.force) or None, "decode.n": to.n, "decode.tried": text or None}
    )


def forget() -> None:
    """Forget all forks, as another text or model does."""
    state.write(**{"decode.force": None, "decode.tried": None, OTHER: None})


@dataclass(frozen=True)
class TreeNode:
    """A node of the tree: the token written at a step, behind `parent`; the branch and the step that lead to it."""

    parent: int
    step: Step
    to: Branch


def grow_tree(branches: Mapping[Branch, Sequence[Step]]) -> list[TreeNode]:
    """Return the tree of all branches: a node for each different beginning, parents before their children."""
    found: list[TreeNode] = []
    known: dict[tuple[int, ...], int] = {}
    for branch, steps in branches.items():
        at = -1
        for n, step in enumerate(steps, 1):
            if step.ids not in known:
                known[step.ids] = len(found)
                found.append(
                    TreeNode(at, step, Branch(tuple(pair for pair in branch.force if pair[0] < n), n))
                )
            at = known[step.ids]
    return found


def twigs_of(places: Sequence[TreeNode], now: tuple[int, ...]) -> list[Twig]:
    """Return the nodes as the tree shows them; `now` are the tokens written on the branch in view."""
    total: list[float] = []
    found = []
    for place in places:
        step = place.step
        total.append(step.logprob + (total[place.parent] if place.parent >= 0 else 0.0))
        here = len(step.ids) <= len(now) and now[: len(step.ids)] == step.ids
        state = "now" if step.ids == now else "best" if here else "open"
        says = _(
            "{reason}, {bits:.2f} bits of surprisal; after the prompt ln p = {sum}",
            reason=_(REASONS.get(step.chosen_by, step.chosen_by)),
            bits=step.surprise,
            sum=number(total[-1]),
        )
        found.append(
            Twig(
                place.parent,
                step.token,
                state,
                total[-1],
                says,
                step.chosen_candidate.before,
                ends=step.reason == "end",
            )
        )
    return found


def marked(places: Sequence[TreeNode], **texts: tuple[int, ...]) -> dict[str, int]:
    """Return the node in which each text ends, by its letter."""
    at = {place.step.ids: node for node, place in enumerate(places)}
    return {letter: at[ids] for letter, ids in texts.items() if ids in at}
