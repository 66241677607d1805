"""The abilities that each page needs of a model, checked before it computes: names of `core.abilities`, one table for all pages."""

from __future__ import annotations

from collections.abc import Mapping

from core.abilities import ABILITIES
from core.model import Model
from core.models import Family
from viz.languages import _

NEEDS: Mapping[str, tuple[str, ...]] = {
    "look": (),
    "decode": ("write",),
    "compare": ("attend",),
    "find": ("attend_in_layers",),
    "many_texts": ("attend", "read_text"),
    "what_if": ("attend_in_layers", "answer"),
    "inside": ("attend_in_layers", "answer_texts"),
    "importance": ("attend_in_layers", "answer"),
    "whole_model": ("attend_in_layers", "score_words"),
    "be_the_head": ("attend_in_layers", "write"),
}
"""By the slug of the page."""


def may(slug: str, family: Family) -> bool:
    """Return whether a model of this family may be one that the page can show; its network says the rest when it is open."""
    return all(ABILITIES[name].family(family) for name in NEEDS[slug])


def lacks(slug: str, model: Model) -> str:
    """Return why the page cannot show this model, as the end of a sentence about it; "" where it can."""
    return _(model.lacks(*NEEDS[slug]))
