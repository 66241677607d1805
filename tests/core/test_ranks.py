"""Several processes train as one does, and go on when one of them was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

from core.tools import train

NAME = "copy-rnn"
"""Learns from strings that are drawn: it needs no data."""


def trained(place: Path) -> dict[str, torch.Tensor]:
    return load_file(place / "out" / NAME / "model.safetensors")


def asked(place: Path, *more: str) -> list[str]:
    there = ("--data", str(place), "--out", str(place / "out"), "--work", str(place / "work"))
    return [NAME, *there, "--threads", "1", *more]


@contextmanager
def together(place: Path, *more: str, restarts: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """Two processes that torchrun starts; what they say is in `said`, and none of them outlives the test."""
    place.mkdir(parents=True, exist_ok=True)
    begin = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    how = [*begin, "--max-restarts", str(restarts), "-m", "core.tools.train", *asked(place, *more)]
    here = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    with (place / "said").open("wb") as said:
        pair = subprocess.Popen(how, env=here, stdout=said, stderr=said, start_new_session=True)
        try:
            yield pair
        finally:
            if pair.poll() is None:
                os.killpg(pair.pid, signal.SIGKILL)


def alone(place: Path, *more: str):
    before = torch.get_num_threads()
    try:
        assert train.main([*asked(place, *more), "--device", "cpu"]) == 0
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_two_processes_take_the_steps_of_one_with_the_same_batches(tmp_path, monkeypatch):
    """This process and one more, told what torchrun tells its own; how torchrun itself starts them, the slow test shows."""
    alone(tmp_path / "one", "--steps", "8", "--accumulate", "2")
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    told = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    told |= {"TORCHELASTIC_RUN_ID": "here", "TORCHELASTIC_RESTART_COUNT": "0", "CUDA_VISIBLE_DEVICES": ""}
    for name, value in (told | {"RANK": "0"}).items():
        monkeypatch.setenv(name, value)
    again = [sys.executable, "-m", "core.tools.train", *asked(tmp_path / "two", "--steps", "8")]
    with subprocess.Popen(again, env=os.environ | {"RANK": "1"}, stderr=subprocess.PIPE) as other:
        try:
            alone(tmp_path / "two", "--steps", "8")
            assert other.wait(60) == 0, other.stderr.read()
        finally:
            other.kill()
    logs = [
        torch.load(tmp_path / place / "work" / NAME / "checkpoint.pt", weights_only=True)
        for place in ("one", "two")
    ]
    assert abs(logs[0]["smooth"] - logs[1]["smooth"]) < 1e-4 and logs[0]["counted"] == 8
    assert logs[0]["tokens"] == logs[1]["tokens"] > 0
    for name, value in logs[0]["network"].items():
        assert (value - logs[1]["network"][name]).abs().max() < 1e-4, name
    begun = torch.load(tmp_path / "one" / "work" / NAME / "checkpoint.pt", weights_only=True)["network"]
    assert trained(tmp_path / "two").keys() == begun.keys()


def workers(parent: int) -> list[int]:
    """The processes that torchrun started, as Linux lists them."""
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds the processes in Linux's /proc")
def test_a_killed_process_costs_nothing_but_time(tmp_path):
    alone(tmp_path / "one", "--steps", "120", "--accumulate", "2")
    saved, said = tmp_path / "two" / "work" / NAME / "checkpoint.pt", tmp_path / "two" / "said"
    how = ("--steps", "120", "--resume", "--save-every", "0.5")
    with together(tmp_path / "two", *how, restarts=1) as pair:
        while not saved.is_file():
            with suppress(subprocess.TimeoutExpired):
                pair.wait(0.05)
            assert pair.poll() is None, said.read_text()
        at = torch.load(saved, weights_only=True)["step"]
        os.kill(workers(pair.pid)[-1], signal.SIGKILL)
        assert pair.wait(180) == 0, said.read_text()
    assert 0 < at < 120 and "exitcode: -9" in said.read_text()
    for name, value in trained(tmp_path / "one").items():
        assert (value.float() - trained(tmp_path / "two")[name].float()).abs().max() < 1e-3, name
