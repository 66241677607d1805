"""A recorded lesson as pages to print: slides, a handout for students, a copy of both for the teacher, a guide and an exit ticket.

The words are in the page; the pictures are drawn by the page itself (`page/paper.js`), each as SVG. A page for students has no note, and
of a stop only what is on screen before its first question is answered: the answer is not in the file.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from core.errors import InputError
from viz.course.sheets.form import MOST_SEED
from viz.course.sheets.kinds import KINDS, exercise_kinds_of_page
from viz.course.sheets.printed import ticket
from viz.export import site
from viz.export.record import Recording
from viz.languages import _, mark, ngettext, using, write_number
from viz.number_text import in_minutes, three_digits

LINES, QUESTIONS = 3, 3
"""Lines to write on below a question of the handout; questions of an exit ticket."""
TAGS = ("i", "sub", "sup")


@dataclass
class Sheet:
    """A page that is written: its parts as HTML, and the pictures that they name by number, each once."""

    pictures: list[dict[str, Any]] = field(default_factory=list)
    parts: dict[str, Any] = field(default_factory=dict)

    def places(self, stop: Mapping[str, Any], phase: int) -> str:
        """Return the places of the pictures of a phase of a stop; "" where it has none."""
        return "".join(self._place(stop, one) for one in stop["phases"][phase]["pictures"])

    def _place(self, stop: Mapping[str, Any], picture: dict[str, Any]) -> str:
        if picture not in self.pictures:
            self.pictures.append(picture)
            named = {name for name in picture.get("parts", {}) if name in stop["parts"]}
            self.parts |= {name: stop["parts"][name] for name in named}
        return f'<div class="picture" data-picture="{self.pictures.index(picture)}"></div>'


def pages(recording: Recording, seed: int | None = None) -> dict[str, bytes]:
    """Return the pages by name; the exit ticket, with the numbers of `seed`, only where an exhibit of the lesson has exercises.

    The recording has the notes for the lecturer, which the pages for students leave out.
    """
    with using(recording.language):
        made = {name: _page(recording, name) for name in PAGES}
        return made | ({"exit_ticket": paper.encode()} if (paper := exit_ticket(recording, seed)) else {})


def write(recording: Recording, out: Path, seed: int | None = None) -> dict[str, Path]:
    """Write the pages into the folder `out`; return their paths by name.

    Raises:
        InputError: `out` is there and holds something else than such pages.
    """
    require_free(out)
    out.mkdir(parents=True, exist_ok=True)
    for older in out.iterdir():
        older.unlink()
    paths = {}
    for name, page in pages(recording, seed).items():
        paths[name] = out / f"{name}.html"
        paths[name].write_bytes(page)
    return paths


def require_free(out: Path) -> None:
    """Raise InputError where `out` holds something else than a lesson to print."""
    ours = {f"{name}.{kind}" for name in (*PAGES, "exit_ticket") for kind in ("html", "pdf")}
    if out.is_file() or (out.is_dir() and any(path.name not in ours for path in out.iterdir())):
        raise InputError(
            "'{path}' is there and holds something else than a lesson to print.",
            "The pages are written into a folder of their own.",
            "Name another folder, or delete what is there.",
            path=out,
        )


def exit_ticket(recording: Recording, seed: int | None = None) -> str:
    """Return a sheet with three exercises of what the lesson's exhibits teach, and their solutions on a page of its own; "" where there are none."""
    slugs = (stop["link"].partition("?")[0] for stop in recording.stops)
    kinds = [*dict.fromkeys(kind for slug in slugs for kind in exercise_kinds_of_page(slug))]
    if not kinds:
        return ""
    count = min(len(kinds), QUESTIONS)
    chosen = [kinds[round(place * (len(kinds) - 1) / max(1, count - 1))] for place in range(count)]
    number = random.randrange(MOST_SEED + 1) if seed is None else seed
    drawn = [
        (KINDS[chosen[place % count]], KINDS[chosen[place % count]].draw(number, 1 + place // count))
        for place in range(QUESTIONS)
    ]
    return ticket(drawn, number, _("Exit ticket: {title}", title=recording.lesson["title"]))


def _page(recording: Recording, name: str) -> bytes:
    body = PAGES[name].write(recording, sheet := Sheet())
    charts = any("chart" in picture for picture in sheet.pictures)
    inside = {"pictures": site.packed({"pictures": sheet.pictures, "parts": sheet.parts})}
    if charts:
        inside["vega"] = site.vega()
    filled = {
        "NAME": _(PAGES[name].title),
        "KIND": PAGES[name].look,
        "STYLE": site.style(site.PAGE / "paper.css", dark=False),
        "BODY": body,
        "LICENCES": escape(site.licences(recording)),
    }
    return site.fill(site.PAGE / "paper.html", filled, recording, site.PAGE / "paper.js", inside)


def _slides(recording: Recording, sheet: Sheet, *, noted: bool) -> str:
    lesson = recording.lesson
    opening = (
        f'<div class="slide opening"><h1>{escape(lesson["title"])}</h1><p>{escape(lesson["about"])}</p></div>'
    )
    return f'<section class="sheet">{opening}</section>' + "".join(
        _slides_of(number, stop, recording, sheet, noted) for number, stop in enumerate(recording.stops)
    )


def _slides_of(number: int, stop: Mapping[str, Any], recording: Recording, sheet: Sheet, noted: bool) -> str:
    """Return the slides of a stop: as it opens, then for each question the slide with its answer, which asks the next one."""
    slides, answered = [], ""
    for phase, one in enumerate(stop["phases"]):
        places = sheet.places(stop, phase) or _unseen(stop)
        question = _question(one["ask"]) if one["ask"] else ""
        says = "" if phase else f'<p class="says">{_set(stop, "says")}</p>'
        side = f'<div class="side">{answered}{question}</div>' if answered or question else ""
        slides.append(
            f'<div class="slide"><h2>{escape(stop["name"])}</h2>{says}'
            f'<div class="split"><div class="pictures">{places}</div>{side}</div>'
            f'<p class="foot">{_("{n} of {all}", n=number + 1, all=len(recording.stops))}</p></div>'
        )
        answered = (
            f'<p class="asks">{_set(one["ask"], "words")}</p>{_answer(one["ask"])}' if one["ask"] else ""
        )
    if not noted:
        return "".join(f'<section class="sheet">{slide}</section>' for slide in slides)
    return f'<section class="sheet">{"".join(slides)}{_note(number, recording)}</section>'


def _note(number: int, recording: Recording) -> str:
    stop = recording.lesson["stops"][number]
    return f'<h3>{_minutes(number, recording)}</h3><p class="note">{escape(stop["note"])}</p>'


def _minutes(number: int, recording: Recording) -> str:
    """Return the minutes of a stop by the plan, and whether it may be skipped."""
    stops = recording.lesson["stops"]
    begin = math.fsum(stop["minutes"] for stop in stops[:number])
    minutes = _("Minute {begin:g} to {end:g}", begin=begin, end=begin + stops[number]["minutes"])
    return minutes + _skipped(stops[number])


def _skipped(stop: Mapping[str, Any]) -> str:
    return _(" (may be skipped)") if stop["optional"] else ""


def _handout(recording: Recording, sheet: Sheet, *, answers: bool) -> str:
    lesson = recording.lesson
    name = _("The teacher\u2019s copy, with answers") if answers else f"{_('Name')}: {30 * '_'}"
    copy = f'<p class="name">{escape(name)}</p>'
    sections = [
        _handout_stop(number, stop, recording, sheet, answers) for number, stop in enumerate(recording.stops)
    ]
    return f"<header><h1>{escape(lesson['title'])}</h1>{copy}</header>{''.join(sections)}"


def _handout_stop(
    number: int, stop: Mapping[str, Any], recording: Recording, sheet: Sheet, answers: bool
) -> str:
    """Return a stop on paper: as it opens, its first question and room to write; with `answers` all questions, their answers and the note."""
    question = [one["ask"] for one in stop["phases"] if one["ask"]]
    head = f"<h2>{number + 1}. {escape(stop['name'])}</h2><p>{_set(stop, 'says')}</p>"
    if not answers:
        below = (_question(question[0]) if question else "") + _room()
        return f'<section>{head}<div class="pictures">{sheet.places(stop, 0) or _unseen(stop)}</div>{below}</section>'
    below = "".join(_question(one) + _answer(one) for one in question) + _note(number, recording)
    places = sheet.places(stop, len(stop["phases"]) - 1) or _unseen(stop)
    return f'<section>{head}<div class="pictures">{places}</div>{below}</section>'


def _room() -> str:
    return f'<div class="room" aria-hidden="true">{LINES * "<div></div>"}</div>'


def _guide(recording: Recording, sheet: Sheet) -> str:
    lesson = recording.lesson
    rows = "".join(_guide_row(number, stop, recording) for number, stop in enumerate(recording.stops))
    name = escape(_(PAGES["guide"].title))
    lines = "".join(f"<li>{escape(line)}</li>" for line in _preparation(recording))
    columns = (
        _("Minutes"),
        _("Name of the stop"),
        _("Question, the right answer, the other answers that one hears"),
    )
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    return (
        f'<header><h1>{escape(lesson["title"])}</h1><p class="name">{name}</p></header><p>{escape(lesson["about"])}</p>'
        f"<ul>{lines}</ul><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _guide_row(number: int, stop: Mapping[str, Any], recording: Recording) -> str:
    planned = recording.lesson["stops"][number]
    begin = math.fsum(one["minutes"] for one in recording.lesson["stops"][:number])
    question = "".join(
        f'<p class="asks">{_set(one["ask"], "words")}</p>{_answer(one["ask"], others=True)}'
        for one in stop["phases"]
        if one["ask"]
    )
    minutes = write_number(f"{begin:g}\u2013{begin + planned['minutes']:g}")
    return (
        f"<tr><td>{minutes}</td><td>{number + 1}. {escape(stop['name'] + _skipped(planned))}</td>"
        f"<td>{question or escape(_('No question.'))}</td></tr>"
    )


def _preparation(recording: Recording) -> Iterable[str]:
    """Yield what to prepare, as far as the recording knows it."""
    stops = recording.lesson["stops"]
    total = in_minutes(recording.lesson["minutes"])
    yield ngettext("{n} stop, {time} by the plan.", "{n} stops, {time} by the plan.", len(stops), time=total)
    optional = [number for number, stop in enumerate(stops) if stop["optional"]]
    if optional:
        saved = math.fsum(stops[number]["minutes"] for number in optional)
        yield ngettext(
            "Short of time: skip stop {stops} ({time}).",
            "Short of time: skip stops {stops} ({time}).",
            len(optional),
            stops=_stops(optional),
            time=in_minutes(saved),
        )
    if models := sorted(set(_models(recording))):
        yield _(
            "Models: {models}. Open each stop once beforehand; its model is loaded then.",
            models=", ".join(models),
        )
    absent = [number for number, stop in enumerate(recording.stops) if stop["unseen"] or _is_bare(stop)]
    if absent:
        yield ngettext(
            "Only the full app shows all of stop {stops}: have it open there.",
            "Only the full app shows all of stops {stops}: have it open there.",
            len(absent),
            stops=_stops(absent),
        )


def _models(recording: Recording) -> Iterable[str]:
    for stop in recording.stops:
        for picture in (one for phase in stop["phases"] for one in phase["pictures"]):
            if model := picture.get("header", {}).get("origin", {}).get("model"):
                yield model


def _stops(numbers: Sequence[int]) -> str:
    return ", ".join(str(number + 1) for number in numbers)


def _is_bare(stop: Mapping[str, Any]) -> bool:
    return not any(phase["pictures"] for phase in stop["phases"])


def _unseen(stop: Mapping[str, Any]) -> str:
    unseen = _(
        "This stop cannot be recorded: what “{title}” shows here is only in the full app, at {link}",
        title=stop["title"],
        link=stop["link"],
    )
    return f'<p class="unseen">{escape(unseen)}</p>'


def _question(question: Mapping[str, Any]) -> str:
    """Return a question with what can be answered, and nothing of the answer."""
    body = ""
    if question["kind"] == "choice":
        body = f'<ul class="options">{"".join(f"<li>{escape(option)}</li>" for option in question["options"])}</ul>'
    elif question["kind"] == "number":
        ends = _(
            "{low} to {high}", low=three_digits(question["low"]), high=_measured(question, question["high"])
        )
        body = f'<p class="ends">{escape(ends)}</p>'
    return f'<p class="asks">{_set(question, "words")}</p>{body}'


def _answer(question: Mapping[str, Any], *, others: bool = False) -> str:
    """Return the right answer of a question, the other options if `others`, and the reason of this run."""
    options, truth = question["options"], question["truth"]
    if question["kind"] == "number":
        right, near = [_measured(question, truth)], question["near"]
        rest = [_("right within ±{near}", near=_measured(question, near))] if near else []
    else:
        places = range(len(options)) if truth is None else truth
        right = [options[place] for place in places]
        rest = [option for option in options if option not in right] if question["kind"] == "choice" else []
    other = f' <span class="others">({escape("; ".join(rest))})</span>' if others and rest else ""
    why = f'<p class="why">{_set(question, "why")}</p>' if question["why"] else ""
    return f'<p class="answer"><b>{escape(_(" or ").join(right))}</b>{other}</p>{why}'


def _measured(question: Mapping[str, Any], value: float) -> str:
    """Return a number with the unit of its question; percent without a space before it."""
    unit = question["unit"]
    return (
        f"{three_digits(value, 100)}{write_number('%')}{unit[1:]}"
        if unit.startswith("%")
        else f"{three_digits(value)} {unit}".strip()
    )


def _set(texts: Mapping[str, Any], name: str) -> str:
    """Return a text with the indices and powers that it was set with."""
    runs = texts["typeset"].get(name) or [[texts[name], ""]]
    return "".join(f"<{how}>{escape(words)}</{how}>" if how in TAGS else escape(words) for words, how in runs)


@dataclass(frozen=True)
class Kind:
    """A kind of page: its title in English, how it looks (a class of paper.css), and the function that writes it."""

    title: str
    look: str
    write: Callable[[Recording, Sheet], str]


PAGES = {
    "slides": Kind(mark("Slides"), "slides", lambda made, sheet: _slides(made, sheet, noted=False)),
    "slides_with_notes": Kind(
        mark("Slides with notes"), "slides noted", lambda made, sheet: _slides(made, sheet, noted=True)
    ),
    "handout": Kind(mark("Handout"), "handout", lambda made, sheet: _handout(made, sheet, answers=False)),
    "handout_with_answers": Kind(
        mark("Handout with answers"), "handout", lambda made, sheet: _handout(made, sheet, answers=True)
    ),
    "guide": Kind(mark("Teacher\u2019s guide"), "guide", _guide),
}
"""The pages of every lesson, by the names of their files."""
