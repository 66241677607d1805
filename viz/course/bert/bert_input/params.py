"""Settings of the exhibit on the input of BERT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import InputError
from core.text.tokenizer import readable_part
from viz.course.bert import wordpiece
from viz.course.bert.bert_input import input_sum
from viz.labels import distinct, shorten
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, segmented, sentence, url_only

SLUG = "bert_input."
MODEL = "bert-mini"
LONGEST = 32
MOST = f"up to {LONGEST} tokens, both together"
WHOSE = ("of step 1", "of bert-mini")
NAMES = {"token": "token embedding", "segment": "segment embedding", "position": "position embedding"}


def _pick_word(name: str, opening: int, params: Params, names: Callable[[str], str]) -> None:
    words = distinct(params.words)
    now = min(params.word, len(words) - 1)
    controls.pills("Word", range(len(words)), name, now, lambda at: shorten(words[at], 16))


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: two texts, the vocabulary, a word, a position, the embedding that is
    off, whose tokens."""

    text: str = knob(
        wordpiece.EXAMPLE[0],
        sentence("First text", drops=("word", "place"), model=MODEL, most=MOST, placeholder="Type a text"),
        link="text",
    )
    pair: str = knob(
        wordpiece.EXAMPLE[1],
        sentence(
            "Second text (leave it empty for none)",
            drops=("word", "place"),
            model=MODEL,
            most=MOST,
            placeholder=None,
        ),
        link="pair",
    )
    pieces: str = knob(wordpiece.DOCUMENTS, url_only(readable_part))
    word: int = knob(6, Control(_pick_word, lambda opening: state.whole_number(0, 63)))
    place: int = knob(8, url_only(state.whole_number(0, LONGEST + 2)))
    off: str = knob("position", segmented("Off", input_sum.PARTS, NAMES.__getitem__))
    whose: str = knob(WHOSE[0], segmented("Pieces", WHOSE))

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of both texts."""
        return wordpiece.words(self.text) + wordpiece.words(self.pair)

    @property
    def chosen_word(self) -> str:
        """Return the chosen word; the last where the texts have fewer. Raises InputError where they have none."""
        if not self.words:
            rule, remedy = (
                "A word is cut into the pieces of the vocabulary.",
                "Type a word, or take the example.",
            )
            raise InputError("There is no word in these texts.", rule, remedy)
        return self.words[min(self.word, len(self.words) - 1)]
