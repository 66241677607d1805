"""A model has just been brought: it is the one in view."""

from __future__ import annotations

from viz.shell import state

IN_VIEW = "your_model.which"
"""The model in view, in the link and in the session."""


def bring_into_view(name: str) -> None:
    """Note a model that arrived, before the run that shows it."""
    if name:
        state.write(**{IN_VIEW: name})
