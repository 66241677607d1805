"""A canvas to draw a doodle on, by mouse, finger or pen; by keyboard one chooses a ready-made one.

The browser draws smooth lines and sends the strokes when one ends; Python makes the 28 by 28 pixels of them, by the same rule as the
pictures that models learned from (`core.data.doodles.from_strokes`), and what the model reads is shown beside the canvas. The doodle is a
short text, so that who keeps it in the link has the drawing back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from core.data import doodles
from core.errors import InputError
from viz.instruments.kit.component import Instrument, stored
from viz.instruments.kit.payload import Packet, identity, labels
from viz.instruments.kit.spec import Spec, as_function

SKETCH = Instrument("attention_atlas_sketch", "sketch/sketch")
SIDE = 1000
"""Parts of the canvas that the browser counts, from the left and from above."""
GIVEN, EMPTY = "given", "empty"
BLANK = doodles.as_text(np.zeros((doodles.SIDE, doodles.SIDE), dtype=np.uint8))
"""A canvas on which nothing is drawn."""


@dataclass(frozen=True)
class Strokes:
    """The drawing in the browser: the ground of the strokes ("given", "empty" or the name of a sample), and the strokes, x and y in turn."""

    on: str = GIVEN
    lines: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Sketch(Spec):
    """A canvas that holds the doodle `text`, "" for an empty one; drawn, it gives the text of what is on it now, BLANK where that is nothing.

    samples: doodles to choose, {name: text}. now: what was drawn on it since. hint: what one can do here; it is not saved.
    preview: whether the pixels that the model reads stand beside the canvas; without them where the page draws them anyway.
    on_stroke: hears of the text after each stroke, before the run that draws it: who keeps it in the link does so there.

    Raises InputError for a text that is no doodle.

    Example:
        >>> fish = doodles.as_text(doodles.example("fish"))
        >>> Sketch(fish, {"our fish": fish}).packet().header["samples"]
        ['our fish']
        >>> sketch(fish, key="s")    # doctest: +SKIP
    """

    text: str = ""
    samples: Mapping[str, str] | None = None
    _: KW_ONLY
    now: Strokes = Strokes()
    title: str = ""
    hint: str = ""
    height: int | None = None
    preview: bool = True
    on_stroke: Callable[[str], None] | None = None

    def show(self) -> str:
        """Draw it in the page and return the text of the doodle as it is now, "" while there is none."""
        slot = f"_{self.key}.sketch"
        first, told = st.session_state.get(slot, ("", ""))
        spec = self
        if (
            self.text == told and self._sent(first) is not None
        ):  # what we told the page came back: one goes on drawing on what was there
            spec = replace(self, text=first)
        now = spec._sent(spec.text) or Strokes()
        text = spec.render(now)
        st.session_state[slot] = (spec.text, text)

        def heard() -> None:
            lines = spec._sent(spec.text)
            if lines is not None and self.on_stroke:
                changed = spec.render(lines)
                st.session_state[slot] = (spec.text, changed)
                self.on_stroke(changed)

        SKETCH.show(replace(spec, now=now).packet(), key=self.key, on_drawing_change=heard)
        return text

    def render(self, now: Strokes) -> str:
        """Return the text of the doodle with these strokes on it."""
        start = self._start(now.on)
        lines = [np.reshape(line, (-1, 2)) / SIDE for line in now.lines]
        return doodles.as_text(doodles.from_strokes(lines, on=doodles.from_text(start))) if lines else start

    def packet(self) -> Packet:
        named = self.samples or {}
        packet = Packet(
            {
                "base": _base(self.text),
                "side": doodles.SIDE,
                "samples": labels(list(named), len(named), "sample"),
                "start": self.now.on,
                "strokes": [list(line) for line in self.now.lines],
                "doodle": (text := self.render(self.now)),
                **self.plain("title", "hint", "height", "preview", "python"),
            }
        )
        for name, one in (
            ("given", self.text),
            ("now", text),
            *((f"sample{i}", s) for i, s in enumerate(named.values())),
        ):
            packet.add(name, doodles.from_text(one or BLANK).tobytes())
        return packet

    def _start(self, on: str) -> str:
        return BLANK if on == EMPTY else (self.samples or {}).get(on, self.text or BLANK)

    def _sent(self, text: str) -> Strokes | None:
        """Return the strokes of the browser's answer, checked; None where it belongs to another doodle."""
        sent = stored(self.key, "drawing")
        if not isinstance(sent, Mapping) or sent.get("base") != _base(text):
            return None
        return read(sent.get("on"), sent.get("strokes"))


sketch_packet = as_function(Sketch, Sketch.packet)
sketch = as_function(Sketch, Sketch.show)


def read(on: Any, lines: Any) -> Strokes:
    """Read strokes as the browser writes them, each a list of x and y in turn, whole numbers from 0 to SIDE.

    Example:
        >>> read("empty", [[0, 0, 500, 1200]])
        Strokes(on='empty', lines=((0, 0, 500, 1000),))

    Raises InputError for anything else, or more of them than a doodle has.
    """
    whole = isinstance(lines, list) and all(
        isinstance(line, list) and line and len(line) % 2 == 0 for line in lines
    )
    if not whole or not all(
        isinstance(part, int | float) and part == part for line in lines for part in line
    ):
        raise InputError(
            "The drawing did not arrive whole.",
            "A stroke is a list of numbers, x and y in turn.",
            "Draw it again.",
        )
    if sum(map(len, lines)) > 2 * doodles.MOST_POINTS:
        raise InputError(
            "A drawing of too many points.",
            "It has at most {most:,}.",
            "Clear it, and draw less.",
            most=doodles.MOST_POINTS,
        )
    kept = tuple(tuple(int(min(max(part, 0), SIDE)) for part in line) for line in lines)
    return Strokes(str(on), kept)


def _base(text: str) -> str:
    return identity(text.encode())
