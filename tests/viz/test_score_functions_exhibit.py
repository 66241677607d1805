"""The exhibit on score functions: the guess, the plane's move, the link."""

from __future__ import annotations

import numpy as np
import pytest
from exhibit_pages import StepPages, instruments, said
from shown_values import states

from viz.course.look_up.score_functions import exhibit, maths, params, steps
from viz.labels import percent

OPENING = params.Params()
page = StepPages("score_functions")


def tables(test) -> list[dict]:
    """Return the scores that the plane was given."""
    return instruments(test, "scores")[0]["scores"]


def labels(test) -> list[str]:
    return [table["label"] for table in tables(test)]


def test_all_eight_scores_stand_side_by_side():
    """C017."""
    assert labels(page(2)) == [
        *("dot", "scaled dot", "general", "additive, linear", "additive, tanh", "location", "cosine"),
        "β · cosine",
    ]
    assert [tables(page(2, beta=beta))[-1]["sharpness"] for beta in (5, 12)] == [5.0, 12.0]


@pytest.mark.quick(3)
@pytest.mark.parametrize("rule", params.RULES)
def test_each_of_the_eight_can_be_chosen(rule):
    """C017."""
    test, data = page(4, "equation", rule=rule), exhibit.compute(OPENING)
    weights = data.weights[rule]
    assert labels(test) == [function.title for function in data.functions if function.name == rule]
    best = int(weights.argmax())
    assert f"gives {params.NAMES[best]} {percent(weights[best])}" in said(test)
    assert test.table[0].value["weight"].tolist() == [f"{w:.4f}" for w in weights]


def test_the_first_answer_is_computed_from_the_vectors():
    before, other = page(), page(at="-1,-0.6;0.7,0.5;1.7,-0.2;-0.6,1.4;-1.2,-0.9")
    assert labels(before) == ["cosine"], "before the guess the dot product is not in the page"
    assert (page.answer(before, "most"), page.answer(other, "most")) == ("B", "D")
    assert len(labels(page(guess={"most": "B"}))) == 2


def test_moving_the_query_does_not_move_the_linear_additive_weights_and_the_page_says_why():
    """C018."""
    test = page(3, guess={"turn": "additive, linear"})
    assert page.answer(test, "turn") == "additive, linear" and steps.REASON["linear"] in said(test)
    assert instruments(test, "scale", "queries")[0]["scale"] == "difference"
    change = maths.weight_changes(OPENING.place, "turn")
    assert np.abs(change["linear"]).max() < 1e-12 < np.abs(change["dot"]).max()
    assert states(said(test), "additive, linear", "unchanged")
    assert "does not depend" in said(page(4, rule="linear"))


@pytest.mark.parametrize(
    ("experiment", "link", "answer"),
    [
        ("keys", {}, "location"),
        ("longer", {}, "cosine"),
        ("turn", {"at": "0,0;0.7,0.5;1.7,-0.2;-0.6,1.4;-1.2,-0.9"}, steps.SEVERAL),
    ],
)
def test_who_ignores_the_keys_the_length_and_a_query_in_the_middle(experiment, link, answer):
    assert page.answer(page(3, experiment=experiment, **link), experiment) == answer


def test_places_in_the_link_come_back():
    pairs = ((1.0, 0.6), (0.25, -2.0), (0.0, 0.0), (1.5, 1.5), (-1.0, -0.01))
    assert params.places(params.pack(pairs)) == pairs
