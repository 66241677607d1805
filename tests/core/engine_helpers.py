"""Callers, a worker that moves one step at a time, and small models: what the tests of the engine share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import nn

from core.model import Model
from core.models.gpt import FAMILY, GPT, GPTConfig
from core.serving.engine import Engine, Listing
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe

PATIENT = 30.0
"""Seconds after which a test gives up waiting: never reached unless something hangs."""


def until(fact: Callable[[], bool]):
    """Wait for a fact; fail if it does not come true."""
    end = time.monotonic() + PATIENT
    while not fact():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)


class Caller(threading.Thread):
    """A thread that asks once and remembers the answer, the error, and when it was released."""

    def __init__(self, ask: Callable[[], Any]):
        super().__init__(daemon=True)
        self._ask = ask
        self.answer = None
        self.error = None
        self.released = 0.0
        self.start()

    def run(self):
        try:
            self.answer = self._ask()
        except BaseException as error:  # noqa: BLE001 - the test looks at it, whatever it is
            self.error = error
        self.released = time.perf_counter()

    def end(self) -> Caller:
        self.join(PATIENT)
        assert not self.is_alive(), "the caller was never released"
        return self


class Steps:
    """Functions for the worker that note their name when they begin and end only at `step()`."""

    def __init__(self, engine: Engine):
        self.engine, self.begun = engine, list[str]()
        self._go = threading.Semaphore(0)
        self._callers = []

    def ask(self, name: str, session: str | None = None, cost: float = 1.0) -> Caller:
        """Ask in a thread of its own; returns once the request has its place (session: the name)."""
        session = name if session is None else session
        before = self.engine._scheduler._sessions.get(session)
        caller = Caller(lambda: self.engine.submit(name, lambda: self._run(name), cost, session))
        self._callers.append(caller)
        until(
            lambda: (
                self.engine._scheduler._sessions.get(session) not in (None, before) or not caller.is_alive()
            )
        )
        return caller

    def begin(self, name: str = "blocker") -> Caller:
        """Ask, and return once it runs."""
        count = len(self.begun)
        caller = self.ask(name)
        until(lambda: len(self.begun) > count)
        return caller

    def step(self, count: int = 1):
        """End what runs, `count` times, each time waiting for the next to begin (if any waits)."""
        for _ in range(count):
            running, begun = self.engine._scheduler._running, len(self.begun)
            more = bool(self.engine._scheduler._waiting)
            self._go.release()
            until(lambda running=running: self.engine._scheduler._running is not running)
            until(lambda begun=begun, more=more: not more or len(self.begun) > begun)

    def finish(self) -> list[str]:
        """Let everything run; the names in the order they began."""
        self._go.release(1000)
        for caller in self._callers:
            caller.end()
        return self.begun

    def _run(self, name: str) -> str:
        self.begun.append(name)
        assert self._go.acquire(timeout=PATIENT)
        return name


class Counting(nn.Module):
    """A network that counts its forwards inside `forward`."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network, self.forwards = network, 0

    def forward(self, *inputs, **options):
        self.forwards += 1
        return self.network(*inputs, **options)

    def logits(self, *inputs, **options):
        return self.network.logits(*inputs, **options)


@cache
def letters() -> Tokenizer:
    """A token a byte, or a few."""
    return Tokenizer(
        learn_byte_level_bpe(["round and round we go", "all of us at once"], 270, ["<end>"]), end=0
    )


def tiny_model(name: str = "tiny") -> Model:
    """A random GPT whose network counts its forwards: the same weights each time."""
    config = replace(GPTConfig.tiny(), n_vocab=len(letters()), n_ctx=32)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = GPT(config)
        for weight in network.parameters():
            torch.nn.init.normal_(weight, std=0.3)
    return Model(name, FAMILY, config, Counting(network), letters())


@contextmanager
def serving(*good: str, opener: Callable[[str], Any] | None = None, **options) -> Iterator[Engine]:
    """An engine over tiny models of these names."""
    with Engine(
        opener=opener or tiny_model, listing=lambda: tuple(Listing(name, True) for name in good), **options
    ) as engine:
        yield engine
