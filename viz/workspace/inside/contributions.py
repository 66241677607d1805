"""Inside's second view: what the embedding, each attention and each feed-forward layer added to a logit, and which heads."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution.logit_attribution import Attribution, attribute
from core.analysis.attribution.target_token import OutputTarget
from core.run import Run
from viz.charts.layers import parts_of_logit
from viz.charts.marks import PICKED
from viz.labels import head_name, literal
from viz.number_text import signed, true_minus
from viz.shell import links, state
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import controls, engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.importance.heads import by_head
from viz.workspace.shared import target_picker

KEY = "inside.parts"
KINDS = {"self": "attention", "causal": "attention", "cross": "cross-attention"}
EMBEDDING = {"token": "the word itself", "position": "its position", "segment": "its segment"}
REST = "biases"
SUM = r"\underbrace{w \cdot \mathrm{norm}(x)}_{\text{logit}} = \sum_{p} c \cdot p + \text{biases}, \qquad c = \mathrm{centred}\left(\frac{g \odot w}{\sigma}\right), \qquad x = \sum_{p} p"
CONCATENATED = r"\text{logit} = w \cdot [p_1; p_2; \dots] + b = \sum_{p} w_p \cdot p + b"
HEAD = " The head of fine-tuning reads one position, or the mean of all; then the parts of each position are added up. Its activation is held at the share that it let through."
CODE = """import core
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.attribution.logit_attribution import attribute

run = core.open_model({model!r}).run({text!r}{target})
found = attribute(run, OutputTarget(row={row}, token={token}, against={against}{activation}))
print(found.heads, found.feed_forward, found.total, found.logit)"""


def show(page: Page, selection: Selection, run: Run) -> None:
    asked = target_picker.pick_target(run, "inside")
    found = engine_client.submit(
        ("inside.parts", selection, asked),
        lambda: attribute(run, asked),
        cost=2.0 * run.model.config.n_layers,
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
    _folds(page, selection, run, asked, found)


def bars(attribution: Attribution) -> tuple[list[str], list[float], list[str]]:
    """Return every part in the order of the computation: names, values, the kind of each part."""
    rows = [(EMBEDDING[name], value, "embedding") for name, value in attribution.embedding.items()]
    for layer, added in enumerate(attribution.feed_forward):
        rows += [
            (f"L{layer} {KINDS[kind]}", float(attribution.attention(kind)[layer]), "attention")
            for kind in attribution.heads
        ]
        rows += [(f"L{layer} {attribution.layer_part}", float(added), attribution.layer_part)]
    if not attribution.feed_forward.any():  # a model of attention alone
        rows = [row for row in rows if row[2] != attribution.layer_part]
    rows.append((REST, attribution.rest, "biases"))
    names, values, hues = (list(part) for part in zip(*rows, strict=True))
    return names, values, hues


def _heads(attribution: Attribution, kind: str, layer: int) -> None:
    heads, bias = attribution.heads[kind][layer], float(attribution.biases[kind][layer])
    names = [*(head_name(layer, head) for head in range(len(heads))), "its bias"]
    figure = parts_of_logit(names, [*heads.tolist(), bias], [*["attention"] * len(heads), "biases"])
    page_parts.show(figure, "inside.heads", "Bars: what each head of the chosen layer added")
    total = float(attribution.attention(kind)[layer])
    st.caption(
        literal(
            f"The heads of layer {layer} and the bias of their output map add up to {signed(total, '+.2f')}, the layer's bar."
        )
    )


def _pick(wide: dict[str, tuple[str, int]]) -> None:
    found = page_parts.clicked_mark(KEY, PICKED)
    if found and found["name"] in wide:
        state.write(**{"inside.part": found["name"]})


def _sentence(run: Run, target: OutputTarget, attribution: Attribution) -> str:
    word = target_picker.target_phrase(run, target)
    attention = sum(float(attribution.attention(kind).sum()) for kind in attribution.heads)
    others = (
        "the feed-forward layers"
        if attribution.layer_part == "feed-forward"
        else f"the {attribution.layer_part}"
    )
    shares = [
        ("the embedding", sum(attribution.embedding.values())),
        ("attention", attention),
        (others, float(attribution.feed_forward.sum())),
        ("biases", attribution.rest),
    ]
    listed = ", ".join(f"{name} {signed(value, '+.2f')}" for name, value in shares if value or name != others)
    what = f"The logit of {word}" if target.against is None else f"The difference of logits of {word}"
    what = "The score" if target.activation == "none" else what
    return f"{what} is {signed(attribution.logit)}: {listed}. Added up: {signed(attribution.total)}."


def _folds(
    page: Page, selection: Selection, run: Run, target: OutputTarget, attribution: Attribution
) -> None:
    with page_parts.fold(page_parts.EQUATION, "inside.who.equation") as fold:
        if fold.open:
            page_parts.equation(SUM if run.model.spec.stream[0] != "features_in" else CONCATENATED)
            st.text(
                true_minus(
                    f"{' '.join(f'{value:+.2f}' for value in bars(attribution)[1])} = {attribution.total:.2f}; the run gives {attribution.logit:.4f}, the parts add up to {attribution.total:.4f}."
                )
            )
    with page_parts.fold(page_parts.LOOKING, "inside.who.looking") as fold:
        if fold.open:
            st.markdown(_looking(run))
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: frame(attribution), "inside.who")
    code = CODE.format(
        model=selection.model,
        text=selection.text,
        target="" if run.source is None else f", target={run.target_text!r}",
        **target_picker.arguments(target),
    )
    page_parts.export_fold(
        lambda: _arrays(attribution),
        code,
        key="inside.who",
    )


def _arrays(attribution: Attribution) -> dict[str, np.ndarray | Labelled]:
    """Return what each part added: heads and the bias of their layer by kind, layers, the rest."""
    layers = [f"L{i}" for i in range(len(attribution.feed_forward))]
    names, values, _ = bars(attribution)
    return {
        **{f"heads, {kind}": by_head(values) for kind, values in attribution.heads.items()},
        **{
            f"bias of the output map, {kind}": Labelled(values, {"layer": layers})
            for kind, values in attribution.biases.items()
        },
        attribution.layer_part: Labelled(attribution.feed_forward, {"layer": layers}),
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


def frame(attribution: Attribution) -> pd.DataFrame:
    """Return every part down to the heads, and the sum."""
    rows = [(EMBEDDING[name], value) for name, value in attribution.embedding.items()]
    for kind, heads in attribution.heads.items():
        rows += [
            (f"{head_name(*place)} {KINDS[kind]}", float(heads[place])) for place in np.ndindex(heads.shape)
        ]
        rows += [
            (f"L{layer} {KINDS[kind]}, bias", float(value))
            for layer, value in enumerate(attribution.biases[kind])
        ]
    rows += [
        (f"L{layer} {attribution.layer_part}", float(value))
        for layer, value in enumerate(attribution.feed_forward)
    ]
    rows += [(REST, attribution.rest), ("sum", attribution.total), ("logit of the run", attribution.logit)]
    return pd.DataFrame(rows, columns=pd.Index(["part", "added"]))
