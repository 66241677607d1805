"""Which run, which head, which word: what the two views of Look share."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

import core.engine
from core.analysis import heads
from core.analysis.heads import WORDS, Heads
from core.run import Attention, Run
from viz.ui import compute, state

TEXTS = Path(core.engine.__file__).parent.parent / "assets" / "texts"
KEEP = ("*.pattern",)


def listed() -> list[str]:
    """The models that can be opened."""
    return [listing.name for listing in core.engine.default().models() if listing.ok]


def reads_source(model: str) -> bool:
    return core.engine.default().open(model).spec.has_source


def run(model: str, text: str, target: str | None) -> Run:
    return compute.run(model, text, target=target, keep=KEEP)


def window(model: str, text: str) -> str:
    """The text, or the part of it that fits the model's context: the page says which, and lets it be moved."""
    opened = core.engine.default().open(model)
    spans = [span for span in opened.tokenizer.encode(text).spans if span]
    most = opened.config.n_ctx
    if len(spans) <= most:
        return text
    first = state.read("look.from", 0, state.whole(0, len(spans) - most))
    key = f"look.window:{model}"
    if st.session_state.get(key) != first:
        st.session_state[key] = first
    st.slider(
        f"The text has {len(spans):,} tokens and {model} reads {most:,} at once. Shown from token",
        0, len(spans) - most, key=key, on_change=lambda: state.write(**{"look.from": st.session_state[key]}),
    )  # fmt: skip
    return text[spans[first][0] : spans[first + most - 1][1]]


@cache
def battery(paired: bool) -> tuple[tuple[str, str | None], ...]:
    """Our own sentences on which heads are measured: (text, translation or None)."""
    if not paired:
        return tuple((line, None) for line in (TEXTS / "heads_en.txt").read_text(encoding="utf-8").splitlines() if line)
    with (TEXTS / "heads_en-es.tsv").open(encoding="utf-8", newline="") as rows:
        return tuple((row[0], row[1]) for row in csv.reader(rows, delimiter="\t", quoting=csv.QUOTE_NONE) if row)


def survey(model: str, kind: str) -> Heads:
    """The habits of all heads of one kind, measured once on the battery and kept by the engine."""
    opened = core.engine.default().open(model)
    texts = battery(opened.spec.has_source)

    def attend(pair: Any) -> Attention:
        found = opened.run(pair[0], target=pair[1], keep=KEEP)
        return found.attention(kind, by="word", writing=kind == "cross")

    return compute.submit(("heads", model, kind), lambda: heads.survey(texts, attend), cost=60.0 * len(texts) * opened.config.n_layers)


def chosen(measured: Heads) -> tuple[int, int]:
    """The head to show: the visitor's, else the clearest one."""
    layers, n_heads = measured.shape
    first = next(iter(measured.best().values()))
    if "layer" not in st.query_params and state.read("layer", -1, state.whole(-1, 10**6)) < 0:
        return first
    return state.read("layer", first[0], state.whole(0, layers - 1)), state.read("head", first[1], state.whole(0, n_heads - 1))


def pills(measured: Heads, layer: int, head: int) -> None:
    """One pill for each habit that some head has: its clearest head; and the head in view if it is another."""
    shown = {place: WORDS[kind] for kind, place in measured.best().items() if kind != "mixed" or place == (layer, head)}
    shown.setdefault((layer, head), measured.word(layer, head))
    key = "look.pills"
    if st.session_state.get(key) != (layer, head):
        st.session_state[key] = (layer, head)
    st.pills(
        "Heads, by what they do", list(shown), key=key, required=True, label_visibility="collapsed",
        format_func=lambda place: f"{shown[place]} :gray[:small[{name(*place)}]]", on_change=_store, args=(key,),
    )  # fmt: skip


def name(layer: int, head: int) -> str:
    """A head's short name, counted from 0.

    >>> name(2, 5)
    'L2.H5'
    """
    return f"L{layer}.H{head}"


def _store(key: str) -> None:
    place = st.session_state.get(key)
    if place is not None:
        state.write(layer=place[0], head=place[1])


def touched(found: Run, kind: str) -> str | None:
    """The word that a link says is touched; forgotten when another sentence, model or kind is shown."""
    now = (found.model.name, found.side.text, found.source.text if found.source else "", kind)
    before = st.session_state.get("look.shown")
    st.session_state["look.shown"] = now
    if before not in (None, now):
        state.write(**{"look.word": None})
        return None
    return state.read("look.word", "") or None
