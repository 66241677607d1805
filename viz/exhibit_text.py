"""The words of an exhibit: the text.md beside it, TOML between two lines of +++ and then a section a step."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from viz.languages import ENGLISH, _, current, mark, pseudo
from viz.sources import SOURCES, Source


class Chapter(Enum):
    """The chapters of the course, in order: a title, a claim, and the folder in `viz/course`."""

    WHY_ATTENTION = (
        mark("Why attention"),
        mark("One vector cannot hold a sentence; weights say which part of it matters now."),
        "why",
    )
    LOOK_UP = (
        mark("Look-up"),
        mark("Attention is a soft look-up: a query, keys, and a mix of the values."),
    )
    SELF_ATTENTION = (
        mark("Self-attention"),
        mark("A sentence attends to itself: queries, keys and values from the same words."),
    )
    TRANSFORMER = (
        mark("The Transformer"),
        mark("Attention, positions and a little arithmetic, stacked: no recurrence is left."),
    )
    BERT = ("BERT", mark("Read in both directions, and learn by filling blanks."))
    GPT = ("GPT", mark("Predict the next word, over and over, and never look ahead."))
    VISION = (
        mark("Beyond words"),
        mark("A query can also attend to parts of a picture or stretches of sound."),
    )

    def __init__(self, title: str, claim: str, folder: str = "") -> None:
        self._title, self._claim, self.folder = title, claim, folder or self.name.lower()

    @property
    def title(self) -> str:
        """Return the title, in the visitor's language."""
        return _(self._title)

    @property
    def claim(self) -> str:
        """Return the claim, in the visitor's language."""
        return _(self._claim)

    @property
    def number(self) -> int:
        """Return the number of the chapter, from 1."""
        return list(Chapter).index(self) + 1


CHAPTERS = {chapter.folder: chapter for chapter in Chapter}
"""The chapters by their folders."""
TRANSLATED = ("title", "claim")
"""Fields at the head of a text that a translation has, too; `sources` beside them."""


class PageError(ValueError):
    """A page module that does not keep the form; names the file and what is missing."""


@dataclass(frozen=True)
class Cite:
    """The source of a page's content: a document of `viz.sources`, the section, the equation or figure.

    `step` is the step of the exhibit that shows it, counted from 1; 0 where the whole exhibit does.

    >>> Cite("ghojogh2020", "3.2", "Eq. (17)").place()
    'Ghojogh and Ghodsi, survey 2020, 3.2, Eq. (17)'
    """

    document: str
    section: str
    item: str = ""
    step: int = 0

    def __post_init__(self) -> None:
        if self.document not in SOURCES:
            raise PageError(f"unknown document {self.document!r}; viz/sources.py has {', '.join(SOURCES)}")

    @property
    def source(self) -> Source:
        """Return the document."""
        return SOURCES[self.document]

    def place(self) -> str:
        """Write document, section and item in one line."""
        return ", ".join(part for part in (self.source.label, self.section, self.item) if part)


@dataclass(frozen=True, kw_only=True)
class ExhibitInfo:
    """An exhibit of the course: title, chapter, order in it, a claim of one sentence, its sources, minutes."""

    title: str
    chapter: Chapter
    order: int
    claim: str
    cites: tuple[Cite, ...] = ()
    minutes: int = 5


@dataclass(frozen=True)
class StepText:
    """The words of one step: its name, its sentence, what one looks at, what to try, the lines of Python that compute its numbers
    again; and the errata that it shows. In `look` and `code` may stand {p.FIELD} of the Params, {data} and what the step gives."""

    name: str
    says: str
    look: str = ""
    tries: str = ""
    errata: tuple[str, ...] = ()
    code: str = ""


@dataclass(frozen=True)
class Text:
    """A text.md: what the exhibit says of itself, the errata that it shows, the words of each step (one without a name where there are
    no steps), `sources`, what its documents show and what is ours, and `data`: its example sentences, the words of its pictures."""

    info: ExhibitInfo
    errata: tuple[str, ...]
    steps: tuple[StepText, ...]
    sources: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def data(file: str) -> Mapping[str, Any]:
    """Return the table [data] of the text.md beside a module of an exhibit, given the module's __file__: what models read is in no other language."""
    return _read(Path(file).with_name("text.md")).data


