"""A lesson as a file: what is written is read again, what is wrong is told with its line, and no link in it can do more than a link."""

from __future__ import annotations

import tomllib

import pytest

from core.errors import InputError
from viz.shell import pages
from viz.shell.lessons import toml_format, views
from viz.shell.lessons.plan import Plan, Stop
from viz.shell.questions.question import Choice, Number
from viz.workspace.course.page_cards import PAGES

LESSON = """title = "Masks"

[[stop]]
view = "masks?masks.step=2"
name = "Sums"
minutes = 3
note = \"\"\"
[[stop]]
view = "a line of the note"
\"\"\"

[[stop]]
view = "scaling"
name = "Scaling"
minutes = 2.5
question = "page"
"""
OWN = LESSON.replace('question = "page"', "[stop.question]")


def test_a_lesson_is_written_and_read_again() -> None:
    plan = Plan(
        'Attention, "quoted" ‮ <b>',
        (
            Stop(
                "masks?masks.step=2",
                "N",
                'a\n\n  b """ [[stop]]\n\\ \x7f\t🙂',
                2.5,
                Choice("Which?", ("*a", "b", "\\*c"), ("*a", "b"), "So."),
            ),
            Stop("scaling", "M", "", 3, Number("How many?", -1, 10, 3.5, "bits")),
            Stop("look?text=a+%26+b", "L", "\nbegins with an empty line", 1, "page", asks='*What* _is_ "a"?'),
        ),
        "Two\nlines.",
    )
    text = toml_format.dumps(plan)
    assert toml_format.loads(text) == toml_format.loads(text.replace("\n", "\r\n").encode()) == plan
    assert 'note = """\n' in text and tomllib.loads(text)["stop"][2]["question"] == "page", (
        "a person reads it"
    )


BROKEN = {
    "no title": (LESSON.replace("title", "name", 1), 1, "“name” is not a field of a lesson"),
    "an empty title": (LESSON.replace("Masks", " "), 1, "The title of a lesson is empty"),
    "no such page": (LESSON.replace('"scaling"', '"scalling"'), 13, "is not a page of the atlas"),
    "no such parameter": (LESSON.replace("masks.step", "masks.stop"), 4, "has no parameter “masks.stop”"),
    "a step too many": (LESSON.replace("step=2", "step=20"), 4, "masks.step=20"),
    "a value that its rule refuses": (
        LESSON.replace('"scaling"', '"scaling?scaling.d_k=5"'),
        13,
        "It must be one of: 4",
    ),
    "no minutes": (LESSON.replace("minutes = 3\n", ""), 3, "“minutes” is missing"),
    "minutes in words": (LESSON.replace("= 2.5", '= "two"'), 15, "“minutes” is not a number"),
    "yes for minutes": (LESSON.replace("= 2.5", "= true"), 15, "“minutes” is not a number"),
    "minutes without end": (LESSON.replace("= 2.5", "= inf"), 15, "The stop takes inf minutes"),
    "no quotation marks": (LESSON.replace('"Scaling"', "Scaling"), 14, "This is not valid TOML"),
    "a name twice": (LESSON.replace("minutes = 3", "minutes = 3\nminutes = 4"), 7, "This is not valid TOML"),
    "a note without end": (
        LESSON.replace('line of the note"\n"""', "line of the note"),
        16,
        "This is not valid TOML",
    ),
    "a question of another kind": (
        LESSON.replace('"page"', '"mine"'),
        16,
        "the word “page”",
    ),
    "words of no question": (
        LESSON.replace('question = "page"', 'asks = "Why?"'),
        16,
        "without a question of the page",
    ),
    "a question without words": (OWN + "low = 0\n", 16, "“words” is missing"),
    "an answer that is no option": (
        OWN + 'words = "?"\noptions = ["a", "b"]\nanswer = "c"\n',
        18,
        "“c” is not one of the options",
    ),
    "no option is marked": (OWN + 'words = "?"\noptions = ["a", "b"]\n', 18, "No option is marked as right"),
    "an answer that nobody can guess": (
        OWN + 'words = "?"\nlow = 0\nhigh = 1\nanswer = 2\n',
        20,
        "The right answer 2",
    ),
    "a stop that is a number": ('title = "A"\nstop = [1]', 2, "A stop is a table"),
    "stops in one word": ('title = "A"\nstop = "all"', 2, "“stop” is not a list"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_told_with_its_line(case: str) -> None:
    text, line, words = BROKEN[case]
    with pytest.raises(toml_format.LessonError) as found:
        toml_format.loads(text)
    assert (found.value.line, words in str(found.value)) == (line, True), str(found.value)
    assert found.value.rule and found.value.remedy


@pytest.mark.parametrize(
    ("lines", "options", "right"),
    [
        ('["red", "* house"]', ("red", "house"), ("house",)),
        ('["red", "*house", "*home"]', ("red", "house", "home"), ("house", "home")),
        ('["red", "*house"]\nanswer = "*house"', ("red", "*house"), ("*house",)),
        ('["red", "house"]\nanswer = "house"', ("red", "house"), ("house",)),
        ('["red", "*house"]\nanswer = "house"', ("red", "house"), ("house",)),
        (r'["red", "* \\*house"]', ("red", "*house"), ("*house",)),
    ],
)
def test_the_right_option_is_marked_and_older_files_name_it(
    lines: str, options: tuple[str, ...], right: tuple[str, ...]
) -> None:
    lesson = toml_format.loads(OWN + f'words = "?"\noptions = {lines}\n')
    assert lesson.stops[-1].question == Choice("?", options, right)
    assert toml_format.loads(toml_format.dumps(lesson)) == lesson


def test_every_link_that_the_course_has_may_stand_in_a_lesson() -> None:
    found = [beside for chapter in PAGES.values() for beside in chapter]
    assert found
    for beside in found:
        entry = pages.find(beside.slug)
        kept = views.current_view(entry, {"present": "1", **beside.link})
        assert kept.query == dict(beside.link) and views.parse_view(kept.link) == kept
    with pytest.raises(InputError, match="is not a page"):
        views.parse_view("nowhere")
