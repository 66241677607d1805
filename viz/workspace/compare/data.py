"""The computation of Compare: views become patterns with their words, patterns are brought onto common words, pairs are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from core.analysis.attention.aggregate import aggregate_heads
from core.analysis.attention.align import Slot, align_tokens, align_words, merge_alignments, pool_pattern
from core.analysis.heads.habits import HeadHabits
from core.errors import InputError
from core.model import Model
from core.run import Run, TokenSequence
from core.text.sentences import sentences_of
from viz.instruments.picture import patches
from viz.labels import visible
from viz.languages import _
from viz.memo import remembered
from viz.shell.selection import Selection
from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.compare import continuation
from viz.workspace.compare.compared import Axis, Compared, Pane
from viz.workspace.shared import attention_kinds, blank, head_pills, head_ref, head_survey, model_run, tasks
from viz.workspace.shared.toy_models import KIND
from viz.workspace.what_if import data


def pane_of(view: View, by: str) -> Pane:
    """Run the model and take the pattern. Raises InputError for a view that cannot be shown."""
    run, heads = _run(view), head_survey.survey(view.model)
    if not heads:
        raise InputError(
            _("{model} has no attention.", model=view.model),
            _("No word of it attends to another: there is no pattern to compare."),
            _("Choose another model."),
        )
    view = _placed(view, heads)
    by = "token" if KIND.get(view.model) == "copy" else by
    if isinstance(view.head, int):
        attention, head = head_ref.attention_of(run, view.kind, by), view.head
    else:
        how, head = pins.AGGREGATES[view.head], 0
        attention = remembered(
            run,
            (view.kind, by, how),
            lambda: aggregate_heads(run, view.kind, how, by, writing=attention_kinds.crosses(view.kind)),
        )
    kind = run.model.spec.kind(view.kind)
    queries, keys = run.axis(kind.queries), run.axis(kind.keys)
    if attention_kinds.crosses(view.kind):
        queries = queries.next_tokens()
    return Pane(
        view,
        run,
        heads,
        attention.weights[view.layer, head],
        attention.allowed[view.layer, min(head, attention.allowed.shape[1] - 1)],
        _axis(queries, _called(run, attention.queries), by),
        _axis(keys, _called(run, attention.keys), by),
    )


def _called(run: Run, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return words as they are, patches by their positions."""
    return tuple(patches.patch_names(names)) if patches.grid(run) else names


def compared(panes: Sequence[Pane], by: str) -> Compared:
    """Bring all onto the words (or pieces) of the first."""
    rows, columns = (_slots([getattr(pane, side) for pane in panes], by) for side in ("queries", "keys"))
    sides = [([slot[k] for slot in rows], [slot[k] for slot in columns]) for k in range(len(panes))]
    return Compared(
        tuple(panes),
        rows,
        columns,
        tuple(pool_pattern(pane.weights, *side) for pane, side in zip(panes, sides, strict=True)),
        tuple(pool_pattern(pane.allowed, *side) > 0 for pane, side in zip(panes, sides, strict=True)),
    )


def opening(selection: Selection) -> tuple[View, View]:
    """Return a clear pair: the head in view (or the clearest of all), and the clearest one that does something else."""
    model, text, kind = selection.model, selection.text, selection.kind
    heads = head_survey.habits_for_opening(model, text)
    if not head_pills.has_choice(heads):
        only = View(model, text, kind if kind and kind in heads else next(reversed([*heads]), ""))
        return only, _counterpart(only)
    if kind is None or kind not in heads:
        reader = model_run.open_model(model)
        kind = reader.spec.kinds_of(reader.config)[0 if patches.reads_patches(reader) else -1].name
    measured = heads[kind]
    places = [(i, j) for i in range(measured.shape[0]) for j in range(measured.shape[1])]
    first, *others = measured.best_head_by_habit(text).items()
    here = selection.layer, selection.head
    a = next((place for place in places if place == here), first[1])
    clear = [
        at
        for habit, at in (first, *others)
        if habit != head_survey.VAGUE and measured.habit(*at) != measured.habit(*a)
    ]
    habit = measured.habit(*a) if measured.habit(*a) != head_survey.VAGUE else "spread"
    plain = min((at for at in places if at != a), key=lambda at: measured.scores[habit][at], default=a)
    b = next(iter(clear), plain)  # where no second habit is: the head that has the first one least
    return View(model, text, kind, *a), View(model, text, kind, *b)


def parted(first: View, second: View) -> tuple[View, View]:
    """Return two texts of one model where no head is named: the head whose rows differ most between them.

    Of a model with several kinds of attention the first, which reads the texts themselves.
    """
    try:
        kind = next(iter(head_survey.survey(first.model)), "")
        one, other = (pane_of(replace(view, kind=kind, layer=0, head=0), "word") for view in (first, second))
    except InputError:  # the panes say why
        return first, second
    bits = remembered(one.run, ("parted", other.view.text), lambda: row_distances(one, other))
    layer, head = (int(place) for place in np.unravel_index(int(np.nan_to_num(bits).argmax()), bits.shape))
    return replace(first, kind=kind, layer=layer, head=head), replace(
        second, kind=kind, layer=layer, head=head
    )


