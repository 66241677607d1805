"""The modules of the instruments: what is imported exists and is used, nothing is found by accident, there is no circle."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from viz.instruments.kit import component
from viz.instruments.kit.modules import follow, join_modules, read

HOME = component.FOLDER
FILES = sorted(path for path in HOME.rglob("*.js") if path.name not in ("loader.js", "boot.js", "widget.js"))
ENTRIES = [path for path in FILES if path.stem == path.parent.name and path.parent.parent == HOME]
ASKED = {"build", "accept", "turned"}
"""What an entry exports for the kit; `starter` is what the kit exports for an entry, see mount.py."""
KEYWORDS = "async await catch delete for function if in instanceof new of return switch super typeof void while yield"
BROWSER = (
    "addEventListener atob btoa cancelAnimationFrame clearTimeout getComputedStyle matchMedia parseFloat removeEventListener requestAnimationFrame setTimeout "
    "Array ArrayBuffer Blob Boolean CustomEvent DOMMatrix DataView Error Float32Array Float64Array ImageData Int16Array Int32Array IntersectionObserver JSON "
    "Map NaN Number Object Promise RangeError ResizeObserver Set String TextDecoder TextEncoder URL Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap"
)
TOKEN = re.compile(
    r"""//.*|/\*[\s\S]*?\*/|"(?:[^"\\\n]|\\.)*"|(?<=[(,=:!?&|;\s])/(?![/*= ])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*|`|\$\{|[{}]|[^`${}"/]+|."""
)


def bare(path: Path) -> str:
    """The module without what it imports, comments, strings, patterns and the words of templates."""
    out: list[str] = []
    inside = [""]  # what is open: a template, or braces in one
    for token in TOKEN.findall(read(path).body):
        quoted = inside[-1] == "`"
        if token == "`":
            inside.pop() if quoted else inside.append("`")
            out.append(" ")
        elif quoted and token != "${":
            continue
        elif token in ("{", "${"):
            inside.append("{")
            out.append("{")
        elif token == "}":
            inside.pop()
            out.append("}")
        else:
            out.append(
                token
                if not token.startswith(("//", "/*", '"')) and not (token[0] == "/" and len(token) > 1)
                else '""'
            )
    return "".join(out)


def bound(text: str) -> set[str]:
    """Every name that `text` (see `bare`) binds somewhere: definitions, parameters, what is taken apart."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, sign in enumerate(text):
        if sign in pairs:
            opened.append(at)
        elif sign in pairs.values():
            start = opened.pop()
            assert pairs[text[start]] == sign
            starts[at], ends[start] = start, at
    lists = [
        text[starts[found.start()] : found.start()] for found in re.finditer(r"\) =>|[}\]] (?:=|of) ", text)
    ]
    lists += [
        text[found.end() : ends[found.end() - 1]]
        for found in re.finditer(r"function\*? ?\w*\(|catch \(|^  (?:get )?\w+\((?=.*\{)", text, re.MULTILINE)
    ]
    plain = re.findall(
        r"(?<![\w.])(\w+) (?:=|=>|of) |(?:function\*?|class|let) (\w+)|^\s+(?:get )?(\w+)\(.*\{|[{,] (\w+)\([^()]*\) \{",
        text,
        re.MULTILINE,
    )
    return {
        name
        for words in (*lists, *(" ".join(found) for found in plain))
        for name in re.findall(r"\w+", words)
    }


def imported(path: Path) -> list[tuple[Path, str, str]]:
    """(file, its name there, its name here) of each import."""
    pairs = ((file, one.split(" as ")) for file, names in read(path).imports for one in names.split(", "))
    return [(file, pair[0], pair[-1]) for file, pair in pairs]


def short(path: Path) -> str:
    return str(path.relative_to(HOME))


def test_every_module_is_needed_and_none_imports_itself() -> None:
    assert len(ENTRIES) > 10
    needed = {module.path for module in (*component.SHARED, *follow(*ENTRIES))}
    assert [short(path) for path in FILES if path not in needed] == []


@pytest.mark.parametrize("path", FILES, ids=short)
def test_imports_name_exports_that_exist_and_are_used(path: Path) -> None:
    text = bare(path)
    assert [
        f"{name} of {short(file)}" for file, name, _ in imported(path) if name not in read(file).exports
    ] == []
    assert [
        name for _, _, name in imported(path) if not re.search(rf"(?<![\w.$]){name}\b|\.\.\.{name}\b", text)
    ] == []


@pytest.mark.parametrize("path", FILES, ids=short)
def test_a_name_is_given_once(path: Path) -> None:
    """A second `function same()`, and nothing is drawn."""
    names = [
        *re.findall(r"^(?:async )?(?:function\*?|class|const|let) (\w+)", read(path).body, re.MULTILINE),
        *(name for _, _, name in imported(path)),
    ]
    assert names and [name for name, times in Counter(names).items() if times > 1] == []


def test_every_export_is_imported_somewhere() -> None:
    taken = {(file, name) for path in FILES for file, name, _ in imported(path)}
    taken |= {(path, name) for path in ENTRIES for name in ASKED} | {(HOME / "kit/page/begin.js", "starter")}
    assert [
        f"{name} of {short(path)}"
        for path in FILES
        for name in read(path).exports
        if (path, name) not in taken
    ] == []
    assert [
        short(path)
        for path in FILES
        if re.search(r"^export const \w+ = [^({\[\n]*, \w+ = ", path.read_text("utf-8"), re.MULTILINE)
    ] == []  # one name a line
    assert all({"build", "accept"} <= {*read(path).exports} for path in ENTRIES)


@pytest.mark.parametrize("path", FILES, ids=short)
def test_what_is_called_is_imported_or_of_this_module_or_of_the_browser(path: Path) -> None:
    """By regular expressions: functions that are called and names in capitals, whatever their scope here."""
    text = bare(path)
    used = set(re.findall(r"(?:(?<![\w.$])|(?<=\.\.\.))([A-Za-z]\w*)\(", text)) | set(
        re.findall(r"(?<![\w.$])([A-Z][A-Z_]{2,})\b(?!:)", text)
    )
    assert (
        used - bound(text) - {name for _, _, name in imported(path)} - {*KEYWORDS.split(), *BROWSER.split()}
        == set()
    )


def write(folder: Path, **modules: str) -> None:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)


def test_a_module_stands_behind_what_it_imports_and_keeps_its_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        a='import { one as two } from "./b.js";\n\nconst own = 1;\nexport const all = own + two;\n',
        b="const own = 2;\nexport function one() { return own; }\n",
    )
    wanted = (
        "const b = (() => {\nconst own = 2;\nfunction one() { return own; }\nreturn { one };\n})();\n"
        "const a = (({ one: two }) => {\n\nconst own = 1;\nconst all = own + two;\nreturn { all };\n})(b);\n"
    )
    assert join_modules(follow(tmp_path / "a.js"), tmp_path) == wanted


def test_a_circle_and_an_import_of_another_kind_are_told_by_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        a='import { b } from "./b.js";\n',
        b='import { c } from "./c.js";\nexport const b = c;\n',
        c='import { b } from "./b.js";\nexport const c = b;\n',
        d='import * as a from "./a.js";\n',
    )
    with pytest.raises(ValueError, match=r"circle: \S+/b\.js -> \S+/c\.js -> \S+/b\.js$"):
        follow(tmp_path / "a.js")
    with pytest.raises(ValueError, match=r"d\.js: this line cannot be joined: import \* as a"):
        follow(tmp_path / "d.js")
