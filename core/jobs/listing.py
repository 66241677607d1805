"""One entry of the list of models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Listing:
    """A model that a picker may show: usable (`ok`), or why not (`problem`, a sentence fit for the page).

    `memory`: bytes that opening it takes; `foreign`: it did not ship with the atlas, and may have to go when memory is short;
    `does`: the output of its head of fine-tuning, or "embedding".
    """

    name: str
    ok: bool
    problem: str = ""
    family: str = ""
    memory: int = 0
    foreign: bool = False
    does: str = ""
