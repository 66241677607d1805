"""The source beside the picture: the real lines that computed an attention, each `tap(...)` joined to its tensor.

Which line makes which tensor is not written down anywhere: one tiny forward pass is watched, and every tap notes the
path it is called for and the line it is called from. The syntax tree then says where each of those calls begins and
ends. So a line that did not run in this model (a branch of local attention, say) has no path, and says so.
"""

from __future__ import annotations

import ast
import inspect
import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

import core.trace
from core.analysis.arithmetic.traced_source import Code, code_of, trace_source
from core.glossary import leaf as glossary
from core.model import Model
from core.models import Kind
from core.run import Run
from core.trace import Edit, matches

ROOT = Path(core.trace.__file__).parents[1]
Span = tuple[str, str]
"""A piece of a line: what kind of token it is ("keyword", "string", "number", "comment", "name", "tap" or "") and its text."""


@dataclass(frozen=True)
class SourceLine:
    """One line of a source file, unchanged.

    `leaf` is the name that is tapped in it, `path` the tensor of this run that it made (None where the line taps
    nothing, or did not run in this model), with its axes and shape. `edits` are those that change that tensor.
    `gap` says that lines were left out before this one.
    """

    file: str
    number: int
    spans: tuple[Span, ...]
    leaf: str | None = None
    path: str | None = None
    axes: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    edits: tuple[str, ...] = ()
    gap: bool = False

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.spans)


@dataclass(frozen=True)
class TensorCard:
    """A tensor in a few numbers: axes and shape, smallest, largest and mean of its finite numbers, the first ones.

    A mask has True as 1. `odd` counts numbers that are not finite.
    """

    path: str
    word: str
    sentence: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    kind: str
    smallest: float
    largest: float
    mean: float
    first: tuple[float, ...]
    odd: int


def tensor_card(run: Run, path: str, first: int = 8) -> TensorCard:
    """Return the facts about one recorded tensor: name, sentence, axes, shape, type, range, its first numbers. Raises KeyError with the nearest paths for one that was not kept."""
    value, term = run.trace[path], glossary(path)
    flat = value.ravel()
    finite = flat[np.isfinite(flat)].astype(np.float64)
    smallest, largest, mean = (
        (float(end) for end in (finite.min(), finite.max(), finite.mean()))
        if finite.size
        else (float("nan"),) * 3
    )
    return TensorCard(
        path,
        term.word if term else path.rpartition(".")[2],
        term.sentence if term else "",
        run.trace.axes(path),
        value.shape,
        str(value.dtype),
        smallest,
        largest,
        mean,
        tuple(float(x) for x in flat[:first]),
        int(flat.size - finite.size),
    )


def source_lines(run: Run, kind: str, layer: int, edits: Sequence[Edit] = ()) -> tuple[SourceLine, ...]:
    """Return the lines that computed one attention of this run, file by file; `edits` are noted at the lines they change."""
    found, seen = run.model.spec.kind(kind), trace_source(run.model)
    scope, sizes = found.path(layer, ""), _sizes(run, found.queries, found.keys)
    tapped = {path: place for path, place in seen.places.items() if path.startswith(scope)}
    lines: list[SourceLine] = []
    for file, numbers in _functions_to_show(
        run.model, found, layer, seen.called, tuple(place.code for place in tapped.values())
    ):
        before = 0
        for number in numbers:
            leaf, last = _taps(file).get(number, (None, number))
            path = next(
                (path for path, at in tapped.items() if at.file == file and number <= at.line <= last), None
            )
            axes = () if path is None else tuple(word for word in tapped[path].axes if word != "batch")
            touched = tuple(repr(edit) for edit in edits if path is not None and matches(path, edit.where))
            lines.append(
                SourceLine(
                    Path(file).relative_to(ROOT).as_posix(),
                    number,
                    _highlight(file)[number - 1],
                    leaf,
                    path,
                    axes,
                    tuple(sizes[word] for word in axes),
                    touched,
                    before != 0 and number > before + 1,
                )
            )
            before = number
    return tuple(lines)


def source_paths(run: Run, kind: str, layer: int) -> tuple[str, ...]:
    """Return the recorded paths of all source lines of an attention, for `keep`: `tensor_card` can describe each."""
    return tuple(line.path for line in source_lines(run, kind, layer) if line.path is not None)


