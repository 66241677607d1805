"""A lesson on paper: what each page holds, and what no page for students does."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from small_lesson import MARKUP, PLAN, visit
from workspace_pages import page as draw

from core.errors import InputError
from viz.course.sheets.form import Kind
from viz.course.sheets.kinds import KINDS
from viz.export import __main__ as command
from viz.export import paper, record
from viz.shell.lessons.plan import Plan, Stop

VOID = {"meta", "link", "br", "input", "img"}


class Reader(HTMLParser):
    """The text of a page without its scripts, and whether each element that is opened is closed in its turn."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.names: list[str] = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & {*self.open}:
            self.words += data


def parse_page(page: bytes) -> Any:
    """Return the pictures in a page, with their parts."""
    found = re.search(r'id="data-pictures">([^<]*)<', page.decode())
    return json.loads(zlib.decompress(base64.b64decode(found[1])))


@pytest.fixture(scope="module")
def recording() -> record.Recording:
    return record.record(PLAN, notes=True, visit=visit)


@pytest.fixture(scope="module")
def pages(recording: record.Recording) -> dict[str, bytes]:
    return paper.pages(recording, seed=5)


def test_every_page_is_html_in_which_nothing_typed_is_markup(pages: dict[str, bytes]) -> None:
    assert {*pages} == {*paper.PAGES, "exit_ticket"}
    for name, page in pages.items():
        read = Reader(page.decode())
        assert read.open == [] and read.names.count("html") == read.names.count("main") == 1, name
        assert "img" not in read.names and MARKUP in read.words, name
        assert not re.search(r"<[^>]*onerror", page.decode())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', pages["slides"].decode())[1]
    assert "default-src 'none'" in policy and not re.search(r"https?:", policy)


def test_a_page_for_students_has_no_answer_and_no_note_anywhere_in_its_file(pages: dict[str, bytes]) -> None:
    words, pictures = Reader(pages["handout"].decode()).words, parse_page(pages["handout"])["pictures"]
    assert {"Which?", "How many?"} <= {line.strip() for line in re.findall(r"\w+ ?\w*\?", words)}
    assert "Because" not in words and "Counted" not in words
    assert "Say" not in words and "Say" not in repr(pictures)
    assert [one["chart"]["mark"] for one in pictures if "chart" in one] == ["rule"], "not yet a bar"
    assert "Say" not in Reader(pages["slides"].decode()).words


def test_the_answers_are_on_the_teachers_copies(pages: dict[str, bytes]) -> None:
    for name in ("handout_with_answers", "slides", "slides_with_notes", "guide"):
        read = Reader(pages[name].decode())
        assert "Counted." in read.words and "4 words" in read.words, name
        assert "sub" in read.names, "the index of the reason is set as one"
    for name in ("handout_with_answers", "slides_with_notes"):
        words = Reader(pages[name].decode()).words
        assert "Say <b>this</b>." in words and "Minute 2 to 5" in words, name
    assert "bar" in [one.get("chart", {}).get("mark") for one in parse_page(pages["slides"])["pictures"]]
    guide = Reader(pages["guide"].decode()).words
    assert "0\u20132" in guide and "5\u20136" in guide and "\u00b10.5" in guide
    assert f"({MARKUP})" in guide, "the wrong option, as it is heard"


def test_a_stop_that_cannot_be_recorded_is_named_and_the_others_are_there(pages: dict[str, bytes]) -> None:
    for name in ("handout", "handout_with_answers", "slides"):
        words = Reader(pages[name].decode()).words
        assert "cannot be recorded" in words and "Nothing to record" in words, name
    assert "stop 3" in Reader(pages["guide"].decode()).words


