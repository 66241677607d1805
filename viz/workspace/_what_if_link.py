"""How other pages lead to What if: the values of a link that opens it with one head switched off."""

from __future__ import annotations

EDITS = "what_if.edits"
OFF = "off"
"""In a link: the head that is in view is off. So the page opens, and so a link from another page needs no path."""
NONE = "none"
"""In a link: nothing is changed, by the visitor's choice."""


def what_if_link_values(kind: str, layer: int, head: int) -> dict[str, object]:
    """For `links.to("what_if", words, **what_if_link_values(kind, layer, head))`: this head is off, the sentence comes along.

    >>> what_if_link_values("causal", 3, 5)
    {'kind': 'causal', 'layer': 3, 'head': 5, 'what_if.edits': 'off'}
    """
    return {"kind": kind, "layer": layer, "head": head, EDITS: OFF}
