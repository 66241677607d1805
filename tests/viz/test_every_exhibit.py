"""What holds for every exhibit of the course, whichever there are: links, draws, typed text, taking away, no network and no graphics card."""

from __future__ import annotations

import functools
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from exhibit_pages import drawn
from exhibit_visits import Visit, answered, controls, go, last, link, name, shown, walk, well
from streamlit.testing.v1 import AppTest
from typed_texts import Work

import core.serving.engine
from core.reading.bounds import WORK
from core.text.tokenizer import LONGEST
from viz.shell import notices, pages

NO_TEXT = {
    "complexity": "counts operations by length and width",
    "albert": "its sentences stand in folds: test_albert_exhibit types into them",
    "many_heads": "its words only name the rows; every number is drawn",
    "picture_as_words": "attends to the patches of a doodle",
    "positional_encoding": "codes places, whatever stands there",
    "score_functions": "its query and keys are points of a plane",
    "sizes": "counts weights",
    "soft_and_hard": "attends to the patches of a picture",
}
"""The exhibits that read no text of a visitor, and why; in every other one he can type his own."""

UNMOVED = {
    "families.draw": "which word can move which depends on how two chains are built, not on their weights"
}
"""Draws whose number changes what can be taken away, and not the picture; and why."""

MARKUP = "<script>alert(1)</script> **bold** [link](http://x) $x^2$ :red[x] 🙂"

LIVE = re.compile(r"<script>|(?<!\\)\*\*bold|(?<!\\)\[link\]|(?<!\\):red\[|(?<!\\)\$x\^2")

LONG = "word " * 1000

ENDLESS = "\U00010400x \u0301" * 250_000

TYPED = (LONG, ENDLESS, "", "cat", MARKUP)


@pytest.fixture(scope="module")
def engine() -> Iterator[core.serving.engine.Engine]:
    """An engine that remembers nothing of other tests: what draws at random draws here."""
    with pytest.MonkeyPatch.context() as patch, core.serving.engine.Engine() as fresh:
        patch.setattr(core.serving.engine, "_default", fresh)
        yield fresh


@dataclass
class Told:
    """What happened while a page was drawn: boxes that told the visitor something, and the numbers that chance began from."""

    boxes: list[tuple[str, str, str]] = field(default_factory=list)
    seeds: list[Any] = field(default_factory=list)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    found = Told()
    real = notices.box

    def box(wrong: str, rule: str, remedy: str, **more: Any) -> None:
        found.boxes.append((wrong, rule, remedy))
        real(wrong, rule, remedy, **more)

    def spied(where: Any, name: str) -> None:
        honest = getattr(where, name)

        @functools.wraps(honest)
        def begin(*given: Any, **more: Any) -> Any:
            found.seeds.append((name, *map(str, given)))
            return honest(*given, **more)

        monkeypatch.setattr(where, name, begin)

    monkeypatch.setattr(notices, "box", box)
    spied(np.random, "default_rng")
    spied(torch, "manual_seed")
    spied(torch.random, "manual_seed")
    return found


