"""A lesson as a file: TOML that a person reads and writes; an error in it is reported with its line.

    title = "Attention in 15 minutes"

    [[stop]]
    view = "masks?masks.step=2"
    name = "Each row adds up to 1"
    minutes = 3
    note = \"\"\"
    Point at the last row.
    \"\"\"
    question = "page"
    asks = "How much weight does the first word get?"

A question is "page", the one that the view asks itself and that `asks` quotes for the list of stops, or a table with `words`, and either `options`, the right one with a * before it,
or the ends `low` and `high` of what can be guessed and a number as `answer`; `unit` and `why` where they help.

    question = { words = "Which rows add up to 1?", options = ["* every row", "only the first"] }

Files from before the mark name the right option a second time, as `answer`; they are read as well.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import tomli_w

from core.errors import InputError
from viz.labels import phrase, shorten, visible
from viz.languages import _, mark, ngettext
from viz.shell.lessons import plan, views
from viz.shell.lessons.plan import Ask, Plan, Stop
from viz.shell.questions.question import Choice, Number, read_options, require_answer, write_options

MOST_BYTES, DEEPEST = 200_000, 8
"""Bytes of a file; points in one name of it."""
_QUESTION = ("words", "options", "answer", "low", "high", "unit", "why")
_STOP = ("view", "name", "minutes", "optional", "note", "question", "asks")
_LESSON = ("title", "about", "stop")
_KINDS: dict[type, str] = {
    str: mark("a text"),
    float: mark("a number"),
    list: mark("a list"),
    bool: mark("true or false"),
}


class LessonError(InputError):
    """An error in the file of a lesson; `line` counts from 1.

    >>> error = LessonError(3, InputError("The note is too long.", "It has 4,000 letters at most.", "Shorten it."))
    >>> error.line, error.wrong
    (3, 'Line 3: The note is too long.')
    """

    def __init__(self, line: int, error: InputError) -> None:
        super().__init__(_("Line {line}: {error}", line=line, error=error.wrong), error.rule, error.remedy)
        self.line = line

    def __reduce__(self) -> Any:
        return type(self), (self.line, InputError(self.wrong.partition(": ")[2], self.rule, self.remedy))


def loads(content: bytes | str) -> Plan:
    r"""Return the lesson of a file.

    >>> loads('title = "A"\n[[stop]]\nview = "masks"\nname = "The mask"\nminutes = 2').stops[0].name
    'The mask'

    Raises:
        LessonError: it is too large, not a text, not TOML, or not a lesson; with the line.
    """
    text = _text(content)
    _refuse_depth(text)
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is another ValueError
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1 if "end of document" in str(error) else 1
        raise LessonError(
            line,
            InputError(
                _("This is not valid TOML: {error}.", error=phrase(shorten(str(error), 100))),
                _(
                    "Texts are in quotation marks, a stop begins with [[stop]], and each line is NAME = VALUE."
                ),
                _("Correct the line, or save one of the shipped lessons and use it as a pattern."),
            ),
        ) from error
    return _Reader(text, found).plan()


def dumps(lesson: Plan) -> str:
    """Return the file of a lesson; `read` gives the same lesson again."""
    about = {"about": lesson.about} if lesson.about else {}
    table = {"title": lesson.title, **about, "stop": [_table_of(stop) for stop in lesson.stops]}
    return tomli_w.dumps(table, multiline_strings=True, indent=2)


def _table_of(stop: Stop) -> dict[str, Any]:
    asked = stop.question
    question: Any = asked
    if isinstance(asked, Choice):
        question = {"words": asked.words, "options": write_options(asked)}
    elif isinstance(asked, Number):
        ends = {"low": asked.low, "high": asked.high, "answer": asked.right}
        question = {"words": asked.words} | {
            name: _plain(end) for name, end in ends.items() if end is not None
        }
    if isinstance(asked, Choice | Number):
        question |= {
            name: value
            for name, value in (("unit", getattr(asked, "unit", "")), ("why", asked.explanation))
            if value
        }
    table = {"view": stop.view, "name": stop.name, "minutes": _plain(stop.minutes)}
    table |= {"optional": True} if stop.optional else {}
    more = {"note": stop.note, "question": question, "asks": stop.asks}
    return table | {name: value for name, value in more.items() if value}


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def _text(content: bytes | str) -> str:
    size = len(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        raise LessonError(
            1,
            InputError(
                _("The file has {size:,} bytes.", size=size),
                _("A lesson has {most:,} at most.", most=MOST_BYTES),
                _("Choose the file of a lesson, or make two lessons of it."),
            ),
        )
    if isinstance(content, bytes):
        try:
            content = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise LessonError(
                content[: error.start].count(b"\n") + 1,
                InputError(
                    _("Byte {start:,} is not part of a character in UTF-8.", start=error.start),
                    _("A lesson is a text in UTF-8."),
                    _("Save the file as UTF-8."),
                ),
            ) from error
    return content.replace("\r\n", "\n")


class _Reader:
    """A TOML document, checked against the form of a lesson."""

    def __init__(self, text: str, document: Mapping[str, Any]) -> None:
        self.lines, self.document = _lines(text), document

    def plan(self) -> Plan:
        self.require_names(self.document, _LESSON, _("a lesson"), ())
        stops = self.value(self.document, "stop", list, (), [])
        if len(stops) > plan.MOST_STOPS:
            self.refuse(
                ("stop", plan.MOST_STOPS),
                InputError(
                    ngettext("The lesson has {n} stop.", "The lesson has {n} stops.", len(stops)),
                    _("It has {most:,} at most.", most=plan.MOST_STOPS),
                    _("Make two lessons of it."),
                ),
            )
        title, about = (
            self.value(self.document, "title", str, ()),
            self.value(self.document, "about", str, (), ""),
        )
        self.attempt(
            ("title",), lambda: plan.require_length(title, _("The title of a lesson"), plan.LONGEST_NAME)
        )
        made = tuple(self.stop(stop, ("stop", at)) for at, stop in enumerate(stops))
        return self.attempt(("about",), lambda: Plan(title, made, about))

    def stop(self, table: Any, where: tuple) -> Stop:
        table = self.table(table, where, _("A stop is"))
        self.require_names(table, _STOP, _("a stop"), where)
        link, name = self.value(table, "view", str, where), self.value(table, "name", str, where)
        view = self.attempt((*where, "view"), lambda: views.parse_view(link))
        minutes, note = self.value(table, "minutes", float, where), self.value(table, "note", str, where, "")
        self.attempt((*where, "name"), lambda: Stop(view.link, name))
        self.attempt((*where, "minutes"), lambda: Stop(view.link, name, minutes=minutes))
        question = self.question(table.get("question"), (*where, "question"))
        optional = self.value(table, "optional", bool, where, False)
        asks = self.value(table, "asks", str, where, "")
        stop = self.attempt(
            (*where, "note"), lambda: Stop(view.link, name, note, minutes, question, optional)
        )
        return self.attempt((*where, "asks"), lambda: dataclasses.replace(stop, asks=asks))

    def question(self, table: Any, where: tuple) -> Ask:
        if table is None or table == plan.OF_THE_PAGE:
            return table
        table = self.table(table, where, _("A question is the word “page” or"))
        self.require_names(table, _QUESTION, _("a question"), where)
        words, why = self.value(table, "words", str, where), self.value(table, "why", str, where, "")
        if "options" in table:
            options = self.value(table, "options", list, where)
            if not all(isinstance(option, str) for option in options):
                self.refuse(
                    (*where, "options"),
                    InputError(
                        _("An option is not a text."),
                        _("Each option is a text."),
                        _("Put it in quotation marks."),
                    ),
                )
            answer = self.value(table, "answer", str, where, "")
            return self.attempt(
                (*where, "options"), lambda: require_answer(_choice(words, options, answer, why))
            )
        low, high, answer = (self.value(table, name, float, where) for name in ("low", "high", "answer"))
        unit = self.value(table, "unit", str, where, "")
        return self.attempt((*where, "answer"), lambda: Number(words, low, high, answer, unit, why))

    def table(self, table: Any, where: tuple, subject: str) -> Mapping[str, Any]:
        if not isinstance(table, dict):
            self.refuse(
                where,
                InputError(
                    _("{subject} a table, and this is not one.", subject=subject),
                    "A table has lines NAME = VALUE.",
                    _("Correct it as in one of the shipped lessons."),
                ),
            )
        return table

    def require_names(self, table: Mapping[str, Any], names: Sequence[str], owner: str, where: tuple) -> None:
        for name in table:
            if name not in names:
                self.refuse(
                    (*where, name),
                    InputError(
                        _(
                            "“{name}” is not a field of {owner}.",
                            name=visible(shorten(name, 40)),
                            owner=owner,
                        ),
                        _("The fields are {names}.", names=", ".join(names)),
                        _("Correct the name, or delete the line."),
                    ),
                )

    def value(
        self, table: Mapping[str, Any], name: str, kind: type, where: tuple, default: Any = None
    ) -> Any:
        """Return the value of a name, checked to be of this kind; without a default the name is required."""
        value: Any = table.get(name, default)
        if value is None:
            self.refuse(
                where,
                InputError(
                    _("“{name}” is missing.", name=name),
                    _("It is {kind}.", kind=_(_KINDS[kind])),
                    _("Add a line {name} = …", name=name),
                ),
            )
        if kind is float and type(value) is int and abs(value) < 1e15:
            value = float(value)
        if type(value) is not kind:
            self.refuse(
                (*where, name),
                InputError(
                    _("“{name}” is not {kind}.", name=name, kind=_(_KINDS[kind])),
                    _("It has to be {kind}.", kind=_(_KINDS[kind])),
                    _("Correct the line."),
                ),
            )
        return str(value).strip() if kind is str and name != "note" else value

    def attempt(self, where: tuple, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except InputError as error:
            self.refuse(where, error)

    def refuse(self, where: tuple, error: InputError) -> NoReturn:
        """Raise a LessonError with the line number of `where`, or of the nearest key around it that has one."""
        while where not in self.lines and where:
            where = where[:-1]
        raise LessonError(self.lines.get(where, 1), error)


def _choice(words: str, options: Sequence[str], answer: str, reason: str) -> Choice:
    """Return the question of a file; one from before the mark has its right option as `answer`."""
    literal = tuple(option.strip() for option in options)
    if answer in literal:
        return Choice(words, literal, (answer,), reason)
    marked, right = read_options(options)
    return Choice(words, marked, (*right, answer) if answer and answer not in right else right, reason)


_LITERAL = re.compile(
    r"""("{3}(?:\\.|[^\\])*?(?:"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|\#[^\n]*)""",
    re.DOTALL,
)
_RUN = re.compile(r"[\w.\- \t]+")
_HEAD = re.compile(r"[ \t]*\[\[?([^\[\]]*)\]")
_NAME = re.compile(r"[ \t]*([\w-]+)[\w. \t]*=")


