"""Third view of What matters: the words, or patches, on which one output rests, by readings of the weights and by erasing them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution import erasing
from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.integrated_gradients import IntegratedGradients, integrated_gradients
from core.analysis.attribution.target_token import OutputTarget, read_positions
from core.analysis.attribution.token_importance import (
    KEEP,
    attention_gradient,
    attention_shares,
    input_gradient,
    key_mask,
    spearman,
)
from core.run import Run
from core.trace import Edit
from viz.charts import marks
from viz.instruments import heatmap
from viz.instruments.picture import patches
from viz.labels import distinct, percent
from viz.number_text import signed, true_minus
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.importance import heads
from viz.workspace.importance.work import cost, each, short
from viz.workspace.shared import model_run, target_picker

GRADIENT, INPUT, TAKEN = "gradient-weighted", "gradient × input", "word ablated"
INTEGRATED, STEPS = "integrated gradients", 32
HINT = "Choose one, point at a patch for its share."
PAINTED, PATCH = "patch painted over", "patch ablated"
SHARES = r"s_j \propto \textstyle\sum_h a_{rj}, \quad \text{rollout}_{rj}, \quad \sum_h a_{rj} \lVert v_j W_O \rVert, \quad \sum_{\ell,h,i} \max\left(0, a_{ij} \tfrac{\partial f}{\partial a_{ij}}\right), \quad \left| x_j \cdot \tfrac{\partial f}{\partial x_j} \right|, \quad \left| x_j \cdot \textstyle\int_0^1 \tfrac{\partial f}{\partial x_j}(\alpha x) \, d\alpha \right|, \quad \max(0, f - f_{\setminus j})"
ON_PICTURES = (
    "Each picture shares out one whole among the patches and the class token. **attention**: what the last layer's heads give each patch when the class token looks, on average. "
    "**rollout**: attention followed through all layers, as if nothing else mixed the vectors. **value-weighted**: each weight times the length of what it brings. **gradient-weighted** "
    "(attention × gradient): the weights of all layers, each times how steeply it drives the class. **gradient × input**: each patch's vector times how steeply it drives the class, without a sign. **integrated gradients**: the same, the slope averaged on the way from vectors of zeros to these; with their signs they add up to the change on that way. "
    "**patch painted over**: the patch is made black, as the ground is, and the fall of ln p is its share; a patch that is black already has none. **patch ablated**: nothing may look at this place any more, in any layer.\n\n"
    "The pictures differ, and that is the point: a weight is where a head looks, not what the output rests on. The last two are experiments, but they too have a view of their own: a picture with a black hole is "
    "one that the model never saw in training, and two patches that say the same can each be missed."
)
CODE = """import core
from core.analysis.attribution.target_token import OutputTarget, read_positions
from core.analysis.attribution import erasing
from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.integrated_gradients import IntegratedGradients, integrated_gradients
from core.analysis.attribution.integrated_gradients import integrated_gradients
from core.analysis.attribution.token_importance import attention_gradient, key_mask, attention_shares

