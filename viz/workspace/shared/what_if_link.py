"""How other pages lead to What if: what a link says beside the head in view."""

from __future__ import annotations

EDITS = "what_if.edits"
OFF = "off"
"""In a link: the head that is in view is off. So the page opens, and so a link from another page needs no path."""
NONE = "none"
"""In a link: nothing is changed, by the visitor's choice."""
