"""The quiet menu of What if: changes that are no switching of a head."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from core.analysis.attribution.erasing import patch_occlusion
from core.edits import (
    DropToken,
    NoPositions,
    NoScale,
    PatchHead,
    ReplaceToken,
    SwapPositions,
    Temperature,
    Uniform,
)
from core.errors import InputError
from core.layers.score_terms import scale, steps
from core.run import TokenSequence
from core.trace import Edit
from viz.instruments.picture import patches
from viz.languages import _, mark
from viz.shell import notices
from viz.widgets import doodle
from viz.workspace.shared import model_run
from viz.workspace.what_if import data, edits
from viz.workspace.what_if.data import Change

KEY = "what_if.more"
SEEING = {
    "places": mark("Positions of patches"),
    "drop": mark("Hide a patch from attention"),
    "word": mark("Paint a patch over"),
    "patch": mark("Patch from another drawing"),
}
"""The names of some changes where a picture is read."""
CHANGES = {
    "even": mark("Uniform attention"),
    "temperature": mark("Softmax temperature"),
    "scale": mark("No 1/√d"),
    "places": mark("Positions of words"),
    "drop": mark("Drop a word"),
    "word": mark("Replace a word"),
    "patch": mark("Patch from another sentence"),
}


def menu(change: Change) -> None:
    """Draw a popover: the kind of change, the one or two controls it needs, and a button."""
    box = st.popover(
        _("Change something else"), icon=":material/tune:", type="tertiary", key=KEY, on_change="rerun"
    )
    if not box.open:
        return
    with box:
        called = CHANGES | (SEEING if patches.reads_patches(change.before.model) else {})
        what = st.selectbox(
            _("What"), list(called), format_func=lambda name: _(called[name]), key=f"{KEY}.what"
        )
        CONTROLS[what](change)


def _button(words: str, change: Change, edit: Edit) -> None:
    st.button(words, key=f"{KEY}.add", type="primary", on_click=partial(_add, change, edit))


def _add(change: Change, edit: Edit) -> None:
    edits.add(change, edit)
    st.session_state[KEY] = False


def _scope(change: Change, leaf: str) -> tuple[str, int | None]:
    """Return the choice of this head, its layer, or every layer of the kind: path and head."""
    options = {
        "head": str(change.place),
        "layer": _("All heads of layer {layer}", layer=change.place.layer),
        "all": _("All layers"),
    }
    chosen = st.segmented_control(
        _("Where"),
        list(options),
        format_func=options.__getitem__,
        default="head",
        required=True,
        key=f"{KEY}.scope",
    )
    kind = change.kind
    where = change.path(leaf) if chosen != "all" else f"{kind.stack}.*.{kind.leaf}.{leaf}"
    return where, change.place.head if chosen == "head" else None


def _even(change: Change) -> None:
    where, head = _scope(change, "scores")
    _button(_("Make it uniform"), change, Uniform(where, head))


def _temperature(change: Change) -> None:
    degrees = st.slider(
        _("Scores are divided by"),
        0.1,
        5.0,
        2.0,
        0.1,
        key=f"{KEY}.degrees",
        help=_("Below 1 rows grow sharper, above 1 closer to uniform."),
    )
    where, head = _scope(change, "scores")
    _button(_("Set the temperature"), change, Temperature(where, degrees, head))


def _scale(change: Change) -> None:
    width = change.before.model.config.d_head
    terms = change.kind.terms(change.before.model.network, change.place.layer)
    if steps(terms)[1:] != [scale(width, width)]:
        st.caption(
            _(
                "Scores of this model are not simply queries times keys divided by √d: there is no 1/√d to leave out."
            )
        )
        return
    st.caption(
        _(
            "Scores are queries times keys, divided by √d. Without the division they are larger and rows grow sharper."
        )
    )
    kind = change.kind
    _button(
        _("Leave 1/√d out"),
        change,
        NoScale(f"{kind.stack}.*.{kind.leaf}.scores", width),
    )


def _side(change: Change) -> tuple[TokenSequence, str]:
    """Return the words that the head in view reads with, and the beginning of their paths."""
    run = change.before
    if run.source is None:
        return run.side, ""
    return (run.source, "encoder.") if change.kind.keys == "source" else (run.side, "decoder.")


def _places(change: Change) -> None:
    side, prefix = _side(change)
    where = f"{prefix}embed.position"
    if not change.before.trace.has_visited(where):
        st.caption(
            _(
                "This model adds no vectors of positions to its tokens: there are none to take away or to swap."
            )
        )
        return
    how = st.segmented_control(
        _("Positions"),
        ["none", "swap"],
        format_func={"none": _("Take all away"), "swap": _("Swap two")}.__getitem__,
        default="none",
        required=True,
        key=f"{KEY}.places",
    )
    if how == "none":
        _button(_("Take them away"), change, NoPositions(where))
        return
    one, other = (
        _token(change, side, _("This one"), "one", 0),
        _token(change, side, _("and this one"), "other", min(1, side.n_real - 1)),
    )
    _button(_("Swap them"), change, SwapPositions(where, one, other))


def _token(change: Change, side: TokenSequence, label: str, name: str, start: int) -> int:
    key = f"{KEY}.{name}"
    names = edits.names(change.before, side)
    if not st.session_state.get(key, 0) < side.n_real:
        del st.session_state[key]  # of a longer text
    return st.selectbox(
        label,
        range(side.n_real),
        index=start,
        key=key,
        format_func=lambda place: f"{place}  {names[place].strip() or names[place]}",
    )


def _drop(change: Change) -> None:
    side, prefix = _side(change)
    place = _token(change, side, _("Nobody may look at"), "drop", max(side.n_real - 2, 0))
    across = (
        "encoder.*.allowed|*.cross_attn.allowed" if prefix == "encoder." else f"{prefix}*self_attn.allowed"
    )
    _button(_("Drop it"), change, DropToken(across, place))


def _word(change: Change) -> None:
    side, prefix = _side(change)
    picture = patches.reads_patches(change.before.model)
    label = _("Paint over") if picture else _("Put in the place of")
    place = _token(change, side, label, "place", max(side.n_real - 2, 0))
    if picture:
        if place >= patches.first(change.before.model):
            _button(_("Paint it over"), change, patch_occlusion(change.before.model, place))
        else:
            st.text(
                _(
                    "The {token} is no part of the picture: choose a patch.",
                    token=patches.patch_names(side.tokens)[place],
                )
            )
        return
    typed = st.text_input(_("this word"), key=f"{KEY}.word", placeholder=_("one common word")).strip()
    token = f" {typed}" if side.tokens[place].startswith(" ") else typed
    if typed and _fits(lambda: data.word_id(change.before.model, token)):
        _button(_("Replace it"), change, ReplaceToken(f"{prefix}embed.token", place, token, None))  # pyright: ignore[reportArgumentType]


def _patch(change: Change) -> None:
    if patches.reads_patches(change.before.model):
        _patch_drawing(change)
        return
    n = (change.before.source or change.before.side).n_real
    st.caption(
        _(
            "{head} then has the output that it had for another sentence of {n} tokens.",
            head=change.place,
            n=n,
        )
    )
    typed = st.text_input(_("The other sentence"), data.text_of(change.before), key=f"{KEY}.patch")
    patch = PatchHead(change.path("heads"), change.place.head, None, (typed,))  # pyright: ignore[reportArgumentType]
    if typed.strip() and _fits(lambda: _as_long(change, typed)):
        _button(_("Take it from there"), change, patch)


def _patch_drawing(change: Change) -> None:
    st.caption(_("{head} then has the output that it had for another drawing.", head=change.place))
    name = st.selectbox(_("The other drawing"), list(doodle.samples()), key=f"{KEY}.drawing")
    text = doodle.samples()[name]
    patch = PatchHead(change.path("heads"), change.place.head, None, (text,))  # pyright: ignore[reportArgumentType]
    _button(_("Take it from there"), change, patch)


def _as_long(change: Change, typed: str) -> None:
    other = model_run.rerun(change.before, (), text=typed)
    here, there = ((run.source or run.side).n_real for run in (change.before, other))
    if here != there:
        raise InputError(
            _("It has {there} tokens, this one {here}.", there=there, here=here),
            _("A patch goes row by row."),
            _("Exchange words for words of as many tokens."),
        )


def _fits(check: Callable[[], object]) -> bool:
    try:
        check()
    except InputError as error:
        notices.box(error.wrong, error.rule, error.remedy)
        return False
    return True


CONTROLS: dict[str, Callable[[Change], None]] = {
    "even": _even,
    "temperature": _temperature,
    "scale": _scale,
    "places": _places,
    "drop": _drop,
    "word": _word,
    "patch": _patch,
}
