"""Citations against the documents themselves, where their texts are beside the repository: sections, equations, figures, quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from viz.course.equations import EQUATIONS
from viz.course.errata import ERRATA
from viz.course.pages.documents import citations
from viz.shell import pages

FILES = {
    "ghojogh2023": "000_*.txt",
    "beigy2021": "001_*.txt",
    "ghojogh2020": "002_*.txt",
    "beigy2024": "003_*.txt",
    "lifei2022": "004_*.txt",
}
SURVEY = "ghojogh2020"
FOLDER = next(
    (
        home / "shared" / "documents"
        for home in Path(__file__).resolve().parents
        if (home / "shared" / "documents").is_dir()
    ),
    None,
)
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="the documents are not ours to ship; this checks against them where they are"
)
HEADING = re.compile(r"^#+ (\d(?:\.\d)*)\.? ", re.MULTILINE)
Place = tuple[str, str, str, str]


def text(document: str) -> str:
    assert FOLDER is not None
    (path,) = FOLDER.glob(FILES[document])
    return path.read_text("utf-8")


def plain(words: str) -> str:
    """Letters and digits alone: type, signs and the markup of formulas differ from file to file."""
    return " ".join(
        re.sub(r"[^a-z0-9']+", " ", re.sub(r"\\[a-z]+", " ", words.lower()).replace("’", "'")).split()
    )


def places() -> list[Place]:
    """Who cites, the document, the section and the item: pages, errata, equations."""
    found = [
        (entry.slug, cite.document, cite.section, cite.item)
        for entry in pages.discover()
        for cite in entry.info.cites
    ]
    found += [
        (entry.id, where.document, where.section, where.item) for entry in ERRATA for where in entry.where
    ]
    return found + [(name, *where) for name, equation in EQUATIONS.items() for where in equation.where]


def survey() -> list[Place]:
    return [place for place in places() if place[1] == SURVEY]


def sections() -> dict[str, str]:
    """The survey's sections by number, each with its own text alone."""
    parts = HEADING.split(text(SURVEY))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def within(number: str, there: dict[str, str]) -> str:
    """The text of a section with its parts."""
    return "\n".join(body for name, body in there.items() if name == number or name.startswith(f"{number}."))


def cited_sections(section: str, there: dict[str, str]) -> list[str]:
    """The numbers in the words of a citation; of "2.4 to 3.3" all between."""
    numbers = re.findall(r"\d(?:\.\d)*", section)
    if " to " in section:
        names = list(there)
        return names[names.index(numbers[0]) : names.index(numbers[1]) + 1]
    return numbers


def test_every_cited_section_of_the_survey_exists():
    there = sections()
    assert len(there) > 20
    wrong = [
        place
        for place in survey()
        if place[2] != "throughout"
        and not (set(cited_sections(place[2], there)) <= set(there) and re.search(r"\d", place[2]))
    ]
    assert not wrong


def test_every_cited_equation_of_the_survey_is_in_a_cited_section_and_every_such_section_has_one():
    there = sections()
    wrong = []
    for name, _, section, item in survey():
        if not (numbers := citations.equations(item)):
            continue
        found = {
            number: set(map(int, re.findall(r"\\quad \((\d+)\)", within(number, there))))
            for number in cited_sections(section, there)
        }
        if not numbers <= set().union(*found.values()) or not all(
            has & numbers for has in found.values() if ";" not in section
        ):
            wrong.append((name, section, item))
    assert not wrong


def test_every_cited_figure_of_the_survey_is_near():
    """A figure floats to the next page at most: it stands in the chapter that is cited."""
    there = sections()
    wrong = [
        (name, section, item)
        for name, _, section, item in survey()
        for number in citations.figures(item)
        if not any(
            f"Figure {number}." in within(part.split(".")[0], there)
            for part in cited_sections(section, there)
        )
    ]
    assert not wrong


def quotations() -> Iterator[tuple[str, set[str], str]]:
    """Who quotes, the documents it may be from, the words between quotation marks."""
    for entry in ERRATA:
        documents = {where.document for where in entry.where}
        for written in (entry.title, entry.says, entry.right, entry.note):
            yield from ((entry.id, documents, quoted) for quoted in re.findall(r"“([^”]*)”", written))
    for name, document, _, item in places():
        if document in FILES:
            yield from ((name, {document}, quoted) for quoted in re.findall(r"“([^”]*)”", item))


def test_what_stands_in_quotation_marks_is_quoted():
    texts = {document: plain(text(document)) for document in FILES}
    found = list(quotations())
    assert len(found) > 40
    assert not [
        (name, quoted)
        for name, documents, quoted in found
        if not any(plain(quoted) in texts[document] for document in documents & set(FILES))
    ]


def test_a_paraphrase_would_be_found():
    assert plain("When we say **BERT**, we mean") in plain(text(SURVEY))
    assert plain("The second repeat of attention calculates pairs of words") not in plain(text(SURVEY))
