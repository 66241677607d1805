"""Decode's beam: the text that is followed has its own steps in every picture, and the link says which it is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from deep import deep
from packets import opened, packets_of, unpacked
from shown_values import states
from test_decode import drawn, press, said
from test_decode import engine as engine  # the fixture

from core.decoding import Beam, decode, hypothesis_steps, prompt_of
from viz.workspace.decode import beam, controls, folds, page, pictures, player

LINK = {"model": "translator-en-es", "text": "a white car", "decode__beam": "3"}
P = page.Params(model="translator-en-es", text="a white car", beam=3)


def packets(test, name):
    """The headers (and bytes) of the instruments that have `name` in their header."""
    return [(opened(one)[0], one) for one in packets_of(test) if name in opened(one)[0]]


def of(data, node=None):
    return hypothesis_steps(
        data.steps, data.last.tree.best if node is None else node, prompt_of(data.model, data.window.text)
    )


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("n", "node"), deep(itertools.product([4, 120], [None, 2, 7]), lambda case: case[0] == 4 or case[1] == 7)
)
def test_every_picture_is_of_the_text_that_is_followed(engine, n, node):
    query = LINK | {"decode__n": str(n)} | ({} if node is None else {"decode__node": str(node)})
    test, data = drawn(**query), page.compute(page.replace(P, n=n))
    assert not test.exception
    steps = of(data, node)
    ((header, matrix),) = packets(test, "scale")
    assert header["queries"] == pictures.pieces([step.token for step in steps])
    np.testing.assert_allclose(
        unpacked(matrix), [step.attention["cross"].mean((0, 1)) for step in steps], atol=1e-6
    )
    ((bars, _),) = packets(test, "lot")
    assert (bars["taken_id"], bars["step"]) == (steps[-1].id, len(steps) - 1)
    ((line, _),) = packets(test, "moments")
    assert [moment["p"] for moment in line["moments"]] == pytest.approx(
        [np.exp(step.logprob) for step in steps]
    )
    ((tree, _),) = packets(test, "means")
    assert tree["selected"] == node


@pytest.mark.slow
def test_one_line_says_which_text_is_followed(engine):
    growing, done = drawn(**LINK, decode__n="3"), drawn(**LINK, decode__n=str(player.MOST))
    assert "best text" in said(growing) and "Followed: the winner" in said(done)
    data = page.compute(page.replace(P, n=player.MOST))
    lost = min(data.last.tree.pruned_nodes(), key=lambda place: (-data.last.tree.nodes[place].step, place))
    length = len(data.last.tree.path(lost))
    test = drawn(**LINK, decode__n=str(player.MOST), decode__node=str(lost))
    assert states(said(test), "you chose", f"{length} tokens", "pruned")
    test = press(test, "decode.node.back")
    assert "decode.node" not in test.query_params and "Followed: the winner" in said(test)


def test_a_node_that_is_not_there_yet_waits_and_nonsense_is_told(engine):
    test = drawn(**LINK, decode__n="1", decode__node="9")
    assert "best text" in said(test) and test.query_params["decode.node"] == "9" and not test.exception
    test = press(press(test, "decode.next"), "decode.next")
    assert "you chose" in said(test)
    broken = drawn(**LINK, decode__node="<b>")
    assert not broken.exception and "cannot be shown" in said(broken)


def test_a_number_of_another_search_is_forgotten(engine):
    test = drawn(**LINK, decode__n="5", decode__node="4")
    assert "you chose" in said(test)
    test = next(box for box in test.number_input if box.label == "Width").set_value(2).run()
    assert "decode.node" not in test.query_params and "best text" in said(test)


def test_the_chosen_node_is_where_the_reader_stands(engine):
    data = page.compute(page.replace(P, n=4))
    plain, marked = beam.branches(data.last, Beam(3)), beam.branches(data.last, Beam(3), 3)
    assert [node.state for node in marked].index("now") == 3 and "now" not in {node.state for node in plain}
    assert [node for i, node in enumerate(marked) if i != 3] == [
        node for i, node in enumerate(plain) if i != 3
    ]


@pytest.mark.parametrize("node", [None, 5])
def test_the_lines_of_python_print_the_text_that_is_followed(engine, node):
    data = page.compute(page.replace(P, n=4))
    steps = of(data, node)
    shown = page.replace(data, steps=steps)
    lines = (
        folds.code(page.replace(P, n=4), shown, node)
        .replace(f"core.open_model({P.model!r})", "model")
        .replace("print(", "seen.append((")
    )
    seen = []
    exec(lines.replace("step.text)", "step.text))"), {"model": engine.models[P.model], "seen": seen})
    assert seen == [(step.token, step.chosen_candidate.before, step.text) for step in steps]
    assert folds.arrays(shown, controls.ALL)["attention_cross"].shape[0] == len(steps)


@pytest.mark.slow
def test_the_page_shows_the_steps_of_the_core(engine):
    data = page.compute(page.replace(P, n=6))
    want = list(decode(engine.models[P.model], P.text, Beam(3), max_new_tokens=120))
    for a, b in zip(data.steps, want, strict=False):
        np.testing.assert_allclose(a.rows.attention["cross"], b.rows.attention["cross"], atol=1e-6)
