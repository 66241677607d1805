"""Fixtures of measurements: the whole app as a server, a page of it, and the threads that a file says it is measured with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from app_server import Server, served_app, started_app

from tests.bench.visitors import all_loaded, rehearse


@pytest.fixture(scope="module", autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """As many threads of torch as the file's THREADS, if it says."""
    before = torch.get_num_threads()
    torch.set_num_threads(getattr(request.module, "THREADS", before))
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_app(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture
def loaded_app(tmp_path: Path) -> Iterator[Server]:
    """A server that has every model and page."""
    with started_app(tmp_path) as server:
        asyncio.run(all_loaded(server.url))
        yield server


@pytest.fixture
def rehearsed_app(tmp_path: Path) -> Iterator[Server]:
    """A server whose pages a teacher has looked at."""
    with started_app(tmp_path) as server:
        asyncio.run(rehearse(server.url))
        yield server
