"""One vector a word, or a mix of those before it: the same word in two sentences, and what a word remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts.scores import bars
from viz.course.look_up.word_vectors.charts import heads
from viz.course.shared.maths import masks
from viz.course.shared.maths import word_vectors as words
from viz.course.shared.shown import Shown
from viz.instruments import strip
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, percent, visible
from viz.shell import links, state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG, READER, TABLE = "word_vectors.", "gpt-mini", "vectors-mini"
SENTENCES = ("The FBI is chasing a criminal on the run .", "The animal didn't cross the street because it was too tired.")
ROWS = {SENTENCES[0]: 3, SENTENCES[1]: 7}
"""The word that is asked first: chasing, and it."""
LOOKING_ONE = (
    "Each bar is the cosine of the word's two vectors, one from each sentence: 1 is the same vector. In a table nothing around the word counts, so the first bar is exactly 1. In gpt-mini each layer mixes in what stands "
    "before the word, so the two drift apart. The input differs a little already: it holds the position as well. **Try** a word that means the same in both sentences."
)
LOOKING_REMEMBER = (
    "One line a word, as it is read: the current word is marked, and the earlier ones are shaded by the attention weights of one head of gpt-mini. A line sums to 1 and never looks ahead. Below, the weights from the chosen word. "
    "Their weighted sum of word vectors is a composite embedding, as Ghojogh and Ghodsi 2020 draw it: no longer the vector of any one word. The model itself never makes this mix: a head mixes the value vectors of its own layer, not rows of the table. **Compare heads** in the fold: each remembers something else."
)


def _run(text: str) -> Any:
    return ask.run(READER, text, keep=("embed.*", "layer.*.resid_*", "*.pattern", "*.allowed"))


def one_vector(params: Any) -> Shown:
    """The same word in two sentences: one row of the table, two vectors in a model that looks around."""
    top = st.container()
    boxes = (("One sentence", "one", params.one), ("Another sentence", "two", params.two), ("A word of both", "word", params.word))
    for column, (label, name, now) in zip(st.columns([3, 3, 1]), boxes, strict=True):
        with column:
            controls.text(label, SLUG + name, now, of=READER if name != "word" else "")
    with top:
        return _one_vector(params)


def _one_vector(params: Any) -> Shown:
    same = words.alike(_run(params.one), _run(params.two), params.word)
    word = visible(params.word.strip())
    last = float(same[-1])
    known = lesson.predict_number(SLUG + "alike", f"After gpt-mini's last layer, how alike are the two vectors of “{word}”? (cosine; 1 is the same)", -1, 1, last,
                                  f"In the table of words it is one vector, cosine {same[0]:.3f}; the layers mix in what stands before it, and leave {last:.3f}.", 0.1)  # fmt: skip
    names = ["table of words", "with position", *(f"after layer {i}" for i in range(len(same) - 2))]
    origin.tell(model=READER, text=params.one, beside=params.two)
    rows = [(name, float(value), i == 0) for i, (name, value) in enumerate(zip(names, same, strict=True))]
    parts.show(bars(rows if known else rows[:1], "{:.3f}", end=1.0), SLUG + "alike",
               f"Cosine of the two vectors of {word}, layer by layer." if known else "Only the first bar is shown before the guess.")  # fmt: skip
    parts.numbers(f"“{word}”: cosine {same[0]:.3f} in the table, {last:.3f} after {len(same) - 2} layers." if known else f"In the table “{word}” has one vector: cosine {same[0]:.3f}. And after the layers?")
    return Shown(
        {"vectors.cosine": {}, "causal.prefix": {}}, (rf"\cos = {same[0]:.3f} \;\to\; {last:.3f}" if known else r"\dots",),
        LOOKING_ONE, lambda: pd.DataFrame({"where": names[: len(same) if known else 1], "cosine": same[: len(same) if known else 1]}), {"cosines": same} if known else {},
        f"import core\nfrom viz.course.shared.maths.word_vectors import alike\n\nmodel = core.open_model({READER!r})\nalike(model.run({params.one!r}), model.run({params.two!r}), {params.word!r})",
    )  # fmt: skip


def opening() -> tuple[int, int]:
    """The head that looks back most sharply in the two sentences of the documents."""
    runs = [default().run(RunRequest(READER, text, keep=("*.pattern",))) for text in SENTENCES]
    far = masks.looks_back([run.attention("causal").weights for run in runs])
    layer, head = np.unravel_index(far.argmax(), far.shape)
    return int(layer), int(head)


def remember(params: Any) -> Shown:
    """One row of a causal head: which earlier words it weighs, and the mix of their vectors."""
    top = st.container()
    controls.text("Sentence", "text", SENTENCES[0], of=READER)
    controls.preset_row(SENTENCES, "text", SENTENCES[0])
    with top:
        return _remember(params)


def _remember(params: Any) -> Shown:
    text = params.text
    first = ask.submit("word_vectors.opening", opening, 500)
    run = _run(text)
    attention = run.attention("causal", by="word")
    names = [visible(word.text) for word in run.side.words]
    if len(names) < 2:
        raise InputError("This is one word.", "A word remembers those before it.", "Type a sentence.")
    config = run.model.config
    layer = state.read("layer", first[0], state.one_of(range(config.n_layers)))
    head = state.read("head", first[1], state.one_of(range(config.n_heads)))
    usual = min(ROWS.get(text, len(names) // 2), len(names) - 1)
    row = min(state.read(SLUG + "row", usual, state.whole(0, 511)) if params.row >= 0 else usual, len(names) - 1)
    found = words.mixed(run, layer, head, row)
    said = distinct(found.words)
    best = int(found.weights.argmax())
    known = lesson.predict(SLUG + "remember", f"Reading “{names[row]}”, which word does head {head_name(layer, head)} weigh most?", dict(zip(said, found.weights.tolist(), strict=True)), said[best],
                           f"It gets {found.weights[best]:.3f}; the {row + 1} weights up to “{names[row]}” add up to {found.weights.sum():.3f}.")  # fmt: skip
    origin.tell(model=READER, text=params.text, kind="causal", layer=layer, head=head)
    if known:
        strip(attention.weights[layer, head], names, allowed=attention.allowed[layer, head], mode="text" if lesson.presenting() else "lines", selected=row, key=SLUG + "lines")
    rows = [(name, float(weight), i == best) for i, (name, weight) in enumerate(zip(said, found.weights, strict=True))]
    if not (known and lesson.presenting()):  # before a room the sentence itself shows the weights
        parts.show(bars(rows if known else [(name, 0.0, False) for name, _, _ in rows], "{:.3f}" if known else "?", end=1.0), SLUG + "weights",
                   f"Weights from {names[row]}." if known else "Not shown before the guess.")  # fmt: skip
    near = int(found.near.argmax())
    parts.numbers(f"The mix at “{names[row]}” is {percent(float(found.weights[best]))} “{said[best]}”; of the words so far it is most like “{said[near]}” (cosine {found.near[near]:.2f}), "
                  f"and its cosine with “{said[row]}” itself is {found.near[row]:.2f}." if known else "Choose a word, and its memory is shown.")  # fmt: skip
    controls.select("The word that remembers", range(len(names)), SLUG + "row", row, lambda i: distinct(names)[i])
    links.to("look", "Look at all heads on this sentence", icon=":material/visibility:", model=READER, text=text, view="full", layer=layer, head=head)
    terms = " + ".join(f"{w:.2f}\\,x_{{{j}}}" for j, w in enumerate(found.weights, start=1))
    return Shown(
        {"causal.prefix": {}}, (rf"y_{{{row + 1}}} = {terms}" if known else r"\dots",), LOOKING_REMEMBER,
        lambda: pd.DataFrame({"word": said} | ({"weight": found.weights, "cosine with the mix": found.near} if known else {})),
        {"weights": found.weights, "mix": found.mix} if known else {},
        f"import core\nfrom viz.course.shared.maths.word_vectors import mixed\n\nrun = core.open_model({READER!r}).run({text!r})\nmixed(run, layer={layer}, head={head}, row={row})",
        lambda: _heads(attention.weights, row, distinct(names), (layer, head), known),
    )  # fmt: skip


def _heads(weights: np.ndarray, row: int, names: list[str], chosen: tuple[int, int], known: bool) -> None:
    """All heads side by side: how much of this row's weight each gives to one earlier word."""
    layers, count = weights.shape[:2]
    left, right = st.columns(2)
    with left:
        controls.select("Layer", range(layers), "layer", chosen[0])
    with right:
        controls.select("Head", range(count), "head", chosen[1])
    if not known:
        st.text("Guess first: the heads would give it away.")
        return
    names = names[: row + 1]
    key = names.index(st.selectbox(f"Attention of “{names[row]}”, in each head, to", names, index=min(1, row), key=SLUG + "looked_at"))
    parts.show(heads(weights[:, :, row, key], chosen, f"{names[row]} looks at {names[key]}"), SLUG + "heads", f"How much each head looks from {names[row]} at {names[key]}.")
    most = np.unravel_index(weights[:, :, row, key].argmax(), (layers, count))
    parts.numbers(f"From “{names[row]}” to “{names[key]}” looks most {head_name(int(most[0]), int(most[1]))}: {weights[most[0], most[1], row, key]:.3f}.")
