"""The full view of Look: the chosen head as a heatmap, the arithmetic of a cell beside it, its source."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

import numpy as np
import streamlit as st

from core.analysis.attention.aggregate import aggregate_heads
from core.analysis.attention.cautions import Caution, cautions
from core.analysis.attention.lenses import has_scores, log_denominators, scores_and_norms
from core.analysis.attention.measures import entropy
from core.analysis.heads.habits import HeadHabits
from core.layers.score_terms import columns
from core.run import Run
from viz.instruments import READING, WRITING, head_view, heatmap, strip
from viz.instruments.kit.head_stack import HEAD, LAYER
from viz.instruments.kit.picture import lines as python_lines
from viz.instruments.words.words import start
from viz.labels import literal, percent, visible
from viz.languages import _, mark
from viz.memo import remembered
from viz.shell import state
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.look import cell, folds
from viz.workspace.look.onward import onward
from viz.workspace.shared.attention_kinds import (
    KINDS,
    axis_names,
    crosses,
    is_summary,
    layout,
    sentence_templates,
)
from viz.workspace.shared.head_pills import has_choice
from viz.workspace.shared.head_ref import (
    GROUP,
    HeadRef,
    HeadView,
    attention_of,
    head_context,
    head_label,
    target_words,
)
from viz.workspace.shared.tasks import written_by

ONE = "one"
STEPS = 430
"""Pixels of the steps of the sum in present mode, where they scroll beside the heatmap."""
JOINED = {ONE: mark("One"), "mean": mark("Mean"), "largest": mark("Largest"), "rollout": mark("Rollout")}
CARE = {
    "sink": mark(
        "{share} of this head's weight rests on the first token, on average over the words that look. Often that is an attention sink: the head has nothing to do here."
    ),
    "separator": mark(
        "{share} of this head's weight rests on the separators between texts, on average over the words that look: an attention sink, not a meaning."
    ),
    "even": mark(
        "{query}: near-uniform attention ({share} of the largest entropy). This row distinguishes nothing."
    ),
    "itself": mark(
        "{query} looks mostly at its own position ({share}). That position may hold more than the word, once lower layers have written into it."
    ),
    "few": mark("{query} may look at one position only: its {share} is no choice."),
    "mean": mark("A mean over the heads of the layer: no single head may look like it."),
    "largest": mark(
        "The largest weight that any head of the layer gives to a cell: rows do not add up to 1."
    ),
    "rollout": mark(
        "Rollout follows the mean pattern and the residual connection down to the words (Abnar and Zuidema 2020). It leaves out values and feed-forward layers: a picture of paths, no measure of influence."
    ),
}
ALSO = {"lines": mark("As lines"), "text": mark("As shaded text")}
BY = {"word": mark("Words"), "token": mark("Tokens")}
EXPLAINS = mark(
    "A large weight shows what was attended to, not why the model decided as it did: attention is not an explanation."
)

READING_SENTENCE = mark(
    "Reading “{query}”, {who} gives {share} to “{key}”; the row adds up to {total:.3f}; its effective number of keys is {count:.1f} (2^entropy)."
)
WRITING_SENTENCE = mark(
    "Writing “{query}”, {who} gives {share} to “{key}”; the row adds up to {total:.3f}; its effective number of keys is {count:.1f} (2^entropy)."
)
SUMMARY_SENTENCE = mark(
    "Within “{query}”, {who} gives {share} to “{key}”; the row adds up to {total:.3f}; its effective number of keys is {count:.1f} (2^entropy)."
)


def show(
    page: Page, selection: Selection, run: Run, measured: Mapping[str, HeadHabits], place: HeadRef
) -> None:
    """Draw the heatmap with the sum of its chosen cell beside it, on which the visitor lands, and the folds."""
    by, how = _choices(run, place, joins=has_choice(measured))
    view = _head_view(run, measured, place, by, how)
    with st.container(key="landing-sum"):
        left, right = st.columns([5, 6], gap="large")
    with left:
        query, key = _heatmap(run, place, view, by, how)
        kind = run.model.spec.kind(place.kind)
        taken = [term.note for term in columns(kind.terms(run.model.network, place.layer))]
        st.caption(
            "  \n".join([*care(view, query, how, same_text=kind.one_text), *map(_, taken), _(EXPLAINS)])
        )
        onward(selection, run, place, how)
        also = (
            controls.NONE
            if state.presenting()
            else controls.optional_pills(
                _("The same weights"),
                ("lines", "text"),
                "look.beside",
                controls.NONE,
                lambda name: _(ALSO[name]),
            )
        )
        if also == "text":
            _text(run, place, view, by, how)
        elif also == "lines":
            _lines(run, place, view, by, how)
    piece = _pieces(run, place, query, key, by)
    with right, st.container(height=STEPS) if state.presenting() else nullcontext():
        page_parts.summary(_sentence(view, place, query, key))
        if how == ONE:
            words = view.attention.queries[query], view.attention.keys[key]
            cell.show(run, place, piece, words, shown_weight=float(view.weights[query, key]))
    folds.show(page, run, measured[place.kind], place, view, piece, one=how == ONE)


def _choices(run: Run, place: HeadRef, *, joins: bool) -> tuple[str, str]:
    """Draw what can be chosen: the kind of attention, words or tokens, how heads are joined, the translation; and the ways out."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if len(run.kinds) > 1:
            controls.segmented(_("Which attention"), run.kinds, "kind", place.kind, lambda k: _(KINDS[k]))
        by = controls.segmented(_("Shown by"), tuple(BY), "look.by", "word", lambda unit: _(BY[unit]))
        offered = [how for how in JOINED if how != "rollout" or layout(place.kind) == "one"]
        how = (
            controls.segmented(
                _("Heads of the layer"), offered, "look.how", ONE, lambda name: _(JOINED[name])
            )
            if joins
            else ONE
        )
        if run.target_text is None:
            _ways_out(joins)
    if run.target_text is not None:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            with st.container(width="stretch", key="look-target"):
                controls.text(
                    _(
                        "Its {written}: the model's own, or type another to see how it would be written",
                        written=written_by(run.model),
                    ),
                    "target",
                    run.target_text or "",
                )
            _ways_out(joins)
    return by, how


