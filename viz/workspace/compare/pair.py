"""Two panes of Compare: their difference, what tells them apart in one line, the rows that differ most, what has no counterpart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts import marks
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, literal, percent, visible
from viz.languages import _, mark, ngettext
from viz.number_text import number
from viz.shell import state
from viz.widgets import controls, page_parts
from viz.workspace.compare.compared import LETTERS, Compared, Pair, Pane
from viz.workspace.compare.panes import GROUP, ROW, on_patches
from viz.workspace.shared import attention_kinds

TELLING = 4
"""Rows that are offered as pills."""
BARS = 20
LEAST = 0.005
"""The least difference of two weights that two digits show."""
SAME = 1e-6
"""Bits below which two rows are the same for the eye."""
OPPOSITE = {
    "": mark("Opposite each other: {words}."),
    "keys": mark("Opposite each other (looked at): {words}."),
    "queries": mark("Opposite each other (that look): {words}."),
}
ONE_SIDED = {
    "": mark("Without a counterpart, {words}."),
    "keys": mark("Without a counterpart (looked at), {words}."),
    "queries": mark("Without a counterpart (that look), {words}."),
}
"""Notes on words, and where both axes have words of their own, on those of one axis."""


def pair_in_view(comparison: Compared) -> Pair:
    """Return the two panes whose difference is shown."""
    pairs = comparison.pairs()
    if len(pairs) == 1:
        return pairs[0]
    names = {pair.name: pair for pair in pairs}
    most = max(pairs, key=lambda pair: np.nan_to_num(pair.likeness.bits))
    return names[controls.segmented(_("The difference of"), list(names), "compare.pair", most.name)]


def row_of(pair: Pair, *, on_picture: bool = False) -> int | None:
    """Return the row in view: the visitor's, else the one that differs most; on a picture the class token's."""
    if not pair.order:
        return None
    first = 0 if on_picture and 0 in pair.order else pair.order[0]
    now = state.read(ROW, first, state.whole_number(0, len(pair.likeness.rows) - 1))
    return now if now in pair.order else first


def rows(comparison: Compared, pair: Pair, row: int | None, *, quiet: bool = False) -> None:
    """Draw the rows that differ most, as pills, with their divergence; a touch marks one in all panes. `quiet`: without a label, the unit in each pill."""
    if row is None:
        return
    offered = list(dict.fromkeys([*pair.order[: TELLING - quiet], row]))
    key = "compare.rows"
    lit = state.seed_widget(key, row)

    def store() -> None:
        if st.session_state.get(key) is not None:
            state.write(**{ROW: st.session_state[key]})

    st.pills(
        _("Where they differ most, in bits"),
        offered,
        key=key,
        default=lit,
        required=True,
        on_change=store,
        format_func=lambda place: (
            f"{literal(comparison.visible_word('queries', place, pair.a))} :gray[:small[{_('{bits:.2f} bits', bits=pair.likeness.rows[place]) if quiet else number(pair.likeness.rows[place])}]]"
        ),
        label_visibility="collapsed" if quiet else "visible",
        wrap=True,
    )


def show(comparison: Compared, pair: Pair) -> None:
    """Draw the difference, centred, and beside it the divergence of each row."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        difference(comparison, pair)
    with right:
        shown = sorted(pair.order[:BARS])
        st.markdown(
            _("Jensen-Shannon divergence of each row, bits: the {n} that differ most", n=BARS)
            if len(pair.order) > BARS
            else _("Jensen-Shannon divergence of each row, bits")
        )
        names = distinct(comparison.word("queries", place, pair.a) for place in shown)
        page_parts.show(
            marks.bars(
                pd.Series(pair.likeness.rows[shown], names),
                "{:.2f}",
                highlighted=[names[shown.index(pair.order[0])]],
                end=1.0,
            ),
            key="compare.bits",
            alt=_(
                "Bars: Jensen-Shannon divergence of each row, from 0 (the same) to 1 bit (no word in common)."
            ),
        )


