"""Privacy: what is kept, where, and until when; what this server allows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from viz import limits
from viz.classroom import store
from viz.languages import _
from viz.shell.pages import Page
from viz.widgets import page_parts
from viz.workspace.shared import statement

PAGE = Page(
    title="Privacy",
    order=91,
    menu="more",
    claim="What the server and your browser keep, and until when.",
)


@dataclass(frozen=True)
class Params:
    """Nothing to choose."""


def compute(params: Params = Params()) -> tuple[tuple[str, str], ...]:
    """Read the statement."""
    return tuple(statement.sections(Path(__file__).with_name("statement.md")))


def settings() -> list[str]:
    """Return what was chosen at the start of this server, as far as it concerns the data of visitors."""
    return [
        _("This server asks the Hugging Face Hub for a model that a visitor names.")
        if limits.allows_hub()
        else _("This server asks no other site for anything."),
        _("Visitors may upload a model.") if limits.upload_limit() else _("Nobody can upload a model."),
        _("Its lecture rooms are in a Redis that several copies of the app share.")
        if store.ROOMS.shared
        else _("Its lecture rooms are in its own memory."),
    ]


def page() -> None:
    """Draw what this server allows, and the statement."""
    page_parts.title(PAGE, lesson_only=True)
    first, *others = compute()
    here = "\n".join(f"- {line}" for line in settings())
    statement.show((first, (_("This server"), here), *others))
