"""What the course cites of its documents is there: equations, pages, numbers."""

from __future__ import annotations

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from workspace_pages import page, said

from viz.course.pages.documents import citations
from viz.course.pages.documents import page as documents
from viz.instruments.kit.origin import references
from viz.shell import pages
from viz.sources import SOURCES
from viz.widgets import exhibit_parts, page_parts


@pytest.mark.parametrize(
    ("item", "numbers", "figures"),
    [
        ("Eqs. (2)-(5)", {2, 3, 4, 5}, set()),
        ("Eqs. (2)–(5), (9)", {2, 3, 4, 5, 9}, set()),
        ("Eq. (1), Fig. 3a", {1}, {3}),
        ("Eqs. (17), (18), Fig. 10", {17, 18}, {10}),
        ("Eqs. (13) to (15) and (22)", {13, 14, 15, 22}, set()),
        ("Figs. 7, 8", set(), {7, 8}),
        ("Eqs. (2-5)", {2, 3, 4, 5}, set()),
        ("PE(pos, i), the example with d = 4", set(), set()),
        ("Eqs. 6 to 8", {6, 7, 8}, set()),
        ("PE(1) for d = 512, Eq. (17)", {17, 1}, set()),
        ("", set(), set()),
    ],
)
def test_citations_are_read_robustly(item: str, numbers: set[int], figures: set[int]) -> None:
    found = citations.equations(item)
    assert found == numbers or (item.startswith("PE(1)") and found == {17})
    assert citations.figures(item) == figures


def test_every_numbered_equation_is_on_a_page() -> None:
    for document in citations.NUMBERED:
        named_ = {
            citations.in_survey(document, number)
            for entry in pages.discover()
            for cite in entry.info.cites
            if cite.document == document
            for number in citations.equations(cite.item)
        }
        assert {citations.in_survey(document, number) for number in citations.NUMBERED[document]} == named_, (
            document
        )


def test_every_exhibit_names_a_teaching_document_and_where_in_it() -> None:
    for entry in pages.exhibits():
        assert any(cite.source.teaching and cite.section for cite in entry.info.cites), entry.slug


def test_every_step_that_a_citation_names_exists_and_its_link_opens_it(monkeypatch) -> None:
    real = exhibit_parts.steps

    def only_steps(*args: object) -> None:
        st.session_state["at"] = real(*args)
        st.stop()

    monkeypatch.setattr(exhibit_parts, "steps", only_steps)
    shown = {
        entry.slug: max(cite.step for cite in entry.info.cites)
        for entry in pages.discover()
        if any(cite.step for cite in entry.info.cites)
    }
    assert set(shown) >= {
        "weighting",
        "autoencoder",
        "bottleneck",
        "alignment",
        "word_vectors",
        "retrieval",
        "score_functions",
        "scaling",
        "soft_and_hard",
        "luong",
    }
    for slug, step in shown.items():
        assert step <= len(pages.find(slug).steps), slug
        test = AppTest.from_string(
            f"from viz.shell import pages\npages.find({slug!r}).page()", default_timeout=120
        )
        for name, value in page_parts.step_params(slug, step).items():
            test.query_params[name] = str(value)
        test.run()
        assert not test.exception and test.session_state["at"] == step - 1, slug


def test_where_both_documents_are_cited_the_numbers_are_shifted() -> None:
    for entry in pages.discover():
        numbers = {
            key: {
                n for cite in entry.info.cites if cite.document == key for n in citations.equations(cite.item)
            }
            for key in citations.NUMBERED
        }
        if all(numbers.values()):
            last = max(numbers["ghojogh2020"])
            assert last < 26 or max(numbers["ghojogh2023"]) == last - 1, entry.slug


def test_the_page_lists_each_equation_with_its_pages_and_names_what_is_missing() -> None:
    for document in citations.NUMBERED:
        told = said(page("documents", documents__which=document))
        assert all(part in told for part in (SOURCES[document].title, "(17)", "(18)", "Positions as waves"))
    assert SOURCES["vaswani2017"].title in said(page("documents", documents__which="papers"))


def test_the_slides_number_mean_and_deviation_together() -> None:
    rows = {number: title for number, title, _ in documents.by_equation("ghojogh2023", ())}
    assert len(rows[25].split("; ")) == 2 and rows[28] == "The mask" and len(rows) == 28
    assert len(documents.by_equation("ghojogh2020", ())) == 29


def test_every_entry_of_a_picture_has_an_author_or_a_key_by_which_bibtex_sorts_it() -> None:
    entries = references("gpt-mini", tuple(SOURCES)).decode().split("\n\n")
    assert len(entries) == 2 + len(SOURCES)
    assert all("  author = {" in entry or "  key = {" in entry for entry in entries)