def difference(compared: Compared, pair: Pair) -> None:
    """Draw the weights of one pane minus those of the other, centred."""
    a, b = (compared.panes[place].view for place in (pair.a, pair.b))
    both = {
        name: _(" and ").join(dict.fromkeys((str(getattr(a, name)), str(getattr(b, name)))))
        for name in ("model", "text", "kind")
    }
    origin.tell(**both, changed=_("{a} minus {b}", a=a, b=b))
    if compared.panes[pair.a].is_picture:
        on_patches(
            compared.panes[pair.a],
            pair.difference,
            "compare.heat.difference",
            row_of(pair, on_picture=True),
            scale="difference",
            title=pair.name,
        )
    else:
        _heatmap(compared, pair)


def _heatmap(comparison: Compared, pair: Pair) -> None:
    heatmap(
        pair.difference,
        comparison.words("queries", pair.a),
        comparison.words("keys", pair.a),
        key="compare.heat.difference",
        allowed=pair.compared,
        lone=comparison.lone(pair.a, pair.b),
        scale="difference",
        limit=1.0,
        axis=(_("query"), _("key")),
        title=pair.name,
        height=460,
        group=GROUP,
    )


def sentence(comparison: Compared, pair: Pair, row: int | None) -> str:
    """Return the difference of the two in words: of the row, and of all rows together."""
    a, b, alike = comparison.panes[pair.a], comparison.panes[pair.b], pair.likeness
    if row is None:
        return _("The two have no row in common: there is nothing to compare.")
    if alike.largest == 0.0:
        return (
            _("The two rows of every query are equal: this is one head beside itself.")
            if a.view == b.view
            else _("Here the two are exactly equal: the largest difference is 0.0.")
        )
    if np.nanmax(alike.rows) < SAME:
        return _(
            "Here the two look the same: the largest difference is {largest:.1g}.", largest=alike.largest
        )
    word, most = (comparison.visible_word("queries", place, pair.a) for place in (row, pair.order[0]))
    values = {
        "word": word,
        "first": _looks(comparison, pair.a, row),
        "second": _looks(comparison, pair.b, row),
        "bits": alike.rows[row],
    }
    if row == pair.order[0]:
        said = [
            _(
                "They differ most at “{word}”: {first}, {second}; Jensen-Shannon divergence {bits:.2f} bits (maximum 1).",
                **values,
            )
        ]
    else:
        said = [
            _(
                "At “{word}”: {first}, {second}; Jensen-Shannon divergence {bits:.2f} bits (maximum 1).",
                **values,
            ),
            _(
                "They differ most at “{word}” ({bits:.2f} bits).",
                word=most,
                bits=alike.rows[pair.order[0]],
            ),
        ]
    return " ".join([*said, _mean(comparison, pair)])


def _mean(comparison: Compared, pair: Pair) -> str:
    """Return the mean over all rows that both have, in words."""
    n, values = len(pair.order), {"bits": pair.likeness.bits, "more": _figures(pair)}
    is_picture = comparison.panes[0].is_picture
    if n == len(comparison.rows):
        return (
            _("The mean over all patches is {bits:.2f} bits{more}.", **values)
            if is_picture
            else _("The mean over all words is {bits:.2f} bits{more}.", **values)
        )
    return (
        _("The mean over the {n} patches that both have is {bits:.2f} bits{more}.", n=n, **values)
        if is_picture
        else _("The mean over the {n} words that both have is {bits:.2f} bits{more}.", n=n, **values)
    )


def _looks(comparison: Compared, pane: int, row: int) -> str:
    weights = comparison.weights[pane][row]
    key = int(weights.argmax())
    return _(
        "{letter} gives {share} to “{word}”",
        letter=LETTERS[pane],
        share=percent(weights[key]),
        word=comparison.visible_word("keys", key, pane),
    )


def _figures(pair: Pair) -> str:
    named = {_("correlation"): pair.likeness.correlation, _("cosine"): pair.likeness.cosine}
    return "".join(f", {name} {number(value)}" for name, value in named.items() if np.isfinite(value))


