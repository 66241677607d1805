"""Cells of patches that a measure of a head counts, on a small grid by hand."""

from __future__ import annotations

import numpy as np

from core.analysis.heads import patch_habits

NAMES = ("class", *(f"{row},{column}" for row in range(3) for column in range(3)))
MIDDLE, CORNER = NAMES.index("1,1"), NAMES.index("0,0")


def test_neighbours_are_the_eight_around_a_patch_and_the_three_at_a_corner():
    cells = patch_habits.measured_cells(NAMES, np.zeros(len(NAMES), dtype=bool))
    near = {
        name: {NAMES[key] for key in np.flatnonzero(cells[patch_habits.NEAR][NAMES.index(name)])}
        for name in NAMES
    }
    assert near["1,1"] == {*NAMES} - {"class", "1,1"} and near["0,0"] == {"0,1", "1,0", "1,1"}
    assert near["class"] == set() and near["0,1"] == {"0,0", "0,2", "1,0", "1,1", "1,2"}
    row, column = (cells[name][CORNER] for name in (patch_habits.ROW, patch_habits.COLUMN))
    assert [NAMES[key] for key in np.flatnonzero(row)] == ["0,1", "0,2"]
    assert [NAMES[key] for key in np.flatnonzero(column)] == ["1,0", "2,0"]


def test_a_mean_distance_is_over_the_rows_of_patches_and_without_the_class_token():
    weights = np.zeros((1, 2, 10, 10))
    weights[0, :, :, 0] = 0.5  # half of each row on the class token, which has no place
    weights[0, 0, :, MIDDLE] = weights[0, 1, :, CORNER] = 0.5
    rows = [(row, column) for row in range(3) for column in range(3)]
    wanted = [np.mean([np.hypot(row - at, column - at) for row, column in rows]) for at in (1, 0)]
    np.testing.assert_allclose(patch_habits.mean_patch_distance(weights), [wanted])
