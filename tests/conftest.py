"""For all tests: fixed seeds, one torch thread, marks by folder."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
import threadpoolctl
import torch
from chromium import CHROMIUM
from hypothesis import settings

torch.set_num_threads(1)
threadpoolctl.threadpool_limits(1, "blas")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests get the mark of their folder; browser tests need the system's Chromium."""
    for item in items:
        folder = item.path.parent.name
        if folder in ("reference", "bench", "browser"):
            item.add_marker(getattr(pytest.mark, folder))
        if folder == "browser" and CHROMIUM is None:
            item.add_marker(pytest.mark.skip(reason="no chromium on this machine: install the system's package"))


@pytest.fixture(autouse=True)
def _same_luck() -> None:
    """Every test starts from the same random state."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


# machines are shared: no time limit an example
settings.register_profile("atlas", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("deep", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "atlas"))