def notes(comparison: Compared, pair: Pair) -> list[str]:
    """Return the rows without a counterpart, and those that a mask makes equal, in words."""
    a, b = comparison.panes[pair.a], comparison.panes[pair.b]
    sides = (
        ["queries"]
        if a.queries.names == a.keys.names and b.queries.names == b.keys.names
        else ["keys", "queries"]
    )
    said = [
        line
        for side in sides
        for line in _different_words(comparison, pair, side, "" if len(sides) == 1 else side)
    ]
    taken = {
        term.note: [LETTERS[one] for one in (pair.a, pair.b) if term in comparison.panes[one].columns]
        for term in (*a.columns, *b.columns)
    }
    said += [
        _("In {letters}: {note}", letters=_(" and ").join(letters), note=_(note))
        for note, letters in taken.items()
    ]
    return [*said, *_causal(comparison, pair, a, b)]


def _different_words(comparison: Compared, pair: Pair, side: str, context: str) -> list[str]:
    slots = comparison.rows if side == "queries" else comparison.columns

    def words(one: int, other: int) -> str:
        return ", ".join(
            comparison.visible_word(side, place, one)
            for place, slot in enumerate(slots)
            if slot[one] and not slot[other]
        )

    both = [
        (comparison.word(side, place, pair.a), comparison.word(side, place, pair.b))
        for place, slot in enumerate(slots)
        if slot[pair.a] and slot[pair.b]
    ]
    other = ", ".join(f"{visible(x)} | {visible(y)}" for x, y in both if _bare(x) != _bare(y))
    lines = [_(OPPOSITE[context], words=other)] if other else []
    alone = [
        _("only in {letter}: {words}", letter=LETTERS[one], words=found_words)
        for one, two in ((pair.a, pair.b), (pair.b, pair.a))
        if (found_words := words(one, two))
    ]
    return [*lines, *([_(ONE_SIDED[context], words="; ".join(alone))] if alone else [])]


def _bare(word: str) -> str:
    return "".join(word.split()).replace("·", "")


def _causal(comparison: Compared, pair: Pair, a: Pane, b: Pane) -> list[str]:
    """Return what holds for one head on two texts that begin alike: equal before the difference where the model reads from left to right, exactly."""
    here = [
        (pane.view.model, pane.view.kind, pane.view.layer, pane.view.head, pane.view.edits) for pane in (a, b)
    ]
    first = next(
        (place for place, slot in enumerate(comparison.rows) if _differs(comparison, pair, place, slot)), None
    )
    if (
        here[0] != here[1]
        or not first
        or attention_kinds.crosses(a.view.kind)
        or (a.run.model.spec.has_source and a.view.kind == "causal")
    ):
        return []
    largest = float(np.abs(comparison.weights[pair.a][:first] - comparison.weights[pair.b][:first]).max())
    word = comparison.visible_word("queries", first - 1, pair.a)
    if a.view.kind != "causal":
        return (
            []
            if largest < LEAST
            else [
                _(
                    "This attention reads the whole text: rows up to “{word}” already differ, by up to {largest:.2f}, although the words there are the same.",
                    word=word,
                    largest=largest,
                )
            ]
        )
    same = (
        _("exactly")
        if largest == 0.0
        else _("equal but for rounding, since texts of two lengths are added up in another order")
    )
    return [
        ngettext(
            "Up to “{word}” ({n} row) the two patterns are the same: the largest difference is {largest:.1g}, {same}. This model reads from left to right: a row is made from the words up to its own, and those are the same in both texts. What comes later cannot change it.",
            "Up to “{word}” ({n} rows) the two patterns are the same: the largest difference is {largest:.1g}, {same}. This model reads from left to right: a row is made from the words up to its own, and those are the same in both texts. What comes later cannot change it.",
            first,
            word=word,
            largest=largest,
            same=same,
        )
    ]


def _differs(comparison: Compared, pair: Pair, place: int, slot: Sequence[tuple[int, ...]]) -> bool:
    return not (slot[pair.a] and slot[pair.b]) or comparison.word(
        "queries", place, pair.a
    ) != comparison.word("queries", place, pair.b)
