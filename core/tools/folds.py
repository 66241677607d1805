"""Measure a recipe on books that its training left out: `python -m core.tools.folds [NAME] --data DIR [--folds 5] [--beside] [--resume] [--record]`.

All books of train, valid and test are dealt into folds, those of each label evenly. Each fold in turn is left out of a
training of its own and measured by it. Prints one JSON object: the accuracy of each fold, their mean and standard
deviation, and by class over all documents. With --record it is written into scores.json of the shipped model, whose own weights learned
from the official training books alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.checkpoints import scores, store
from core.data.corpora import find_file, read_lines
from core.errors import InputError
from core.model import Model
from core.models import families
from core.scoring import Metrics, scoring_of
from core.training.loop.engine import Plan, train
from core.training.recipe import CPU, Recipe, recipes

SPLITS = ("train", "valid", "test")
FOLDER = "genres"
SPLIT = "books left out"


def dealt(labels: dict[str, str], n: int, seed: int) -> dict[str, int]:
    """Return the fold of each book, given each book's label: the books of each label are shuffled with the seed and dealt in turn.

    >>> sorted(dealt({"a": "x", "b": "x", "c": "y", "d": "y"}, 2, seed=0).values())
    [0, 0, 1, 1]
    """
    rng, fold = np.random.default_rng(seed), {}
    for label in sorted(set(labels.values())):
        books = sorted(book for book, of in labels.items() if of == label)
        fold |= {books[i]: place % n for place, i in enumerate(rng.permutation(len(books)))}
    return fold


def split_by_book(data: Path, work: Path, n: int, seed: int) -> list[Path]:
    """Write for each fold a folder of training sets, its books as valid.jsonl and all others as train.jsonl; return the folders.

    Raises InputError for a document without a book, and for fewer books of a label than folds.
    """
    rows = [
        line
        for split in SPLITS
        for line in read_lines(find_file(data, f"{FOLDER}/{split}.jsonl"))
        if line.strip()
    ]
    held = [json.loads(row) for row in rows]
    labels = {row.get("book", ""): row["label"] for row in held}
    fewest = min(list(labels.values()).count(label) for label in set(labels.values()))
    if "" in labels or not 2 <= n <= fewest:
        raise InputError(
            f"These documents cannot be split into {n} folds of whole books.",
            f"Each document names its book, and there are from 2 folds to the {fewest} books of the rarest label.",
            "Give another number after --folds.",
        )
    fold, folders = dealt(labels, n, seed), [work / f"fold-{k}" for k in range(n)]
    for k, folder in enumerate(folders):
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        for name, inside in (("train", False), ("valid", True)):
            some = [row for row, of in zip(rows, held, strict=True) if (fold[of["book"]] == k) is inside]
            (folder / FOLDER / f"{name}.jsonl").write_text("\n".join(some) + "\n", encoding="utf-8")
    return folders


def measure_fold(
    recipe: Recipe,
    folder: Path,
    seed: int,
    steps: int | None = None,
    *,
    baselines: bool = False,
    resume: bool = False,
) -> Metrics:
    """Train the recipe on the other folds and measure it on this one; with `baselines` also the baselines of its kind.

    With `resume` a training goes on from its last checkpoint in the folder. Raises KeyboardInterrupt for one that was stopped.
    """
    if not resume:
        (folder / "tokenizer.json").unlink(missing_ok=True)
    task = recipe.prepare(folder, folder, seed, CPU)
    outcome = train(recipe, task, Plan(work=folder, seed=seed, steps=steps, resume=resume), CPU)
    if outcome.stopped:
        raise KeyboardInterrupt
    network = outcome.network
    model = Model(recipe.name, families()[recipe.family], recipe.config, network, task.tokenizer)
    scoring, held_out = scoring_of(recipe.family), folder / FOLDER / "valid.jsonl"
    beside = (
        scoring.baselines(model, folder / FOLDER / "train.jsonl", held_out)
        if baselines and scoring.baselines
        else {}
    )
    return {**scoring.measure(model, held_out, None), "beside": beside}


def summarise(folds: Sequence[Metrics]) -> Metrics:
    """Return the mean accuracy of the folds, their standard deviation, and the mean over folds of each class."""
    accuracy = np.array([fold["accuracy"] for fold in folds])
    classes = folds[0]["accuracy_by_class"]
    return {
        "items": sum(fold["items"] for fold in folds),
        "accuracy": float(accuracy.mean()),
        "accuracy_spread": float(accuracy.std(ddof=1)),
        "accuracy_by_fold": {f"fold {k}": float(value) for k, value in enumerate(accuracy, 1)},
        "accuracy_by_class": {
            name: float(np.mean([fold["accuracy_by_class"][name] for fold in folds])) for name in classes
        },
    }


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m core.tools.folds", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    ask.add_argument("name", nargs="?", default="han-genres", choices=["han-genres"], help="the recipe")
    ask.add_argument("--data", type=Path, required=True, help="the folder of training sets")
    ask.add_argument("--work", type=Path, default=Path("runs"), help="where the folds are kept")
    ask.add_argument("--folds", type=int, default=5)
    ask.add_argument("--steps", type=int, help="optimiser steps (default: the recipe's)")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--threads", type=int, help="CPU threads (default: all)")
    ask.add_argument(
        "--beside", action="store_true", help="also the baselines of its kind, on the same folds"
    )
    ask.add_argument("--resume", action="store_true", help="go on from the last checkpoints in --work")
    ask.add_argument("--record", action="store_true", help="write the summary into scores.json")
    opts = ask.parse_args(argv)
    if opts.threads:
        torch.set_num_threads(opts.threads)
    recipe, measured = recipes()[opts.name], list[Any]()
    try:
        for folder in split_by_book(opts.data, opts.work / f"{opts.name}-folds", opts.folds, opts.seed):
            fold = measure_fold(
                recipe, folder, opts.seed, opts.steps, baselines=opts.beside, resume=opts.resume
            )
            measured.append(fold)
            print(folder.name, json.dumps(measured[-1]), file=sys.stderr, flush=True)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    found = {recipe.name: summarise(measured)}
    found |= {of: summarise([fold["beside"][of] for fold in measured]) for of in measured[0]["beside"]}
    if opts.record:
        for of in reversed(found):  # the last is the first row
            scores.record(store.shipped_folder() / recipe.name, SPLIT, found[of], subject=of)
        store.write_manifest(store.shipped_folder())
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
