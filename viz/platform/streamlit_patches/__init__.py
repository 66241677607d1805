"""Functions of Streamlit that are replaced while the server runs: one file each, and one net below all of them.

A patch is applied only where Streamlit's own source is word for word the one that it was written for; else the app runs without
it, and the log and *About* say so. `ATLAS_PATCHES=off` runs the app without any. UPSTREAM.md holds the reports to Streamlit.
"""

from __future__ import annotations

import logging
import os

from viz.platform.streamlit_patches import forget_widgets

log = logging.getLogger("atlas")
VARIABLE = "ATLAS_PATCHES"
PATCHES = (forget_widgets.PATCH,)


def apply() -> tuple[str, ...]:
    """Apply every patch that fits. Return a sentence for each other one; it is in the log, too."""
    if os.environ.get(VARIABLE, "").strip().lower() == "off":
        return (f"no patch of Streamlit is applied ({VARIABLE}=off)",)
    reports = [
        f"the patch {patch.name} of Streamlit is not applied: {why}; without it {patch.cost}"
        for patch in PATCHES
        if (why := patch.apply())
    ]
    for report in reports:
        log.warning("%s", report)
    return tuple(reports)
