"""The steps of the exhibit on positions: each draws its question, its picture, its sentence and its control, and hands the folds what is theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core import edits
from core.errors import InputError
from core.serving.engine import default
from viz.charts.curves import number
from viz.course.self_attention.charts.reordered import share
from viz.course.self_attention.maths.position_criteria import CRITERIA
from viz.course.self_attention.positions import charts as figures
from viz.course.self_attention.positions import folds as more
from viz.course.self_attention.positions.maths import ideas
from viz.course.self_attention.positions.maths import unplaced as analysis
from viz.course.self_attention.positions.without import LONGEST, without
from viz.course.shared.maths.positions import Formula, learned_table
from viz.course.shared.shown import Shown
from viz.instruments.kit import origin
from viz.labels import percent
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "positions."
SENTENCES = ("The dog saw the man.", "She has a white car and he has a red car.", "The king loved the queen.", "The cat did not drink the milk because it was sour.")
CODES = ("none", "fraction", "integer", "sinusoid", "sinusoid, i/d", "learned")
SHORT = ("unique", "same / step", "bounded", "fixed", "same / everywhere")
TABLES = {"bert-mini": "bert-mini's", "gpt-mini": "gpt-mini's"}
MODELS = {"translator-en-es": "Translator", "gpt-mini": "GPT", "bert-mini": "BERT"}
READER, WRITER = "bert-mini", "gpt-mini"
SAME, NEAR, FAR = "Exactly the same", "Alike, less than a tenth apart", "Clearly different"
RIM, PAIRS, SEEN = 20, 4, 40
ROUNDING = 1e-5
"""A distance below is what 32-bit numbers leave."""


def learned(model: str) -> np.ndarray | None:
    """A model's table of positions; None where the model is not here."""
    try:
        return learned_table(default().open(model).network)
    except InputError:
        return None


def sentence(model: str) -> None:
    """The visitor's own sentence."""
    with st.container(key="positions-text", gap="small"):
        controls.text("Sentence", "text", SENTENCES[0], placeholder="Type a sentence", of=model, most=f"up to {LONGEST} tokens")
        controls.preset_row(SENTENCES, "text", SENTENCES[0])


def twins(text: str) -> tuple[str, tuple[int, int], str, dict[str, np.ndarray]]:
    """A word that is there twice (else the first is said again at the end): the text, its places, the word, and the distance by layer of three runs."""
    encoded = default().open(READER).tokenizer.encode(text)
    if not encoded.ids:
        raise InputError("The text is empty.", "A word is needed that can stand at two positions.", "Type a sentence.")
    pair = ideas.twice_said(encoded.tokens)
    if pair is None:
        first = encoded.spans[0] or (0, 1)
        text = f"{text} {text[first[0] : first[1]]}"
        encoded = default().open(READER).tokenizer.encode(text)
        pair = ideas.twice_said(encoded.tokens) or (0, len(encoded.ids) - 1)
    found = {}
    for name, model, changes in (("bert-mini with positions", READER, ()), ("bert-mini without", READER, (edits.NoPositions("embed.position"),))):
        run = default().open(model).run(text, keep=("layer.*.resid_*", "embed.position"), edits=changes)
        found[name] = analysis.twins(run, pair[0] + 1, pair[1] + 1)  # [CLS] stands before
    run = default().open(WRITER).run(text, keep=("layer.*.resid_*", "embed.position"), edits=(edits.NoPositions("embed.position"),))
    again, word = ideas.twice_said(run.tokens), encoded.tokens[pair[0]]
    if again and run.tokens[again[0]].strip().lower() == word:
        found["gpt-mini without"] = analysis.twins(run, *again)
    return text, pair, word, found


def guess(params: Any, start: Any, judged: Any) -> Shown:
    """Two copies of a word through the layers, with positions and without."""
    top = st.container()
    sentence(READER)
    with top:
        text, pair, word, found = ask.submit(("positions.twins", params.text), lambda: twins(params.text), 40 * len(params.text))
        bare, with_ = found["bert-mini without"], found["bert-mini with positions"]
        far = float(bare[-1]) if bare[-1] > ROUNDING else 0.0
        answer = SAME if far == 0 else NEAR if far < 0.1 else FAR
        with st.container():
            known = lesson.predict(
                SLUG + "first", f"“{text}”: without positions, how different are the two vectors of “{word}” after {len(bare) - 1} layers?", (SAME, NEAR, FAR), answer,
                f"Their distance is {share(far)} of their length, after every layer; with positions it is {share(float(with_[-1]))}. The model cannot know which of the two it is looking at.",
            )  # fmt: skip
        origin.tell(model=READER, text=text)
        lines = found if known else {"bert-mini with positions": with_}
        tallest = max(1.0, max(float(line.max()) for line in found.values()))
        parts.show(figures.by_layer(lines, top=tallest, height=250 if lesson.presenting() else 300), SLUG + "twins",
                   f"Distance of the two vectors of {word} after each layer: {', '.join(lines)}.")  # fmt: skip
        gpt = f" {more.causal_too(float(found['gpt-mini without'][-1]))}" if "gpt-mini without" in found else ""
        parts.numbers(f"“{word}” at positions {pair[0] + 1} and {pair[1] + 1}: {share(float(with_[-1]))} apart with positions, {share(far)} without.{gpt}" if known
                      else f"With positions the two vectors of “{word}” are {share(float(with_[0]))} apart at the input and {share(float(with_[-1]))} at the end.")  # fmt: skip
    code = (f"import core\nfrom viz.course.self_attention.positions.maths.unplaced import twins\n\nmodel = core.open_model({READER!r})\n"
            f"bare = model.run({text!r}, edits=[core.edits.NoPositions('embed.position')])\nfar = twins(bare, {pair[0] + 1}, {pair[1] + 1})")  # fmt: skip
    return Shown({"permutation.equivariant": {}, "positions.add": {}}, (), more.LOOKING[0], lambda: pd.DataFrame(lines).rename_axis("after layer"), lines, code)


