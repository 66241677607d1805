"""Habits of the heads of a model, and its loss, at each stored moment of its training.

    python -m core.training.growth NAME

writes them beside the model, as growth.json. The habits are those of heads.json, measured on the same texts. The loss is
that of the next token on sentences of ours; of a model of strings that come twice, on held-out strings, and only behind
a sign that stood there before: of the others none can be foretold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.analysis.heads.habits import HeadHabits
from core.analysis.heads.head_survey import survey_heads
from core.checkpoints import history, store
from core.checkpoints.files import find_file, json_object
from core.checkpoints.manifest import File
from core.data.texts import Example, texts
from core.errors import InputError
from core.model import Model
from core.training.recipe import recipes

FILE = "growth.json"
DIGITS = 4
HABITS = ("induction", "previous", "first", "duplicate", "itself")
"""The habits that are followed: what a head of a model from left to right may do with every text."""

TELLING = ("induction", "previous")


@dataclass(frozen=True)
class Growth:
    """Measures at `steps`: `nats` for each predicted token, and for each habit (moment, layer, head) scores."""

    steps: tuple[int, ...]
    nats: tuple[float, ...]
    scores: Mapping[str, np.ndarray]
    weights: str = ""

    def best(self, habit: str) -> tuple[int, int]:
        """Return layer and number of the head with the highest score at the end."""
        last = self.scores[habit][-1]
        layer, head = np.unravel_index(int(last.argmax()), last.shape)
        return int(layer), int(head)

    def curve(self, habit: str, head: tuple[int, int]) -> np.ndarray:
        """Return the score of a head at each moment (moment,)."""
        return self.scores[habit][:, head[0], head[1]]

    def telling(self) -> str:
        """Return, of the habits that attend to another word for a reason, the one whose best head has risen most since the first moment."""

        def risen(habit: str) -> float:
            curve = self.curve(habit, self.best(habit))
            return float(curve[-1] - curve[0])

        return max(
            (habit for habit in TELLING if habit in self.scores), key=risen, default=next(iter(self.scores))
        )


def steepest_moment(curve: Sequence[float]) -> int:
    """Return the moment before the largest rise from one moment to the next.

    >>> steepest_moment([0.0, 0.1, 0.8, 0.9])
    1
    """
    return int(np.diff(np.asarray(curve)).argmax())


def measure_moment(model: Model, lines: Sequence[Example]) -> tuple[float, dict[str, np.ndarray]]:
    """Return loss and habits of one moment, on the model's own `lines` or, without any, on our sentences."""
    heads: HeadHabits = next(iter(survey_heads(model, lines).values()))
    return mean_nats(model, lines), {habit: heads.scores[habit] for habit in HABITS if habit in heads.scores}


def mean_nats(model: Model, lines: Sequence[Example]) -> float:
    """Return the mean of -ln p(next token): on `lines` at symbols that occurred before in them; without lines on all of our sentences."""
    lost: list[float] = []
    for example in lines or texts("heads_en"):
        run = model.run(example.text, keep=("logits",))
        logits, ids = run.logits.astype(float), run.ids
        logs = (
            logits
            - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True))
            - logits.max(-1, keepdims=True)
        )
        lost += [-logs[i, ids[i + 1]] for i in range(len(ids) - 1) if not lines or ids[i] in ids[:i]]
    return float(np.mean(lost))


def measure(name: str) -> Growth:
    """Measure every stored moment of a shipped model. Raises InputError for a model without any."""
    folder = store.shipped_folder() / name
    kept = history.steps(folder)
    if not kept:
        raise InputError(
            "{name} has no weights of earlier steps.",
            "They are in {file}.",
            "Choose a model that has them.",
            name=name,
            file=history.FILE,
        )
    model, recipe = store.load_model(folder, name, shipped=True), recipes().get(name)
    own = recipe.examples() if recipe else ()
    found = []
    for step in kept:
        found.append(measure_moment(history.open_step(model, folder, step), own))
        print(f"step {step}: {found[-1][0]:.3f} nats", file=sys.stderr)
    scores = {
        habit: np.stack([each[habit] for _, each in found]).astype(float).round(DIGITS)
        for habit in found[0][1]
    }
    return Growth(
        kept,
        tuple(round(loss, DIGITS) for loss, _ in found),
        scores,
        File.of_path(folder / history.FILE).sha256,
    )


def write(folder: Path, growth: Growth) -> None:
    held = {
        "weights": growth.weights,
        "steps": growth.steps,
        "nats": growth.nats,
        "scores": {name: score.tolist() for name, score in growth.scores.items()},
    }
    (folder / FILE).write_text(
        json.dumps(held, separators=(",", ":")).replace('],"', '],\n"') + "\n", encoding="utf-8"
    )


def read(folder: Path) -> Growth | None:
    """Return the content of growth.json; None where the file is missing. Raises InputError for a file that is not understood."""
    if find_file(folder, FILE) is None:
        return None
    held: dict[str, Any] = json_object(folder, FILE)
    try:
        steps, nats = (
            tuple(int(step) for step in held["steps"]),
            tuple(float(value) for value in held["nats"]),
        )
        scores = {str(name): np.array(score, dtype=float) for name, score in held["scores"].items()}
        if (
            not scores
            or any(score.ndim != 3 or len(score) != len(steps) for score in scores.values())
            or len(nats) != len(steps)
        ):
            raise ValueError("lengths differ")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            "{file} of {name} is not understood ({error}).",
            "It has steps, nats and scores.",
            "Fetch it again (git checkout -- assets).",
            file=FILE,
            name=folder.name,
            error=str(error),
        ) from None
    return Growth(steps, nats, scores, str(held.get("weights", "")))


def models_with_growth() -> tuple[str, ...]:
    """Return the shipped models that have growth.json, the smallest first."""
    models = store.shipped_folder()
    found = [path.parent for path in models.glob(f"*/{FILE}") if (path.parent / history.FILE).is_file()]
    return tuple(
        folder.name for folder in sorted(found, key=lambda folder: (folder / history.FILE).stat().st_size)
    )


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m core.training.growth", description="Measure every kept moment of a shipped model."
    )
    ask.add_argument("name")
    name = ask.parse_args(argv).name
    try:
        growth = measure(name)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    write(store.shipped_folder() / name, growth)
    store.write_manifest(store.shipped_folder())
    for habit in growth.scores:
        head = growth.best(habit)
        print(f"{habit:10} L{head[0]}.H{head[1]}", *(f"{value:.2f}" for value in growth.curve(habit, head)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
