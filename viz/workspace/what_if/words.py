"""The effect of the changes, in one sentence of numbers."""

from __future__ import annotations

import numpy as np

from core.analysis.residual.delta import PredictionChange
from core.edits import MeanHead, ZeroHead
from viz.labels import bare_token, changes, percent, visible
from viz.languages import _, ngettext
from viz.number_text import signed
from viz.workspace.what_if.data import Change
from viz.workspace.what_if.views import AttentionChanges


def sentence(change: Change, prediction: PredictionChange | None, changes: AttentionChanges) -> str:
    """Return the effect of the changes on the model's output, and the head that changed most."""
    if not change.edits:
        return _("Nothing is changed: before and after are equal, number for number.")
    return " ".join(filter(None, (_prediction_sentence(change, prediction), _inside(change, changes))))


def _cause(change: Change) -> str:
    only = change.edits[0]
    if len(change.edits) > 1:
        return _("With these {n} changes", n=len(change.edits))
    if not isinstance(only, (ZeroHead, MeanHead)):
        return _("With this change")
    if only.where == change.path("heads") and only.head == change.place.head:
        return _("Without {head}", head=change.place)
    return _("With this head off")


def _prediction_sentence(change: Change, prediction: PredictionChange | None) -> str:
    if prediction is None:
        return ""
    if change.before.source is not None and change.before.model.main_output == "logits":
        return _translated(change, prediction)
    was, now = prediction.first
    a, b = float(prediction.before[was]), float(prediction.after[was])
    if prediction.score:
        return _(
            "{cause} the score goes from {before} to {after}.",
            cause=_cause(change),
            before=signed(a, ".3f"),
            after=signed(b, ".3f"),
        )
    text = _(
        "{cause} {what} {changes}",
        cause=_cause(change),
        what=_compared_output(change, prediction, _word(prediction, was)),
        changes=changes(a, b),
    )
    if now != was:
        return _(
            "{text}, and “{word}” comes first with {share}.",
            text=text,
            word=_word(prediction, now),
            share=percent(prediction.after[now]),
        )
    return _("{text}; it is still the first.", text=text)


def _compared_output(change: Change, prediction: PredictionChange, word: str) -> str:
    """Return the output that is compared, with its kind."""
    model = change.before.model
    match model.main_output:
        case "classes":
            return _("the class “{word}”", word=word)
        case "tags":
            token = bare_token(change.before.tokens[prediction.row or 0])
            return _("the tag “{word}” of “{token}”", word=word, token=token)
        case "answer" if prediction.row:
            return _("the end of the answer at “{word}”", word=word)
        case "answer":
            return _("the start of the answer at “{word}”", word=word)
    if model.spec.framed:
        return _("the masked word “{word}”", word=word)
    return _("the next word “{word}”", word=word)


def _translated(change: Change, prediction: PredictionChange) -> str:
    place = int(np.abs(prediction.before - prediction.after).argmax())
    a, b = float(prediction.before[place]), float(prediction.after[place])
    cause, now = _cause(change), change.translation or ""
    text = (
        _("{cause} the translation stays the same", cause=cause)
        if now == (change.before.target_text or "")
        else _("{cause} the translation becomes “{translation}”", cause=cause, translation=change.translation)
    )
    if a != b:
        text += _(
            "; of its tokens “{token}” moves most: it {changes}",
            token=_word(prediction, place),
            changes=changes(a, b),
        )
    return f"{text}."


def _word(prediction: PredictionChange, place: int) -> str:
    return visible(prediction.words[place].strip() or prediction.words[place])


def _inside(change: Change, changes: AttentionChanges) -> str:
    place, far = changes.most
    if far == 0:
        last = [change.kind.path(change.kind.n_layers(change.before.model.config) - 1, "heads")]
        read = change.kind.name != change.before.kinds[-1] or [edit.where for edit in change.edits] != last
        if read:
            return _("No head attends differently.")
        return _("No head attends differently: no head reads what this one writes.")
    count = sum(int((table > 0).sum()) for table in changes.heads.values())
    return ngettext(
        "{n} head attends differently now, {head} the most (JS divergence {far:.3f} bits, maximum 1).",
        "{n} heads attend differently now, {head} the most (JS divergence {far:.3f} bits, maximum 1).",
        count,
        head=place,
        far=far,
    )
