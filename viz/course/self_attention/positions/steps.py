"""The steps of the exhibit on positions up to the learned table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.self_attention.position_criteria import CRITERIA
from viz.course.self_attention.positions import position_ideas, read
from viz.course.self_attention.positions.charts import codes, plane
from viz.course.self_attention.positions.params import RIM, SLUG, Params
from viz.course.shared.positions import Formula
from viz.instruments.kit import origin
from viz.labels import percent
from viz.number_text import number, percent_of_change
from viz.shell import links
from viz.widgets import engine_client, exhibit_parts, page_parts

SHORT = ("unique", "same\nstep", "bounded", "fixed", "same\neverywhere")
SAME, NEAR, FAR = "Exactly the same", "Alike, less than a tenth apart", "Clearly different"
PAIRS, SEEN = 4, 40
ROUNDING = 1e-5
"""Distances below this are rounding of 32-bit numbers."""


def guess(params: Params, _: object) -> Folds:
    """Ask how different two copies of a word are without positions, then draw their distance through the layers."""
    found = engine_client.submit(
        ("positions.twins", params.text), lambda: read.twins(params.text), 40 * len(params.text)
    )
    text, (first, second), word = found.text, found.pair, found.word
    bare, with_ = found.lines[read.WITHOUT], found.lines[read.WITH]
    far = float(bare[-1]) if bare[-1] > ROUNDING else 0.0
    known = exhibit_parts.predict(
        f"{SLUG}.first",
        f"“{text}”: without positions, how different are the two vectors of “{word}” after {len(bare) - 1} "
        "layers?",
        (SAME, NEAR, FAR),
        SAME if far == 0 else NEAR if far < 0.1 else FAR,
        f"Their distance is {percent_of_change(far)} of their length, after every layer; with positions it is "
        f"{percent_of_change(float(with_[-1]))}. Nothing in the model distinguishes the two.",
    )
    origin.tell(model=read.READER, text=text)
    lines = found.lines if known else {read.WITH: with_}
    tallest = max(1.0, max(float(line.max()) for line in found.lines.values()))
    page_parts.show(
        marks.lines(
            pd.DataFrame({name: pd.Series(line) for name, line in lines.items()}).rename({0: "input"}),
            x="after layer",
            title="distance / length",
            form="~g",
            ends=(-0.05 * tallest, 1.1 * tallest),
            legend=False,
            height=exhibit_parts.by_mode(270, 370),
        ),
        f"{SLUG}.twins",
        f"Distance of the two vectors of {word} after each layer: {', '.join(lines)}.",
    )
    written, gpt = found.lines.get(read.WRITTEN), ""
    if written is not None:
        gpt = f" In gpt-mini, which attends to earlier words only, they are {percent_of_change(float(written[-1]))} apart even so."
    begin, end = (percent_of_change(float(with_[at])) for at in (0, -1))
    page_parts.summary(
        f"“{word}” at positions {first + 1} and {second + 1}: {end} of their length apart with positions, {percent_of_change(far)} without.{gpt}"
        if known
        else f"With positions the two vectors of “{word}” are {begin} of their length apart at the input and {end} after the last layer."
    )
    return Folds(
        lambda: pd.DataFrame(found.lines).rename_axis("after layer"),
        found.lines,
        {"text": text, "first": first, "second": second},
        known,
        {"permutation.equivariant": {}, "positions.add": {}},
        note_below=formulas,
    )


def two_ideas(params: Params, _: object) -> Folds:
    """Draw the fraction and the count for two lengths."""
    short, long = params.short, params.long
    first, step = 1 / (short - 1), 1 / (long - 1)
    known = exhibit_parts.predict_number(
        f"{SLUG}.step",
        f"In {short} words one step of the fraction is 1/{short - 1} = {first:.3g}. And in {long} words?",
        0.0,
        0.5,
        step,
        f"1/{long - 1}: “one word further” is a different number in each sentence, {first / step:.3g} times as "
        "large in the short one.",
        0.01,
    )
    page_parts.show(
        codes.ideas(short, long, covered=not known, height=exhibit_parts.by_mode(300, 390)),
        f"{SLUG}.ideas",
        f"Sentences of {short} and {long} words as fractions of the way and counted.",
    )
    page_parts.summary(
        f"First idea: a step is {first:.4f} in {short} words and {step:.4f} in {long}. Second idea: a step "
        f"is always 1, but the last word gets {long - 1}, and a model trained on {short} words has never "
        f"seen more than {short - 1}."
        if known
        else "Each dot is a word, drawn at its number."
    )
    fractions = position_ideas.candidates(None)["fraction"](long)[:, 0]
    return Folds(
        {"t": range(long), "t/(n−1)": fractions, "count": range(long)},
        {"fraction": fractions, "steps": np.array([first, step])},
        {},
        known,
        {"positions.add": {}},
        (rf"\frac{{1}}{{{short} - 1}} = {first:.4f}, \qquad \frac{{1}}{{{long} - 1}} = {step:.4f}",),
        note_below=formulas,
    )


def criteria(params: Params, data: read.Verdicts) -> Folds:
    """Draw the table of ticks, and the numbers that those of one code are based on."""
    names, kept = [verdict.name for verdict in data.verdicts], data.passes
    chosen = names.index(params.code) if params.code in names else 0
    rests = [position_ideas.grounds(verdict, params.short, params.long) for verdict in data.verdicts]
    ticks = [["✓" if good else "✗" for good in row] for row in kept]
    page_parts.show(
        marks.cells(
            pd.DataFrame(np.where(kept, 1, -1), names, SHORT),
            [mark for row in ticks for mark in row],
            ends=(-6, 6),
            highlighted=(chosen, None),
            notes=[ground for row in rests for ground in row],
            height=exhibit_parts.by_mode(300, 340),
        ),
        f"{SLUG}.ticks",
        "Ticks: " + "; ".join(f"{name} {''.join(row)}" for name, row in zip(names, ticks, strict=True)),
    )
    told = [f"{mark} {said}" for mark, said in zip(ticks[chosen], rests[chosen], strict=True)]
    page_parts.summary(f"{names[chosen]}: {'; '.join(told)}.")

    def table() -> pd.DataFrame:
        columns = {
            words: [f"{row[i]} {rest[i]}" for row, rest in zip(ticks, rests, strict=True)]
            for i, words in enumerate(CRITERIA)
        }
        return pd.DataFrame(columns, index=names)

    def in_full() -> None:
        st.markdown("\n".join(f"{i}. {words}" for i, words in enumerate(CRITERIA, start=1)))
        formulas()

    return Folds(
        table,
        {"kept": kept.astype(float)},
        equations={"positions.sinusoid": {}},
        note_below=in_full,
    )


def wave(params: Params, _: object) -> Folds:
    """Draw the pairs of dimensions as hands of clocks."""
    formula, at = Formula(2 * PAIRS), params.position
    angles, rim = (
        position_ideas.hands(formula, at),
        np.array([position_ideas.hands(formula, t) for t in range(RIM)]),
    )
    turn, vector = np.degrees(position_ideas.hands(formula, 1)), formula.vectors_at(np.array([float(at)]))[0]
    page_parts.show(
        plane.clocks(
            angles,
            rim,
            [f"{value:.3g}° per step" for value in turn],
            height=exhibit_parts.by_mode(270, 370),
        ),
        f"{SLUG}.clocks",
        f"{PAIRS} clocks at position {at}; their hands turn by "
        f"{', '.join(f'{value:.3g}' for value in turn)} degrees per step.",
    )
    stand = ", ".join(f"{np.degrees(angle) % 360:.3g}°" for angle in angles)
    page_parts.summary(
        f"Position {at}: the hands are at {stand}. As sine and cosine, p = "
        f"[{', '.join(number(float(value), 3) for value in vector)}]. One word further always turns the first hand by "
        f"{turn[0]:.1f}°."
    )
    columns = {
        "sine": vector[::2],
        "cosine": vector[1::2],
        "degrees": np.degrees(angles),
        "degrees a step": turn,
    }
    return Folds(
        columns,
        {"vector": vector, "angles": angles},
        equations={"positions.sinusoid": {"i": str(at), "d": str(2 * PAIRS)}, "positions.add": {}},
        note_below=formulas,
    )


def table(params: Params, _: object) -> Folds:
    """Draw a learned table beside the sinusoids of the same width, each in its best plane."""
    model = params.table
    whole = read.learned(model)
    if whole is None:
        raise InputError(
            f"{model} is not here.",
            "Learned positions are read from the model's file.",
            "Choose the other table.",
        )
    width = whole.shape[1]
    tables = {f"learned by {model}": whole[:SEEN], "sinusoids": Formula(width).table(SEEN)}
    drawn = {name: position_ideas.thread(each) for name, each in tables.items()}
    learned, sinusoids = (percent(position_ideas.neighbours(each)) for each in tables.values())
    page_parts.show(
        plane.paths(
            {name: places for name, (places, _) in drawn.items()}, height=exhibit_parts.by_mode(330, 370)
        ),
        f"{SLUG}.paths",
        f"The first {SEEN} position vectors of {model} and of the sinusoids, as paths in the plane.",
    )
    page_parts.summary(
        f"{model} has learned {len(whole)} vectors of {width} numbers, and none for position {len(whole)}. "
        f"For {learned} of the first {SEEN} positions, the most similar vector is that of a neighbouring position; "
        f"for the sinusoids it is {sinusoids}."
    )

    def places() -> pd.DataFrame:
        columns = [f"{name}, {axis}" for name in drawn for axis in "xy"]
        return pd.DataFrame(np.hstack([each for each, _ in drawn.values()]), columns=columns).rename_axis(
            "position"
        )

    return Folds(
        places,
        dict(zip(("learned", "sinusoids"), tables.values(), strict=True)),
        equations={"positions.add": {}},
        latex=tuple(
            rf"\text{{{name}: }} {percent(part, 2)} \text{{ of the variance lies in this plane}}".replace(
                "%", r"\%"
            )
            for name, (_, part) in drawn.items()
        ),
        note_below=formulas,
    )


def formulas() -> None:
    """Draw a link to the page on positional encoding."""
    links.page_link(
        "positional_encoding",
        "Positional encoding: every formula and curve of the sinusoids, and the distances between positions",
        icon=":material/arrow_forward:",
    )
