"""Inside's second view: what the embedding, each attention and each feed-forward layer added to a logit, and which heads."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution.logit_attribution import Attribution, attribute
from core.analysis.attribution.target_token import OutputTarget
from core.run import Run
from viz.charts.layers import parts_of_logit
from viz.charts.marks import PICKED
from viz.labels import head_name, literal
from viz.languages import _, mark
from viz.number_text import signed, true_minus
from viz.shell import links, state
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import controls, engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.importance.heads import by_head
from viz.workspace.shared import target_picker

KEY = "inside.parts"
KINDS = {"self": mark("attention"), "causal": mark("attention"), "cross": mark("cross-attention")}
EMBEDDING = {
    **{"token": mark("the word itself"), "position": mark("its position")},
    **{"segment": mark("its segment")},
}
REST = mark("biases")
_PLACE = re.compile(r"L\d+(\.H\d+)? ")
SUM = r"\underbrace{w \cdot \mathrm{norm}(x)}_{\text{logit}} = \sum_{p} c \cdot p + \text{biases}, \qquad c = \mathrm{centred}\left(\frac{g \odot w}{\sigma}\right), \qquad x = \sum_{p} p"
CONCATENATED = r"\text{logit} = w \cdot [p_1; p_2; \dots] + b = \sum_{p} w_p \cdot p + b"
HEAD = mark(
    " The head of fine-tuning reads one position, or the mean of all; then the parts of each position are added up. Its activation is held at the share that it let through."
)
OUTPUT_HEAD = mark(" Its output head also has an activation, which is held at the slope it had.")
CONCATENATION = mark(
    "Every part of this model puts numbers of its own beside those that it read, and the output layer reads all of them at once, without a norm. So the logit of a word is a sum over the parts: each part's numbers times the output layer's weights for them. A bar to the right raises the logit, a bar to the left lowers it. Click an attention bar to see its heads.\n\n"
    "The bars add up exactly, but they do not show what the model would do without a part: what reads that part would then react. To measure that, ablate the part (What matters)."
)
SUM_OF_LOGIT = mark(
    "The vector that the output layer reads is a sum: the word's embedding, and what every head and every feed-forward layer added to it. So the logit of a word, the score from which its probability is made, is a sum as well, and each bar is one term of it: a bar to the right raises the logit, a bar to the left lowers it. Click an attention bar to see its heads."
)
SUM_OF_SCORE = mark(
    "The vector that the output layer reads is a sum: the word's embedding, and what every head and every feed-forward layer added to it. So the score of a class, a tag, an edge or a text, is a sum as well, and each bar is one term of it: a bar to the right raises the logit, a bar to the left lowers it. Click an attention bar to see its heads."
)
FIXED_NORM = mark(
    "One thing is held fixed: the norm before the output divides by the length of the whole sum, and every part is divided by that same number. So the bars add up exactly, but they do not show what the model would do without a part: other parts would then react. To measure that, ablate the part (What matters)."
)
POST_NORM = mark(
    "This model has a norm after every sub-layer, not only at the end: each bar is what is left of a part after all norms that follow, each held at its scale in this run."
)
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
        chosen = controls.select(_("Heads of"), list(wide), "inside.part", strongest, on_screen)
        kind, layer = wide[chosen]
        _heads(found, kind, layer)
    with left:
        figure = parts_of_logit([on_screen(name) for name in names], values, hues, (on_screen(chosen),))
        page_parts.show(
            figure,
            KEY,
            _("Direct logit attribution: what each part of the model added to the logit of the chosen word"),
            lambda: _pick(wide),
        )
    page_parts.summary(_sentence(run, asked, found), "attribution")
    with st.container(horizontal=True, gap="medium"):
        best = int(np.abs(found.heads[kind][layer]).argmax())
        links.page_link(
            "look",
            _("See {head} in Look", head=head_name(layer, best)),
            view="full",
            kind=kind,
            layer=layer,
            head=best,
        )
        links.page_link("importance", _("What if a head were missing?"), kind=kind, layer=layer, head=best)
    _folds(page, selection, run, asked, found)


def on_screen(name: str) -> str:
    """Return the name of a part in the visitor's language; layer and head, which may stand before it, stay.

    >>> on_screen("L3 cross-attention"), on_screen("the word itself")
    ('L3 cross-attention', 'the word itself')
    """
    place = _PLACE.match(name)
    start = place[0] if place else ""
    return start + _(name.removeprefix(start))


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
    names = [*(head_name(layer, head) for head in range(len(heads))), _("its bias")]
    figure = parts_of_logit(names, [*heads.tolist(), bias], [*["attention"] * len(heads), "biases"])
    page_parts.show(figure, "inside.heads", _("Bars: what each head of the chosen layer added"))
    total = float(attribution.attention(kind)[layer])
    st.caption(
        literal(
            _(
                "The heads of layer {layer} and the bias of their output map add up to {total}, the layer's bar.",
                layer=layer,
                total=signed(total, "+.2f"),
            )
        )
    )


def _pick(wide: dict[str, tuple[str, int]]) -> None:
    found = page_parts.clicked_mark(KEY, PICKED)
    chosen = next((name for name in wide if found and on_screen(name) == found["name"]), None)
    if chosen is not None:
        state.write(**{"inside.part": chosen})


def _sentence(run: Run, target: OutputTarget, attribution: Attribution) -> str:
    word = target_picker.target_phrase(run, target)
    attention = sum(float(attribution.attention(kind).sum()) for kind in attribution.heads)
    others = (
        _("the feed-forward layers")
        if attribution.layer_part == "feed-forward"
        else _("the {part}", part=_(attribution.layer_part))
    )
    shares = [
        (_("the embedding"), sum(attribution.embedding.values())),
        (_("attention"), attention),
        (others, float(attribution.feed_forward.sum())),
        (_(REST), attribution.rest),
    ]
    listed = ", ".join(f"{name} {signed(value, '+.2f')}" for name, value in shares if value or name != others)
    if target.activation == "none":
        what = _("The score")
    elif target.against is None:
        what = _("The logit of {asked}", asked=word)
    else:
        what = _("The difference of logits of {asked}", asked=word)
    return _(
        "{what} is {logit}: {listed}. Added up: {total}.",
        what=what,
        logit=signed(attribution.logit),
        listed=listed,
        total=signed(attribution.total),
    )


def _folds(
    page: Page, selection: Selection, run: Run, target: OutputTarget, attribution: Attribution
) -> None:
    with page_parts.fold(page_parts.EQUATION, "inside.who.equation") as fold:
        if fold.open:
            page_parts.equation(SUM if run.model.spec.stream[0] != "features_in" else CONCATENATED)
            st.text(
                true_minus(
                    _(
                        "{parts} = {total:.2f}; the run gives {logit:.4f}, the parts add up to {total:.4f}.",
                        parts=" ".join(f"{value:+.2f}" for value in bars(attribution)[1]),
                        total=float(attribution.total),
                        logit=float(attribution.logit),
                    )
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
    names, values, _hues = bars(attribution)
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
        return _(CONCATENATION)
    logits = run.model.main_output == "logits"
    words = f"{_(SUM_OF_LOGIT if logits else SUM_OF_SCORE)}\n\n{_(FIXED_NORM)}"
    if getattr(run.model.config, "order", "post") == "post":
        words += f"\n\n{_(POST_NORM)}"
    if not logits:
        words += _(HEAD)
    elif run.model.spec.framed:
        words += _(OUTPUT_HEAD)
    return words


def frame(attribution: Attribution) -> pd.DataFrame:
    """Return every part down to the heads, and the sum."""
    rows = [(_(EMBEDDING[name]), value) for name, value in attribution.embedding.items()]
    for kind, heads in attribution.heads.items():
        rows += [
            (on_screen(f"{head_name(*place)} {KINDS[kind]}"), float(heads[place]))
            for place in np.ndindex(heads.shape)
        ]
        rows += [
            (_("{part}, bias", part=on_screen(f"L{layer} {KINDS[kind]}")), float(value))
            for layer, value in enumerate(attribution.biases[kind])
        ]
    rows += [
        (on_screen(f"L{layer} {attribution.layer_part}"), float(value))
        for layer, value in enumerate(attribution.feed_forward)
    ]
    rows += [
        (_(REST), attribution.rest),
        (_("sum"), attribution.total),
        (_("logit of the run"), attribution.logit),
    ]
    return pd.DataFrame(rows, columns=pd.Index([_("part"), _("added")]))