def two_ideas(params: Any, start: Any, judged: Any) -> Shown:
    """The fraction and the count for two lengths."""
    step, first = 1 / (params.long - 1), 1 / (params.short - 1)
    known = lesson.predict_number(
        SLUG + "step", f"In {params.short} words one step of the fraction is 1/{params.short - 1} = {first:.3g}. And in {params.long} words?", 0.0, 0.5, step,
        f"1/{params.long - 1}: “one word further” is another number in each sentence, {first / step:.3g} times as large in the short one.", 0.01,
    )  # fmt: skip
    parts.show(figures.ideas(params.short, params.long, covered=not known, height=250 if lesson.presenting() else 300), SLUG + "ideas",
               f"Sentences of {params.short} and {params.long} words as fractions of the way and counted.")  # fmt: skip
    parts.numbers(f"First idea: a step is {first:.4f} in {params.short} words and {step:.4f} in {params.long}. Second idea: a step is always 1, but the last word gets {params.long - 1}, "
                  f"and a model trained on {params.short} words has never seen more than {params.short - 1}." if known else "Each dot is a word, at the number that it gets.")  # fmt: skip
    lengths(start)
    frame = {"t": range(params.long), "t/(n−1)": ideas.candidates(None)["fraction"](params.long)[:, 0], "count": range(params.long)}
    return Shown({"positions.add": {}}, (rf"\frac{{1}}{{{params.short} - 1}} = {first:.4f}, \qquad \frac{{1}}{{{params.long} - 1}} = " + (f"{step:.4f}" if known else "?"),), more.LOOKING[1],
                 lambda: pd.DataFrame(frame if known else {"t": range(params.long)}), {"fraction": np.asarray(frame["t/(n−1)"])} if known else {},
                 f"from viz.course.self_attention.maths.position_criteria import fraction, integer\n\nsteps = [table({params.long})[1] - table({params.long})[0] for table in (fraction, integer)]")  # fmt: skip


def lengths(start: Any) -> None:
    """How many words two sentences have."""
    left, right = st.columns(2, gap="large")
    with left:
        controls.slider("A short sentence, words", 3, 10, SLUG + "short", start.short)
    with right:
        controls.slider("A long sentence, words", 11, 100, SLUG + "long", start.long)


def criteria(params: Any, start: Any, judged: Callable[[Any], Any]) -> Shown:
    """The table of ticks, and what those of one code rest on."""
    data = ask.submit(("positions.criteria", params.short, params.long, learned(WRITER) is not None), lambda: judged(params), 300)
    names = [verdict.name for verdict in data.verdicts]
    chosen = names.index(params.code) if params.code in names else 0
    rests = [ideas.grounds(verdict, params.short, params.long) for verdict in data.verdicts]
    picture = figures.ticks(names, SHORT, data.kept, rests, chosen=chosen, height=300 if lesson.presenting() else 320)
    parts.show(picture, SLUG + "ticks", "Ticks: " + "; ".join(f"{name} {''.join('✓' if good else '✗' for good in row)}" for name, row in zip(names, data.kept, strict=True)))
    parts.numbers(f"{names[chosen]}: " + "; ".join(f"{'✓' if good else '✗'} {said}" for good, said in zip(data.kept[chosen], rests[chosen], strict=True)) + ".")
    controls.pills("Look at", names, SLUG + "code", start.code, quiet=True)
    frame = {words: [f"{'✓' if row[i] else '✗'} {rest[i]}" for row, rest in zip(data.kept, rests, strict=True)] for i, words in enumerate(CRITERIA)}
    return Shown({"positions.sinusoid": {}}, (), more.LOOKING[2], lambda: pd.DataFrame(frame, index=names), {"kept": data.kept.astype(float)},
                 f"from viz.course.self_attention.maths.position_criteria import judge\nfrom viz.course.self_attention.positions.maths.ideas import candidates\n\n"
                 f"verdicts = [judge(name, code, {params.short}, {params.long}) for name, code in candidates(None).items()]", change=lambda: lengths(start))  # fmt: skip


