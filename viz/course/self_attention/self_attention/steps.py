"""The steps of the exhibit on self-attention: each its question, its sentence of numbers and its control."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from viz.charts.curves import number
from viz.course.self_attention.self_attention import link
from viz.course.self_attention.self_attention.grids import neat, products, vector
from viz.course.shared.maths.self_attention import EXAMPLES, LARGEST, LONGEST
from viz.labels import distinct, percent
from viz.shell import state
from viz.widgets import controls, lesson

SLUG = link.SLUG
QUESTION, ONE, ALL, SCORES, MIX, HAND = range(6)
LOTS = 9999
SIZES = {"n": LONGEST, "d": LARGEST, "p": LARGEST, "r": LARGEST}
SENTENCES = ("She is eating a green apple", "I am a student", "The dog sees the cat")
MEANING = {"n": "n, words", "d": "d, numbers of a word", "p": "p, of query and key", "r": "r, of a value"}
TIE = "two or more alike"


# ------------------------------------------------------------------ questions


def question(step: int, data: Any, params: Any) -> bool:
    """What is asked at a step, above the board; whether its answer may be seen."""
    asks = {QUESTION: _how_many, SCORES: _which} | ({MIX: _what_reaches} if params.printed else {})
    return asks.get(step, lambda *_: True)(data, params)


def _how_many(data: Any, params: Any) -> bool:
    n = len(data.words)
    return lesson.predict(
        SLUG + "count", f"{n} word{'s' if n > 1 else ''}. Every word asks every word how well they fit, itself included. How many scores is that?",
        tuple(str(count) for count in sorted({n, n * (n - 1) // 2, n * (n - 1), n * n})), str(data.found.scores.size),
        f"{n} · {n} = {n * n}: one for each pair of a word that asks and a word that answers. Printed with one index, qᵢ·kᵢ, only the {n} on the diagonal would be named.",
    )  # fmt: skip


def _which(data: Any, params: Any) -> bool:
    """Which key fits the marked word's query best? Answered by the dot products of this run."""
    names, at = distinct(data.words), link.at_of(data, params)
    dots, may = data.found.dots[at], data.found.allowed[at]
    if not may.any():
        return True
    best = np.flatnonzero(may & (dots >= dots[may].max() - 1e-9))
    answer = names[best[0]] if len(best) == 1 else TIE
    return lesson.predict(
        SLUG + "which", f"The query of “{names[at]}” is {vector(data.found.q[at])}. Multiply it with each key: which fits best?",
        (*(name for name, allowed in zip(names, may, strict=True) if allowed), TIE), answer,
        ". ".join(f"“{names[j]}”: {products(data.found.q[at], data.found.k[j])} = {neat(dots[j])}" for j in best) + ". No other product is larger.",
    )  # fmt: skip


def _what_reaches(data: Any, params: Any) -> bool:
    """What the printed order gives a word in all: the sum of its column, not of its row."""
    names, at = distinct(data.words), link.at_of(data, params)
    column = data.found.weights[:, at]
    total, own = ("1" if text == "1.00" else text for text in (number(column.sum()), number(column[at])))
    return lesson.predict(
        SLUG + "reaches", f"As printed, V A, “{names[at]}” is made with its column of A. To what do the shares in this column sum?",
        (*sorted({"1", total, own}), str(len(names)) if len(names) > 1 else "0"), total,
        f"{' + '.join(number(share) for share in column)} = {total}. Softmax made the rows sum to 1; nothing makes the columns do so.",
    )  # fmt: skip


# ------------------------------------------------------------------ numbers


def numbers(step: int, data: Any, params: Any, known: bool) -> str:
    """One sentence of numbers made from the run."""
    found, names, at = data.found, distinct(data.words), link.at_of(data, params)
    (n, d), p, r = found.x.shape, found.q.shape[1], found.v.shape[1]
    if step == QUESTION:
        of = f"The first {n} of {data.total} words" if data.total > n else f"{n} word{'s' if n > 1 else ''}"
        told = f"{of}, each {d} numbers of −1, 0 and 1, drawn by chance (draw {params.lot})"
        return f"{told}; {n * n} question marks to fill." if known else f"{told}. The same word always has the same numbers."
    if step == ONE:
        return f"“{names[at]}”, {vector(found.x[at])}, asks {vector(found.q[at])}, answers to {vector(found.k[at])} and hands over {vector(found.v[at])}. Change a weight: touch it."
    if step == ALL:
        same = "need not be equal" if p != r else "happen to be equal"
        return f"p = {p} for Q and K, r = {r} for V: they {same}. {2 * d * p + d * r} weights serve {n} words, or a thousand."
    if step == SCORES:
        return _scored(data, names, at) if known else f"{n} keys of {p} numbers each. Scores and shares appear when you have said which fits best."
    if step == MIX:
        return _made(data, params, names, at, known)
    return formula(data, params)