def read(file: Path) -> Text:
    """Read the words of an exhibit, in the visitor's language: of a `text.es.md` beside its `text.md` what is there, and the rest in English.

    A translation has `title`, `claim` and `sources` at its head, and then every step in the same order; the lines of a step's Code are
    the English file's.

    Raises:
        PageError: no TOML between two lines of +++, a heading that is none of ##, ### Look, ### Try and ### Code, or a step without a sentence.
    """
    return _read(file) if current() is ENGLISH else _read_in(file, current().code)


@functools.cache
def _read_in(file: Path, code: str) -> Text:
    source, translated = _read(file), file.with_suffix(f".{code}.md")
    if code == pseudo.CODE:
        return _pseudonymised(source)
    if not translated.exists():
        return source
    _before, head, body = _parts(translated)
    about = tomllib.loads(head)
    sources = about.pop("sources", source.sources)
    if not about.keys() <= {*TRANSLATED}:
        raise PageError(
            f"{translated}: its head has {', '.join(TRANSLATED)} and sources, not {', '.join(about)}"
        )
    steps = _steps(translated, body)
    if [bool(each.name) for each in steps] != [bool(each.name) for each in source.steps]:
        raise PageError(f"{translated}: has {len(steps)} steps, and text.md {len(source.steps)}")
    steps = tuple(
        replace(step, errata=given.errata, code=given.code)
        for step, given in zip(steps, source.steps, strict=True)
    )
    return replace(source, info=replace(source.info, **about), steps=steps, sources=sources)


def _pseudonymised(text: Text) -> Text:
    def change(part: Any, *names: str) -> Any:
        return replace(part, **{name: pseudo.pseudonymise(getattr(part, name)) for name in names})

    steps = tuple(change(step, "name", "says", "look", "tries") for step in text.steps)
    return replace(change(text, "sources"), info=change(text.info, *TRANSLATED), steps=steps)


@functools.cache
def _read(file: Path) -> Text:
    _before, head, body = _parts(file)
    about = tomllib.loads(head)
    errata = [each if isinstance(each, list) else [each] for each in about.pop("errata", ())]
    sources, own = about.pop("sources", ""), about.pop("data", {})
    cites = tuple(Cite(*cite) for cite in about.pop("cites", ()))
    chapter = CHAPTERS[file.parents[1].name]
    return Text(
        ExhibitInfo(chapter=chapter, cites=cites, **about),
        tuple(dict.fromkeys(id for id, *steps in errata)),
        _steps(file, body, errata),
        sources,
        own,
    )


def _steps(file: Path, body: str, errata: Sequence[Sequence[Any]] = ()) -> tuple[StepText, ...]:
    """Return the steps of a text; ### Look and ### Try before the first one hold for those without."""
    everywhere, *steps = re.split(r"^## ", body, flags=re.MULTILINE)
    _says, shared = _sections(file, everywhere)
    if not steps:
        return (_words("", "", shared, tuple(id for id, *numbers in errata)),)
    return tuple(
        _step_text(
            file, part, shared, tuple(id for id, *numbers in errata if not numbers or number in numbers)
        )
        for number, part in enumerate(steps, 1)
    )


def _parts(file: Path) -> list[str]:
    found = file.read_text("utf-8").split("+++\n", 2)
    if len(found) != 3 or found[0]:
        raise PageError(f"{file}: begins with TOML between two lines of +++")
    return found


def _step_text(file: Path, part: str, shared: dict[str, str], errata: tuple[str, ...]) -> StepText:
    name, _line, rest = part.partition("\n")
    says, own = _sections(file, rest)
    if not says:
        raise PageError(f"{file}: the step {name!r} has no sentence")
    if "Code" in own:
        own["Code"] = own["Code"].replace("{lines}\n", shared.get("Code", "") + "\n")
    return _words(name.strip(), says, shared | own, errata)


def _words(name: str, says: str, sections: dict[str, str], errata: tuple[str, ...]) -> StepText:
    return StepText(
        name, says, sections.get("Look", ""), sections.get("Try", ""), errata, sections.get("Code", "")
    )


def _sections(file: Path, part: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first ###, and the text below each."""
    says, *more = re.split(r"^### (.+)$", part, flags=re.MULTILINE)
    found = dict(zip(more[::2], map(str.strip, more[1::2]), strict=True))
    if not found.keys() <= {"Look", "Try", "Code"}:
        raise PageError(f"{file}: a step has at most ### Look, ### Try and ### Code, not {', '.join(found)}")
    if "Code" in found:
        found["Code"] = found["Code"].removeprefix("```\n").removesuffix("\n```")
    return says.strip(), found