def _bare(text: str) -> str:
    """Return the same lines without quoted texts and comments."""
    return _LITERAL.sub(lambda found: "s" + "\n" * found[0].count("\n"), text)


def _refuse_depth(text: str) -> None:
    """Refuse a name of thousands of parts, for which tomllib takes minutes."""
    bare = _bare(text)
    for found in _RUN.finditer(bare):
        if found[0].count(".") > DEEPEST:
            raise LessonError(
                bare[: found.start()].count("\n") + 1,
                InputError(
                    _("A name has too many parts."),
                    _("A name has at most {most} dots.", most=DEEPEST),
                    _("Correct the line."),
                ),
            )


def _lines(text: str) -> dict[tuple, int]:
    """Return the line of each stop and each name: ("title",), ("stop", 2), ("stop", 2, "question", "low")."""
    found: dict[tuple, int] = {(): 1}
    at, stops = (), 0
    for number, line in enumerate(_bare(text).split("\n"), 1):
        if head := _HEAD.match(line):
            parts = tuple(part.strip() for part in head[1].split("."))
            stops += parts == ("stop",)
            at = ("stop", stops - 1, *parts[1:]) if parts[0] == "stop" else parts
            found.setdefault(at, number)
        elif name := _NAME.match(line):
            found.setdefault((*at, name[1]), number)
    return found
