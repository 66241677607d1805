"""Settings of the first exhibit; the possible sources of scores depend on the sentence."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.shared import weighting
from viz.languages import _, mark
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, pills, sentence, slider, url_only

SLUG, MODEL = "weighting", "gpt-mini"
SENTENCE = " ".join(weighting.WORDS) + "."
SOURCES = {
    "hand": mark("set by hand, large for what matters here"),
    "equal": mark("all the same"),
    "model": mark("surprisal for gpt-mini"),
    "own": mark("my own sliders"),
}
PLACES = {
    mark("face"): (3.5, 3.5),
    mark("smile"): (4.3, 3.5),
    mark("hands"): (8.2, 3.5),
    mark("hills"): (4.0, 0.5),
    mark("sky"): (0.5, 6.5),
}
"""Where a pill puts the attention: (row, column) on the grid of 10 x 8 patches."""
PARTS = (*PLACES, mark("hair"), mark("dress"), mark("eyes"))
"""The names of what the picture shows, as `PORTRAIT.parts` has them."""
TOUCHED_PATCH = mark("where I touched")
BETWEEN = "_"


def importances(raw: str, n: int = len(weighting.WORDS)) -> tuple[float, ...]:
    """Parse the scores of a link: a number from 0 to 5 for each of n words, "1.5_1.5_0_..".

    >>> importances("0_0_0_0_5_0_0_5_0_1.5")[-1]
    1.5
    """
    try:
        values = tuple(float(part) for part in raw.split(BETWEEN))
    except ValueError:
        values = ()
    if len(values) != n or not all(0 <= value <= weighting.MOST for value in values):
        raise state.Unusable(
            _(
                "It must be {n} numbers from 0 to {most:g}, with {mark} between.",
                n=n,
                most=weighting.MOST,
                mark=BETWEEN,
            )
        )
    return values


def _on_scale(raw: str) -> str:
    """Check the scores of a link, of any number of words, and return them."""
    importances(raw, len(raw.split(BETWEEN)))
    return raw


@dataclass(frozen=True)
class Params(Knobs):
    """`source`: where the scores come from, "" for the first of `sources`; `raw`: the visitor's own ones."""

    text: str = knob(
        SENTENCE,
        sentence(
            "Sentence",
            model=MODEL,
            most=lambda: _("up to {n} words", n=weighting.MOST_WORDS),
            drops=("raw", "source"),
            placeholder=mark("Type a sentence of 2 to 16 words"),
            quiet=True,
        ),
        link=f"{SLUG}.sentence",
    )
    source: str = knob("", url_only(state.one_of(tuple(SOURCES))))
    raw: str = knob("", url_only(_on_scale))
    threshold: int = knob(10, slider("Smallest weight that is still read, %", 0, 40))
    part: str = knob("face", pills("Attend to", (*PLACES, TOUCHED_PATCH), _))
    cell: int = knob(0, url_only(state.whole_number(0, 79)))
    width: float = knob(1.2, slider("Width of the attention, in patches", 0.4, 3.0, 0.1))

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the possible sources of scores, the default first: only the opening sentence's are set by hand."""
        return tuple(SOURCES) if self.text == SENTENCE else ("model", "equal", "own")

    @property
    def score_source(self) -> str:
        """Return the source of the scores."""
        return self.source if self.source in self.sources else self.sources[0]

    @property
    def slider_scores(self) -> tuple[float, ...]:
        """Return the visitor's scores, one per word; before any slider was moved those by hand, or equal ones."""
        n = len(weighting.words_of(self.text))
        if self.raw and len(self.raw.split(BETWEEN)) == n:
            return importances(self.raw, n)
        return weighting.BY_HAND if self.text == SENTENCE else (1.0,) * n

    @property
    def centre(self) -> tuple[float, float]:
        """Return the centre of the attention on the picture, (row, column): a named part, or the patch that was touched."""
        return PLACES.get(self.part) or (float(self.cell // 8), float(self.cell % 8))
