"""Homework: questions whose answers are computed when they are asked, never stored.

A question holds a function that does what it asks about, with the layers of the house, and gives what came out. An
answer is right if it says the same: one of the choices, a number that is near enough, or an expression that has the
same value wherever it is tried.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from core.errors import InputError
from viz.languages import _, mark
from viz.number_text import signed

Truth = Callable[[], Any]
_SAMPLES = ((3.0, 5.0, 2.0), (7.0, 2.0, 4.0), (4.0, 9.0, 3.0), (6.0, 6.0, 6.0))
_SHARES = ((0.2, 0.3), (0.45, 0.1), (0.05, 0.4), (0.25, 0.25))


@dataclass(frozen=True)
class HomeworkQuestion:
    """One question. `truth` computes the answer, `explanation` says in words what was computed, with {} for it.

    A choice has `options`; a number is right within `near`; an expression is tried with several values of its `letters`,
    and `truth` gives the function of them (`shares`: they stand for weights below a half). `page` is the slug of the exhibit that shows it.
    """

    key: str
    group: str
    text: str
    truth: Truth
    explanation: str
    page: str
    options: tuple[str, ...] = ()
    near: float = 0.0
    letters: tuple[str, ...] = ()
    shares: bool = False

    @property
    def kind(self) -> str:
        """Return "choice", "expression" or "number"."""
        return "choice" if self.options else "expression" if self.letters else "number"


def answered(truth: Truth, options: tuple[str, ...] = (), **right: Any) -> Callable[..., HomeworkQuestion]:
    """Return a constructor of questions with this answer; their words are added later."""
    return partial(HomeworkQuestion, truth=truth, options=options, **right)


def right(question: HomeworkQuestion, answer: str, truth: Any) -> bool:
    """Return whether an answer agrees with the computed one.

    >>> ask = HomeworkQuestion("half", "", "", lambda: 0.5, "", "", near=0.01)
    >>> [right(ask, text, ask.truth()) for text in ("0.5", "1/2", "50%", "0.6")]
    [True, True, True, False]

    Raises:
        InputError: the answer is no number and no expression.
    """
    if question.kind == "choice":
        return answer == truth
    if question.kind == "number":
        return abs(evaluate(answer, {}) - truth) <= question.near
    tries = [
        dict(zip(question.letters, row, strict=False)) for row in (_SHARES if question.shares else _SAMPLES)
    ]
    return all(
        math.isclose(evaluate(answer, values), float(truth(**values)), rel_tol=1e-9, abs_tol=1e-12)
        for values in tries
    )


_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_NAMES = {"e": math.e, "pi": math.pi}
_CALLS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "ln": math.log,
}
_SPELLED = {"−": "-", "·": "*", "×": "*", "²": "**2", "^": "**", ",": ".", "%": "/100"}
LONGEST = 80
_RULE = mark("Numbers, + - * / ^, brackets, sqrt, exp, log and the letters of the question can be used.")


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """Evaluate a short expression; nothing but arithmetic is possible.

    >>> evaluate("2 n^2 + sqrt(p)", {"n": 3.0, "p": 4.0}), evaluate("50%", {}), evaluate("2,5", {})
    (20.0, 0.5, 2.5)

    Raises:
        InputError: too long, not arithmetic, an unknown letter, or a value that is not a finite number.
    """
    try:
        tree = ast.parse(_spelled(text, values), mode="eval")
        found = _value(tree.body, values)
        if isinstance(found, complex) or not math.isfinite(found):
            raise ValueError("no finite number")
        return float(found)
    except (SyntaxError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError):
        letters = _(" The letters are {letters}.", letters=", ".join(values)) if values else ""
        raise InputError(
            _("This answer cannot be calculated."), _(_RULE) + letters, _("Write it like 1/3 or 2*n^2.")
        ) from None


def _spelled(text: str, values: Mapping[str, float]) -> str:
    """Convert common spellings to Python: ^ for powers, a comma or a percent sign, 2n or m n for a product."""
    if len(text) > LONGEST:
        raise ValueError("too long")
    for sign, spelled in _SPELLED.items():
        text = text.replace(sign, spelled)
    text = text.strip()
    made = ""
    for letter in text:  # a number in front of a letter is a factor
        before, gap = made.rstrip()[-1:], made[-1:] == " "
        if (letter.isalpha() and (before.isdigit() or before == ")")) or (
            gap and letter.isalnum() and before.isalnum()
        ):
            made += "*"
        made += letter
    return made


def _value(node: ast.AST, values: Mapping[str, float]) -> float:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        return float(node.value)
    if isinstance(node, ast.Name):
        known = {**_NAMES, **values}
        if node.id not in known:
            raise ValueError(f"unknown letter {node.id}")
        return known[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inside = _value(node.operand, values)
        return -inside if isinstance(node.op, ast.USub) else inside
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _CALLS
        and len(node.args) == 1
    ):
        return _CALLS[node.func.id](_value(node.args[0], values))
    raise ValueError("not arithmetic")


def answer_text(question: HomeworkQuestion, truth: Any) -> str:
    """Return the computed answer in words.

    >>> answer_text(HomeworkQuestion("a", "", "", lambda: 0.5, "It is {}.", "", near=0.1), 0.5)
    'It is 0.5.'
    """
    if question.kind == "expression":
        values = dict(zip(question.letters, (_SHARES if question.shares else _SAMPLES)[0], strict=False))
        shown = ", ".join(f"{name} = {value:g}" for name, value in values.items())
        said = _("{value} for {letters}", value=signed(truth(**values), ".6g"), letters=shown)
    else:
        said = signed(truth, ".6g") if question.kind == "number" else _(truth)
    return _(question.explanation).format(said)
