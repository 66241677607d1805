"""A browser's translator puts <font> elements in the place of text nodes: what changes afterwards is right all the same."""

from __future__ import annotations

import pytest
from settling import settle

TRANSLATE = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
  while (walk.nextNode()) texts.push(walk.currentNode);
  for (const text of texts) {
    if (!text.data.trim() || text.parentElement.closest("[translate=no], script, style, code")) continue;
    const font = document.createElement("font");
    font.append(document.createElement("font"));
    font.firstChild.textContent = text.data;
    if (texts.indexOf(text) % 2) text.replaceWith(font);
    else {
      text.parentNode.insertBefore(font, text);
      text.parentNode.removeChild(text);
    }
  }
  return document.querySelectorAll("font > font").length;
}"""
WORDS = "() => document.querySelector('[data-testid=stMain]').innerText.split(/\\s*\\n\\s*/)"


@pytest.mark.parametrize(
    ("link", "typed"),
    [
        ("/decode?model=gpt-mini&text=Once+upon+a+time&decode.n=3", "The dog was"),
        pytest.param("/compare?model=gpt-mini&text=Once+upon+a+time", "The dog was", marks=pytest.mark.slow),
        pytest.param("/?model=bert-mini&text=A+[MASK].", "A white [MASK] [MASK].", marks=pytest.mark.slow),
    ],
)
def test_a_translated_page_follows_another_sentence(visitor, app_url: str, link: str, typed: str) -> None:
    visitor.goto(app_url + link)
    settle(visitor)
    assert visitor.evaluate(TRANSLATE) > 30
    before = visitor.evaluate(WORDS)
    box = visitor.get_by_test_id("stMain").locator("input[type=text], textarea").first
    box.fill(typed)
    box.press("Enter")
    settle(visitor)
    words = visitor.evaluate(WORDS)
    assert words != before
    visitor.goto(visitor.url)
    settle(visitor)
    assert words == visitor.evaluate(WORDS)
