"""The last step of the exhibit on sizes: any shape, its parts, the rule 12 L d², and the memory it takes."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from viz.course.gpt.sizes import charts as figures
from viz.course.gpt.sizes import maths as sizes
from viz.course.gpt.sizes import steps
from viz.course.shared.shown import Shown
from viz.labels import percent
from viz.shell import state
from viz.widgets import controls, lesson, parts

SLUG = "sizes."
WIDTHS = (64, 128, 256, 512, 768, 1024, 1280, 1600, 2048, 3072, 4256, 8192, 12_288)
HEADS = (1, 2, 4, 8, 12, 16, 20, 25, 28, 32, 64, 96)
VOCABULARIES = (256, 1000, 8000, 30_522, 50_257, 100_000, 250_000)
CONTEXTS = (128, 512, 1024, 2048, 8192, 32_768)
READY = ("GPT-2 small", "GPT-2 XL", "GPT-3", "Megatron-LM", "Turing-NLG")
IN_A_ROOM = 3
_PILLS = SLUG + "ready"
LOOKING = (
    "A GPT of the shape below, built without memory and counted. The rule 12·L·d² takes the weight matrices of the blocks: 4 d² for attention and 8 d² for the network in each layer. It forgets the two tables, so it is poor for small models "
    "and good for large ones. Memory is bytes times parameters: 4 in float32, 2 in float16. To train with Adam, a gradient and two running means are kept for each weight, 16 bytes in all; the activations come on top."
)


def chosen() -> sizes.Shape:
    """The visitor's shape."""
    start = sizes.GPT2["GPT-2 small"]
    return sizes.Shape(
        n_layers=state.read(SLUG + "layers", start.n_layers, state.whole(1, 96)), d_model=state.read(SLUG + "width", start.d_model, state.one_of(WIDTHS)),
        n_heads=state.read(SLUG + "heads", start.n_heads, state.one_of(HEADS)), n_vocab=state.read(SLUG + "vocabulary", start.n_vocab, state.one_of(VOCABULARIES)),
        n_ctx=state.read(SLUG + "context", start.n_ctx, state.one_of(CONTEXTS)),
    )  # fmt: skip


def sliders() -> None:
    """Ready shapes, and the five quantities of one's own."""
    now, start = chosen(), sizes.GPT2["GPT-2 small"]
    ready = READY[:IN_A_ROOM] if lesson.presenting() else READY
    lit = next((name for name in ready if _values(sizes.ALL[name]) == _values(now)), None)
    state.held(_PILLS, lit)
    st.pills("Ready shapes", ready, key=_PILLS, default=lit, on_change=_load, label_visibility="collapsed")
    first, second, third = st.columns(3, gap="medium")
    with first:
        controls.slider("Layers L", 1, 96, SLUG + "layers", start.n_layers)
    with second:
        controls.stops("Width d", WIDTHS, SLUG + "width", start.d_model, "{:,}".format)
    with third:
        controls.stops("Heads h", HEADS, SLUG + "heads", start.n_heads)
    if lesson.presenting():
        return
    left, right = st.columns(2, gap="medium")
    with left:
        controls.stops("Vocabulary V", VOCABULARIES, SLUG + "vocabulary", start.n_vocab, "{:,}".format)
    with right:
        controls.stops("Context C", CONTEXTS, SLUG + "context", start.n_ctx, "{:,}".format)


def calculator(data: Any) -> Shown:
    """The parts of the shape beside the memory it takes."""
    shape, found = data.shape, data.own
    total, rule = sum(found.values()), sizes.blocks(shape)
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict_number(
            SLUG + "rule", f"12·L·d² = 12·{shape.n_layers}·{shape.d_model:,}² = {rule:,}. What share of all parameters of this model is that?", 0, 1, rule / total,
            f"{rule:,} / {total:,} = {percent(rule / total, 2)}. The token embeddings alone has {found[sizes.WORDS]:,}, {percent(found[sizes.WORDS] / total, 2)}.", near=0.05, unit="%",
        )  # fmt: skip
    held = sizes.memory(total)
    with picture:
        left, right = (st.container(), None) if lesson.presenting() else st.columns([3, 2], gap="medium")
        rows = [figures.Bar(part, n, f"{n:,}", steps.HUES[part]) for part, n in found.items()]
        with left:
            parts.show(figures.bars(rows, "Parameters by part", covered=not told, row=34), SLUG + "own",
                       "Parameters by part: " + ", ".join(f"{part} {n:,}" for part, n in found.items()) if told else "The parts, covered until you guess")  # fmt: skip
        if right is not None:
            memory = [figures.Bar(name.replace(", ", "\n"), gb, _bytes(gb), 2) for name, gb in held.items()]
            with right:
                parts.show(figures.bars(memory, "Memory of the weights", covered=not told, row=56), SLUG + "memory",
                           "Memory: " + ", ".join(f"{name} {_bytes(gb)}" for name, gb in held.items()) if told else "Memory, covered until you guess")  # fmt: skip
    first, second, _ = held.values()
    picture.text(f"{total:,} parameters: {_bytes(first)} in float32, {_bytes(second)} in float16. {shape.n_heads} heads of {shape.d_model // shape.n_heads} numbers; their number changes no count." if told else
                 f"{shape.n_layers} layers of width {shape.d_model:,}, {shape.n_heads} heads, {shape.n_vocab:,} tokens, {shape.n_ctx:,} positions.")  # fmt: skip
    key, values = steps._formula(shape)
    code = (
        f"from viz.course.gpt.sizes.maths import Shape, blocks, counted, memory\n\nshape = Shape(n_layers={shape.n_layers}, d_model={shape.d_model}, n_heads={shape.n_heads}, n_vocab={shape.n_vocab}, n_ctx={shape.n_ctx})\n"
        "total = sum(counted(shape).values())\nprint(counted(shape), total, blocks(shape) / total, memory(total))"
    )  # fmt: skip
    return Shown({key: values | ({"P": f"{total:,}"} if told else {}), "sizes.blocks": {"L": str(shape.n_layers), "d": f"{shape.d_model:,}", "B": f"{rule:,}"}}, (), LOOKING,
                 lambda: pd.DataFrame({"parameters": found}) if told else steps.GUESS, {"parameters": list(found.values())} if told else {}, code)  # fmt: skip


def _bytes(gigabytes: float) -> str:
    return f"{gigabytes:,.1f} GB" if gigabytes >= 1 else f"{1000 * gigabytes:,.1f} MB"


def _values(shape: sizes.Shape) -> dict[str, int]:
    return {"layers": shape.n_layers, "width": shape.d_model, "heads": shape.n_heads, "vocabulary": shape.n_vocab, "context": shape.n_ctx}


def _load() -> None:
    name = st.session_state.get(_PILLS)
    if name in READY:
        state.write(**{SLUG + part: value for part, value in _values(sizes.ALL[name]).items()})
