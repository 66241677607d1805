"""The data of the page on models that did not ship: which there are, the facts of each, and how two of one shape differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import core.serving.engine
from core.analysis.heads.habits import HeadHabits
from core.checkpoints.find import local_folders, model_folders
from core.checkpoints.inspect import shape, stored, tokenizer_facts
from core.checkpoints.load import inspect
from core.errors import InputError
from core.jobs import user_models
from core.jobs.listing import Listing
from core.model import Model
from core.reading import surveys
from core.reading.surveys import SurveyProgress
from viz.memo import remembered
from viz.widgets import engine_client
from viz.widgets.pins import View
from viz.workspace.compare import data as compare
from viz.workspace.shared import head_survey, model_run, tasks, toy_models
from viz.workspace.your_model import naming


def foreign_models() -> dict[str, Listing]:
    """Return every model that did not ship, those that are refused too: of the folders that the server may show, of the Hub, of this visitor."""
    listed = {one.name: one for one in core.serving.engine.default().models() if one.foreign}
    return user_models.SHELF.listings(engine_client.session()) | listed


def can_be_opened(name: str) -> bool:
    """Return whether a model may still be opened: an upload goes when its visitor sends another one."""
    return not user_models.is_user_model(name) or name in user_models.SHELF.listings(engine_client.session())


def folder_of(name: str) -> Path:
    """Return the folder of a model. Raises InputError for one that is gone."""
    if user_models.is_user_model(name):
        return user_models.SHELF.find(name, engine_client.session()).folder
    place = next((place for place in model_folders() if place.name == name), None)
    if place is None:
        raise user_models.no_longer_here()
    return place.folder


def facts(model: Model, folder: Path) -> tuple[tuple[str, str], ...]:
    """Return the facts of a model: kind, sizes, numbers, tokenizer, unused tensors; see `core.checkpoints.inspect`."""

    def read() -> tuple[tuple[str, str], ...]:
        plan, weights = inspect(folder)
        lines = [
            *shape(plan),
            *stored(plan, weights),
            *([tokenizer_facts(model.tokenizer, framed=model.spec.framed)] if _reads_words(model) else []),
        ]
        return tuple(fact for line in lines for fact in line)

    return remembered(model, "your_model.facts", read)


def _reads_words(model: Model) -> bool:
    return model.spec.reads is None


def survey(model: Model, folder: Path) -> SurveyProgress:
    """Return the progress of the survey of its heads, on the visitor's own texts where there are any; the first visitor who asks begins it. Nothing is written into an installed package."""
    if not engine_client.visited():
        return SurveyProgress()
    if named := naming.standing(model):
        return named
    own = () if _reads_words(model) else head_survey.sentences_for(model)
    keep = user_models.is_user_model(model.name) or folder in local_folders()
    return surveys.default().begin(model, folder, own, keep=keep)


@dataclass(frozen=True)
class HabitCell:
    """One head in the picture of all: its place, what it does, and how strongly."""

    layer: int
    head: int
    word: str
    score: float


def cells(heads: HeadHabits) -> list[HabitCell]:
    """Return every head with the habit that names it, of one without the strongest."""
    found = []
    for layer, head in np.ndindex(*heads.shape):
        habit = heads.habit(layer, head)
        name = heads.strongest(layer, head) if habit == "mixed" else habit
        word = heads.label(layer, head)
        found.append(HabitCell(int(layer), int(head), word, float(heads.scores[name][layer, head])))
    return found


def layouts(model: Model) -> Mapping[str, tuple[int, int]]:
    """Return (layers, heads) of each kind of attention."""
    kinds = model.spec.kinds_of(model.config)
    return {kind.name: (kind.n_layers(model.config), model.config.n_heads) for kind in kinds if kind.layered}


def partners(name: str) -> list[str]:
    """Return the models that a model can be put beside, the nearest first: brought ones of its shape, those of its task, and all others that read sentences."""
    usable, own = tasks.usable(), foreign_models()
    task = tasks.task_of(name, usable[name])
    others = [
        other
        for other, family in usable.items()
        if other != name and bool(family.reads) == bool(usable[name].reads) and not toy_models.kind_of(other)
    ]
    twins = [other for other in others if other in own and same_shape(name, other)]
    same = [other for other in others if tasks.task_of(other, usable[other]) is task]
    return list(dict.fromkeys([*twins, *same, *(other for other in others if other in own), *others]))


def same_shape(one: str, other: str) -> bool:
    """Return whether each head of one has its counterpart in the other. A model that does not open has none."""
    try:
        return bool(layouts(model_run.open_model(one))) and layouts(model_run.open_model(one)) == layouts(
            model_run.open_model(other)
        )
    except InputError:
        return False


def head_distances(one: str, other: str, text: str) -> tuple[str, np.ndarray]:
    """Return the kind of attention that tells two checkpoints of one shape apart, and (layer, head) how far each head is, in bits."""
    kind = next(iter(layouts(model_run.open_model(one))))
    panes = [compare.pane_of(View(name, text, kind), "word") for name in (one, other)]
    key = ("your_model.apart", one, other, text, kind)
    return kind, engine_client.submit(key, lambda: compare.row_distances(*panes), 1_000.0)
