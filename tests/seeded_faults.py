"""Seed small faults in the code that computes, one at a time, and see which test notices each.

    python -m tests.seeded_faults OUT.json                          300 faults by seed 0, tests of tests/core, tests/reference and core
    python -m tests.seeded_faults OUT.json --count 30 --seed 1 -- tests/core -m "not bench"
    python -m tests.seeded_faults OUT.json --again                  those of OUT.json that no test noticed, on all tests that reach them, without a limit
    python -m tests.seeded_faults OUT.json --again --only core/scoring -- tests/core/test_prompts.py

A fault is one operator, comparison, sign or small number of one function that is another one. All tests run once to learn which functions
each of them reaches; then for each fault a copy of this process, with the function's code replaced, runs the tests that reach it, the
quickest first, until one fails. OUT.json has a row a fault: where, what, the test that noticed it, or "survived".
"""

from __future__ import annotations

import argparse
import ast
import builtins
import gc
import importlib
import json
import os
import random
import re
import select
import signal
import sys
import time
import types
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCOPE = (
    "core/maths.py",
    "core/analysis",
    "core/layers",
    "core/decoding",
    "core/scoring",
    "core/checkpoints/foreign",
    "viz/course",
)
"""Where faults are seeded; of viz/course only modules that draw nothing: those that import no part of the screen; a promise is itself a test."""
SCREEN = re.compile(
    r"^\s*(from|import) (streamlit|altair|viz\.(charts|instruments|widgets|shell|platform))\b", re.M
)
TESTS = ["tests/core", "tests/reference", "core", "-m", "not slow and not bench and not browser"]
SECONDS = 60
"""A fault whose tests run longer has been noticed by nobody, or hangs: "survived" says how many tests were run."""
OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
HITS = "_functions_reached"


@dataclass(frozen=True)
class Fault:
    """One place of one function, and what stands there instead: the `at`-th thing in it that can be changed."""

    path: str
    function: str
    line: int
    at: int
    change: str


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes, with their qualified names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from (
                (f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, ast.FunctionDef)
            )


def changeable(function: ast.FunctionDef) -> list[ast.AST]:
    """List the operators, comparisons, signs and small numbers in the body of a function, in their order."""
    messages = {
        id(node)
        for raised in ast.walk(function)
        if isinstance(raised, ast.Raise)
        for node in ast.walk(raised)
    }
    messages |= {
        id(node) for text in ast.walk(function) if isinstance(text, ast.JoinedStr) for node in ast.walk(text)
    }
    nodes = []
    for statement in function.body:
        for node in ast.walk(statement):
            if id(node) in messages:
                continue
            operator = getattr(node, "op", None) or (getattr(node, "ops", None) or [None])[0]
            small = isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value <= 2
            sign = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
            if small or sign or type(operator) in OTHER:
                nodes.append(node)
    return nodes


def change(node: ast.AST) -> str:
    """Change a node in place; return what was done."""
    if isinstance(node, ast.Constant):
        node.value += 1
        return f"{node.value - 1} -> {node.value}"
    if isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd()
        return "- -> +"
    operators = node.ops if isinstance(node, ast.Compare) else [node.op]  # type: ignore[attr-defined]
    old, operators[0] = operators[0], OTHER[type(operators[0])]()
    if not isinstance(node, ast.Compare):
        node.op = operators[0]  # type: ignore[attr-defined]
    return f"{type(old).__name__} -> {type(operators[0]).__name__}"


def modules() -> list[Path]:
    """List the modules in which faults are seeded."""
    found = []
    for name in SCOPE:
        place = ROOT / name
        for path in [place] if place.suffix else sorted(place.rglob("*.py")):
            drawing = name == "viz/course" and SCREEN.search(path.read_text("utf-8"))
            if not drawing and path.name != "promises.py":
                found.append(path)
    return found


