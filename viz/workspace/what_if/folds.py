"""The closed folds of What if."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.residual.delta import PredictionChange
from core.analysis.task_outputs import activation_of
from core.edits.serialize import to_text
from viz.labels import distinct, visible
from viz.languages import _, mark
from viz.shell.pages import Page
from viz.widgets import page_parts
from viz.widgets.export import Labelled
from viz.workspace.shared import model_run
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.what_if import data
from viz.workspace.what_if.data import Change
from viz.workspace.what_if.views import AttentionChanges

EQUATION = r"\mathrm{out} = b + \sum_{i=1}^{h} z_i W^O_i, \qquad z_i \to 0 \;\;\text{(zero-ablate)}, \quad z_i \to \bar z_i \;\;\text{(mean-ablate)}"
LOOKING = mark(
    "A model is run twice on the same input; the second time one value on the way is changed, and everything after it is computed from the changed value. "
    "Nothing is trained again, and the model itself is not touched. *Zero-ablate* sets a head's output to zero. That can mislead: later layers have learned to read a stream to which this head always adds something. *Mean-ablate* sets it to its mean over our sentences instead (for a model of letters, over lines of its own task; for a model of pictures, over our drawings), so only its contribution that is special to this text is removed. "
    "If both ablations agree, the head matters here; if only zero-ablation hurts, the model needs the head's constant part. An ablated head still attends as before: only its output is replaced. A 0 in the pictures is exact, not one bit moved; layers before the change always have it, "
    "and in a model that reads from left to right so has everything to the left."
)
FIRST_ROW = mark(
    "In the first row {head} adds a vector of length {written:.2f} to a stream of length {stream:.2f}: one of {n} heads of its layer."
)
LAST_ROW = mark(
    "In the last row {head} adds a vector of length {written:.2f} to a stream of length {stream:.2f}: one of {n} heads of its layer."
)
CODE = """import core
import numpy as np
from core.edits.serialize import from_text

model = core.open_model({model!r})
edits = from_text({edits!r})
before, after = model.run({text!r}{target}), model.run({text!r}{target}, edits=edits)
for name, run in (("before", before), ("after", after)):
    scores = run.scores[{row}].astype(float)
    chances = {chances}
    print(name, [(run.choice(i), f"{number}") for i in chances.argsort()[::-1][:5].tolist()])"""

CHANCES = {
    "softmax": "np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()",
    "sigmoid": "1 / (1 + np.exp(-scores))",
    "none": "scores",
}
"""Lines of Python that make of scores what the page shows."""


def show(
    page: Page,
    change: Change,
    prediction: PredictionChange | None,
    changes: AttentionChanges,
    head_ref: HeadRef,
) -> None:
    with page_parts.fold(page_parts.EQUATION, "what_if.equation") as fold:
        if fold.open:
            page_parts.equation(EQUATION)
            page_parts.summary(_sizes(change))
    with page_parts.fold(page_parts.LOOKING, "what_if.looking") as fold:
        if fold.open:
            st.markdown(_(LOOKING))
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: _table(prediction, changes), "what_if")
    target = f", target={change.before.target_text!r}" if change.before.source is not None else ""
    code = CODE.format(
        model=change.before.model.name,
        edits=to_text(change.edits),
        text=data.text_of(change.before),
        target=target,
        row=-1 if change.row is None else change.row,
        chances=CHANCES[activation_of(change.before.model)],
        number="{chances[i]:.3f}"
        if change.before.model.main_output == "score"
        else "{100 * chances[i]:.1f}%",
    )
    page_parts.export_fold(lambda: _arrays(change, changes, head_ref), code, key="what_if")


def _sizes(change: Change) -> str:
    """Return the length of the head's output, beside that of the stream it is added to."""
    path = change.path("heads")
    entering = f"{change.kind.stack}.{change.place.layer}.{change.before.model.spec.stream[0]}"
    run = model_run.rerun(change.before, (path, entering))
    config, place = change.before.model.config, change.place
    weight = change.kind.module(change.before.model.network, place.layer).to_out.weight.detach().numpy()
    part = weight[:, place.head * config.d_head : (place.head + 1) * config.d_head]
    row = change.position if change.before.model.whole_input else -1
    written = np.linalg.norm(run.trace[path][place.head, row] @ part.T)
    stream = np.linalg.norm(run.trace[entering][row])
    return _(
        FIRST_ROW if row == 0 else LAST_ROW,
        head=place,
        written=float(written),
        stream=float(stream),
        n=config.n_heads,
    )


def _table(prediction: PredictionChange | None, changes: AttentionChanges) -> pd.DataFrame:
    """Return the output in probabilities, and below it how far each head's attention changed, in bits."""
    said = (
        []
        if prediction is None
        else [
            (visible(word), float(a), float(b), float(b - a))
            for word, a, b in zip(prediction.words, prediction.before, prediction.after, strict=True)
        ]
    )
    heads = [
        (
            f"{HeadRef(kind, i, j)}{'' if len(changes.heads) == 1 else ' ' + kind}",
            None,
            None,
            float(table[i, j]),
        )
        for kind, table in changes.heads.items()
        for i, j in np.ndindex(table.shape)
    ]
    return pd.DataFrame([*said, *heads], columns=[_("what"), _("before"), _("after"), _("change")])


def _arrays(change: Change, changes: AttentionChanges, head_ref: HeadRef) -> dict[str, np.ndarray | Labelled]:
    found = change.before.attention(head_ref.kind)
    before, after = (
        run.attention(head_ref.kind).weights[head_ref.layer, head_ref.head]
        for run in (change.before, change.after)
    )
    axes = {"query": distinct(found.queries), "key": distinct(found.keys)}
    return {
        "queries": np.array(found.queries),
        "keys": np.array(found.keys),
        "before": Labelled(before, axes),
        "after": Labelled(after, axes),
        "stream_moved": changes.stream,
    } | {
        f"moved_{kind}": Labelled(table, {"layer": None, "head": None})
        for kind, table in changes.heads.items()
    }
