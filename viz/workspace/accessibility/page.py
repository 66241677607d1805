"""Accessibility: what works, how it is tested, and the known gaps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from viz.shell.pages import Page
from viz.widgets import page_parts
from viz.workspace.shared import statement

PAGE = Page(
    title="Accessibility",
    order=92,
    menu="more",
    claim="How the app is used without a mouse, without sight or with large type, how that is tested, and the known gaps.",
)


@dataclass(frozen=True)
class Params:
    """Nothing to choose."""


def compute(_: Params = Params()) -> tuple[tuple[str, str], ...]:
    """Read the statement."""
    return tuple(statement.sections(Path(__file__).with_name("statement.md")))


def page() -> None:
    """Draw the statement."""
    page_parts.title(PAGE, lesson_only=True)
    statement.show(compute())
