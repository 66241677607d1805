"""README and the pages beside their subjects: every link leads somewhere, every command can be typed, every line of Python runs."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from app_server import ROOT

import core
from core.checkpoints.foreign import formats
from core.checkpoints.inspect import report
from core.tools import models_table
from viz.shell import pages
from viz.shell.lessons import toml_format, views

NAMES = (
    "README.md AGENTS.md CONTRIBUTING.md SECURITY.md core/README.md viz/README.md assets/README.md "
    "examples/embedding.md examples/own_models.md examples/school.md examples/teaching.md"
)
DOCUMENTS = {name: (ROOT / name).read_text("utf-8") for name in NAMES.split()}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
PROGRAMS = (
    "pip",
    "python",
    "pytest",
    "streamlit",
    "attention-atlas",
    "ruff",
    "pyrefly",
    "pyright",
    ".ci/run",
)
OF_THE_SYSTEM = ("mkdir", "nginx", "redis-server")
PATH = re.compile(r"[\w.]+(/[\w.]+)*(/|\.(py|md|js|toml|ipynb|tsv|json))")


def blocks(name: str, language: str) -> list[str]:
    """Return the code blocks of a document in one language."""
    return [text for kind, text in BLOCK.findall(DOCUMENTS[name]) if kind == language]


def commands(name: str) -> Iterator[list[str]]:
    """Yield the words of every command of a document, from its blocks and its sentences, each without what it is joined to."""
    lines = [line for block in blocks(name, "bash") for line in block.splitlines()]
    prose = BLOCK.sub("", DOCUMENTS[name])
    lines += [
        code for code in INLINE.findall(prose) if re.match(r"(ATLAS_\w+=\S+ )?\S+", code) and _typed(code)
    ]
    for line in lines:
        words = shlex.split(line, comments=True)
        while words:
            end = next(
                (i for i, word in enumerate(words) if word in ("&&", "&", "|") or word[-1:] == ";"),
                len(words),
            )
            part = [
                *words[:end],
                *(word.removesuffix(";") for word in words[end : end + 1] if word[-1:] == ";"),
            ]
            words = words[end + 1 :]
            part = part[1:] if part[:1] == ["do"] else part
            if part and part[0] not in ("for", "done"):
                yield part


def _typed(code: str) -> bool:
    first = next((word for word in code.split() if not word.startswith("ATLAS_")), "")
    return first in PROGRAMS and code != "python"


@cache
def source(module: str) -> str:
    """Return the source text of a module that a command starts; "" where there is none."""
    if module.startswith(("core.", "viz.", "tests.")):
        home = ROOT / module.replace(".", "/")
        path = home / "__main__.py" if home.is_dir() else home.with_suffix(".py")
    else:
        spec = find_spec(module)
        path = Path(spec.origin) if spec and spec.origin else Path()
    return path.read_text("utf-8") if path.is_file() else ""


@cache
def settings() -> str:
    """Return the code of both packages, to look for names of variables in."""
    return "".join(
        path.read_text("utf-8") for home in ("core", "viz") for path in (ROOT / home).rglob("*.py")
    )


def problem(words: list[str]) -> str:
    """Return what is wrong with a command, or ""."""
    while "=" in words[0] and words[0].startswith("ATLAS_"):
        name = words[0].partition("=")[0]
        if f'"{name}"' not in settings():
            return f"nothing reads {name}"
        words = words[1:]
        if not words:
            return ""
    program, *rest = words
    if program in OF_THE_SYSTEM or (program == ".ci/run" and (ROOT / program).is_file()):
        return ""
    if program not in PROGRAMS:
        return f"{program} is not a known program"
    if program == "pip":
        extras = {
            extra for word in rest for part in re.findall(r"\[(.+?)\]", word) for extra in part.split(",")
        }
        unknown = extras - {*PROJECT["project"]["optional-dependencies"]}
        return f"no extra {unknown}" if unknown else ""
    if program == "attention-atlas":
        return "" if program in PROJECT["project"]["scripts"] else "no such script"
    if program == "streamlit":
        return _streamlit(rest)
    if program == "pytest":
        marks = {
            line.partition(":")[0].partition("(")[0]
            for line in PROJECT["tool"]["pytest"]["ini_options"]["markers"]
        }
        asked = {rest[i + 1] for i, word in enumerate(rest) if word == "-m"}
        missing = [word for word in rest if "/" in word and "NAME" not in word and not (ROOT / word).exists()]
        return f"no mark {asked - marks}" if asked - marks else f"no file {missing}" if missing else ""
    return _python(rest) if program == "python" else ""


def _streamlit(words: list[str]) -> str:
    from streamlit import config

    options = [word.removeprefix("--").partition("=")[0] for word in words if word.startswith("--")]
    unknown = [name for name in options if name not in config._config_options_template]
    return f"no option {unknown}" if unknown else "" if words[0] == "run" else f"no command {words[0]}"


def _python(words: list[str]) -> str:
    if words[0] != "-m":
        return "" if (ROOT / words[0]).is_file() else f"no file {words[0]}"
    module, *rest = words[1:]
    if not source(module):
        return f"no module {module}"
    inner = rest.index("-m") if "-m" in rest else len(rest)
    unknown = [word for word in rest[:inner] if word.startswith("--") and f'"{word}"' not in source(module)]
    return f"{module} has no option {unknown}" if unknown else _python(rest[inner:]) if rest[inner:] else ""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_can_be_typed(name: str) -> None:
    assert [(words, wrong) for words in commands(name) if (wrong := problem(words))] == []


def test_the_check_of_commands_finds_faults() -> None:
    for line, wrong in {
        "pip install -e .[tests]": "no extra {'tests'}",
        "python -m core.tools.trains NAME": "no module core.tools.trains",
        "python -m core.tools.train NAME --date DIR": "core.tools.train has no option ['--date']",
        "pytest -m fast": "no mark {'fast'}",
        "pytest tests/core/test_nothing.py": "no file ['tests/core/test_nothing.py']",
        "streamlit run app.py --server.prt 1": "no option ['server.prt']",
        "ATLAS_MODEL=x streamlit run app.py": "nothing reads ATLAS_MODEL",
        "wget x": "wget is not a known program",
    }.items():
        assert problem(shlex.split(line)) == wrong
    assert sum(len(list(commands(name))) for name in DOCUMENTS) > 50


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if blocks(name, "python")])
def test_every_line_of_python_runs_and_prints_what_its_comment_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # what they save
    code = "\n".join(blocks(name, "python"))
    expected = [line.partition("  # ")[2] for line in code.splitlines() if line.startswith("print(")]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), {})
    assert out.getvalue().splitlines() == expected


def test_the_lesson_of_the_page_on_teaching_is_one() -> None:
    (text,) = blocks("examples/teaching.md", "toml")
    plan = toml_format.loads(text.encode())
    assert [stop.minutes for stop in plan.stops] == [3, 2] and plan.stops[1].question.right == ("white",)


@cache
def tree() -> str:
    """Return the paths of all files and folders, one a line, each after a slash; folders end with one."""
    homes = ("core", "viz", "assets", "tests", "examples", ".ci")
    found = [*ROOT.iterdir(), *(path for home in homes for path in (ROOT / home).rglob("*"))]
    return "".join(f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}\n" for path in found)


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, as they are made on the web."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_and_every_path_leads_somewhere(name: str) -> None:
    text, here = DOCUMENTS[name], (ROOT / name).parent
    dead = []
    for link in re.findall(r"\]\(([^)]+)\)", BLOCK.sub("", text)):
        path, _, anchor = link.partition("#")
        target = (here / path).resolve() if path else ROOT / name
        if link.startswith("http://localhost:8501/"):
            views.parse_view(link.removeprefix("http://localhost:8501"))
        elif not link.startswith("https://"):
            known = anchors(target.read_text("utf-8")) if anchor and target.is_file() else {anchor}
            dead += [link] if not target.exists() or anchor not in known else []
    for code in INLINE.findall(BLOCK.sub("", text)):
        if PATH.fullmatch(code) and not re.search("NAME|CHAPTER|VARIANT", code):
            dead += [] if f"/{code}\n" in tree() or f'"{code}"' in settings() else [code]
    assert not dead


NAMED = re.compile(r"`(\w+)(?:\([^`]*\))?`(?: in | \()`([\w/]+\.py)`")
"""A name of the code and the file that has it: "`FORMAT` in `table.py`", "`predict` (`quiz.py`)"."""


def test_every_name_is_in_the_file_that_a_page_gives_for_it() -> None:
    pairs = [
        (page, name, path)
        for page, text in DOCUMENTS.items()
        for name, path in NAMED.findall(BLOCK.sub("", text))
    ]
    paths = tree().split()
    missing = [
        each
        for each in pairs
        if not any(
            re.search(rf"\b{each[1]}\b", (ROOT / path[1:]).read_text("utf-8"))
            for path in paths
            if path.endswith("/" + each[2])
        )
    ]
    assert len(pairs) >= 5 and missing == []


def test_the_readme_is_short_and_its_numbers_are_true() -> None:
    text = DOCUMENTS["README.md"]
    assert len(text.splitlines()) <= 90
    assert "Models of more than 50 types" in text and len(formats()) > 50
    assert "There are more than forty." in text and len(pages.exhibits()) > 40


def test_the_names_of_transformer_lens_stand_beside_paths_that_exist() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \|(.*?)\|", DOCUMENTS["core/README.md"], re.MULTILINE)
    ours = [
        path for path, theirs in rows if "hook_" in theirs or path in ("logits", "layer.0.self_attn.allowed")
    ]
    golden = "".join(
        (ROOT / "tests" / "golden" / f"{name}.txt").read_text() for name in ("gpt-pre", "llama-1")
    )
    assert len(ours) == 20 and all(f"{path}: " in golden for path in ours)


def test_the_table_of_models_is_that_of_their_files() -> None:
    text = DOCUMENTS["assets/README.md"]
    assert models_table.updated(text) == text, "python -m core.tools.models_table writes it"


def test_one_version_is_everywhere() -> None:
    version = PROJECT["project"]["version"]
    heading = re.search(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert heading and cited and heading[1] == cited[1] == version == core.__version__


@pytest.mark.slow
def test_the_commands_themselves_start() -> None:
    started = {words[2] for name in DOCUMENTS for words in commands(name) if words[:2] == ["python", "-m"]}
    with_options = sorted(
        module for module in started if "argparse" in source(module) and module.startswith("core.")
    )
    assert len(with_options) >= 6
    for module in with_options:
        done = subprocess.run(
            [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_model_is_written_and_inspected_as_the_pages_say(tmp_path: Path) -> None:
    out = tmp_path / "OUT"
    command = [sys.executable, "-m", "core.tools.export", "gpt-mini", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    lines, problems = report(out)
    assert lines and not problems and json.loads((out / "config.json").read_text())["model_type"] == "gpt2"
