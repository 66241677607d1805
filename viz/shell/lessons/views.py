"""Which links may stand in a lesson: those of a visitor, judged by what judges a visitor's, and nothing that a link cannot do."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from core.errors import InputError
from viz.labels import shorten, visible
from viz.shell import pages, state
from viz.shell.pages import Entry, Exhibit

LONGEST = 8_000
"""Letters of a link."""
SHARED = ("viz.widgets", "viz.workspace.shared", "viz.course.shared")
"""Where controls lie that several pages have."""
OF_THE_ROOM = ("present",)
"""What says how a view is shown, not which: it does not travel with a lesson."""


@dataclass(frozen=True)
class View:
    """A page with what its link sets."""

    entry: Entry
    query: dict[str, str]

    @property
    def link(self) -> str:
        """The link, relative to the atlas."""
        return self.entry.slug + (f"?{urlencode(self.query)}" if self.query else "")


def view(link: str) -> View:
    """The view of a relative link.

    >>> view("/masks?masks.step=2").query, view("look?present=1").link
    ({'masks.step': '2'}, 'look')

    Raises:
        InputError: no page of the atlas, a parameter that the page does not have, or a value that its rule refuses.
    """
    path, _, query = link.strip().partition("?")
    slug = path.removeprefix("/") or pages.HOME
    entry = next((entry for entry in pages.discover() if entry.slug == slug), None)
    if entry is None or len(link) > LONGEST:
        raise InputError(
            f"“{_seen(link)}” is not a page of the atlas.",
            "A view is written as PAGE?NAME=VALUE, without an address in front, as in masks?masks.step=2.",
            "Open the view in the atlas, and copy what stands behind the last / of the address.",
        )
    found = {name: raw for name, raw in parse_qsl(query, keep_blank_values=True) if name not in OF_THE_ROOM}
    for name, raw in found.items():
        _judge(entry, name, raw)
    return View(entry, found)


def here(entry: Entry, query: Mapping[str, str]) -> View:
    """The view that is on screen, without what only this visit knows, such as answers that were typed."""
    kept = {}
    for name, raw in query.items():
        with suppress(InputError):
            _judge(entry, name, raw)
            if name not in OF_THE_ROOM:
                kept[name] = raw
    return View(entry, kept)


def _judge(entry: Entry, name: str, raw: str) -> None:
    own = name.removeprefix(f"{entry.slug}.") if name.startswith(f"{entry.slug}.") else ""
    if name not in (*state.TRAVEL, *state.OF_ONE_PAGE) and (
        not own or own.partition(".")[0] not in _names(entry)
    ):
        raise InputError(
            f"The page {entry.slug} has no parameter “{_seen(name)}”.",
            f"The names of a page begin with its own, {entry.slug}., or travel from page to page: "
            f"{', '.join(one for one in state.TRAVEL if one not in OF_THE_ROOM)}.",
            "Set the view up in the atlas, and copy its link.",
        )
    if not state.fits(raw):
        raise InputError(
            f"The value of {_seen(name)} has {len(raw):,} letters.",
            f"A link holds {state.LONGEST:,} of one.",
            "Shorten it.",
        )
    if rule := _rule(entry, name):
        try:
            rule(raw)
        except ValueError as error:
            raise InputError(
                f"The link says {_seen(name)}={_seen(raw)}, and that cannot be shown.",
                getattr(error, "rule", "It must be a value that this page offers."),
                "Choose the value on the page, and copy its link.",
            ) from error


def _rule(entry: Entry, name: str) -> Callable[[str], Any] | None:
    """What reads this value when the view is opened, where that is known before the page is drawn."""
    if not isinstance(entry.info, Exhibit):
        return None
    if name == f"{entry.slug}.step":
        return state.one_of(range(1, len(entry.steps) + 1), 1)
    params = entry.module.Params
    for field in dataclasses.fields(params):
        if "control" in field.metadata and params.link(entry.slug, field.name) == name:
            return field.metadata["control"].rule(field.default)
    return None


@functools.cache
def _names(entry: Entry) -> frozenset[str]:
    """The names that a page reads: the fields of its `Params`, and those in the sources that it is made of."""
    home = Path(entry.file).parent
    shared = [Path(folder) for name in SHARED for folder in importlib.import_module(name).__path__]
    files = [path for folder in (home, *shared) for path in folder.rglob("*.py")]
    chapter = sorted(home.parent.glob("*.py"))
    return entry.fields.union(*(_words(path) for path in (*files, *chapter)))


@functools.cache
def _words(path: Path) -> frozenset[str]:
    """Every word in a file that may be the name of a parameter: `masks.drawn`, `{slug}.step`, a field of `Params`."""
    return frozenset(_found(path))


def _found(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"[a-z_.]{1,60}", node.value):
                yield from node.value.split(".")
        elif isinstance(node, ast.ClassDef) and node.name == "Params":
            yield from (
                part.target.id
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            )


def _seen(text: str) -> str:
    return visible(shorten(text, 60))
