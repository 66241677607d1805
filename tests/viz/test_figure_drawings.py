"""The drawings of figures of papers: what stands where, and in which colour, on numbers by hand."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from viz import theme
from viz.course.pages.figures import drawings


def shapes(svg: str, tag: str) -> list[dict[str, str]]:
    """Return the attributes of all shapes of a kind, in the order of their drawing."""
    return [each.attrib for each in ElementTree.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}")]


def test_cells_of_a_matrix_stand_side_by_side():
    cells = shapes(drawings.matrix(np.eye(3), "abc", "def"), "rect")
    unit = float(cells[0]["width"]) + 1
    for axis, steps in (("x", [0, 1, 2] * 3), ("y", [0] * 3 + [1] * 3 + [2] * 3)):
        places = [float(cell[axis]) for cell in cells]
        np.testing.assert_allclose(np.array(places) - places[0], np.array(steps) * unit, atol=0.2)


def test_a_beam_bends_half_way():
    (beam,) = shapes(drawings.beams(drawings.Beams("ab", [(0, np.array([[0, 1.0], [0, 0]]))], "One")), "path")
    below, bend, again, above = (float(y) for y in re.findall(r",([\d.]+)", beam["d"]))
    assert bend == again == pytest.approx((below + above) / 2, abs=0.1) and below > above


def test_points_have_one_scale_by_the_wider_axis():
    points = shapes(drawings.plane(np.array([[0.0, 0], [4, 0], [4, 1]]), [1, 1, 1], "layer"), "circle")[1:]
    unit = (drawings.WIDE - 4 * drawings.EDGE) / 4
    x, y = (np.array([float(point[axis]) for point in points]) for axis in ("cx", "cy"))
    np.testing.assert_allclose(x - x[0], [0, 4 * unit, 4 * unit], atol=0.2)
    np.testing.assert_allclose(y[0] - y, [0, 0, unit], atol=0.2)


def test_the_line_in_the_accent_is_drawn_above_the_others():
    lines = shapes(drawings.courses([0, 9], ("loss", np.zeros((3, 2)), 1, (0, 1))), "polyline")
    assert [line["stroke"] for line in lines] == [theme.SEQUENTIAL[4]] * 2 + [theme.PRIMARY]


def test_shades_of_a_triangle_reach_from_its_smallest_value_to_its_largest():
    cells = shapes(drawings.triangles([np.array([[5.0, 99], [6, 7]])], ["layer 0"]), "rect")
    ends = theme.SEQUENTIAL[0], theme.SEQUENTIAL[(len(theme.SEQUENTIAL) - 1) // 2], theme.SEQUENTIAL[-1]
    assert [cell["fill"] for cell in cells] == list(ends)
