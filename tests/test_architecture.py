"""The shape of the house: which folder may import which, how long a file may be, what may never be written."""

from __future__ import annotations

import ast
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


@pytest.mark.parametrize("path", [p for p in PYTHON if _name(p).startswith("core/")], ids=_name)
def test_core_knows_no_screen(path: Path) -> None:
    assert not _tops(path) & (SCREEN | {"viz", "app", "transformers"})


@pytest.mark.parametrize("path", [p for p in PYTHON if _name(p).startswith("viz/")], ids=_name)
def test_viz_knows_no_server_and_no_oracle(path: Path) -> None:
    assert not _tops(path) & {"app", "transformers", "tests"}


@pytest.mark.parametrize("path", sorted((ROOT / "viz" / "figures").glob("*.py")), ids=_name)
def test_figures_are_pure(path: Path) -> None:
    assert not _tops(path) & {"streamlit", "torch", "core", "random"}
    ours = {name for name in _imports(path) if name.startswith("viz.")}
    allowed = ("viz.theme", "viz.labels", "viz.figures")
    assert all(name.startswith(allowed) for name in ours), ours


@pytest.mark.parametrize("path", [ROOT / "viz" / f"{name}.py" for name in ("pages", "sources", "theme", "labels")],
                         ids=_name)
def test_the_lower_floor_of_viz_draws_nothing(path: Path) -> None:
    assert "streamlit" not in _tops(path)
    assert not any(name.startswith(("viz.ui", "viz.instruments", "viz.figures")) for name in _imports(path))


@pytest.mark.parametrize("path", PYTHON + BROWSER, ids=_name)
def test_no_file_hides_a_part(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST


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


@pytest.mark.parametrize("path", [p for p in PYTHON if "component(" in p.read_text("utf-8")], ids=_name)
def test_components_are_registered_with_constant_code(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("component"):
            inside = [part for argument in [*node.args, *(k.value for k in node.keywords)] for part in ast.walk(argument)]
            assert not any(isinstance(part, ast.JoinedStr) for part in inside)


def test_one_version() -> None:
    import tomllib

    import core

    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"] == core.__version__
