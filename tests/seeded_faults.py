"""Seed small faults in the code that computes, one at a time, and see which test notices each.

    python -m tests.seeded_faults                                   the list beside this file, each fault on the test that noticed it
    python -m tests.seeded_faults --search                          those of the list that nothing noticed, on all tests that reach them; the list is kept up to date
    python -m tests.seeded_faults --search --only core/scoring -- tests/core/test_gpt_prompts.py
    python -m tests.seeded_faults --list OUT.json --draw 30 --seed 1    another list, of 30 faults, to be searched

A fault is one operator, comparison, sign or small number of one function that is another one. All tests run once to learn which functions
each of them reaches; then for each fault a copy of this process, with the function's code replaced, runs the tests that reach it, the
quickest first, until one fails. A list has a row a fault: the line where it is, as it is written (so that it is found again when the file
changes), what is changed, the test that noticed it, or why no test can: `equivalent`, a reason that a person gave who read it.
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
import resource
import select
import signal
import sys
import time
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
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
LIST = Path(__file__).with_suffix(".json")
SECONDS = 300
"""A fault of a list whose test runs longer hangs."""
MEMORY = 2**30
"""Bytes that a test with a fault may take beyond what the process has: a loop that never ends and collects fails there."""
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
    """One place of one function, and what stands there instead: the `nth` thing that can be changed in its lines that read `line`."""

    path: str
    function: str
    line: str
    nth: int
    change: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.function}"

    def seed(self, function: ast.FunctionDef) -> bool:
        """Change the function in place; return whether the fault still has a place there."""
        there = [node for node in changeable(function) if line_of(self.path, node) == self.line]
        return self.nth < len(there) and change(there[self.nth]) == self.change


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


@cache
def lines(path: str) -> list[str]:
    """Read the lines of a module."""
    return (ROOT / path).read_text("utf-8").splitlines()


def line_of(path: str, node: ast.AST) -> str:
    """Return the line on which a thing begins, without the spaces around it."""
    return lines(path)[node.lineno - 1].strip()  # type: ignore[attr-defined]


def faults_of(path: str) -> Iterator[Fault]:
    """Yield all faults that can be seeded in a module."""
    for function, node in functions(ast.parse("\n".join(lines(path)))):
        before: Counter[str] = Counter()
        for each in changeable(node):
            line = line_of(path, each)
            yield Fault(path, function, line, before[line], change(each))
            before[line] += 1


def seeded(count: int, seed: int) -> list[Fault]:
    """Draw faults evenly over the parts of SCOPE; the same seed gives the same ones."""
    draw, places = random.Random(seed), defaultdict(list)
    for module in modules():
        path = module.relative_to(ROOT).as_posix()
        places[next(part for part in SCOPE if path.startswith(part))] += faults_of(path)
    each = -(-count // len(SCOPE))
    faults = [fault for part in SCOPE for fault in draw.sample(places[part], min(len(places[part]), each))]
    draw.shuffle(faults)
    return faults[:count]


Codes = dict[tuple[str, int], types.CodeType]
Living = dict[str, list[types.FunctionType]]


def compiled(path: str, function: str, edit: Callable[[ast.FunctionDef], object]) -> Codes:
    """Return the code of a function of a module after `edit` of its syntax tree, and of each function in it, by name and line; none where it is no longer there."""
    tree = ast.parse("\n".join(lines(path))) if (ROOT / path).exists() else ast.Module([], [])
    node = dict(functions(tree)).get(function)
    if node is None or edit(node) is False:
        return {}
    pending, codes = [compile(ast.fix_missing_locations(tree), str(ROOT / path), "exec")], {}
    while pending:
        code = pending.pop()
        pending += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        if code.co_qualname == function or code.co_qualname.startswith(f"{function}.<locals>."):
            codes[code.co_qualname, code.co_firstlineno] = code
    return codes


def living() -> Living:
    """List the functions that live, by their file; one search for all, which reads the whole memory."""
    gc.unfreeze()  # what is frozen is not listed
    by_file: Living = defaultdict(list)
    for each in gc.get_objects():
        if type(each) is types.FunctionType and each.__code__.co_filename.startswith(f"{ROOT}/"):
            by_file[each.__code__.co_filename.removeprefix(f"{ROOT}/")].append(each)
    return by_file


def replace(alive: list[types.FunctionType], codes: Codes) -> None:
    """Replace the code of functions that live. A function made by another lives on its own."""
    for each in alive:
        code = codes.get((each.__code__.co_qualname, each.__code__.co_firstlineno))
        if code is not None and code.co_freevars == each.__code__.co_freevars:
            each.__code__ = code


def count_calls(path: str, function: str, alive: list[types.FunctionType]) -> None:
    """Let a function and those in it note that they were reached."""
    note = f"{HITS}.add({f'{path}:{function}'!r})"

    def edit(function: ast.FunctionDef) -> None:
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef):
                node.body[:0] = ast.parse(note).body
            elif isinstance(node, ast.Lambda):
                node.body = ast.BoolOp(ast.Or(), [ast.parse(note, mode="eval").body, node.body])

    replace(alive, compiled(path, function, edit))


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
    """A plugin of pytest that runs all tests once, or the `chosen` ones, and then those that reach a fault, in copies of the process."""

    def __init__(
        self, faults: list[Fault], limit: float, chosen: Collection[str], note: Callable[[Fault, str], object]
    ) -> None:
        self.faults, self.limit, self.chosen, self.note = faults, limit, chosen, note
        self.hits: set[str] = set()
        self.made: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.reached: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.failed = ""
        self.names: dict[pytest.Item, dict[str, Any]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests."""
        items[:] = [item for item in items if not self.chosen or item.nodeid in self.chosen]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """Note what a fixture reaches: of one for several tests only the first sets it up."""
        before = set(self.hits)
        self.hits.clear()
        result = yield
        self.made[fixturedef.argname, fixturedef.baseid] |= self.hits
        self.hits |= before
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails, in its set-up too."""
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests, then the faults."""
        setattr(builtins, HITS, self.hits)
        there = [fault for fault in self.faults if compiled(fault.path, fault.function, fault.seed)]
        for path in {fault.path for fault in there}:
            importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        alive = living()
        for path, function in {(fault.path, fault.function) for fault in there}:
            count_calls(path, function, alive[path])
        items = {item.nodeid: item for item in session.items}
        self.names = {item: dict(item.dtest.globs) for item in session.items if hasattr(item, "dtest")}
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            self.hits.clear()
            self.failed, start = "", time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self.seconds[item.nodeid] = time.perf_counter() - start
            for (name, base), reached in self.made.items():
                if item.nodeid.startswith(base) and name in getattr(item, "fixturenames", ()):
                    self.hits |= reached
            for function in self.hits if not self.failed else ():
                self.reached[function].add(item.nodeid)
        alive = living()
        for fault in self.faults:
            tests = [items[test] for test in sorted(self.reached[fault.name], key=self.seconds.__getitem__)]
            answer = self._noticed(fault, tests, alive) if fault in there else "no longer there"
            self.note(fault, answer)
            print(f"{fault.name} {fault.change} in {fault.line}: {answer}", file=sys.__stderr__, flush=True)
        return True

    def _noticed(self, fault: Fault, tests: list[pytest.Item], alive: Living) -> str:
        """Return the test that fails with a fault and, in the same row of tests, not without it; or why there is none."""
        answer = self._copy(fault, tests, alive) if tests else "reached by no test"
        row = tests[: 1 + next((at for at, test in enumerate(tests) if test.nodeid == answer), -1)]
        return f"{answer} fails without it" if row and "::" in self._copy(None, row, alive) else answer

    def _copy(self, fault: Fault | None, tests: list[pytest.Item], alive: Living) -> str:
        """Run tests in a copy of the process; return the first that fails, "survived N tests", or "time" where they take too long."""
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.close(read)
            self._child(fault, tests, alive, write)
        os.close(write)
        ready, _, _ = select.select([read], [], [], self.limit)
        answer = os.read(read, 2**16).decode() if ready else f"time, {len(tests)} tests"
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return answer or "the process ended"

    def _child(self, fault: Fault | None, tests: list[pytest.Item], alive: Living, write: int) -> None:
        """Run the tests with the fault until one fails, tell it, and end."""
        if fault:
            replace(alive[fault.path], compiled(fault.path, fault.function, fault.seed))
        forget_results()
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        self.failed = ""
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            if item in self.names:  # a doctest forgets its names when it has run
                item.dtest.globs = dict(self.names[item])  # type: ignore[attr-defined]
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException:  # noqa: BLE001 - a fault may break anything
                self.failed = item.nodeid
            if self.failed:
                break
        os.write(write, (self.failed or f"survived {len(tests)} tests").encode())
        os._exit(0)


