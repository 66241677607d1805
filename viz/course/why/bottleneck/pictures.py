"""One picture a step of the exhibit on the bottleneck, and the sentence of numbers below it."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import by_part, read_scores
from core.data.tasks import COPIED, COPY_LENGTHS, strings
from core.serving.engine import default
from viz.charts.by_length import Curve, quality, slopes
from viz.charts.copied import Row, letters
from viz.charts.curves import number
from viz.course.why.bottleneck.maths import reach as analysis
from viz.course.why.charts.unrolled import Lane, unrolled
from viz.labels import percent
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

CELLS = {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}
LONGEST_READ, N_STRINGS = 40, 4
MORE = 4
"""Letters drawn behind the length of the word, where a model wrote on."""
CHANCE = "written with probability"


def draw(step: int, params: Any, data: Any, known: bool) -> str:
    """The picture of a step; returns its sentence."""
    return (_guess, _read, _write, _look_back, _length, _slope)[step](params, data, known)


def tables() -> dict[str, dict[int, float]]:
    """Share of letters right by length, of each of the six models, as measured on held-out words and shipped with it."""
    found = {}
    for name in (f"copy-{cell}{attends}" for cell in CELLS for attends in ("", "-attention")):
        rows = by_part(read_scores(shipped_folder() / name), "token_accuracy_by_length", "held-out strings", name)
        found[name] = {int(row.split()[-1]): value for row, value in rows.items()}
    return found


def fading(cell: str, lot: int = 0) -> np.ndarray:
    """|d h_n / d x_1| for n = 1 .. LONGEST_READ, on a few held-out words."""
    model = default().open(f"copy-{cell}")
    return analysis.typical_fading(model, strings(N_STRINGS, np.random.default_rng(lot), COPIED, LONGEST_READ, "test"))


def slopes_by_place(word: str) -> dict[str, np.ndarray]:
    """|d c / d x_i| for each letter of a word, by cell."""
    return {cell: analysis.reach(default().open(f"copy-{cell}"), [word]).whole[0] for cell in CELLS}


def wrong_of(copy: Any) -> list[bool]:
    """Which written letters do not stand in the word at that place."""
    return [place >= len(copy.read) or letter != copy.read[place] for place, letter in enumerate(copy.written)]


def _row(name: str, copy: Any) -> Row:
    most = len(copy.read) + MORE
    return Row(name, copy.written[:most], copy.chances[: len(copy.written)][:most], wrong_of(copy)[:most])


def _ratio(copy: Any) -> str:
    return f"{copy.right} of {len(copy.read)} letters are right"


def _guess(params: Any, data: Any, known: bool) -> str:
    one = data.one
    hidden = Row("written from one vector", ["?"] * len(one.read))
    rows = [Row("read", one.read), _row("written from one vector", one) if known else hidden]
    parts.show(letters(rows, shade=CHANCE), "bottleneck.letters", "The letters read, and below them the letters written.")
    if not known:
        return f"{len(one.read)} letters are read; {len(one.context)} numbers are kept. Guess first, then the second row is shown."
    return f"Written: “{''.join(one.written)}”. {_ratio(one)}; framed letters are wrong, darker ones were surer."


def _lanes(copy: Any, read: int, written: int | None) -> tuple[list[Lane], list[tuple[int, float, int, float]]]:
    n, width = copy.read_states.shape
    half, middle = width // 2, (n - 1) / 2
    whole = read >= n
    lanes = [
        Lane("read from the left →", copy.read_states[:, :half], copy.read, 4, read),
        Lane("← read from the right", copy.read_states[:, half:], (), 4, read, back=True),
        Lane("", copy.context[None], (f"c: {width} numbers",), 8, int(whole), start=middle, marked=0, arrows=False),
    ]
    hands = [(0, float(n - 1), 2, middle + 0.3), (1, 0.0, 2, middle - 0.3)] if whole else []
    if written is None:
        return lanes, hands
    most = n + MORE
    labels = ("", *copy.written[:most])
    states = np.concatenate((copy.first[None], copy.written_states))[: len(labels)]
    lanes = [Lane("", copy.context[None], (f"c: {width} numbers",), 8, 1, start=middle, marked=0, arrows=False)]
    lanes.append(Lane("decoder states, and the letter each wrote", states, labels, 8, written + 1, marked=min(written, len(labels) - 1)))
    return lanes, [(0, middle - 0.3, 1, 0.0)]


def _read(params: Any, data: Any, known: bool) -> str:
    one, n = data.one, len(data.one.read)
    picture = st.container()
    at = controls.slider("Letters read", 1, n, "bottleneck.read", n) if n > 1 else 1
    lanes, hands = _lanes(one, at, None)
    with picture:
        parts.show(unrolled(lanes, hands=hands, large=1.5 if lesson.presenting() else 1), "bottleneck.read", "The encoder's states, one tile a letter, and the context vector.")
    if at < n:
        return (f"After {at} of {n} letters: the state from the left has read “{''.join(one.read[:at])}”, "
                f"the one from the right “{''.join(reversed(one.read[n - at:]))}”.")  # fmt: skip
    half = one.read_states.shape[1] // 2
    return (f"c = the last state of each direction: {half} numbers after “{one.read[-1]}” and {half} before “{one.read[0]}”. "
            f"{n} letters became {2 * half} numbers from {number(float(one.context.min()))} to {number(float(one.context.max()))}.")  # fmt: skip


def _write(params: Any, data: Any, known: bool) -> str:
    one = data.one
    picture = st.container()
    m = len(one.written)
    at = controls.slider("Letters written", 0, m, "bottleneck.written", m) if m else 0
    lanes, hands = _lanes(one, len(one.read), at)
    with picture:
        parts.show(unrolled(lanes, hands=hands, pixels=11, large=1.5 if lesson.presenting() else 1), "bottleneck.write", "The context vector and the decoder's states, one tile a letter written.")
    if not at:
        return f"l_0 is made of c alone. From it and the sign START comes l_1, which writes “{one.written[0] if m else 'END'}” at {percent(float(one.chances[0]))}."
    right = at <= len(one.read) and one.written[at - 1] == one.read[at - 1]
    behind = "the word has it there" if right else f"the word has “{one.read[at - 1]}”" if at <= len(one.read) else "the word had ended"
    return f"Letter {at}: “{one.written[at - 1]}” at {percent(float(one.chances[at - 1]))}; {behind}. So far “{''.join(one.written[:at])}”."


def _look_back(params: Any, data: Any, known: bool) -> str:
    one, looks = data.one, data.looks
    rows = [Row("read", one.read), _row("written from one vector", one), _row("written while looking back", looks)]
    parts.show(letters(rows, shade=CHANCE), "bottleneck.both", "The letters read, those written from one vector, those written with attention.")
    step = min(len(looks.read), len(looks.pattern)) - 1
    most = int(looks.pattern[step].argmax())
    return (f"From one vector {one.right} of {len(one.read)} are right, looking back {looks.right}. Writing its last letter of the word, the "
            f"decoder gives {percent(looks.pattern[step, most])} of its attention to letter {most + 1}, “{looks.read[most]}”.")  # fmt: skip


def _length(params: Any, data: Any, known: bool) -> str:
    found, n = ask.submit("bottleneck.tables", tables, 50), len(data.one.read)
    curves = [
        Curve(_called(name), sorted(points.items()), list(CELLS).index(name.split("-")[1]), dashed="attention" not in name,
              strong=name.split("-")[1] == params.cell)
        for name, points in found.items()
    ]  # fmt: skip
    own = {_called(copy.model): (n, copy.right / n) for copy in (data.one, data.looks)}
    figure = quality(curves, trained=max(COPY_LENGTHS), own=own)
    parts.show(figure.properties(height=330) if lesson.presenting() else figure, "bottleneck.length",
               "Share of letters right over the length of the word, six models.")  # fmt: skip
    one, looks = (found[copy.model] for copy in (data.one, data.looks))
    shown = [length for length in (10, 20, 40) if length in one and length in looks]
    told = "; ".join(f"{length} letters: {percent(one[length])} and {percent(looks[length])}" for length in shown)
    return f"{CELLS[params.cell]}, from one vector and looking back. {told}. Diamonds: your word of {n}."


def _called(name: str) -> str:
    _, cell, *attends = name.split("-")
    return f"{CELLS[cell]}{', looking back' if attends else ', one vector'}"


def _slope(params: Any, data: Any, known: bool) -> str:
    lot = state.read("bottleneck.draw", 0, state.whole(0, 99))
    with ask.many() as submit:
        over = {cell: submit(("bottleneck.fading", cell, lot), lambda cell=cell: fading(cell, lot), 2_000) for cell in CELLS}
        word = "".join(data.one.read)
        places = submit(("bottleneck.places", word), lambda: slopes_by_place(word), 4_000)
    above = [Curve(CELLS[cell], list(enumerate(sizes.tolist(), start=1)), hue, strong=cell == params.cell)
             for hue, (cell, sizes) in enumerate(over.items())]  # fmt: skip
    below = [Curve(CELLS[cell], list(enumerate(sizes.tolist())), hue, strong=cell == params.cell)
             for hue, (cell, sizes) in enumerate(places.items())]  # fmt: skip
    titles = ("size of d hₙ / d x₁, read from the left", "size of d c / d xᵢ, each letter of your word")
    figure = slopes(above, below, data.one.read, titles=titles)
    parts.show(figure.properties(height=400) if lesson.presenting() else figure, "bottleneck.slope",
               "How strongly the first letter moves the context vector, over length; and each letter of the word.")  # fmt: skip
    left = ", ".join(f"{CELLS[cell]} {_share(sizes[9] / sizes[0])}" for cell, sizes in over.items())
    least = int(places[params.cell].argmin())
    return (f"Of the slope after one letter this much is left after ten: {left}. In your word c of the {CELLS[params.cell]} depends least on "
            f"letter {least + 1}, “{data.one.read[least]}”: {places[params.cell][least]:.2f}.")  # fmt: skip


def _share(part: float) -> str:
    """A share in percent that never rounds something to nothing."""
    return percent(part) if part >= 0.005 else f"{100 * part:.0e} %".replace("e-0", "e-").replace("-", "−")
