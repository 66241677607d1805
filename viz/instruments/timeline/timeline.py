"""A generated text, token by token in time: each shaded by the probability that it had, and below it surprisal and entropy.

Touch a token, or a bar, to go to its step. The bars are the surprisal of the token that was taken (-log2 p), the line is
the entropy of its distribution, both in bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet
from viz.instruments.kit.spec import Spec, as_function

TIMELINE = Instrument("attention_atlas_timeline", "timeline/timeline")


@dataclass(frozen=True)
class Moment:
    """One step: the token, its probability, surprisal and entropy in bits (None: not shown), and a word more about it."""

    token: str
    p: float
    surprise: float
    entropy: float | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Timeline(Spec):
    """A generated text: `prompt` is the text before the first step, `step` the one that is shown (the last).

    on_go: called when the visitor goes to a step: `chosen_step(key)` returns it.

    Raises ValueError for a probability outside 0 to 1 or a step that is not there.

    Example:
        >>> Timeline([Moment("a", 0.5, 1.0, 1.5)], prompt="Once").packet().header["at"]
        0
        >>> timeline([Moment("a", 0.5, 1.0, 1.5)], key="t")    # doctest: +SKIP
    """

    moments: Sequence[Moment]
    _: KW_ONLY
    prompt: str = ""
    step: int | None = None
    title: str = ""
    on_go: Callable[[], None] | None = None

    def show(self) -> None:
        """Draw it in the page."""
        TIMELINE.show(self.packet(), key=self.key, on_go_change=self.on_go or nothing)

    def packet(self) -> Packet:
        moments = self.moments
        for moment in moments:
            if not 0 <= moment.p <= 1 + 1e-9:
                raise ValueError(f"a probability of {moment.p}; they lie from 0 to 1")
        shown = len(moments) - 1 if self.step is None else self.step
        if moments and not 0 <= shown < len(moments):
            raise ValueError(f"step {shown} of {len(moments)} steps, counted from 0")
        return Packet(
            {
                "moments": [vars(moment) for moment in moments],
                "at": shown,
                **self.plain("prompt", "title", "python"),
            }
        )


timeline_packet = as_function(Timeline, Timeline.packet)
timeline = as_function(Timeline, Timeline.show)


def chosen_step(key: str) -> int | None:
    """Return the step, counted from 0, that the visitor last went to in the timeline under `key`."""
    event = stored(key, "go")
    return int(event["at"][0]) if event else None
