"""Assertions bind numbers and behaviour: how many still quote a sentence of the screen or read a chart's layer by its number.

Both counts may fall at any time and may not rise; `python tests/test_quotes.py` prints every place. What counts as a quote, what does
not, and what to write instead is in tests/README.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUOTES = {"attacks": 0, "browser": 0, "viz": 0}
"""How many assertions of a folder may still quote four words of prose."""
LAYERS = 0
"""How many reads of a chart's layer by its number there may still be."""
WORDS = 4
WORD = re.compile(r"[“„‘\"'(*]*[^\W\d_]+(?:['’-][^\W\d_]+)*[”“’\"'),.;:?!*…]*")
READERS = {"startswith", "endswith", "count", "index", "find", "partition", "rpartition", "split", "rsplit"}
PATTERNS = {"search", "match", "fullmatch", "findall", "compile", "sub"}
EXPECTED = {"to_have_text", "to_contain_text", "not_to_have_text", "not_to_contain_text", "get_by_text"}
VALUES = {"states", "stating"}
"""Functions of tests/shown_values.py: a value may be a number with its unit and three words of the field, no sentence."""
LAYERED = re.compile(r"\b(chart|layers)\(|\[.layer.\]")
DRAWN = {"chart", "layers"}
"""Functions of tests that return the layers of a chart as a list."""


def prose(node: ast.AST) -> bool:
    """Return whether a node is a text with four words or more; what an f-string fills in is none.

    >>> prose(ast.parse("'the rows add up'", mode="eval").body), prose(ast.parse("f'{a} rows of {b}'", mode="eval").body)
    (True, False)
    """
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "0" for part in node.values]
    else:
        parts = [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
    return sum(bool(WORD.fullmatch(word)) for word in "".join(map(str, parts)).split()) >= WORDS


def texts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the texts that an operand consists of: its own, those of a list or a sum, but not arguments of calls."""
    if isinstance(node, ast.Constant | ast.JoinedStr):
        yield node
    elif not isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
        for part in ast.iter_child_nodes(node):
            yield from texts(part)


def function_name(node: ast.Call) -> str:
    """Return the last part of the name of a function that is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def quotes(tree: ast.AST) -> list[ast.AST]:
    r"""List the texts of four words that assertions compare with something, search in it, or expect on the screen.

    A text that the file also gives to the product, as a sentence to read or the name of a thing, is data and no quote.

    >>> source = "assert 'one two three four' in page('she has a red car') and x.startswith('a b c d')"
    >>> [ast.unparse(node) for node in quotes(ast.parse(source))]
    ["'one two three four'", "'a b c d'"]
    >>> source += "\nexpect(y).to_have_text('a b c d e')\nassert box.value == 'she has a red car'"
    >>> [ast.unparse(node) for node in quotes(ast.parse(source))]
    ["'one two three four'", "'a b c d'", "'a b c d e'"]
    """
    found: dict[int, ast.AST] = {}
    nodes = list(ast.walk(tree))
    for claim in nodes:
        if isinstance(claim, ast.Call) and function_name(claim) in EXPECTED | VALUES:
            found |= {id(text): text for each in claim.args for text in texts(each) if prose(text)}
        for node in ast.walk(claim.test) if isinstance(claim, ast.Assert) else ():
            operands: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                operands = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and function_name(node) in READERS | PATTERNS:
                operands = node.args[:1]
            elif isinstance(node, ast.comprehension):
                operands = [node.iter]
            found |= {id(text): text for each in operands for text in texts(each) if prose(text)}
    data = {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in found
    }
    return [
        node
        for node in found.values()
        if not (isinstance(node, ast.Constant) and any(node.value in text for text in data))
    ]


def layer_reads(tree: ast.AST) -> list[ast.AST]:
    """List the places that read a layer of a chart by its number, or unpack its layers by their order.

    >>> source = "def test():\\n    a, b = chart(test)\\n    c = spec['layer']\\n    d = c[2]['data'], chart(test, 1)[-1], c[place], e[2]"
    >>> [ast.unparse(node) for node in layer_reads(ast.parse(source))]
    ['a, b = chart(test)', 'c[2]', 'chart(test, 1)[-1]']
    """
    found: dict[int, ast.AST] = {}
    for scope in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        names: set[str] = set()

        def layered(node: ast.AST, names: set[str] = names) -> bool:
            if isinstance(node, ast.Call):
                return function_name(node) in DRAWN
            if isinstance(node, ast.Subscript):
                return isinstance(node.slice, ast.Constant) and node.slice.value == "layer"
            if isinstance(node, ast.ListComp | ast.GeneratorExp):
                return layered(node.generators[0].iter)
            return isinstance(node, ast.Name) and node.id in names

        nodes = list(ast.walk(scope))
        for node in (node for node in nodes if isinstance(node, ast.Assign)):
            for target in node.targets if layered(node.value) else ():
                if isinstance(target, ast.Name):
                    names.add(target.id)
                elif isinstance(target, ast.Tuple):
                    found[id(node)] = node
        for node in nodes:
            if isinstance(node, ast.Subscript) and layered(node.value) and numbered(node.slice):
                found[id(node)] = node
    return sorted(found.values(), key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]


def numbered(index: ast.AST) -> bool:
    """Return whether an index or a slice is written with numbers."""
    if isinstance(index, ast.Slice):
        return any(numbered(part) for part in (index.lower, index.upper) if part)
    index = index.operand if isinstance(index, ast.UnaryOp) else index
    return isinstance(index, ast.Constant) and isinstance(index.value, int)


@cache
def survey() -> tuple[list[str], list[str]]:
    """Return every place of a quote and of a read by number: file, line and text."""
    found: tuple[list[str], list[str]] = ([], [])
    for path in sorted(path for home in QUOTES for path in (ROOT / "tests" / home).rglob("*.py")):
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        reads = layer_reads(tree) if LAYERED.search(text) else []
        for places, nodes in zip(found, (quotes(tree), reads), strict=True):
            places += [
                f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)[:160]}"  # type: ignore[attr-defined]
                for node in nodes
            ]
    return found


def test_assertions_bind_no_more_prose_and_no_more_layers() -> None:
    quoted, layers = survey()
    for home, allowed in QUOTES.items():
        places = [place for place in quoted if place.startswith(f"tests/{home}/")]
        assert len(places) <= allowed, "\n".join([f"{allowed} quotes allowed; see tests/README.md:", *places])
    assert len(layers) <= LAYERS, "\n".join([f"{LAYERS} reads allowed; see tests/README.md:", *layers])


if __name__ == "__main__":
    for title, places in zip(("quotes", "layers by number"), survey(), strict=True):
        print(f"{len(places)} {title}", *(places if sys.argv[1:] != ["count"] else ()), sep="\n")
