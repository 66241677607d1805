"""Two texts compared on the page: forks and texts of a beam; what is said, what is refused, and that a link brings it back."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from shown_values import states
from test_decode import drawn, press
from test_decode import engine as engine  # the fixture
from test_decode_beam import LINK, P, of
from workspace_pages import header, linked, said

from core.decoding import ComparedText, Comparison, ScoredToken, compare, n_best, prompt_of
from viz.workspace.decode import compare as comparison
from viz.workspace.decode import follow, forks
from viz.workspace.decode.page import Params, compute

THE = (ScoredToken(1, " the", -1.0),)
END = "decode.compare.none"
"""The button that ends a comparison."""


def has_button(test, key: str) -> bool:
    """Return whether a page has the button with this key."""
    return any(button.key == key for button in test.button)


def side(
    *words: tuple[str, float], common: float = 0.0, n: int = 0, score: float | None = None
) -> ComparedText:
    own = tuple(ScoredToken(i, token, math.log(p)) for i, (token, p) in enumerate(words))
    total, length = common + sum(one.logprob for one in own), n + len(own)
    return ComparedText(own, total, length, -total / (max(length, 1) * math.log(2)), 0.0, score)


def behind_the(*words: tuple[str, float]) -> ComparedText:
    return side(*words, common=-1, n=1)


@pytest.mark.parametrize(
    ("found", "ahead", "values", "caution"),
    [
        (
            Comparison(THE, behind_the((" cat", 0.5)), behind_the((" dog", 0.2))),
            "A",
            ("A is 2.5 times", "token 2", "A has “cat” (50%)", "B “dog” (20%)"),
            (),
        ),
        (
            Comparison(THE, behind_the((" dog", 0.2)), behind_the((" cat", 0.5))),
            "B",
            ("B is 2.5 times", "token 2", "A has “dog” (20%)"),
            (),
        ),
        (
            Comparison(THE, behind_the(), behind_the((" cat", 0.5), (".", 0.5))),
            "A",
            ("4.0 times", "token 2", "“cat” (50%)", "1 token more"),
            ("A has 1 token", "B 3 tokens"),
        ),
        (
            Comparison(THE, behind_the((" cat", 0.5), (".", 0.5)), behind_the()),
            "B",
            ("4.0 times",),
            ("A has 3 tokens", "B 1 token"),
        ),
        (Comparison((), side((" cat", 0.5)), side((" dog", 0.5))), "", ("token 1", "equally probable"), ()),
        (Comparison(THE, side(), side()), "", ("same text",), ()),
    ],
)
def test_the_sentence_names_the_factor_the_place_and_unequal_lengths(found, ahead, values, caution):
    sentence = comparison.sentence(found)
    assert states(sentence, *values) and sentence.startswith(ahead)
    told = comparison.caution(found, None)
    assert states(told, *caution) if caution else told == comparison.caution(found, 1.0) == ""


def test_the_score_of_a_beam_can_rank_them_the_other_way():
    found = Comparison((), side((" cat", 0.5), score=-0.7), side((" dog", 0.4), (" ran", 0.9), score=-0.51))
    assert states(comparison.caution(found, 1.0), "length^1", "B is ahead", "A −0.700", "B −0.510")
    total, *others = comparison.sums(found, 1.0)[""]
    assert "ln p" in total and others == ["score, / length^1", "bits per token", "tokens"]
    table = comparison.continuations(found)
    assert (table["token"].tolist(), table["A"].tolist()) == ([1, 2], ["·cat", ""])
    assert math.isnan(table["p, A"][1])


FORKS = {"decode__n": "4", "decode__force": "1:9", "decode__tried": "@6"}


def test_a_fork_is_compared_with_the_branch_that_was_left_and_the_link_says_so(engine):
    assert not has_button(drawn(**FORKS), END)
    test = drawn(**FORKS, decode__with="@5")
    here = compute(Params(model="gpt-mini", n=4, force=((1, 9),))).steps
    found = compare(here, compute(Params(model="gpt-mini", n=5)).steps)
    assert len(found.common) == 1
    assert comparison.sentence(found) in said(test) and comparison.caution(found, None) in said(test)
    tree = header(test, "means")
    assert [letter for _, letter in tree["marks"]] == ["A", "B"] and tree["compares"]
    assert said(drawn(**FORKS, decode__with="@5")) == said(test)
    assert test.dataframe[0].value["p, B"].tolist() == pytest.approx([one.p for one in found.b.tokens])
    press(test, END)
    assert "decode.with" not in linked(test) and not has_button(test, END)


def test_a_branch_that_was_never_kept_can_be_compared(engine):
    test = drawn(decode__n="3", decode__with="0:12@3")
    assert has_button(test, END)
    assert sorted(letter for _, letter in header(test, "means")["marks"]) == ["A", "B"]


@pytest.mark.quick(2)
@pytest.mark.parametrize("wrong", ["5", "@x", "1:999999@3", "<b>"])
def test_a_broken_comparison_in_the_link_is_told(engine, wrong):
    test = drawn(**FORKS, decode__with=wrong)
    assert "cannot be shown" in said(test) and not has_button(test, END)


@pytest.mark.slow
def test_two_texts_of_a_beam_are_compared_by_their_scores(engine):
    data = compute(replace(P, n=120, length=0.5))
    first, second, *_ = n_best(data.last.tree, prompt_of(data.model, P.text))
    test = drawn(**LINK, decode__length="0.5", decode__n="120", decode__other=str(second.place))
    assert f"A is ahead: A {first.score:.3f}, B {second.score:.3f}.".replace("-", "−") in said(test)
    assert comparison.sentence(compare(of(data), of(data, second.place), 0.5)) in said(test)
    assert header(test, "means")["marks"] == [[first.place, "A"], [second.place, "B"]]
    press(test, END)
    assert "decode.other" not in linked(test) and not has_button(test, END)


def test_a_beam_goes_on_behind_a_token_of_the_visitor(engine, monkeypatch):
    data = compute(replace(P, n=4))
    path = data.last.tree.path(data.last.tree.best)
    token = of(data)[-1].candidates[8].id
    wrote = {}
    with monkeypatch.context() as patch:
        patch.setattr(follow.state, "write", lambda **values: wrote.update(values))
        patch.setattr(forks, "tried", lambda: ())
        follow.search_again(data, path, 3, token)
    test = drawn(**LINK, decode__n="6", decode__force=wrote["decode.force"])
    forced = [*(data.last.tree.nodes[place].id for place in path[:3]), token]
    nodes = compute(replace(P, n=6, force=tuple(enumerate(forced)))).last.tree.nodes
    by_step = [[node.id for node in nodes if node.step == step] for step in range(5)]
    assert by_step[:4] == [[one] for one in forced] and len(by_step[4]) == 6 and wrote["decode.n"] == 4
    assert has_button(test, "decode.force.none") and header(test, "means")["marks"] == []
    press(test, "decode.force.none")
    assert "decode.force" not in linked(test) and not has_button(test, "decode.force.none")


def test_a_token_forced_in_a_beam_by_hand_is_told_by_its_place(engine):
    assert "have, at token 3," in said(drawn(**LINK, decode__n="5", decode__force="2:9"))
    drawn(**LINK, decode__n="1", decode__force="2:9")
