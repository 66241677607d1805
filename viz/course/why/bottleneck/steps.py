"""The steps on the bottleneck: each draws its question, its picture and its sentence."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd
import streamlit as st

from core.data.tasks import COPY_LENGTHS
from viz.charts import by_length
from viz.charts.by_length import Curve
from viz.charts.copy_accuracy import Row, letters
from viz.course.exhibit import Folds
from viz.course.kit import equation_view
from viz.course.why.bottleneck import cell_parameters, copies
from viz.course.why.bottleneck.copies import CELLS
from viz.course.why.bottleneck.params import SLUG, Params
from viz.course.why.charts.unrolled import Lane, unrolled
from viz.labels import percent
from viz.languages import _, mark
from viz.number_text import number, percent_or_power
from viz.shell import state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

ANSWERS = (mark("all of them"), mark("more than half, not all"), mark("half or fewer"))
CELL_EQUATIONS = {
    "gru": r"\begin{aligned} r, z &= \sigma(W h_{i-1} + U x_i + b) \\ "
    r"\tilde h_i &= \tanh(r \odot W_n h_{i-1} + U_n x_i + b_n) \\ "
    r"h_i &= (1 - z) \odot \tilde h_i + z \odot h_{i-1} \end{aligned}",
    "lstm": r"\begin{aligned} f, i, o &= \sigma(W h_{i-1} + U x_i + b), "
    r"\quad g = \tanh(W_g h_{i-1} + U_g x_i + b_g) \\ "
    r"m_i &= f \odot m_{i-1} + i \odot g, \quad h_i = o \odot \tanh(m_i) \end{aligned}",
}
MORE = 4
"""Letters drawn after the length of the word, where a model continued to write."""


def guess(params: Params, data: copies.Data) -> Folds:
    """Ask how much of this word is copied, then draw the letters that the model wrote."""
    one, n, wrote = data.one, len(data.one.read), "".join(data.one.written_letters)
    told = exhibit_parts.predict(
        f"{SLUG}.right",
        _(
            "The {cell} has read the {n} letters of “{word}” into one vector of {size} numbers. How many letters come back right?",
            cell=CELLS[params.cell],
            n=n,
            word="".join(one.read),
            size=len(one.context),
        ),
        [_(answer) for answer in ANSWERS],
        _(share_in_words(one.right, n)),
        _(
            "{right} of {n}: it wrote “{written}”. {mistake}",
            right=one.right,
            n=n,
            written=wrote,
            mistake=_first_mistake(one),
        ),
    )
    written = (
        _row(_("written from one vector"), one) if told else Row(_("written from one vector"), ["?"] * n)
    )
    _letters(
        [Row(_("read"), one.read), written],
        "letters",
        _("The letters read, and below them the letters written."),
    )
    if told:
        said = _(
            "Written: “{written}”. {right} of {n} letters are right; framed letters are wrong; the darker a letter, the more probable it was.",
            written=wrote,
            right=one.right,
            n=n,
        )
    else:
        said = _(
            "{n} letters are read into {size} numbers. The second row is shown after your guess.",
            n=n,
            size=len(one.context),
        )
    return _summary_and_folds(said, params, data, revealed=told)


def read(params: Params, data: copies.Data) -> Folds:
    """Draw the encoder's states letter by letter, and the context vector."""
    one, n = data.one, len(data.one.read)
    at = state.read(f"{SLUG}.read", n, state.whole_number(1, n)) if n > 1 else 1
    half, middle, whole = one.read_states.shape[1] // 2, (n - 1) / 2, at >= n
    lanes = [
        Lane(_("read from the left →"), one.read_states[:, :half], one.read, 4, at),
        Lane(_("← read from the right"), one.read_states[:, half:], (), 4, at, back=True),
        _context(one, n_shown=int(whole)),
    ]
    hands = [(0, float(n - 1), 2, middle + 0.3), (1, 0.0, 2, middle - 0.3)] if whole else []
    page_parts.show(
        unrolled(lanes, hands=hands, large=1.5 if exhibit_parts.presenting() else 1),
        f"{SLUG}.read",
        _("The encoder's states, one tile per letter, and the context vector."),
    )
    if whole:
        said = _(
            "c = the last state of each direction: {half} numbers after “{last}” and {half} before “{first}”. {n} letters became {all} numbers from {low} to {high}.",
            half=half,
            last=one.read[-1],
            first=one.read[0],
            n=n,
            all=2 * half,
            low=number(float(one.context.min())),
            high=number(float(one.context.max())),
        )
    else:
        left, right = "".join(one.read[:at]), "".join(reversed(one.read[n - at :]))
        said = _(
            "After {place} of {n} letters: the state from the left has read “{left}”, the one from the right “{right}”.",
            place=at,
            n=n,
            left=left,
            right=right,
        )
    folds = _summary_and_folds(said, params, data)
    if n > 1:
        controls.slider(_("Letters read"), 1, n, f"{SLUG}.read", n)  # as many as the word has
    return folds


