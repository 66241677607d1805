"""What matters, third view: which words one output rests on, by readings of the weights and by taking the words away."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution.ablation_sweep import Item
from core.analysis.attribution.target_token import Asked
from core.analysis.attribution.token_importance import (
    KEEP,
    attention_gradient,
    hidden_from,
    ranks_agree,
    shares,
)
from core.run import Run
from viz.instruments import heatmap
from viz.shell.pages import Page
from viz.widgets import engine_client, page_parts
from viz.workspace.importance import heads
from viz.workspace.importance.work import cost, each, short
from viz.workspace.shared import target_picker

GRADIENT, TAKEN = "gradient-weighted", "word ablated"
SHARES = r"s_j \propto \textstyle\sum_h a_{rj}, \quad \text{rollout}_{rj}, \quad \sum_h a_{rj} \lVert v_j W_O \rVert, \quad \sum_{\ell,h,i} \max\left(0, a_{ij} \tfrac{\partial f}{\partial a_{ij}}\right), \quad \max(0, f - f_{\setminus j})"
CODE = """import core
from core.analysis.attribution.target_token import Asked
from core.analysis.attribution.ablation_sweep import Item
from core.analysis.attribution.token_importance import attention_gradient, hidden_from, shares

model, item = core.open_model({model!r}), Item({text!r}{target})
asked = Asked(row={row}, token={token}, against={against})
print(shares(item.run(model), asked, {kind!r}), attention_gradient(model, item, asked, {kind!r}))
print([asked.value(item.run(model, edits=[hidden_from(model, {kind!r}, key)]).logits) for key in range({n})])"""


def show(page: Page, params: Any, run: Run) -> None:
    asked = target_picker.asked(run, "importance")
    kind = heads.kind_of(run)
    found, drops, keys = readings(params, run, asked, kind)
    words = [target_picker.word(token) for token in keys]
    rows = np.stack(list(found.values()))
    heatmap(
        rows,
        list(found),
        words,
        key=f"importance.words.{kind}",
        axis=("reading", "word"),
        title=f"Shares of {target_picker.question(run, asked)}",
        numbers=len(words) <= 24,
        height=300,
        margins=False,
    )
    page_parts.numbers(_sentence(found, words, drops), "ablation")
    _folds(page, params, run, asked, kind, found, drops, words)


def readings(
    params: Any, run: Run, asked: Asked, kind: str
) -> tuple[dict[str, np.ndarray], np.ndarray, tuple[str, ...]]:
    """Shares by reading, the change of the asked number without each word, and the words."""
    model, item, one = run.model, Item(params.text, run.target_text), cost(run)
    family = model.spec.kind(kind)
    side = run.source if family.keys == "source" and run.source else run.side
    n = asked.row + 1 if kind == "causal" else side.n_real  # what comes later cannot count
    short(run, n)
    queries = asked.row if family.queries == "target" or run.source is None else None
    here = (params.model, params.text, run.target_text, kind)
    found: dict[str, np.ndarray] = {}
    if queries is not None:
        kept = engine_client.run(params.model, params.text, target=run.target_text, keep=KEEP)
        found = {name: values[:n] for name, values in shares(kept, asked, kind).items()}
    found[GRADIENT] = engine_client.submit(
        ("importance.words.gradient", *here, asked),
        lambda: attention_gradient(model, item, asked, kind),
        3 * one,
    )[:n]

    def without(key: int) -> float:
        return asked.value(item.run(model, keep=(), edits=(hidden_from(model, kind, key),)).logits)

    after = each(
        [(("importance.words", *here, asked, key), partial(without, key)) for key in range(n)],
        one,
        "Taking words away:",
    )
    drops = asked.value(run.logits) - np.array(after)
    worth = np.maximum(drops, 0)
    found[TAKEN] = worth / (worth.sum() or 1.0)
    return found, drops, side.tokens[:n]


def _sentence(found: dict[str, np.ndarray], words: list[str], drops: np.ndarray) -> str:
    top = {name: words[int(values.argmax())] for name, values in found.items()}
    agree = {name: ranks_agree(values, drops) for name, values in found.items() if name != TAKEN}
    best = max(agree, key=lambda name: agree[name])
    listed = ", ".join(f"{name} “{word}”" for name, word in top.items() if name != TAKEN)
    said = ", ".join(f"{name} {target_picker.signed(value)}" for name, value in agree.items())
    costs = (
        f"“{top[TAKEN]}” costs most ({drops.max():.2f} nats)"
        if drops.max() > 0
        else "none of the words costs anything"
    )
    return (
        f"Most on: {listed}. Left out of attention everywhere, {costs}. "
        f"{f'{target_picker.begin(best)} orders the words most like that' if agree[best] > 0.3 else 'None of them orders the words like that'} (rank correlation: {said})."
    )


def _folds(
    page: Page,
    params: Any,
    run: Run,
    asked: Asked,
    kind: str,
    found: dict[str, np.ndarray],
    drops: np.ndarray,
    words: list[str],
) -> None:
    with page_parts.fold(page_parts.EQUATION, "importance.words.equation") as fold:
        if fold.open:
            page_parts.equation(SHARES)
            page_parts.dataframe(_frame(found, drops, words), hide_index=True, key="importance.words.rows")
    with page_parts.fold(page_parts.LOOKING, "importance.words.looking") as fold:
        if fold.open:
            st.markdown(
                "Each row shares out one whole among the words. **attention**: what the last layer's heads give each word, on average. **rollout**: the same followed through all layers as if "
                "attention were all that mixes. **value-weighted**: each weight times the length of what it brings; a large weight on a value near zero moves nothing. "
                "**gradient-weighted** (attention × gradient): the weights of all layers, each times how steeply it drives the chosen word. **word ablated**: no word may look at this one any more, in any layer, and "
                "the fall of ln p is its share.\n\nThe rows differ, and that is the point: a weight is where a head looks, not what the output rests on. The last row is an "
                "experiment, but it too has a view of its own: the word stays in its place and goes on through the residual stream, only attention to it is cut; and two words that say the same can each be missed."
            )
    page_parts.documents(page)
    page_parts.as_table(lambda: _frame(found, drops, words), "importance.words")
    target = "" if run.source is None else f", {run.target_text!r}"
    code = CODE.format(
        model=params.model,
        text=params.text,
        target=target,
        row=asked.row,
        token=asked.token,
        against=asked.against,
        kind=kind,
        n=len(words),
    )
    page_parts.take_away(lambda: found | {"change without the word": -drops}, code, key="importance.words")


def _frame(found: dict[str, np.ndarray], drops: np.ndarray, words: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "word": words,
            **{name: values.round(4) for name, values in found.items()},
            "change of ln p without it": (-drops).round(4),
        }
    )
