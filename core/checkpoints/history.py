"""Weights of a model from the course of its training, beside the final ones: history.safetensors.

Each tensor is there once, its first axis the checkpoint; the steps are in the header's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.checkpoints.files import find_file, need
from core.checkpoints.safety.config_schema import joined
from core.checkpoints.safety.load_plan import uninitialised_network
from core.checkpoints.safety.safetensors_header import REMEDY, read_header
from core.checkpoints.writing import fitting
from core.errors import InputError
from core.model import Model
from core.wording import mark

FILE = "history.safetensors"
STEP_MARK = " at step "


def write_history(folder: Path, history: Mapping[int, Mapping[str, Tensor]]) -> None:
    """Write weights by step, float16, into `folder`."""
    steps = sorted(history)
    stacked = {
        name: torch.stack([fitting(name, history[step][name], torch.float16) for step in steps])
        for name in history[steps[0]]
    }
    save_file(stacked, folder / FILE, metadata={"format": "pt", "steps": " ".join(map(str, steps))})


def steps(folder: Path) -> tuple[int, ...]:
    """Return the training steps whose weights are stored, in rising order; () for a model without a history."""
    path = find_file(folder, FILE)
    if path is None:
        return ()
    read_header(path)  # refuses what is damaged before the library opens it
    with safe_open(path, framework="pt") as file:
        listed = (file.metadata() or {}).get("steps", "")
    numbers = listed.split()
    if not numbers or not all(number.isdecimal() for number in numbers):
        raise InputError(
            "{file} does not say its steps.", "Its header names them in 'steps'.", REMEDY, file=FILE
        )
    return tuple(map(int, numbers))


def open_step(model: Model, folder: Path, step: int) -> Model:
    """Return the model with the weights it had after `step` steps. Raises InputError for a step that is not stored."""
    known = steps(folder)
    if step not in known:
        raise no_such_step(model.name, step, known)
    place = known.index(step)
    network = uninitialised_network(model.spec, model.config, model.head)
    try:
        with safe_open(need(folder, FILE), framework="pt") as file:
            state = {name: file.get_slice(name)[place].to(torch.float32) for name in network.state_dict()}
    except (SafetensorError, OSError, IndexError, TypeError) as error:
        raise InputError(
            "{file} cannot be read ({kind}).",
            "It holds every weight at each step.",
            REMEDY,
            file=FILE,
            kind=type(error).__name__,
        ) from None
    network.load_state_dict(state, strict=True, assign=True)
    return replace(model, name=f"{model.name}{STEP_MARK}{step}", network=network)


def no_such_step(name: str, step: int, steps: Sequence[int]) -> InputError:
    """Return the refusal of a step without stored weights, with the stored ones and the nearest of them."""
    near = sorted(sorted(steps, key=lambda one: abs(one - step))[:2])
    return InputError(
        "{name} has no weights of step {step}.",
        "Steps that were kept: {steps}." if steps else "Steps that were kept: none.",
        mark("The nearest: {near}.") if near else mark("Choose another model."),
        name=name,
        step=step,
        steps=", ".join(map(str, steps)),
        near=joined(map(str, near), mark("{one} or {other}")) if near else "",
    )


def parse_step_name(name: str) -> tuple[str, int] | None:
    """Return the model and the step of a name such as "gpt-twin at step 437"; None for any other name.

    >>> parse_step_name("gpt-twin at step 437"), parse_step_name("gpt-twin"), parse_step_name("gpt-twin at step x")
    (('gpt-twin', 437), None, None)
    """
    of, _, step = name.rpartition(STEP_MARK)
    return (of, int(step)) if of and step.isascii() and step.isdecimal() and len(step) < 10 else None


def base_name(name: str) -> str:
    """Return the name of a model without the step of its training.

    >>> base_name("induction-tiny at step 0"), base_name("gpt-mini")
    ('induction-tiny', 'gpt-mini')
    """
    return name.partition(STEP_MARK)[0]
