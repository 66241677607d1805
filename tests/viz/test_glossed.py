"""A measure or a method is told by the glossary where a page shows it first."""

from __future__ import annotations

import pytest
from question_rules import units
from tiny_models import serving
from typed_texts import VIEWS
from workspace_pages import page, said

from core import glossary
from core.data.texts import Example
from viz.widgets import page_parts
from viz.workspace.find import pool
from viz.workspace.importance import work

SHOWN = {
    "logit_lens": ("inside", {}),
    "attribution": ("inside", {"inside.by": "who"}),
    "ablation": ("importance", {}),
    "patching": ("importance", {"importance.by": "patch"}),
    "cache": ("decode", {"decode.show": "What is kept"}),
    "surprisal": ("decode", {}),
    "divergence": ("find", {}),
}
"""Where a term is met first, and what is chosen there."""


_models = serving(
    "tiny-gpt",
    autouse=True,
    changed=[(work, "SENTENCES", 2), (pool, "sentences", lambda found: (Example("The cat sat."),) * 3)],
)
GPT = {"model": "tiny-gpt", "text": "The animal was tired."}


def helps(slug: str, **link: str) -> list[str]:
    """What stands behind the question marks of a page."""
    test = page(slug, **GPT, **link)
    helps = [each.proto.help for each in (*test.text, *test.markdown, *test.button_group)]
    return [*filter(None, helps)]


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", SHOWN)
def test_a_term_is_told_where_it_is_met(name: str) -> None:
    slug, chosen = SHOWN[name]
    term = glossary.term(name)
    told = f"**{term.word[0].upper()}{term.word[1:]}**: {term.sentence}"
    assert any(told in help for help in helps(slug, **chosen)), f"{slug} does not say what {term.word} is"
    assert not any(term.sentence in help for help in helps(slug, **chosen, present="1")), (
        "before a room no question mark"
    )


def test_the_output_of_a_head_is_ablated_where_it_is_said_what_that_is() -> None:
    assert any(glossary.term("ablation").sentence in help for help in helps("what_if"))


def test_a_sentence_is_told_what_it_speaks_of() -> None:
    found = page_parts.glossary_help(
        "The mean Jensen-Shannon divergence is 0.2 bits, the surprisal 3.", "cache"
    )
    assert found and [line.split("**")[1] for line in found.split("\n\n")] == [
        "KV cache",
        "Surprisal",
        "Jensen-Shannon divergence",
    ]


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    ("slug", "chosen"),
    [
        (slug, chosen)
        for slug in ("look", "what_if", "find", "decode", "inside", "importance", "compare")
        for chosen in VIEWS[slug]
    ],
)
def test_a_page_tells_information_in_one_unit(slug: str, chosen: dict[str, str]) -> None:
    assert len(units(said(page(slug, **GPT | chosen)))) <= 1
