"""An exhibit is one folder: found, addressed, on its card, between its neighbours; and what stands around a page."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import said

import viz.course.why
from viz import theme
from viz.charts import thumbs
from viz.shell import pages
from viz.shell.pages import Chapter
from viz.shell.stage import stage
from viz.workspace.course import page as course
from viz.workspace.course import page_cards as course_pages

AROUND = """
from viz.shell import pages
from viz.shell import errors, state
from viz.shell.stage import stage
entry = next(entry for entry in pages.discover() if entry.slug == {slug!r})
with errors.guard(), state.visit(entry.slug), stage.stage(entry), errors.guard():
    entry.page()
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def blackboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pages.Entry]:
    """One folder more in a chapter, and nothing else."""
    chapter = tmp_path_factory.mktemp("course") / "why"
    shutil.copytree(Path(__file__).parents[1] / "blackboard", chapter / "blackboard")
    viz.course.why.__path__.append(str(chapter))
    pages.discover.cache_clear()
    yield next(entry for entry in pages.discover() if entry.slug == "blackboard")
    viz.course.why.__path__.remove(str(chapter))
    pages.discover.cache_clear()
    for name in ("viz.course.why.blackboard.exhibit", "viz.course.why.blackboard"):
        sys.modules.pop(name, None)
    vars(viz.course.why).pop("blackboard", None)


def shown(slug: str, **query: str) -> AppTest:
    test = AppTest.from_string(AROUND.format(slug=slug), default_timeout=120)
    for name, value in query.items():
        test.query_params[name] = value
    assert not test.run().exception
    return test


CARD = "Blackboard :gray[:small[3 min]]](/blackboard)"


# ------------------------------------------------------------------ one folder


def test_an_exhibit_is_one_folder(blackboard: pages.Entry, capsys: pytest.CaptureFixture[str]) -> None:
    pages.main()
    assert "/blackboard" in capsys.readouterr().out.split()
    assert blackboard in pages.exhibits(Chapter.WHY_ATTENTION)
    assert blackboard in dict(course.compute())[Chapter.WHY_ATTENTION]
    assert CARD in said(shown("course"))  # the name below its picture, in one link
    page = shown("blackboard")
    assert page.title[0].value == "Blackboard" and "Three words" in said(page)


def test_the_exhibit_stands_between_its_neighbours(blackboard: pages.Entry) -> None:
    in_order = pages.exhibits()
    at = in_order.index(blackboard)
    before, after = stage.neighbours(blackboard)
    assert before == (in_order[at - 1] if at else None) and after == in_order[at + 1]
    assert stage.neighbours(after)[0] == blackboard and stage.neighbours(in_order[-1])[1] is None
    foot = [mark.value for mark in shown("blackboard").markdown[-2:]]
    assert foot[0].startswith("[←  ") and foot[0].endswith(f"(/{before.slug if before else 'course'})")
    assert foot[1] == f"[{after.info.title}  →](/{after.slug})"


def test_the_foot_comes_even_where_the_page_fails(
    blackboard: pages.Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blackboard.module, "EXHIBIT", SimpleNamespace(page=lambda: 1 / 0))
    assert "Something went wrong" in said(shown("blackboard")) and "→](/" in said(shown("blackboard"))


# ------------------------------------------------------------------ the course


def test_each_chapter_has_a_card_with_its_claim_and_each_exhibit_is_there_once() -> None:
    test = shown("course")
    titles = [chapter.title for chapter in Chapter]
    assert [card.value for card in test.header] == [*titles, "Beside the course"]
    assert all(chapter.claim in said(test) for chapter in Chapter)
    assert [entry for _, entries in course.compute() for entry in entries] == list(pages.exhibits())