def _ways_out(joins: bool) -> None:
    if joins:
        st.button(
            _("See all heads"),
            icon=":material/grid_view:",
            type="tertiary",
            on_click=lambda: state.write(view="heads"),
        )
    st.button(
        _("Close"),
        help=_("Close the full view"),
        icon=":material/close_fullscreen:",
        type="tertiary",
        on_click=lambda: state.write(view=None),
    )


def _head_view(run: Run, measured: Mapping[str, HeadHabits], place: HeadRef, by: str, how: str) -> HeadView:
    if how == ONE:
        return HeadView(
            attention_of(run, place.kind, by),
            place.layer,
            place.head,
            f"{head_label(place, measured)}, {_(measured[place.kind].label(place.layer, place.head))}",
        )
    joined = aggregate_heads(run, place.kind, how, by, writing=crosses(place.kind))
    return HeadView(
        joined, place.layer, 0, _("{joined} of layer {layer}", joined=_(JOINED[how]), layer=place.layer)
    )


def _heatmap(run: Run, place: HeadRef, head_pattern: HeadView, by: str, how: str) -> tuple[int, int]:
    """Draw the pattern with its lenses; return the chosen cell, before any choice the largest weight."""
    queries, keys = _labels(head_pattern, by)
    crossing = crosses(place.kind)

    def further() -> tuple[np.ndarray | None, np.ndarray | None]:
        return scores_and_norms(
            cell.deep(run, place), place.kind, place.layer, place.head, by, writing=crossing
        )

    one = head_context(head_pattern.attention, place) if how == ONE else None
    layer, head = (LAYER, HEAD) if one else (place.layer, place.head)
    picture = heatmap(
        head_pattern.weights,
        queries,
        keys,
        key=f"look.heatmap.{place.kind}.{by}",
        allowed=head_pattern.allowed,
        numbers=len(keys) <= 16,
        lenses=further if how == ONE and has_scores(run, place.kind, by, writing=crossing) else None,
        log_sums=log_denominators(run, place.kind, place.layer, place.head, by, writing=crossing)
        if how == ONE
        else None,
        among=one,
        sink=bool(columns(run.model.spec.kind(place.kind).terms(run.model.network, place.layer))),
        called="{head}",
        hint=_("choose a cell"),
        axis=axis_names(place.kind),
        selected=_touched_cell(head_pattern, place) if by == "word" else None,
        title=head_pattern.name,
        group=GROUP,
        python=python_lines(
            run, "heatmap", layer=layer, head=head if how == ONE else how, kind=place.kind, by=by
        ),
    )
    return picture.cell or _telling(head_pattern, same_text=run.model.spec.kind(place.kind).one_text)