def test_each_picture_is_in_a_page_once_and_every_place_names_one(pages: dict[str, bytes]) -> None:
    for name, places, pictures in (("handout", 3, 2), ("slides", 6, 3), ("guide", 0, 0)):
        named = [int(number) for number in re.findall(r'data-picture="(\d+)"', pages[name].decode())]
        found = parse_page(pages[name])
        assert (len(named), len(found["pictures"])) == (places, pictures), name
        assert {*named} == {*range(pictures)}
        needed = {part for one in found["pictures"] for part, (_, _) in one.get("parts", {}).items()}
        assert {*found["parts"]} <= needed


def test_pages_to_print_are_in_the_language_of_the_recording(recording: record.Recording) -> None:
    for name, page in paper.pages(dataclasses.replace(recording, language="es"), seed=5).items():
        assert b'<html lang="es"' in page
        words = Reader(page.decode()).words.partition("Licencias")[0]
        assert not re.search(r"\b(Minute|Stop|Name|may be|stops|Question|within|Licences|Print)\b", words), (
            name
        )
    guide = Reader(paper.pages(dataclasses.replace(recording, language="es"))["guide"].decode()).words
    assert "Guía del docente" in guide and "la parada 3" in guide
    pseudo = Reader(paper.pages(dataclasses.replace(recording, language="qps"))["handout"].decode()).words
    assert "⟦0 tö 10 wöřdš" not in pseudo and "⟦0 tö" in pseudo


def test_an_exit_ticket_has_three_exercises_of_the_lesson_and_their_solutions_apart(
    recording: record.Recording,
) -> None:
    ticket = paper.exit_ticket(recording, seed=5)
    asked, solved = ticket.split('class="apart"')
    assert asked.count("<h2>") == solved.count("<h2>") == 3
    answers = [KINDS[key].draw(5, number).answer for key, number in (("mask", 1), ("scaled", 1), ("mask", 2))]
    assert ticket == paper.exit_ticket(recording, seed=5) != paper.exit_ticket(recording, seed=6)
    for kind, numbers in ((KINDS["mask"], (1, 2)), (KINDS["scaled"], (1,))):
        assert isinstance(kind, Kind) and solved.count(f"<span>{kind.title}</span>") == len(numbers)
    assert all(re.findall(r"\d+\.\d+", answer)[-1] in solved for answer in answers)
    assert 'class="answer"' not in asked
    bare = record.record(Plan("None", (Stop("growth", "Live", "", 1),)), notes=True, visit=visit)
    assert paper.exit_ticket(bare) == "" and "exit_ticket" not in paper.pages(bare)


def test_the_command_writes_pages_and_refuses_what_it_would_overwrite(
    recording: record.Recording,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(record, "record", lambda lesson, **_: recording)
    out = tmp_path / "out"
    assert command.main(["attention_in_15_minutes", str(out), "--paper", "html", "--seed", "5"]) == 0
    assert {path.stem for path in out.iterdir()} == {*paper.PAGES, "exit_ticket"}
    assert (out / "exit_ticket.html").read_text("utf-8") == paper.exit_ticket(recording, seed=5)
    assert "Nothing to record" in capsys.readouterr().out
    assert command.main(["attention_in_15_minutes", str(out), "--paper", "html"]) == 0, "its own are replaced"
    (out / "mine.txt").write_text("mine")
    assert command.main(["attention_in_15_minutes", str(out), "--paper", "html"]) == 2
    with pytest.raises(InputError, match="something else"):
        paper.require_free(out / "mine.txt")
    with pytest.raises(SystemExit):
        command.main(["attention_in_15_minutes", str(out), "--paper", "html", "--seed", "-1"])


def test_the_page_lessons_saves_each_page(
    recording: record.Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "record", lambda lesson, *, notes, report: recording)
    page = draw("lessons")
    assert not page.get("download_button"), "nothing is recorded before it is asked for"
    page.button(key="lessons.paper.ready-0").click().run()
    assert not page.exception and len(page.get("download_button")) == len(paper.PAGES) + 1
    assert "Nothing to record" in " ".join(str(line.value) for line in page.text)