def test_continue_leads_to_the_exhibit_and_the_step_visited_last(blackboard: pages.Entry) -> None:
    first = pages.exhibits()[0]
    opening = said(shown("course"))
    assert "Begin here" in opening and "visited" not in opening
    assert f"**{first.info.title}**  →](/{first.slug})" in opening
    test = AppTest.from_string(
        AROUND.format(slug="blackboard").replace(
            "entry.slug == 'blackboard'",
            "entry.slug == __import__('streamlit').session_state.get('go', 'blackboard')",
        ),
        default_timeout=120,
    )
    test.query_params["blackboard.step"] = "2"
    test.run()
    test.session_state["go"] = "course"
    test.query_params.clear()
    test.run()
    assert not test.exception
    words = said(test)
    assert "Continue" in words and states(words, "2 of 3", "Scores")
    assert "**Blackboard**  →](/blackboard?blackboard.step=2)" in words
    assert ", 1 visited" in words and ":material/check:" in words and "Begin here" not in words


def test_every_exhibit_and_page_of_the_course_exists_and_its_picture_is_drawn() -> None:
    known = {entry.slug for entry in pages.workspace()}
    for beside in (page for found in course_pages.PAGES.values() for page in found):
        assert beside.slug in known
        if beside.draw:
            ElementTree.fromstring(beside.draw())
    for entry in pages.exhibits():
        drawing = ElementTree.fromstring(course._drawing(entry)())
        assert drawing.tag == f"{SVG}svg", entry.slug


def test_the_picture_of_a_page_is_the_run_it_names() -> None:
    """The bars of "Fill a blank" are the model's own chances, the longest first."""
    drawing = ElementTree.fromstring(course_pages.blank())
    words = [word.text for word in drawing.iter(f"{SVG}text")]
    run = course_pages._run(course_pages.FILL.model, course_pages.FILL.text)
    row = run.logits[course_pages.blank_rows(run)[0]]
    best = [run.model.tokenizer.token(int(i)).strip() for i in np.argsort(-row)[:5]]
    assert words == best
    chances = np.exp(row - row.max())
    long = [float(bar.get("width", 0)) for bar in drawing.iter(f"{SVG}rect")]
    np.testing.assert_allclose(
        np.array(long) / long[0], np.sort(chances)[::-1][:5] / chances.max(), atol=0.01
    )


def test_a_damaged_picture_leaves_the_course(
    monkeypatch: pytest.MonkeyPatch, blackboard: pages.Entry
) -> None:
    monkeypatch.setattr(blackboard.module, "thumbnail", lambda: 1 / 0)
    assert CARD in said(shown("course"))


# ------------------------------------------------------------------ the small pictures


def shapes(svg: str, tag: str) -> list[dict[str, str]]:
    return [each.attrib for each in ElementTree.fromstring(svg).iter(f"{SVG}{tag}")]


def test_the_small_pictures_are_drawings_of_their_numbers() -> None:
    cells = thumbs.cells(np.array([[1.0, 0.0], [0.25, 0.75]]), np.array([[True, False], [True, True]]))
    shades = [theme.SEQUENTIAL[-1], "url(#shut)", theme.SEQUENTIAL[2], theme.SEQUENTIAL[7]]
    assert [cell["fill"] for cell in shapes(cells, "rect")] == shades
    (one, _) = shapes(thumbs.curves(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])), "polyline")
    first, second, third = (float(point.split(",")[1]) for point in one["points"].split())
    assert first == third > second, "more is higher"
    links = thumbs.links(np.array([[1.0, 0.0], [0.5, 0.5]]), ("a", "<b>"), ("x", "y"))
    assert [path.get("stroke-width") for path in shapes(links, "path")][1:] == ["4.00", "2.00", "2.00"]
    words = [word.text for word in ElementTree.fromstring(links).iter(f"{SVG}text")]
    assert words == ["a", "<b>", "x", "y"], "words are text, never markup"
    dots = shapes(thumbs.points(np.array([[0.0, 0.0], [1.0, 2.0]]), marked=(1,)), "circle")
    assert [dot["fill"] for dot in dots] == [theme.SEQUENTIAL[4], theme.PRIMARY]
    dark = theme.svg_in_dark(thumbs.bars([1, 2], ("a", "b")))
    assert theme.DARK.text in dark and theme.LIGHT.text not in dark
