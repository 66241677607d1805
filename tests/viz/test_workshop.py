"""A workshop in a link: what it holds, until when it opens, and what is refused."""

from __future__ import annotations

import base64
import zlib
from datetime import date, timedelta

import pytest
from workspace_pages import again, page

from core.errors import InputError
from viz.shell.lessons import toml_format, workshop
from viz.shell.lessons.plan import Plan, Stop
from viz.shell.questions.question import Choice
from viz.workspace.lessons.page import compute

TODAY = date.today()
ASKED = Choice("Which <b>?", ("one", "two"), ("two",), "So.")
LESSON = Plan(
    "<b>Two</b>",
    (
        Stop("look?model=gpt-mini&text=Once+upon+a+time", "A text", "Say why.", 2),
        Stop("masks?masks.step=2", "Sums", "", 3, ASKED),
    ),
)


def packed(content: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(content)).decode().rstrip("=")


@pytest.mark.parametrize("lesson", [*compute(), LESSON], ids=lambda lesson: lesson.title)
def test_a_lesson_goes_through_a_link_without_its_notes(lesson: Plan) -> None:
    link = workshop.query(lesson, TODAY)
    assert len(link[workshop.LESSON]) <= workshop.MOST_LETTERS
    read = workshop.parse(link[workshop.LESSON], link[workshop.UNTIL], TODAY)
    assert (read.title, read.about) == (lesson.title, lesson.about)
    assert not any(stop.note for stop in read.stops)
    kept = [(stop.view, stop.name, stop.minutes, stop.question, stop.optional) for stop in lesson.stops]
    assert [(stop.view, stop.name, stop.minutes, stop.question, stop.optional) for stop in read.stops] == kept


def test_what_is_over_too_long_or_damaged_is_refused_in_words() -> None:
    link = workshop.query(LESSON, TODAY)
    text = link[workshop.LESSON]
    with pytest.raises(InputError, match="ended on"):
        workshop.parse(text, link[workshop.UNTIL], TODAY + timedelta(days=1))
    bomb = packed(b"#" * 10 * toml_format.MOST_BYTES)
    for wrong, until in (
        (text[:-9], str(TODAY)),
        ("\u00e4", str(TODAY)),
        (text, "tomorrow"),
        (text, ""),
        (bomb, str(TODAY)),
        ("A" * (workshop.MOST_LETTERS + 1), str(TODAY)),
    ):
        with pytest.raises(InputError, match="damaged"):
            workshop.parse(wrong, until, TODAY)
    with pytest.raises(InputError, match="Line 3"):
        workshop.parse(packed(b'title = "A"\n[[stop]]\nview = "nowhere"\nname = "x"'), str(TODAY), TODAY)
    noise = "".join(chr(0x4E00 + 7919 * place % 20_000) for place in range(4_000))
    with pytest.raises(InputError, match="letters"):
        workshop.query(Plan("Long", (Stop("masks", "A"),), noise), TODAY)


def test_the_page_opens_a_workshop_alone_and_begins_it() -> None:
    link = workshop.query(LESSON, TODAY)
    test = page("lessons", **link)
    (title,) = (one.value for one in test.header)
    assert title.replace("\\", "") == LESSON.title and "\\<b" in title, "nothing typed is markup"
    assert not test.subheader, "no other lesson beside it"
    test.button(key="lessons.begin.workshop").click().run()
    assert test.session_state["atlas.lesson.walk"].plan.stops[0].view == LESSON.stops[0].view
    test = page("lessons", **link | {workshop.UNTIL: "2020-01-01"})
    assert not test.header and any("2020-01-01" in one.value for one in test.text)
    test.button(key="lessons.all").click()
    assert len(again(test).subheader) == len(compute())
