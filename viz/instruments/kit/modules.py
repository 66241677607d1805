"""The ES modules of the instruments, joined into the one text that the page imports.

`follow` reads the imports from an entry file on and puts each module behind those that it imports; `join_modules` wraps each as a
function scope that returns its exports, so that names of two modules do not meet. Two texts that were joined apart (the kit,
an instrument) work as one where the second follows the first.

A module imports by `import { a, b as c } from "./file.js";`, at its head, a line each; it exports a name where it defines it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

IMPORT = re.compile(r'^import \{ (.+) \} from "(\..+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
COMMENT = re.compile(r"^[ \t]*/\*\*[\s\S]*?\*/[ \t]*\n|^[ \t]*//.*\n|[ \t]{2,}// .*$", re.MULTILINE)
"""Comments, which the browser does not need: on lines of their own, and after code, two blanks or more away from it."""
UNREAD = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


@dataclass(frozen=True)
class Module:
    """One file: what it imports (path and names as they are written), what it exports, and its text without both words and without comments."""

    path: Path
    imports: tuple[tuple[Path, str], ...]
    exports: tuple[str, ...]
    body: str

    def name(self, root: Path) -> str:
        """Return the name of its exports in the joined text: kit/common.js is kit_common."""
        return "_".join(self.path.relative_to(root).with_suffix("").parts)

    def wrapped(self, root: Path) -> str:
        taken = ", ".join("{ " + names.replace(" as ", ": ") + " }" for _, names in self.imports)
        given = ", ".join(read(path).name(root) for path, _ in self.imports)
        return f"const {self.name(root)} = (({taken}) => {{\n{self.body}return {{ {', '.join(self.exports)} }};\n}})({given});\n"


@cache
def read(path: Path) -> Module:
    """Read the module in `path`. Raises ValueError naming a line that imports or exports in another way than this file understands."""
    text = path.read_text("utf-8")
    imports = tuple(((path.parent / file).resolve(), names) for names, file in IMPORT.findall(text))
    body = EXPORT.sub("", COMMENT.sub("", IMPORT.sub("", text)))
    if unread := UNREAD.search(body):
        raise ValueError(f"{path}: this line cannot be joined: {unread[0]}")
    return Module(path, imports, tuple(EXPORT.findall(text)), body)


def follow(*entries: Path) -> list[Module]:
    """Return each module that `entries` need, once and after all that it imports. Raises ValueError naming the files of a circle."""
    found: dict[Path, Module] = {}

    def visit(path: Path, way: tuple[Path, ...]) -> None:
        if path in way:
            raise ValueError(
                "these modules import each other in a circle: "
                + " -> ".join(map(str, (*way[way.index(path) :], path)))
            )
        if path not in found:
            module = read(path)
            for needed, _ in module.imports:
                visit(needed, (*way, path))
            found[path] = module

    for entry in entries:
        visit(entry.resolve(), ())
    return list(found.values())


def join_modules(modules: Iterable[Module], root: Path) -> str:
    """Join modules, in the order of `follow`, to one text; modules that they import besides must be in a text before this one."""
    return "".join(module.wrapped(root) for module in modules)


def sheets(modules: Iterable[Module]) -> str:
    """Return the CSS of these modules: heatmap.css from the folder of heatmap.js."""
    files = (module.path.with_suffix(".css") for module in modules)
    return "".join(file.read_text("utf-8") for file in files if file.exists())
