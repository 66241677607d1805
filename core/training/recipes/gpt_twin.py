"""gpt-twin: gpt-mini in small, on the same windows of the same tokens, with its weights from the course of the training."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from core.data.corpora import BOOKS
from core.models.gpt import GPTConfig
from core.training.recipe import Recipe, spaced_steps
from core.training.recipes import gpt_mini

BATCH_TOKENS = 8192


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> gpt_mini.Windows:
    """Return the windows of gpt-mini and copy its tokenizer into `work`.

    Creates the tokenizer and the streams in gpt-mini's work folder, beside `work`, if they are missing.
    """
    shared = work.with_name(gpt_mini.RECIPE.name)
    shared.mkdir(exist_ok=True)
    windows = gpt_mini.prepare(data, shared, seed, device, BATCH_TOKENS)
    shutil.copyfile(shared / "tokenizer.json", work / "tokenizer.json")
    return windows


STEPS = 2000
RECIPE = Recipe(
    name="gpt-twin",
    family="gpt",
    config=GPTConfig(n_layers=3, n_heads=4, d_model=56, d_ff=192, n_vocab=4096, n_ctx=512),
    steps=STEPS,
    prepare=prepare,
    keep_at=spaced_steps(12, STEPS),
    ids=gpt_mini.IDS,
    reads=BOOKS,
)
