"""Names that open a model though no list has them: a moment of a training, and what visitors train here.

    gpt-twin at step 437        the weights of that moment (`core.checkpoints.history`)
    recorded: reverse           the last weights of a recorded run (`core.training.toy.toy_training`, `core.training.finetune.tuning`)
    yours: reverse (5f0c22e1)   what a visitor trained; for that visitor only (`core.serving.trainer`)
    upload: mine (5f0c22e1)     what a visitor uploaded; for that visitor only (`core.serving.brought`)
    hf:owner/name               a model of the Hub that somebody here fetched (the same)

The second and the third have moments, too: "recorded: reverse at step 100". A fine-tuning has its last one only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import core.checkpoints
from core.checkpoints import history
from core.checkpoints.find import model_folders
from core.checkpoints.load import load_model
from core.errors import InputError
from core.model import Model
from core.serving import brought, trainer
from core.serving.registry import Listing
from core.training import jobs
from core.training.toy.toy_tasks import TASKS

RECORDED = "recorded: "

_who: Callable[[], str] = str


def ask_who(who: Callable[[], str]) -> None:
    """Say how to learn which visitor asks, in the thread that asks; "" stands for no visitor, and may open everything."""
    global _who
    _who = who


def resolve_name(name: str) -> Listing | None:
    """What is known of a name that no list has; None for a name that does not open.

    Raises InputError for a step that was not kept, naming the nearest ones, and for a model of another visit.
    """
    if brought.named(name):
        return brought.SHELF.find(name, _who()).listing
    of, step = history.moment(name) or (name, None)
    if of.startswith(trainer.YOURS):
        training = trainer.default().find(of, _who())
        if step is None and not training.over:
            raise InputError(
                f"{of} is still learning.",
                "It can be opened when its training is over.",
                "Wait for its end, or stop it.",
            )
        known = [report.step for report in training.reports]
        _check(of, step, known if training.task in TASKS else known[-1:])
        return Listing(name, True, "", jobs.family(training.task))
    if of.startswith(RECORDED):
        task = of.removeprefix(RECORDED)
        _check(of, step, jobs.kept(task))
        return Listing(name, True, "", jobs.family(task))
    return None if step is None else _moment(name, of, step)


@functools.lru_cache(64)
def _moment(name: str, of: str, step: int) -> Listing | None:
    """As at the start, a model's files are verified once, and not again with every rerun of who looks at one of its moments."""
    place = next((place for place in model_folders() if place.name == of), None)
    if place is None:
        return None
    _check(of, step, history.steps(place.folder))
    judged = place.judged()
    return Listing(name, judged.ok, judged.problem, judged.family)


def _check(of: str, step: int | None, known: Sequence[int]) -> None:
    if step is not None and step not in known:
        raise history.unkept(of, step, known)


def open_model(name: str) -> Model:
    """The model of a listed name, or of one that opens aside."""
    if brought.named(name):
        return load_model(brought.SHELF.find(name, _who()).folder, name)
    of, step = history.moment(name) or (name, None)
    if of.startswith(trainer.YOURS):
        return trainer.default().find(of, _who()).model(step)
    if of.startswith(RECORDED):
        return jobs.recorded(of.removeprefix(RECORDED), step, name)
    return core.checkpoints.open_model(name)


def brought_by_me() -> dict[str, Listing]:
    """What the visitor who asks brought, and what of the Hub was fetched for everybody."""
    return {one.name: one.listing for one in brought.SHELF.all(_who())}


def unlisted(name: str) -> bool:
    """Whether a name is of the form of those that no list has, though they have a model of their own.

    >>> unlisted("gpt-twin at step 437"), unlisted("gpt-twin")
    (True, False)
    """
    return name.startswith((trainer.YOURS, RECORDED)) or history.moment(name) is not None


def task_of(name: str) -> str | None:
    """The small task that a model of this name learned here; None for models that learned something else, or were tuned.

    >>> task_of("yours: reverse (5f0c22e1)"), task_of("recorded: copy at step 10"), task_of("recorded: tags-full"), task_of("gpt-mini")
    ('reverse', 'copy', None, None)
    """
    for before in (trainer.YOURS, RECORDED):
        if name.startswith(before):
            task = name.removeprefix(before).partition(" ")[0]
            return task if task in TASKS else None
    return None