def main() -> int:
    """Run the command line."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--list", type=Path, default=LIST)
    options.add_argument("--search", action="store_true")
    options.add_argument("--draw", type=int, default=0, help="how many faults of a new list")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="a file or folder")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    given, tests = options.parse_args(words[:split]), words[split + 1 :]
    if given.draw:
        write(given.list, [asdict(fault) for fault in seeded(given.draw, given.seed)])
    rows = json.loads(given.list.read_text("utf-8"))
    asked = {
        Fault(*(row[each.name] for each in fields(Fault))): row
        for row in rows
        if row["path"].startswith(given.only)
        and "equivalent" not in row
        and not (given.search and noticed(row.get("noticed", "")))
    }
    killers = set() if given.search else {row.get("noticed", "") for row in asked.values()}
    files = sorted({killer.partition("::")[0] for killer in killers if "::" in killer})
    results: dict[Fault, str] = {}

    def note(fault: Fault, answer: str) -> None:
        results[fault] = answer
        if given.search:
            asked[fault]["noticed"] = answer
            write(given.list, rows)

    plugin = Seeding(list(asked), 1e9 if given.search else SECONDS, killers, note)
    chosen = tests or (
        TESTS if given.search else [*(each for each in files if (ROOT / each).exists()), "-m", ""]
    )
    pytest.main(["-q", "-p", "no:cacheprovider", *chosen], plugins=[plugin])
    left = [fault for fault in asked if not noticed(results.get(fault, ""))]
    read = sum("equivalent" in row for row in rows)
    print(f"{len(rows)} seeded: noticed {len(asked) - len(left)}, equivalent {read}, left {len(left)}")
    print(*(f"  {each.name} {each.change} in {each.line}: {results.get(each)}" for each in left), sep="\n")
    return int(bool(left))


def noticed(answer: str) -> bool:
    """Return whether an answer is the name of a test."""
    return "::" in answer and not answer.endswith("fails without it")


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a list, a fault a line."""
    each = (json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("[\n" + ",\n".join(each) + "\n]\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