def _telling(head_pattern: HeadView, *, same_text: bool) -> tuple[int, int]:
    """Find the largest weight in a row that has a choice, within one text neither on its own position nor on the first."""
    weights = np.nan_to_num(
        np.where(
            head_pattern.allowed & (head_pattern.allowed.sum(1, keepdims=True) > 1), head_pattern.weights, 0.0
        )
    )
    if same_text:
        np.fill_diagonal(weights, 0.0)
        weights[:, :1] = 0.0
    query, key = np.unravel_index(
        int(np.argmax(weights if weights.any() else np.nan_to_num(head_pattern.weights))), weights.shape
    )
    return int(query), int(key)


def _lines(run: Run, place: HeadRef, head_pattern: HeadView, by: str, how: str) -> None:
    """Draw the same head as lines between words; on wish all heads of its layer."""
    queries, keys = _labels(head_pattern, by)
    n_heads = head_pattern.attention.weights.shape[1]
    whole = how == ONE and n_heads > 1 and controls.toggle(_("All heads of this layer"), "look.lines", False)
    heads = list(range(n_heads)) if whole else [head_pattern.head]
    one = head_context(head_pattern.attention, place) if how == ONE else None
    layer, numbers = (LAYER, heads if whole else [HEAD]) if one else (place.layer, heads)
    head_view(
        head_pattern.attention.weights[head_pattern.layer, heads],
        queries,
        keys,
        key=f"look.lines.{place.kind}.{by}.{whole}",
        reading=not crosses(place.kind),
        heads=heads if how == ONE else [_(JOINED[how])],
        allowed=np.stack([head_pattern.allowed] * len(heads)),
        segments=_segments(run, place, by),
        special=head_pattern.attention.special_positions,
        group=GROUP,
        height=560,
        among=one,
        python=python_lines(
            run, "head_view", layer=layer, heads=numbers if how == ONE else how, kind=place.kind, by=by
        ),
    )


def _text(run: Run, place: HeadRef, head_pattern: HeadView, by: str, how: str) -> None:
    """Draw the same head over the running text: each word shaded by its weight from the touched one, or one line for each word."""
    crossing = crosses(place.kind)
    queries, keys = head_pattern.attention.queries, head_pattern.attention.keys
    strip(
        head_pattern.weights,
        queries,
        keys=keys if layout(place.kind) == "two" else None,
        key=f"look.strip.{place.kind}.{by}",
        allowed=head_pattern.allowed,
        special=head_pattern.attention.special_positions,
        group=GROUP,
        say=sentence_templates(run, place.kind) or (WRITING if crossing else READING),
        subject=_("this head") if how == ONE else _("{joined} of the heads", joined=_(JOINED[how]).lower()),
        names=(_("reads"), _("writes")) if crossing else ("", ""),
        spans=None
        if by == "word" or layout(place.kind) == "two"
        else (run.source if place.kind == "self" and run.source else run.side).spans,
        height=560,
        python=python_lines(
            run, "strip", layer=place.layer, head=place.head if how == ONE else how, kind=place.kind, by=by
        ),
    )


