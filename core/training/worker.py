"""Process of a training that a visitor started: `python -m core.training.worker TASK FOLDER [--seed N] [--steps N]`.

It takes one thread and the lowest priority, leaves the weights of each moment in FOLDER, and then prints the report as
one line of JSON. It exits when its output pipe is closed.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import torch
from safetensors.torch import save_file

from core.training import jobs
from core.training.jobs import JOBS

LOW = 15
EVERY = 0.5
"""Least number of seconds between two reports: reporting must not cost more than learning."""


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m core.training.worker")
    ask.add_argument("task", choices=sorted(JOBS))
    ask.add_argument("folder", type=Path)
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--steps", type=int)
    ask.add_argument("--seconds", type=float)
    opts = ask.parse_args(argv)
    torch.set_num_threads(1)
    if hasattr(os, "nice"):
        os.nice(LOW)
    job = JOBS[opts.task]
    for report, weights in jobs.training(job, opts.seed, steps=opts.steps, longest=opts.seconds, every=EVERY):
        new = opts.folder / "new"
        save_file(weights, new)
        new.replace(opts.folder / jobs.weights_file(job, report.step))
        try:
            print(json.dumps(vars(report)), flush=True)
        except BrokenPipeError:
            os._exit(1)  # nobody is there: not even an error is told
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
