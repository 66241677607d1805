"""Pages in another language: what is still plain in the pseudo-language, the language of link and session, and English as it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from viz import exhibit_text, languages
from viz.course import errata
from viz.languages import pseudo
from viz.memo import Memo
from viz.shell import pages

SCRIPT = "from viz import menu\nfrom viz.shell import pages\nmenu.draw_page(pages.find({slug!r}))"
FRAME = Path(__file__).resolve().parents[2] / "viz" / "frame.py"
KINDS = (
    "title",
    "header",
    "subheader",
    "markdown",
    "text",
    "caption",
    "button",
    "toggle",
    "selectbox",
    "slider",
    "text_input",
    "number_input",
    "text_area",
    "radio",
)
PLAIN = {"about": 8, "lecture_room": 2, "lessons": 65, "weighting": 0, "look": 2}
"""How many strings of a page in the pseudo-language may still have plain words; a count may fall and may not rise."""
WORD = re.compile(r"(?<![\w:/])[A-Za-z]{3,}(?![\w:/(])")
DATA = re.compile(r"`[^`]*`|\$[^$]*\$|“[^”]*”|:[a-z_/]+(?:\[|:)|\]\([^)]*\)|<[^>]*>")


def drawn(slug: str, **query: str) -> AppTest:
    """Return a page as a visitor sees it, at a link."""
    test = AppTest.from_string(SCRIPT.format(slug=slug), default_timeout=120)
    for name, value in query.items():
        test.query_params[name] = value
    return test.run()


def strings(test: AppTest) -> list[str]:
    """Return the strings of a page: texts, and labels with their tooltips."""
    shown = [getattr(test, kind) for kind in KINDS]
    return [
        str(text)
        for elements in shown
        for element in elements
        for text in (
            getattr(element, "label", None) or getattr(element, "value", ""),
            getattr(element, "help", ""),
        )
        if text
    ]


def plain_strings(test: AppTest) -> list[str]:
    """Return the strings with two words or more outside the brackets of the pseudo-language, or one that is all of it."""
    found = []
    for text in strings(test):
        rest = text
        while rest != (
            rest := re.sub(rf"{pseudo.OPEN}[^{pseudo.OPEN}{pseudo.CLOSE}]*{pseudo.CLOSE}", "", rest)
        ):
            pass
        words = WORD.findall(DATA.sub(" ", rest).replace("Attention Atlas", ""))
        if len(words) > 1 or (words and rest.strip() == words[0]):
            found.append(text)
    return found


@pytest.mark.parametrize("slug", PLAIN)
def test_a_page_in_the_pseudo_language_has_no_new_plain_string(slug: str) -> None:
    test = drawn(slug, lang="qps", **({"weighting.step": "2"} if slug == "weighting" else {}))
    assert not test.exception and any(pseudo.OPEN in text for text in strings(test))
    plain = plain_strings(test)
    assert len(plain) <= PLAIN[slug], "\n".join(plain)


def test_the_menu_is_in_the_language_of_the_link_and_the_session_keeps_it() -> None:
    test = AppTest.from_file(str(FRAME), default_timeout=120)
    test.query_params["lang"] = "es"
    test.run()
    assert not test.exception and test.session_state["atlas.chosen"]["lang"] == "es"
    with languages.using("es"):
        assert pages.find("course").info.title == "Curso" and pages.find("lessons").steps == ()
    assert pages.find("course").info.title == "Course"
    assert languages.current() is languages.ENGLISH


def test_an_unknown_language_is_named_and_the_page_is_english() -> None:
    test = drawn("about", lang="xx")
    assert not test.exception and any("lang=xx" in element.value for element in test.text)
    assert test.title[0].value == "About" and "".join(test.query_params["lang"]) == "en"


def test_a_link_without_a_language_has_none_afterwards() -> None:
    test = drawn("about")
    assert "lang" not in test.query_params and test.title[0].value == "About"


def test_a_translated_exhibit_has_the_english_code_sources_and_errata(tmp_path: Path) -> None:
    folder = tmp_path / "why" / "small"
    folder.mkdir(parents=True)
    file = folder / "text.md"
    file.write_text(
        '+++\ntitle = "Small"\norder = 1\nclaim = "One."\n+++\n\n### Try\nTry it.\n\n## First\nA sentence.\n### Code\n```\nx = 1\n```\n\n## Second\nAnother.\n'
    )
    folder.joinpath("text.es.md").write_text(
        '+++\ntitle = "Pequeño"\n+++\n\n### Try\nPrueba.\n\n## Primero\nUna oración.\n\n## Segundo\nOtra.\n'
    )
    assert exhibit_text.read(file).info.title == "Small"
    with languages.using("es"):
        text = exhibit_text.read(file)
        assert text.info.title == "Pequeño" and text.info.claim == "One." and text.info.order == 1
        assert [step.name for step in text.steps] == ["Primero", "Segundo"] and text.steps[0].code == "x = 1"
        assert text.steps[1].tries == "Prueba."
    with languages.using("qps"):
        assert exhibit_text.read(file).steps[0].says.startswith(pseudo.OPEN)
    folder.joinpath("text.qps.md").unlink(missing_ok=True)
    other = folder / "other.md"
    other.write_text(file.read_text())
    folder.joinpath("other.es.md").write_text('+++\ntitle = "X"\norder = 2\n+++\n\n## Uno\nUna.\n')
    with languages.using("es"), pytest.raises(exhibit_text.PageError, match="order"):
        exhibit_text.read(other)


@pytest.mark.parametrize(
    "file",
    sorted(Path(exhibit_text.__file__).parent.rglob("text.*.md")),
    ids=lambda file: f"{file.parent.name}-{file.name}",
)
def test_translations_fill_in_the_same(file: Path) -> None:
    source = exhibit_text.read(file.with_name("text.md"))
    with languages.using(file.suffixes[0][1:]):
        text = exhibit_text.read(file.with_name("text.md"))
    hole = re.compile(r"\{[A-Za-z_][^{}\s]*\}")
    for step, given in zip(text.steps, source.steps, strict=True):
        for part in ("name", "says", "look", "tries"):
            assert sorted(hole.findall(getattr(step, part))) == sorted(hole.findall(getattr(given, part))), (
                step.name,
                part,
            )
            assert bool(getattr(step, part)) == bool(getattr(given, part)), (step.name, part)


def test_the_memo_keeps_languages_apart() -> None:
    class Thing:
        pass

    thing, memo = Thing(), Memo()
    assert memo(thing, "title", lambda: languages._("Course")) == "Course"
    with languages.using("es"):
        assert memo(thing, "title", lambda: languages._("Course")) == "Curso"
    assert memo(thing, "title", lambda: "another") == "Course"


def test_the_evidence_of_an_erratum_is_in_its_readers_language_though_a_worker_computes_it() -> None:
    with languages.using("es"):
        spanish = errata.find("E1").evidence()
    texts = {str(element.value) for element in drawn("errata", lang="es").text}
    assert spanish.sentence in texts and spanish.sentence != errata.find("E1").evidence().sentence


def test_a_slider_of_an_answer_writes_percent_as_the_language_does() -> None:
    formats = [{each.proto.format for each in drawn("masks", lang=code).slider} for code in ("es", "en")]
    assert formats == [{"%g\u202f%%"}, {"%g%%"}]
