"""Recorded fine-tunings for tests: a few steps upon the shipped bert-mini, where the pages look for them, and a trainer of a few steps."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pytest

import core.serving.engine
from core.jobs import trainer
from core.jobs.trainer import Trainer
from core.serving.engine import Engine
from core.training import records
from core.training.finetune import tuning
from core.training.finetune.tuning import TUNINGS

STEPS = 2
SHIPPED = records.RUNS
CHILD = """import sys
from core.training import worker
from core.training.finetune import tuning
for job in tuning.TUNINGS.values():
    object.__setattr__(job, "n_texts", 64)
tuning.CHECKED = 32
sys.exit(worker.main())
"""
"""A training that does not take long before its first step."""


@cache
def _once(name: str, steps: int) -> Path:
    """The folder of a recorded run, made once a process."""
    folder = Path(tempfile.mkdtemp()) / name
    atexit.register(shutil.rmtree, folder.parent)
    tuning.RecordedRun.record(tuning.TUNINGS[name], folder, steps=steps)
    return folder


@contextmanager
def recorded(
    patch: pytest.MonkeyPatch, folder: Path, *names: str, steps: int = STEPS, shipped: bool = False
) -> Iterator[Engine]:
    """These recorded runs, and no others; an engine and a trainer of their own. Those that ship cost no training."""
    quick = {name: replace(job, n_texts=64, n_rows=8, recorded_steps=0) for name, job in TUNINGS.items()}
    patch.setattr(tuning, "TUNINGS", MappingProxyType(quick))
    patch.setattr(tuning.RecordedRun, "jobs", MappingProxyType(quick))
    patch.setattr(records, "RUNS", folder)
    patch.setattr(tuning, "CHECKED", 32)
    patch.setattr(
        trainer,
        "_default",
        Trainer(lambda task, place: [sys.executable, "-c", CHILD, task, str(place), "--steps", str(steps)]),
    )
    for name in names:
        shutil.copytree(SHIPPED / name if shipped else _once(name, steps), folder / name)
    with Engine() as engine:
        patch.setattr(core.serving.engine, "_default", engine)
        yield engine
