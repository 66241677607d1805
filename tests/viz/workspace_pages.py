"""Pages of the workspace as their tests see them: drawn at a link, their words, and the packets of their instruments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from packets import opened, packets_of, unpacked
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.model import Model
from core.serving.engine import Engine, Listing
from viz.instruments.kit import component

DRAW = """
from viz.shell import errors, pages, state
with state.visit({slug!r}), errors.guard():
    pages.find({slug!r}).page()
"""
NEAR = {"look.cell": {"near": True}}
"""What the browser says when the arithmetic of Look is in view."""


def page(slug: str, state: Mapping[str, Any] = {}, **link: str) -> AppTest:
    """Draw a page at a link, in whose names `__` stands for a dot, with what the visit holds; nothing goes wrong on it."""
    test = AppTest.from_string(DRAW.format(slug=slug), default_timeout=120)
    for name, value in link.items():
        test.query_params[name.replace("__", ".")] = value
    for name, value in state.items():
        test.session_state[name] = value
    return again(test)


def again(test: AppTest) -> AppTest:
    """Run a page once more, after what was set or clicked on it; its instruments bring all their parts again."""
    test.session_state[component._SENT] = set()
    test.run()
    assert not test.exception and "Something went wrong" not in said(test)
    return test


def said(test: AppTest) -> str:
    """Return all words of a page, without the escapes of Markdown."""
    kinds = (test.title, test.header, test.text, test.markdown, test.caption)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def linked(test: AppTest) -> dict[str, str]:
    """Return the link of a page."""
    return {name: value[0] if isinstance(value, list) else value for name, value in test.query_params.items()}


def button(test: AppTest, label: str) -> Any:
    """Return the button whose label has these words."""
    return next(each for each in test.button if label in each.label.replace("\\", ""))


def click(test: AppTest, label: str) -> AppTest:
    """Click the button whose label has these words."""
    button(test, label).click()
    return again(test)


def sent(test: AppTest, *fields: str) -> list[bytes]:
    """List the packets whose header has all `fields`."""
    return [packet for packet in packets_of(test) if {*fields} <= {*opened(packet)[0]}]


def header(test: AppTest, *fields: str) -> dict[str, Any]:
    """Return the header of the one packet that has all `fields`."""
    (packet,) = sent(test, *fields)
    return opened(packet)[0]


def matrices(test: AppTest, *fields: str) -> list[np.ndarray]:
    """Return the numbers of these packets, as the browser rebuilds them."""
    return [unpacked(packet, page=packets_of(test)) for packet in sent(test, *fields)]


def matrix(test: AppTest, *fields: str) -> np.ndarray:
    """Return the numbers of the one packet that has all `fields`."""
    (found,) = matrices(test, *fields)
    return found


@contextmanager
def served_alone(patch: pytest.MonkeyPatch, model: Model, foreign: bool = False) -> Iterator[Model]:
    """Serve this model, and no other, behind the pages."""
    listing = (Listing(model.name, True, "", model.spec.name, foreign=foreign),)
    with Engine(opener={model.name: model}.__getitem__, listing=lambda: listing) as engine:
        patch.setattr(core.serving.engine, "_default", engine)
        yield model
