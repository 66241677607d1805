"""Equations as data: a tree of symbols and operators that is read from one line, and the meaning of each symbol.

The line is plain text with few rules, so that an entry can be read in the source:

    c_i = sum{ j=1 }{ n } a_ij h_j          frac{..}{..} sqrt{..} sum{from}{to}
    q ^T W k        p_t ^2                  ^ and _ behind anything; in a name `_` begins its index: h_t-1, W_Q,i
    ( K ^T q )      [ Z_1 ; Z_h ]           brackets grow with what they hold
    cases{ 0 }{ j <= i }{ -inf }{ j > i }   lines{..}{..}: several equations, one below the other
    "a few words"

A name that the equation's signs hold is a symbol one can ask about; a known function is upright; any other single
letter is an index.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from viz.languages import mark

Place = tuple[str, str, str]
"""Document (a key of the list of sources), section, equation: as the pages' `cites`."""


@dataclass(frozen=True)
class Sign:
    """One symbol: a word for it, its shape where a word is a column and where it is a row, where it comes from, a sentence.

    Shapes are text: "p × 1", or "number". `leaf` is the tensor's name in a trace, where one is recorded.
    """

    word: str
    columns: str
    rows: str
    origin: str
    sentence: str
    leaf: str = ""


@dataclass(frozen=True)
class Node:
    """Node of an equation's tree: `text` for a sign, index, name, number, operator or words; `parts` for every other kind."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        """Yield this node and every node below it."""
        yield self
        for part in self.parts:
            yield from part


@dataclass(frozen=True)
class Equation:
    """Equation of the course in both conventions, with its places in the sources and the meaning of its symbols."""

    key: str
    title: str
    columns: Node
    rows: Node
    where: tuple[Place, ...]
    signs: Mapping[str, Sign]
    note: str = ""

    def form(self, convention: str) -> Node:
        """Return the tree in a convention: "columns" (the sources) or "rows" (PyTorch)."""
        return self.rows if convention == "rows" else self.columns

    def used(self) -> tuple[str, ...]:
        """Return the symbols of both trees in the order of reading, each once."""
        found = (node.text for tree in (self.columns, self.rows) for node in tree if node.kind == "sign")
        return tuple(dict.fromkeys(found))


FUNCTIONS = frozenset(
    (
        "softmax",
        "sigmoid",
        "tanh",
        "relu",
        "exp",
        "log",
        "cos",
        "sin",
        "cosine",
        "similarity",
        "align",
        "score",
        "attention",
        "retrieval",
        "FFN",
        "Var",
        "mean",
        "argmax",
    )
)
COMMANDS = {"frac": 2, "sqrt": 1, "sum": 2, "prod": 2, "cases": 4, "lines": 2}
OPERATORS = {"<=": "≤", "<-": "←", "~=": "≈", "-": "−", "||": "‖"}
GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "lambda": "λ",
    "mu": "μ",
    "sigma": "σ",
    "Pi": "Π",
    "theta": "θ",
    "eta": "η",
    "epsilon": "ε",
}
ACCENTS = {"bar": "¯", "tilde": "~", "hat": "^", "fwd": "→", "bwd": "←"}
_TOKEN = re.compile(
    r'\s*(?:"(?P<words>[^"]*)"|(?P<number>\d+(?:\.\d+)?)'
    r"|(?P<name>[A-Za-z]+'*(?:_[A-Za-z0-9*]+(?:[-+,][A-Za-z0-9]+)*)?)"
    r"|(?P<operator><=|<-|~=|\|\||[^\s\w]))"
)


def read(line: str, signs: Mapping[str, Sign]) -> Node:
    """Parse a line into its tree.

    >>> about = Sign("weight", "number", "number", "", "")
    >>> [node.text for node in read("c = sum{ j=1 }{ n } a_ij v", {"a_ij": about}) if node.kind == "sign"]
    ['a_ij']

    Raises:
        ValueError: a bracket that is not closed, or a name that is neither symbol, function nor single letter.
    """
    tokens = list(_tokens(line))
    row, rest = _row(tokens, signs, "")
    if rest:
        raise ValueError(f"{line!r}: {rest[0][1]!r} closes what nothing opened")
    return row


def glyph(name: str) -> tuple[str, str, str]:
    """Split a name into its letter, the accent above it and its index.

    >>> glyph("sigma"), glyph("htilde_t"), glyph("a_ij"), glyph("Z'_t")
    (('σ', '', ''), ('h', '~', 't'), ('a', '', 'ij'), ("Z'", '', 't'))
    """
    base, _, index = name.partition("_")
    for ending, accent in ACCENTS.items():
        if len(base) == len(ending) + 1 and base.endswith(ending):
            return base[0], accent, index
    return GREEK.get(base, base), "", index


def sign(shape: str, word: str, origin: str, sentence: str, leaf: str = "") -> Sign:
    """Build a symbol from a row of the file. "vector p" is a column in the sources and a row in PyTorch, "matrix p × n" is transposed
    there; any other shape is the same in both, and " | " separates two shapes that differ otherwise.

    >>> sign("vector p", "key", "Eq. (14)", "").rows, sign("matrix p × n", "keys", "", "").rows, sign("number", "n", "", "").rows
    ('1 × p', 'n × p', 'one number')
    """
    kind, _, size = shape.partition(" ")
    if kind == "vector":
        columns, rows = f"{size} × 1", f"1 × {size}"
    elif kind == "matrix":
        columns, rows = size, " × ".join(reversed(size.split(" × ")))
    else:
        columns, _, rows = (mark("one number") if shape == "number" else shape).partition(" | ")
    return Sign(word, columns, rows or columns, origin, sentence, leaf)


def equations(file: Path) -> dict[str, Equation]:
    """Return the equations of a file by their keys.

    `[signs.NAME]` are tables of symbols, each the arguments of `sign`. An equation takes those of `all`, or of the tables in its
    `signs`: a later table's meaning of a symbol goes before an earlier one's. `where` lists places, names of `[places]`, and
    numbers that survey and slides share.
    """
    found = tomllib.loads(file.read_text("utf-8"))
    tables = {name: {key: sign(*row) for key, row in rows.items()} for name, rows in found["signs"].items()}
    places = {name: (*place,) for name, place in found.get("places", {}).items()}
    return {key: _equation(key, tables, places, **entry) for key, entry in found["equations"].items()}


def _equation(
    key: str,
    tables: Mapping[str, Mapping[str, Sign]],
    places: Mapping[str, Place],
    title: str,
    columns: str,
    where: Sequence[int | str | Place],
    rows: str = "",
    signs: Sequence[str] = ("all",),
    note: str = "",
) -> Equation:
    known = {name: sign for table in signs for name, sign in tables[table].items()}
    one, other = read(columns, known), read(rows or columns, known)
    used = dict.fromkeys(node.text for tree in (one, other) for node in tree if node.kind == "sign")
    stands: list[Place] = []
    for at in where:
        stands += (
            both(at)
            if isinstance(at, int)
            else [places[at] if isinstance(at, str) else (at[0], at[1], at[2])]
        )
    return Equation(key, title, one, other, tuple(stands), {name: known[name] for name in used}, note)


SECTIONS = {
    1: "2.2",
    2: "2.3",
    6: "2.4.2",
    13: "2.4.3",
    17: "3.2.1",
    19: "3.2.2",
    23: "3.2.3",
    27: "3.2.4",
    28: "3.3.1",
}
"""The survey's sections by the first equation in each."""


