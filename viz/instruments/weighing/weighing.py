"""A sentence to weigh: each word shaded by its weight, with a slider for its importance under it.

Moving a slider shades all words again in the browser, by the same softmax as in core; when it is released Python gets
the importances. With a `threshold` words that weigh less vanish. `covered` shows words and scores; weights and sliders are hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet, labels
from viz.instruments.kit.spec import Spec, as_function

WEIGHING = Instrument("attention_atlas_weighing", "weighing/weighing")


@dataclass(frozen=True, eq=False)
class Weighing(Spec):
    """A sentence to weigh: words, their importances `raw` from 0 to `most`, from which weight on a word is seen.

    on_change: called before the run that answers a slider; `chosen_importances` returns them then.

    Raises ValueError naming both numbers when words and importances do not fit, or when one is out of range.

    Example:
        >>> Weighing(["a", "cat"], [0.0, 2.0]).packet().header["raw"]
        [0.0, 2.0]
        >>> weighing(["a", "cat"], [0.0, 2.0], key="w")    # doctest: +SKIP
    """

    words: Sequence[str]
    raw: Sequence[float]
    _: KW_ONLY
    most: float = 5.0
    threshold: float | None = None
    covered: bool = False
    title: str = ""
    on_change: Callable[[], None] = nothing

    def show(self) -> None:
        """Draw it in the page."""
        WEIGHING.show(self.packet(), key=self.key, on_raw_change=self.on_change)

    def packet(self) -> Packet:
        most = self.most
        values = [float(value) for value in self.raw]
        if not all(0 <= value <= most for value in values):
            raise ValueError(
                f"importances lie between 0 and {most:g}; these go from {min(values):g} to {max(values):g}"
            )
        seen = labels(list(self.words), len(values), "word")
        return Packet(
            {
                "words": seen,
                "raw": values,
                **self.plain("most", "threshold", "covered", "title", "python"),
            }
        )


weighing_packet = as_function(Weighing, Weighing.packet)
weighing = as_function(Weighing, Weighing.show)


def chosen_importances(key: str, n: int, most: float = 5.0) -> tuple[float, ...] | None:
    """Return the n importances that the browser sent last, brought into range; None for anything else.

    Example:
        >>> chosen_importances("nobody", 3) is None
        True
    """
    sent = stored(key, "raw")
    if not isinstance(sent, (list, tuple)) or len(sent) != n:
        return None
    if not all(isinstance(value, (int, float)) and value == value for value in sent):
        return None
    return tuple(min(max(float(value), 0.0), most) for value in sent)
