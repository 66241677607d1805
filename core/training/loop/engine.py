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
from core.training.loop.prefetch import load_batches
from core.training.loop.ranks import SINGLE_PROCESS, Ranks
from core.training.recipe import Follower, Recipe, Task, initial_network

NUMBERS = ("step", "counted", "tokens", "seconds", "smooth")
"""State of a run in a checkpoint, beside its log."""
AT_ONCE = 16
"""Losses that are read together from a graphics card."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Length of a training, its start and its folder. `done`: steps taken before, by the run that `weights` come from.

    A step goes down the mean loss of `accumulate` batches (of so many in each process, where there are several).
    """

    work: Path
    seed: int = 0
    steps: int | None = None
    minutes: float | None = None
    resume: bool = False
    weights: Mapping[str, torch.Tensor] | None = None
    done: int = 0
    accumulate: int = 1
    save_every: float = 120.0
    check_every: int = 500
    quiet: bool = False


@dataclass
class Outcome:
    """Result of a training: the network and its record."""

    network: nn.Module
    steps: int
    seconds: float
    tokens: int
    log: list[dict[str, float]]
    stopped: bool = False


def train(
    recipe: Recipe, task: Task, plan: Plan, device: torch.device, ranks: Ranks = SINGLE_PROCESS
) -> Outcome:
    """Train by a recipe. Ctrl-C ends it after the present step; the last checkpoint and the weights are kept.

    The length is `plan.steps` (default what is left of the recipe's), or `plan.minutes` of wall clock: the cosine ends
    where the time ends. Batch and dropout of a step depend on the seed and the step alone, so a resumed run goes on as
    it would have, and one that goes on from weights takes up the batches where those were left; its moments and its
    schedule are fresh. Of several processes (`ranks`) each reads the same checkpoint, and the first alone writes.
    """
    torch.backends.cuda.enable_cudnn_sdp(
        False
    )  # it plans anew for every shape, and nearly every batch has its own
    network = initial_network(families()[recipe.family], recipe.config, plan.seed, recipe.begin, device)
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
    elif ranks.first:
        shutil.rmtree(
            plan.work / "history", ignore_errors=True
        )  # weights of another run are none of this one's
    total = plan.steps or (recipe.steps - plan.done if recipe.steps > plan.done else recipe.steps)
    bar = tqdm(
        total=total if plan.minutes is None else None,
        initial=state.step - plan.done,
        unit="step",
        disable=plan.quiet or not ranks.first,
        mininterval=2.0,
    )
    begun, saved = time.perf_counter() - state.seconds, time.perf_counter()
    learner = ranks.learner(task, network)
    numbers = ranks.batch_numbers(state.step, plan.accumulate)
    batches = load_batches(task, ranks.batch_numbers(state.step, plan.accumulate), device)
    stopped = False
    try:
        with _whole_steps() as stop_wanted:
            while True:
                state.seconds, stop = ranks.all_reduce_max(time.perf_counter() - begun, stop_wanted())
                if stopped := bool(stop):
                    break
                taken = state.step - plan.done
                progress = taken / total if plan.minutes is None else state.seconds / (60 * plan.minutes)
                if ranks.first:
                    _keep(plan.work, network, state.step, recipe.keep_at)
                if progress >= 1:
                    break
                factor = schedule(progress, taken, recipe.warm_up)
                share = (
                    (plan.seed * 1_000_003 + next(numbers), *next(batches)) for _ in range(plan.accumulate)
                )
                learnt = _step(learner, [*share], optims, factor, recipe.clip, device, ranks)
                state.count(ranks.summed(learnt))
                if not state.waiting:
                    left = state.seconds * (1 - progress) / max(progress, 1e-9)
                    bar.set_postfix(
                        loss=f"{state.smooth:.3f}", tokens_s=f"{state.rate:.0f}", left=f"{left / 60:.1f}min"
                    )
                bar.update()
                if not ranks.first:
                    continue
                if state.step % plan.check_every == 0:
                    state.read()
                    state.write(plan.work, {"tokens_s": state.rate, **_checked(network, task)})
                if time.perf_counter() - saved > plan.save_every:
                    _save(checkpoint, network, optims, state)
                    saved = time.perf_counter()
    except KeyboardInterrupt:
        stopped = True
    bar.close()
    network.eval()
    if ranks.first:
        _save(checkpoint, network, optims, state)
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
    learner: nn.Module,
    share: Sequence[tuple[int, Any, int]],
    optims: list[torch.optim.Optimizer],
    factor: float,
    clip: float,
    device: torch.device,
    ranks: Ranks,
) -> torch.Tensor:
    """Take one optimiser step on the mean loss of this process's (seed, batch, number of tokens); return its part of the
    loss, and the number of tokens.
    """
    learner.train()
    for optim in optims:
        optim.zero_grad(set_to_none=True)
    n, lost = len(share), []
    for at, (seed, batch, _) in enumerate(share):
        torch.manual_seed(seed)
        with ranks.no_sync(learner) if at < n - 1 else nullcontext():
            with autocast(device):
                loss = learner(batch) / n
            loss.backward()
        lost.append(loss.detach())
    nn.utils.clip_grad_norm_(learner.parameters(), clip)
    for optim in optims:
        for group in optim.param_groups:
            group["lr"] = group["base_lr"] * factor
        optim.step()
    loss = torch.stack(lost).sum().double() / ranks.size
    return torch.stack((loss, loss.new_tensor(sum(tokens for _, _, tokens in share))))


def autocast(device: torch.device) -> Any:
    """Return the context of bfloat16 where the hardware multiplies it (about 4 x float32 on the CPUs measured); elsewhere of float32."""
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

    @property
    def rate(self) -> float:
        return self.tokens / max(self.seconds, 1e-9)

    def count(self, loss_and_tokens: torch.Tensor) -> None:
        """Count one more step with its loss and its number of tokens."""
        self.step += 1
        self.waiting.append(loss_and_tokens)
        if not loss_and_tokens.is_cuda or len(self.waiting) == AT_ONCE:
            self.read()

    def read(self) -> None:
        """Read the losses that are still on the device; reading each at once would delay the step after it."""
        learnt, self.waiting = torch.stack(self.waiting).tolist() if self.waiting else [], []
        for loss, n_tokens in learnt:
            self.counted += 1
            self.tokens += int(n_tokens)
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


def _keep(work: Path, network: nn.Module, step: int, steps_to_keep: Sequence[int]) -> None:
    if step in steps_to_keep:
        (work / "history").mkdir(exist_ok=True)
        torch.save(network.state_dict(), work / "history" / f"{step}.pt")


def history(work: Path, steps: Sequence[int]) -> dict[int, dict[str, torch.Tensor]]:
    """Return the weights that were stored on the way, by step."""
    paths = {step: work / "history" / f"{step}.pt" for step in sorted(steps)}
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
