"""The runs behind What if: before, after, the edits of a link with the numbers they need, the head to open with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from core.analysis.attribution.ablate_heads import ablate_heads
from core.analysis.attribution.ablation_sweep import ModelInput, gradient_estimates
from core.analysis.attribution.erasing import BLANK
from core.analysis.attribution.means import mean_outputs
from core.analysis.attribution.target_token import blank_rows, output_target, read_positions, target_rows
from core.analysis.attribution.target_token import default_row as telling_row
from core.analysis.residual.delta import PredictionChange, prediction_change, target_change, target_ids
from core.decoding import Greedy, decode
from core.edits import MeanHead, PatchHead, ScaleHead, ZeroHead
from core.edits.serialize import from_text, to_text
from core.edits.validate import split_by_fit
from core.errors import InputError
from core.model import WRITES, Model
from core.models import ENTERS, LEAVES, Kind
from core.run import Run
from core.trace import Edit
from viz.instruments.picture import patches
from viz.languages import _, mark
from viz.shell.selection import Selection
from viz.widgets import engine_client
from viz.widgets.pins import View
from viz.workspace.shared import head_survey, model_run
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.toy_models import own_texts

KEEP = ("*.pattern", ENTERS, LEAVES)
OVER, LINES, DRAWINGS = mark("our sentences"), mark("lines of its task"), mark("our drawings")
"""The texts of the mean of a head: the sentences on which heads are measured; of a model that reads none, lines of its own task, or doodles."""
FEW = 8
"""So many heads are tried: the one that is missed most is among them nearly always, and each more costs a row of a forward."""
ROW = "what_if.row"
HEADS = (ZeroHead, MeanHead, ScaleHead, PatchHead)


@dataclass(frozen=True)
class Change:
    """One text before and after: the head in view, the edits that were made, those that could not be, a new translation."""

    before: Run
    after: Run
    place: HeadRef
    edits: tuple[Edit, ...]
    errors: tuple[InputError, ...]
    translation: str | None
    row: int | None = None
    """The row of the scores that is compared; None for a text without a blank, or a whole translation."""

    @property
    def position(self) -> int | None:
        """Return the position whose vector the output reads: of a class or a score the first or the last that its head reads."""
        if self.row is None:
            return None
        asked = output_target(self.before, self.row, int(self.before.scores[self.row].argmax()))
        return read_positions(self.before, asked)[0]

    @property
    def kind(self) -> Kind:
        return self.before.model.spec.kind(self.place.kind)

    def path(self, leaf: str) -> str:
        """Return the trace path of a value of the layer of the head in view."""
        return self.kind.path(self.place.layer, leaf)


def first(selection: Selection) -> Run:
    """Run the model as it is. A translation of the model's own is read again as a given one, as the run after the change will be."""
    return model_run.fixed(selection, _keep(model_run.open_model(selection.model)))


def _keep(model: Model) -> tuple[str, ...]:
    return *KEEP, *((model.main_output,) if model.has_scores else ())


def changed(before: Run, raw: str) -> tuple[Run, tuple[Edit, ...], tuple[InputError, ...]]:
    """Return the run with the edits of a link, those that were made, and why others were not; together they may be too much for the model."""
    kept, wrong = readable(raw, before)
    try:
        return second(before, kept), kept, wrong
    except InputError as error:
        return before, (), (*wrong, error)


def second(before: Run, edits: Sequence[Edit]) -> Run:
    """Run the same text with the changes made."""
    return model_run.rerun(before, _keep(before.model), edits=edits) if edits else before


def translated(before: Run, edits: Sequence[Edit]) -> str | None:
    """Return the translation that the changed translator writes by itself, word after word."""
    if before.source is None or not edits:
        return before.target_text
    model, text = before.model, text_of(before)

    def write() -> str:
        *_earlier, last = decode(
            model,
            text,
            Greedy(),
            max_new_tokens=min(
                model.config.n_ctx - 1, 2 * before.side.n_real + 10, max(WRITES, before.side.n_real)
            ),
            edits=edits,
        )
        return last.text

    return engine_client.submit(
        ("what_if.translation", model.name, text, tuple(edits)),
        write,
        cost=20.0 * len(text) * model.config.n_layers,
    )


def text_of(run: Run) -> str:
    return (run.source or run.side).text


def readable(raw: str, before: Run) -> tuple[tuple[Edit, ...], tuple[InputError, ...]]:
    """Return the edits of a link, and why some of it cannot be made here."""
    found: list[Edit] = []
    errors: list[InputError] = []
    for part in filter(None, raw.split(";")):
        try:
            found += from_text(part, partial(_numbers, before))
        except InputError as error:
            errors.append(error)
    kept, unfit = split_by_fit(found, before)
    return kept, (*errors, *unfit)


def _numbers(before: Run, name: str, where: str, index: int, source: str) -> Tensor:
    """Return the numbers that a link does not hold: a mean over our sentences, a head of another text, the vector of a word."""
    model = before.model
    if name == "word":
        if patches.reads_patches(model):
            return _blank(model, source)
        return model.network.embed["token"](torch.tensor([[word_id(model, source)]]))[0, 0]
    kind, layer = _layer_at(model, where)
    if not 0 <= index < model.config.n_heads:
        raise InputError(
            _("There is no head {head} in {model}.", head=index, model=model.name),
            _("It has {n} a layer, counted from 0.", n=model.config.n_heads),
            _("Choose one of them."),
        )
    if name == "mean" and source == over(model):
        return torch.tensor(means(model, kind.name)[layer, index])
    if name == "patch":
        return torch.tensor(model_run.rerun(before, (where,), text=source).trace[where][index])
    raise InputError(
        _("No numbers for '{source}' are known here.", source=source),
        _("A mean is taken over {texts}.", texts=_(over(model))),
        _("Choose the change on the page."),
    )


