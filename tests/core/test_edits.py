"""Edits are data: what each does, that it can be hashed and printed, what it refuses."""

from __future__ import annotations

import pytest
import torch

from core import InputError, edits

HEADS = torch.arange(2 * 3 * 5 * 7, dtype=torch.float32).reshape(2, 3, 5, 7)
ALLOWED = torch.ones(2, 3, 5, 7, dtype=torch.bool)


def test_forbid_a_cell_a_row_a_column():
    cell = edits.Forbid("x", query=4, key=6)(ALLOWED)
    assert (~cell).sum() == 2 * 3 and not cell[0, 0, 4, 6]
    assert (~edits.Forbid("x", query=4)(ALLOWED)).sum() == 2 * 3 * 7
    assert (~edits.Forbid("x", key=6, head=0)(ALLOWED)).sum() == 2 * 5
    assert ALLOWED.all(), "the value that came in is untouched"


def test_set_pattern_puts_a_row():
    row = edits.SetPattern("x", query=1, weights=(0.5, 0.5, 0, 0, 0, 0, 0), head=2)(torch.zeros(2, 3, 5, 7))
    assert row[:, 2, 1].tolist() == [[0.5, 0.5, 0, 0, 0, 0, 0]] * 2 and row.sum() == 2


def test_add_vector_at_one_position_and_at_all():
    resid = torch.zeros(2, 5, 3)
    assert edits.AddVector("x", [1, 2, 3], position=-1)(resid)[:, 4].tolist() == [[1, 2, 3]] * 2
    assert edits.AddVector("x", [1, 2, 3])(resid).sum() == 2 * 5 * 6


@pytest.mark.parametrize(
    "edit",
    [
        edits.ZeroHead("a", 1),
        edits.ScaleHead("a", 1, 2.0),
        edits.Scale("a", 2.0),
        edits.Forbid("a", 1),
        edits.SetAllowed("a", ((True,),)),
        edits.SetPattern("a", 0, (1.0,)),
        edits.AddVector("a", [1.0]),
        edits.Patch("a", torch.ones(2), recipe=("text", 3)),
    ],
)
def test_an_edit_is_hashable_frozen_and_says_what_it_is(edit):
    assert hash(edit) == hash(edit) and edit == edit
    assert type(edit).__name__ in repr(edit) and "where='a'" in repr(edit)
    with pytest.raises(AttributeError):
        edit.where = "b"


def test_a_patch_is_known_by_its_recipe_not_its_bytes():
    assert edits.Patch("a", torch.ones(2), ("run", 1)) == edits.Patch("a", torch.zeros(2), ("run", 1))
    assert edits.Patch("a", torch.ones(2), ("run", 1)) != edits.Patch("a", torch.ones(2), ("run", 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: edits.ZeroHead("x", 3)(HEADS),
        lambda: edits.Forbid("x", query=9)(ALLOWED),
        lambda: edits.SetAllowed("x", ((True, False),))(ALLOWED),
        lambda: edits.SetPattern("x", 0, (0.5, 0.1)),
        lambda: edits.SetPattern("x", 0, (1.0,))(HEADS),
        lambda: edits.AddVector("x", [1], position=5)(torch.zeros(1, 5, 1)),
    ],
)
def test_what_cannot_be_done_is_said_in_three_parts(call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.wrong and caught.value.rule and caught.value.remedy
