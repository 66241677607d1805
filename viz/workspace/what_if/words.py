"""The effect of the changes, in one sentence of numbers."""

from __future__ import annotations

import numpy as np

from core.analysis.residual.delta import PredictionChange
from core.edits import MeanHead, ZeroHead
from viz.labels import bare_token, changes, percent, visible
from viz.number_text import signed
from viz.workspace.what_if.data import Change
from viz.workspace.what_if.views import AttentionChanges


def sentence(change: Change, prediction: PredictionChange | None, changes: AttentionChanges) -> str:
    """Return the effect of the changes on the model's output, and the head that changed most."""
    if not change.edits:
        return "Nothing is changed: before and after are equal, number for number."
    return " ".join(filter(None, (_prediction_sentence(change, prediction), _inside(change, changes))))


def _cause(change: Change) -> str:
    only = change.edits[0]
    if len(change.edits) == 1 and isinstance(only, (ZeroHead, MeanHead)):
        return (
            f"Without {change.place}"
            if only.where == change.path("heads") and only.head == change.place.head
            else "With this head off"
        )
    return "With this change" if len(change.edits) == 1 else f"With these {len(change.edits)} changes"


def _prediction_sentence(change: Change, prediction: PredictionChange | None) -> str:
    if prediction is None:
        return ""
    model = change.before.model
    if change.before.source is not None and model.main_output == "logits":
        return _translated(change, prediction)
    was, now = prediction.first
    a, b = float(prediction.before[was]), float(prediction.after[was])
    if prediction.score:
        return f"{_cause(change)} the score goes from {signed(a, '.3f')} to {signed(b, '.3f')}."
    what = {
        "classes": "class",
        "tags": "tag",
        "answer": f"{'end' if prediction.row else 'start'} of the answer at",
    }.get(model.main_output, "masked word" if model.spec.framed else "next word")
    behind = (
        f" of “{bare_token(change.before.tokens[prediction.row or 0])}”"
        if model.main_output == "tags"
        else ""
    )
    text = f"{_cause(change)} the {what} “{_word(prediction, was)}”{behind} {changes(a, b)}"
    if now != was:
        return f"{text}, and “{_word(prediction, now)}” comes first with {percent(prediction.after[now])}."
    return f"{text}; it is still the first."


def _translated(change: Change, prediction: PredictionChange) -> str:
    place = int(np.abs(prediction.before - prediction.after).argmax())
    a, b = float(prediction.before[place]), float(prediction.after[place])
    same = (change.translation or "") == (change.before.target_text or "")
    text = (
        f"{_cause(change)} the translation {'stays the same' if same else f'becomes “{change.translation}”'}"
    )
    most = "" if a == b else f"; of its tokens “{_word(prediction, place)}” moves most: it {changes(a, b)}"
    return f"{text}{most}."


def _word(prediction: PredictionChange, place: int) -> str:
    return visible(prediction.words[place].strip() or prediction.words[place])


def _inside(change: Change, changes: AttentionChanges) -> str:
    place, far = changes.most
    if far == 0:
        last = [change.kind.path(change.kind.n_layers(change.before.model.config) - 1, "heads")]
        read = change.kind.name != change.before.kinds[-1] or [edit.where for edit in change.edits] != last
        return "No head attends differently" + ("." if read else ": no head reads what this one writes.")
    count = sum(int((table > 0).sum()) for table in changes.heads.values())
    return f"{count} {'head attends' if count == 1 else 'heads attend'} differently now, {place} the most (JS divergence {far:.3f} bits, maximum 1)."
