"""Settings of the exhibit on the bottleneck: the word to be copied, the cell of both networks, a seed."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.why.bottleneck.copies import CELLS, letters_of
from viz.languages import mark
from viz.widgets.knobs import Knobs, knob, seed_input, segmented, sentence

SLUG = "bottleneck"
WORDS = ("thequickbrownfox", "attention", "abcdefghijklmnopqrst", "aaaaabaaaa")


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds; the number of letters read or written, at two steps, depends on the
    run."""

    word: str = knob(WORDS[0], sentence("Your word, letters a to z", WORDS, placeholder=mark("Type a word")))
    cell: str = knob("rnn", segmented("Cell", tuple(CELLS), CELLS.__getitem__, quiet=True))
    draw: int = knob(0, seed_input(99, next_label=mark("Other held-out words")))

    @property
    def letters(self) -> str:
        """Return the part of the word that the models read."""
        return letters_of(self.word) or WORDS[0]
