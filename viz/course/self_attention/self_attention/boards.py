"""The boards of the exhibit on self-attention, one per step, and their events."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from viz.course.kit import equation_view as equations
from viz.course.self_attention.self_attention import link
from viz.course.self_attention.self_attention.folds import HAND, QUESTION
from viz.course.self_attention.self_attention.grids import Grids, inside, products
from viz.course.self_attention.self_attention.params import SLUG, Data, Params, at_of
from viz.course.shared.self_attention import EXAMPLES
from viz.instruments.board.board import (
    Grid,
    Item,
    Sign,
    Unit,
    board,
    chosen_convention,
    chosen_word,
    edited_cell,
)
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.languages import _
from viz.number_text import number
from viz.shell import state
from viz.widgets import exhibit_parts

KEY = SLUG + "board"
ARROW = "→"


def picture(step: int, data: Data, params: Params, revealed: bool, python: str) -> None:
    """Draw the board of a step; changes by touch are written to the link."""
    turned_to = equations.convention()
    at = at_of(data, params)
    grids = Grids(data, at, turned_to, covered=not revealed or step == QUESTION)
    lines, pin = (_question, _one, _all, _scores, _mix, _hand)[step](grids, data, params, revealed)
    hint = _("Touch a number to see how it is computed, a word to follow it.")
    if step == QUESTION:
        in_columns = turned_to == equations.COLUMNS
        hint = _("Each word is a column of numbers.") if in_columns else _("Each word is a row of numbers.")
    n = len(data.words) if step != HAND else len(data.example.words)
    board(
        lines,
        key=KEY,
        convention=turned_to,
        pin=pin,
        hint=hint,
        large=step == HAND,
        python=_script(python),
        on_word=partial(_choose, n),
        on_edit=_edit,
        on_turn=_turn,
    )


def _script(python: str) -> str:
    """Return the lines of Python that compute the numbers and draw all of them; words are rows."""
    numbers = {"X": "x", "S": "found.scores", "A": "found.weights"}
    grids = ", ".join(
        f"Grid({name!r}, {numbers.get(name, f'found.{name.lower()}')}, 'n × {size}', places=3)"
        for name, size in zip("XQKVSAZ", "dpprnnr", strict=True)
    )
    return f"{python}\n\nfrom viz.instruments import Grid\n" + drawing("board", f"[[{grids}]]", origin.now())


Board = tuple[list[list[Item]], tuple[str, int, int] | None]


def _question(grids: Grids, data: Data, params: Params, revealed: bool) -> Board:
    arrow = Sign(ARROW, "?")
    between: list[Item] = [arrow, grids.scores(), arrow] if revealed else [arrow]
    return [[grids.x(), *between, grids.mix()]], None


def _one(grids: Grids, data: Data, params: Params, revealed: bool) -> Board:
    line: list[Item] = [grids.x()]
    for name in "QKV":
        product = f"x W_{name}" if grids.turned else f"W_{name}ᵀ x"
        weights = _weights(grids, name, params, short=True)
        line.append(Unit((weights, Sign(ARROW, product), grids.projected(name, single=True))))
    return [line], ("q", 0, 0)


def _weights(grids: Grids, name: str, params: Params, short: bool) -> Grid:
    return grids.weights(f"W_{name}", editable=not (params.tied and name == "K"), short=short)


def _all(grids: Grids, data: Data, params: Params, revealed: bool) -> Board:
    beside = grids.turned and exhibit_parts.presenting()  # two lines of so many rows are too tall for a room
    weights: list[Item] = [_weights(grids, name, params, beside) for name in "QKV"]
    made: list[Item] = [
        replace(grid, rows=(), words=()) if beside else grid for grid in map(grids.projected, "QKV")
    ]
    pin = ("Q", grids.at, 0) if grids.turned else ("Q", 0, grids.at)
    return [[grids.x(), *weights, *made]] if beside else [[grids.x(), *weights], made], pin


def _scores(grids: Grids, data: Data, params: Params, revealed: bool) -> Board:
    best = int(data.attention.weights[grids.at].argmax())
    product, n, pin = "Q Kᵀ / √p" if grids.turned else "Qᵀ K / √p", grids.n, ("S", grids.at, best)
    q, k, s, a = grids.projected("Q"), grids.projected("K"), grids.scores(), grids.shares()
    asks: list[Item] = [q, replace(k, rows=(), words=())] if grids.turned else [[q, k]]
    if exhibit_parts.presenting():  # names stand beside S already; formulas move above the grids
        s = replace(s, shape=f"{product},  {n} × {n}")
        a = replace(a, rows=(), words=(), sums=(), shape=f"softmax(S),  {n} × {n}")
        return [[*asks, Sign(ARROW), s, Sign(ARROW), a]], pin
    return [[*asks, Sign(ARROW, product), s, Sign(ARROW, "softmax"), a]], pin


def _mix(grids: Grids, data: Data, params: Params, revealed: bool) -> Board:
    values, made = grids.projected("V"), replace(grids.mix(), covered=False)
    i, j = (grids.at, 0) if grids.turned else (0, grids.at)
    right: list[Item]
    if params.printed:
        shares = grids.shares(sums=("row", "column") if revealed else ("row",), line="column")
        shares, arrow, name = replace(shares, covered=False), "Aᵀ V" if grids.turned else "V A", "Z_printed"
        wrong, off = grids.printed(data.printed.z), grids.off(data.printed.z)
        if grids.turned:
            right = [Unit((wrong, made, off))]
        else:
            right = [[values, wrong, made]] if exhibit_parts.presenting() else [[values, wrong], [made, off]]
    else:
        shares, arrow, name = grids.shares(), "A V" if grids.turned else "V Aᵀ", "Z"
        right = [made] if grids.turned else [[values, made]]
    return [[shares, *([values] if grids.turned else []), Sign(ARROW, arrow), *right]], (name, i, j)


def _hand(grids: Grids, data: Data, params: Params, revealed: bool) -> Board:
    """Return scores and weights of one word over the words of an example, the values, and the weighted sum."""
    example, mixed = data.example, data.mixed
    keep = slice(None) if params.own else slice(0, len(example.others))
    names, values = list(example.words[keep]), mixed.values[keep]
    scores, weights = mixed.scores[keep], mixed.weights[keep]
    powers = np.exp(scores)
    parts = " + ".join(number(power) for power in powers)
    shares = [
        _(
            "Share of “{key}”: exp({score}) = {power}, out of {parts} = {total}: {share}",
            key=name,
            score=inside(s, 3),
            power=number(power),
            parts=parts,
            total=number(powers.sum()),
            share=number(a, 3),
        )
        for name, s, power, a in zip(names, scores, powers, weights, strict=True)
    ]
    mixes = [
        _(
            "“{word}”, number {n}: {products} = {value}",
            word=example.word,
            n=c + 1,
            products=products(weights, values[:, c], 3),
            value=number(mixed.mix[c], 3),
        )
        for c in range(values.shape[1])
    ]
    wide, r, size = len(names), values.shape[1], f"1 × n = 1 × {len(names)}"
    s = Grid("s", scores[None], size, columns=names, places=2, limit=link.FURTHEST, edit=True)
    told: dict[str, Any] = {"explanations": [shares], "uses": (("s", "row", "row"),)}
    a = Grid("a", weights[None], "softmax(s)", places=2, scale="weights", **told)
    if grids.turned:
        v = Grid("V", values, f"n × r = {wide} × {r}", rows=names)
        told = {"explanations": [mixes], "uses": (("a", "row", 0), ("V", "column", "column"))}
        z = Grid("z", mixed.mix[None], f"1 × r = 1 × {r}", places=2, rows=[example.word], **told)
        return [[[s, a], Sign(ARROW, "a V"), v, z]], ("z", 0, 0)
    v = Grid("V", values.T, f"r × n = {r} × {wide}")  # its columns stand below the words of s
    told = {"explanations": [[text] for text in mixes], "uses": (("a", "row", 0), ("V", "row", "row"))}
    z = Grid("z", mixed.mix[:, None], f"r × 1 = {r} × 1", places=2, columns=[example.word], **told)
    return [[[s, a, v], Sign(ARROW, "V aᵀ"), z]], ("z", 0, 0)


# ------------------------------------------------------------------ what the board says to the page


def _choose(n: int) -> None:
    place = chosen_word(KEY, n)
    if place is not None:
        state.write(**{SLUG + "at": place})


def _turn() -> None:
    wanted = chosen_convention(KEY)
    if wanted:
        state.write(convention=wanted)


def _edit() -> None:
    """Write to the link a weight that was set, or a score of the example that was moved."""
    made = edited_cell(KEY)
    if made is None:
        return
    now_set = Params.read(SLUG.rstrip("."))
    if made.grid == "s":
        example, held = EXAMPLES[now_set.example], now_set.example_scores
        now = list(held if len(held) == len(example.words) else example.scores)
        if made.column < len(now):
            now[made.column] = min(max(made.value, -link.FURTHEST), link.FURTHEST)
            state.write(**{SLUG + "scores": link.joined(now)})
        return
    state.write(**{SLUG + "set": link.with_change(now_set.set, made.grid, made.row, made.column, made.value)})
