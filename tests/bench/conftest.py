"""What measurements share: the whole app as a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_server import served_app


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_app(tmp_path_factory.mktemp("server")) as url:
        yield url
