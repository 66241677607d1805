"""A sentence to weigh: each word shaded by its weight, with a slider for its importance under it.

Moving a slider shades all words anew in the browser, by the same softmax as in core; when it is let go Python hears
the importances. With a `threshold` words that weigh less vanish. `covered` shows the words alone, nothing given away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from viz.instruments.kit.mount import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet, labels

WEIGHING = Instrument("attention_atlas_weighing", "weighing/weighing")


def weighing_packet(
    words: Sequence[str], raw: Sequence[float], *, most: float = 5.0, threshold: float | None = None, covered: bool = False,
    title: str = "", python: str = "",
) -> Packet:
    """What the browser needs: words, their importances from 0 to `most`, from which weight on a word is seen.

    Raises ValueError naming both numbers when words and importances do not fit, or when one is out of range.

    Example:
        >>> weighing_packet(["a", "cat"], [0.0, 2.0]).header["raw"]
        [0.0, 2.0]
    """
    values = [float(value) for value in raw]
    if not all(0 <= value <= most for value in values):
        raise ValueError(f"importances lie between 0 and {most:g}; these go from {min(values):g} to {max(values):g}")
    seen = labels(list(words), len(values), "word")
    return Packet({
        "words": seen, "raw": [] if covered else values, "most": most, "threshold": threshold, "covered": covered,
        "title": title, "python": python,
    })  # fmt: skip


def weighing(words: Sequence[str], raw: Sequence[float], *, key: str, on_change: Callable[[], None] = nothing, **options: Any) -> None:
    """Draw it. `on_change` is called before the run that answers a slider; `weighed` tells the importances then.

    Example:
        >>> weighing(["a", "cat"], [0.0, 2.0], key="w")    # doctest: +SKIP
    """
    WEIGHING.show(weighing_packet(words, raw, **options), key=key, on_raw_change=on_change)


def weighed(key: str, n: int, most: float = 5.0) -> tuple[float, ...] | None:
    """The n importances that the browser sent last, brought into range; None for anything else.

    Example:
        >>> weighed("nobody", 3) is None
        True
    """
    sent = stored(key, "raw")
    if not isinstance(sent, (list, tuple)) or len(sent) != n:
        return None
    if not all(isinstance(value, (int, float)) and value == value for value in sent):
        return None
    return tuple(min(max(float(value), 0.0), most) for value in sent)
