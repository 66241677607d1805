"""Every link from one page to another, for every kind of model: what the other page then shows is what was on screen."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from deep import deep
from streamlit.testing.v1 import AppTest
from tiny_models import MODELS, serving
from workspace_pages import linked, page, said

from core.data.texts import Example
from viz.labels import head_name
from viz.shell import pages, selection
from viz.workspace.find import pool
from viz.workspace.importance import work
from viz.workspace.shared import toy_models

LINK = re.compile(r"\[(?P<label>[^\]]*)\]\(/(?P<slug>\w+)\??(?P<query>[^)]*)\)")
WHOLE = [entry.slug for entry in pages.workspace() if entry.takes_selection]
OWN = "The red house is old."
READS = {
    "tiny-bert": "The [MASK] house is old.",
    "tiny-albert": "The [MASK] house is old.",
    "tiny-bigbird": "The [MASK] house is old.",
    "copy-lstm-attention": "a c b",
    "prompt-tiny": "copy:abc=",
    "snail-recall": "k3Fm7Qk3?",
    "speller": "4 7 voice=Linda",
}
ALIKE = (
    *("tiny-llama", "tiny-t5", "prompt-tiny", "snail-recall"),
    *("luong-global", "luong-local-m"),
    *("tiny-albert", "tiny-bigbird"),
)
"""Models whose links are those of tiny-gpt or tiny-translator, of bahdanau, of tiny-bert: the same kinds of attention on the same pages."""
HEAD = {"look": {"view": "full"}, "inside": {"inside.by": "who"}}
"""What a page shows its links with."""


PAIRS = (Example("The cat sat.", "El gato."),) * 3
_models = serving(
    *MODELS,
    autouse=True,
    changed=[
        (work, "SENTENCES", 2),
        (pool, "sentences", lambda found: toy_models.examples_of(found.models[0])[:2] or PAIRS),
    ],
)
CARRIED = ("atlas.chosen", "atlas.shown", "atlas.page")


def visited(slug: str, query: dict[str, str], before: AppTest | None = None) -> AppTest:
    """Draw a page as it opens by a link: in a fresh session, or after another page."""
    state = before.session_state if before else {}
    return page(slug, {name: state[name] for name in CARRIED if name in state}, **query)


def shown(test: AppTest) -> dict[str, str]:
    return dict(test.session_state["atlas.shown"]) if "atlas.shown" in test.session_state else {}


def refused(test: AppTest) -> bool:
    return "This page cannot show" in said(test)


def drawn(test: AppTest) -> bool:
    return any(one.proto.bytes for one in test.get("bidi_component"))


def links(test: AppTest) -> list[tuple[str, dict[str, str]]]:
    """The links that are drawn on a page to pages that show a run."""
    found = [LINK.search(element.value) for element in test.markdown]
    return [(one["slug"], dict(parse_qsl(one["query"]))) for one in found if one and one["slug"] in WHOLE]


def drawn_head(slug: str, test: AppTest) -> str | None:
    """The name of the head on the page itself, where it says one."""
    if slug == "look":
        pills = [group for group in test.button_group if group.key and group.key.startswith("look.pills")]
        return str(pills[0].value) if pills else None
    found = {
        "what_if": r"Without (L\d+\.H\d+)",
        "importance": r"Without (L\d+\.H\d+)",
        "find": r"The head in view: (L\d+\.H\d+)",
    }.get(slug)
    match = re.search(found, said(test)) if found else None
    return next(filter(None, match.groups())) if match else None


def agree(slug: str, now: dict[str, str], target: str, query: dict[str, str], test: AppTest) -> None:
    """What another page shows is what a link promised, and what the page before showed; or it says why it shows nothing."""
    assert test.text_input[0].value == now["text"], (slug, target)
    assert "cannot be shown" not in said(test), (slug, target)
    if refused(test):
        assert not drawn(test), f"{target} shows another model in its place"
        return
    after, promised = shown(test), {name: value for name, value in query.items() if name in selection.NAMES}
    assert {"model", "text"} <= promised.keys() and {
        name: after.get(name) for name in promised
    } == promised, (slug, target)
    if slug not in ("find", "inside"):  # whose links name other heads, which are on screen as well
        assert {name: after.get(name) for name in now} == now, (slug, target)
    if "layer" in promised and (name := drawn_head(target, test)):
        assert name == head_name(int(promised["layer"]), int(promised["head"])), (slug, target)


QUICK = [(model, at % 2) for at, model in enumerate(name for name in MODELS if name not in ALIKE)]


@pytest.mark.parametrize(
    ("model", "half"), deep(product(("as it opens", *MODELS), (0, 1)), quick=QUICK)
)  # the links of every other page, from the first or from the second; the slow run follows all
def test_every_link_leads_to_what_is_on_screen_or_says_why_it_cannot_be_shown(model: str, half: int) -> None:
    asked = {"model": model, "text": READS.get(model, OWN)} if model in MODELS else {}
    opened: dict[tuple[str, ...], AppTest] = {}
    for slug in WHOLE[half::2]:
        start = visited(slug, asked | HEAD.get(slug, {}))
        if refused(start):
            assert not drawn(start) and (start.button or start.pills)
            assert start.text_input[0].value == asked["text"]
            continue
        now = shown(start)
        assert not asked or (now["model"], now["text"]) == (asked["model"], asked["text"])
        assert start.text_input[0].value == now["text"]
        for target, query in links(start):
            key = (target, *sorted("=".join(pair) for pair in query.items()))
            if target != slug:
                test = opened.get(key) or opened.setdefault(key, visited(target, query))
                agree(slug, now, target, query, test)


@pytest.mark.quick(4)
@pytest.mark.parametrize("target", [slug for slug in WHOLE if slug != "look"])
def test_the_menu_leads_to_what_is_on_screen(target: str) -> None:
    """Streamlit's own menu empties the link: what was on screen, the opening sentence included, comes along by the session."""
    start = visited("look", {"view": "full", "model": "tiny-translator"})
    now = shown(start)
    assert {"text", "kind", "layer", "head"} <= now.keys()
    test = visited(target, {}, start)
    agree("look", now, target, now, test)
    assert now.items() <= linked(test).items(), "and it is in the link"


