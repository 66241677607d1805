"""The effect of the changes, in one sentence of numbers."""

from __future__ import annotations

import numpy as np

from core.analysis.residual.delta import PredictionChange
from core.edits import MeanHead, ZeroHead
from viz.labels import bare_token, changes, percent, visible
from viz.number_text import signed
from viz.workspace.what_if.data import Change
from viz.workspace.what_if.views import Moved


def sentence(change: Change, found: PredictionChange | None, moved: Moved) -> str:
    """Return the effect of the changes on the model's output, and the head that changed most."""
    if not change.edits:
        return "Nothing is changed: before and after are equal, number for number."
    return " ".join(filter(None, (_said(change, found), _inside(change, moved))))


def _cause(change: Change) -> str:
    only = change.edits[0]
    if len(change.edits) == 1 and isinstance(only, (ZeroHead, MeanHead)):
        return (
            f"Without {change.place}"
            if only.where == change.path("heads") and only.head == change.place.head
            else "With this head off"
        )
    return "With this change" if len(change.edits) == 1 else f"With these {len(change.edits)} changes"


def _said(change: Change, found: PredictionChange | None) -> str:
    if found is None:
        return ""
    model = change.before.model
    if change.before.source is not None and model.main_output == "logits":
        return _translated(change, found)
    was, now = found.first
    a, b = float(found.before[was]), float(found.after[was])
    if found.score:
        return f"{_cause(change)} the score goes from {signed(a, '.3f')} to {signed(b, '.3f')}."
    what = {
        "classes": "class",
        "tags": "tag",
        "answer": f"{'end' if found.row else 'start'} of the answer at",
    }.get(model.main_output, "masked word" if model.spec.framed else "next word")
    behind = (
        f" of “{bare_token(change.before.tokens[found.row or 0])}”" if model.main_output == "tags" else ""
    )
    text = f"{_cause(change)} the {what} “{_word(found, was)}”{behind} {changes(a, b)}"
    if now != was:
        return f"{text}, and “{_word(found, now)}” comes first with {percent(found.after[now])}."
    return f"{text}; it is still the first."


def _translated(change: Change, found: PredictionChange) -> str:
    place = int(np.abs(found.before - found.after).argmax())
    a, b = float(found.before[place]), float(found.after[place])
    same = (change.translation or "") == (change.before.target_text or "")
    text = (
        f"{_cause(change)} the translation {'stays the same' if same else f'becomes “{change.translation}”'}"
    )
    most = "" if a == b else f"; of its tokens “{_word(found, place)}” moves most: it {changes(a, b)}"
    return f"{text}{most}."


def _word(found: PredictionChange, place: int) -> str:
    return visible(found.words[place].strip() or found.words[place])


def _inside(change: Change, moved: Moved) -> str:
    place, far = moved.most
    if far == 0:
        last = [change.kind.path(change.kind.n_layers(change.before.model.config) - 1, "heads")]
        read = change.kind.name != change.before.kinds[-1] or [edit.where for edit in change.edits] != last
        return "No head attends differently" + ("." if read else ": no head reads what this one writes.")
    count = sum(int((table > 0).sum()) for table in moved.heads.values())
    return f"{count} {'head attends' if count == 1 else 'heads attend'} differently now, {place} the most (JS divergence {far:.3f} bits, maximum 1)."