def write(params: Params, data: copies.Data) -> Folds:
    """Draw the decoder's states, and the letter that each wrote."""
    one, n, m = data.one, len(data.one.read), len(data.one.written_letters)
    at = state.read(f"{SLUG}.written", m, state.whole_number(0, m)) if m else 0
    names = ("", *one.written_letters[: n + MORE])
    states, title = (
        np.concatenate((one.first[None], one.written_states)),
        _("decoder states, and the letter each wrote"),
    )
    marked = min(at, len(names) - 1)
    lanes = [_context(one), Lane(title, states[: len(names)], names, 8, at + 1, marked=marked)]
    page_parts.show(
        unrolled(
            lanes,
            hands=[(0, (n - 1) / 2 - 0.3, 1, 0.0)],
            pixels=11,
            large=1.5 if exhibit_parts.presenting() else 1,
        ),
        f"{SLUG}.write",
        _("The context vector and the decoder's states, one tile per written letter."),
    )
    chance = percent(float(one.chances[max(at - 1, 0)]))
    if at:
        letter = one.written_letters[at - 1]
        letter_values = {
            "place": at,
            "letter": letter,
            "chance": chance,
            "written": "".join(one.written_letters[:at]),
        }
        if not one.wrong[at - 1]:
            said = _("Letter {place}: “{letter}” at {chance}; right. So far “{written}”.", **letter_values)
        elif at <= n:
            said = _(
                "Letter {place}: “{letter}” at {chance}; the word has “{right}”. So far “{written}”.",
                **letter_values,
                right=one.read[at - 1],
            )
        else:
            said = _(
                "Letter {place}: “{letter}” at {chance}; the word had ended. So far “{written}”.",
                **letter_values,
            )
    else:
        said = _(
            "l_0 is computed from c alone. l_1 is computed from l_0 and the symbol START; it writes “{letter}” at {chance}.",
            letter=one.written_letters[0] if m else "END",
            chance=chance,
        )
    folds = _summary_and_folds(said, params, data)
    if m:
        controls.slider(_("Letters written"), 0, m, f"{SLUG}.written", m)  # as many as the run wrote
    return folds


def look_back(params: Params, data: copies.Data) -> Folds:
    """Draw the copy by a decoder that attends to every state of the encoder, beside that from one vector."""
    one, looks = data.one, data.looks
    _letters(
        [
            Row(_("read"), one.read),
            _row(_("written from one vector"), one),
            _row(_("written with attention"), looks),
        ],
        "both",
        _("The letters read, those written from one vector, those written with attention."),
    )
    pattern = looks.pattern
    assert pattern is not None
    last = pattern[min(len(looks.read), len(pattern)) - 1]
    most = int(last.argmax())
    return _summary_and_folds(
        _(
            "From one vector {right} of {n} are right, with attention {attending}. When it writes the last letter, the decoder gives {share} of its attention to letter {place}, “{letter}”.",
            right=one.right,
            n=len(one.read),
            attending=looks.right,
            share=percent(last[most]),
            place=most + 1,
            letter=looks.read[most],
        ),
        params,
        data,
    )


def length(params: Params, data: copies.Data) -> Folds:
    """Draw the share of letters right by length, of six models, and the visitor's word."""
    found, n = _tables(), len(data.one.read)
    curves = []
    for name, points in found.items():
        cell = name.split("-")[1]
        hue, dashed = list(CELLS).index(cell), "attention" not in name
        curves.append(
            Curve(_called(name), sorted(points.items()), hue, dashed=dashed, strong=cell == params.cell)
        )
    own = {_called(copy.model): (n, copy.right / n) for copy in (data.one, data.looks)}
    figure = by_length.quality(curves, trained=max(COPY_LENGTHS), user_points=own)
    page_parts.show(
        figure.properties(height=330) if exhibit_parts.presenting() else figure,
        f"{SLUG}.length",
        _("Share of letters right over the length of the word, six models."),
    )
    one, looks = (found[copy.model] for copy in (data.one, data.looks))
    both = [
        _(
            "{n} letters: {one} and {attending}",
            n=letters,
            one=percent(one[letters]),
            attending=percent(looks[letters]),
        )
        for letters in (10, 20, 40)
        if letters in one and letters in looks
    ]
    return _summary_and_folds(
        _(
            "{cell}, from one vector and with attention. {both}. The diamonds are your word of {n} letters.",
            cell=CELLS[params.cell],
            both="; ".join(both),
            n=n,
        ),
        params,
        data,
    )


