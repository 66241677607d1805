"""The steps on convolution and attention: each draws its question, its picture and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.scoring.episodes import PLACES, range_name
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.self_attention.convolution_and_attention import charts, maths
from viz.course.self_attention.convolution_and_attention.params import SLUG, Params
from viz.instruments import heatmap
from viz.labels import distinct, percent, visible
from viz.number_text import without_percent_sign
from viz.shell import state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

NAMES = {
    "both": "both",
    "convolutions": "convolutions alone",
    "attention": "attention alone",
}
SAME, ANOTHER = "the same symbol as before", "another symbol"
NEAR, MIDDLE, FAR = map(range_name, PLACES)


@dataclass(frozen=True)
class Data:
    """The symbols that are read, the right answer, the runs with everything and with each half alone, and the run with the
    switches."""

    signs: str
    truth: maths.Truth | None
    halves: Mapping[str, maths.Reading]
    now: maths.Reading

    @property
    def right(self) -> str:
        """Return the symbol whose probability is drawn: the right answer, or without one the output of the whole network."""
        return self.truth.answer if self.truth else self.halves["both"].best[0][0]


def answer_bars(
    readings: Mapping[str, maths.Reading], right: str, *, revealed: bool = True, row: float
) -> marks.vega.Layers:
    """Return bars with the probability of the right symbol in each run, and with the output where it is another symbol.

    Before `revealed` only the first run has a bar.
    """
    chances = pd.Series({name: reading.chance(right) for name, reading in readings.items()})
    labels = [
        f"“{visible(right)}” {percent(chance)}"
        + ("" if best == right else f"; output “{visible(best)}” {percent(best_chance)}")
        for chance, (best, best_chance) in zip(
            chances, (reading.best[0] for reading in readings.values()), strict=True
        )
    ]
    first = chances.index == next(iter(readings))
    title = f"probability of “{visible(right)}”"
    return marks.bars(chances if revealed else chances.where(first), labels, title=title, end=1.0, row=row)


def guess(params: Params, data: Data) -> Folds:
    """Ask whether the output stays the same with the convolutions alone, then draw the probabilities."""
    whole, half, right = data.halves["both"], data.halves["convolutions"], data.right
    says, instead = whole.best[0][0], half.best[0][0]
    known = exhibit_parts.predict(
        f"{SLUG}.off",
        f"After “{maths.spaced(data.signs)}” the network outputs “{visible(says)}”. Its attention is switched off, "
        "the convolutions stay. What does it output now?",
        {SAME: half.chance(says), ANOTHER: max(p for sign, p in half.chances.items() if sign != says)},
        SAME if instead == says else ANOTHER,
        f"“{visible(instead)}”, with a probability of {percent(half.best[0][1])}; “{visible(says)}” has {percent(half.chance(says))}. "
        f"{_distance(data)}",
    )
    readings = {name: data.halves[part] for part, name in NAMES.items()}
    page_parts.show(
        answer_bars(readings, right, revealed=known, row=exhibit_parts.by_mode(56, 100)),
        f"{SLUG}.answers",
        f"Probability of {visible(right)} with both kinds of block and with each alone.",
    )
    if known:
        both, convolutions, attention = (data.halves[part].chance(right) for part in NAMES)
        page_parts.summary(
            f"“{visible(right)}”: {percent(both)} with both, {percent(convolutions)} with the convolutions alone, "
            f"{percent(attention)} with attention alone."
        )
    else:
        page_parts.summary(
            f"“{visible(right)}”: {percent(whole.chance(right))} with both. Guess first, then the others are shown."
        )
    _truncation_note(params, data)
    chances = {name: data.halves[part].chances for part, name in NAMES.items()}
    return Folds(
        lambda: (
            pd.DataFrame(chances).sort_values(NAMES["both"], ascending=False).map(lambda p: percent(p, 2))
        ),
        {name: list(each.values()) for name, each in chances.items()},
        {"signs": data.signs},
        known,
        latex=(
            rf"p(\text{{{_set(right)}}}) = {whole.chance(right):.4f},\; {half.chance(right):.4f},\; {data.halves['attention'].chance(right):.4f}",
        ),
    )


def field(params: Params, data: Data) -> Folds:
    """Draw the tree of positions that reach the chosen one through the convolutions, and the changes of real runs."""
    steps, n = maths.dilations(), len(data.signs)
    at = state.read(f"{SLUG}.at", n, state.whole_number(1, n)) - 1 if n > 1 else 0
    depth = state.read(f"{SLUG}.depth", len(steps), state.whole_number(1, len(steps)))
    far = maths.reach(steps)
    known = exhibit_parts.predict_number(
        f"{SLUG}.field",
        f"There are {len(steps)} convolutions, one above the other. Each reads two positions: its own and the one r before it, r = "
        f"{', '.join(map(str, steps))}. How many positions reach the topmost one, its own included?",
        1,
        100,
        far,
        f"1 + {' + '.join(map(str, steps))} = {far}. Each convolution adds its r to the field. "
        f"With r = 1 in each, {far - 1} of them would be needed.",
        near=2,
    )
    levels = maths.tree(steps[:depth], at)
    moves = _sensitivity(data.signs, at, True, False) if known and depth == len(steps) else None
    page_parts.show(
        charts.field(
            list(data.signs),
            levels if known else [],
            steps,
            moves=moves,
            framed=_framed(data),
            up=exhibit_parts.by_mode(charts.UP, 34),
        ),
        f"{SLUG}.tree",
        f"The positions of each level that reach position {at + 1} through the convolutions.",
    )
    if known:
        lit = list(levels[0])
        said = f"Through {depth} convolution{'s' * (depth > 1)} position {at + 1}, “{visible(data.signs[at])}”, has received {len(lit)} of {n} symbols, "
        said += f"from position {lit[0] + 1} on: 1 + {' + '.join(map(str, steps[:depth]))} = {maths.reach(steps[:depth])} at most."
        if moves is not None:
            inside, outside = (int((part > 0).sum()) for part in (moves[lit], np.delete(moves, lit)))
            said += f" When one symbol is replaced and the network runs again, the topmost convolution changes for {inside} of these {len(lit)} positions, and for {outside} others."
        page_parts.summary(said)
        page_parts.summary(_distance(data))
    else:
        page_parts.summary(
            f"{n} symbols are read; the network has {len(steps)} convolutions. Guess first, then the lines are drawn."
        )
    _truncation_note(params, data)
    folds = Folds(
        lambda: pd.DataFrame(
            {
                "dilation": ["", *map(str, steps)],
                "reach": [maths.reach(steps[:k]) for k in range(len(steps) + 1)],
                "positions that reach it": [
                    ", ".join(str(p + 1) for p in level) for level in maths.tree(steps, at)
                ][::-1],
            },
            index=["position", *(f"{k} below" for k in range(1, len(steps) + 1))],
        ),
        lambda: {"levels": np.array([[p in level for p in range(n)] for level in maths.tree(steps, at)])},
        {"signs": data.signs, "at": at, "steps": steps},
        known,
        {"snail.field": {}, "snail.dense": {}},
        (rf"1 + {' + '.join(map(str, steps))} = {far}",),
    )
    if n > 1:
        controls.slider("Position", 1, n, f"{SLUG}.at", n)
    if known:
        controls.slider("Convolutions", 1, len(steps), f"{SLUG}.depth", len(steps))
    return folds


def together(params: Params, data: Data) -> Folds:
    """Draw the field of the convolutions beside the attention map, with the chosen switches."""
    steps, n, right = maths.dilations(), len(data.signs), data.right
    at = n - 1
    moves = _sensitivity(data.signs, at, params.convolves, params.attends)
    levels = maths.tree(steps, at) if params.convolves else [(at,)] * (len(steps) + 1)
    readings = {f"now: {_on(params)}": data.now} | {
        name: data.halves[part] for part, name in NAMES.items() if name != _on(params)
    }
    left, beside = st.columns(2, gap="medium")
    with left:
        page_parts.show(
            charts.field(
                list(data.signs),
                levels,
                steps,
                moves=moves,
                framed=_framed(data),
                up=exhibit_parts.by_mode(22, 20),
            ),
            f"{SLUG}.both.tree",
            "The positions that reach the last one through the convolutions, and how much each symbol changes it.",
        )
        page_parts.show(
            answer_bars(readings, right, row=exhibit_parts.by_mode(44, 40)),
            f"{SLUG}.both.answers",
            f"Probability of {visible(right)} as the switches stand, and for the others.",
        )
    pattern, layer = data.now.patterns, params.layer
    assert pattern is not None and data.now.allowed is not None
    with beside:
        heatmap(
            pattern[layer] if params.attends else np.zeros_like(pattern[layer]),
            list(data.signs),
            list(data.signs),
            allowed=data.now.allowed,
            selected=(at, int(pattern[layer, at].argmax())),
            title=f"attention, layer {layer}" + ("" if params.attends else ": switched off"),
            height=exhibit_parts.by_mode(400, 300),
            key=f"{SLUG}.map.{layer}.{params.convolves}.{params.attends}",
        )
    page_parts.summary(_looks(params, data, pattern))
    _truncation_note(params, data)
    return Folds(
        lambda: pd.DataFrame(
            np.round(pattern[layer], 4), index=distinct(data.signs), columns=distinct(data.signs)
        ),
        {"patterns": pattern, "moves": moves},
        {"signs": data.signs, "off": ", ".join(_lines(params))},
        True,
        {"snail.dense": {}, "snail.attention": {}},
        (rf"p(\text{{{_set(right)}}}) = {data.now.chance(right):.4f}",),
    )


def trained(params: Params, data: Data) -> Folds:
    """Draw the accuracy of three networks that learned the same tasks: with both kinds of block, and with each alone."""
    found = engine_client.submit((SLUG, "compared", params.draw), lambda: maths.compared(params.draw), 3_000)
    alone = found.mean("convolutions")
    reach, places_of = maths.reach(maths.dilations()), found.by_place["convolutions"]
    known = exhibit_parts.predict_share(
        f"{SLUG}.trained",
        "A network without any attention was trained on the same two tasks, on the same number of texts. How often is it right?",
        alone,
        f"{percent(alone)}; choosing one of the answers in the text at random is right in {percent(found.chance)}. Its field is {reach} positions. It is right in "
        + ", ".join(
            f"{percent(share)} of the texts if the answer is {place.replace(' back', ' symbols back')}"
            for place, share in places_of.items()
        )
        + ".",
    )
    places = [range_name(group) for group in PLACES]
    shown = {NAMES[part]: found.by_place[part] for part in NAMES if known or part == "both"}
    page_parts.show(
        marks.columns(
            pd.DataFrame(shown).reindex(places).rename(lambda place: place.removesuffix(" back")).dropna(),
            without_percent_sign,
            x="distance of the answer, in symbols",
            title="accuracy (synthetic texts)",
            form=".0%",
            ends=(0, 1.12),
            height=exhibit_parts.by_mode(320, 340),
        ),
        f"{SLUG}.by_place",
        "Share of right answers by the distance of the answer, for three networks.",
    )
    means = {part: percent(found.mean(part)) for part in NAMES}
    page_parts.summary(
        f"Right in {found.n} new synthetic texts: {means['both']} with both, {means['convolutions']} with convolutions alone, "
        f"{means['attention']} with attention alone."
        if known
        else f"In {found.n} new synthetic texts the network with both kinds of block is right in {means['both']}. Guess first, then the others are shown."
    )
    rows = {
        NAMES[part]: {"both tasks": found.mean(part)}
        | {f"{task}": share for task, share in found.by_task[part].items()}
        | dict(found.by_place[part])
        for part in NAMES
    }
    return Folds(
        lambda: pd.DataFrame(rows).map(lambda share: percent(share, 1) if share == share else ""),
        lambda: {name: list(row.values()) for name, row in rows.items()},
        {"draw": params.draw},
        known,
        {"snail.field": {}},
    )


def _sensitivity(signs: str, position: int, convolves: bool, attends: bool) -> np.ndarray[Any, Any]:
    key = (SLUG, "moved", signs, position, convolves, attends)
    return engine_client.submit(
        key,
        lambda: maths.sensitivity(signs, position, convolves=convolves, attends=attends),
        10 * len(signs) ** 2,
    )


def _distance(data: Data) -> str:
    """Return a sentence on the distance of the answer, and whether it is inside the field of the convolutions."""
    if data.truth is None:
        return "The text does not ask for an item that it shows: the output is a guess."
    back, far = len(data.signs) - 1 - data.truth.first, maths.reach(maths.dilations()) - 1
    where = "inside" if back <= far else "outside"
    return (
        f"The text shows the item with its answer, “{data.truth.answer}”, {back} symbols before the question mark. This is {where} the field of the convolutions, "
        f"which reaches {far} symbols back."
    )


def _looks(params: Params, data: Data, pattern: np.ndarray[Any, Any]) -> str:
    """Return a sentence on the attention of the last position and the probability of the answer."""
    chance = data.now.chance(data.right)
    others = (
        f"{name} {percent(data.halves[part].chance(data.right))}"
        for part, name in NAMES.items()
        if name != _on(params)
    )
    said = f"With {_on(params)} “{visible(data.right)}” has a probability of {percent(chance)} ({', '.join(others)}). "
    if not params.attends:
        return said + "Without attention nothing from outside the field arrives."
    layer = int(pattern[:, -1].max(axis=1).argmax())
    key = int(pattern[layer, -1].argmax())
    said += (
        f"In layer {layer} the last position gives {percent(pattern[layer, -1, key])} of its attention to "
        f"“{visible(data.signs[key])}” at position {key + 1}"
    )
    if data.truth is None:
        return f"{said}."
    return said + (
        ": the answer."
        if key == data.truth.place
        else f"; the answer stands at position {data.truth.place + 1}."
    )


def _on(params: Params) -> str:
    if params.convolves and params.attends:
        return NAMES["both"]
    return (
        NAMES["convolutions" if params.convolves else "attention"]
        if params.convolves or params.attends
        else "neither"
    )


def _lines(params: Params) -> list[str]:
    """Return the edits of the switches as Python text."""
    return [
        f"core.edits.Scale({edit.where!r}, {edit.factor})"
        for edit in maths.edits(params.convolves, params.attends)
    ]


def _framed(data: Data) -> tuple[int, int] | None:
    return (data.truth.first, data.truth.place) if data.truth else None


def _truncation_note(params: Params, data: Data) -> None:
    """Show the symbols that were read, where the text has more."""
    if len("".join(params.own.split())) > len(data.signs):
        st.caption(f"At most {maths.LONGEST} symbols are read, the last ones. Read here:")
        st.text(maths.spaced(data.signs))


def _set(sign: str) -> str:
    """Return a symbol as text inside LaTeX."""
    return sign if sign.isalnum() and sign.isascii() else "?"
