"""Settings of the exhibit on ELMo."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.bert import senses
from viz.course.bert.elmo.chains import LONGEST
from viz.course.bert.elmo.factorizations import SET, WORDS
from viz.exhibit_text import data
from viz.widgets.knobs import Control, Knobs, knob, pills, seed_input, segmented, sentence, slider

SLUG, MODEL, READER = "elmo.", "elmo-mini", "bert-mini"
SENTENCES: list[str] = data(__file__)["sentences"]
TASKS = {"tags": "parts of speech", "opinions": "opinions"}
READS = {"back": "the backward chain's weights", "ahead": "the forward chain's weights"}
ALL = -1
FLOORS = ("token table", "LSTM layer 1", "LSTM layer 2")
OPENING = SET[0]


def _w(layer: int) -> Control:
    return slider(f"w, {FLOORS[layer]}", -4.0, 4.0, 0.1, width="stretch")


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: a sentence; whose weights read it in reverse; a text of the table; a
    mixture; a word with two meanings."""

    text: str = knob(
        SENTENCES[0], sentence("Text", SENTENCES, model=MODEL, most=f"up to {LONGEST} tokens"), link="text"
    )
    reads: str = knob("back", segmented("Weights for the reversed text", tuple(READS), READS.__getitem__))
    first: str = knob(WORDS[OPENING[0]], segmented("First word", WORDS, width=200))
    second: str = knob(WORDS[OPENING[1]], segmented("Second word", WORDS, width=200))
    third: str = knob(WORDS[OPENING[2]], segmented("Third word", WORDS, width=200))
    table: int = knob(0, seed_input(99, next_label="Another table"))
    place: int = knob(4, slider("Token, counted from 1", 1, LONGEST))
    w0: float = knob(0.0, _w(0))
    w1: float = knob(0.0, _w(1))
    w2: float = knob(0.0, _w(2))
    gamma: float = knob(1.0, slider("γ", 0.0, 3.0, 0.1))
    only: int = knob(
        ALL, segmented("Layers", (ALL, 0, 1, 2), lambda j: "mixed by w" if j == ALL else f"only {FLOORS[j]}")
    )
    task: str = knob("tags", segmented("Task", tuple(TASKS), TASKS.__getitem__))
    which: str = knob("bank", pills("Word", tuple(senses.WORDS)))

    @property
    def words(self) -> tuple[int, ...]:
        """Return the chosen text of the table, an index into WORDS for each position."""
        return tuple(WORDS.index(word) for word in (self.first, self.second, self.third))

    @property
    def w(self) -> tuple[float, float, float]:
        """Return the weights w of the layers."""
        return self.w0, self.w1, self.w2

    @property
    def single_layer(self) -> int | None:
        """Return the one layer that counts, None where they are mixed."""
        return None if self.only == ALL else self.only
