"""Names that open unlisted models: steps of a training, and models that visitors trained, uploaded or fetched.

    gpt-twin at step 437        the weights of that moment (`core.checkpoints.history`)
    recorded: reverse           the last weights of a recorded run (`core.training.toy.toy_training`, `core.training.finetune.tuning`)
    yours: reverse (5f0c22e1)   what a visitor trained; for that visitor only (`core.jobs.trainer`)
    upload: mine (5f0c22e1)     what a visitor uploaded; for that visitor only (`core.jobs.user_models`)
    hf:owner/name               a model of the Hub that somebody here fetched (the same)

The second and the third have moments, too: "recorded: reverse at step 100". A fine-tuning has its last one only.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import core.checkpoints
from core.checkpoints import history
from core.checkpoints.find import model_folders
from core.checkpoints.load import load_model
from core.errors import InputError
from core.jobs import trainer, user_models
from core.jobs.listing import Listing
from core.model import Model
from core.training import jobs
from core.training.toy.toy_tasks import TASKS

RECORDED = "recorded: "


def resolve_name(name: str, session: str = "") -> Listing | None:
    """Return the listing of an unlisted name; None for a name that does not open.

    `session` is the visit that asks; "" is the server, which may open everything. Raises InputError for a step
    that was not kept, naming the nearest ones, and for a model of another visit.
    """
    if user_models.is_user_model(name):
        return user_models.SHELF.find(name, session).listing
    of, step = history.parse_step_name(name) or (name, None)
    if of.startswith(trainer.YOURS):
        training = trainer.default().find(of, session)
        if step is None and not training.over:
            raise InputError(
                "{name} is still learning.",
                "It can be opened when its training is over.",
                "Wait for its end, or stop it.",
                name=of,
            )
        known = [report.step for report in training.reports]
        _check(of, step, known if training.task in TASKS else known[-1:])
        return Listing(name, True, "", jobs.model_family(training.task))
    if of.startswith(RECORDED):
        task = of.removeprefix(RECORDED)
        _check(of, step, jobs.recorded_steps(task))
        return Listing(name, True, "", jobs.model_family(task))
    return None if step is None else _step_listing(name, of, step)


@functools.lru_cache(64)
def _step_listing(name: str, model: str, step: int) -> Listing | None:
    """Return the listing (whether it opens, problem, family) of a model as it was saved at a training step; None for an unknown model.

    Raises InputError for a step that was not saved. Cached, so that files are not verified with every run of a page.
    """
    place = next((place for place in model_folders() if place.name == model), None)
    if place is None:
        return None
    _check(model, step, history.steps(place.folder))
    judged = place.check()
    return Listing(name, judged.ok, judged.problem, judged.family)


def _check(model: str, step: int | None, steps: Sequence[int]) -> None:
    if step is not None and step not in steps:
        raise history.no_such_step(model, step, steps)


def open_model(name: str, session: str = "") -> Model:
    """Return the model of a name, listed or not; `session` as for `resolve_name`."""
    if user_models.is_user_model(name):
        return load_model(user_models.SHELF.find(name, session).folder, name)
    of, step = history.parse_step_name(name) or (name, None)
    if of.startswith(trainer.YOURS):
        return trainer.default().find(of, session).model(step)
    if of.startswith(RECORDED):
        return jobs.recorded_model(of.removeprefix(RECORDED), step, name)
    return core.checkpoints.open_model(name)


def is_unlisted(name: str) -> bool:
    """Return whether a name has the form of an unlisted model's, whether it opens or not.

    >>> is_unlisted("gpt-twin at step 437"), is_unlisted("gpt-twin")
    (True, False)
    """
    return name.startswith((trainer.YOURS, RECORDED)) or history.parse_step_name(name) is not None


def task_of(name: str) -> str | None:
    """Return the small task that a model of this name was trained on here; None for models that learned something else, or were fine-tuned.

    >>> task_of("yours: reverse (5f0c22e1)"), task_of("recorded: copy at step 10"), task_of("recorded: tags-full"), task_of("gpt-mini")
    ('reverse', 'copy', None, None)
    """
    for before in (trainer.YOURS, RECORDED):
        if name.startswith(before):
            task = name.removeprefix(before).partition(" ")[0]
            return task if task in TASKS else None
    return None
