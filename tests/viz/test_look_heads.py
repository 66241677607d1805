"""The heads of Look and Compare: named, told with their kind, and offered only where they have an occasion."""

from __future__ import annotations

import numpy as np
import pytest
from test_look_page import MODEL, TEXT
from test_look_page import run as run  # the fixture
from workspace_pages import header, page, said

import core
from core.analysis.heads.evidence import TESTS
from core.analysis.heads.habits import HABIT_NAMES
from core.analysis.heads.head_file import read_heads
from core.analysis.heads.occasions import can_show
from core.checkpoints.manifest import shipped_folder
from core.glossary import term
from viz.shell.selection import Selection
from viz.workspace.compare import data, folds
from viz.workspace.shared import head_ref, head_survey


def test_compare_of_a_head_with_itself_says_so():
    own = f"{MODEL}~cross~1.3"
    assert "beside itself" in said(page("compare", model=MODEL, text=TEXT, compare__panes=f"{own}|{own}"))


def test_every_head_in_figures(run):
    attention = run.attention("self", by="word")
    table = folds.figures(head_survey.survey(MODEL)["self"], attention.weights).set_index("head")
    assert len(table) == 24
    layer, head = head_survey.survey(MODEL)["self"].best_head_by_habit()["previous"]
    line, row = table.loc[f"L{layer}.H{head}"], attention.weights[layer, head]
    assert line["habit"] == "previous word" and line["on previous word, battery"] > 0.35
    bits = -(row * np.log2(np.where(row > 0, row, 1))).sum(-1).mean()
    far = sum(row[i, j] * abs(i - j) for i in range(6) for j in range(6)) / 6
    assert line["entropy here, bits"] == pytest.approx(bits, abs=0.006)
    assert line["mean distance here, words"] == pytest.approx(far, abs=0.006)


def test_names_of_heads_are_those_that_ship_and_measured_where_none_do(monkeypatch):
    held = read_heads(shipped_folder() / MODEL)
    assert held is not None
    shipped = head_survey.survey(MODEL)
    for kind, measured in held.trained.items():
        assert shipped[kind].scores.keys() == measured.scores.keys()
        assert shipped[kind].best_head_by_habit() == measured.best_head_by_habit()
    monkeypatch.setattr(head_survey, "FILE", "none.json")
    here = head_survey.survey(MODEL)
    assert here["self"].n == 16 < shipped["self"].n and not here["self"].controls
    assert next(iter(head_survey.clearest_heads(here))) == next(iter(head_survey.clearest_heads(shipped)))
    np.testing.assert_allclose(here["cross"].scores["aligner"], shipped["cross"].scores["aligner"], atol=1e-3)


def test_a_head_is_told_with_its_kind_where_kinds_stand_side_by_side():
    test = page("look", view="heads")
    labels = [option.content for group in test.button_group for option in group.proto.options]
    assert all(any(name in label for label in labels) for name in ("enc.L", "cross.L"))
    assert not any("small[L" in label for label in labels)
    assert header(test, "kinds", "size")["before"] == "cross."
    assert header(page("look", model="gpt-mini", view="heads"), "kinds", "size")["before"] == ""


@pytest.mark.parametrize("link", [{}, {"view": "full"}], ids=str)
def test_what_a_head_is_stands_behind_a_question_mark_beside_the_heads(link):
    test = page("look", **link)
    (told,) = (each.help for each in test.markdown if each.value == ":gray[:small[Heads]]")
    assert told.startswith(term("head").sentence) and "L3.H5" in told
    named = head_survey.clearest_heads(head_survey.survey(MODEL), core.open_model(MODEL).run(TEXT))
    habits = {HABIT_NAMES[habit]: sentence for habit, sentence in TESTS.items()}
    for word in list(named.values())[:4]:
        assert word not in habits or f"**{word}**: {habits[word]}" in told


QUOTE, PLAIN = '"Come with me," said the fox.', "The animal didn't cross the street."


def test_a_head_of_quotes_is_offered_only_where_something_is_quoted():
    survey = head_survey.survey("gpt-mini")
    place = head_ref.HeadRef("causal", *survey["causal"].best_head_by_habit()["quotes"])
    with_, without = (
        head_survey.clearest_heads(survey, core.open_model("gpt-mini").run(text, keep=[]))
        for text in (QUOTE, PLAIN)
    )
    assert place in with_ and place not in without and without
    pills = page("decode", model="gpt-mini", text=PLAIN).button_group(key="decode.heads")
    assert not any("opening quote" in option.content for option in pills.proto.options)


def test_compare_opens_with_heads_whose_habits_have_an_occasion():
    survey = head_survey.survey("gpt-mini")["causal"]
    for text in (PLAIN, QUOTE):
        for view in data.opening(Selection("gpt-mini", text)):
            assert can_show(survey.habit(view.layer, view.head), text)
    assert survey.best_head_by_habit(PLAIN) != survey.best_head_by_habit(QUOTE)
