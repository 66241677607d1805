"""Description of this computer, shown next to a run that was measured on it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch


def machine() -> str:
    """Describe this computer: processor, cores, threads used and version of PyTorch."""
    cores, threads = os.cpu_count() or 1, torch.get_num_threads()
    name = next(
        (line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")),
        platform.machine(),
    )
    version = torch.__version__.partition("+")[0]
    return f"{name}, {cores} cores, {threads} thread{'s' * (threads > 1)} used, PyTorch {version}"


def _cpuinfo() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return []
