"""The shape of the house: which folder may import which, how long a file may be, what may never be written."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sorted([*(ROOT / "core").rglob("*.py"), *(ROOT / "viz").rglob("*.py"), ROOT / "app.py"])
BROWSER = sorted([*(ROOT / "viz").rglob("*.js"), *(ROOT / "viz").rglob("*.css")])
SCREEN = {"streamlit", "plotly", "altair"}
LONGEST = 300


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def _imports(path: Path) -> set[str]:
    """Every module a file imports, dotted and absolute."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = _name(path.parent).split("/")
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


def _tops(path: Path) -> set[str]:
    return {name.split(".")[0] for name in _imports(path)}


def test_core_knows_no_screen() -> None:
    foreign = {_name(path): _tops(path) & (SCREEN | {"viz", "app", "transformers"}) for path in PYTHON if _name(path).startswith("core/")}
    assert {name: found for name, found in foreign.items() if found} == {}


def test_viz_knows_no_server_and_no_oracle() -> None:
    foreign = {_name(path): _tops(path) & {"app", "transformers", "tests"} for path in PYTHON if _name(path).startswith("viz/")}
    assert {name: found for name, found in foreign.items() if found} == {}


def test_figures_are_pure() -> None:
    allowed = ("viz.theme", "viz.labels", "viz.figures")
    foreign = {_name(path): [name for name in _imports(path) if name.split(".")[0] in ("streamlit", "torch", "core", "random") or (name.startswith("viz.") and not name.startswith(allowed))]
               for path in (ROOT / "viz" / "figures").glob("*.py")}
    assert {name: found for name, found in foreign.items() if found} == {}


def test_the_lower_floor_of_viz_draws_nothing() -> None:
    drawing = ("streamlit", "viz.ui", "viz.instruments", "viz.figures")
    foreign = {name: [found for found in _imports(ROOT / "viz" / f"{name}.py") if found.startswith(drawing)] for name in ("pages", "sources", "theme", "labels")}
    assert {name: found for name, found in foreign.items() if found} == {}


def test_no_file_hides_a_part() -> None:
    lengths = {_name(path): len(path.read_text("utf-8").splitlines()) for path in PYTHON + BROWSER}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_the_frame_is_a_frame() -> None:
    assert len((ROOT / "viz" / "frame.py").read_text("utf-8").splitlines()) < 40


NEVER = {
    r"\b(inner|outer)HTML\b": "text of visitors would become markup",
    r"insertAdjacentHTML|document\.write|(?<![.\w])eval\(": "the same, by another door",
    r"unsafe_allow_(html|javascript)": "tokens such as <s> are normal here",
    r"\bst\.(iframe|html)\(|components\.v1": "runs with the app's rights",
    r"(src|href|url)\s*[=(]\s*[\"']?https?://": "no request may leave the server",
    r"trust_remote_code\s*=\s*True": "no code comes from a checkpoint",
    r"register_(full_)?(forward|backward)_(pre_)?hook|functional_call": "a shared model has no state of a visitor",
}


@pytest.mark.parametrize("pattern", NEVER)
def test_never_written(pattern: str) -> None:
    found = [f"{_name(path)}:{number}" for path in PYTHON + BROWSER
             for number, line in enumerate(path.read_text("utf-8").splitlines(), 1) if re.search(pattern, line)]
    assert not found, NEVER[pattern]


def test_components_are_registered_with_constant_code() -> None:
    for path in (path for path in PYTHON if "component(" in path.read_text("utf-8")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("component"):
                inside = [part for argument in [*node.args, *(k.value for k in node.keywords)] for part in ast.walk(argument)]
                assert not any(isinstance(part, ast.JoinedStr) for part in inside), f"{_name(path)}:{node.lineno}"


def test_one_version() -> None:
    import tomllib

    import core

    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"] == core.__version__