def slope(params: Params, data: copies.Data) -> Folds:
    """Draw how strongly the first letter moves the context vector, over length, and each letter of the word."""
    word = params.letters
    with engine_client.many() as submit:
        over: dict[str, np.ndarray] = {}
        for cell in CELLS:
            key = ("bottleneck.fading", cell, params.draw)
            over[cell] = submit(key, lambda cell=cell: copies.fading(cell, params.draw), 2_000)
        places = submit(("bottleneck.places", word), lambda: copies.slopes_by_place(word), 4_000)
        key = ("bottleneck.by_place", params.cell, params.draw)
        kept = submit(key, lambda: copies.by_place(params.cell, params.draw), 4_000)
    figure = by_length.slopes(
        _curves(over, params.cell, first=1),
        _curves(places, params.cell, first=0),
        data.one.read,
        titles=(
            _("slope ‖∂hₙ/∂x₁‖, first letter, from the left"),
            _("slope ‖∂c/∂xᵢ‖, your word, both directions"),
        ),
    )
    page_parts.show(
        figure.properties(height=400) if exhibit_parts.presenting() else figure,
        f"{SLUG}.slope",
        _(
            "How strongly the first letter moves the context vector, over length; and each letter of the word."
        ),
    )
    left = ", ".join(f"{CELLS[cell]} {percent_or_power(sizes[9] / sizes[0])}" for cell, sizes in over.items())
    begins, ends = map(percent, kept.ends)
    n, few, longest = copies.N_WORDS, copies.ENDS, max(COPY_LENGTHS)
    return _summary_and_folds(
        _(
            "Read from the left, the slope after ten letters, as a share of the slope after one: {left}. The network from the right reads the first letter last, so beginnings are kept: in {n} held-out words of {longest} letters the {cell} writes {begins} of the first {few} letters right, but {ends} of the last {few}. Slope and letters right have a rank correlation of {agreement:.2f} over the positions.",
            left=left,
            n=n,
            longest=longest,
            cell=CELLS[params.cell],
            begins=begins,
            few=few,
            ends=ends,
            agreement=kept.agreement,
        ),
        params,
        data,
    )


def share_in_words(right: int, n: int) -> str:
    """Return the one of ANSWERS that a count of right letters is.

    >>> share_in_words(3, 3), share_in_words(2, 3), share_in_words(2, 4)
    ('all of them', 'more than half, not all', 'half or fewer')
    """
    return ANSWERS[0] if right == n else ANSWERS[1] if 2 * right > n else ANSWERS[2]


def _first_mistake(copy: copies.Copy) -> str:
    """Return a sentence on the first letter that is wrong, or that none is."""
    wrong = (
        i
        for i, letter in enumerate(copy.read)
        if i >= len(copy.written_letters) or copy.written_letters[i] != letter
    )
    if (first := next(wrong, None)) is None:
        return _("The word is short enough for one vector.")
    letters = copy.written_letters
    written = _("“{answer}”", answer=letters[first]) if first < len(letters) else _("nothing")
    return _(
        "The first mistake is letter {place}: {written} for “{letter}”. Each written letter is the input for the next one, so one mistake can shift the rest.",
        place=first + 1,
        written=written,
        letter=copy.read[first],
    )


def _row(name: str, copy: copies.Copy) -> Row:
    most = len(copy.read) + MORE
    return Row(name, copy.written_letters[:most], copy.chances[:-1][:most].tolist(), copy.wrong[:most])


def _letters(rows: list[Row], key: str, alt: str) -> None:
    page_parts.show(letters(rows, shade=_("written with probability")), f"{SLUG}.{key}", alt)


def _context(copy: copies.Copy, n_shown: int = 1) -> Lane:
    """Return the lane with the tile of c, in the middle."""
    middle, name = (len(copy.read) - 1) / 2, _("c: {n} numbers", n=len(copy.context))
    return Lane("", copy.context[None], (name,), 8, n_shown, start=middle, marked=0, arrows=False)


def _curves(slopes: dict[str, np.ndarray], strong: str, *, first: int) -> list[Curve]:
    return [
        Curve(CELLS[cell], list(enumerate(sizes.tolist(), start=first)), hue, strong=cell == strong)
        for hue, (cell, sizes) in enumerate(slopes.items())
    ]


