"""The page What matters: every head ablated in turn, for one word or over many; which words count; the effect of a patch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.analysis.attribution import ablation_sweep
from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.one_layer import LayerEdits
from core.analysis.attribution.target_token import OutputTarget, default_row, output_target
from core.errors import InputError
from core.model import Model
from core.run import Run
from viz.instruments.kit import origin
from viz.instruments.picture import patches
from viz.languages import _, mark
from viz.shell import state
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import controls, engine_client, page_parts
from viz.workspace.importance import heads, many, patch, words
from viz.workspace.importance.work import averages, cost, each
from viz.workspace.shared import model_run, toolbar

PAGE = Page(
    title="What matters",
    order=45,
    claim="Ablate every head in turn, and see on which ones the prediction depends.",
    cites=(
        Cite("michel2019", "2.3 and 3", "heads masked one at a time, and by gradient"),
        Cite("jain2019", "attention and other measures of importance disagree"),
        Cite("meng2022", "2", "patching a clean state into a corrupted run"),
        Cite("ghojogh2020", "3.2.2", "multi-head attention"),
    ),
    menu="lab",
    activity="ablation and patching",
)
VIEWS = {
    "heads": mark("For one word"),
    "many": mark("Over many sentences"),
    "words": mark("Which words count"),
    "patch": mark("Activation patching"),
}
SEEING = {
    "heads": mark("For one class"),
    "many": mark("Over many drawings"),
    "words": mark("Which patches count"),
    "patch": mark("Activation patching"),
}
"""The same of a model that tells what is in a picture."""
ONE = {
    "classes": SEEING["heads"],
    "tags": mark("For one tag"),
    "answer": mark("For the start or end"),
    "score": mark("For the score"),
}
"""The first view of a fine-tuned model, by its output."""
EACH = {"words": lambda _: 1.0, "patch": lambda model: model.config.n_layers / 2}
"""Runs that a view makes for every token: the token taken away; one of its vectors put back, in every layer from there on."""
SHOW = {"many": many.show, "words": words.show, "patch": patch.show}


@dataclass(frozen=True)
class Params(Selection):
    """A word of one text through one model, and how heads of one kind are taken away: zero or mean. None: the telling choice."""

    model: str = toolbar.MODEL
    text: str = toolbar.TEXT
    question: OutputTarget | None = None
    how: str = "zero"


@dataclass(frozen=True)
class Sweep:
    """The change of the number without each head, (layer, head), and the estimate of one gradient; the plain value."""

    question: OutputTarget
    before: float
    effects: np.ndarray
    guesses: np.ndarray


def plain(p: Selection) -> Run:
    """Return the run that everything is compared with. Raises InputError for a model that outputs neither words nor a class."""
    model = model_run.open_model(p.model)
    if not model.has_scores:
        raise InputError(
            _("{model} cannot be asked what matters.", model=p.model),
            _("A part matters for what a model outputs; {lack}", lack=_(model.lacks("answer"))),
            _("Choose another model."),
        )
    return model_run.fixed(p, (model.main_output,))


def compute(p: Params) -> Sweep:
    run = plain(p)
    model = run.model
    kind = p.kind if p.kind in run.kinds else run.kinds[-1]
    question = p.question or output_target(run, row := default_row(run), int(run.scores[row].argmax()))
    item, one = ModelInput(p.text, run.target_text), cost(run)
    average = averages(model, kind) if p.how == "mean" else None
    here = (p.model, p.text, run.target_text, kind, p.how)

    heads_of = LayerEdits(model, p.text, kind, target=run.target_text)

    def scores_without(layer: int) -> np.ndarray:
        """Return the row of the scores without each head: from it any word, or any class, is read."""
        return heads_of.edited_scores(
            layer, ablation_sweep.layer_ablations(model, kind, layer, average), question.row
        )

    rows = each(
        [
            (("importance.row", *here, question.row, layer), partial(scores_without, layer))
            for layer in range(model.spec.kind(kind).n_layers(model.config))
        ],
        one * model.config.n_heads,
        _("Ablating the heads of layer"),
    )
    before, flat = question.value(run.scores), replace(question, row=0)
    effects = np.array([[flat.value(row[None]) - before for row in layer] for layer in rows])
    guesses = engine_client.submit(
        ("importance.guess", *here, question),
        lambda: ablation_sweep.gradient_estimates(model, item, question.goal, kind, average),
        3 * one,
    )
    return Sweep(question, before, effects, guesses)


def _opening(by: str) -> Callable[[Model, str], str]:
    """Return what gives the text that a model opens with: for patches, where the visitor chose none, one that was measured to fit it."""
    return patch.opening if by == "patch" and not state.peek("text") else lambda _, text: text


def page() -> None:
    page_parts.title(PAGE)
    by = state.read("importance.by", "heads", state.one_of(list(VIEWS), "heads"))
    bench = toolbar.choose(
        "importance",
        text=patch.OPENING if by == "patch" else toolbar.TEXT,
        takes_translation=True,
        runs=toolbar.heads if by == "heads" else toolbar.once,
        each=EACH.get(by, lambda _: 0.0),
        opening=_opening(by),
    )
    if bench is None:
        return
    selection = bench.selection
    model = model_run.open_model(selection.model)
    views = (
        SEEING
        if patches.reads_patches(model)
        else VIEWS | {"heads": ONE.get(model.main_output, VIEWS["heads"])}
    )
    by = controls.segmented(
        _("What to ablate"), tuple(views), "importance.by", "heads", lambda name: _(views[name]), quiet=True
    )
    run = plain(selection)
    origin.tell_run(run)
    if by == "heads":
        place = heads.show(PAGE, Params(**vars(selection)), run, compute)
    else:
        place = SHOW[by](PAGE, selection, run)
    bench.announce(head=place)
