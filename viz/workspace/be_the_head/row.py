"""The row that a visitor shares out: a number a word, what remains, and the buttons that help."""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz.labels import distinct, literal
from viz.languages import _
from viz.shell import notices, state
from viz.workspace.be_the_head import data
from viz.workspace.be_the_head.data import TOTAL, Game

ROW, IN = "be_the_head.row", "be_the_head.in"
STEP = 10
Shares = tuple[int, ...]


def shares_in_link(n: int) -> tuple[Shares, bool]:
    """Return the shares of the link (without any: uniform), and whether they were put into the model."""
    raw = state.read(ROW, "")
    if not raw:
        return data.evenly(n), False
    try:
        return data.read_row(raw, n), state.read(IN, False, state.yes_or_no)
    except ValueError as error:
        if not raw.replace(".", "").isdecimal():  # not merely of another sentence
            notices.show_in_area(
                _("The row in the link cannot be read."), str(error), _("A uniform row stands in its place.")
            )
        return data.evenly(n), False


def store(shares: Shares, *, into: bool | None = None) -> None:
    """Store these shares in the link; `into`: they are put into the model."""
    state.write(**{ROW: ".".join(map(str, shares)), IN: into})


def controls(game: Game, shares: Shares) -> None:
    """Draw a box for each word, and below them the rest and the buttons."""
    names = distinct(name.strip() or name for name in game.names)
    with st.container(horizontal=True, gap="small", key="be_the_head.words"):
        for place, (name, share) in enumerate(zip(names, shares, strict=True)):
            key = f"be_the_head.share.{place}"
            st.number_input(
                literal(name),
                0,
                TOTAL,
                state.seed_widget(key, share),
                step=STEP,
                key=key,
                width=128,
                on_change=_spent,
                args=(key, place, shares),
            )
    rest = TOTAL - sum(shares)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            _("Put it into the model"),
            type="primary",
            icon=":material/input:",
            key="be_the_head.commit",
            disabled=rest > 0,
            on_click=partial(store, shares, into=True),
        )
        st.button(_(_("Uniform")), key="be_the_head.even", on_click=partial(store, data.evenly(len(shares))))
        st.button(_("Set all to 0"), key="be_the_head.none", on_click=partial(store, (0,) * len(shares)))
        key = "be_the_head.rest"
        st.menu_button(
            _("Give the rest ({n}%) to", n=rest),
            list(range(len(shares))),
            key=key,
            disabled=not rest,
            on_click=lambda: _spend_rest(key, shares, rest),
            format_func=lambda place: literal(names[place]),
        )


def _spent(key: str, place: int, shares: Shares) -> None:
    """Limit a box to the rest that the other words leave."""
    others = sum(shares) - shares[place]
    share = min(int(st.session_state[key] or 0), TOTAL - others)
    store((*shares[:place], share, *shares[place + 1 :]))


def _spend_rest(key: str, shares: Shares, rest: int) -> None:
    place = st.session_state.get(key)
    if place is not None:
        store((*shares[:place], shares[place] + rest, *shares[place + 1 :]))
