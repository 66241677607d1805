"""Train a shipped model: `python -m core.tools.train NAME --data DIR [--minutes M | --steps N] [--resume] [--from NAME | --then]`.

Behind `python -m torch.distributed.run --nproc-per-node N` in place of `python`, N processes share the work.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from pathlib import Path
from typing import Any

import torch

from core.checkpoints import store
from core.checkpoints.record import Training, read_training
from core.errors import InputError
from core.training.loop.engine import Outcome, Plan, history, train
from core.training.loop.ranks import Ranks, ranks
from core.training.recipe import Recipe, recipes


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m core.tools.train", description=__doc__)
    ask.add_argument("name", choices=sorted(recipes()), help="the model")
    ask.add_argument("--data", type=Path, required=True, help="the folder of training sets")
    ask.add_argument(
        "--out", type=Path, default=store.shipped_folder(), help="where finished models go (assets/models)"
    )
    ask.add_argument(
        "--work", type=Path, default=Path("runs"), help="where checkpoints and logs are kept while training"
    )
    length = ask.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, help="optimiser steps (default: the recipe's)")
    length.add_argument("--minutes", type=float, help="wall-clock minutes instead of steps")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--resume", action="store_true", help="go on from the last checkpoint in --work")
    ask.add_argument(
        "--accumulate", type=int, default=1, help="batches whose mean gradient makes a step, in each process"
    )
    ask.add_argument("--save-every", type=float, default=120.0, help="seconds between checkpoints")
    start = ask.add_mutually_exclusive_group()
    start.add_argument(
        "--then",
        action="store_true",
        help="the second stage of the recipe, from the shipped weights of its first",
    )
    start.add_argument(
        "--from",
        dest="start",
        metavar="NAME",
        help="begin with a shipped model's weights, optimiser and schedule fresh; "
        "of NAME itself, go on with the steps and the record",
    )
    ask.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    ask.add_argument("--threads", type=int, help="CPU threads (default: all)")
    opts = ask.parse_args(argv)
    if opts.threads:
        torch.set_num_threads(opts.threads)
    device = torch.device(opts.device)
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if opts.accumulate < 1:
        ask.error("--accumulate is how many batches make a step: at least 1")
    recipe = recipes()[opts.name]
    if opts.then:
        if recipe.then is None:
            ask.error(f"the recipe of {opts.name} has one stage; --then is for those with a second")
        recipe, opts.start = recipe.then, opts.name
    work = opts.work / opts.name
    work.mkdir(parents=True, exist_ok=True)
    try:
        with ranks(device) as group:
            return _trained(recipe, opts, work, device, group, argv if argv is not None else sys.argv[1:])
    except InputError as error:
        print(error, file=sys.stderr)
        return 2


def _trained(
    recipe: Recipe, opts: argparse.Namespace, work: Path, device: torch.device, group: Ranks, argv: list[str]
) -> int:
    with group.main_process_first():
        task = recipe.prepare(opts.data, work, opts.seed, device)
    weights = store.load_weights(opts.out / opts.start) if opts.start else None
    before = read_training(opts.out / opts.name) if opts.start == opts.name else None
    plan = Plan(
        work=work,
        seed=opts.seed,
        steps=opts.steps or (recipe.steps if opts.then else None),
        minutes=opts.minutes,
        resume=opts.resume,
        weights=weights,
        done=before.steps if before else 0,
        accumulate=opts.accumulate,
        save_every=opts.save_every,
    )
    outcome = train(recipe, task, plan, device, group)
    if outcome.stopped:
        if group.first:
            print(
                f"stopped after {outcome.steps} steps; the checkpoint is in {work}: --resume goes on",
                file=sys.stderr,
            )
        return 130
    if group.first:
        save(outcome, recipe, work, opts.out, opts.seed, argv, before, group.size)
    return 0


def save(
    outcome: Outcome,
    recipe: Recipe,
    work: Path,
    out: Path,
    seed: int,
    argv: list[str],
    before: Training | None = None,
    processes: int = 1,
) -> None:
    """Write the model folder: float16 weights, config, tokenizer, and the record of its training, from its first step."""
    machine = (
        torch.cuda.get_device_name()
        if next(outcome.network.parameters()).is_cuda
        else f"{(n := torch.get_num_threads())} CPU thread{'s' * (n > 1)}"
    )
    several = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)] if processes > 1 else []
    record = {
        "command": shlex.join(["python", *several, "-m", "core.tools.train", *_portable_command(argv)]),
        "seed": seed,
        "steps": outcome.steps,
        "tokens": outcome.tokens,
        "minutes": round(outcome.seconds / 60, 1),
        "machine": machine,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "log": outcome.log,
    }
    if before is not None:
        record = join_records(before, record)
    (work / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    folder = store.save_model(
        out / recipe.name,
        family=recipe.family,
        config=recipe.config,
        weights=outcome.network.state_dict(),
        tokenizer=work / "tokenizer.json",
        ids=recipe.ids,
        training=record,
        history=history(work, recipe.keep_at),
    )
    print(f"saved {folder}")


def join_records(before: Training, record: dict[str, Any]) -> dict[str, Any]:
    """Return the training record of a model that was trained further from its own weights: both commands, and the sums of tokens and time."""
    log = [
        row | {"tokens": row["tokens"] + before.tokens, "minutes": round(row["minutes"] + before.minutes, 2)}
        for row in record["log"]
    ]
    machine = " and ".join(dict.fromkeys((before.machine, record["machine"])))
    sums = {
        "tokens": before.tokens + record["tokens"],
        "minutes": round(before.minutes + record["minutes"], 1),
    }
    command = f"{before.command} && {record['command']}"
    return (
        record
        | sums
        | {
            "command": command,
            "machine": machine,
            "log": [*before.log, *log],
            **({"note": before.note} if before.note else {}),
        }
    )


def _portable_command(argv: list[str]) -> list[str]:
    """Return the command without its output folder, and without this machine's folder of data."""
    shown = list(argv)
    for flag in ("--out", "--work"):
        if flag in shown:
            del shown[shown.index(flag) : shown.index(flag) + 2]
    if "--data" in shown:
        shown[shown.index("--data") + 1] = "DATA"
    return shown


if __name__ == "__main__":
    raise SystemExit(main())
