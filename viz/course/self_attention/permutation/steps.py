"""The steps of the exhibit on another order: questions, pictures, sentences of numbers, and how one changes the order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from viz.charts.curves import tiny
from viz.course.self_attention.charts.reordered import reordered, share
from viz.course.self_attention.permutation import maths as lesson_of
from viz.instruments import heatmap
from viz.labels import literal
from viz.shell import state
from viz.widgets import controls, lesson, parts

SLUG = "permutation."
GUESS, WHY, PLACES, MEAN, SET, MASK = range(6)
SENTENCES = ("The dog saw the man.", "She has a white car.", "A rose is a rose.", "The king loved the queen.")
DRAWN = 24
"""Numbers of a row that are drawn, of all that it has."""
SET_STAYS, SET_CHANGES = "They stay as they are: it is there already", "They change: twice counts more than once"


class Order(tuple[int, ...]):
    """An order as the link writes it."""

    def __str__(self) -> str:
        return "_".join(map(str, self))


def order_of(n: int) -> Callable[[str], Order]:
    """A parser of orders in a link: "0_4_2_3_1".

    >>> str(order_of(3)("2_0_1"))
    '2_0_1'
    """

    def parse(text: str) -> Order:
        places = text.split("_")
        if sorted(places) != sorted(map(str, range(n))):
            raise state.Unusable(f"It must hold each position from 0 to {n - 1} once, with _ between.", Order())
        return Order(map(int, places))

    return parse


def _write(order: tuple[int, ...]) -> None:
    state.write(**{SLUG + "order": Order(order), SLUG + "draw": None})


def ask(data: Any, params: Any, step: int) -> bool:
    """The question of a step that has one; True once it is answered."""
    n = len(data.order)
    if step == GUESS:
        moved = data.plain
        return lesson.predict(
            SLUG + "first", f"“{params.text}” in another order: what comes out of the layer?", (lesson_of.STAYS, lesson_of.MOVES, lesson_of.CHANGES), moved.kind,
            f"Word by word the numbers agree up to {tiny(moved.largest)}; position by position they differ by up to {moved.in_place:.2f}. "
            + ("Equal words stand at each position." if moved.kind == lesson_of.STAYS else "It is equivariant, not invariant."),
        )  # fmt: skip
    if step == SET:
        word = spoken(data)
        moved = data.said
        stay = bool(moved.kept[:n].all())
        return lesson.predict(
            SLUG + "set", f"{word} is said twice. What of the rows that were there before?", (SET_STAYS, SET_CHANGES), SET_STAYS if stay else SET_CHANGES,
            f"They move by up to {share(float(moved.change[:n].max()))} of their length. " + (
                "Each word has the same share of the sentence as before, and only shares count." if stay else "A copy has the same score again, so its word gets more weight and the others less."),
        )  # fmt: skip
    if step == MASK:
        asked = state.read(SLUG + "asked", data.order, order_of(n))
        count = sum(lesson_of.same_past(data.pieces, asked))
        known = lesson.predict(
            SLUG + "mask", f"“{params.text}” in another order: how many of the {n} rows keep their numbers?",
            [str(i) for i in range(n + 1)], str(count), "A row keeps its numbers if it is the same word and the same words, in any order, stand before it.",
        )  # fmt: skip
        if known:
            state.write(**{SLUG + "asked": Order(asked)})  # another order afterwards is another picture, not another question
        return known
    return True


def draw(data: Any, step: int, known: bool) -> None:
    """The picture of a step."""
    if step == WHY:
        _weights(data)
        return
    moved = shown(data, step)
    new = "with one said twice" if step == SET else "in the new order"
    d = moved.before.shape[1]
    means = None
    if step == MEAN:
        old, after = moved.pooled
        change = float(np.linalg.norm(after - old) / np.linalg.norm(old))
        means = (old[:DRAWN], after[:DRAWN], change, moved.pooled_largest < lesson_of.SAME)
    figure = reordered(
        moved.before[:, :DRAWN], moved.after[:, :DRAWN], data.names, moved.origin, moved.change, kept=moved.kept.tolist(), covered=not known, means=means,
        titles=("as written", new), row=_row(len(moved.after)),
    )  # fmt: skip
    told = f"{int(moved.kept.sum())} of {len(moved.after)} rows hold the same numbers as those of their word before." if known else "What comes out is not shown before the guess."
    parts.show(figure, f"{SLUG}rows.{step}", f"Rows of {d} numbers, the first {DRAWN} drawn, before and after. {told}")


def _row(n: int) -> int:
    return min(34, 300 // max(n, 1)) if lesson.presenting() else 34 if n <= 10 else 26


def shown(data: Any, step: int) -> lesson_of.Moved:
    """What is measured at a step."""
    if step == MEAN:
        return data.placed if state.read(SLUG + "places", False, state.flag) else data.plain
    return {PLACES: data.placed, SET: data.said, MASK: data.causal}.get(step, data.plain)


def _weights(data: Any) -> None:
    """One head's weights before and after: rows and columns in the new order."""
    names, tall = data.names, 150 if lesson.presenting() else 330
    new = [names[i] for i in data.order]
    left, right = st.columns(2, gap="medium")
    sides = ((left, "before", data.patterns[0], names, "A, as written"), (right, "after", data.patterns[1], new, "A′, in the new order"))
    for column, key, pattern, words, title in sides:
        with column:
            heatmap(pattern[data.head], list(words), list(words), key=f"{SLUG}{key}", title=title, numbers=len(names) <= 8, height=tall)