def _blank(model: Model, word: str) -> Tensor:
    """Return the numbers of a patch that is painted over. Raises InputError for anything else in its place."""
    if word != BLANK:
        raise InputError(
            _("“{word}” cannot stand in the place of a patch.", word=word),
            _("A patch can be painted over with the ground."),
            _("Choose the change on the page, or draw another doodle."),
        )
    return model.network.blank()


def _layer_at(model: Model, where: str) -> tuple[Kind, int]:
    for kind in model.spec.kinds_of(model.config):
        for layer in range(kind.n_layers(model.config)):
            if kind.path(layer, "heads") == where:
                return kind, layer
    raise InputError(
        _("{model} has no heads at '{where}'.", model=model.name, where=where),
        _("A mean or a patch belongs to one layer of the model it was made for."),
        _("Choose it on the page."),
    )


def word_id(model: Model, word: str) -> int:
    """Return the one token of a word. Raises InputError for a word in pieces."""
    readers = model.tokenizer, model.tokenizer.source
    ids = min((reader.encode(word).ids for reader in readers), key=len)
    if len(ids) != 1:
        raise InputError(
            _("“{word}” is {n} tokens for {model}.", word=word.strip(), n=len(ids), model=model.name),
            _("A word can be replaced by one token."),
            _("Try a more common word, or change the sentence."),
        )
    return ids[0]


def over(model: Model) -> str:
    """Return the texts over which means are taken, in the words of a link."""
    return DRAWINGS if patches.reads_patches(model) else LINES if own_texts(model.name) else OVER


def means(model: Model, kind: str) -> np.ndarray:
    """Return the mean output of every head over these texts: (layer, head, d_head)."""
    read = own_texts(model.name) or head_survey.sentences_for(model)
    targets = [row.target for row in read] if model.spec.has_source and model.head is None else None
    cost = 60.0 * len(read) * model.config.n_layers
    return engine_client.submit(
        ("what_if.means", model.name, kind),
        lambda: mean_outputs(model, [row.text for row in read], kind, targets),
        cost,
    )


def telling(before: Run, kind: str, row: int | None) -> HeadRef:
    """Return a head without which the model's output is much less probable: each of a `FEW` that the gradient points at is switched off alone.

    One below the last layer, where there is one: what the last layer's heads write is read by no other head.
    """
    model, config = before.model, before.model.config
    if row is None and before.source is None:
        return HeadRef(
            kind,
            *next(iter(head_survey.survey(model.name)[kind].best_head_by_habit(text_of(before)).values())),
        )
    cost = float(len(text_of(before)) * config.n_layers * FEW)
    key = ("what_if.telling", model.name, text_of(before), before.target_text, kind, row)
    return HeadRef(kind, *engine_client.submit(key, lambda: _most_missed(before, kind, row), cost))


def _most_missed(before: Run, kind: str, row: int | None) -> tuple[int, int]:
    """Return layer and head, by one gradient and one batch, for the model's output: the first word, class, tag or edge, the score, or the whole translation."""
    model, text, target = before.model, text_of(before), before.target_text

    def goal(scores: Tensor) -> Tensor:
        if row is not None:
            return output_target(before, row, int(before.scores[row].argmax())).goal(scores)
        written, ids = target_ids(before)
        return scores[written].log_softmax(-1)[range(len(written)), ids].sum()

    guess = gradient_estimates(model, ModelInput(text, target), goal, kind)
    early = guess[:-1] if len(guess) > 1 else guess
    heads = [
        divmod(place, early.shape[1]) for place in np.argsort(early, axis=None, kind="stable")[:FEW].tolist()
    ]
    left = ablate_heads(
        model, text, kind, lambda run: goal(torch.tensor(run.scores)).numpy(), heads, target=target
    )
    return heads[int(left.argmin())]


def row_in_question(run: Run) -> int | None:
    """Return the row of the next word, the hidden one, the class, the score, a tag or an edge; None where nothing is hidden, or a whole translation is written."""
    if not run.model.has_scores:
        return None
    if run.model.main_output != "logits":
        return telling_row(run)
    if run.model.spec.framed:
        found = blank_rows(run)
        return found[0] if found else None
    return None if run.source is not None else run.side.n_real - 1


def offers_rows(run: Run, row: int) -> bool:
    """Return whether a run has several outputs to choose from, tags of words or edges of an answer, and this is one."""
    return run.model.has_scores and run.model.main_output in ("tags", "answer") and row in target_rows(run)


def outcome(change: Change) -> PredictionChange | None:
    """Return what the model predicts before and after; None for a text without a blank. Of a few classes all."""
    model, row = change.before.model, change.row
    if change.before.source is not None and model.main_output == "logits":
        return target_change(change.before, change.after)
    if row is None:
        return None
    return prediction_change(
        change.before, change.after, row, FEW if model.main_output in ("classes", "tags") else 5
    )


def touches(edit: Edit, change: Change) -> bool:
    """Return whether an edit is about the output of the head in view."""
    return isinstance(edit, HEADS) and edit.where == change.path("heads") and edit.head == change.place.head


def view(change: Change, head_ref: HeadRef) -> View:
    """Return one head of the changed run, as it is pinned."""
    return View(
        change.before.model.name,
        text_of(change.before),
        head_ref.kind,
        head_ref.layer,
        head_ref.head,
        edits=to_text(change.edits),
    )
