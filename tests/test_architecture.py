"""The shape of the house: which folder may import which, and what may never be written."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_vocabulary import all_statements

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sorted([*(ROOT / "core").rglob("*.py"), *(ROOT / "viz").rglob("*.py"), ROOT / "app.py"])
BROWSER = sorted([*(ROOT / "viz").rglob("*.js"), *(ROOT / "viz").rglob("*.css")])
SCREEN = {"streamlit", "plotly", "altair"}
CORE = """
errors wording maths glossary trace masks text data layers models abilities run
model edits checkpoints decoding analysis scoring training jobs serving reading tools
"""
FLOORS = CORE.split()
"""The files and folders of `core` from the ground up: each takes from itself and from what stands before it."""

VIZ = """
languages labels number_text theme memo limits sources exhibit_text charts instruments
classroom uploads platform shell widgets course export workspace menu pages application frame __main__
"""
VIZ_FLOORS = VIZ.split()
"""The same of `viz`."""


def _made_of(part: str) -> list[Path]:
    """The files called so, and those in folders called so: `charts.py`, `charts/causal.py`."""
    return [path for path in PYTHON if part in (*path.relative_to(ROOT).parts[:-1], path.stem)]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def _text(path: Path) -> str:
    return path.read_text("utf-8")


@functools.cache
def _statements(path: Path) -> list[ast.Import | ast.ImportFrom | ast.Assign]:
    """Return what a file imports and what it gives to an attribute, wherever it stands; each file is parsed once for all tests."""
    return [
        node
        for node in all_statements(ast.parse(_text(path)).body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (
            isinstance(node, ast.Assign) and any(isinstance(target, ast.Attribute) for target in node.targets)
        )
    ]


@functools.cache
def _imports(path: Path) -> set[str]:
    """Every module a file imports, dotted and absolute."""
    found: set[str] = set()
    for node in _statements(path):
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


def nonempty(places: dict[str, Any]) -> dict[str, Any]:
    """What is not empty, by file."""
    return {name: wrong for name, wrong in places.items() if wrong}


@pytest.mark.parametrize(
    ("home", "unknown"),
    [("core", SCREEN | {"viz", "app", "transformers"}), ("viz", {"app", "transformers", "tests"})],
)
def test_core_knows_no_screen_and_viz_no_server_and_no_oracle(home: str, unknown: set[str]) -> None:
    assert (
        nonempty(
            {_name(path): _tops(path) & unknown for path in PYTHON if _name(path).startswith(f"{home}/")}
        )
        == {}
    )


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def _taken(home: str) -> dict[str, set[str]]:
    """The modules of `core` or of `viz`, and which of the others each imports: at its head, in a function, or for types only."""
    modules = {_dotted(path): path for path in PYTHON if _name(path).startswith(f"{home}/")}

    def module(name: str) -> str:
        return name if name in modules or not name else module(name.rpartition(".")[0])

    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        nodes = _statements(path)
        assert not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes), (
            f"{name} has a relative import"
        )
        taken = [
            f"{node.module}.{alias.name}"
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
        taken += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        found[name] = {module(one) for one in taken if one.split(".")[0] == home} - {name}
    return found


@pytest.mark.parametrize("home", ["core", "viz"])
def test_there_is_no_circle(home: str) -> None:
    """Whoever reads a file need know only files that do not know this one."""
    left = dict(_taken(home))
    while low := {name for name, taken in left.items() if not taken & left.keys()}:
        left = {name: taken for name, taken in left.items() if name not in low}
    assert left == {}


@pytest.mark.parametrize(("home", "floors"), [("core", FLOORS), ("viz", VIZ_FLOORS)])
def test_it_is_built_from_the_ground_up(home: str, floors: list[str]) -> None:
    """A folder takes from those before it."""
    floor = {name: place for place, name in enumerate(floors)}
    part = {name: name.split(".")[1] for name in _taken(home) if name != home}
    assert {*part.values()} == {*floors}
    wrong = {
        f"{name} takes {taken}"
        for name in part
        for taken in _taken(home)[name]
        if (home == "core" if taken == home else floor[part[taken]] > floor[part[name]])
    }
    assert not wrong
    if home == "core":
        assert ", ".join(FLOORS) in " ".join((ROOT / "core" / "__init__.py").read_text("utf-8").split())


def test_figures_are_pure() -> None:
    def strange(name: str) -> bool:
        ours = name.startswith(
            ("viz.theme", "viz.labels", "viz.languages", "viz.number_text", "viz.memo")
        ) or "charts" in name.split(".")
        return name.split(".")[0] in ("streamlit", "torch", "core", "random") or (
            name.startswith("viz.") and not ours
        )

    foreign = {_name(path): [name for name in _imports(path) if strange(name)] for path in _made_of("charts")}
    assert len(foreign) > 40 and nonempty(foreign) == {}


@functools.cache
def _shows(name: str) -> bool:
    """Return whether a module of `viz` imports a library of the screen, itself or through another module."""
    path = ROOT.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return bool(_tops(file) & SCREEN) or any(_shows(other) for other in _taken("viz")[name] if other)


CODE_OF_PAGES = re.compile(r"^from (viz\.course\.[\w.]+) import ([\w, ]+)", re.MULTILINE)
ALSO_DRAWING = {
    "viz.course.bert.bank.topics",
    "viz.course.bert.sparse_attention.read",
    "viz.course.vision.show_attend_tell.judging",
}
"""Modules of older exhibits that the code of a picture imports although they know the screen: the only ones."""


def test_what_is_computed_or_true_knows_no_screen() -> None:
    """A notebook imports the mathematics of the exhibits without the app: what the code of a picture and tests/core import, `maths`, and the errata."""
    homes = [ROOT / "viz" / "course" / name for name in ("errata", "equations", "homework")]
    pure = {_dotted(path) for path in PYTHON if {*homes} & {*path.parents}}
    pure |= {_dotted(path) for path in _made_of("maths") if _name(path).startswith("viz/")}
    named = {
        name
        for path in (ROOT / "viz" / "course").rglob("text.md")
        for module, names in CODE_OF_PAGES.findall(path.read_text("utf-8"))
        for name in (module, *(f"{module}.{each}" for each in names.split(", ")))
    } - ALSO_DRAWING
    named |= {name for path in (ROOT / "tests" / "core").glob("*.py") for name in _imports(path)}
    pure |= {name for name in named if name in _taken("viz") and name.startswith("viz.course.")}
    assert len(pure) > 100 and not [name for name in sorted(pure) if _shows(name)]


def test_nobody_takes_from_the_folder_of_an_exhibit_but_itself() -> None:
    """What two exhibits share lies in their chapter, or in `viz/course/shared`."""
    homes = {
        ".".join(path.parent.relative_to(ROOT).parts): path.parent
        for path in (ROOT / "viz" / "course").glob("*/*/exhibit.py")
    }
    assert len(homes) > 30
    wrong = {
        f"{_name(path)} takes {name}"
        for path in PYTHON
        for name in _imports(path)
        for home, folder in homes.items()
        if f"{name}.".startswith(f"{home}.") and folder not in path.parents
    }
    assert not wrong


def test_no_two_files_of_tests_have_one_name() -> None:
    """A plain `pytest` takes all folders into one process, where a file is known by its name alone."""
    names = [
        path.name
        for path in (ROOT / "tests").rglob("*.py")
        if path.name not in ("conftest.py", "__init__.py")
    ]
    assert sorted(name for name in {*names} if names.count(name) > 1) == []


def test_the_lower_floor_of_viz_draws_nothing() -> None:
    drawing = (
        "streamlit",
        "viz.widgets",
        "viz.classroom",
        "viz.uploads",
        "viz.platform",
        "viz.instruments",
        "viz.charts",
        *(f"viz.shell.{name}" for name in ("state", "stage", "links", "errors", "room")),
    )
    foreign = {
        name: [one for one in _imports(ROOT / "viz" / f"{name}.py") if one.startswith(drawing)]
        for name in ("shell/pages", "sources", "exhibit_text", "theme", "labels")
    }
    assert nonempty(foreign) == {}


INSIDE = re.compile(
    r"streamlit\.(runtime|elements|proto|web|delta_generator_singletons|dataframe_util|config|cursor|watcher)\b"
)


def test_the_inside_of_streamlit_is_known_to_the_platform_alone() -> None:
    """A new version of Streamlit is met in these files."""
    inside = {_name(path) for path in PYTHON if any(INSIDE.match(name) for name in _imports(path))}
    assert len(inside) <= 5 and all(name.startswith("viz/platform/") for name in inside), inside


def test_nobody_searches_the_heap_or_replaces_names_of_others() -> None:
    searched = {_name(path) for path in PYTHON if "get_objects" in _text(path)}
    assert not searched
    alien = re.compile(r"(streamlit|altair|plotly|uvicorn|starlette)\b")
    replaced = []
    for path in PYTHON:
        theirs = {
            alias.asname or alias.name.split(".")[0]
            for node in _statements(path)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
            if alien.match(getattr(node, "module", None) or alias.name)
        }
        for node in _statements(path):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                root = target
                while isinstance(root, ast.Attribute):
                    root = root.value
                if isinstance(target, ast.Attribute) and isinstance(root, ast.Name) and root.id in theirs:
                    replaced.append(f"{_name(path)}:{node.lineno}")
    assert not replaced


def test_free_work_opens_models_for_its_session_only() -> None:
    """A link may name what another visitor trained or uploaded."""
    asks = re.compile(r"^(?!\s*>>>).*\bdefault\(\)\.(open|entry)\((?!\w+, session)", re.MULTILINE)
    homes = (ROOT / "viz" / "workspace", ROOT / "viz" / "widgets")
    texts = {_name(path): _text(path) for path in PYTHON if {*homes} & {*path.parents}}
    assert len(texts) > 100 and [name for name, text in texts.items() if asks.search(text)] == []


def test_the_frame_is_a_frame() -> None:
    assert len((ROOT / "viz" / "frame.py").read_text("utf-8").splitlines()) < 60


NEVER = {
    r"\b(inner|outer)HTML\b": "text of visitors would become markup",
    r"insertAdjacentHTML|document\.write|(?<![.\w])eval\(": "the same, by another door",
    r"unsafe_allow_(html|javascript)": "tokens such as <s> are normal here",
    r"\bst\.(iframe|html)\(|components\.v1": "runs with the app's rights",
    r"(src|href|url)\s*[=(]\s*[\"']?https?://": "no request may leave the server",
    r"\b(?:fetch|URL|import|EventSource|WebSocket|sendBeacon)\(\s*[`\"']/|\burl\(\s*[`\"']?/": "below the prefix of a proxy the root is another site's",
    r"trust_remote_code\s*=\s*True": "no code comes from a checkpoint",
    r"register_(full_)?(forward|backward)_(pre_)?hook|functional_call": "a shared model has no state of a visitor",
}
OWN_NETWORK = "core/checkpoints/library_model.py"
"""The one file with hooks: on a network that a notebook gave to `core.wrap`, which no server opens."""


def test_the_formatter_lays_out_every_line_and_an_exception_says_why() -> None:
    unsaid = re.compile(r"#\s(fmt|yapf|isort|ruff): |#\snoqa(?!: [A-Z]+\d+(, [A-Z]+\d+)* - )")
    found = [
        f"{_name(path)}:{number}"
        for path in sorted([*PYTHON, *(ROOT / "tests").rglob("*.py"), ROOT / "setup.py"])
        for number, line in enumerate(_text(path).splitlines(), 1)
        if unsaid.search(line)
    ]
    assert not found


@pytest.mark.parametrize("pattern", NEVER)
def test_never_written(pattern: str) -> None:
    found = [
        f"{_name(path)}:{_text(path).count(chr(10), 0, match.start()) + 1}"
        for path in PYTHON + BROWSER
        for match in re.finditer(pattern, _text(path))
        if not ("hook" in pattern and _name(path) == OWN_NETWORK)
    ]
    assert not found, NEVER[pattern]


def test_percent_has_one_form() -> None:
    spaced = re.compile(r"[\d}][ \u00a0]%(?=[^\w( ]|\s[a-z]{2}|$)", re.MULTILINE)
    texts = [*PYTHON, *BROWSER, *(ROOT / "viz").rglob("*.md"), *(ROOT / "viz").rglob("*.toml")]
    assert not [_name(path) for path in texts if spaced.search(_text(path))], "82.8%, no space"


def test_components_are_registered_with_constant_code() -> None:
    for path in (path for path in PYTHON if "component(" in _text(path)):
        for node in ast.walk(ast.parse(_text(path))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("component"):
                inside = [
                    part
                    for argument in [*node.args, *(k.value for k in node.keywords)]
                    for part in ast.walk(argument)
                ]
                assert not any(isinstance(part, ast.JoinedStr) for part in inside), (
                    f"{_name(path)}:{node.lineno}"
                )


@pytest.mark.slow
def test_measurements_that_no_push_runs_can_be_run() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "bench", "--collect-only", "tests/bench"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-2000:]
