"""An equation of the course that can be touched: each symbol tells its word, its shape and where it comes from.

The tree of `viz.course.equations` becomes MathML in the browser, node by node. A tap, or Enter on a symbol that the Tab key
reached, pins what it is below the equation and says so to the page (a DOM event `atlas-mark`, with the symbol and the
name of its tensor), so that a picture that listens can show the same thing. The switch between the documents' columns
and PyTorch's rows holds for every equation of the visit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components import v2

from viz.course.equations import EQUATIONS, Equation, Node, glyph
from viz.languages import _
from viz.shell import state
from viz.sources import SOURCES

COLUMNS, ROWS = "columns", "rows"
Value = str | Sequence[str]

_FOLDER = Path(__file__).parent
_component = v2.component(
    "atlas_equation",
    html='<div class="equation"></div>',
    css=(_FOLDER / "equation_view.css").read_text("utf-8"),
    js=(_FOLDER / "equation_view.js").read_text("utf-8"),
)


def convention() -> str:
    """Return "columns" as in the documents or "rows" as in PyTorch, as the visitor chose for the whole course."""
    return state.read("convention", COLUMNS, state.one_of((COLUMNS, ROWS)))


def show(
    key: str, slug: str, values: Mapping[str, Value] | None = None, marks: Mapping[str, str] | None = None
) -> None:
    """Draw the equation `key` on the page `slug`.

    `values`: this run's numbers by symbol, written in a second line of the same form; a sequence is a vector.
    `marks`: by symbol, which part of the picture it is, in words.

    Raises:
        KeyError: an equation or a symbol that the glossary does not have.
    """
    name = f"equation:{slug}:{key}"
    data = payload(EQUATIONS[key], values or {}, marks or {})
    data["convention"] = convention()

    def store_convention() -> None:
        wanted = (st.session_state.get(name) or {}).get("convention")
        if wanted in (COLUMNS, ROWS):
            state.write(convention=wanted)

    _component(key=name, data=data, height="content", on_convention_change=store_convention)


def payload(equation: Equation, values: Mapping[str, Value], marks: Mapping[str, str]) -> dict[str, Any]:
    """Return an equation as the browser gets it: both trees, the symbols, the numbers. Raises KeyError: a value or mark of an unknown symbol."""
    unknown = [name for name in (*values, *marks) if name not in equation.signs]
    if unknown:
        raise KeyError(
            f"{equation.key} has no symbol {', '.join(unknown)}; it has {', '.join(equation.signs)}"
        )
    signs = {
        name: {
            "glyph": glyph(name),
            "word": _(sign.word),
            "columns": shape_text(sign.columns),
            "rows": shape_text(sign.rows),
            "origin": _(sign.origin),
            "sentence": _(sign.sentence),
            "leaf": sign.leaf,
            "mark": marks.get(name, ""),
            "value": [value] if isinstance(value := values.get(name, []), str) else list(value),
        }
        for name, sign in equation.signs.items()
    }
    return {
        "title": _(equation.title),
        "where": place(equation),
        "note": _(equation.note),
        "signs": signs,
        "columns": _tree(equation.columns),
        "rows": _tree(equation.rows),
        "numbers": bool(values),
        "words": _words(),
    }


def shape_text(shape: str) -> str:
    """Return a shape in the visitor's language: "one word", and "p × n" as it is."""
    return _(shape) if re.search("[a-z]{3}", shape) else shape


def _words() -> dict[str, str]:
    """Return the words of the view itself, as the browser fills them in."""
    return {
        "hint": _("Tap a symbol: what it is, its shape, where it comes from."),
        "columns": _("Columns, as in the slides"),
        "rows": _("Rows, as in PyTorch"),
        "what": _("{word}: what it is", word="{}"),
        "in columns": _("in columns: {shape}", shape="{}"),
        "in rows": _("in rows: {shape}", shape="{}"),
        "from": _("From: {origin}.", origin="{}"),
        "picture": _("In the picture: {part}.", part="{}"),
        "switch": _("One word is a column or a row"),
    }


def place(equation: Equation) -> str:
    """Return the places of an equation in the sources, each with the name of its document."""
    return "; ".join(
        ", ".join(part for part in (SOURCES[document].label, item or section) if part)
        for document, section, item in equation.where
    )


def _tree(node: Node) -> list[Any]:
    """Return a node as the browser reads it: kind, then text or parts.

    >>> _tree(Node("sup", "", (Node("sign", "q"), Node("operator", "⊤"))))
    ['sup', ['sign', 'q'], ['operator', '⊤']]
    """
    if node.kind == "bracket":
        return ["bracket", node.text, *map(_tree, node.parts)]
    return [node.kind, *map(_tree, node.parts)] if node.parts or not node.text else [node.kind, node.text]
