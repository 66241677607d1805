"""Every page of the atlas, found by looking: nothing is registered by hand.

A page for free work is a folder in `viz/workspace` with a file `page.py` that has `PAGE`, a frozen dataclass `Params`,
`compute(params)` and `page()` (those that teach lie in `viz/course/pages`); an exhibit of the course a folder in its chapter,
`viz/course/CHAPTER`, with a text.md and an `exhibit.py` that has a `EXHIBIT` (viz.course.exhibit). The folder's name is the slug:
address, test id and prefix of the page's own names. `python -m viz.pages` prints every address, one a line.

What a page says about itself is read from its source; the module is imported when somebody opens the page. So the first
visitor waits for one page, not for fifty.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from viz import exhibit_text as texts
from viz.exhibit_text import Chapter, Cite, ExhibitInfo, PageError
from viz.languages import ENGLISH, _, current, using
from viz.shell.selection import Selection

HOME = "look"


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page for free work; `activity`, the work done there, follows its title in the menu. `menu`: its place, "top" (a word of the top bar), "lab", "more" (menus of their own) or "course" (the foot of the course)."""

    title: str
    order: int
    claim: str
    cites: tuple[Cite, ...] = ()
    menu: Literal["top", "lab", "more", "course"] = "more"
    activity: str = ""

    @property
    def menu_title(self) -> str:
        """Return the title in the menu, with the activity."""
        return f"{self.title}: {self.activity}" if self.activity else self.title


@dataclass(frozen=True)
class Entry:
    """A page that was found: its slug, what it says about itself in English, the fields of its `Params` (its own, or of a module beside it), its package and file."""

    slug: str
    declared: Page | ExhibitInfo
    fields: frozenset[str]
    package: str
    file: Path

    @property
    def info(self) -> Page | ExhibitInfo:
        """Return what the page says about itself, in the visitor's language."""
        return self.declared if current() is ENGLISH else _translated(self, current().code)

    @property
    def address(self) -> str:
        """Return the path in the address bar, "/" for the first screen."""
        return "/" if self.slug == HOME else f"/{self.slug}"

    @property
    def module(self) -> ModuleType:
        """Import and return the module of the page.

        Raises:
            PageError: it has no `Params`, `compute` or `page` of the form that pages have.
        """
        return _check(importlib.import_module(f"{self.package}.{self.slug}.{self.file.stem}"))

    @property
    def page(self) -> Callable[[], None]:
        """Return the function that draws the page."""
        return getattr(self.module, "EXHIBIT", self.module).page

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the names of an exhibit's steps; none of any other page."""
        if not isinstance(self.declared, ExhibitInfo):
            return ()
        named = (step.name for step in texts.read(self.file.with_name("text.md")).steps if step.name)
        return tuple(named) or (self.info.title,)

    @property
    def takes_selection(self) -> bool:
        """Return whether a link to the page takes the selection along: it does where the page shows one text through one model."""
        return isinstance(self.declared, Page) and {"model", "text"} <= self.fields


@functools.cache
def discover() -> tuple[Entry, ...]:
    """Return all pages: first the workspace by order, then the exhibits by chapter and order.

    Raises:
        PageError: a page without `PAGE`, or with one that is not made of constants; a slug or an order used twice; a text.md that says too little.
    """
    entries = [
        _entry(file, package, _declared_page(file))
        for package in ("viz.workspace", "viz.course.pages")
        for file in _files(package, "page.py")
    ]
    entries += [
        _entry(file, package, texts.read(file.with_name("text.md")).info)
        for package in (f"viz.course.{chapter.folder}" for chapter in Chapter)
        for file in _files(package, "exhibit.py")
    ]
    _refuse_twins(entries, lambda entry: entry.slug, "slug")
    _refuse_twins(entries, _rank, "order")
    return tuple(sorted(entries, key=_rank))


def find(slug: str) -> Entry:
    """Return the page of this slug.

    >>> find("look").address
    '/'
    """
    return next(entry for entry in discover() if entry.slug == slug)


def workspace() -> tuple[Entry, ...]:
    """Return the pages for free work."""
    return tuple(entry for entry in discover() if isinstance(entry.declared, Page))


def exhibits(chapter: Chapter | None = None) -> tuple[Entry, ...]:
    """Return the exhibits, all or of one chapter."""
    return tuple(
        entry
        for entry in discover()
        if isinstance(entry.declared, ExhibitInfo) and chapter in (None, entry.declared.chapter)
    )


