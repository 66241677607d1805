"""Uses and risks: every card has a paper with a year, and its link opens the page, the step and the choice that it names."""

from __future__ import annotations

import re

import pytest

from tests.viz.exhibit_pages import drawn
from viz.course.pages.uses.page import CARDS, Card
from viz.shell import pages

LINKS = {(card.page, *sorted(card.query.items())): card for card in CARDS}


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.title)
def test_a_card_names_its_paper_and_a_page_with_what_its_link_chooses(card: Card) -> None:
    entry = pages.find(card.page)
    assert re.search(r"\b(19|20)\d\d\b", card.paper)
    for name, value in card.query.items():
        slug, field = name.split(".")
        assert slug == card.page
        if field == "step":
            assert 1 <= int(value) <= len(entry.steps)
        else:
            assert field in entry.fields


@pytest.mark.slow
@pytest.mark.parametrize("card", LINKS.values(), ids=lambda card: f"{card.page}-{card.title}")
def test_a_link_opens(card: Card) -> None:
    test = drawn(card.page, card.query, {})
    assert not test.exception and not test.error


def test_the_page_shows_every_card() -> None:
    test = drawn("uses", {}, {})
    words = "\n".join(str(element.value) for element in (*test.markdown, *test.text))
    assert not test.exception
    assert [
        card.title for card in CARDS if card.title not in words.replace("\\", "") or card.text not in words
    ] == []
