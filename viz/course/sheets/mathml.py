"""Mathematics on paper: a line of `viz.course.equations.form` as MathML, which every browser sets without a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape

from viz.course.equations.form import GREEK, Node, Sign, glyph, read

UPRIGHT = frozenset(("ln", "log", "BP"))


class _Anything(Mapping[str, Sign]):
    """The symbols of a line that is no entry of the glossary: letters with an index, Greek letters, and a few names."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and ("_" in name or name in GREEK or name in UPRIGHT)

    def __getitem__(self, name: str) -> Sign:
        return Sign(name, "", "", "", "")

    def __iter__(self) -> Iterator[str]:
        return iter((*GREEK, *UPRIGHT))

    def __len__(self) -> int:
        return len(GREEK) + len(UPRIGHT)


def mathml(line: str, *, block: bool = False) -> str:
    """Return a line of mathematics as a MathML `math` element; `block` sets it on a line of its own.

    >>> mathml("a"), mathml("z_1 = 0.5")
    ('<math><mi>a</mi></math>', '<math><mrow><msub><mi>z</mi><mn>1</mn></msub><mo>=</mo><mn>0.5</mn></mrow></math>')

    Raises:
        ValueError: what `viz.course.equations.form.read` cannot read.
    """
    display = ' display="block"' if block else ""
    return f"<math{display}>{_markup(read(line, _Anything()))}</math>"


def prose(text: str) -> str:
    """Return words with mathematics between dollar signs as HTML; everything else is escaped.

    >>> prose("a < $b$")
    'a &lt; <math><mi>b</mi></math>'
    """
    return "".join(
        mathml(part) if place % 2 else escape(part, quote=False) for place, part in enumerate(text.split("$"))
    )


def _markup(node: Node) -> str:
    return _WRITERS[node.kind](node)


def _leaf(tag: str) -> Callable[[Node], str]:
    return lambda node: f"<{tag}>{escape(node.text, quote=False)}</{tag}>"


def _around(tag: str) -> Callable[[Node], str]:
    return lambda node: f"<{tag}>{''.join(map(_markup, node.parts))}</{tag}>"


def _row(node: Node) -> str:
    """Set the parts of a node side by side; a minus sign after another sign belongs to the number that follows: = −2."""
    if len(node.parts) == 1:
        return _markup(node.parts[0])
    before = ("", *(part.text if part.kind == "operator" else "" for part in node.parts))
    drawn = (
        '<mo form="prefix">−</mo>' if sign and (part.kind, part.text) == ("operator", "−") else _markup(part)
        for sign, part in zip(before, node.parts, strict=False)
    )
    return f"<mrow>{''.join(drawn)}</mrow>"


def _operator(node: Node) -> str:
    return '<mo stretchy="false">‖</mo>' if node.text == "‖" else _leaf("mo")(node)


def _name(text: str) -> str:
    """Set an upright name with the space that a function has on both sides."""
    return f'<mspace width="0.17em"/>{text}<mspace width="0.17em"/>'


def _sign(node: Node) -> str:
    letter, accent, index = glyph(node.text)
    made = f"<mi>{letter}</mi>"
    if accent:
        made = f'<mover accent="true">{made}<mo stretchy="false">{accent}</mo></mover>'
    made = f"<msub>{made}{_index(index)}</msub>" if index else made
    return f"<mrow>{_name(made)}</mrow>" if letter in UPRIGHT else made


def _index(text: str) -> str:
    """Set an index such as ij or 1: letters slanted, numbers upright."""
    parts = []
    for part in re.findall(r"\d+|\S", text):
        tag = "mn" if part.isdecimal() else "mi" if part.isalpha() else "mo"
        parts.append(f"<{tag}>{part}</{tag}>")
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _bracket(node: Node) -> str:
    closing = ")" if node.text == "(" else "]"
    return f"<mrow><mo>{node.text}</mo>{_markup(node.parts[0])}<mo>{closing}</mo></mrow>"


def _lines(node: Node) -> str:
    """Set the parts of a node below each other, aligned at the left."""
    rows = (
        f'<mtr><mtd style="text-align: left; text-align: -webkit-left">{_markup(part)}</mtd></mtr>'
        for part in node.parts
    )
    return f'<mtable displaystyle="true">{"".join(rows)}</mtable>'


_WRITERS: dict[str, Callable[[Node], str]] = {
    "sign": _sign,
    "index": _leaf("mi"),
    "number": _leaf("mn"),
    "operator": _operator,
    "name": lambda node: f"<mrow>{_name(f'<mi>{node.text}</mi>')}</mrow>",
    "words": lambda node: f"<mtext>{escape(node.text, quote=False)}&#160;</mtext>",
    "row": _row,
    "bracket": _bracket,
    "frac": _around("mfrac"),
    "sqrt": _around("msqrt"),
    "sup": _around("msup"),
    "sub": _around("msub"),
    "sum": lambda node: f"<munderover><mo>∑</mo>{''.join(map(_markup, node.parts))}</munderover>",
    "lines": _lines,
}