def test_the_view_of_look_stays_with_look() -> None:
    start = visited("look", {"view": "heads"})
    assert "view" not in arrived("course", start)
    assert linked(visited("look", {}, start))["view"] == "heads", "it is there again on the way back"
    old = AppTest.from_string("from viz.shell import state\nwith state.visit('course'):\n    pass")
    old.query_params["view"] = "heads"
    assert "view" not in linked(old.run())
    assert linked(visited("look", {}, old))["view"] == "heads"


def test_an_exhibit_takes_the_visitors_sentence_and_no_head_of_another_model() -> None:
    assert arrived("masks", visited("look", {"view": "full"})) == {}, "nobody chose the opening sentence"
    assert arrived(
        "masks", visited("look", {"text": OWN, "model": "tiny-gpt", "layer": "1", "head": "2"})
    ) == {"text": OWN}


def arrived(slug: str, before: AppTest) -> dict[str, str]:
    """What an exhibit finds in its link after another page."""
    test = AppTest.from_string(
        f"from viz.shell import state\nstate.begin({slug!r}, with_subject=False)", default_timeout=60
    )
    for name in CARRIED:
        test.session_state[name] = before.session_state[name]
    test.run()
    return {name: value for name, value in linked(test).items() if name in selection.NAMES}


def test_every_page_has_a_title_of_its_own() -> None:
    test = AppTest.from_file(Path(__file__).parents[2] / "viz" / "frame.py", default_timeout=120)
    titles: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.set_page_config", lambda title, *_, **__: titles.append(title))
        test.run()
    assert titles == ["Look · Attention Atlas"]
    names = [entry.info.title for entry in pages.discover()]
    assert len(names) > 40 and len(set(names)) == len(names), (
        "a page is told by its title in tabs and bookmarks"
    )
