"""The steps of the exhibit on cross-attention: the map, who brings what, what a swapped word moves, what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import RunRequest, default
from viz.charts import evidence
from viz.charts.curves import number, tiny
from viz.course.shared.maths import across, luong
from viz.course.shared.shown import Shown
from viz.course.transformer.cross_attention import charts as figures
from viz.instruments import SILENT, heatmap, words_view
from viz.labels import distinct, head_name, literal, percent
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "cross_attention."
SIDES = {"source": "an English word", "target": "a Spanish word"}
LEAVES = ("Q", "K", "V")
GUESS = pd.DataFrame({"": ["Guess first: then the numbers are here."]})
LOOKING_MAP = (
    "A row of the map is a position of the Spanish sentence, named by the word that is written from it; a column is a token of the English sentence. A row is one softmax over the English tokens and sums to 1; nothing is "
    "hatched, for the whole sentence has been read. Touch a word to see where its lines go. The map is no square: in self-attention both axes are the same sentence, here they are two."
)
LOOKING_FLOW = (
    "Orange is the decoder's side, blue the encoder's. All layers of the decoder get the same encoder output; each has its own W_Q, W_K and W_V. Every shape is heads × words × numbers of a head: the number of "
    "source words disappears in the last product, so that the result fits the decoder's words again and can be added to them."
)
LOOKING_SWAP = (
    "The sentence is run twice with the same Spanish words; a bar is the largest change of any number of Q, K or V. In layer 0 the queries have met nothing but Spanish, so an English word cannot move them. From layer 1 on "
    "they can move: layer 0 has mixed English values into the Spanish positions. K and V are made of the encoder's output in every layer, and no Spanish word ever enters the encoder."
)
LOOKING_ONCE = (
    "The sentence is written again token by token with a cache. A bar is the number of rows of keys and values that were computed at this step, in one layer. Self-attention needs one new row a step, for the new word; "
    "cross-attention needs a row for each English token, at the first step only, since the same arrays serve all later steps. Dashed: what every step would compute if nothing were kept."
)


def two_axes(data: Any) -> Shown:
    """The map of one head; before the guess only the two sentences."""
    n, m, names = len(data.read), len(data.written), (distinct(data.read), distinct(data.written))
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict(
            SLUG + "shape", f"Read: {n} English tokens. Written: {m} Spanish ones, END included. Rows × columns of this head's map?", sizes(m, n), f"{m} × {n}",
            f"Each of the {m} Spanish positions asks, so it has a row; each of the {n} English tokens can be looked at, so it is a column: {m * n} weights a head, "
            f"{data.weights.shape[0]} × {data.weights.shape[1]} heads.",
        )  # fmt: skip
    if lesson.presenting() and not told:  # the sentences need the width that the map does not take yet
        left, right = picture.container(), picture.container()
    else:
        left, right = picture.columns([1, 1], gap="small" if lesson.presenting() else "large")
    pattern = data.pattern
    with left:
        words_view(
            pattern, data.written, data.read, key=f"{SLUG}words.{told}", targets=[(word, i if told else -1) for i, word in enumerate(data.written)],
            allowed=None if told else np.zeros_like(pattern, dtype=bool), special=("START", "END"), names=("read", "written"), say=None if told else SILENT,
        )  # fmt: skip
    with right:
        if told:
            heatmap(pattern, names[1], names[0], key=SLUG + "map", axis=("written", "read"), title=f"{head_name(data.layer, data.head)}, {m} × {n}", numbers=n <= 12, height=260)
        else:
            st.text("The map comes after your guess.")
    sharp = luong.crossing(pattern)
    picture.text(
        f"Writing “{data.written[sharp]}”, {head_name(data.layer, data.head)} looks {percent(pattern[sharp].max())} at “{data.read[int(pattern[sharp].argmax())]}”. {m} × {n} = {m * n} weights; each row sums to 1." if told
        else f"{n} English tokens were read and {m} Spanish ones written" + (": two languages, two lengths." if n != m else ", the same number by chance.")
    )  # fmt: skip
    _choose()
    return Shown(
        {"cross.matrix": {"p": str(data.run.model.config.d_head)}}, (), LOOKING_MAP,
        lambda: pd.DataFrame(np.round(pattern, 4), index=names[1], columns=names[0]) if told else GUESS, {"weights": pattern} if told else {},
        _code(data) + f"\nprint(found.weights[{data.layer}, {data.head}].round(2))",
    )  # fmt: skip


def sizes(m: int, n: int) -> tuple[str, ...]:
    """Sizes that a map of m rows and n columns may be taken for: axes exchanged, one sentence only, END left out or read as well.

    >>> sizes(8, 7), sizes(6, 6)
    (('7 × 7', '7 × 8', '8 × 7', '8 × 8'), ('5 × 6', '6 × 6', '6 × 7'))
    """
    found = dict.fromkeys(((m, n), (n, m), (m, m), (n, n), (m, n + 1), (max(1, m - 1), n)))
    return tuple(f"{rows} × {columns}" for rows, columns in sorted(list(found)[:4]))


def who_asks(data: Any) -> Shown:
    """Boxes with the shapes of this run."""
    config, n, m = data.run.model.config, len(data.read), len(data.written)
    path = f"decoder.layer.{data.layer}.cross_attn"
    shapes = {leaf: data.run.trace[f"{path}.{leaf}"].shape for leaf in ("q", "k", "v", "scores", "pattern", "heads", "out")}
    parts.show(figures.flow(n, m, config.d_model, config.n_heads, config.d_head, height=360), SLUG + "flow",
               f"Q {shapes['q']} from the decoder, K {shapes['k']} and V {shapes['v']} from the encoder, weights {shapes['pattern']}, output {shapes['out']}.")  # fmt: skip
    parts.numbers(f"{m} queries meet {n} keys: {config.n_heads} heads × {m} × {n} = {config.n_heads * m * n} scores, each divided by √{config.d_head} = {number(float(np.sqrt(config.d_head)))}. "
                  f"Out come {m} × {config.d_model} numbers again, one row for each Spanish position.")  # fmt: skip
    table = pd.DataFrame({"tensor": [f"{path}.{leaf}" for leaf in shapes], "shape": [" × ".join(map(str, shape)) for shape in shapes.values()],
                          "made of": ["decoder", "encoder", "encoder", "both", "both", "both", "both"]})  # fmt: skip
    return Shown({"cross.matrix": {"p": str(config.d_head)}}, (), LOOKING_FLOW, lambda: table, {leaf: data.run.trace[f"{path}.{leaf}"] for leaf in ("q", "k", "v")},
                 _code(data) + f"\nfor leaf in ('q', 'k', 'v', 'scores', 'heads', 'out'):\n    print(leaf, run.trace['{path}.' + leaf].shape)", _choose)  # fmt: skip


def swap(data: Any) -> Shown:
    """One word exchanged on one side; which of Q, K and V move, layer by layer."""
    side = state.read(SLUG + "side", "source", state.one_of(tuple(SIDES)))
    change, before, after = ask.submit(("cross_attention.swap", data.run.source.text, side), lambda: swapped(data, side), 40 * len(data.read))
    still = [name for name, value in zip(LEAVES, change[0], strict=True) if value == 0]
    answers = ("Q only", "K and V", "Q, K and V", "none of them")
    answer = {0: answers[2], 1: answers[1] if still == ["Q"] else answers[2], 2: answers[0], 3: answers[3]}[len(still)]
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict(
            SLUG + "moves", f"“{before}” becomes “{after}”, the other sentence stays as it is. Which change in layer 0 of the decoder?", answers, answer,
            "Measured, the largest change of any number: " + ", ".join(f"{name} {_size(value)}" for name, value in zip(LEAVES, change[0], strict=True)) + ".",
        )  # fmt: skip
    rows = [f"layer {i}" for i in range(len(change))]
    title = f"Largest change in Q, K and V after {SIDES[side]} was exchanged"
    with picture, st.container():
        if told:
            parts.show(evidence.bars(change, rows, LEAVES, title), SLUG + "swap.picture", title)
        else:
            _sentences(data, side)
    picture.text("Layer by layer: " + "; ".join(f"L{i}: " + ", ".join(f"{name} {_size(v)}" for name, v in zip(LEAVES, row, strict=True)) for i, row in enumerate(change)) + "." if told
                  else f"“{data.run.source.text}” and “{data.run.target_text}”; only “{before}” is exchanged.")  # fmt: skip
    controls.segmented("Exchange", tuple(SIDES), SLUG + "side", "source", SIDES.__getitem__)
    code = f"{_code(data)}\nfrom viz.course.shared.maths.across import moved\n\nother = model.run({_other(data, side)[0]!r}, target={_other(data, side)[1]!r})\nprint(moved(run, other))  # (layer, Q K V)"
    return Shown({"cross.matrix": {}}, (), LOOKING_SWAP, lambda: pd.DataFrame(change, index=rows, columns=list(LEAVES)).round(4) if told else GUESS, {"change": change} if told else {}, code)


def _sentences(data: Any, side: str) -> None:
    """Both sentences, and the one with another word below its own."""
    source, target, _, _ = _other(data, side)
    now = (("read", data.run.source.text, source), ("written", data.run.target_text or "", target))
    for column, (label, before, after) in zip(st.columns(2, gap="small"), now, strict=True):
        with column, st.container(border=True, gap=None, height="stretch"):
            st.markdown(f":gray[{label}]")
            st.markdown(f"## {literal(before)}")
            st.markdown(f":gray[{'then' if before != after else 'and again'}]")
            st.markdown(f"## {literal(after)}")


def swapped(data: Any, side: str) -> tuple[np.ndarray, str, str]:
    """The change of Q, K, V when the longest word of one side is exchanged for another of one piece."""
    source, target, before, after = _other(data, side)
    run = default().run(RunRequest(data.run.model.name, data.run.source.text, target=data.run.target_text, keep=across.KEEP))
    return across.moved(run, default().run(RunRequest(data.run.model.name, source, target=target, keep=across.KEEP))), before, after


COLOURS = {"source": {"red": " black", "white": " black"}, "target": {"roja": " negra", "blanco": " negro"}}
OTHERS = {"source": (" black", " small", " dog"), "target": (" negro", " grande", " perro")}


def _other(data: Any, side: str) -> tuple[str, str, str, str]:
    """Both sentences with one piece of one side exchanged, that piece, and the one that came: as many pieces as before."""
    source, target = data.run.source.text, data.run.target_text or ""
    tokenizer = data.run.model.tokenizer
    text = source if side == "source" else target
    encoded = tokenizer.encode(text)
    colours = COLOURS[side]
    spans = sorted((span for span in encoded.spans if span is not None), key=lambda span: (text[slice(*span)].strip() not in colours, span[0] - span[1]))
    for start, end in spans:
        for word in (colours.get(text[start:end].strip(), OTHERS[side][0]), *OTHERS[side]):
            new = text[:start] + (word if text[start:end].startswith(" ") else word.strip()) + text[end:]
            if text[start:end].strip() != word.strip() and len(tokenizer.encode(new).ids) == len(encoded.ids):
                left, right = (new, target) if side == "source" else (source, new)
                return left, right, text[start:end].strip(), word.strip()
    return source, target, text, text


def once(data: Any) -> Shown:
    """What each step of writing computes, and what the cache spares."""
    found = ask.submit(("cross_attention.once", data.run.source.text), lambda: across.written(data.run), 60 * len(data.written))
    n, m = len(data.read), len(data.written)
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict_number(
            SLUG + "rows", f"{m} tokens are written, {n} were read. How many rows of keys does cross-attention compute in one layer, over all {m} steps?", 0, n * m, sum(found.source),
            f"{n}, at the first step; the same arrays serve the other {m - 1}. Without keeping them it would be {m} × {n} = {n * m}.", max(1, n // 4),
        )  # fmt: skip
    source = found.source if told else (0,) * m
    with picture:
        parts.show(figures.computed(found.own, source, found.anew if told else (), distinct(data.written), height=330), SLUG + "once.picture",
               "Rows of keys and values computed at each step." if told else "Rows of its own words that each step computes; those of the source come after the guess.")  # fmt: skip
    total = sum(found.own) + sum(found.source)
    picture.text(f"{sum(found.own)} own rows and {sum(found.source)} source rows, {total} together; without the cache {sum(found.anew)}. The source's arrays were {'the same' if found.kept else 'others'} at every step, "
                  f"and the logits differ from one pass over everything by {tiny(found.gap)}." if told else "Its own words: one new row a step. And the source?")  # fmt: skip
    table = pd.DataFrame({"written": distinct(data.written), "own": found.own, "source": found.source, "without the cache": found.anew})
    return Shown({"cross.matrix": {}}, (rf"{m} \cdot 1 + {n} = {total} \quad \text{{of}} \quad {sum(found.anew)}" if told else r"\dots",), LOOKING_ONCE, lambda: table if told else GUESS,
                 {"own": np.array(found.own), "source": np.array(found.source)} if told else {}, f"{_code(data)}\nfrom viz.course.shared.maths.across import written\n\nprint(written(run))")  # fmt: skip


def _choose() -> None:
    from viz.course.transformer.cross_attention import exhibit

    config, best = default().open(exhibit.MODEL).config, ask.submit("cross_attention.opening", exhibit.opening, 800)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width="content"):
            controls.pills("Layer", range(config.n_layers), "layer", best[0])
        with st.container(width="content"):
            controls.pills("Head", range(config.n_heads), "head", best[1])


def _size(value: float) -> str:
    return "exactly 0" if value == 0 else number(float(value))


def _code(data: Any) -> str:
    return (f"import core\n\nmodel = core.open_model({data.run.model.name!r})\nrun = model.run({data.run.source.text!r}, target={data.run.target_text!r})\n"
            "found = run.attention('cross', writing=True)  # weights (layer, head, target, source)")  # fmt: skip
