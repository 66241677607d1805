"""The boards of the exhibit on self-attention, one a step, and what is touched on them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from viz.charts.curves import number
from viz.course.self_attention.self_attention import link
from viz.course.self_attention.self_attention.folds import HAND, QUESTION
from viz.course.self_attention.self_attention.grids import Grids, inside, products
from viz.course.self_attention.self_attention.params import SLUG, Data, Params, at_of
from viz.course.shared.maths.self_attention import EXAMPLES
from viz.instruments.board.board import Grid, Item, Sign, Unit, board, chosen, edited, turned
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.shell import state
from viz.widgets import equations, lesson

KEY = SLUG + "board"
ARROW = "→"


def picture(step: int, data: Data, params: Params, known: bool, python: str) -> None:
    """The board of a step; what is touched on it goes into the link."""
    turned_to = equations.convention()
    at = at_of(data, params)
    grids = Grids(data, at, turned_to, covered=not known or step == QUESTION)
    lines, pin = (_question, _one, _all, _scores, _mix, _hand)[step](grids, data, params, known)
    hint = (
        "Touch a number to see how it is computed, a word to follow it."
        if step
        else "Each word is a column of numbers."
        if turned_to == equations.COLUMNS
        else "Each word is a row of numbers."
    )
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
    """The lines that make the numbers, with all of them drawn; words are rows."""
    grids = ", ".join(
        f"Grid({name!r}, {numbers}, '{shape}', places=3)"
        for name, numbers, shape in (
            ("X", "x", "n × d"),
            ("Q", "found.q", "n × p"),
            ("K", "found.k", "n × p"),
            ("V", "found.v", "n × r"),
            ("S", "found.scores", "n × n"),
            ("A", "found.weights", "n × n"),
            ("Z", "found.z", "n × r"),
        )
    )
    return f"{python}\n\nfrom viz.instruments import Grid\n" + drawing("board", f"[[{grids}]]", origin.now())


Board = tuple[list[list[Item]], tuple[str, int, int] | None]


def _question(grids: Grids, data: Data, params: Params, known: bool) -> Board:
    between: list[Item] = (
        [Sign(ARROW, "?"), grids.scores(), Sign(ARROW, "?")] if known else [Sign(ARROW, "?")]
    )
    return [[grids.x(), *between, grids.mix()]], None


def _one(grids: Grids, data: Data, params: Params, known: bool) -> Board:
    line: list[Item] = [grids.x()]
    for name in "QKV":
        product = f"x W_{name}" if grids.turned else f"W_{name}ᵀ x"
        weights = grids.weights(f"W_{name}", editable=not (params.tied and name == "K"), short=True)
        line.append(Unit((weights, Sign(ARROW, product), grids.projected(name, alone=True))))
    return [line], ("q", 0, 0)


def _all(grids: Grids, data: Data, params: Params, known: bool) -> Board:
    beside = grids.turned and lesson.presenting()  # two lines of so many rows are too tall for a room
    weights: list[Item] = [
        grids.weights(f"W_{name}", editable=not (params.tied and name == "K"), short=beside) for name in "QKV"
    ]
    made: list[Item] = [
        replace(grid, rows=(), words=()) if beside else grid
        for grid in (grids.projected(name) for name in "QKV")
    ]
    pin = ("Q", grids.at, 0) if grids.turned else ("Q", 0, grids.at)
    return [[grids.x(), *weights, *made]] if beside else [[grids.x(), *weights], made], pin


def _scores(grids: Grids, data: Data, params: Params, known: bool) -> Board:
    best = int(data.found.weights[grids.at].argmax())
    product, n = "Q Kᵀ / √p" if grids.turned else "Qᵀ K / √p", grids.n
    q, k, s, a = grids.projected("Q"), grids.projected("K"), grids.scores(), grids.shares()
    asks: list[Item] = [q, replace(k, rows=(), words=())] if grids.turned else [[q, k]]
    if lesson.presenting():  # names stand beside S already; formulas move above the grids
        s, a = (
            replace(s, shape=f"{product},  {n} × {n}"),
            replace(a, rows=(), words=(), sums=(), shape=f"softmax(S),  {n} × {n}"),
        )
        return [[*asks, Sign(ARROW), s, Sign(ARROW), a]], ("S", grids.at, best)
    return [[*asks, Sign(ARROW, product), s, Sign(ARROW, "softmax"), a]], ("S", grids.at, best)


def _mix(grids: Grids, data: Data, params: Params, known: bool) -> Board:
    values, made = grids.projected("V"), replace(grids.mix(), covered=False)
    i, j = (grids.at, 0) if grids.turned else (0, grids.at)
    if not params.printed:
        arrow = Sign(ARROW, "A V" if grids.turned else "V Aᵀ")
        return [
            [grids.shares(), values, arrow, made] if grids.turned else [grids.shares(), arrow, [values, made]]
        ], ("Z", i, j)
    shares = replace(
        grids.shares(sums=("row", "column") if known else ("row",), line="column"), covered=False
    )
    arrow, wrong, off = (
        Sign(ARROW, "Aᵀ V" if grids.turned else "V A"),
        grids.printed(data.printed.z),
        grids.off(data.printed.z),
    )
    right: list[Item] = (
        [Unit((wrong, made, off))]
        if grids.turned
        else [[values, wrong, made]]
        if lesson.presenting()
        else [[values, wrong], [made, off]]
    )
    return [[shares, values, arrow, *right] if grids.turned else [shares, arrow, *right]], ("Z_printed", i, j)


def _hand(grids: Grids, data: Data, params: Params, known: bool) -> Board:
    """Scores and shares of one word over the words of an example, the values, and the mix."""
    example, mixed = data.example, data.mixed
    keep = slice(None) if params.own else slice(0, len(example.others))
    names, values = list(example.words[keep]), mixed.values[keep]
    scores, weights = mixed.scores[keep], mixed.weights[keep]
    powers = np.exp(scores)
    total = " + ".join(number(power) for power in powers)
    shares = [
        f"Share of “{name}”: exp({inside(s, 3)}) = {number(power)}, out of {total} = {number(powers.sum())}: {number(a, 3)}"
        for name, s, power, a in zip(names, scores, powers, weights, strict=True)
    ]
    mixes = [
        f"“{example.word}”, number {c + 1}: {products(weights, values[:, c], 3)} = {number(mixed.mix[c], 3)}"
        for c in range(values.shape[1])
    ]
    wide, r = len(names), values.shape[1]
    top = [
        Grid(
            "s", scores[None], f"1 × n = 1 × {wide}", columns=names, places=2, limit=link.FURTHEST, edit=True
        ),
        Grid(
            "a",
            weights[None],
            "softmax(s)",
            places=2,
            scale="weights",
            told=[shares],
            uses=(("s", "row", "row"),),
        ),
    ]
    if grids.turned:
        v = Grid("V", values, f"n × r = {wide} × {r}", rows=names)
        z = Grid(
            "z",
            mixed.mix[None],
            f"1 × r = 1 × {r}",
            places=2,
            told=[mixes],
            uses=(("a", "row", 0), ("V", "column", "column")),
            rows=[example.word],
        )
        return [[top, Sign(ARROW, "a V"), v, z]], ("z", 0, 0)
    v = Grid("V", values.T, f"r × n = {r} × {wide}")  # its columns stand below the words of s
    z = Grid(
        "z",
        mixed.mix[:, None],
        f"r × 1 = {r} × 1",
        places=2,
        told=[[text] for text in mixes],
        uses=(("a", "row", 0), ("V", "row", "row")),
        columns=[example.word],
    )
    return [[[top[0], top[1], v], Sign(ARROW, "V aᵀ"), z]], ("z", 0, 0)


# ------------------------------------------------------------------ what the board says to the page


def _choose(n: int) -> None:
    place = chosen(KEY, n)
    if place is not None:
        state.write(**{SLUG + "at": place})


def _turn() -> None:
    wanted = turned(KEY)
    if wanted:
        state.write(convention=wanted)


def _edit() -> None:
    """A weight that was set, or a score of the example that was moved."""
    made = edited(KEY)
    if made is None:
        return
    now_set = Params.read(SLUG.rstrip("."))
    if made.grid == "s":
        example, held = EXAMPLES[now_set.example], now_set.moved
        now = list(held if len(held) == len(example.words) else example.scores)
        if made.column < len(now):
            now[made.column] = min(max(made.value, -link.FURTHEST), link.FURTHEST)
            state.write(**{SLUG + "scores": link.joined(now)})
        return
    state.write(**{SLUG + "set": link.with_change(now_set.set, made.grid, made.row, made.column, made.value)})
