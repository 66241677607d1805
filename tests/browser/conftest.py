"""What browser tests of a part share: its APP served once a file, opened as often as a test likes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from small_app import Visit, Visitor, served


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the script `APP` of the test file is served."""
    with served(request.module.APP, tmp_path_factory.mktemp("app")) as found:
        yield found


@pytest.fixture
def visit(request: pytest.FixtureRequest, address: str, chromium: Any) -> Iterator[Visitor]:
    """Opens it, each page a `Visit`, or what the test file calls `Seen`."""
    visitor = Visitor(chromium, address, getattr(request.module, "Seen", Visit))
    yield visitor
    visitor.leave()
