"""Settings of the exhibit on masks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from viz.course.self_attention.masks import read
from viz.course.self_attention.masks.read import LONGEST, MODEL, SENTENCES, TEXT
from viz.course.shared import masks_panels
from viz.languages import _, mark
from viz.number_text import number
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, pills, seed_input, segmented, sentence, slider, toggle

SLUG = "masks."
FBI = "The FBI is chasing a criminal on the run ."
READ = (FBI, "The animal didn't cross the street because it was too tired.")
SEES = {"all": mark("the whole list"), "next": mark("back and one ahead"), "past": mark("only back")}
DIGITS = (2, 3, 5, 10)
NUMBERS = (-1, -2, -5, -10, -20, -100, -10_000)
ROWS = {
    "causal": mark("causal"),
    "strict": mark("strict: without the word itself"),
    "nothing": mark("one word may see nothing"),
}
WHERE = {
    "inside": mark("before the division: (q·k + M) / √d"),
    "outside": mark("after it: q·k / √d + M"),
}
KNOBS = {
    "padding": ("padded",),
    "window": ("radius",),
    "sparse": ("radius", "n_global", "block", "count"),
    "prefix": ("length",),
}
"""The numbers of each mask by name, without its seed."""
PAST = ("padding", "window", "sparse")
"""The masks that do not decide themselves whether the future is masked."""
EDITOR = (
    "kind",
    "cell",
    "drawn",
    "everywhere",
    "fill",
    "where",
    "first",
    "second",
    "past_only",
    *dict.fromkeys(name for names in KNOBS.values() for name in names),
)
"""The names in the link that only the editor reads."""


INTEGER = partial(number, places=0, grouped=True)


def _longest() -> str:
    return _("up to {n:,} tokens", n=LONGEST)


def _pick(label: str) -> Control:
    """Return pills for a layer or a head; the default is measured."""

    def choices() -> tuple[range, int]:
        return range(getattr(read.config(), f"n_{label.lower()}s")), getattr(read.opening(), label.lower())

    def draw(name: str, *_more: object) -> None:
        options, opening = choices()
        controls.pills(_(label), options, name, opening)

    return Control(draw, lambda _: lambda raw: state.one_of(*choices())(raw), 1)


BOX = sentence("Sentence", SENTENCES, model=MODEL, most=_longest)


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds, step by step; `layer` and `head` below 0: those that look back most
    sharply.

    One sentence has three names: for a short text, for the example of the sources, and for the editor, which reads any.
    """

    text: str = knob(TEXT, BOX, link="text")
    example: str = knob(FBI, sentence("Sentence", READ, model=MODEL, most=_longest), link="text")
    own: str = knob(TEXT, sentence("Sentence", SENTENCES, model=MODEL), link="text")
    layer: int = knob(-1, _pick("Layer"), link="layer")
    head: int = knob(-1, _pick("Head"), link="head")
    sees: str = knob("all", pills("The model sees", tuple(SEES), lambda sees: _(SEES[sees]), width=1))
    digits: int = knob(10, pills("Digits in the lists", DIGITS))
    draw: int = knob(0, seed_input(99))
    lifted: bool = knob(False, toggle("Take the mask away, in every layer"))
    m: int = knob(-5, segmented("M of a masked cell", NUMBERS, INTEGER, width=1))
    edge: str = knob("causal", segmented("The mask", tuple(ROWS), lambda rows: _(ROWS[rows]), width=1))
    kind: str = knob(
        "causal",
        pills("Mask", tuple(masks_panels.PILLS), lambda kind: _(masks_panels.PILLS[kind]), quiet=True),
    )
    padded: int = knob(2, slider("Positions at the end that count as padding", 1, 12, width=340))
    radius: int = knob(2, slider("Window: words to each side", 0, 12, width=340))
    n_global: int = knob(1, slider("Global words, from the first", 0, 6, width=340))
    block: int = knob(2, slider("Words per block", 1, 8, width=340))
    count: int = knob(1, slider("Random blocks per row", 0, 6, width=340))
    length: int = knob(3, slider("Words of the prefix", 0, 24, width=340))
    past_only: bool = knob(True, toggle("Hide the future as well (& causal)"))
    everywhere: bool = knob(False, toggle("The same mask in every layer (otherwise in this one only)"))
    fill: int = knob(
        -5,
        segmented(
            "The number M of a masked cell",
            NUMBERS,
            INTEGER,
            width="stretch",
        ),
    )
    where: str = knob(
        "inside", segmented("Where it is added", tuple(WHERE), lambda where: _(WHERE[where]), width="stretch")
    )
