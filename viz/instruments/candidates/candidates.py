"""The tokens that could come next, as bars: what each is given, what a filter cut, which one was taken and why.

All bars share one scale, 0 to 1. A solid bar is what the choice was made from, the taken one strong; where the two differ
a tick marks the model's own probability; hatched is what a filter cut. With a lot the kept tokens lie side by side in the
last row, and the drawn number points at one of them. A click on another token asks for it. One line below says how the
token under the pointer, or the taken one, came to its probability; it opens to a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet
from viz.instruments.kit.spec import Spec, as_function
from viz.labels import percent
from viz.languages import _, mark

CANDIDATES = Instrument("attention_atlas_candidates", "candidates/candidates")
CUTS = {
    "top_k": mark("cut by top-k"),
    "top_p": mark("cut by top-p"),
    "min_p": mark("cut by min-p"),
    "not_allowed": mark("not allowed"),
    "filters": mark("cut"),
}


@dataclass(frozen=True)
class Way:
    """How a token came to its probability: one `line`, the same as (name, calculation, result), and what cut it ("": nothing).

    `scores` are its numbers: the model's score, then what each filter made of it.
    """

    line: str
    stages: tuple[tuple[str, str, str], ...]
    scores: tuple[float, ...]
    rule: str = ""


@dataclass(frozen=True)
class Bar:
    """One token: its probability as the model gives it, and after temperature and filters (0 where `cut_by` one)."""

    id: int
    token: str
    before: float
    after: float
    cut_by: str | None = None
    way: Way | None = None


@dataclass(frozen=True)
class SampledNumber:
    """The drawn number, and the taken token's part [low, high) of the bar that all kept tokens fill."""

    u: float
    low: float
    high: float


@dataclass(frozen=True)
class TokenRequest:
    """The visitor's choice: token `id` instead of the one that was taken at `step`."""

    step: int
    id: int


@dataclass(frozen=True, eq=False)
class Candidates(Spec):
    """Bars of the tokens that could come next, the most probable on top.

    taken_id: the id of the token that was taken. step: the number of this step. others: (how many, before, after) of the tokens without a
    bar of their own. filters: their names, in order, for the saved table of `Way.scores`.
    on_ask: called, before the page runs again, when the visitor asks for another token; `requested_token(key)` returns it.
        None: the bars are only looked at.

    Raises ValueError for a taken token that has no bar, a probability outside 0 to 1, scores that are not one a filter.

    Example:
        >>> packet = Candidates([Bar(5, "a", 0.7, 0.7), Bar(9, "b", 0.3, 0.3)], taken_id=5).packet()
        >>> [(row["token"], row["says"], row["id"]) for row in packet.header["rows"]]
        [('a', '70%', 5), ('b', '30%', 9)]
        >>> candidates([Bar(5, "a", 0.7, 0.7), Bar(9, "b", 0.3, 0.3)], taken_id=5, key="c")    # doctest: +SKIP
    """

    bars: Sequence[Bar]
    _: KW_ONLY
    taken_id: int
    step: int = 0
    others: tuple[int, float, float] | None = None
    lot: SampledNumber | None = None
    filters: Sequence[str] = ()
    title: str = ""
    on_ask: Callable[[], None] | None = None

    def show(self) -> None:
        """Draw it in the page."""
        CANDIDATES.show(self.packet(), key=self.key, on_ask_change=self.on_ask or nothing)

    def packet(self) -> Packet:
        bars, taken, filters, others, lot = self.bars, self.taken_id, self.filters, self.others, self.lot
        if bars and taken not in {bar.id for bar in bars}:
            raise ValueError(f"token {taken} was taken and has no bar; the taken one is always among them")
        shown = [value for bar in bars for value in (bar.before, bar.after)]
        if not all(0 <= value <= 1 + 1e-9 for value in shown):
            raise ValueError(
                f"a probability of {next(v for v in shown if not 0 <= v <= 1 + 1e-9)}; they lie from 0 to 1"
            )
        for bar in bars:
            if bar.way and len(bar.way.scores) != 1 + len(filters):
                raise ValueError(
                    f"token {bar.id} has {len(bar.way.scores)} scores; there is the model's and one of each of {len(filters)} filters"
                )
        rows = [_row(bar.token, bar, bar.id) for bar in bars]
        if others is not None and others[0] > 0:
            n, before, after = others
            shut = after < 1e-9 < before
            rows.append(
                _row(
                    _("{n:,} others", n=n),
                    Bar(-1, "", before, 0.0 if shut else after, "filters" if shut else None),
                    None,
                )
            )
        edges = np.cumsum(sorted((row["after"] for row in rows if row["after"] > 0), reverse=True))[:-1]
        drawn = (
            None
            if lot is None
            else {
                "u": lot.u,
                "low": lot.low,
                "high": lot.high,
                "edges": [float(e) for e in edges if e < 0.995],
            }
        )
        return Packet(
            {
                "rows": rows,
                "lot": drawn,
                "offers": self.on_ask is not None,
                "filters": list(filters),
                **self.plain("taken_id", "step", "title", "python"),
            }
        )


candidates_packet = as_function(Candidates, Candidates.packet)
candidates = as_function(Candidates, Candidates.show)


def requested_token(key: str) -> TokenRequest | None:
    """Return the visitor's last request in the bars under `key`; None before any."""
    event = stored(key, "ask")
    return TokenRequest(*map(int, event["at"])) if event else None


def _row(name: str, bar: Bar, index: int | None) -> dict[str, Any]:
    why = (
        _(CUTS[bar.cut_by])
        if bar.cut_by in CUTS
        else _("cut by {rule}", rule=bar.cut_by)
        if bar.cut_by
        else ""
    )
    says = f"{percent(bar.before)}, {why}" if why else percent(bar.after)
    found = {
        "token": name,
        "id": index,
        "before": bar.before,
        "after": bar.after,
        "cut": why,
        "says": says,
        "model": percent(bar.before),
    }
    return found if bar.way is None else found | {"way": _way_as_json(bar.way)}


def _way_as_json(way: Way) -> dict[str, Any]:
    """Return a way for the browser; what is not finite is null, since JSON knows no infinity."""
    return vars(way) | {"scores": [score if np.isfinite(score) else None for score in way.scores]}
