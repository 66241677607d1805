"""Forks of a decoding: what stands in the link, what is refused, and the tree of everything tried."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_decode import engine as engine  # the fixture

from viz.workspace.decode import forks
from viz.workspace.decode.forks import Branch, grow_tree, parsed, several
from viz.workspace.decode.page import Params, compute


@pytest.mark.parametrize("text", ["@0", "@12", "3:512@4", "3:512.7:18@12"])
def test_a_branch_comes_back_from_its_text(text):
    assert parsed(text).text == text


@pytest.mark.parametrize(
    "text",
    ["", "3", "3:5", "3:5@", "a:b@1", "3:5.3:6@9", "7:1.3:2@9", "-1:4@2", "3:5@1;x", "<b>@1", "01:1@1"],
)
def test_a_broken_branch_is_refused_with_its_rule(text):
    with pytest.raises(ValueError, match="branch|rising"):
        parsed(text)


def test_a_fork_keeps_what_was_before_it_and_drops_what_came_after():
    branch = Branch(((2, 7), (5, 8)), 9)
    assert branch.forked(5, 9) == Branch(((2, 7), (5, 9)), 6)
    assert branch.forked(1, 3) == Branch(((1, 3),), 2)
    assert branch.forked(12, 3).force == ((2, 7), (5, 8), (12, 3))


def test_only_the_newest_branches_are_kept():
    found = several(";".join(f"0:{i}@1" for i in range(40)))
    assert len(found) == forks.MOST_BRANCHES and found[-1] == Branch(((0, 39),), 1)


def test_the_tree_has_a_node_for_each_beginning(engine):
    start = Params(model="gpt-mini", text="a white car", n=4)
    steps = compute(start).steps
    other = next(c.id for c in steps[2].candidates if c.id != steps[2].id)
    to = Branch((), 4).forked(2, other)
    forked = compute(replace(start, n=to.n, force=to.force)).steps
    assert [step.id for step in forked] == [steps[0].id, steps[1].id, other]
    assert forked[-1].chosen_by == "forced"
    tree = grow_tree({Branch((), 4): steps, to: forked})
    assert [place.parent for place in tree] == [-1, 0, 1, 2, 1]
    assert (tree[-1].to, tree[3].to, tree[1].to) == (to, Branch((), 4), Branch((), 2))
    nodes = forks.twigs_of(tree, forked[-1].ids)
    assert [node.state for node in nodes] == ["best", "best", "open", "open", "now"]
    assert "by you" in nodes[-1].says and nodes[3].score == pytest.approx(sum(step.logprob for step in steps))


def test_a_branch_that_another_goes_through_is_not_kept_beside_it():
    plain, fork = (lambda n: Branch((), n)), (lambda n: Branch(((3, 7),), n))
    pairs = [
        (plain(4), plain(9)),
        (plain(9), plain(4)),
        (plain(4), fork(6)),
        (plain(3), fork(6)),
        (fork(5), fork(6)),
    ]
    assert [forks._contains(*pair) for pair in pairs] == [True, False, False, True, True]
