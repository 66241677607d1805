"""Inside's second view: what the embedding, each attention and each feed-forward layer added to a logit, and which heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution.logit_attribution import Attribution, attribute
from core.analysis.attribution.target_token import OutputTarget
from core.run import Run
from viz.charts.layers import PICKED, parts_of_logit
from viz.labels import head_name, literal
from viz.number_text import signed, true_minus
from viz.shell import links, state
from viz.shell.pages import Page
from viz.widgets import controls, engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.importance.heads import by_head
from viz.workspace.shared import target_picker

KEY = "inside.parts"
KINDS = {"self": "attention", "causal": "attention", "cross": "cross-attention"}
EMBEDDING = {"token": "the word itself", "position": "its position", "segment": "its segment"}
REST = "biases"
SUM = r"\underbrace{w \cdot \mathrm{norm}(x)}_{\text{logit}} = \sum_{p} c \cdot p + \text{biases}, \qquad c = \mathrm{centred}\left(\frac{g \odot w}{\sigma}\right), \qquad x = \sum_{p} p"
BESIDE = r"\text{logit} = w \cdot [p_1; p_2; \dots] + b = \sum_{p} w_p \cdot p + b"
HEAD = " The head of fine-tuning reads one position, or the mean of all; then the parts of each position are added up. Its activation is held at the share that it let through."
CODE = """import core
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.attribution.logit_attribution import attribute

