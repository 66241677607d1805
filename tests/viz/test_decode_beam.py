"""Decode's beam: the text that is followed has its own steps in every picture, and the link says which it is."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from deep import deep
from shown_values import states
from test_decode import CAR, drawn, press
from test_decode import engine as engine  # the fixture
from workspace_pages import again, header, linked, matrix, said

from core.decoding import Beam, decode, hypothesis_steps, prompt_of
from viz.workspace.decode import beam, controls, folds, pictures, player
from viz.workspace.decode.page import Params, compute

LINK = CAR | {"decode__beam": "3"}
P = Params(**CAR, beam=3)


def of(data, node=None):
    """The steps of one text of a search."""
    node = data.last.tree.best if node is None else node
    return hypothesis_steps(data.steps, node, prompt_of(data.model, data.window.text))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("n", "node"), deep(itertools.product([4, 120], [None, 2, 7]), lambda case: case[0] == 4 or case[1] == 7)
)
def test_every_picture_is_of_the_text_that_is_followed(engine, n, node):
    test = drawn(**LINK, decode__n=str(n), **({} if node is None else {"decode__node": str(node)}))
    steps = of(compute(replace(P, n=n)), node)
    assert header(test, "scale")["queries"] == pictures.pieces([step.token for step in steps])
    rows = [step.attention["cross"].mean((0, 1)) for step in steps]
    np.testing.assert_allclose(matrix(test, "scale"), rows, atol=1e-6)
    bars = header(test, "lot")
    assert (bars["taken_id"], bars["step"]) == (steps[-1].id, len(steps) - 1)
    chances = [moment["p"] for moment in header(test, "moments")["moments"]]
    assert chances == pytest.approx([np.exp(step.logprob) for step in steps])
    assert header(test, "means")["selected"] == node


@pytest.mark.slow
def test_one_line_says_which_text_is_followed(engine):
    end = LINK | {"decode__n": str(player.MOST)}
    assert "best text" in said(drawn(**LINK, decode__n="3")) and "Followed: the winner" in said(drawn(**end))
    tree = compute(replace(P, n=player.MOST)).last.tree
    lost = min(tree.pruned_nodes(), key=lambda place: (-tree.nodes[place].step, place))
    test = drawn(**end, decode__node=str(lost))
    assert states(said(test), "you chose", f"{len(tree.path(lost))} tokens", "pruned")
    press(test, "decode.node.back")
    assert "decode.node" not in linked(test) and "Followed: the winner" in said(test)


def test_a_node_that_is_not_there_yet_waits_and_nonsense_is_told(engine):
    test = drawn(**LINK, decode__n="1", decode__node="9")
    assert "best text" in said(test) and linked(test)["decode.node"] == "9"
    assert "you chose" in said(press(press(test, "decode.next"), "decode.next"))
    assert "cannot be shown" in said(drawn(**LINK, decode__node="<b>"))


def test_a_number_of_another_search_is_forgotten(engine):
    test = drawn(**LINK, decode__n="5", decode__node="4")
    assert "you chose" in said(test)
    next(box for box in test.number_input if box.label == "Width").set_value(2)
    assert "best text" in said(again(test)) and "decode.node" not in linked(test)


def test_the_chosen_node_is_where_the_reader_stands(engine):
    last = compute(replace(P, n=4)).last
    plain, marked = beam.branches(last, Beam(3)), beam.branches(last, Beam(3), 3)
    assert marked[3].state == "now" and "now" not in {node.state for node in plain}
    assert [*marked[:3], *marked[4:]] == [*plain[:3], *plain[4:]]


def printed(p: Params, shown, engine, node=None) -> list:
    """What the lines to take along print of each step, run with the small model."""
    lines = folds.code(p, shown, node)
    seen: list = []
    names = {f"core.open_model({p.model!r})": "model", "print(": "seen.append((", "step.text)": "step.text))"}
    for before, after in names.items():
        lines = lines.replace(before, after)
    exec(lines, {"model": engine.models[p.model], "seen": seen})
    return seen


@pytest.mark.parametrize("node", [None, 5])
def test_the_lines_of_python_print_the_text_that_is_followed(engine, node):
    p = replace(P, n=4)
    data = compute(p)
    steps = of(data, node)
    shown = replace(data, steps=steps)
    seen = printed(p, shown, engine, node)
    assert seen == [(step.token, step.chosen_candidate.before, step.text) for step in steps]
    assert folds.arrays(shown, controls.ALL)["attention_cross"].shape[0] == len(steps)


@pytest.mark.slow
def test_the_page_shows_the_steps_of_the_core(engine):
    data = compute(replace(P, n=6))
    want = decode(engine.models[P.model], P.text, Beam(3), max_new_tokens=120)
    for a, b in zip(data.steps, want, strict=False):
        np.testing.assert_allclose(a.rows.attention["cross"], b.rows.attention["cross"], atol=1e-6)
