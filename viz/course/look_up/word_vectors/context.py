"""One vector per word, or a mix of those before it: a word in two sentences, and the words that one word attends to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from core.model import Model
from core.run import Run
from core.serving.engine import RunRequest, default
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.look_up.word_vectors.params import READER, SENTENCES, SLUG, Params
from viz.course.look_up.word_vectors.sums import to_the_card
from viz.course.shared import masks, word_vectors
from viz.instruments import strip
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, percent, visible
from viz.languages import _
from viz.shell import links, state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

ROWS = {SENTENCES[0]: 3, SENTENCES[1]: 7}
"""The word of the first question: chasing, and it."""


def one_vector(params: Params, data: Model) -> Folds:
    """Draw the cosine of one word's vectors in two sentences, layer by layer: one row of the table, two vectors in a contextual
    model."""
    same = word_vectors.layer_cosines(_run(params.one), _run(params.two), params.word)
    word, first, last, layers = visible(params.word.strip()), float(same[0]), float(same[-1]), len(same) - 2
    told = exhibit_parts.predict_number(
        f"{SLUG}.alike",
        _(
            "After gpt-mini's last layer, how alike are the two vectors of “{word}”? (cosine; 1 is the same)",
            word=word,
        ),
        -1,
        1,
        last,
        _(
            "In the embedding matrix it is one vector, cosine {first:.3f}; the layers mix in the preceding words: after the last layer the cosine is {last:.3f}.",
            first=first,
            last=last,
        ),
        0.1,
    )
    after = (_("after layer {n}", n=i) for i in range(layers))
    names = [_("embedding matrix"), _("with position"), *after]
    origin.tell(model=READER, text=params.one, second_text=params.two)
    rows = pd.Series(same, names)
    alt = _("Cosine of the two vectors of {word}, layer by layer.", word=word)
    page_parts.show(
        marks.bars(rows if told else rows.iloc[:1], "{:.3f}", highlighted=names[:1], end=1.0),
        f"{SLUG}.alike",
        alt if told else _("Only the first bar is shown before the guess."),
    )
    page_parts.summary(
        _(
            "“{word}”: cosine {first:.3f} in the embedding matrix, {last:.3f} after {n} layers.",
            word=word,
            first=first,
            last=last,
            n=layers,
        )
        if told
        else _(
            "In the embedding matrix “{word}” has one vector: cosine {first:.3f}. And after the layers?",
            word=word,
            first=first,
        )
    )
    return Folds(
        {"where": names, "cosine": same},
        {"cosines": same},
        {},
        told,
        {"vectors.cosine": {}, "causal.prefix": {}},
        (rf"\cos = {first:.3f} \;\to\; {last:.3f}",),
        note_below=to_the_card,
    )


def remember(params: Params, data: Model) -> Folds:
    """Draw one row of a causal head: its weights on the earlier words, and the mix of their vectors."""
    run = _run(params.text)
    names = [visible(word.text) for word in run.side.words]
    if len(names) < 2:
        raise InputError(
            _("This is one word."), _("A word attends to those before it."), _("Type a sentence.")
        )
    layer, head = _head(run)
    usual = ROWS.get(params.text, len(names) // 2)
    row = min(usual if params.row < 0 else params.row, len(names) - 1)
    found = word_vectors.head_mix(run, layer, head, row)
    said, best = distinct(found.words), int(found.weights.argmax())
    told = exhibit_parts.predict(
        f"{SLUG}.remember",
        _(
            "Reading “{word}”, which word gets the most weight in head {head}?",
            word=names[row],
            head=head_name(layer, head),
        ),
        dict(zip(said, found.weights.tolist(), strict=True)),
        said[best],
        _(
            "It gets {weight:.3f}; the {n} weights up to “{word}” add up to {total:.3f}.",
            weight=found.weights[best],
            n=row + 1,
            word=names[row],
            total=found.weights.sum(),
        ),
    )
    origin.tell(model=READER, text=params.text, kind="causal", layer=layer, head=head)
    attention = run.attention("causal", by="word")
    if told:
        allowed, mode = attention.allowed[layer, head], "text" if exhibit_parts.presenting() else "lines"
        options: dict[str, Any] = {"allowed": allowed, "mode": mode, "selected": row}
        strip(attention.weights[layer, head], names, key=f"{SLUG}.lines", **options)
    if not told:
        rows = pd.Series(np.nan, said)
        page_parts.show(marks.bars(rows, end=1.0), f"{SLUG}.weights", _("Not shown before the guess."))
    elif not exhibit_parts.presenting():  # before a room the sentence itself shows the weights
        picture = marks.bars(pd.Series(found.weights, said), "{:.3f}", highlighted=[said[best]], end=1.0)
        page_parts.show(picture, f"{SLUG}.weights", _("Weights from {word}.", word=names[row]))
    near = int(found.near.argmax())
    page_parts.summary(
        _(
            "The weighted sum at “{word}” has {share} “{best}”; of the words so far it is most like “{near}” (cosine {cosine:.2f}), and its cosine with “{own}” itself is {own_cosine:.2f}.",
            word=names[row],
            share=percent(float(found.weights[best])),
            best=said[best],
            near=said[near],
            cosine=found.near[near],
            own=said[row],
            own_cosine=found.near[row],
        )
        if told
        else _("Choose a word, and its weights are shown.")
    )
    # the words to choose from are those of the run
    every = distinct(names)
    controls.select(_("The word that attends"), range(len(names)), f"{SLUG}.row", row, lambda i: every[i])
    here = {"model": READER, "text": params.text, "view": "full", "layer": layer, "head": head}
    links.page_link("look", _("Look at all heads on this sentence"), icon=":material/visibility:", **here)
    terms = " + ".join(f"{w:.2f}\\,x_{{{j}}}" for j, w in enumerate(found.weights, start=1))
    return Folds(
        {"word": said, "weight": found.weights, "cosine with the mix": found.near},
        {"weights": found.weights, "mix": found.mix},
        {"layer": layer, "head": head, "row": row},
        told,
        {"causal.prefix": {}},
        (rf"y_{{{row + 1}}} = {terms}",),
        note_below=to_the_card,
        change=lambda: _heads(attention.weights, row, every, (layer, head), told),
    )


def opening() -> tuple[int, int]:
    """Return the head that looks back most sharply in the two sentences of the sources."""
    runs = [default().run(RunRequest(READER, text, keep=("*.pattern",))) for text in SENTENCES]
    far = masks.looks_back([run.attention("causal").weights for run in runs])
    layer, head = np.unravel_index(far.argmax(), far.shape)
    return int(layer), int(head)


def _head(run: Run) -> tuple[int, int]:
    """Return layer and head of the selection, or those of the opening."""
    first, config = engine_client.submit("word_vectors.opening", opening, 500), run.model.config
    layer = state.read("layer", first[0], state.one_of(range(config.n_layers)))
    return layer, state.read("head", first[1], state.one_of(range(config.n_heads)))


def _run(text: str) -> Run:
    return engine_client.run(READER, text, keep=("embed.*", "layer.*.resid_*", "*.pattern", "*.allowed"))


def _heads(
    weights: np.ndarray, row: int, names: list[str], head_in_view: tuple[int, int], revealed: bool
) -> None:
    """Draw the weight that each head gives from this row to one earlier word."""
    layers, count = weights.shape[:2]
    left, right = st.columns(2)
    with left:
        controls.select(_("Layer"), range(layers), "layer", head_in_view[0])
    with right:
        controls.select(_("Head"), range(count), "head", head_in_view[1])
    if not revealed:
        st.text(_("Guess first: the heads would give the answer away."))
        return
    names = names[: row + 1]
    asked, key = _("Attention of “{word}”, in each head, to", word=names[row]), f"{SLUG}.looked_at"
    to = names.index(st.selectbox(asked, names, index=min(1, row), key=key))
    shares = weights[:, :, row, to]
    page_parts.show(
        marks.cells(pd.DataFrame(shares), percent, x=_("head"), y=_("layer"), highlighted=head_in_view),
        f"{SLUG}.heads",
        _("How much weight each head gives from {word} to {key}.", word=names[row], key=names[to]),
    )
    most = np.unravel_index(shares.argmax(), (layers, count))
    name = head_name(int(most[0]), int(most[1]))
    page_parts.summary(
        _(
            "The head with most weight from “{word}” to “{key}” is {head}: {weight:.3f}.",
            word=names[row],
            key=names[to],
            head=name,
            weight=shares[most],
        )
    )