def both(number: int) -> tuple[Place, Place]:
    """Return the places of an equation that both the survey and the slides of the same author print, each with its own number.

    >>> both(28)
    (('ghojogh2020', 'section 3.3.1', 'Eq. (28)'), ('ghojogh2023', '', 'Eq. (27)'))
    """
    section = SECTIONS[max(first for first in SECTIONS if first <= number)]
    return ("ghojogh2020", f"section {section}", f"Eq. ({number})"), (
        "ghojogh2023",
        "",
        f"Eq. ({on_slides(number)})",
    )


def on_slides(number: int) -> int:
    """Return the slides' number of the survey's equation: their (25) holds both mean and deviation, so every later number is one less.

    >>> [on_slides(number) for number in (24, 25, 26, 29)]
    [24, 25, 25, 28]
    """
    return number if number < 26 else number - 1


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    at = 0
    while line[at:].strip():
        match = _TOKEN.match(line, at)
        if match is None or match.lastgroup is None:
            raise ValueError(f"{line!r}: cannot be read from {line[at:]!r} on")
        yield match.lastgroup, match[match.lastgroup]
        at = match.end()


Tokens = list[tuple[str, str]]


def _row(tokens: Tokens, signs: Mapping[str, Sign], closing: str) -> tuple[Node, Tokens]:
    """Parse the tokens up to `closing` into a row node; return it and the tokens after the bracket."""
    nodes: list[Node] = []
    while tokens:
        kind, text = tokens[0]
        if kind == "operator" and text in ("}", ")", "]"):
            if text != closing:
                break
            return Node("row", "", tuple(nodes)), tokens[1:]
        if kind == "operator" and text in ("^", "_") and nodes:
            index, tokens = _small(tokens[1:], signs)
            nodes[-1] = Node("sup" if text == "^" else "sub", "", (nodes[-1], index))
            continue
        node, tokens = _one(tokens, signs)
        nodes.append(node)
    if closing:
        raise ValueError(f"a bracket is not closed: {closing!r} is missing")
    return Node("row", "", tuple(nodes)), tokens


def _one(tokens: Tokens, signs: Mapping[str, Sign]) -> tuple[Node, Tokens]:
    (kind, text), rest = tokens[0], tokens[1:]
    if kind in ("words", "number"):
        return Node(kind, text), rest
    if kind == "operator":
        if text == "{":
            return _row(rest, signs, "}")
        if text in "([":
            inside, rest = _row(rest, signs, ")" if text == "(" else "]")
            return Node("bracket", text, (inside,)), rest
        return Node("operator", OPERATORS.get(text, text)), rest
    if text in COMMANDS and rest and rest[0] == ("operator", "{"):
        parts: list[Node] = []
        while rest and rest[0] == ("operator", "{"):
            part, rest = _row(rest[1:], signs, "}")
            parts.append(part)
        if len(parts) < COMMANDS[text]:
            raise ValueError(f"{text} needs {COMMANDS[text]} groups in braces")
        return Node(text, "", tuple(parts)), rest
    return _name(text, signs), rest


def _name(text: str, signs: Mapping[str, Sign]) -> Node:
    if text in signs:
        return Node("sign", text)
    if text in FUNCTIONS:
        return Node("name", text)
    if text == "inf":
        return Node("number", "∞")
    if len(text) > 1:
        raise ValueError(
            f"{text!r} is neither a symbol of this equation, nor a function, nor a single letter"
        )
    return Node("index", text)


def _small(tokens: Tokens, signs: Mapping[str, Sign]) -> tuple[Node, Tokens]:
    """Parse a superscript or subscript: a group in braces or one token; T as superscript is the transpose."""
    if tokens and tokens[0] == ("name", "T"):
        return Node("operator", "⊤"), tokens[1:]
    return _one(tokens, signs)