def _sizes(run: Run, queries: str, keys: str) -> dict[str, int]:
    """Return the length of each axis in this run."""
    config = run.model.config
    sides = {name: len(run.axis(name).ids) for name in {"target", queries, keys}}
    return {
        "head": config.n_heads,
        "kv_head": getattr(config, "n_kv_heads", config.n_heads),  # where heads share keys and values
        "query": sides[queries],
        "key": sides[keys],
        "pos": sides[queries if queries in ("source", "target") else keys],
        "sentence": len(run.axis("sentence").ids),
        "d_head": config.d_head,
        "d_model": config.d_model,
        "one": 1,
    }


# ------------------------------------------------------------------------------------------------ what is shown


def _functions_to_show(
    model: Model, kind: Kind, layer: int, called: set[Code], tapping: tuple[Code, ...]
) -> Iterator[tuple[str, list[int]]]:
    """Yield each file with its lines to show: functions that tap, those they call, the score function."""
    module = kind.module(model.network, layer)
    methods = (
        [getattr(type(module.score), name) for name in ("prepare", "compare")]
        if hasattr(module, "score")
        else []
    )
    codes = [
        *tapping,
        *(code_of(method.__code__) for method in methods),
        *(code for each in tapping for code in _helpers(*each) if code in called),
    ]
    for file in dict.fromkeys(file for file, _ in codes):
        yield file, sorted({number for name, line in codes if name == file for number in _lines(file, line)})


@cache
def _helpers(file: str, line: int) -> tuple[Code, ...]:
    """Return the functions of core/layers that a function calls by name."""
    module = import_module(".".join(Path(file).relative_to(ROOT).with_suffix("").parts))
    named = {
        node.func.id
        for node in ast.walk(_function(file, line))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    values = [getattr(module, name, None) for name in sorted(named)]
    return tuple(
        code_of(value.__code__)
        for value in values
        if inspect.isfunction(value) and value.__module__.startswith("core.layers.")
    )


@cache
def _lines(file: str, line: int) -> tuple[int, ...]:
    """Return the numbers of a function's lines without its docstring, and of the `class` line above it."""
    function = _function(file, line)
    owner = [
        node.lineno
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.ClassDef) and function in node.body
    ]
    told = function.body[0] if ast.get_docstring(function) is not None else None
    left_out = range(told.lineno, (told.end_lineno or told.lineno) + 1) if told else ()
    return (
        *owner,
        *(n for n in range(_begins(function), (function.end_lineno or line) + 1) if n not in left_out),
    )


@cache
def _function(file: str, line: int) -> ast.FunctionDef:
    """Return the innermost function around a line; a comprehension counts as part of the function around it."""
    around = (
        node
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.FunctionDef) and _begins(node) <= line <= (node.end_lineno or line)
    )
    return max(around, key=_begins)


def _begins(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


@cache
def _text(file: str) -> str:
    return Path(file).read_text("utf-8")


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(_text(file))


@cache
def _taps(file: str) -> dict[int, tuple[str, int]]:
    """Return, for each line that begins a `tap("leaf", ...)`, the leaf and the last line of the call."""
    calls = (node for node in ast.walk(_tree(file)) if isinstance(node, ast.Call) and _is_tap(node))
    return {
        node.lineno: (str(ast.literal_eval(node.args[0])), node.end_lineno or node.lineno) for node in calls
    }


def _is_tap(node: ast.Call) -> bool:
    named = isinstance(node.func, ast.Name) and node.func.id == "tap"
    return named and len(node.args) == 3 and isinstance(node.args[0], ast.Constant)


# ------------------------------------------------------------------------------------------------ how it is coloured


@cache
def _highlight(file: str) -> tuple[tuple[Span, ...], ...]:
    """Return each line of a file in pieces: keywords, strings, numbers, comments and names as Python's tokenizer finds them."""
    lines = _text(file).splitlines()
    marks: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    for token in tokenize.generate_tokens(io.StringIO(_text(file)).readline):
        kind = _kind(token)
        if kind and token.start[0] <= len(lines):
            for row in range(token.start[0], token.end[0] + 1):
                first = token.start[1] if row == token.start[0] else 0
                last = token.end[1] if row == token.end[0] else len(lines[row - 1])
                marks[row - 1].append((first, last, kind))
    return tuple(tuple(_pieces(line, found)) for line, found in zip(lines, marks, strict=True))


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        return "tap" if token.string == "tap" else "keyword" if keyword.iskeyword(token.string) else ""
    return {tokenize.STRING: "string", tokenize.NUMBER: "number", tokenize.COMMENT: "comment"}.get(
        token.type, ""
    )


def _pieces(line: str, marks: list[tuple[int, int, str]]) -> Iterator[Span]:
    at = 0
    for first, last, kind in marks:
        if first > at:
            yield "", line[at:first]
        yield kind, line[first:last]
        at = last
    if at < len(line):
        yield "", line[at:]
