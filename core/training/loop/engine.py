"""The training loop: the same for every recipe, on CPU and GPU, resumable at any moment."""

from __future__ import annotations

import json
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from tqdm import tqdm

from core.models import families
from core.training.loop.optim import optimisers, schedule
from core.training.loop.prefetch import fed
from core.training.recipe import Follower, Recipe, Task, drawn

NUMBERS = ("step", "counted", "tokens", "seconds", "smooth")
"""What a checkpoint holds of the run's state, beside the log."""
AT_ONCE = 16
"""Losses that are read together from a graphics card."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long, from where, and where to. `done`: so many steps were taken before, by the run that `weights` come from."""

    work: Path
    seed: int = 0
    steps: int | None = None
    minutes: float | None = None
    resume: bool = False
    weights: Mapping[str, torch.Tensor] | None = None
    done: int = 0
    save_every: float = 120.0
    check_every: int = 500
    quiet: bool = False


@dataclass
class Outcome:
    """What came out: the network and the record of how."""

    network: nn.Module
    steps: int
    seconds: float
    tokens: int
    log: list[dict[str, float]]
    stopped: bool = False


def train(recipe: Recipe, task: Task, plan: Plan, device: torch.device) -> Outcome:
    """Run a recipe. Ctrl-C ends it after the step in hand; the last checkpoint and the weights are kept.

    The length is `plan.steps` (default what is left of the recipe's), or `plan.minutes` of wall clock: the cosine ends
    where the time ends. Batch and dropout of a step depend on the seed and the step alone, so a resumed run goes on as
    it would have, and one that goes on from weights takes up the batches where those were left; its moments and its
    schedule are fresh.
    """
    torch.backends.cuda.enable_cudnn_sdp(
        False
    )  # it plans anew for every shape, and nearly every batch has its own
    network = drawn(families()[recipe.family], recipe.config, plan.seed, recipe.begin, device)
    recipe.inherit(network)
    if plan.weights is not None:
        network.load_state_dict(plan.weights)
        if isinstance(task, Follower):
            task.follow(network)
    optims = optimisers(
        network,
        lr=recipe.lr,
        matrix_lr=recipe.matrix_lr,
        weight_decay=recipe.weight_decay,
        outside=recipe.outside,
    )
    state = _State(plan.done)
    checkpoint = plan.work / "checkpoint.pt"
    if plan.resume and checkpoint.is_file():
        state = _load(checkpoint, network, optims)
    else:
        shutil.rmtree(
            plan.work / "history", ignore_errors=True
        )  # weights of another run are none of this one's
    total = plan.steps or (recipe.steps - plan.done if recipe.steps > plan.done else recipe.steps)
    bar = tqdm(
        total=total if plan.minutes is None else None,
        initial=state.step - plan.done,
        unit="step",
        disable=plan.quiet,
        mininterval=2.0,
    )
    begun, saved = time.perf_counter() - state.seconds, time.perf_counter()
    batches = fed(task, state.step, device)
    stopped = False
    try:
        with _whole_steps() as stop_wanted:
            while not (stopped := stop_wanted()):
                state.seconds = time.perf_counter() - begun
                taken = state.step - plan.done
                progress = taken / total if plan.minutes is None else state.seconds / (60 * plan.minutes)
                _keep(plan.work, network, state.step, recipe.keep_at)
                if progress >= 1:
                    break
                batch, n_tokens = next(batches)
                torch.manual_seed(plan.seed * 1_000_003 + state.step)
                factor = schedule(progress, taken, recipe.warm_up)
                state.count(_step(network, task, batch, optims, factor, recipe.clip, device), n_tokens)
                rate = state.tokens / max(state.seconds, 1e-9)
                if not state.waiting:
                    left = state.seconds * (1 - progress) / max(progress, 1e-9)
                    bar.set_postfix(
                        loss=f"{state.smooth:.3f}", tokens_s=f"{rate:.0f}", left=f"{left / 60:.1f}min"
                    )
                bar.update()
                if state.step % plan.check_every == 0:
                    state.write(plan.work, {"tokens_s": rate, **_checked(network, task)})
                if time.perf_counter() - saved > plan.save_every:
                    _save(checkpoint, network, optims, state)
                    saved = time.perf_counter()
    except KeyboardInterrupt:
        stopped = True
    bar.close()
    _save(checkpoint, network, optims, state)
    network.eval()
    state.write(plan.work, dict(_checked(network, task)))
    return Outcome(network, state.step, state.seconds, state.tokens, state.log, stopped)


