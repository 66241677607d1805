"""Pin in Decode what is written so far, with the head whose attention is shown, for Compare."""

from __future__ import annotations

from typing import Any

from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.shared.attention_kinds import crosses


def show(data: Any, text: str, head: tuple[int, int]) -> None:
    """Draw the button, and the way to Compare; nothing for a model without attention."""
    if data.kind is not None:
        pins.pin_button(view(data, text, head), key="decode.pin")


def view(data: Any, text: str, head: tuple[int, int]) -> View:
    """Return the text with all that was written, read again as it is, however its tokens were chosen.

    Where all heads are shown averaged, the pin holds those of the last layer.
    """
    model, written = data.model, data.last.text
    layer, number = head if head[0] >= 0 else (len(data.last.attention[data.kind]) - 1, "mean")
    given = (text, written) if model.spec.has_source else (written, "")
    return View(
        model.name, given[0], data.kind, layer, number if not _has_one_alignment(data) else 0, target=given[1]
    )


def _has_one_alignment(data: Any) -> bool:
    """Return whether there is one alignment and no heads."""
    return crosses(data.kind) and data.last.attention[data.kind].shape[:2] == (1, 1)