def wave(params: Any, start: Any, judged: Any) -> Shown:
    """The pairs of dimensions as hands of clocks."""
    formula = Formula(2 * PAIRS)
    angles, rim = ideas.hands(formula, params.position), np.array([ideas.hands(formula, t) for t in range(RIM)])
    turn, vector = np.degrees(ideas.hands(formula, 1)), formula.at(np.array([float(params.position)]))[0]
    parts.show(figures.clocks(angles, rim, [f"{value:.3g}° a step" for value in turn], height=250 if lesson.presenting() else 270), SLUG + "clocks",
               f"{PAIRS} clocks at position {params.position}; their hands turn by {', '.join(f'{value:.3g}' for value in turn)} degrees a step.")  # fmt: skip
    parts.numbers(f"Position {params.position}: the hands stand at {', '.join(f'{np.degrees(angle) % 360:.3g}°' for angle in angles)}. As sine and cosine, "
                  f"p = [{', '.join(number(float(value), 3) for value in vector)}]. From any position, {turn[0]:.1f}° further is one word further.")  # fmt: skip
    controls.slider("Position", 0, RIM - 1, SLUG + "position", start.position)
    frame = {"sine": vector[::2], "cosine": vector[1::2], "degrees": np.degrees(angles), "degrees a step": turn}
    return Shown({"positions.sinusoid": {"i": str(params.position), "d": str(2 * PAIRS)}, "positions.add": {}}, (), more.LOOKING[3], lambda: pd.DataFrame(frame), {"vector": vector, "angles": angles},
                 f"from viz.course.shared.maths.positions import Formula\nfrom viz.course.self_attention.positions.maths.ideas import hands\n\nvector = Formula({2 * PAIRS}).table({params.position + 1})[-1]\n"
                 f"angles = hands(Formula({2 * PAIRS}), {params.position})")  # fmt: skip


def table(params: Any, start: Any, judged: Any) -> Shown:
    """A learned table beside the sinusoids of the same width, each in its best plane."""
    box = st.container()
    model = controls.segmented("Whose table", tuple(TABLES), SLUG + "table", start.table, TABLES.__getitem__)
    whole = learned(model)
    if whole is None:
        raise InputError(f"{model} is not here.", "Learned positions are read from the model's file.", "Choose the other table.")
    found, width = whole[:SEEN], whole.shape[1]
    tables = {f"learned by {model}": found, "sinusoids": Formula(width).table(SEEN)}
    drawn = {name: ideas.thread(each) for name, each in tables.items()}
    near = [ideas.neighbours(each) for each in tables.values()]
    with box:
        parts.show(figures.paths({name: places for name, (places, _) in drawn.items()}, height=290 if lesson.presenting() else 330), SLUG + "paths",
                   f"The first {SEEN} position vectors of {model} and of the sinusoids, as paths in the plane.")  # fmt: skip
        parts.numbers(f"{model} has learned {len(whole)} vectors of {width} numbers, and none for position {len(whole)}. The most similar vector is that of the position before or after "
                      f"in {percent(near[0])} of the first {SEEN} places; for the sinusoids in {percent(near[1])}.")  # fmt: skip
    frame = pd.DataFrame(np.hstack([places for places, _ in drawn.values()]), columns=[f"{name}, {axis}" for name in drawn for axis in "xy"])
    return Shown({"positions.add": {}}, tuple(rf"\text{{{name}: }} {percent(part, 2)} \text{{ of the variance lies in this plane}}".replace("%", r"\%") for name, (_, part) in drawn.items()), more.LOOKING[4],
                 lambda: frame.rename_axis("position"), dict(zip(("learned", "sinusoids"), tables.values(), strict=True)),
                 f"import core\nfrom viz.course.self_attention.positions.maths.ideas import neighbours, thread\nfrom viz.course.shared.maths.positions import learned_table\n\n"
                 f"table = learned_table(core.open_model({model!r}).network)[:{SEEN}]\nplaces, share = thread(table)\nnear = neighbours(table)")  # fmt: skip


def lost(params: Any, start: Any, judged: Any) -> Shown:
    """A trained model whose positions are shuffled, or taken away."""
    top = st.container()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width="content"):
            controls.segmented("Model", tuple(MODELS), SLUG + "model", start.model, MODELS.__getitem__)
        controls.draw(SLUG + "draw", start.lot, again="Shuffle again")
        if lesson.presenting():  # one row is left below the maps; the examples stand at the first step
            controls.text("Sentence", "text", SENTENCES[0], quiet=True, placeholder="Type a sentence", of=params.model, most=f"up to {LONGEST} tokens")
    if not lesson.presenting():
        sentence(params.model)
    with top:
        return without(params)


SHOWN: tuple[Callable[[Any, Any, Callable[[Any], Any]], Shown], ...] = (guess, two_ideas, criteria, wave, table, lost)
