"""What was written, token by token in time: each shaded by the probability that it had, and below it surprise and hesitation.

Touch a token, or a bar, to go to its step. Above the line, in bits: how surprised the model was by what was taken
(-log2 p); the line is how much it hesitated before (the entropy of its distribution).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from viz.instruments.kit.mount import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet

TIMELINE = Instrument("attention_atlas_timeline", "timeline/timeline")


@dataclass(frozen=True)
class Moment:
    """One step: the token, its probability, surprise and (None: not told) entropy in bits, and a word more about it."""

    token: str
    p: float
    surprise: float
    entropy: float | None
    why: str = ""


def timeline(moments: Sequence[Moment], *, key: str, on_go: Callable[[], None] | None = None, **options: Any) -> None:
    """Draw them; the other options are those of `timeline_packet`. `on_go` is called when the visitor goes to a step: `gone(key)`.

    Example:
        >>> timeline([Moment("a", 0.5, 1.0, 1.5)], key="t")    # doctest: +SKIP
    """
    TIMELINE.show(timeline_packet(moments, **options), key=key, on_go_change=on_go or nothing)


def gone(key: str) -> int | None:
    """The step, counted from 0, that the visitor last went to in the timeline under `key`."""
    event = stored(key, "go")
    return int(event["at"][0]) if event else None


def timeline_packet(moments: Sequence[Moment], *, given: str = "", at: int | None = None, python: str = "", title: str = "") -> Packet:
    """What the browser needs: `given` is the text that was there before the first step, `at` the step that is shown (the last).

    Raises ValueError for a probability outside 0 to 1 or a step that is not there.

    Example:
        >>> timeline_packet([Moment("a", 0.5, 1.0, 1.5)], given="Once").header["at"]
        0
    """
    for moment in moments:
        if not 0 <= moment.p <= 1 + 1e-9:
            raise ValueError(f"a probability of {moment.p}; they lie from 0 to 1")
    shown = len(moments) - 1 if at is None else at
    if moments and not 0 <= shown < len(moments):
        raise ValueError(f"step {shown} of {len(moments)} steps, counted from 0")
    return Packet({"moments": [vars(moment) for moment in moments], "given": given, "at": shown, "title": title, "python": python})
