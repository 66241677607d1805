"""The opening change of the page What if, on a shipped model."""

from __future__ import annotations

from core.maths import softmax
from viz.workspace.what_if import page as what_if
from viz.workspace.what_if import views


def test_it_opens_with_a_change_that_is_seen() -> None:
    """The head it opens with is an early one: the words and the heads above it move, and the probability of the best token falls."""
    change = what_if.compute(what_if.Params())
    assert change.place.layer <= change.before.model.config.n_layers // 3
    moved = views.measure_changes(change).heads[change.place.kind]
    assert (moved[change.place.layer + 1 :] > 0).all() and moved.max() > 0.01, moved
    row = change.before.side.n_real - 1
    before, after = (softmax(run.logits[row]) for run in (change.before, change.after))
    top = int(before.argmax())
    assert after[top] < 0.8 * before[top], (before[top], after[top])
