"""What measurements share: the whole app as a server, and the threads that a file says it is measured with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from app_server import served_app


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
