"""The parts of the load test that need no server: what a class does is drawn from a seed, what it met is summed up rightly."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from itertools import islice

import pytest
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.bench import visitors
from tests.bench.wire import Visit, shown
from viz.shell import pages


def test_a_class_is_the_same_again():
    assert list(islice(visitors.actions(7), 50)) == list(islice(visitors.actions(7), 50))
    assert list(islice(visitors.actions(7), 50)) != list(islice(visitors.actions(8), 50))


def test_every_page_of_the_class_is_there():
    assert set(visitors.PAGES) - {""} <= {entry.slug for entry in pages.discover()}


def test_the_mix_is_the_one_it_says():
    common = {visitors.common(number) for number in range(visitors.COMMON)}
    kinds, moves, total = Counter[str](), 0, 40_000
    steps = visitors.actions(0)
    page, values = next(steps)
    for now, then in islice(steps, total):
        text = then["text"]
        kinds["same" if text == values["text"] else "common" if text in common else "own"] += 1
        moves += now != page
        page, values = now, then
    assert kinds["own"] / total == pytest.approx(0.1, abs=0.01)
    assert kinds["common"] / total == pytest.approx(
        0.2, abs=0.02
    )  # now and then it is the one that was there
    assert moves / total == pytest.approx(
        visitors.LEAVES * 0.78, abs=0.01
    )  # 4, 1, 1, 1, 1, 1, 1 of 10: the chance that two draws differ


def test_percentiles_are_values_that_were_measured():
    assert [visitors.percentile([30, 10, 20], share) for share in (0, 0.33, 0.34, 0.67, 1)] == [
        10,
        10,
        20,
        30,
        30,
    ]
    assert visitors.percentile([], 0.5) != visitors.percentile([], 0.5)


def test_the_table_says_what_was_met():
    figures = visitors.Figures(wave=[1.0], actions=[2.0, 4.0], wrong=["a"], lost=["b", "c"], seconds=2.0)
    table = figures.table()
    assert (
        "wrong 1, lost 2, late 0; 1.0 actions/s in 2 s" in table
        and "4.0" in table
        and "  a\n  b\n  c" in table
    )
    assert '"wrong": 1, "lost": 2' in figures.line() and '"p50": 2.0' in figures.line()


class Socket:
    """Says what a server says."""

    def __init__(self, *messages: ForwardMsg) -> None:
        self.messages = iter(messages)

    async def recv(self, decode: bool) -> bytes:
        return next(self.messages).SerializeToString()


def said(text: str = "", exception: str = "") -> ForwardMsg:
    message = ForwardMsg()
    if exception:
        message.delta.new_element.exception.message = exception
    else:
        message.delta.new_element.text.body = text
    return message


def finished(how: ForwardMsg.ScriptFinishedStatus.ValueType) -> ForwardMsg:
    message = ForwardMsg()
    message.script_finished = how
    return message


def test_an_answer_tells_errors_and_words():
    visit = Visit(
        Socket(
            said("It is in the server's log as error 12ab."),
            said(exception="no such key"),
            said("Others are computing: 3 before you."),
            finished(ForwardMsg.FINISHED_SUCCESSFULLY),
        ),
        [b"Others are computing"],
    )  # type: ignore[arg-type]
    answer = asyncio.run(visit.answer())
    assert answer.wrong == ["It is in the server's log as error", ": no such key"]
    assert set(answer.heard) == {b"Others are computing"} and not answer.replaced


def test_a_run_that_a_newer_one_replaced_is_told_apart():
    visit = Visit(
        Socket(
            said("half a page"),
            finished(ForwardMsg.FINISHED_EARLY_FOR_RERUN),
            finished(ForwardMsg.FINISHED_SUCCESSFULLY),
        )
    )  # type: ignore[arg-type]
    assert [asyncio.run(visit.answer()).replaced for _ in range(2)] == [True, False]


def picture(boot: bytes, parts: dict[str, list[int]], chosen: int = 0) -> Element:
    header = json.dumps({"chosen": chosen, "needs": ["ab12"], "parts": parts}).encode()
    element = Element()
    element.bidi_component.id = "look.words"
    element.bidi_component.bytes = (
        len(boot).to_bytes(4, "little") + boot + len(header).to_bytes(4, "little") + header + b"\0" * 8
    )
    return element


def test_a_picture_is_the_same_whatever_the_page_had_already():
    assert shown(picture(b"export {};", {"ab12": [0, 8]})) == shown(picture(b"", {}))
    assert shown(picture(b"", {}, chosen=1)) != shown(picture(b"", {}))


def test_a_view_is_what_is_read_not_what_is_set():
    one, other = Element(), Element()
    one.text.body, other.text.body = "cat", "dog"
    assert shown(one) != shown(other)
    one.slider.set_value = True
    assert shown(one) == b"" == shown(Element())


def test_a_visit_knows_the_address_that_the_app_gave_it():
    message = ForwardMsg()
    message.page_info_changed.query_string = "layer=2"
    visit = Visit(Socket(message, finished(ForwardMsg.FINISHED_SUCCESSFULLY)))  # type: ignore[arg-type]
    asyncio.run(visit.answer())
    assert visit.address == "layer=2"
