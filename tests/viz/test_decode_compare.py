"""Two texts compared on the page: forks and texts of a beam; what is said, what is refused, and that a link brings it back."""

from __future__ import annotations

import math

import pytest
from shown_values import states
from test_decode import drawn, press, said
from test_decode import engine as engine  # the fixture
from test_decode_beam import LINK, P, of, packets

from core.decoding import ComparedText, Comparison, ScoredToken, compare, n_best, prompt_of
from viz.workspace.decode import compare as comparison
from viz.workspace.decode import follow, forks, page


def has_button(test, key: str) -> bool:
    """Return whether a page has the button with this key."""
    return any(button.key == key for button in test.button)


def compared(test) -> bool:
    """Return whether two texts are opposite each other: then there is a button that ends it."""
    return has_button(test, "decode.compare.none")


def side(
    *words: tuple[str, float], common: float = 0.0, n: int = 0, score: float | None = None, cost: float = 0.0
) -> ComparedText:
    own = tuple(ScoredToken(i, token, math.log(p)) for i, (token, p) in enumerate(words))
    total, length = common + sum(one.logprob for one in own), n + len(own)
    return ComparedText(own, total, length, -total / (max(length, 1) * math.log(2)), cost, score)


def test_the_sentence_names_the_factor_and_the_place():
    found = Comparison(
        (ScoredToken(1, " the", -1.0),),
        side((" cat", 0.5), common=-1, n=1),
        side((" dog", 0.2), common=-1, n=1),
    )
    assert states(
        comparison.sentence(found), "A is 2.5 times", "token 2", "A has “cat” (50%)", "B “dog” (20%)"
    )
    turned = Comparison(found.common, found.b, found.a)
    assert states(comparison.sentence(turned), "B is 2.5 times", "token 2", "A has “dog” (20%)")
    assert comparison.caution(found, None) == ""


def test_the_sentence_of_a_text_within_another_of_equals_and_of_the_same():
    within = Comparison(
        (ScoredToken(1, " the", -1.0),), side(common=-1, n=1), side((" cat", 0.5), (".", 0.5), common=-1, n=1)
    )
    said_of = comparison.sentence(within)
    assert states(said_of, "4.0 times", "token 2", "“cat” (50%)", "1 token more") and said_of.startswith("A ")
    turned = comparison.sentence(Comparison(within.common, within.b, within.a))
    assert states(turned, "4.0 times") and turned.startswith("B ")
    assert states(comparison.caution(within, None), "A has 1 token", "B 3 tokens")
    even = Comparison((), side((" cat", 0.5)), side((" dog", 0.5)))
    assert states(comparison.sentence(even), "token 1", "equally probable")
    same = Comparison(within.common, side(), side())
    assert "same text" in comparison.sentence(same) and comparison.caution(same, 1.0) == ""


def test_the_score_of_a_beam_can_rank_them_the_other_way():
    found = Comparison((), side((" cat", 0.5), score=-0.7), side((" dog", 0.4), (" ran", 0.9), score=-0.51))
    assert states(comparison.caution(found, 1.0), "length^1", "B is ahead", "A −0.700", "B −0.510")
    total, *others = comparison.sums(found, 1.0)[""]
    assert "ln p" in total and others == [
        "score, / length^1",
        "bits per token",
        "tokens",
    ]
    table = comparison.continuations(found)
    assert (
        table["token"].tolist() == [1, 2]
        and table["A"].tolist() == ["·cat", ""]
        and math.isnan(table["p, A"][1])
    )


# forks


FORKS = {"decode__n": "4", "decode__force": "1:9", "decode__tried": "@6"}


