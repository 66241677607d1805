"""The record of a lecture as one HTML file for the lecturer: what was shown, and each answer in numbers; no person, no code, no time."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from viz.classroom.record import Record, answer_rows
from viz.languages import _, current

_PAGE = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>
:root {{ color-scheme: light; }}
body {{ margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem; background: #fff; color: #000; font: 1rem/1.45 system-ui, sans-serif; }}
h2 {{ font-size: 1.15rem; margin: 1.6rem 0 0.4rem; }}
section {{ break-inside: avoid; }}
p, li {{ overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ padding: 0.2rem 0.6rem 0.2rem 0; text-align: left; font-weight: normal; vertical-align: top; }}
td:first-child {{ width: 45%; overflow-wrap: anywhere; }}
td:nth-child(2) {{ width: 35%; }}
td:last-child {{ white-space: nowrap; }}
.bar {{ height: 1.1rem; background: #6b74c9; min-width: 1px; print-color-adjust: exact; }}
.right .bar {{ background: #1f2a78; }}
.right td:first-child {{ font-weight: 700; }}
.first {{ height: 0.4rem; background: #bbb; margin-top: 2px; print-color-adjust: exact; }}
.quiet {{ color: #444; }}
.why {{ white-space: pre-line; }}
</style></head>
<body><main><h1>{title}</h1>
<p class="quiet">{about}</p>
<h2>{heading}</h2>
{shown}
{votes}
</main></body></html>
"""


def lecture_report(record: Record) -> str:
    """Return the page.

    >>> record = Record()
    >>> record.note_page({"title": "Masks", "link": "masks", "sentence": "<b>", "pictures": ["rows"]})
    >>> "<li>Masks: \u201c&lt;b&gt;\u201d</li>" in lecture_report(record)
    True
    """
    summary = record.summary()
    lines = "".join(
        f"<li>{escape(page['title'])}{_quoted(page['sentence'])}</li>" for page in summary["shown"]
    )
    votes = "".join(_votes(number, vote) for number, vote in enumerate(summary["votes"], 1))
    return _PAGE.format(
        lang=current().code,
        title=_("A lecture with Attention Atlas"),
        about=_(
            "Answers are counts. No name, no seat and no time was recorded. A sentence is the text that was on screen, as it was typed: read it before you pass this file on."
        ),
        heading=_("What was shown"),
        shown=f"<ol>{lines}</ol>" if lines else f"<p>{_('No picture was shown.')}</p>",
        votes=votes or f"<h2>{_('Answers')}</h2><p>{_('No question was answered.')}</p>",
    )


def _quoted(sentence: str) -> str:
    return ": " + _("“{answer}”", answer=escape(sentence)) if sentence else ""


def _votes(number: int, vote: Mapping[str, Any]) -> str:
    """Return one question: a bar for each answer, of the first vote too where the room voted twice, and the reason."""
    rows = [*answer_rows(vote)]
    most = max((int(count or 0) for *_name, first, last in rows for count in (first, last)), default=0) or 1
    lines = "".join(_answer(most, *row) for row in rows)
    why = f'<p class="why">{escape(vote["why"])}</p>' if vote["why"] else ""
    counted = _("{n} answered", n=vote["answered"])
    if before := vote.get("before"):
        counted += _("; in the first vote {n} (grey)", n=before["answered"])
    if changed := vote.get("changed"):
        counted += _(
            ". Of {both} who voted twice, {to_right} changed from wrong to right and {to_wrong} from right to wrong",
            **changed,
        )
    return (
        f"<section><h2>{number}. {escape(vote['words'])}</h2>"
        f'<table><tbody>{lines}</tbody></table><p class="quiet">{counted}.</p>{why}</section>'
    )


def _answer(most: int, name: str, right: str, first: int | str, last: int) -> str:
    earlier = f'<div class="first" style="width:{100 * int(first) / most:.1f}%"></div>' if first != "" else ""
    count = _("{last} (first {first})", last=last, first=first) if first != "" else f"{last}"
    mark, row = (" \u2713", ' class="right"') if right == "yes" else ("", "")
    return (
        f"<tr{row}><td>{escape(name)}{mark}</td>"
        f'<td><div class="bar" style="width:{100 * last / most:.1f}%"></div>{earlier}</td><td>{count}</td></tr>'
    )
