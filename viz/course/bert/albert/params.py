"""Settings of the exhibit on ALBERT."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.albert import SHARED
from viz.course.bert.albert.maths import SHAPES, Table
from viz.widgets.knobs import Knobs, knob, seed_input, segmented, select_slider, sentence, slider

SLUG = "albert."
BERT, MODEL = "bert-mini", "albert-mini"
VOCABULARIES = (1000, 8000, 16_000, 30_000, 30_522, 50_257, 100_000, 250_000)
WIDTHS = (64, 128, 256, 512, 768, 1024, 2048, 4096)
NAMES = {"none": "nothing", "attention": "attention", "feed-forward": "feed-forward", "all": "all"}


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: the sizes of the tables; the shared parts and the shape; a seed, two
    texts."""

    V: int = knob(30_522, select_slider("Vocabulary V", VOCABULARIES, "{:,}".format, width=320))
    E: int = knob(128, slider("Embedding size E", 1, 1024, width=320))
    H: int = knob(768, select_slider("Hidden size H", WIDTHS, "{:,}".format, width=320))
    shared: str = knob("all", segmented("Shared", tuple(SHARED), NAMES.__getitem__))
    shape: str = knob("Base", segmented("Size", tuple(SHAPES)))
    text: str = knob("The little dog ran after the ball.", sentence("Sentence", model=BERT), link="text")
    draw: int = knob(3, seed_input(strong=True))
    a: str = knob("Once there was a king who had three sons.", sentence("Your text A", placeholder=None))
    b: str = knob(
        "One day he called them to him and said that he was old.", sentence("Your text B", placeholder=None)
    )

    @property
    def table(self) -> Table:
        """Return the chosen sizes."""
        return Table(self.V, self.E, self.H)