@functools.cache
def _translated(entry: Entry, code: str) -> Page | ExhibitInfo:
    with using(code):
        if isinstance(entry.declared, Page):
            return translate(entry.declared)
        return texts.read(entry.file.with_name("text.md")).info


def translate(page: Page) -> Page:
    """Return what a page of the workspace says about itself, in the visitor's language."""
    if current() is ENGLISH:
        return page
    return dataclasses.replace(page, title=_(page.title), claim=_(page.claim), activity=_(page.activity))


def takes_selection(slug: str) -> bool:
    """Return whether a link to the page of this slug takes the selection along; False for a slug that no page has."""
    return any(entry.takes_selection for entry in discover() if entry.slug == slug)


def _rank(entry: Entry) -> tuple[int, int]:
    info = entry.declared
    return (info.chapter.number if isinstance(info, ExhibitInfo) else 0, info.order)


def _files(package: str, name: str) -> list[Path]:
    return sorted(
        file
        for folder in importlib.import_module(package).__path__
        for file in Path(folder).glob(f"*/{name}")
    )


def _entry(file: Path, package: str, info: Page | ExhibitInfo) -> Entry:
    """Return a page by its source, without running it."""
    fields: set[str] = set()
    for node in _source(file):
        match node:
            case ast.ClassDef(name="Params"):
                fields = _fields(node)
            case ast.ImportFrom(module=str(home), names=names) if any(one.name == "Params" for one in names):
                beside = file.with_name(home.rpartition(".")[2] + ".py")
                fields = next(
                    _fields(made)
                    for made in _source(beside)
                    if isinstance(made, ast.ClassDef) and made.name == "Params"
                )
    return Entry(file.parent.name, info, frozenset(fields), package, file)


def _declared_page(file: Path) -> Page:
    """Return the `PAGE` that a file declares, without running the file. Raises PageError: it has none."""
    for node in _source(file):
        match node:
            case ast.Assign(targets=[ast.Name(id="PAGE")]) if isinstance(
                info := _value(node.value, file), Page
            ):
                return info
    raise PageError(f"{file}: has no PAGE = Page(...)")


def _source(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text("utf-8"), str(file)).body


def _fields(params: ast.ClassDef) -> set[str]:
    inherited = dataclasses.fields(Selection) if "Selection" in map(ast.unparse, params.bases) else ()
    return {field.name for field in inherited} | {
        part.target.id
        for part in params.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }


_WORDS: dict[str, Callable[..., Any]] = {"Page": Page, "Cite": Cite}


def _value(node: ast.expr, file: Path) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Tuple():
            return tuple(_value(part, file) for part in node.elts)
        case ast.Call(func=ast.Name(id=name)) if name in _WORDS:
            return _WORDS[name](
                *(_value(part, file) for part in node.args),
                **{part.arg: _value(part.value, file) for part in node.keywords if part.arg},
            )
    raise PageError(
        f"{file}: what a page says of itself is read without running the file, so it may hold only {', '.join(_WORDS)} and constants, "
        f"not {ast.unparse(node)}"
    )


def _check(module: ModuleType) -> ModuleType:
    """Return the module. Raises PageError: it lacks a part that a page has."""
    file, params = module.__file__, getattr(module, "Params", None)
    said = getattr(params, "__dataclass_params__", None)
    if not (isinstance(params, type) and said is not None and said.frozen):
        raise PageError(f"{file}: has no frozen dataclass Params")
    missing = [
        f.name
        for f in dataclasses.fields(params)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise PageError(f"{file}: Params has no default for {', '.join(missing)}")
    for where, function in ((module, "compute"), (getattr(module, "EXHIBIT", module), "page")):
        if not callable(getattr(where, function, None)):
            raise PageError(f"{file}: has no function {function}")
    return module


def _refuse_twins(entries: list[Entry], key: Callable[[Entry], Any], property_name: str) -> None:
    seen: dict[Any, Entry] = {}
    for entry in entries:
        twin = seen.setdefault(key(entry), entry)
        if twin is not entry:
            raise PageError(f"{entry.file}: the same {property_name} as {twin.file}")


def main() -> None:
    """Print every address, one a line."""
    for entry in discover():
        print(entry.address)