def _called(name: str) -> str:
    cell, attends = CELLS[name.split("-")[1]], "attention" in name
    return _("{cell}, with attention", cell=cell) if attends else _("{cell}, one vector", cell=cell)


def _tables() -> dict[str, dict[int, float]]:
    return engine_client.submit("bottleneck.tables", copies.tables, 50)


def _summary_and_folds(sentence: str, params: Params, data: copies.Data, *, revealed: bool = True) -> Folds:
    """Write the sentence of numbers, say which part of the visitor's word is read, and return the folds."""
    page_parts.summary(sentence)
    if params.word != params.letters:
        most = copies.LONGEST
        st.caption(
            _("These models read letters a to z, {n} at most. Read here: {word}", n=most, word=params.letters)
        )
    one, word = data.one, params.letters

    def table() -> pd.DataFrame:
        frame = pd.DataFrame(
            {
                _called(name): {f"{k} letters": percent(v, 2) for k, v in sorted(row.items())}
                for name, row in _tables().items()
            }
        )
        own: dict[Hashable, str] = {}
        for name in copies.MODELS:
            key, cost = ("bottleneck.copy", name, word), 30 * len(word)
            copy = engine_client.submit(key, lambda name=name: copies.copied(name, word), cost)
            own[_called(name)] = f"{''.join(copy.written_letters)} ({copy.right} of {len(copy.read)})"
        frame.loc["your word"] = own
        return frame

    arrays = {
        "h": one.read_states,
        "c": one.context,
        "l": one.written_states,
        "chances": one.chances,
        "h_looking_back": data.looks.read_states,
        "pattern": data.looks.pattern,
    }
    return Folds(table, lambda: arrays, code(params), revealed, more=lambda: _equations(params, one))


def _equations(params: Params, one: copies.Copy) -> None:
    """Show one state, the context, the first letters written, and the parameters of a cell."""
    n, width = one.read_states.shape
    if params.cell == "rnn":
        equation_view.show("rnn.state", SLUG, marks={"h_i": _("a tile of the upper lane")})
    else:
        page_parts.equation(CELL_EQUATIONS[params.cell])
    first = [number(float(v), 3) for v in one.context[:4]]
    equation_view.show("rnn.context", SLUG, values={"c": [*first, "…"]})
    equation_view.show(
        "seq2seq.probability", SLUG, marks={"c": _("the framed tile"), "l_i": _("a tile of the decoder")}
    )
    lines = [
        _(
            "x: {n} × {width} numbers go in, c = ({first}, ..): {width} numbers, however many letters were read.",
            n=n,
            width=width,
            first=", ".join(first),
        ),
        _(
            "P(“{letter}” | nothing yet) = {chance:.4f}",
            letter=one.written_letters[0] if one.written_letters else "END",
            chance=one.chances[0],
        ),
    ]
    for i, letter in enumerate(one.written_letters[1:4], start=1):
        lines.append(
            _(
                "P(“{letter}” | “{before}”) = {chance:.4f}",
                letter=letter,
                before="".join(one.written_letters[:i]),
                chance=one.chances[i],
            )
        )
    st.text("\n".join(lines))
    st.text(
        _(
            "Parameters of a cell, parts × (p (d + p) + 2 p), where d is the size of a letter's vector and p that of a state:"
        )
    )
    rows = [
        {
            _("cell"): name.upper(),
            _("parts"): cell_parameters.PARTS[name],
            "d = 4, p = 8": cell_parameters.parameters(name, 4, 8),
            _("the same, both directions"): cell_parameters.parameters(name, 4, 8, both_ways=True),
            _("this encoder"): cell_parameters.parameters(name, width, width // 2, both_ways=True),
        }
        for name in ("rnn", "gru", "lstm")
    ]
    st.table(pd.DataFrame(rows).set_index(_("cell")), border="horizontal")


def code(params: Params) -> str:
    """Return lines of Python that compute the numbers of the page."""
    return (
        "import core\nfrom viz.course.why.bottleneck.reach import reach\n\n"
        f"word, model = {params.letters!r}, core.open_model('copy-{params.cell}')\nrun = model.run(word)\n"
        "print(run.target_text, sum(a == b for a, b in zip(run.target_text, word)), 'of', len(word))\n"
        "h = run.trace['encoder.layer.0.hidden']  # (letter, d)\n"
        "c = run.trace['decoder.start.context']  # (d,)\n"
        "print(c[:4].round(4))\n"
        "slopes = reach(model, [word]).context_slopes[0]  # |d c / d x_i|\nprint(slopes)"
    )