def _scored(data: Any, names: list[str], at: int) -> str:
    found = data.found
    if not found.allowed[at].any():
        return f"“{names[at]}” stands alone and may not look at itself: nothing is left, so all its shares are 0."
    best = int(found.weights[at].argmax())
    mirror = f" S is symmetric, like a kernel: with W_K = W_Q two scores that mirror each other differ by {neat(data.kernel.asymmetry)}." if not data.kernel.asymmetry else ""
    return (
        f"“{names[at]}” scores “{names[best]}” highest, {neat(found.dots[at, best])} / √{found.q.shape[1]} = {number(found.scores[at, best])}, and gives it "
        f"{percent(found.weights[at, best])} of its attention; its row sums to {number(found.weights[at].sum())}.{mirror}"
    )


def _made(data: Any, params: Any, names: list[str], at: int, known: bool) -> str:
    found = data.found
    if params.printed and not known:
        return "As printed, columns meet the values. Add up a column of A, and say what you find."
    if params.printed:
        sums = ", ".join(number(total) for total in data.printed.sums)
        return f"As printed, V A: the shares that reach the words sum to {sums} instead of 1, and the result is up to {number(data.printed.gap)} off."
    return (
        f"“{names[at]}” becomes {vector(found.z[at], 2)}: "
        + " + ".join(f"{number(a)} of “{name}”" for a, name in zip(found.weights[at], names, strict=True) if a >= 0.005)
        + f". PyTorch's own function gives the same to within {'10⁻⁶' if data.off < 1e-6 else f'{data.off:.0e}'}."
    )


def formula(data: Any, params: Any) -> str:
    """The worked example in words: v_student = 0.7 v_I + 0.2 v_am + 0.1 v_a."""
    example, mixed = data.example, data.mixed
    pairs = list(zip(mixed.weights, example.words, strict=True))[: len(example.others) + (params.own)]
    total = " + ".join(f"{_share(a)} v({word})" for a, word in pairs)
    return f"v({example.word}) = {total} = {vector(mixed.mix, 2)}. The shares sum to {number(mixed.weights.sum())}."


def _share(value: float) -> str:
    """0.7 where it is that, else three decimals."""
    return f"{value:.1f}" if abs(value - round(value, 1)) < 5e-5 else f"{value:.3f}"


# ------------------------------------------------------------------ controls


def control(step: int, start: Any) -> None:
    """What a step changes."""
    (_sentence, _draw, _sizes, _who, _order, _example)[step](start)


def more(step: int, start: Any) -> None:
    """What belongs to other steps and can be changed here too."""
    for place, each in enumerate((_sentence, _draw, _sizes)):
        if place != step:
            with st.container():
                each(start)


def _sentence(start: Any) -> None:
    controls.text("Sentence", "text", start.text, placeholder="Type a sentence")
    controls.preset_row(SENTENCES, "text", start.text)


def _draw(start: Any) -> None:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        controls.draw(SLUG + "draw", start.lot, LOTS, drops=(SLUG + "set",))
        st.button("As drawn", key=f"{SLUG}undo", on_click=lambda: state.write(**{SLUG + "set": None}), disabled=not state.peek(SLUG + "set"), icon=":material/undo:")


def _sizes(start: Any) -> None:
    for column, (name, most) in zip(st.columns(4, gap="medium"), SIZES.items(), strict=True):
        with column:
            controls.slider(MEANING[name], 1, most, SLUG + name, getattr(start, name))


def _who(start: Any) -> None:
    with st.container(horizontal=True, gap="large"):
        controls.toggle("The word attends to itself", SLUG + "itself", start.itself)
        controls.toggle("$W_K := W_Q$, a kernel", SLUG + "tied", start.tied, help="Then two words score each other alike, and the scores are like a kernel.")


def _order(start: Any) -> None:
    with st.container(horizontal=True, gap="large"):
        controls.toggle("As printed in Eq. (16)", SLUG + "printed", start.printed, help="V A, without turning the shares.")
        controls.toggle("The word attends to itself", SLUG + "itself", start.itself)


def _example(start: Any) -> None:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        sentences = {name: " ".join(example.words) for name, example in EXAMPLES.items()}
        with st.container(width="content"):
            controls.segmented("Example", tuple(EXAMPLES), SLUG + "example", start.example, sentences.__getitem__, quiet=True)
        st.button("The printed weights", key=f"{SLUG}given", on_click=lambda: state.write(**{SLUG + "scores": None}), disabled=not state.peek(SLUG + "scores"))
        controls.toggle("The word attends to itself", SLUG + "own", start.own)
