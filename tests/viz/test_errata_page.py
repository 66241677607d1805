"""The page of the errata without a browser, how an entry is drawn, and that nothing on it is typed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from tiny_models import serving
from workspace_pages import page as draw
from workspace_pages import said

from viz.course.errata import ERRATA, KINDS, Panel, find
from viz.course.kit import erratum_card as errata
from viz.course.pages.errata import erratum_places
from viz.labels import formulas, has_index
from viz.sources import SOURCES
from viz.widgets import chart_table

ROOT = Path(__file__).resolve().parents[2]


_engine = serving(autouse=True)


def page(*opened: str, **link: str) -> AppTest:
    folds = {f"fold:erratum.{id}": True for id in opened}
    return draw("errata", folds, **{f"errata.{name}": value for name, value in link.items()})


def listed(test: AppTest) -> list[str]:
    return [found[1] for each in test.expander if (found := re.match(r"\*\*(E\d+)\*\*", each.label))]


def test_the_page_lists_all_by_kind():
    """C112."""
    test = page()
    assert listed(test) == [entry.id for kind in KINDS for entry in ERRATA if entry.kind == kind]
    assert [each.value for each in test.header] == list(KINDS.values())
    assert f"{len(ERRATA)} entries" in test.text[0].value
    counts = [int(n) for n in re.findall(r"(\d+) [a-z]", test.text[0].value)]
    assert counts[0] == sum(counts[1:])


def picture_count(test: AppTest) -> int:
    return len(test.get("plotly_chart")) + len(test.get("vega_lite_chart"))


def test_a_closed_entry_computes_nothing(monkeypatch):
    monkeypatch.setattr(errata.engine_client, "submit", None)
    draw("errata", {"fold:erratum.E1": False})


def test_the_page_opens_on_its_first_entry():
    test = page()
    assert find("E1").evidence().sentence in said(test) and picture_count(test) == 2


@pytest.mark.parametrize("id", ["E1", "E9", "E15", "E38", "E45"])
def test_an_opened_entry_shows_what_was_computed(id: str):
    test, evidence = page(id), find(id).evidence()
    told = said(test)
    sentence = formulas(evidence.sentence) if has_index(evidence.sentence) else evidence.sentence
    assert sentence.replace("\\", "") in told
    panels = [panel for entry in {"E1", id} for panel in find(entry).evidence().panels]
    assert picture_count(test) == sum(panel.form != "table" for panel in panels)
    assert ("looked up" in told) is not evidence.computed


def test_tables_are_drawn_with_names():
    frame = page("E18").table[0].value
    assert list(frame.index) == ["n = 50", "n = 512", "n = 4,096"] and list(frame.columns) == [
        "self-attention",
        "recurrence",
    ]


def test_the_filter_by_document():
    test = page(document="lifei2022")
    wanted = {one.id for one in ERRATA if "lifei2022" in {where.document for where in one.where}}
    assert set(listed(test)) == wanted
    assert f"{len(listed(test))} entries" in test.text[0].value


def test_the_filter_by_exhibit():
    assert set(listed(page(exhibit="masks"))) == {"E2", "E17", "E32", "E48", "E55"}
    both = page(exhibit="masks", document="lifei2022")
    assert listed(both) == ["E48"] and both.text[0].value.startswith("1 entry: 1 loosely worded")


def test_filters_that_leave_nothing_say_so():
    test = page(exhibit="positional_encoding", document="lifei2022")
    assert not listed(test) and "Clear" in test.text[0].value


def test_a_link_opens_its_entry():
    test = page(entry="E26")
    assert find("E26").evidence().sentence in said(test)


@pytest.mark.parametrize("link", [{"entry": "E99"}, {"document": "nobody"}, {"exhibit": "<b>"}])
def test_nonsense_in_the_link_leaves_the_whole_list(link: dict[str, str]):
    test = page(**link)
    assert len(listed(test)) == len(ERRATA)


def test_an_entry_leads_to_the_exhibits_that_show_it():
    shown = {id: [entry.slug for entry in entries] for id, entries in erratum_places.places().items()}
    assert "masks" in shown["E2"] and "positional_encoding" in shown["E4"] and "masks" not in shown["E4"]
    assert "(/masks)" in said(page("E2"))
    assert set(shown) <= {entry.id for entry in ERRATA}
    in_one = {
        "E15": "many_heads",
        "E31": "many_heads",
        "E43": "next_token",
        "E55": "masks",
    }  # and once in four
    assert {id: shown[id] for id in in_one} == {id: [slug] for id, slug in in_one.items()}


def test_exhibits_are_read_through_their_parts(tmp_path: Path):
    home = tmp_path / "viz" / "course" / "why" / "a"
    home.mkdir(parents=True)
    (home / "folds.py").write_text('lesson.errata("E5", "E7")\nnumbers["E9"]')
    (home / "exhibit.py").write_text(
        'from viz.course.why.a import folds\nfrom viz.course.why.gone import x\nshow("E1", key="E3")'
    )
    assert erratum_places.errata_ids(home / "exhibit.py") == {"E1", "E5", "E7"}


def test_every_place_is_a_known_document():
    for entry in ERRATA:
        assert {where.document for where in entry.where} <= set(SOURCES)
        assert all(
            SOURCES[where.document].short in place
            for where, place in zip(entry.where, errata.places(entry), strict=True)
        )


@pytest.mark.parametrize(
    "file",
    [
        "viz/course/pages/errata/page.py",
        "viz/course/kit/erratum_card.py",
        "viz/course/pages/errata/erratum_places.py",
    ],
)
def test_no_number_is_typed_on_the_page(file: str):
    """C112."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
        and isinstance(node.body[0], ast.Expr)
    }
    typed = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docs
        and re.search(r"\d.* | .*\d", node.value)
    ]
    assert not typed


def test_pictures_show_a_weight_that_is_no_number():
    weights = Panel("w", np.array([[np.nan, 0.9]]), ("<b>",), ("x y", "z"), "weights", 2)
    chart = errata.evidence_chart(weights).to_dict()
    cells = [(cell["value"], cell["label"]) for cell in chart["data"]["values"]]
    assert cells == [(None, "no number"), (0.9, "0.90")]
    table = chart_table.extract_table(chart)
    assert table.to_numpy().tolist()[1] == ["<b>", "z", 0.9] and table.iloc[0, 1] == "x y"
    panel = Panel("b", np.array([[-2.0, np.nan]]), ("k",), ("printed", "right"), "bars", 1)
    bars = errata.evidence_chart(panel).to_dict()["data"]["values"]
    assert [(bar["value"], bar["label"]) for bar in bars] == [(-2.0, "−2.0"), (0.0, "no number")]