def seeded(count: int, seed: int) -> list[Fault]:
    """Draw faults evenly over the parts of SCOPE; the same seed gives the same ones."""
    draw, places = random.Random(seed), defaultdict(list)
    for path in modules():
        name = str(path.relative_to(ROOT))
        part = next(part for part in SCOPE if name.startswith(part))
        for function, node in functions(ast.parse(path.read_text("utf-8"))):
            places[part] += [(name, function, each.lineno, at) for at, each in enumerate(changeable(node))]  # type: ignore[attr-defined]
    faults = []
    for part in SCOPE:
        for name, function, line, at in draw.sample(
            places[part], min(len(places[part]), -(-count // len(SCOPE)))
        ):
            tree = ast.parse((ROOT / name).read_text("utf-8"))
            node = next(node for found, node in functions(tree) if found == function)
            faults.append(Fault(name, function, line, at, change(changeable(node)[at])))
    draw.shuffle(faults)
    return faults[:count]


Codes = dict[tuple[str, int], types.CodeType]


def compiled(path: str, function: str, edit: Any) -> Codes:
    """Return the code of a function of a module after `edit` of its syntax tree, and of each function in it, by name and line."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    edit(next(node for name, node in functions(tree) if name == function))
    pending, codes = [compile(ast.fix_missing_locations(tree), str(ROOT / path), "exec")], {}
    while pending:
        code = pending.pop()
        pending += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        if code.co_qualname == function or code.co_qualname.startswith(f"{function}.<locals>."):
            codes[code.co_qualname, code.co_firstlineno] = code
    return codes


def replace(path: str, codes: Codes) -> int:
    """Replace the code of all functions that live; return how many. A function made by another lives on its own."""
    gc.unfreeze()  # what is frozen is not listed
    count = 0
    for each in gc.get_objects():
        if type(each) is types.FunctionType and each.__code__.co_filename == str(ROOT / path):
            code = codes.get((each.__code__.co_qualname, each.__code__.co_firstlineno))
            if code is not None and code.co_freevars == each.__code__.co_freevars:
                each.__code__ = code
                count += 1
    return count


def count_calls(path: str, function: str) -> bool:
    """Let a function and those in it note that they were reached; return whether it lives."""
    importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    note = f"{HITS}.add({f'{path}:{function}'!r})"

    def edit(function: ast.FunctionDef) -> None:
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef):
                node.body[:0] = ast.parse(note).body
            elif isinstance(node, ast.Lambda):
                node.body = ast.BoolOp(ast.Or(), [ast.parse(note, mode="eval").body, node.body])

    return replace(path, compiled(path, function, edit)) > 0


def forget_results() -> None:
    """Drop what was computed by the code without the fault."""
    from core.serving import engine

    engine._default = None
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("core", "viz", "tests"):
            for value in list(vars(module).values()):
                if callable(getattr(value, "cache_clear", None)):
                    value.cache_clear()


class Seeding:
    """A plugin of pytest that runs all tests once, and then those that reach a fault, in copies of the process."""

    def __init__(self, faults: list[Fault], out: Path, limit: float) -> None:
        self.faults, self.out, self.limit = faults, out, limit
        self.reached: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.failed = ""
        self.names: dict[pytest.Item, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails, in its set-up too."""
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests, then the faults."""
        hits: set[str] = set()
        setattr(builtins, HITS, hits)
        wanted = {(fault.path, fault.function) for fault in self.faults}
        hidden = {f"{path}:{function}" for path, function in wanted if not count_calls(path, function)}
        items = {item.nodeid: item for item in session.items}
        self.names = {item: dict(item.dtest.globs) for item in session.items if hasattr(item, "dtest")}
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            hits.clear()
            self.failed, start = "", time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self.seconds[item.nodeid] = time.perf_counter() - start
            for function in hits if not self.failed else ():
                self.reached[function].add(item.nodeid)
        rows = []
        for fault in self.faults:
            name = f"{fault.path}:{fault.function}"
            tests = sorted(self.reached[name], key=self.seconds.__getitem__)
            noticed = (
                "no longer there" if name in hidden else self._notice(fault, [items[test] for test in tests])
            )
            rows.append(asdict(fault) | {"tests": len(tests), "noticed": noticed})
            self.out.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
            print(
                f"{fault.path}:{fault.line} {fault.function} {fault.change}: {noticed}",
                file=sys.__stderr__,
                flush=True,
            )
        return True

    def _notice(self, fault: Fault, items: list[pytest.Item]) -> str:
        """Return the test that notices a fault, "survived N tests", or "time" where they take too long."""
        if not items:
            return "reached by no test"
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.close(read)
            self._child(fault, items, write)
        os.close(write)
        ready, _, _ = select.select([read], [], [], self.limit)
        answer = os.read(read, 2**16).decode() if ready else f"time, {len(items)} tests"
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return answer or "the process ended"

    def _child(self, fault: Fault, items: list[pytest.Item], write: int) -> None:
        """Run the tests with the fault until one fails, tell it, and end."""
        codes = compiled(fault.path, fault.function, lambda node: change(changeable(node)[fault.at]))
        replace(fault.path, codes)
        forget_results()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        self.failed = ""
        for item, following in zip(items, [*items[1:], None], strict=True):
            if item in self.names:  # a doctest forgets its names when it has run
                item.dtest.globs = dict(self.names[item])  # type: ignore[attr-defined]
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException as error:  # noqa: BLE001 - a fault may break anything
                self.failed = f"{item.nodeid} ({type(error).__name__})"
            if self.failed:
                break
        os.write(write, (self.failed or f"survived {len(items)} tests").encode())
        os._exit(0)


def main() -> int:
    """Run the command line."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("out", type=Path)
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--again", action="store_true")
    options.add_argument("--only", default="", help="a file or folder")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    given, tests = options.parse_args(words[:split]), words[split + 1 :]
    limit = float(SECONDS)
    if given.again:
        rows = json.loads(given.out.read_text("utf-8"))
        names = [field.name for field in fields(Fault)]
        faults = [Fault(*(row[name] for name in names)) for row in rows if "::" not in row["noticed"]]
        given.out, limit = given.out.with_suffix(".again.json"), 1e9
    else:
        faults = seeded(given.count, given.seed)
    faults = [fault for fault in faults if fault.path.startswith(given.only)]
    plugin = Seeding(faults, given.out, limit)
    pytest.main(["-q", "-p", "no:cacheprovider", *(tests or TESTS)], plugins=[plugin])
    rows = json.loads(given.out.read_text("utf-8"))
    left = [row for row in rows if "::" not in row["noticed"]]
    print(
        f"{len(rows) - len(left)} of {len(rows)} faults were noticed", *(f"  {row}" for row in left), sep="\n"
    )
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
