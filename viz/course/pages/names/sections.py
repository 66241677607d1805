"""The sections of the Names page as lists of lines, so that one search can go through all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core import glossary
from core.glossary import Term
from viz.course.equations import EQUATIONS, Equation, Sign
from viz.course.kit import equation_view as equations
from viz.course.pages.names import mentioned
from viz.languages import _
from viz.shell import pages

EXPLAINED = ("surprisal", "cross_entropy", "perplexity", "bits_per_byte", "temperature")
"""The measures that the first exhibit explains with the numbers of a sentence (its second step)."""


@dataclass(frozen=True)
class Line:
    """Entry: its name, its symbol (LaTeX; "" for none), its meaning, a small note, the page nearest to it."""

    head: str
    says: str
    note: str = ""
    symbol: str = ""
    near: str = ""
    code: bool = False

    def holds(self, words: Iterable[str]) -> bool:
        """Return whether each of the words occurs in the entry.

        >>> Line("ResNet", "Adds the input of a block to its output.").holds(["block", "resnet"])
        True
        """
        text = f"{self.head} {self.symbol} {self.says} {self.note}".lower()
        return all(word.lower() in text for word in words)


@dataclass(frozen=True)
class Section:
    """A part of the page: title, a sentence on how to read it, its lines; `dense` ones are written as running text."""

    slug: str
    title: str
    says: str
    lines: tuple[Line, ...]
    dense: bool = False

    def matches(self, query: str) -> tuple[Line, ...]:
        """Return the lines that contain every word of the query."""
        return tuple(line for line in self.lines if line.holds(query.split()))


def sections() -> tuple[Section, ...]:
    """Return all sections, in the order of the page."""
    return (
        Section(
            "letters",
            _("One letter, several meanings"),
            _("When a formula looks wrong, see which meaning the letter has in that source."),
            _letters(),
        ),
        Section(
            "symbols",
            _("Symbols of the sources"),
            _("The symbols in the equations of the course, with the shape of each as a column and as a row."),
            _symbols(),
            dense=True,
        ),
        Section(
            "bridges",
            _("Columns or rows"),
            _(
                "The slides and the survey write one word in one column, PyTorch in one row. Both compute the same numbers."
            ),
            _bridges(),
        ),
        Section(
            "tensors",
            _("Tensors"),
            _(
                "A path ends with one of these: decoder.layer.2.cross_attn.pattern. The lines on self_attn hold for cross_attn, too; its keys and values come from the encoder."
            ),
            _terms(glossary.LEAVES),
        ),
        Section("axes", _("Axes"), _("What is counted along each side of a tensor."), _terms(glossary.AXES)),
        Section(
            "methods",
            _("Measures and methods"),
            _(
                "What is computed of a model's numbers, and what is done to a model to see what a part is for."
            ),
            _entries(glossary.METHODS),
        ),
        Section(
            "named",
            _("Models and methods that the sources only name"),
            _(
                "The sources mention these and do not explain them. One line each, and the page of the atlas that is nearest."
            ),
            _mentioned_names(mentioned.NAMED),
        ),
        Section(
            "later",
            _("After the sources"),
            _(
                "What leads from GPT-3 to the assistants of today. One line each, and the page of the atlas that is nearest."
            ),
            _mentioned_names(mentioned.LATER),
        ),
        Section(
            "tasks",
            _("Attend and do something"),
            _(
                "Seven tasks, one mechanism: the query changes, keys and values are parts of the picture or of the sound."
            ),
            _tasks(),
        ),
        Section(
            "equations",
            _("Equations"),
            _("Every equation of the course, and where it stands."),
            _equations(),
            dense=True,
        ),
    )


def _letters() -> tuple[Line, ...]:
    return tuple(
        Line(letter.letter, meaning, who) for letter in glossary.LETTERS for meaning, who in letter.meanings
    )


def _symbols() -> tuple[Line, ...]:
    """Return each symbol with each of its meanings once, and the equations that use it with that meaning."""
    found: dict[tuple[str, Sign], list[Equation]] = {}
    for equation in EQUATIONS.values():
        for name, sign in equation.signs.items():
            found.setdefault((name, sign), []).append(equation)
    ordered = sorted(found.items(), key=lambda item: (item[0][0].lower(), item[0][0]))
    return tuple(
        Line(
            name,
            f"{_(sign.word)}. {_(sign.sentence)}",
            _(
                "{shape} · in: {title} and {n} more",
                shape=_shape(sign),
                title=_(used[0].title),
                n=len(used) - 1,
            )
            if len(used) > 1
            else _("{shape} · in: {title}", shape=_shape(sign), title=_(used[0].title)),
            latex(name),
        )
        for (name, sign), used in ordered
    )


def _shape(sign: Sign) -> str:
    columns, rows = equations.shape_text(sign.columns), equations.shape_text(sign.rows)
    if columns == rows:
        return columns
    return _("{columns} as a column, {rows} as a row", columns=columns, rows=rows)


def latex(name: str) -> str:
    r"""Convert a symbol's name to LaTeX.

    >>> latex("htilde_t"), latex("alpha_t,i"), latex("W_enc"), latex("Z''_t")
    ('\\tilde{h}_{t}', '\\alpha_{t,i}', 'W_{\\mathrm{enc}}', "Z''_{t}")
    """
    base, _mark, index = name.partition("_")
    for ending, accent in {
        "bar": "bar",
        "tilde": "tilde",
        "hat": "hat",
        "fwd": "overrightarrow",
        "bwd": "overleftarrow",
    }.items():
        if len(base) == len(ending) + 1 and base.endswith(ending):
            base = rf"\{accent}{{{base[0]}}}"
    if base.isalpha() and len(base) > 1:
        base = "\\" + base
    if len(index) > 2 and index.isalpha():
        index = rf"\mathrm{{{index}}}"
    return base + (f"_{{{index}}}" if index else "")


def _bridges() -> tuple[Line, ...]:
    return tuple(
        Line(
            row.thing,
            _("Columns: {columns}. Rows: {rows}.", columns=row.columns, rows=row.rows),
            _("Bridge: {text}", text=row.bridge),
        )
        for row in mentioned.BRIDGES
    )


def _terms(terms: tuple[Term, ...]) -> tuple[Line, ...]:
    return tuple(
        Line(term.name, f"{term.word}. {term.sentence}", term.where, term.symbol, code=True) for term in terms
    )


def _entries(terms: tuple[Term, ...]) -> tuple[Line, ...]:
    return tuple(
        Line(
            f"{term.word[0].upper()}{term.word[1:]}",
            term.sentence,
            term.where,
            term.symbol,
            near="weighting" if term.name in EXPLAINED else "",
        )
        for term in terms
    )


def _mentioned_names(rows: tuple[mentioned.MentionedName, ...]) -> tuple[Line, ...]:
    there = {entry.slug for entry in pages.discover()}
    return tuple(
        Line(one.name, one.sentence, one.paper, near=next((slug for slug in one.near if slug in there), ""))
        for one in rows
    )


def _tasks() -> tuple[Line, ...]:
    return tuple(
        Line(
            task.name,
            _(
                "{does} Query: {query}. Key: {key}. Value: {value}.",
                does=task.does,
                query=task.query,
                key=task.key,
                value=task.value,
            ),
            task.paper,
        )
        for task in mentioned.TASKS
    )


def _equations() -> tuple[Line, ...]:
    return tuple(
        Line(_(equation.title), _(equation.note), equations.place(equation))
        for equation in EQUATIONS.values()
    )
