"""Ready-made sentences, each with what there is to see in it; nothing a visitor typed is lost by choosing one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core.analysis.heads.head_survey import UNREAD
from core.data import doodles
from core.data.readable import unknown_share
from core.data.texts import Preset, texts
from core.model import Model
from core.models import Family
from viz.labels import literal, shorten
from viz.languages import _, mark
from viz.memo import remembered
from viz.shell import state
from viz.widgets import input_hints
from viz.workspace.shared.toy_models import SMALL, kind_of

TOGETHER = 5
"""Sentences that are listed at once; the others are behind "More"."""
LETTERS = 80
"""Of a text of the visitor's that is offered again."""
NAMES = ("text", "target", "pair")
HEADINGS = {"fill": mark("A masked word"), "pair": mark("Two texts, one after the other")}
_TYPED, _MORE = "presets.typed", "presets.more"
Texts = dict[str, str]


def kinds(model: str, family: Family) -> tuple[str, ...]:
    """Return the kinds of preset sentences that fit the task of a model."""
    if kind := kind_of(model):
        return (kind,)
    if family.sentences:
        return ("genre",)
    if family.has_source and not input_hints.is_shipped(model):
        return ()  # into what it translates, if it does, nobody knows
    return ("fill", "pair") if family.framed else ("translate",) if family.has_source else ("continue",)


def fitting(model: Model) -> tuple[Preset, ...]:
    """Return the sentences that this model can read as they are meant, in the order of the file."""
    return remembered(model, "presets.fitting", lambda: _fitting(model))


def readable(model: Model, text: str) -> bool:
    """Return whether a model has tokens for a text of ours: its tokenizer decides. A blank counts as no word."""
    return (
        model.spec.reads is not None
        or input_hints.is_shipped(model.name)
        or bool(kind_of(model.name))
        or unknown_share([text.replace("[MASK]", "")], model.tokenizer.source) <= UNREAD
    )


def _fitting(model: Model) -> tuple[Preset, ...]:
    cannot = set()
    if "logits" not in model.outputs or model.tokenizer.mask is None:
        cannot.add("fill")
    if getattr(model.config, "n_segments", 2) < 2:
        cannot.add("pair")
    return tuple(
        row
        for row in texts("presets")
        if row.kind in kinds(model.name, model.spec)
        and row.kind not in cannot
        and readable(model, f"{row.text} {row.second if row.kind == 'pair' else ''}")
    )


def telling(rows: Sequence[Preset]) -> tuple[Preset, ...]:
    """Return a first few: one of each thing there is to see, as many of each kind; in the order given.

    >>> [row.task for row in telling([row for row in texts("presets") if row.kind == "translate"])]
    ['a saying', 'word order', 'a word too few', 'coreference', 'gender']
    """
    by_kind: dict[str, dict[str, Preset]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, {}).setdefault(row.task, row)
    share = TOGETHER if len(by_kind) < 2 else 3
    return tuple(row for first in by_kind.values() for row in list(first.values())[:share])


def now() -> Texts:
    """Return the texts in the boxes by the visitor's choice; none where the page shows its opening sentence."""
    return {name: value for name in NAMES if (value := state.read(name, ""))}


def same(row: Preset, boxes: Texts) -> bool:
    """Return whether the boxes hold this sentence and nothing that the visitor typed."""
    second = boxes.get("pair", "") == (row.second if row.kind == "pair" else "")
    return boxes.get("text") == row.text and second and boxes.get("target", row.second) == row.second


def preset_in_boxes(model: str, family: Family, opening: str = "") -> Preset | None:
    """Return the ready-made sentence in the boxes, if it is one for this model; `opening` is the text of the box before any choice.

    What is said of it holds for the models that it was made for.
    """
    if not (input_hints.is_shipped(model) or kind_of(model)):
        return None
    held, usable = now() or {"text": opening}, kinds(model, family)
    return next((row for row in texts("presets") if row.kind in usable and same(row, held)), None)