def test_a_fork_is_compared_with_the_branch_that_was_left_and_the_link_says_so(engine):
    assert not compared(drawn(**FORKS))
    test = drawn(**FORKS, decode__with="@5")
    assert not test.exception
    here = page.compute(page.Params(model="gpt-mini", n=4, force=((1, 9),))).steps
    there = page.compute(page.Params(model="gpt-mini", n=5)).steps
    found = compare(here, there)
    assert (
        len(found.common) == 1
        and comparison.sentence(found) in said(test)
        and comparison.caution(found, None) in said(test)
    )
    ((tree, _),) = packets(test, "means")
    assert [letter for _, letter in tree["marks"]] == ["A", "B"] and tree["compares"]
    assert said(drawn(**FORKS, decode__with="@5")) == said(test)
    frames = [frame.value for frame in test.dataframe]
    assert frames[0]["p, B"].tolist() == pytest.approx([one.p for one in found.b.tokens])
    test = press(test, "decode.compare.none")
    assert "decode.with" not in test.query_params and not compared(test)


def test_a_branch_that_was_never_kept_can_be_compared(engine):
    test = drawn(decode__n="3", decode__with="0:12@3")
    assert not test.exception and compared(test)
    ((tree, _),) = packets(test, "means")
    assert sorted(letter for _, letter in tree["marks"]) == ["A", "B"]


@pytest.mark.quick(2)
@pytest.mark.parametrize("wrong", ["5", "@x", "1:999999@3", "<b>"])
def test_a_broken_comparison_in_the_link_is_told(engine, wrong):
    test = drawn(**FORKS, decode__with=wrong)
    assert not test.exception and "cannot be shown" in said(test) and not compared(test)


def test_another_text_forgets_the_comparison(engine):
    test = drawn(**FORKS, decode__with="@5")
    test = test.text_input[0].set_value("the old man").run()
    assert not {"decode.with", "decode.force"} & set(test.query_params) and not test.exception


# a beam


@pytest.mark.slow
def test_two_texts_of_a_beam_are_compared_by_their_scores(engine):
    data = page.compute(page.replace(P, n=120, length=0.5))
    first, second, *_ = n_best(data.last.tree, prompt_of(data.model, P.text))
    test = drawn(**LINK, decode__length="0.5", decode__n="120", decode__other=str(second.place))
    assert not test.exception
    assert f"A is ahead: A {first.score:.3f}, B {second.score:.3f}.".replace("-", "−") in said(test)
    found = compare(of(data), of(data, second.place), 0.5)
    assert comparison.sentence(found) in said(test)
    ((tree, _),) = packets(test, "means")
    assert tree["marks"] == [[first.place, "A"], [second.place, "B"]]
    test = press(test, "decode.compare.none")
    assert "decode.other" not in test.query_params and not compared(test)


def test_a_beam_goes_on_behind_a_token_of_the_visitor(engine, monkeypatch):
    data = page.compute(page.replace(P, n=4))
    path = data.last.tree.path(data.last.tree.best)
    token = of(data)[-1].candidates[8].id
    wrote = {}
    with monkeypatch.context() as patch:
        patch.setattr(follow.state, "write", lambda **values: wrote.update(values))
        patch.setattr(forks, "tried", lambda: ())
        follow.search_again(data, path, 3, token)
    test = drawn(**LINK, decode__n="6", decode__force=wrote["decode.force"])
    assert not test.exception and wrote["decode.n"] == 4
    before = [data.last.tree.nodes[place].id for place in path[:3]]
    again = page.compute(page.replace(P, n=6, force=tuple(enumerate([*before, token]))))
    tree = again.last.tree
    assert [[n.id for n in tree.nodes if n.step == step] for step in range(4)] == [
        [one] for one in (*before, token)
    ]
    assert len([node for node in tree.nodes if node.step == 4]) == 6
    assert has_button(test, "decode.force.none")
    ((drawn_tree, _),) = packets(test, "means")
    assert drawn_tree["marks"] == []
    test = press(test, "decode.force.none")
    assert "decode.force" not in test.query_params and not has_button(test, "decode.force.none")


def test_a_token_forced_in_a_beam_by_hand_is_told_by_its_place(engine):
    test = drawn(**LINK, decode__n="5", decode__force="2:9")
    assert not test.exception and "have, at token 3," in said(test)
    assert not drawn(**LINK, decode__n="1", decode__force="2:9").exception
