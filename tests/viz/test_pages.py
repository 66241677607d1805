"""Every page that is found: its form, its address, and that it draws without a browser."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from workspace_pages import page, said

from viz.shell import pages
from viz.shell.pages import Chapter, Cite, Entry, ExhibitInfo, Page, PageError
from viz.workspace.decode import page as decode

ROOT = Path(__file__).resolve().parents[2]

ENTRIES = pages.discover()

STILL = {
    "course",
    "about",
    "accessibility",
    "privacy",
    "names",
    "documents",
    "figures",  # drawings
    "models",
    "homework",
    "lecture_room",
    "lessons",
    "uses",
    "your_model",  # without one there is nothing to draw
}  # prose and tables, no picture

PICTURES = ("plotly_chart", "vega_lite_chart", "bidi_component")


@pytest.mark.quick(10)
@pytest.mark.parametrize("entry", pages.workspace(), ids=lambda entry: entry.slug)
def test_a_page_survives_a_nonsense_link(entry: Entry) -> None:
    odd = {"model": "no such model", "layer": "99", "head": "abc", "kind": "<b>", "view": "-1"}
    own = {f"{entry.slug}.d": "x", f"{entry.slug}.window": "-5"}
    assert "Traceback" not in said(page(entry.slug, text="<img src=x onerror=alert(1)>", **odd, **own))


def test_a_page_is_thin() -> None:
    for entry in (e for e in pages.workspace() if e.slug not in STILL - {"course"}):
        body = ast.parse(entry.file.read_text("utf-8")).body
        (drawing,) = (n for n in body if isinstance(n, ast.FunctionDef) and n.name == "page")
        assert (drawing.end_lineno or 0) - drawing.lineno < 60, entry.slug


def test_the_four_words_of_the_top_bar_come_in_order() -> None:
    top = [
        entry.info.title
        for entry in pages.workspace()
        if isinstance(entry.info, Page) and entry.info.menu == "top"
    ]
    assert top == [word for word in ("Look", "Course", "Decode", "Compare") if word in top]
    assert {"Look", "Course"} <= set(top)


def test_addresses_are_printed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    pages.main()
    answer = capsys.readouterr().out.split()
    assert answer == [entry.address for entry in ENTRIES] and answer[0] == "/"


@dataclasses.dataclass(frozen=True)
class _Params:
    x: int = 1


def _module(**parts: object) -> ModuleType:
    module = ModuleType("broken")
    module.__file__ = "viz/course/why/broken/exhibit.py"
    good = {"Params": _Params, "compute": len, "page": len}
    for name, value in (good | parts).items():
        if value is not None:
            setattr(module, name, value)
    return module


@dataclasses.dataclass
class _Thawed:
    x: int = 1


@dataclasses.dataclass(frozen=True)
class _Bare:
    x: int


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"Params": None}, "frozen dataclass Params"),
        ({"Params": _Thawed}, "frozen dataclass Params"),
        ({"Params": _Bare}, "no default for x"),
        ({"compute": None}, "no function compute"),
        ({"page": 3}, "no function page"),
    ],
)
def test_a_page_without_the_form_is_named(parts: dict[str, object], says: str) -> None:
    with pytest.raises(PageError, match=says) as caught:
        pages._check(_module(**parts))
    assert "viz/course/why/broken/exhibit.py" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "has no PAGE"),
        ("PAGE = 3", "has no PAGE"),
        ("PAGE = Page(title=open('x'))", "may hold only .* and constants, not open"),
    ],
)
def test_a_page_that_does_not_say_what_it_is_is_named(tmp_path: Path, source: str, says: str) -> None:
    file = tmp_path / "broken" / "page.py"
    file.parent.mkdir()
    file.write_text(source, "utf-8")
    with pytest.raises(PageError, match=says) as caught:
        pages._declared_page(file)
    assert "broken/page.py" in str(caught.value)


def test_twins_are_refused() -> None:
    info = ExhibitInfo(title="T", chapter=Chapter.BERT, order=1, claim="C.")
    one, two = (
        Entry(slug, info, frozenset(), "viz.course.bert", Path(f"{slug}/exhibit.py"))
        for slug in ("one", "two")
    )
    with pytest.raises(PageError, match="two/exhibit.py: the same order as one/exhibit.py"):
        pages._refuse_twins([one, two], pages._rank, "order")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.slug)
def test_a_module_says_what_its_source_was_read_to_say(entry: Entry) -> None:
    if isinstance(entry.info, Page):
        assert entry.info == entry.module.PAGE and entry.fields == {
            field.name for field in dataclasses.fields(entry.module.Params)
        }
    else:
        assert entry.info == entry.module.EXHIBIT.text.info and len(entry.steps) == len(
            entry.module.EXHIBIT.steps
        )


DRAW_ONE = """
import sys
from streamlit.testing.v1 import AppTest
for slug in sys.argv[1:]:
    AppTest.from_string(f"from viz.shell import pages\\npages.find({slug!r}).page()", default_timeout=120).run()
    print(*(name.split(".")[-2] for name in sys.modules if name.startswith(("viz.course.", "viz.workspace.")) and name.endswith((".exhibit", ".page")) and name != "viz.course.exhibit"))
"""


@pytest.mark.slow
def test_opening_a_page_imports_no_other() -> None:
    opened = ("about", "scaling", "look")
    answer = subprocess.run(
        [sys.executable, "-c", DRAW_ONE, *opened],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert [set(line.split()) for line in answer.stdout.splitlines()] == [
        set(opened[: n + 1]) for n in range(len(opened))
    ]


@pytest.mark.parametrize("entry", pages.exhibits(), ids=lambda entry: entry.slug)
def test_an_exhibit_lies_in_its_chapter(entry: Entry) -> None:
    assert isinstance(entry.info, ExhibitInfo) and entry.package == f"viz.course.{entry.info.chapter.folder}"


def test_an_unknown_document_is_refused() -> None:
    with pytest.raises(PageError, match="unknown document 'beigy1999'"):
        Cite("beigy1999", "somewhere")


def test_by_document_lists_each_citation_once() -> None:
    from viz.course.pages.documents import page as documents

    listed = [(cite, entry.slug) for _, rows in documents.compute() for cite, entry in rows]
    assert sorted(map(repr, listed)) == sorted(repr((c, e.slug)) for e in ENTRIES for c in e.info.cites)


def test_a_model_of_few_tokens_still_reads_a_short_text_whole():
    found = decode.compute(decode.Params(model="prompt-tiny", text="reverse: k a t o =", n=6))
    assert found.window.text == "reverse: k a t o =" and found.window.tokens == found.window.total == 7
    assert [step.token for step in found.steps] == ["o", "t", "a", "k", "END"]
