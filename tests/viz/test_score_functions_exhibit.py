"""The exhibit on score functions: each step by AppTest, the guess, the plane's move, the link."""

from __future__ import annotations

import exhibit_pages as pages
import numpy as np
import pytest
from exhibit_pages import said
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

from viz.course.look_up.score_functions import exhibit, maths, params, steps
from viz.labels import percent

SLUG = "score_functions."
OPENING = params.Params()


def page(step: int = 1, *folds: str, guess: tuple[str, str] | None = None, **link: str) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    return pages.drawn(
        "score_functions",
        {SLUG + "step": str(step)} | {SLUG + name: value for name, value in link.items()},
        dict.fromkeys(folds, True) | answered,
    )


def headers(test: AppTest) -> list[dict]:
    return [opened(e.proto.bytes)[0] for e in test.get("bidi_component") if e.proto.bytes]


def drawn(test: AppTest) -> dict:
    """What the plane or the table of weights was given."""
    return next(h for h in headers(test) if "scores" in h or "queries" in h)


def test_all_eight_scores_stand_side_by_side():
    """C017."""
    tables = drawn(page(2))["scores"]
    assert [t["label"] for t in tables] == [
        "dot",
        "scaled dot",
        "general",
        "additive, linear",
        "additive, tanh",
        "location",
        "cosine",
        "β · cosine",
    ]
    assert tables[-1]["sharpness"] == 5.0
    assert drawn(page(2, beta="12"))["scores"][-1]["sharpness"] == 12.0


@pytest.mark.quick(3)
@pytest.mark.parametrize("rule", params.RULES)
def test_each_of_the_eight_can_be_chosen(rule):
    """C017."""
    test = page(4, f"fold:{SLUG}equation", rule=rule)
    data = exhibit.compute(OPENING)
    function = next(f for f in data.functions if f.name == rule)
    assert [t["label"] for t in drawn(test)["scores"]] == [function.title]
    best = int(data.weights[rule].argmax())
    assert f"gives {params.NAMES[best]} {percent(data.weights[rule][best])}" in said(test)
    assert test.table[0].value["weight"].tolist() == [f"{w:.4f}" for w in data.weights[rule]]


def test_the_first_answer_is_computed_from_the_vectors():
    first = page(guess=("most", "B"))
    assert "Right" in said(first) and len(drawn(first)["scores"]) == 2
    assert [t["label"] for t in drawn(page())["scores"]] == ["cosine"], (
        "before the guess the dot product is not in the page"
    )
    other = page(guess=("most", "B"), at="-1,-0.6;0.7,0.5;1.7,-0.2;-0.6,1.4;-1.2,-0.9")
    assert "It is “D”" in said(other)


def test_moving_the_query_does_not_move_the_linear_additive_weights_and_the_page_says_why():
    """C018."""
    test = page(3, guess=("turn", "additive, linear"))
    assert "Right" in said(test) and steps.REASON["linear"] in said(test)
    assert drawn(test)["scale"] == "difference"
    change = maths.weight_changes(OPENING.place, "turn")
    assert np.abs(change["linear"]).max() < 1e-12 < np.abs(change["dot"]).max()
    assert states(said(test), "additive, linear", "unchanged")
    assert "unchanged" not in said(page(3)), "nothing is given away before the guess"
    blind = page(4, rule="linear")
    assert "does not depend" in said(blind)


@pytest.mark.parametrize(("experiment", "answer"), [("keys", "location"), ("longer", "cosine")])
def test_who_ignores_the_keys_and_the_length(experiment, answer):
    assert "Right" in said(page(3, experiment=experiment, guess=(experiment, answer)))


def test_a_query_in_the_middle_moves_nothing():
    test = page(3, at="0,0;0.7,0.5;1.7,-0.2;-0.6,1.4;-1.2,-0.9", guess=("turn", steps.SEVERAL))
    assert not test.exception and "Right" in said(test)


def test_places_in_the_link_come_back():
    pairs = ((1.0, 0.6), (0.25, -2.0), (0.0, 0.0), (1.5, 1.5), (-1.0, -0.01))
    assert params.places(params.pack(pairs)) == pairs