def spoken(data: Any) -> str:
    """What is said twice, in quotation marks."""
    return "Every word" if data.twice == len(data.order) else f"“{data.names[data.twice]}”"


def numbers(data: Any, step: int, known: bool) -> str:
    """One sentence of numbers of what is shown."""
    moved, n = shown(data, step), len(data.order)
    d = moved.before.shape[1]
    if step == GUESS and not known:
        return f"{n} words go into the first layer of bert-mini, {n} rows of {d} numbers come out. The first {DRAWN} of each are drawn."
    if not known:
        return f"Left the {n} rows as they were, {d} numbers each. And after?"
    most, kept = float(moved.change.max()), int(moved.kept.sum())
    if step == GUESS and lesson.presenting():
        return f"The largest difference of any number is {tiny(moved.largest)}, which is rounding; position by position it is {tiny(moved.in_place)}."
    if step == GUESS:
        return (f"Each row moved along with its word: the largest difference of any number is {tiny(moved.largest)}, which is rounding. "
                f"Compared position by position it is {tiny(moved.in_place)}.")  # fmt: skip
    if step == WHY:
        a, b = data.patterns
        order = list(data.order)
        row, column = np.unravel_index(int(a[data.head].argmax()), a[data.head].shape)
        off = float(np.abs(b - a[:, order][:, :, order]).max())
        through = "" if lesson.presenting() else f" Through all {data.n_layers} layers of the model, in 32-bit numbers: up to {tiny(data.whole)}."
        return (f"“{data.names[row]}” gives “{data.names[column]}” {a[data.head, row, column]:.3f} before and {b[data.head, order.index(int(row)), order.index(int(column))]:.3f} after. "
                f"A′ = P A Pᵀ in all {len(a)} heads, up to {tiny(off)}.{through}")  # fmt: skip
    if step == PLACES:
        at = int(moved.change.argmax())
        if kept == n:
            return f"{kept} of {n} rows keep their numbers: no word changed its position. Move one."
        return (f"{kept} of {n} rows keep their numbers; without positions it was {int(data.plain.kept.sum())} of {n}. “{data.names[moved.origin[at]]}” changes most, "
                f"by {share(most)} of its length; the average is {share(float(moved.change.mean()))}.")  # fmt: skip
    if step == MEAN:
        said = "with positions" if moved is data.placed else "without positions"
        word = "invariant" if moved.pooled_largest < lesson_of.SAME else "not invariant"
        return f"The mean of the {n} rows, {said}: its numbers differ by up to {tiny(moved.pooled_largest)} between the two orders. The mean is {word}."
    if step == SET:
        every = data.twice == n
        told = ("Neither a set nor a count: only the shares of the words matter." if every else
                "So it is no set operation: it works on a multiset. And if every word is said twice? Try it.")  # fmt: skip
        return (f"{spoken(data)} said twice: the {n} rows of before move by up to {share(float(moved.change[:n].max()))}. A word said c times weighs c·a / Σ c·a "
                f"(difference to the layer: {tiny(data.counted)}). {told}")  # fmt: skip
    same = ", ".join(f"“{data.names[i]}”" for i, keeps in zip(moved.origin, moved.kept, strict=True) if keeps) or "none"
    return (f"{kept} of {n} rows keep their numbers: {same}. The largest change is {share(most)}. "
            f"Without the mask {int(data.plain.kept.sum())} of {n} kept them.")  # fmt: skip


def control(data: Any, step: int) -> None:
    """What one changes at a step: the word that is said twice, or the order of all."""
    n = len(data.order)
    with st.container(key=f"permutation-control-{'set' if step == SET else 'order'}", gap="small"):
        if step == SET:
            names = (*data.names, "every word")
            controls.pills("Say twice", range(n + 1), SLUG + "twice", data.twice, lambda i: names[i])
            return
        key = f"{SLUG}touch"
        st.pills("Touch a word" if lesson.presenting() else "Touch a word: it moves one position to the front", range(n), format_func=lambda place: literal(data.names[data.order[place]]), key=key,
                 on_change=_touch, args=(key, data.order))  # fmt: skip
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            orders = {"As written": tuple(range(n)), "Swap two words": lesson_of.swapped(data.pieces), "Reverse": tuple(range(n))[::-1]}
            for name, order in orders.items():
                st.button(name, key=f"{SLUG}{name}", on_click=partial(_write, order), disabled=order == data.order)
            controls.draw(SLUG + "draw", again="Shuffle", drops=(SLUG + "order",))
        if step == MEAN:
            controls.toggle("Add positions", SLUG + "places", False)


def _touch(key: str, order: tuple[int, ...]) -> None:
    place = st.session_state[key]
    st.session_state[key] = None
    if place is not None:
        _write(lesson_of.forward(order, place))


def shuffled(n: int) -> Order:
    """The order that the draw in the link gives; empty, so that of the page, for draw 0."""
    lot = state.read(SLUG + "draw", 0, state.whole(0, 9999))
    return Order(int(i) for i in np.random.default_rng(lot).permutation(n)) if lot else Order()


def change(model: str, longest: int) -> None:
    """The visitor's own sentence."""
    with st.container(key="permutation-text", gap="small"):
        controls.text("Sentence", "text", SENTENCES[0], placeholder="Type a sentence", drops=(SLUG + "order", SLUG + "draw", SLUG + "twice", SLUG + "asked"), of=model, most=f"up to {longest} tokens")
        controls.preset_row(SENTENCES, "text", SENTENCES[0])
