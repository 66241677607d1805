"""Files that are called lessons and are none, or want more than a lesson can: each is refused in words, at once."""

from __future__ import annotations

import random
import time

import pytest

from viz.shell.lessons import plan, toml_format
from viz.shell.questions.question import Choice

STOP = '\n[[stop]]\nview = "{}"\nname = "n"\nminutes = 1\n'
LINKS = (
    "https://example.org/",
    "//example.org/masks",
    "javascript:alert(1)",
    "data:text/html,x",
    "../masks",
    "masks/../look",
    "/\\example.org",
    "%6dasks",
    "_stcore/health",
    "room/ABCDEF/steer",
    "masks?__class__=1",
    "masks?state.x=1",
    "masks?scaling.step=2",
    "masks?masks.step=2%00",
    "masks?masks.step=\\u202e2",
    "look?text=" + "x" * 3000,
    "masks?" + "a=1&" * 99,
    "masks?masks.step=1e9",
    "masks?masks.step=nan",
    "masks?" + "masks.step=1&" * 700,
    "",
)
HOSTILE = {
    "ten thousand stops": 'title = "A"' + STOP.format("masks") * 3000,
    "sixty-one stops": 'title = "A"' + STOP.format("masks") * 61,
    "deep lists": "a = " + "[" * 50_000,
    "deep tables": "a = " + "{a = " * 20_000,
    "a long dotted name": "a." * 40_000 + "b = 1",
    "a long dotted name of a table": "[" + "a . " * 30_000 + "b]",
    "a long dotted name inside": "x = {" + "'a'." * 30_000 + "b = 1}",
    "blanks in a bracket": "[" + " " * 150_000,
    "quotation marks": '"""\\' * 40_000,
    "a number of 100,000 digits": "title = " + "9" * 100_000,
    "a number without end": 'title = "A"' + STOP.format("masks").replace("= 1", "= 1e999"),
    "no number": 'title = "A"' + STOP.format("masks").replace("= 1", "= nan"),
    "a large whole number": 'title = "A"' + STOP.format("masks").replace("= 1", "= 1" + "0" * 400),
    "a megabyte": "#" * 1_000_000,
    "a picture": bytes(range(256)) * 40,
    "UTF-16": 'title = "A"'.encode("utf-16"),
    "nothing": "",
    "NUL": 'title = "A\x00"',
    "a lone surrogate": 'title = "\\ud800"',
    "code": "import os; os.system('true')",
    "YAML that makes objects": "!!python/object/apply:os.system ['true']",
    "a date": "title = 2020-01-01",
    "a table of an array": "[stop]\nview = 1",
    "names of Python": '__class__ = "x"\ntitle = "A"',
    "a note of 100,000 letters": 'title = "A"' + STOP.format("masks") + 'note = "' + "x" * 100_000 + '"',
    "a thousand options": 'title = "A"'
    + STOP.format("masks")
    + '[stop.question]\nwords = "w"\nanswer = "a"\noptions = ['
    + '"a",' * 1000
    + "]",
    **{f"the view {link[:30]}": f'title = "A"{STOP.format(link)}' for link in LINKS if link},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_in_words(case: str) -> None:
    begun = time.thread_time()
    with pytest.raises(toml_format.LessonError) as found:
        toml_format.loads(HOSTILE[case])
    assert time.thread_time() - begun < 2
    assert len(str(found.value)) < 1300 and str(found.value).isprintable()
    assert found.value.line >= 1


def test_a_damaged_lesson_is_a_lesson_or_is_refused() -> None:
    whole = toml_format.dumps(
        plan.Plan("A", (plan.Stop("masks?masks.step=2", "N", "a\nb", 2, Choice("w", ("a", "b"), ("a",))),))
    )
    draw, signs = random.Random(5), '"\n[]={}\\.#\x00é0'
    refused = 0
    for _ in range(300):
        text = [*whole]
        for _ in range(draw.randint(1, 4)):
            text[draw.randrange(len(text))] = draw.choice(["", *signs])
        try:
            assert toml_format.loads(toml_format.dumps(found := toml_format.loads("".join(text)))) == found
        except toml_format.LessonError as error:
            refused += str(error).isprintable()
    assert 100 < refused < 300