model, item = core.open_model({model!r}), ModelInput({text!r}{target})
asked = OutputTarget(row={row}, token={token}, against={against}{activation})
print(attention_shares(item.run(model), asked, {kind!r}), attention_gradient(model, item, asked, {kind!r}))
print(integrated_gradients(model, item, asked, steps=32))
print([asked.value(item.run(model, edits=[key_mask(model, {kind!r}, key)]).scores) for key in range({n})])"""


def show(page: Page, selection: Selection, run: Run) -> None:
    question = target_picker.pick_target(run, "importance")
    kind = heads.kind_of(run)
    shares, drops, keys = readings(selection, run, question, kind)
    picture = patches.reads_patches(run.model)
    words = patches.patch_names(keys) if picture else [target_picker.word(token) for token in keys]
    rows, title = np.stack(list(shares.values())), f"Shares of {target_picker.target_phrase(run, question)}"
    if picture:
        patches.on_patches(
            run,
            rows,
            rows=list(shares),
            say=patches.SHARES,
            hint=HINT,
            form="all",
            title=title,
            key=f"importance.patches.{kind}",
        ).show()
    else:
        heatmap(
            rows,
            list(shares),
            words,
            key=f"importance.words.{kind}",
            axis=("reading", "word"),
            title=title,
            numbers=len(words) <= 24,
            height=300,
            margins=False,
        )
    unit = target_picker.unit(question).removeprefix(",")
    page_parts.summary(_sentence(shares, words, drops, "patches" if picture else "words", unit), "ablation")
    _folds(page, selection, run, question, kind, shares, drops, words)


def readings(
    selection: Selection, run: Run, target: OutputTarget, kind: str
) -> tuple[dict[str, np.ndarray], np.ndarray, tuple[str, ...]]:
    """Return shares by reading, the change of the number without each word or patch, and their names."""
    model, item, one = run.model, ModelInput(selection.text, run.target_text), cost(run)
    family = model.spec.kind(kind)
    side = run.source if family.keys == "source" and run.source else run.side
    last = max(read_positions(run, target)) + 1
    n = last if kind == "causal" else side.n_real  # what comes later cannot count
    short(run, n)
    looks = family.queries == "target" or run.source is None
    here = (selection.model, selection.text, run.target_text, kind)
    found: dict[str, np.ndarray] = {}
    if looks:
        kept = model_run.rerun(run, KEEP)
        found = {name: values[:n] for name, values in attention_shares(kept, target, kind).items()}
    found[GRADIENT] = engine_client.submit(
        ("importance.words.gradient", *here, target),
        lambda: attention_gradient(model, item, target, kind),
        3 * one,
    )[:n]
    if run.source is None:
        found[INPUT] = engine_client.submit(
            ("importance.words.input", *here, target), lambda: input_gradient(model, item, target), 3 * one
        )[:n]
        found[INTEGRATED] = _share(_integrated(selection, run, target).values[:n])
    plain, picture = target.value(run.scores), patches.reads_patches(model)

    def falls(edit: Callable[[int], Edit], name: str) -> np.ndarray:
        """Return how far the number falls without each key."""

        def value_without(key: int) -> float:
            return target.value(item.run(model, keep=(), edits=(edit(key),)).scores)

        work = [((name, *here, target, key), partial(value_without, key)) for key in range(n)]
        return plain - np.array(each(work, one, f"Taking {'patches' if picture else 'words'} away:"))

    drops = falls(lambda key: key_mask(model, kind, key), "importance.words")
    if picture:
        painted = falls(lambda key: erasing.key_erasure(model, kind, key), "importance.painted")
        found[PAINTED] = _worth(np.where(np.arange(n) > 0, painted, 0.0))
    found[PATCH if picture else TAKEN] = _worth(drops)
    return found, drops, side.tokens[:n]


def _integrated(selection: Selection, run: Run, target: OutputTarget) -> IntegratedGradients:
    """Return the integrated gradients of the number for each token or patch."""
    item = ModelInput(selection.text, run.target_text)
    return engine_client.submit(
        ("importance.words.integrated", selection.model, selection.text, run.target_text, target),
        lambda: integrated_gradients(run.model, item, target, steps=STEPS),
        3 * STEPS * cost(run),
    )


def _share(values: np.ndarray) -> np.ndarray:
    """Return the sizes of values as shares of their sum."""
    sizes = np.abs(values)
    return sizes / (sizes.sum() or 1.0)


def _worth(drops: np.ndarray) -> np.ndarray:
    worth = np.maximum(drops, 0)
    return worth / (worth.sum() or 1.0)


def _sentence(
    shares: dict[str, np.ndarray], words: list[str], drops: np.ndarray, units: str, unit: str
) -> str:
    *_, taken = shares
    top = {name: words[int(values.argmax())] for name, values in shares.items()}
    agree = {name: spearman(values, drops) for name, values in shares.items() if name != taken}
    best = max(agree, key=lambda name: agree[name])
    readings = [name for name in top if name != taken]
    listed = "; ".join(
        f"“{word}” by {', '.join(name for name in readings if top[name] == word)}"
        for word in dict.fromkeys(top[name] for name in readings)
    )
    said = ", ".join(f"{name} {signed(value)}" for name, value in agree.items())
    costs = (
        f"“{top[taken]}” costs most ({drops.max():.2f}{unit})"
        if drops.max() > 0
        else f"none of the {units} costs anything"
    )
    return (
        f"Largest share: {listed}. Left out of attention everywhere, {costs}. "
        f"{f'{target_picker.begin(best)} orders the {units} most like that' if agree[best] > 0.3 else f'None of them orders the {units} like that'} (rank correlation: {said})."
    )


def _folds(
    page: Page,
    selection: Selection,
    run: Run,
    question: OutputTarget,
    kind: str,
    shares: dict[str, np.ndarray],
    drops: np.ndarray,
    words: list[str],
) -> None:
    with page_parts.fold("Erased in this order", "importance.words.erasing") as fold:
        if fold.open:
            _erasing(selection, run, question, kind, shares)
    with page_parts.fold(page_parts.EQUATION, "importance.words.equation") as fold:
        if fold.open:
            page_parts.equation(SHARES)
            page_parts.dataframe(_frame(shares, drops, words), hide_index=True, key="importance.words.rows")
            if INTEGRATED in shares:
                found = _integrated(selection, run, question)
                st.text(
                    true_minus(
                        f"Integrated gradients, with their signs, add up to {found.values.sum():.3f}; the output goes from {found.baseline_output:.3f}, all vectors being zero, to {found.output:.3f}, by {found.output - found.baseline_output:.3f}. The gap is that of {STEPS} steps."
                    )
                )
    with page_parts.fold(page_parts.LOOKING, "importance.words.looking") as fold:
        if fold.open:
            st.markdown(
                ON_PICTURES
                if patches.reads_patches(run.model)
                else "Each row adds up to 100% over the words. **attention**: what the last layer's heads give each word, on average. **rollout**: attention followed through all layers, as if nothing else mixed the vectors. **value-weighted**: each weight times the length of the value that it brings; a large weight on a value near zero changes nothing. "
                "**gradient-weighted** (attention × gradient): the weights of all layers, each times the slope of the chosen word's logit with respect to it. **gradient × input**: the vector of each word times the slope of the logit with respect to it. **integrated gradients**: the same, the slope averaged on the way from vectors of zeros to those of the text; with their signs they add up to the change of the output on that way. **word ablated**: this word is masked for all others in every layer, and the fall of ln p is its share.\n\nThe rows differ, and that is the point: a weight shows where a head attends, not what the output depends on. The last row is an experiment, but it has limits as well: the word stays in its place and goes on through the residual stream, only attention to it is cut; and of two words with the same information each can be removed without effect."
            )
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: _frame(shares, drops, words), "importance.words")
    target = "" if run.target_text is None else f", {run.target_text!r}"
    code = CODE.format(
        model=selection.model,
        text=selection.text,
        target=target,
        **target_picker.arguments(question),
        kind=kind,
        n=len(words),
    )
    key = "patch" if patches.reads_patches(run.model) else "word"
    arrays = shares | {"change without the word": -drops}
    page_parts.export_fold(
        lambda: {name: Labelled(values, {key: distinct(words)}) for name, values in arrays.items()},
        code,
        key="importance.words",
    )


def _erasing(
    selection: Selection, run: Run, target: OutputTarget, kind: str, shares: dict[str, np.ndarray]
) -> None:
    """Draw how probable the word or class stays while the first of each reading are erased; the lower, the more faithful."""
    model, item = run.model, ModelInput(selection.text, run.target_text)
    n = len(next(iter(shares.values()))) - patches.first(model)
    counts = erasing.deletion_counts(n)
    here = (selection.model, selection.text, run.target_text, kind, target)
    work = [
        (
            ("importance.erasing", *here, name),
            partial(erasing.deletion_curve, model, item, target, kind, values, counts),
        )
        for name, values in shares.items()
    ]
    lines = dict(zip(shares, each(work, len(counts) * cost(run), "Erasing by reading"), strict=True))
    what = "patches painted over" if patches.reads_patches(model) else "words left out of attention"
    page_parts.show(
        marks.lines(pd.DataFrame(lines, counts), x=f"{what}, those that the reading puts first"),
        "importance.words.curves",
        f"Lines: {_measure(run, target)} while {what}, in the order of each reading.",
    )
    means = sorted((erasing.area_under_curve(counts, line), name) for name, line in lines.items())
    page_parts.summary(
        f"Mean of {_measure(run, target)} on the way from nothing to everything erased, the lowest first: "
        + ", ".join(
            f"{name} {signed(mean) if target.activation == 'none' else percent(mean)}" for mean, name in means
        )
        + ". The lower this is, the more faithful the order: the output depends on the words that it puts first."
    )


def _measure(run: Run, target: OutputTarget) -> str:
    """Return the name of what is erased down: a probability, or a score."""
    question = target_picker.target_phrase(run, target)
    return question if target.activation == "none" else f"the probability of {question}"


def _frame(shares: dict[str, np.ndarray], drops: np.ndarray, words: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "word": words,
            **{name: values.round(4) for name, values in shares.items()},
            "change of ln p without it": (-drops).round(4),
        }
    )
