"""Settings of the exhibit on another order of the words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.serving.engine import default
from viz.course.self_attention.permutation.maths import LONGEST, MODEL
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, sentence, toggle, url_only

SLUG = "permutation."
SENTENCES = ("The dog saw the man.", "She has a white car.", "A rose is a rose.", "The king loved the queen.")
MOST = f"up to {LONGEST} tokens"


class Order(tuple[int, ...]):
    """An order as a link writes it."""

    def __str__(self) -> str:
        return "_".join(map(str, self))


def order_of(n: int) -> Callable[[str], Order]:
    """Return a parser of orders in a link: "0_4_2_3_1".

    >>> str(order_of(3)("2_0_1"))
    '2_0_1'
    """

    def parse(text: str) -> Order:
        places = text.split("_")
        if sorted(places) != sorted(map(str, range(n))):
            rule = f"It must hold each position from 0 to {n - 1} once, with _ between."
            raise state.Unusable(rule, Order())
        return Order(map(int, places))

    return parse


def _n() -> int:
    """Return the number of tokens of the sentence."""
    return len(default().open(MODEL).tokenizer.encode(state.read("text", SENTENCES[0])).ids)


@dataclass(frozen=True)
class Params(Knobs):
    """`order` empty: a random one; `draw` 0: two words change places; `twice` -1: the first token that moved."""

    text: str = knob(
        SENTENCES[0],
        sentence("Sentence", SENTENCES, drops=("order", "draw", "twice", "asked"), model=MODEL, most=MOST),
        link="text",
    )
    order: tuple[int, ...] = knob(Order(), url_only(lambda raw: order_of(_n())(raw)))
    draw: int = knob(0, url_only(state.whole_number(0, 9999)))
    twice: int = knob(-1, url_only(lambda raw: state.whole_number(-1, _n())(raw)))
    places: bool = knob(False, toggle("Add positions"))