def _labels(head_pattern: HeadView, by: str) -> tuple[list[str], list[str]]:
    """Return words as they are; pieces with their spaces visible."""
    attention = head_pattern.attention
    if by == "word":
        return list(attention.queries), list(attention.keys)
    return remembered(
        attention, "pieces", lambda: ([*map(visible, attention.queries)], [*map(visible, attention.keys)])
    )


def _segments(run: Run, place: HeadRef, by: str) -> list[int] | None:
    """Return which of two texts each position belongs to, where two are read at once."""
    kind = run.model.spec.kind(place.kind)
    side = run.source if run.source is not None and kind.keys == "source" else run.side
    if side.pair is None or not kind.one_text:
        return None
    segments = side.without_padding.segments
    return list(segments) if by == "token" else [segments[word.pieces[0]] for word in side.words]


def _touched_cell(head_pattern: HeadView, place: HeadRef) -> tuple[int, int]:
    """Return the cell of the word that is touched in the picture above: where its weight is largest, or the query that gives it most."""
    drawn = target_words(head_pattern.attention)
    side, index = start(
        head_pattern.weights,
        head_pattern.allowed,
        drawn,
        len(head_pattern.attention.keys),
        state.read("look.word", "") or None,
        layout(place.kind),
    )
    if side == "source":
        return int(head_pattern.weights[:, int(index)].argmax()), int(index)
    row = drawn[int(index)][1] if drawn else 0  # a model may write nothing: then END has the only row
    return row, int(head_pattern.weights[row].argmax())


def care(head_pattern: HeadView, query: int, how: str, *, same_text: bool) -> list[str]:
    """Return the cautions in reading this picture, as far as its numbers call for them."""
    found = cautions(
        head_pattern.weights,
        head_pattern.allowed,
        query,
        head_pattern.attention.special_positions[1],
        same_text=same_text,
    )
    said = [*([] if how == ONE else [Caution(how, 1.0)]), *found]  # pyright: ignore[reportArgumentType]
    word = _("“{word}”", word=literal(visible(head_pattern.attention.queries[query])))
    return [_(CARE[caution.kind], share=percent(caution.share), query=word) for caution in said]


def _sentence(head_pattern: HeadView, place: HeadRef, query: int, key: int) -> str:
    row = head_pattern.weights[query]
    of = str if is_summary(place.kind) else visible  # the spaces of a sentence are no part of a token
    several = head_pattern.attention.weights.shape[1] > 1
    return _(
        SUMMARY_SENTENCE
        if is_summary(place.kind)
        else WRITING_SENTENCE
        if crosses(place.kind)
        else READING_SENTENCE,
        query=of(head_pattern.attention.queries[query]),
        who=head_pattern.name.partition(",")[0] if several else head_pattern.name,
        share=percent(row[key]),
        key=of(head_pattern.attention.keys[key]),
        total=float(row.sum()),
        count=float(np.exp(entropy(row / (row.sum() or 1.0)))),
    )


def _pieces(run: Run, place: HeadRef, query: int, key: int, by: str) -> tuple[int, int]:
    """Return the tokens of a chosen cell: of two words, the pieces with the largest weight."""
    if by == "token":
        return query, key
    found = run.model.spec.kind(place.kind)
    queries, keys = run.axis(found.queries), run.axis(found.keys)
    rows, columns = (
        (queries.next_tokens() if crosses(place.kind) else queries).words[query].pieces,
        keys.words[key].pieces,
    )
    weights = run.trace[found.path(place.layer, "pattern")][place.head][np.ix_(rows, columns)]
    row, column = np.unravel_index(int(np.argmax(np.nan_to_num(weights))), weights.shape)
    return rows[row], columns[column]
