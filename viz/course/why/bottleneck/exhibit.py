"""The bottleneck: an encoder reads a word letter by letter; one vector is all that the decoder gets of it."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.why.bottleneck import copies, steps
from viz.course.why.bottleneck.params import WORDS, Params
from viz.instruments.kit import origin


def compute(params: Params) -> copies.Data:
    """Return the copies of the word by both models of the cell: from one vector, and with attention."""
    one, looks = (f"copy-{params.cell}{attends}" for attends in ("", "-attention"))
    return copies.Data(copies.copied(one, params.letters), copies.copied(looks, params.letters))


def thumbnail() -> str:
    """Draw the share of letters right by length: from one vector, and with attention."""
    found = copies.tables()
    rows = [found[f"copy-gru{attends}"] for attends in ("-attention", "")]
    lengths = np.arange(1, max(map(max, rows)) + 1)
    return thumbs.curves([np.interp(lengths, sorted(row), [row[n] for n in sorted(row)]) for row in rows])


def _gap(params: Params, data: copies.Data) -> bool:
    """Check that of 20 letters attention gets at least 40 points more right than one vector, which gets worse with length."""
    found = copies.tables()
    one, looks = found[data.one.model], found[data.looks.model]
    return looks[20] - one[20] >= 0.4 and one[10] > one[20] > one[40]


def _one_story(params: Params, _: copies.Data) -> bool:
    """Check that letters with a small slope are the letters that are lost: the end of a word, not its beginning."""
    kept = copies.by_place(params.cell, params.draw)
    return kept.agreement >= 0.7 and kept.ends[0] >= kept.ends[1] + 0.3


def _first_letter_fades(params: Params, _: copies.Data) -> bool:
    """Check that after ten letters from the left the slope of the plain RNN is below 1e-6 of its start, and that of the gated
    cells above a tenth."""
    left = {cell: (sizes := copies.fading(cell, params.draw))[9] / sizes[0] for cell in copies.CELLS}
    return left["rnn"] < 1e-6 and min(left["lstm"], left["gru"]) > 0.1


def _context(_: Params, data: copies.Data) -> bool:
    """Check that c is the last state of each direction."""
    states, half = data.one.read_states, data.one.read_states.shape[1] // 2
    ends = np.concatenate((states[-1, :half], states[0, half:]))
    return bool(np.array_equal(data.one.context, ends) and np.abs(ends).max() <= 1)


SET = ("word", "cell")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            steps.guess,
            SET,
            promises={
                "of 16 letters or more some are lost": lambda params, data: (
                    len(data.one.read) < 16 or data.one.right < len(data.one.read)
                )
            },
        ),
        Step(steps.read, SET, promises={"c is the last state of each direction": _context}),
        Step(
            steps.write,
            SET,
            promises={"the first letter is right": lambda params, data: not data.one.wrong[0]},
        ),
        Step(
            steps.look_back,
            SET,
            promises={
                "looking back writes the whole word, one vector no more of it": lambda params, data: (
                    data.looks.right == len(data.one.read) >= data.one.right
                )
            },
        ),
        Step(steps.length, SET, promises={"20 letters: at least 40 points more right looking back": _gap}),
        Step(
            steps.slope,
            (*SET, "draw"),
            promises={
                "letters with a small slope are the letters that are lost": _one_story,
                "from the left the RNN's slope is gone after ten letters, LSTM's and GRU's is not": _first_letter_fades,
            },
        ),
    ),
    presets=(*({"word": word} for word in WORDS[1:]), {"cell": "lstm"}, {"cell": "gru"}),
    compute_fields=("letters", "cell"),
    cost=lambda params: 40 * len(params.letters),
    tells=lambda params, data: origin.tell(model=data.one.model, text=params.letters),
)
