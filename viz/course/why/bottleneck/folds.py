"""The folds of the exhibit on the bottleneck: our own words around numbers of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number
from viz.course.why.bottleneck import pictures
from viz.course.why.bottleneck.maths import cells
from viz.labels import formulas, percent
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

ANSWERS = ("all of them", "more than half, not all", "half or fewer")
CELL_EQUATIONS = {
    "gru": r"\begin{aligned} r, z &= \sigma(W h_{i-1} + U x_i + b) \\ \tilde h_i &= \tanh(r \odot W_n h_{i-1} + U_n x_i + b_n) \\"
    r" h_i &= (1 - z) \odot \tilde h_i + z \odot h_{i-1} \end{aligned}",
    "lstm": r"\begin{aligned} f, i, o &= \sigma(W h_{i-1} + U x_i + b), \quad g = \tanh(W_g h_{i-1} + U_g x_i + b_g) \\"
    r" m_i &= f \odot m_{i-1} + i \odot g, \quad h_i = o \odot \tanh(m_i) \end{aligned}",
}
LOOKING = (
    "A tile is one state: its numbers in rows, blue above 0, orange below, from −1 to 1. The encoder reads in both directions, as the "
    "translator of Bahdanau and others does: the upper lane from the left, the lower one from the right; a lane fills in the order in "
    "which it is read. The slides and the survey write c = h_n for an encoder with one direction. With two, c holds the last state of each: after the last letter, "
    "and before the first. In this network c makes the decoder's first state and is not handed over again (Sutskever and others); Eq. (1) "
    "lets each step read it. The shade of a written letter is its probability. No training happens here: "
    "six networks were trained once, on the same words of up to 20 letters, with the same number of steps."
)


def share_in_words(right: int, n: int) -> str:
    """Which of ANSWERS a count is.

    >>> share_in_words(3, 3), share_in_words(2, 3), share_in_words(2, 4)
    ('all of them', 'more than half, not all', 'half or fewer')
    """
    return ANSWERS[0] if right == n else ANSWERS[1] if 2 * right > n else ANSWERS[2]


def why(copy: Any) -> str:
    """Where it went wrong first, or that it did not."""
    first = next((i for i, letter in enumerate(copy.read) if i >= len(copy.written) or copy.written[i] != letter), None)
    if first is None:
        return "The word is short enough for one vector."
    written = f"“{copy.written[first]}”" if first < len(copy.written) else "nothing"
    return f"The first mistake is letter {first + 1}: {written} for “{copy.read[first]}”. One wrong letter moves the rest."


def show(info: Any, params: Any, data: Any) -> None:
    """The five usual folds."""
    _equation(params, data)
    with parts.fold(parts.LOOKING, "bottleneck.looking") as opened:
        if opened.open:
            st.markdown(formulas(LOOKING, ours=True))
    parts.documents(info, lambda: lesson.errata("E42"))
    parts.as_table(lambda: table(params), "bottleneck")
    parts.take_away(lambda: arrays(data), code(params), key="bottleneck")


def _equation(params: Any, data: Any) -> None:
    with parts.fold(parts.EQUATION, "bottleneck.equation") as opened:
        if not opened.open:
            return
        one, n = data.one, len(data.one.read)
        width = one.read_states.shape[1]
        if params.cell == "rnn":
            lesson.equation("rnn.state", "bottleneck", marks={"h_i": "a tile of the upper lane"})
        else:
            parts.equation(CELL_EQUATIONS[params.cell])
        first = [number(float(v), 3) for v in one.context[:4]]
        lesson.equation("rnn.context", "bottleneck", values={"c": [*first, "…"]})
        lesson.equation("seq2seq.probability", "bottleneck", marks={"c": "the framed tile", "l_i": "a tile of the decoder"})
        st.text(f"x: {n} × {width} numbers go in, c = ({', '.join(first)}, ..): {width} numbers are handed over, whether {n} letters were read or one.\n"
                f"P(“{one.written[0] if one.written else 'END'}” | nothing yet) = {one.chances[0]:.4f}\n"
                + "\n".join(f"P(“{letter}” | “{''.join(one.written[:i])}”) = {one.chances[i]:.4f}"
                            for i, letter in enumerate(one.written[1:4], start=1)))  # fmt: skip
        st.text("Parameters of a cell, parts × (p (d + p) + 2 p), where d is the size of a letter's vector and p that of a state:")
        st.table(pd.DataFrame(
            [{"cell": name.upper(), "parts": cells.PARTS[name], "d = 4, p = 8": cells.parameters(name, 4, 8),
              "the same, both directions": cells.parameters(name, 4, 8, both_ways=True),
              "this encoder": cells.parameters(name, width, width // 2, both_ways=True)} for name in ("rnn", "gru", "lstm")]
        ).set_index("cell"), border="horizontal")  # fmt: skip


def table(params: Any) -> pd.DataFrame:
    """Letters right by length for the six models, and all six on the visitor's word."""
    from viz.course.why.bottleneck import exhibit as bottleneck

    found = ask.submit("bottleneck.tables", pictures.tables, 50)
    frame = pd.DataFrame({pictures._called(name): {f"{k} letters": percent(v, 2) for k, v in sorted(row.items())} for name, row in found.items()})
    copies = {name: ask.submit(("bottleneck.copy", name, params.word), lambda name=name: bottleneck.copied(name, params.word), 30 * len(params.word))
              for name in found}  # fmt: skip
    frame.loc["your word"] = {pictures._called(name): f"{''.join(copy.written)} ({copy.right} of {len(copy.read)})" for name, copy in copies.items()}
    return frame


def arrays(data: Any) -> dict[str, np.ndarray]:
    """The states of both runs."""
    return {"h": data.one.read_states, "c": data.one.context, "l": data.one.written_states, "chances": data.one.chances,
            "h_looking_back": data.looks.read_states, "pattern": data.looks.pattern}  # fmt: skip


def code(params: Any) -> str:
    """Lines that make the numbers again."""
    return (
        f"import core\n\nmodel = core.open_model('copy-{params.cell}')\nrun = model.run({params.word!r})\nprint(run.target_text)\n"
        "h = run.trace['encoder.layer.0.hidden']  # (letter, d)\nc = run.trace['decoder.start.context']  # (d,)\n\n"
        "from viz.course.why.bottleneck.maths.reach import reach\n"
        f"slopes = reach(model, [{params.word!r}]).whole[0]  # |d c / d x_i|"
    )