def unfit_texts(model: str, family: Family) -> dict[str, None]:
    """Return the boxes to be emptied before another model: all of a ready-made sentence that does not fit it, or of a picture where it reads sentences or the other way round."""
    if bool(family.reads) != now().get("text", "").startswith(doodles.PREFIX) or (
        not typed(now())
        and not any(
            row.text == now().get("text") for row in texts("presets") if row.kind in kinds(model, family)
        )
    ):
        return dict.fromkeys(NAMES)
    return {}


def typed(boxes: Texts) -> bool:
    """Return whether the visitor typed any of it."""
    return any(value.strip() for value in boxes.values()) and not any(
        same(row, boxes) for row in texts("presets")
    )


def put(new: Texts) -> None:
    """Fill the boxes; what was typed in them is kept and offered again."""
    before = now()
    if typed(before):
        st.session_state[_TYPED] = before
    state.write(**{name: new.get(name) for name in NAMES})


def take(row: Preset) -> None:
    """Put a ready-made sentence into the input boxes, of a pair both texts; a given translation is removed, so that a translator writes its own."""
    put({"text": row.text} | ({"pair": row.second} if row.kind == "pair" else {}))


def put_own() -> None:
    """Fill the boxes with the visitor's own sentence: the one typed before, or an empty box."""
    kept: Texts = st.session_state.get(_TYPED, {})
    put(kept if kept and not typed(now()) else {"text": ""})


def menu(model: Model) -> None:
    """Draw a small button that opens the list. The list is made when it is open, and closes with a choice.

    A model that was trained here has none: its opening line is made for it. Nor has one that can read none of our sentences.
    """
    if kind_of(model.name) == SMALL or not fitting(model):
        return
    key = f"presets:{state.page()}"
    box = st.popover(
        _("Try a sentence"), icon=":material/lightbulb:", type="tertiary", key=key, on_change="rerun"
    )
    if not box.open:
        st.session_state.pop(_MORE, None)
        return
    rows, every = fitting(model), bool(st.session_state.get(_MORE))
    few = telling(rows)
    with box:
        kept = st.session_state.get(_TYPED)
        if kept and kept != now():
            before = shorten(kept.get("text") or kept.get("target", ""), LETTERS)
            st.button(
                _("Back to “{before}”", before=literal(before)),
                icon=":material/undo:",
                type="tertiary",
                key=f"{key}:own",
                wrap=True,
                on_click=_close,
                args=(key, lambda: put(kept)),
            )
        for kind in dict.fromkeys(row.kind for row in rows):
            _choice(
                _(HEADINGS.get(kind, "")),
                [row for row in rows if row.kind == kind and (every or row in few)],
                key,
                kind,
            )
        if not every and len(few) < len(rows):
            st.button(
                _("{n} more", n=len(rows) - len(few)),
                icon=":material/expand_more:",
                type="tertiary",
                key=f"{key}:more",
                on_click=lambda: st.session_state.update({_MORE: True}),
            )


def _choice(heading: str, rows: list[Preset], key: str, kind: str) -> None:
    """Draw the sentences of one kind below each other, the one in the boxes marked; a touch takes another and closes the list."""
    name, held = f"{key}:{kind}", now()
    lit = state.seed_widget(name, next((place for place, row in enumerate(rows) if same(row, held)), None))

    def store() -> None:
        place = st.session_state.get(name)
        if place is not None:
            _close(key, lambda: take(rows[place]))

    st.radio(
        heading or "Sentences",
        range(len(rows)),
        index=lit,
        key=name,
        on_change=store,
        label_visibility="visible" if heading else "collapsed",
        format_func=lambda place: literal(
            " + ".join(filter(None, (rows[place].text, rows[place].second if kind == "pair" else "")))
        ),
        captions=[f"**{literal(_(row.task))}** · {literal(_(row.note))}" for row in rows],
    )


def _close(key: str, choose: Callable[[], None]) -> None:
    choose()
    st.session_state[key] = False
