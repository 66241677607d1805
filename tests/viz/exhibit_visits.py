"""A visit to an exhibit: all of its controls changed, all that is shown told apart, all that is wrong asserted."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from exhibit_pages import drawn, folds, said
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TESTING_KEY

from viz.labels import has_index
from viz.shell import pages
from viz.widgets import chart_table as told_by_charts
from viz.widgets import page_parts

NO_MODEL = {"autoencoder": "squeezes words without a model", "retrieval": "looks up a table"}
"""The exhibits that read a text of a visitor with no model that has a name."""

CHOSEN = re.compile(r"(pills|segmented|select|slider|stops|number|draw|toggle|text):[^:]*:(.+)")
"""The key of a control of `viz.widgets.controls`: its kind, the page, and its name in the link."""

ASIDE = re.compile(r"(predict|presets|fold):")
"""Keys of what need not be in the link: guesses are each visitor's own, presets fill a box, a fold is open or not."""

READY = ("Examples", "Ready", "Queries", "Sums", "Touch a word")
"""How rows of pills begin that only set other controls, which are in the link."""

SENT = ("parts", "needs", "kit", "code", "echo")
"""What an instrument's packet says about itself: which parts this browser has already."""

GEOMETRY = {"x2", "y2", "left", "right", "top", "bottom", "colour", "fontSize", "wide"}
"""Fields of rows that say where and how something is drawn."""

CHOICES = ("button_group", "selectbox", "select_slider", "radio")

OUR_FAULT = "Something went wrong"


def controls(test: AppTest) -> list[Any]:
    """Everything that can be set and has a value, in its order."""
    kinds = (
        test.button_group,
        test.selectbox,
        test.slider,
        test.select_slider,
        test.number_input,
        test.toggle,
        test.checkbox,
        test.radio,
        test.text_input,
        test.text_area,
    )
    return [widget for kind in kinds for widget in kind]


def name(widget: Any) -> str:
    """The control's name in the link; empty for what is no control."""
    found = CHOSEN.fullmatch(widget.key or "")
    return found[2] if found else ""


def change(widget: Any) -> bool:
    """Another value than it has, a neighbour of it; whether there is one."""
    if widget.proto.disabled:
        return False
    if widget.type in CHOICES:
        chosen = list(widget.options)
        now = chosen.index(
            widget.formatted_values[0] if widget.type == "button_group" else widget.format_func(widget.value)
        )
        if len(chosen) < 2:
            return False
        widget.root.session_state[TESTING_KEY][widget.id] = str  # an option is named by what is written on it
        widget.set_value(chosen[now + 1 if now + 1 < len(chosen) else now - 1])
    elif isinstance(widget.value, bool):
        widget.set_value(not widget.value)
    else:
        step, low, high = widget.step, widget.min, widget.max
        widget.set_value(
            widget.value + step if widget.value + step <= high else max(low, widget.value - step)
        )
    return True


def header(packet: bytes) -> dict[str, Any]:
    """What a packet tells its instrument; arrays and what stays the same are in it by the sums of their content."""
    boot = int.from_bytes(packet[:4], "little")
    packet = packet[4 + boot :] if not boot or packet[4:6] == b"//" else packet
    return json.loads(packet[4 : 4 + int.from_bytes(packet[:4], "little")])


def shown(test: AppTest) -> list[Any]:
    """All that a visitor sees: words, values of controls, and the numbers that figures and instruments were given."""
    words = [
        str(element.value)
        for kind in (test.title, test.markdown, test.text, test.caption, test.latex, test.code, test.metric)
        for element in kind
    ]
    set_to = [(widget.key, str(widget.value)) for widget in controls(test)]
    told = [header(element.proto.bytes) for element in test.get("bidi_component") if element.proto.bytes]
    pictures = [element.proto.spec for element in test.get("plotly_chart")] + [
        element.proto.SerializeToString() for element in test.get("vega_lite_chart")
    ]
    return [
        words,
        set_to,
        pictures,
        [{key: value for key, value in header.items() if key not in SENT} for header in told],
    ]


def link(test: AppTest) -> dict[str, str]:
    return {
        key: str(value[0] if isinstance(value, list) else value) for key, value in test.query_params.items()
    }