@contextmanager
def _whole_steps() -> Iterator[Callable[[], bool]]:
    """Note Ctrl-C instead of raising it, so that no step is left half done; a second one is raised at once."""
    wanted = False

    def note(*_: object) -> None:
        nonlocal wanted
        wanted = True
        signal.signal(signal.SIGINT, before)

    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread() and callable(
        before
    )  # not where it is ignored
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: wanted
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


def _step(
    network: nn.Module,
    task: Task,
    batch: Any,
    optims: list[torch.optim.Optimizer],
    factor: float,
    clip: float,
    device: torch.device,
) -> torch.Tensor:
    network.train()
    with autocast(device):
        loss = task.loss(network, batch)
    for optim in optims:
        optim.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), clip)
    for optim in optims:
        for group in optim.param_groups:
            group["lr"] = group["base_lr"] * factor
        optim.step()
    return loss.detach()


def autocast(device: torch.device) -> Any:
    """bfloat16 where the hardware multiplies it (about 4 x float32 on the CPUs measured); elsewhere float32."""
    multiplies = device.type == "cuda" or (
        device.type == "cpu"
        and torch.backends.mkldnn.is_available()
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )
    return torch.autocast(device.type, torch.bfloat16) if multiplies else nullcontext()


def _checked(network: nn.Module, task: Task) -> Mapping[str, float]:
    network.eval()
    with torch.inference_mode():
        return task.check(network)


class _State:
    def __init__(self, done: int = 0) -> None:
        self.step, self.tokens, self.seconds, self.smooth = done, 0, 0.0, 0.0
        self.counted = 0
        self.log: list[dict[str, float]] = []
        self.waiting: list[torch.Tensor] = []

    def count(self, loss: torch.Tensor, n_tokens: int) -> None:
        self.step += 1
        self.tokens += n_tokens
        self.waiting.append(loss)
        if not loss.is_cuda or len(self.waiting) == AT_ONCE:
            self.read()

    def read(self) -> None:
        """Take in the losses that are still with the device: to ask for each at once would hold up the step behind it."""
        losses, self.waiting = torch.stack(self.waiting).tolist() if self.waiting else [], []
        for loss in losses:
            self.counted += 1
            keep = min(0.98, 1 - 1 / self.counted)
            self.smooth = keep * self.smooth + (1 - keep) * loss

    def write(self, work: Path, extra: Mapping[str, float]) -> None:
        self.read()
        row = {
            "step": self.step,
            "tokens": self.tokens,
            "minutes": round(self.seconds / 60, 2),
            "loss": self.smooth,
            **extra,
        }
        row = {name: round(value, 5) for name, value in row.items()}
        self.log.append(row)
        with (work / "log.jsonl").open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        tqdm.write("  ".join(f"{name} {value:g}" for name, value in row.items()))


def _save(path: Path, network: nn.Module, optims: list[torch.optim.Optimizer], state: _State) -> None:
    new = path.with_suffix(".new")
    state.read()
    numbers = {name: getattr(state, name) for name in NUMBERS}
    torch.save(
        {
            "network": network.state_dict(),
            "optims": [o.state_dict() for o in optims],
            **numbers,
            "log": json.dumps(state.log),
        },
        new,
    )
    new.replace(path)


def _keep(work: Path, network: nn.Module, step: int, wanted: Sequence[int]) -> None:
    if step in wanted:
        (work / "history").mkdir(exist_ok=True)
        torch.save(network.state_dict(), work / "history" / f"{step}.pt")


def history(work: Path, wanted: Sequence[int]) -> dict[int, dict[str, torch.Tensor]]:
    """The weights that were kept on the way, by step."""
    paths = {step: work / "history" / f"{step}.pt" for step in sorted(wanted)}
    return {
        step: torch.load(path, weights_only=True, map_location="cpu")
        for step, path in paths.items()
        if path.is_file()
    }


def _load(path: Path, network: nn.Module, optims: list[torch.optim.Optimizer]) -> _State:
    held = torch.load(path, weights_only=True)
    network.load_state_dict(held["network"])
    for optim, values in zip(optims, held["optims"], strict=True):
        optim.load_state_dict(values)
    state = _State()
    for name in NUMBERS:
        setattr(state, name, held[name])
    state.log = json.loads(held["log"])
    return state