@pytest.mark.parametrize(
    ("entry", "all_of_it"),
    [
        pytest.param(
            entry,
            all_of_it,
            id=f"{entry.slug}-{'all' if all_of_it else 'some'}",
            marks=() if number % 15 == 0 and not all_of_it else pytest.mark.slow,
        )
        for number, entry in enumerate(pages.exhibits())
        for all_of_it in (False, True)
    ],
)
def test_an_exhibit_is_in_its_link_its_draws_have_a_number_and_any_text_may_be_typed(
    entry: pages.Entry,
    all_of_it: bool,
    engine: object,
    told: Told,
    alone: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C114 to C117 in one visit. Of `some`: the busiest step, the first draw, the box of the first step and one text."""
    slug = entry.slug
    visit = walk(slug, last(slug))
    assert bool(visit.boxes) != (slug in NO_TEXT), "what has no text box stands in NO_TEXT"
    assert visit.draws or not told.seeds, f"drawn at random without a number that is shown: {told.seeds[:3]}"
    steps, draws, boxes, texts = {visit.busiest, last(slug)}, visit.draws, visit.boxes, TYPED
    if not all_of_it:
        steps, draws, boxes, texts = {visit.busiest}, first(draws), first(boxes), (MARKUP,)
    another_visitor_sees_the_same(slug, visit, steps)
    the_same_number_draws_the_same(slug, draws)
    any_text_may_be_typed(slug, boxes, texts, told, Work(monkeypatch))
    assert alone == [], "asked for outside this machine"


def another_visitor_sees_the_same(slug: str, visit: Visit, steps: set[int]) -> None:
    """C116: the link of a visit opens the same page for another visitor; link, data and lines of Python can be taken along."""
    for step in sorted(steps):
        visit.test.session_state[f"fold:{slug}.take"] = True
        mine = go(visit.test, slug, step)
        other = drawn(slug, link(mine), {f"fold:{slug}.take": True}, guarded=True)
        well(other, f"step {step} from the link")
        assert shown(mine) == shown(other), f"step {step}"
        assert {"Data, NPZ", "Data, CSV"} <= {button.label for button in other.download_button}
        assert len(other.code) >= 2, "the link, and the lines that make the same numbers"


def first(steps: dict[str, int]) -> dict[str, int]:
    """What is met at the first step that has such a control."""
    return {called: step for called, step in steps.items() if step == min(steps.values())}


def the_same_number_draws_the_same(slug: str, draws: dict[str, int]) -> None:
    """C115: the number of a draw is on the page and in the link; the same number gives the same numbers, another others."""
    for called, step in draws.items():
        one, again, other = (
            answered(drawn(slug, {f"{slug}.step": str(step), called: number}, {}, guarded=True))
            for number in ("5", "5", "6")
        )
        box = next(widget for widget in controls(other) if name(widget) == called)
        assert box.value == 6 and link(other)[called] == "6"
        well(one, called)
        assert shown(one) == shown(again)
        pictures = [[numbers for at, numbers in enumerate(shown(page)) if at != 1] for page in (one, other)]
        assert (pictures[0] == pictures[1]) == (called in UNMOVED), called


def any_text_may_be_typed(
    slug: str, boxed: dict[str, int], texts: tuple[str, ...], told: Told, work: Work
) -> None:
    """C114: whatever is typed, the page stands, the text stays in its box, and what is wrong is told in three parts; the work is bounded before it begins."""
    for step in dict.fromkeys(boxed.values()):
        mine = [called for called, at in boxed.items() if at == step]
        told.boxes.clear()
        test = drawn(slug, {f"{slug}.step": str(step)} | dict.fromkeys(mine, texts[0]), {}, guarded=True)
        mine = [
            name(widget) for widget in test.text_input if name(widget) in mine
        ]  # others come with another choice
        for typed in texts:
            work.begin()
            boxes = [widget for widget in test.text_input if name(widget) in mine]
            if typed != texts[0]:
                for box in boxes:
                    box.set_value(typed)
                test.run()
            well(test, f"{typed[:20]!r} at step {step}")
            assert work.letters <= LONGEST and work.cost <= WORK, (typed[:20], step, work)
            boxes = [widget for widget in test.text_input if name(widget) in mine]
            assert [box.value for box in boxes] == [typed] * len(mine), f"{typed[:20]!r} is lost"
            assert all(part.strip() and part.rstrip()[-1] in ".?!”'" for box in told.boxes for part in box), (
                told.boxes
            )
        said = [str(element.value) for kind in (test.markdown, test.caption, test.title) for element in kind]
        said += [
            part
            for widget in controls(test)
            for part in (widget.label, *(widget.options if widget.type in ("button_group", "radio") else ()))
        ]
        assert [part for part in said if LIVE.search(part)] == [], "a visitor's text is never markup"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No network but this machine's own, no graphics card: who asks for one fails, and is listed."""
    asked: list[str] = []
    honest, names = socket.socket.connect, socket.getaddrinfo

    def refuse(what: str) -> None:
        asked.append(what)
        raise OSError(f"no network in this test: {what}")

    def connect(self: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            refuse(str(address))
        return honest(self, address)

    def look_up(host: Any, *given: Any, **more: Any) -> Any:
        if host not in (None, "", "127.0.0.1", "::1", "localhost", "0.0.0.0"):
            refuse(str(host))
        return names(host, *given, **more)

    def no_card() -> None:
        asked.append("a graphics card")
        raise RuntimeError("no graphics card in this test")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(torch.cuda, "_lazy_init", no_card)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return asked


def test_the_first_screen_and_the_core_need_neither_network_nor_graphics_card(alone: list[str]) -> None:
    """C117, with the exhibits above: every shipped model is opened from its files and run on the processor."""
    with core.serving.engine.Engine() as fresh:
        for listing in fresh.models():
            model = fresh.open(listing.name)
            assert {weight.device.type for weight in model.network.parameters()} == {"cpu"}, listing.name
    test = AppTest.from_string(
        "from viz.workspace.look import page as look\nlook.page()", default_timeout=90
    ).run()
    well(test, "look")
    with pytest.raises(OSError, match="no network"):
        socket.create_connection(("example.org", 80))
    assert alone == ["example.org"], "the one question that this test asked itself"


def test_no_page_names_an_address_that_a_browser_would_ask() -> None:
    """C117: scripts, styles and pages of ours name no other machine, and Streamlit is told to report nothing."""
    root = Path(pages.__file__).parents[1]
    fetched = re.compile(
        r"(?:src\s*=|href\s*=|url\(|import|fetch\(|from)\s*[\"'(]*\s*(?:https?:)?//(?!www\.w3\.org)[a-z]",
        re.IGNORECASE,
    )
    files = [file for kind in ("js", "css", "html", "svg") for file in root.rglob(f"*.{kind}")]
    assert len(files) > 50 and [file.name for file in files if fetched.search(file.read_text("utf-8"))] == []
    settings = (root.parent / ".streamlit" / "config.toml").read_text("utf-8")
    assert "gatherUsageStats = false" in settings
