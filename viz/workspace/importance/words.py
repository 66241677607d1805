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
from viz.languages import _, mark
from viz.number_text import signed, true_minus
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.importance import heads
from viz.workspace.importance.work import cost, each, short
from viz.workspace.shared import model_run, target_picker

GRADIENT, INPUT, TAKEN = mark("gradient-weighted"), mark("gradient × input"), mark("word ablated")
INTEGRATED, STEPS = mark("integrated gradients"), 32
HINT = mark("Choose one, point at a patch for its share.")
PAINTED, PATCH = mark("patch painted over"), mark("patch ablated")
OF_WEIGHTS = mark("attention"), mark("rollout"), mark("value-weighted")
"""The names of `attention_shares`, for the catalogues."""
SHARES = r"s_j \propto \textstyle\sum_h a_{rj}, \quad \text{rollout}_{rj}, \quad \sum_h a_{rj} \lVert v_j W_O \rVert, \quad \sum_{\ell,h,i} \max\left(0, a_{ij} \tfrac{\partial f}{\partial a_{ij}}\right), \quad \left| x_j \cdot \tfrac{\partial f}{\partial x_j} \right|, \quad \left| x_j \cdot \textstyle\int_0^1 \tfrac{\partial f}{\partial x_j}(\alpha x) \, d\alpha \right|, \quad \max(0, f - f_{\setminus j})"
ON_PICTURES = mark(
    "Each picture shares out one whole among the patches and the class token. **attention**: what the last layer's heads give each patch when the class token looks, on average. "
    "**rollout**: attention followed through all layers, as if nothing else mixed the vectors. **value-weighted**: each weight times the length of what it brings. **gradient-weighted** "
    "(attention × gradient): the weights of all layers, each times how steeply it drives the class. **gradient × input**: each patch's vector times how steeply it drives the class, without a sign. **integrated gradients**: the same, the slope averaged on the way from vectors of zeros to these; with their signs they add up to the change on that way. "
    "**patch painted over**: the patch is made black, as the ground is, and the fall of ln p is its share; a patch that is black already has none. **patch ablated**: nothing may look at this place any more, in any layer.\n\n"
    "The pictures differ, and that is the point: a weight is where a head looks, not what the output rests on. The last two are experiments, but they too have a view of their own: a picture with a black hole is "
    "one that the model never saw in training, and two patches that say the same can each be missed."
)
ON_WORDS = mark(
    "Each row adds up to 100% over the words. **attention**: what the last layer's heads give each word, on average. **rollout**: attention followed through all layers, as if nothing else mixed the vectors. **value-weighted**: each weight times the length of the value that it brings; a large weight on a value near zero changes nothing. "
    "**gradient-weighted** (attention × gradient): the weights of all layers, each times the slope of the chosen word's logit with respect to it. **gradient × input**: the vector of each word times the slope of the logit with respect to it. **integrated gradients**: the same, the slope averaged on the way from vectors of zeros to those of the text; with their signs they add up to the change of the output on that way. **word ablated**: this word is masked for all others in every layer, and the fall of ln p is its share.\n\nThe rows differ, and that is the point: a weight shows where a head attends, not what the output depends on. The last row is an experiment, but it has limits as well: the word stays in its place and goes on through the residual stream, only attention to it is cut; and of two words with the same information each can be removed without effect."
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
    rows, names = np.stack(list(shares.values())), [_(name) for name in shares]
    title = _("Shares of {asked}", asked=target_picker.target_phrase(run, question))
    if picture:
        patches.on_patches(
            run,
            rows,
            rows=names,
            say=patches.SHARES,
            hint=_(HINT),
            form="all",
            title=title,
            key=f"importance.patches.{kind}",
        ).show()
    else:
        heatmap(
            rows,
            names,
            words,
            key=f"importance.words.{kind}",
            axis=(_("reading"), _("word")),
            title=title,
            numbers=len(words) <= 24,
            height=300,
            margins=False,
        )
    unit = target_picker.unit(question).removeprefix(",")
    units = _("patches") if picture else _("words")
    page_parts.summary(_sentence(shares, words, drops, units, unit), "ablation")
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
        return plain - np.array(
            each(work, one, _("Taking patches away:") if picture else _("Taking words away:"))
        )

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
    *_readings, taken = shares
    top = {name: words[int(values.argmax())] for name, values in shares.items()}
    agree = {name: spearman(values, drops) for name, values in shares.items() if name != taken}
    best = max(agree, key=lambda name: agree[name])
    readings = [name for name in top if name != taken]
    listed = "; ".join(
        _(
            "“{word}” by {readings}",
            word=word,
            readings=", ".join(_(name) for name in readings if top[name] == word),
        )
        for word in dict.fromkeys(top[name] for name in readings)
    )
    said = ", ".join(f"{_(name)} {signed(value)}" for name, value in agree.items())
    costs = (
        _("“{word}” costs most ({loss:.2f}{unit})", word=top[taken], loss=float(drops.max()), unit=unit)
        if drops.max() > 0
        else _("none of the {units} costs anything", units=units)
    )
    order = (
        _(
            "{reading} orders the {units} most like that",
            reading=_(best),
            units=units,
        )
        if agree[best] > 0.3
        else _("None of them orders the {units} like that", units=units)
    )
    return _(
        "Largest share: {listed}. Left out of attention everywhere, {costs}. {order} (rank correlation: {said}).",
        listed=listed,
        costs=costs,
        order=target_picker.begin(order),
        said=said,
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
    with page_parts.fold(mark("Erased in this order"), "importance.words.erasing") as fold:
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
                        _(
                            "Integrated gradients, with their signs, add up to {total:.3f}; the output goes from {before:.3f}, all vectors being zero, to {after:.3f}, by {change:.3f}. The gap is that of {n} steps.",
                            total=float(found.values.sum()),
                            before=float(found.baseline_output),
                            after=float(found.output),
                            change=float(found.output - found.baseline_output),
                            n=STEPS,
                        )
                    )
                )
    with page_parts.fold(page_parts.LOOKING, "importance.words.looking") as fold:
        if fold.open:
            st.markdown(_(ON_PICTURES if patches.reads_patches(run.model) else ON_WORDS))
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
    curves = each(work, len(counts) * cost(run), _("Erasing by reading"))
    lines = {_(name): curve for name, curve in zip(shares, curves, strict=True)}
    what = _("patches painted over") if patches.reads_patches(model) else _("words left out of attention")
    page_parts.show(
        marks.lines(pd.DataFrame(lines, counts), x=_("{what}, those that the reading puts first", what=what)),
        "importance.words.curves",
        _(
            "Lines: {measure} while {what}, in the order of each reading.",
            measure=_measure(run, target),
            what=what,
        ),
    )
    means = sorted((erasing.area_under_curve(counts, line), name) for name, line in lines.items())
    page_parts.summary(
        _(
            "Mean of {measure} on the way from nothing to everything erased, the lowest first: {listed}. The lower this is, the more faithful the order: the output depends on the words that it puts first.",
            measure=_measure(run, target),
            listed=", ".join(
                f"{name} {signed(mean) if target.activation == 'none' else percent(mean)}"
                for mean, name in means
            ),
        )
    )


def _measure(run: Run, target: OutputTarget) -> str:
    """Return the name of what is erased down: a probability, or a score."""
    question = target_picker.target_phrase(run, target)
    return question if target.activation == "none" else _("the probability of {asked}", asked=question)


def _frame(shares: dict[str, np.ndarray], drops: np.ndarray, words: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            _("word"): words,
            **{_(name): values.round(4) for name, values in shares.items()},
            _("change of ln p without it"): (-drops).round(4),
        }
    )
