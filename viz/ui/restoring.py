"""The "Start over" button. Streamlit keeps the R key for its own rerun, so this is a small component.

It is on every page, so it also carries `history.js`, which keeps the browser's back button to one press a step.
"""

from __future__ import annotations

from pathlib import Path

from streamlit.components import v2

from viz.ui import asking, state

_HERE = Path(__file__).parent
_button = v2.component(
    "atlas_restore",
    html='<button type="button" title="Back to the opening state">Start over <kbd>R</kbd></button>',
    css=(_HERE / "restore.css").read_text("utf-8"),
    js="\n".join((_HERE / name).read_text("utf-8") for name in ("history.js", "restore.js")),
)


def restore() -> None:
    """The button: it, or the R key, brings the page back to its opening state."""
    _button(key="restore", on_restore_change=_restore, width="content", height="content")


def _restore() -> None:
    asking.forget(state.page())
    state.restore()