run = core.open_model({model!r}).run({text!r}{target})
found = attribute(run, OutputTarget(row={row}, token={token}, against={against}{activation}))
print(found.heads, found.feed_forward, found.total, found.logit)"""


def show(page: Page, params: Any, run: Run) -> None:
    asked = target_picker.pick_target(run, "inside")
    found = engine_client.submit(
        ("inside.parts", params, asked), lambda: attribute(run, asked), cost=2.0 * run.model.config.n_layers
    )
    names, values, hues = bars(found)
    wide = {
        f"L{layer} {KINDS[kind]}": (kind, layer)
        for kind in found.heads
        for layer in range(len(found.feed_forward))
    }
    strongest = max(wide, key=lambda name: abs(found.attention(wide[name][0])[wide[name][1]]))
    left, right = st.columns([3, 2], gap="large")
    with right:
        chosen = controls.select("Heads of", list(wide), "inside.part", strongest)
        kind, layer = wide[chosen]
        _heads(found, kind, layer)
    with left:
        figure = parts_of_logit(names, values, hues, (chosen,))
        page_parts.show(
            figure,
            KEY,
            "Direct logit attribution: what each part of the model added to the logit of the chosen word",
            lambda: _pick(wide),
        )
    page_parts.summary(_sentence(run, asked, found), "attribution")
    with st.container(horizontal=True, gap="medium"):
        best = int(np.abs(found.heads[kind][layer]).argmax())
        links.page_link(
            "look", f"See {head_name(layer, best)} in Look", view="full", kind=kind, layer=layer, head=best
        )
        links.page_link("importance", "What if a head were missing?", kind=kind, layer=layer, head=best)
    _folds(page, params, run, asked, found)


def bars(found: Attribution) -> tuple[list[str], list[float], list[str]]:
    """Return every part in the order of the computation: names, values, the kind of each part."""
    rows = [(EMBEDDING[name], value, "embedding") for name, value in found.embedding.items()]
    for layer, added in enumerate(found.feed_forward):
        rows += [
            (f"L{layer} {KINDS[kind]}", float(found.attention(kind)[layer]), "attention")
            for kind in found.heads
        ]
        rows += [(f"L{layer} {found.layer_part}", float(added), found.layer_part)]
    if not found.feed_forward.any():  # a model of attention alone
        rows = [row for row in rows if row[2] != found.layer_part]
    rows.append((REST, found.rest, "biases"))
    names, values, hues = (list(part) for part in zip(*rows, strict=True))
    return names, values, hues


def _heads(found: Attribution, kind: str, layer: int) -> None:
    heads, bias = found.heads[kind][layer], float(found.biases[kind][layer])
    names = [*(head_name(layer, head) for head in range(len(heads))), "its bias"]
    figure = parts_of_logit(names, [*heads.tolist(), bias], [*["attention"] * len(heads), "biases"])
    page_parts.show(figure, "inside.heads", "Bars: what each head of the chosen layer added")
    total = float(found.attention(kind)[layer])
    st.caption(
        literal(
            f"The heads of layer {layer} and the bias of their output map add up to {signed(total, '+.2f')}, the layer's bar."
        )
    )


def _pick(wide: dict[str, tuple[str, int]]) -> None:
    found = page_parts.clicked_mark(KEY, PICKED)
    if found and found["name"] in wide:
        state.write(**{"inside.part": found["name"]})


def _sentence(run: Run, asked: OutputTarget, found: Attribution) -> str:
    word = target_picker.question(run, asked)
    attention = sum(float(found.attention(kind).sum()) for kind in found.heads)
    others = "the feed-forward layers" if found.layer_part == "feed-forward" else f"the {found.layer_part}"
    shares = [
        ("the embedding", sum(found.embedding.values())),
        ("attention", attention),
        (others, float(found.feed_forward.sum())),
        ("biases", found.rest),
    ]
    listed = ", ".join(f"{name} {signed(value, '+.2f')}" for name, value in shares if value or name != others)
    what = f"The logit of {word}" if asked.against is None else f"The difference of logits of {word}"
    what = "The score" if asked.activation == "none" else what
    return f"{what} is {signed(found.logit)}: {listed}. Added up: {signed(found.total)}."


def _folds(page: Page, params: Any, run: Run, asked: OutputTarget, found: Attribution) -> None:
    with page_parts.fold(page_parts.EQUATION, "inside.who.equation") as fold:
        if fold.open:
            page_parts.equation(SUM if run.model.spec.stream[0] != "features_in" else BESIDE)
            st.text(
                true_minus(
                    f"{' '.join(f'{value:+.2f}' for value in bars(found)[1])} = {found.total:.2f}; the run gives {found.logit:.4f}, the parts add up to {found.total:.4f}."
                )
            )
    with page_parts.fold(page_parts.LOOKING, "inside.who.looking") as fold:
        if fold.open:
            st.markdown(_looking(run))
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: frame(found), "inside.who")
    code = CODE.format(
        model=params.model,
        text=params.text,
        target="" if run.source is None else f", target={run.target_text!r}",
        row=asked.row,
        token=asked.token,
        against=asked.against,
        activation=target_picker.activation_code(asked),
    )
    page_parts.export_fold(
        lambda: _arrays(found),
        code,
        key="inside.who",
    )


def _arrays(found: Attribution) -> dict[str, np.ndarray | Labelled]:
    """Return what each part added: heads and the bias of their layer by kind, layers, the rest."""
    layers = [f"L{i}" for i in range(len(found.feed_forward))]
    names, values, _ = bars(found)
    return {
        **{f"heads, {kind}": by_head(values) for kind, values in found.heads.items()},
        **{
            f"bias of the output map, {kind}": Labelled(values, {"layer": layers})
            for kind, values in found.biases.items()
        },
        found.layer_part: Labelled(found.feed_forward, {"layer": layers}),
        "every part": Labelled(np.array(values), {"part": names}),
    }


def _looking(run: Run) -> str:
    if run.model.spec.stream[0] == "features_in":
        return (
            "Every part of this model puts numbers of its own beside those that it read, and the output layer reads all of them at once, without a norm. So the logit of a word is a sum over "
            "the parts: each part's numbers times the output layer's weights for them. A bar to the right raises the logit, a bar to the left lowers it. Click an attention bar to see its heads.\n\n"
            "The bars add up exactly, but they do not show what the model would do without a part: what reads that part would then react. To measure that, ablate the part (What matters)."
        )
    post = getattr(run.model.config, "order", "post") == "post"
    words = (
        "The vector that the output layer reads is a sum: the word's embedding, and what every head and every feed-forward layer added to it. So the logit of a word, "
        "the score from which its probability is made, is a sum as well, and each bar is one term of it: a bar to the right raises the logit, a bar to the left lowers it. "
        "Click an attention bar to see its heads.\n\n"
        "One thing is held fixed: the norm before the output divides by the length of the whole sum, and every part is divided by that same number. "
        "So the bars add up exactly, but they do not show what the model would do without a part: other parts would then react. To measure that, ablate the part (What matters)."
    )
    if post:
        words += "\n\nThis model has a norm after every sub-layer, not only at the end: each bar is what is left of a part after all norms that follow, each held at its scale in this run."
    if run.model.main_output != "logits":
        words = words.replace("the score from which its probability is made, ", "").replace(
            "the logit of a word", "the score of a class, a tag, an edge or a text"
        )
        words += HEAD
    elif run.model.spec.framed:
        words += " Its output head also has an activation, which is held at the slope it had."
    return words


def frame(found: Attribution) -> pd.DataFrame:
    """Return every part down to the heads, and the sum."""
    rows = [(EMBEDDING[name], value) for name, value in found.embedding.items()]
    for kind, heads in found.heads.items():
        rows += [
            (f"{head_name(*place)} {KINDS[kind]}", float(heads[place])) for place in np.ndindex(heads.shape)
        ]
        rows += [
            (f"L{layer} {KINDS[kind]}, bias", float(value)) for layer, value in enumerate(found.biases[kind])
        ]
    rows += [(f"L{layer} {found.layer_part}", float(value)) for layer, value in enumerate(found.feed_forward)]
    rows += [(REST, found.rest), ("sum", found.total), ("logit of the run", found.logit)]
    return pd.DataFrame(rows, columns=pd.Index(["part", "added"]))