def well(test: AppTest, what: str) -> None:
    assert not test.exception, (what, [error.value for error in test.exception])
    assert OUR_FAULT not in said(test), what


@dataclass
class Visit:
    """A visit that changed every control of every step: the page, its changed controls, and its text boxes and draws, each with its step."""

    test: AppTest
    busiest: int = 1
    changed: set[str] = field(default_factory=set)
    boxes: dict[str, int] = field(default_factory=dict)
    draws: dict[str, int] = field(default_factory=dict)


def go(test: AppTest, slug: str, step: int) -> AppTest:
    for pill in test.button_group:
        if name(pill) == f"{slug}.step":
            pill.set_value(step)
    return test.run()


def answered(test: AppTest) -> AppTest:
    """The same page once every question of the step has been answered, somehow."""
    asked = [widget for widget in test.button_group if str(widget.key).startswith("predict:")]
    commits = [button for button in test.button if str(button.key).endswith(":commit")]
    for widget in asked:
        widget.root.session_state[TESTING_KEY][widget.id] = str
        widget.set_value(widget.options[0])
    for button in commits:
        button.click()
    return test.run() if asked or commits else test


def last(slug: str) -> int:
    """How many steps it has."""
    return len(pages.find(slug).steps)


def walk(slug: str, steps: int) -> Visit:
    """Through all steps; at each, all controls that were not met before get another value, and the link says so."""
    visit, most = Visit(test := drawn(slug, {}, {f"more:{slug}.equation": True}, guarded=True)), 0
    for step in range(1, steps + 1):
        well(test, f"step {step}")
        found = [
            widget
            for widget in controls(test)
            if not ASIDE.match(widget.key or "")
            and not (widget.type == "button_group" and widget.label.startswith(READY))
        ]
        assert [widget.key for widget in found if not name(widget)] == [], (
            "what is chosen must be in the link: use viz.widgets.controls"
        )
        assert page_parts.TAKE in folds(test), f"nothing to take away at step {step}"
        for chart in test.get("plotly_chart"):
            assert "toImage" in chart.proto.config, "a figure is drawn by parts.show, so that it can be saved"
        for chart in test.get("vega_lite_chart"):
            has_a_table(chart.proto, f"step {step}")
        charts = [
            chart.proto.alt.split("\n") for chart in (*test.get("vega_lite_chart"), *test.get("plotly_chart"))
        ]
        boxed = any(str(widget.key).startswith("text:") for widget in found) and slug not in NO_MODEL
        assert [name for name, whose, *_ in charts if boxed and whose.startswith("Attention Atlas:")] == [], (
            f"step {step}: a picture of a text says which model read it"
        )
        words = [
            str(element.value) for kind in (test.markdown, test.text, test.caption) for element in kind
        ] + [widget.label for widget in found]
        assert [each for each in words if has_index(each)] == [], (
            f"step {step}: x_i is set as mathematics, or written with a real index"
        )
        mine = []
        for widget in found:
            kind, called = str(widget.key).partition(":")[0], name(widget)
            if kind == "text":
                visit.boxes.setdefault(called, step)
            elif called != f"{slug}.step" and called not in visit.changed and change(widget):
                mine.append(called)
            if kind == "draw":
                assert widget.label.startswith("Draw") and "same again" in widget.help
                visit.draws.setdefault(called, step)
        visit.changed |= set(mine)
        if len(mine) > most:
            visit.busiest, most = step, len(mine)
        go(test, slug, min(step + 1, steps))
        assert [each for each in mine if each not in test.query_params] == [], f"step {step}: not in the link"
    well(test, "the end")
    return visit


def has_a_table(chart: Any, where: str) -> None:
    """Who cannot see a chart has one sentence and one table of what it tells: no places, no colours, under words that are read."""
    table, *others = chart.datasets
    columns = pa.ipc.open_stream(table.data.data).read_all().to_pydict()
    assert table.name == told_by_charts.TABLE and chart.alt, where
    assert columns and all(columns.values()) and not GEOMETRY & set(columns), (where, list(columns))
    assert not chart.HasField("data") and all(other.name != table.name for other in others), (
        f"{where}: one table"
    )
