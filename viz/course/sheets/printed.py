"""A sheet as one HTML file that asks nothing of anybody: styles and the font of mathematics inside, black on white, for A4 and Letter.

The size of the paper is the printer's: nothing here is wider than the narrower and nothing is placed by the height of either; an
exercise, and the solution of one, is not cut by the end of a page.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Sequence
from html import escape
from pathlib import Path

import viz
from viz.course.sheets.form import MIDDLE, Exercise, Kind
from viz.course.sheets.mathml import mathml, prose
from viz.languages import _, current, mark

TITLE, SOLVED = mark("Exercises"), mark("Solutions")
_PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{heading}: Attention Atlas</title><style>{style}</style></head>
<body><main>{button}
<header><h1>{title}</h1><p>{sheet}</p>{name}</header>
<p class="rule">{rule}</p>
{body}
</main></body></html>
"""


def exercises(tasks: Sequence[tuple[Kind, Exercise]], seed: int) -> str:
    """Return the HTML of the sheet for students: each question with its table and space to write."""
    return _page(_(TITLE), seed, _name(), [_task(number, *one) for number, one in enumerate(tasks, 1)])


def solutions(tasks: Sequence[tuple[Kind, Exercise]], seed: int) -> str:
    """Return the HTML of the sheet of solutions: each question's table, the arithmetic step by step, the answer."""
    return _page(_(SOLVED), seed, "", [_solved(number, *one) for number, one in enumerate(tasks, 1)])


def ticket(tasks: Sequence[tuple[Kind, Exercise]], seed: int, title: str) -> str:
    """Return a sheet with few exercises, and after them, on a new page, their solutions."""
    asked = [_task(number, *one) for number, one in enumerate(tasks, 1)]
    solved = "".join(_solved(number, *one) for number, one in enumerate(tasks, 1))
    sections = [
        f'<div class="ticket">{"".join(asked)}</div>',
        f'<div class="apart"><h1>{_(SOLVED)}</h1>{solved}</div>',
    ]
    return _page(escape(title), seed, _name(), sections)


def without_button(page: str) -> str:
    """Return a sheet for a frame of the app, which has its own button and runs no script in the frame."""
    return page.replace(_button(), "")


def _page(title: str, seed: int, name: str, sections: Sequence[str]) -> str:
    return _PAGE.format(
        language=current().code,
        title=title,
        heading=_("{title}, sheet {seed}", title=title, seed=seed),
        sheet=sheet_name(seed),
        style=_style(),
        button=_button(),
        name=name,
        rule=rounding_rule(),
        body="\n".join(sections),
    )


@functools.cache
def _style() -> str:
    font = Path(viz.__file__).with_name("static") / "math.woff2"
    return (
        Path(__file__)
        .with_name("sheet.css")
        .read_text("utf-8")
        .replace("{math}", base64.b64encode(font.read_bytes()).decode())
    )


def _task(number: int, kind: Kind, one: Exercise) -> str:
    room = f'<div class="room" aria-hidden="true">{one.room * "<div></div>"}</div>'
    return _section(number, kind, f"<p>{prose(one.question)}</p>{_table(one)}{room}")


def question_html(one: Exercise) -> str:
    """Return the question and its table, without rows to fill in."""
    return f"<p>{prose(one.question)}</p>{_table(one, filled=True)}"


def solution_html(one: Exercise) -> str:
    """Return the arithmetic step by step, and the answer."""
    steps = "".join(
        (f"<p>{prose(step.words)}</p>" if step.words else "")
        + (mathml(step.line, block=True) if step.line else "")
        for step in one.steps
    )
    return f'{steps}<p class="answer">{prose(one.answer)}</p>'


def rounding_rule() -> str:
    """Return the sentence that says how to round on the way."""
    return _("Unless stated otherwise, round intermediate results to {n} decimals.", n=MIDDLE)


def sheet_name(seed: int) -> str:
    """Return the name of the sheet with a seed."""
    return _("Attention Atlas, sheet {seed}", seed=seed)


def _button() -> str:
    label = escape(_("Print, or save as PDF"))
    return f'<p class="screen"><button type="button" onclick="print()">{label}</button></p>'


def _name() -> str:
    return f"<p>{escape(_('Name'))}: ______________________________</p>"


def _solved(number: int, kind: Kind, one: Exercise) -> str:
    return _section(number, kind, _table(one, filled=True) + solution_html(one))


def _section(number: int, kind: Kind, body: str) -> str:
    return f"<section><h2>{number}. <span>{escape(kind.title)}</span></h2>{body}</section>"


def _table(one: Exercise, filled: bool = False) -> str:
    """Return the HTML table of an exercise, whose cells may hold mathematics; `filled`: without the rows that have empty cells to fill in."""
    if not one.head:
        return ""
    head = "".join(f'<th scope="col">{prose(cell)}</th>' for cell in one.head)
    lines = ("".join(f"<td>{prose(cell)}</td>" for cell in row) for row in one.rows if all(row) or not filled)
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    if not rows:  # a table has a body
        return f"<table><tbody><tr>{head}</tr></tbody></table>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
