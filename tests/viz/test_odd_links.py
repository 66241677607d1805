"""Whatever stands in the link of an exhibit or is typed into its boxes, the page stands, the texts can be mended, and what could not be read is told."""

from __future__ import annotations

from typing import Any

import pytest
from deep import deep
from exhibit_pages import drawn, said

from core.text.tokenizer import readable_part
from viz.shell import pages

ODD = ("x", "-3", "99", "1e9", "nan", "<b>", "", "0", "?", "63")
NO_VALUE = ("x", "<b>", "?", "nan")
"""What no control takes, whatever it is for."""
TYPED = ("<b>*x*</b> ![x](http://a) $y$", "word " * 60, "", "🙂🙂 \x00", "a", " ", "so " * 300)
ITS_OWN = {
    "gpt_tasks": [{"choice.second": "a,b,c,d,e,f,g,h"}, {"choice.second": "one"}],
    "masks": [
        {"kind": "window", "radius": "-4"},
        {"cell": "7.x"},
        {"cell": "88.1"},
        {"kind": "own", "drawn": "5.%%"},
        {"kind": "own", "drawn": "4.____"},
    ],
    "permutation": [{"order": "0_0_1"}, {"order": "x"}],
    "prompting": [{"string": "x" * 400}, {"string": "aaa"}],
    "retrieval": [{"rows": "[[1]]"}, {"points": "1,2;x"}],
    "score_functions": [
        {"at": "1,2"},
        {"at": "a,b;c,d;e,f;g,h;i,j"},
        {"at": "nan,1;0,0;0,0;0,0;0,0"},
        {"at": "9,9;9,9;9,9;9,9;9,9"},
    ],
    "self_attention": [
        {"set": "Q99:1", "draw": "inf"},
        {"scores": "a_b", "example": "pear"},
        {"scores": "1_2"},
        {"at": "7", "itself": "maybe", "n": "2"},
    ],
    "sizes": [{"heads": "25"}],
    "spans_and_tags": [{"mark": "9-2", "token": "511"}],
    "weighting": [
        {"raw": "1_2", "source": "own"},
        {"raw": "9_9_9_9_9_9_9_9_9_9", "source": "own"},
        {"raw": "nan_0_0_0_0_0_0_0_0_0", "source": "own"},
    ],
    "word_vectors": [{"points": "1,2;x"}],
}
"""What is nonsense for one exhibit alone."""
PICTURES = ("plotly_chart", "vega_lite_chart", "bidi_component")
CASES = [(entry.slug, step) for entry in pages.exhibits() for step in range(1, len(entry.steps) + 1)]
QUICK = [case for case in CASES if case[1] == 1][3::6]
"""The first step of every sixth exhibit."""


def typed(fields: dict[str, Any]) -> set[str]:
    """The fields that hold a visitor's text."""
    return {
        name
        for name, field in fields.items()
        if field.metadata["control"].rule(field.default) is readable_part
    }


def links(slug: str) -> list[dict[str, str]]:
    """Links that set everything that can be set to something odd, and those of this exhibit alone."""
    fields = pages.find(slug).module.EXHIBIT.params._fields()
    texts = typed(fields)
    every = [
        {name: (TYPED if name in texts else ODD)[(n + i) % 7] for i, name in enumerate(fields)}
        for n in range(7)
    ]
    return every + ITS_OWN.get(slug, [])


@pytest.mark.parametrize(("slug", "step"), deep(CASES, quick=QUICK))
def test_an_odd_link_leaves_a_page(slug: str, step: int, request: pytest.FixtureRequest) -> None:
    """Of the quick run: what is odd in every way taken in turn by the exhibits, each link at one step; of the slow one: all links at all steps."""
    params, found = pages.find(slug).module.EXHIBIT.params, links(slug)
    n_steps, fields = len(pages.find(slug).steps), params._fields()
    chosen = fields.keys() - typed(fields)
    slow = request.node.get_closest_marker("slow")
    for n, link in enumerate(found):
        if not slow and n < 7 and (n + CASES.index((slug, step))) % 4:
            continue
        at = step if slow else 1 + n % n_steps
        named = {
            params.link(slug, name) if name in fields else f"{slug}.{name}": value
            for name, value in link.items()
        }
        test = drawn(slug, {f"{slug}.step": str(at)} | named, {}, guarded=True)
        told = said(test)
        assert not test.exception and "went wrong" not in told, (at, link)
        assert test.title and (any(test.get(kind) for kind in PICTURES) or test.text), (at, link)
        if any(link[name] in NO_VALUE for name in chosen & link.keys()):
            assert "cannot be shown" in told, (at, link)