def row_distances(one: Pane, other: Pane) -> np.ndarray:
    """Return how different each head's rows on two texts are, in bits: (layer, head)."""
    found = [head_ref.attention_of(pane.run, pane.view.kind) for pane in (one, other)]
    panes = [
        [
            replace(pane, weights=weights)
            for weights in attention.weights.reshape(-1, *attention.weights.shape[2:])
        ]
        for pane, attention in zip((one, other), found, strict=True)
    ]
    bits = [compared(pair, "word").pair(0, 1).likeness.bits for pair in zip(*panes, strict=True)]
    return np.array(bits).reshape(found[0].weights.shape[:2])


def another(panes: Sequence[Pane]) -> View:
    """Return one more pane: of the last one's model the clearest head of a habit that is not shown yet, else any other head."""
    last = panes[-1].view
    measured = panes[-1].heads[last.kind]
    shown = [
        (view.layer, view.head)
        for view in (pane.view for pane in panes)
        if (view.model, view.kind) == (last.model, last.kind)
    ]
    left = [
        place
        for place in [*measured.best_head_by_habit(last.text).values(), *np.ndindex(measured.shape)]
        if place not in shown
    ]
    layer, head = left[0] if left else (0, 0)
    return replace(last, layer=int(layer), head=int(head))


def same_in(views: Sequence[View], *names: str) -> bool:
    """Return whether all views are the same in these respects."""
    return len({tuple(getattr(view, name) for name in names) for view in views}) < 2


def _counterpart(view: View) -> View:
    """Return a view beside a model with one alignment: another model of its task that has attention; where sentences are summed up, the text without its last one."""
    if attention_kinds.is_summary(view.kind):
        places = sentences_of(view.text)
        return replace(view, text=view.text[: places[-2][1]] if len(places) > 1 else view.text)
    offer = tasks.Offer(tasks.usable())
    same = (
        name
        for name in offer.by_task[offer.tasks[view.model]]
        if name != view.model and KIND.get(name) == KIND.get(view.model)
    )
    readers = map(model_run.open_model, same)
    other = next((one.name for one in readers if one.spec.kinds_of(one.config)), None)
    return View(other, view.text) if other else view


def _run(view: View) -> Run:
    """Run the pass of a view; a text that is continued is continued first, and a changed pass has the target of the one before the change."""
    view = replace(view, text=patches.without_hiding(model_run.open_model(view.model), view.text))
    text, target = continuation.continued(view) if view.strategy else (view.text, view.target)
    if not view.edits:
        return model_run.run(Selection(view.model, text, target or None, view.pair))
    before = data.first(Selection(view.model, text))
    kept, errors = data.readable(view.edits, before)
    if errors:
        raise errors[0]
    return data.second(before, kept)


def with_own_blanks(views: Sequence[View]) -> tuple[View, ...]:
    """Return the views with each blank, typed as the mask of whichever of their models, as the mask of the model that reads it."""
    readers = {view.model: _reader(view.model) for view in views}
    signs = [blank.sign(reader) for reader in readers.values() if reader is not None]
    found = []
    for view in views:
        reader, text = readers[view.model], view.text
        if reader is not None and (own := blank.sign(reader)):
            for sign in filter(None, signs):
                text = text.replace(sign, own)
            text = blank.read_by(reader, text)
        found.append(replace(view, text=text))
    return tuple(found)


def _reader(name: str) -> Model | None:
    try:
        return model_run.open_model(name)
    except InputError:  # the pane says why
        return None


def _placed(view: View, heads: Mapping[str, HeadHabits]) -> View:
    """Return the view with its head: the clearest one where it names no kind. Raises InputError where the model has no such head."""
    if not view.kind:
        first = next(iter(head_survey.clearest_heads(heads)), head_ref.HeadRef(next(iter(heads)), 0, 0))
        return replace(view, kind=first.kind, layer=first.layer, head=first.head)
    if view.kind not in heads:
        raise InputError(
            _("{model} has no attention '{kind}'.", model=view.model, kind=view.kind),
            _("It has {kinds}.", kinds=", ".join(heads)),
            _("Choose another head."),
        )
    layers, n_heads = heads[view.kind].shape
    if view.layer >= layers or (isinstance(view.head, int) and view.head >= n_heads):
        raise InputError(
            _("{model} has no head {head}.", model=view.model, head=view),
            _("It has {layers} layers of {heads} heads, counted from 0.", layers=layers, heads=n_heads),
            _("Choose another head."),
        )
    if view.head == "rollout" and attention_kinds.crosses(view.kind):
        raise InputError(
            _("Rollout is not defined between two texts."),
            _("It follows a text through its own layers."),
            _("Choose another head."),
        )
    return view


def _axis(side: TokenSequence, names: tuple[str, ...], by: str) -> Axis:
    pieces = by == "token"
    names = tuple(map(visible, names)) if pieces else names
    paired = side.pair is not None
    return Axis(names, side.spans if pieces and not paired else (), None if paired else side.text)


def _slots(axes: Sequence[Axis], by: str) -> tuple[Slot, ...]:
    """Return common positions: of pieces of one text by their letters, else by the best alignment of the words."""
    first = axes[0]
    if len(axes) == 1:
        return tuple(((place,),) for place in range(len(first.names)))

    def aligned(other: Axis) -> tuple[Slot, ...]:
        if by == "token" and first.text is not None and first.text == other.text:
            return align_tokens(first.text, first.spans, other.spans, first.names, other.names)
        return align_words(first.names, other.names)

    return merge_alignments([aligned(other) for other in axes[1:]])
