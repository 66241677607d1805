"""Recording of the timings that the page shows first: `python -m viz.course.bert.sparse_attention.record`, on one thread."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from core.checkpoints.writing import write_json
from core.data.home import assets
from viz.course.bert.sparse_attention.clock import FOLDER, as_json_rows
from viz.course.bert.sparse_attention.maths import LENGTHS, Shape, measure
from viz.course.shared.machine import machine


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m viz.course.bert.sparse_attention.record", description=__doc__
    )
    ask.add_argument("--folder", type=Path, default=assets(*FOLDER))
    ask.add_argument("--budget", type=float, default=1.0)
    opts = ask.parse_args(argv)
    torch.set_num_threads(1)
    shape = Shape()
    rows = [
        measure(n, shape.block, shape.window, shape.n_global, shape.n_random, shape.seed, opts.budget)
        for n in LENGTHS
    ]
    opts.folder.mkdir(parents=True, exist_ok=True)
    said = f"w = {shape.window}, g = {shape.n_global}, r = {shape.n_random}, blocks of {shape.block}"
    held = {"machine": machine(), "mask": said, "timings": as_json_rows(rows)}
    write_json(
        opts.folder / "run.json", {"command": "python -m viz.course.bert.sparse_attention.record", **held}
    )
    for row in as_json_rows(rows):
        print(row)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
