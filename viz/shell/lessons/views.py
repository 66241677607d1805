"""The links of a lesson: those that a visitor can open, checked by the same rules."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from core.errors import InputError
from viz.labels import shorten, visible
from viz.languages import _
from viz.shell import pages, state
from viz.shell.pages import Entry, ExhibitInfo

LONGEST = 8_000
"""Characters of a link at most."""
SHARED = ("viz.widgets", "viz.workspace.shared", "viz.course.shared", "viz.course.kit")
"""Packages of controls that several pages share."""
PRESENTATION_PARAMS = ("present", "lang")
"""Parameters for the way a view is shown, which are not saved with a lesson."""
_TEXT = re.compile(r"""(?<=["'}])[a-z_.]{1,60}(?=["'{])""")
"""A text in a source that may be a name, between its quotes; of an f-string what is between its braces."""
_PARAMS = re.compile(r"^class Params\b.*\n((?:[ \t]+.*\n|\n)*)", re.MULTILINE)
_FIELD = re.compile(r"^    (\w+): ", re.MULTILINE)


@dataclass(frozen=True)
class View:
    """A page with what its link sets."""

    entry: Entry
    query: dict[str, str]

    @property
    def link(self) -> str:
        """Return the link, relative to the atlas."""
        return self.entry.slug + (f"?{urlencode(self.query)}" if self.query else "")


def parse_view(link: str) -> View:
    """Return the view of a relative link.

    >>> parse_view("/masks?masks.step=2").query, parse_view("look?present=1").link
    ({'masks.step': '2'}, 'look')

    Raises:
        InputError: this is not a page of the atlas, it does not have a parameter, or it refuses a value.
    """
    path, _mark, query = link.strip().partition("?")
    slug = path.removeprefix("/") or pages.HOME
    entry = next((entry for entry in pages.discover() if entry.slug == slug), None)
    if entry is None or len(link) > LONGEST:
        raise InputError(
            _("“{link}” is not a page of the atlas.", link=_shorten_visibly(link)),
            _("A view is written as PAGE?NAME=VALUE, without an address in front, as in masks?masks.step=2."),
            _("Open the view in the atlas, and copy the part of the address after its last /."),
        )
    found = {
        name: raw for name, raw in parse_qsl(query, keep_blank_values=True) if name not in PRESENTATION_PARAMS
    }
    for name, raw in found.items():
        _require_valid(entry, name, raw)
    return View(entry, found)


def current_view(entry: Entry, query: Mapping[str, str]) -> View:
    """Return the view on screen, without the parameters of this visit alone, such as typed answers."""
    kept = {}
    for name, raw in query.items():
        with suppress(InputError):
            _require_valid(entry, name, raw)
            if name not in PRESENTATION_PARAMS:
                kept[name] = raw
    return View(entry, kept)


def _require_valid(entry: Entry, name: str, raw: str) -> None:
    own = name.removeprefix(f"{entry.slug}.") if name.startswith(f"{entry.slug}.") else ""
    if name not in (*state.CARRIED, *state.OF_ONE_PAGE) and (
        not own or own.partition(".")[0] not in _names(entry)
    ):
        raise InputError(
            _("The page {slug} has no parameter “{name}”.", slug=entry.slug, name=_shorten_visibly(name)),
            _(
                "A parameter begins with the name of the page, {slug}., or is shared by pages: {names}.",
                slug=entry.slug,
                names=", ".join(one for one in state.CARRIED if one not in PRESENTATION_PARAMS),
            ),
            _("Choose the view in the atlas, and copy its link."),
        )
    if not state.fits_link(raw):
        raise InputError(
            _("The value of {name} has {n:,} characters.", name=_shorten_visibly(name), n=len(raw)),
            _("It has {most:,} at most.", most=state.LONGEST),
            _("Shorten it."),
        )
    if rule := _rule(entry, name):
        try:
            rule(raw)
        except ValueError as error:
            raise InputError(
                _(
                    "The link has {name}={raw}, which the page cannot show.",
                    name=_shorten_visibly(name),
                    raw=_shorten_visibly(raw),
                ),
                getattr(error, "rule", _("The value is one that the page offers.")),
                _("Choose the value on the page, and copy its link."),
            ) from error


def _rule(entry: Entry, name: str) -> Callable[[str], Any] | None:
    """Return the rule that reads this value when the view is opened; None where only the drawn page has one."""
    if not isinstance(entry.info, ExhibitInfo):
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
    """Return the names that a page reads: the fields of its `Params`, and those in its sources."""
    home = Path(entry.file).parent
    shared = [Path(folder) for name in SHARED for folder in importlib.import_module(name).__path__]
    files = [path for folder in (home, *shared) for path in folder.rglob("*.py")]
    chapter = sorted(home.parent.glob("*.py"))
    return entry.fields.union(*(_words(path) for path in (*files, *chapter)))


@functools.cache
def _words(path: Path) -> frozenset[str]:
    """Return every word in a file that may be the name of a parameter: `masks.drawn`, `{slug}.step`, a field of `Params`."""
    source = path.read_text("utf-8")  # to parse all files of a chapter takes seconds
    texts = _TEXT.findall(source)
    fields = (field for params in _PARAMS.findall(source) for field in _FIELD.findall(params))
    return frozenset((*(word for text in texts for word in text.split(".")), *fields))


def _shorten_visibly(text: str) -> str:
    return visible(shorten(text, 60))
