"""Controls for the order of the words, and for the word that is repeated."""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz.course.self_attention.permutation import maths
from viz.course.self_attention.permutation.params import SLUG, Order
from viz.labels import literal
from viz.shell import state
from viz.widgets import controls, exhibit_parts


def choose(data: maths.Measured) -> None:
    """Draw the words to touch, and ready orders; both are those of the sentence."""
    n, key = len(data.order), f"{SLUG}touch"
    orders = {
        "As written": tuple(range(n)),
        "Swap two words": maths.swapped(data.pieces),
        "Reverse": tuple(range(n))[::-1],
    }
    with st.container(key="permutation-control-order", gap="small"):
        st.pills(
            "Touch a word"
            if exhibit_parts.presenting()
            else "Touch a word: it moves one position to the front",
            range(n),
            format_func=lambda place: literal(data.names[data.order[place]]),
            key=key,
            on_change=touch,
            args=(key, data.order),
        )
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            for name, order in orders.items():
                st.button(
                    name, key=SLUG + name, on_click=partial(_write, order), disabled=order == data.order
                )
            controls.seed_input(SLUG + "draw", next_label="Shuffle", drops=(SLUG + "order",))


def say_twice(data: maths.Measured) -> None:
    """Draw the choice of the repeated word: the words of the sentence, or all of them."""
    names = (*data.names, "every word")
    with st.container(key="permutation-control-set", gap="small"):
        controls.pills("Repeat", range(len(names)), SLUG + "twice", data.twice, names.__getitem__)


def touch(key: str, order: maths.Order) -> None:
    """Move the touched word one position to the front."""
    place = st.session_state[key]
    st.session_state[key] = None
    if place is not None:
        _write(maths.forward(order, place))


def _write(order: maths.Order) -> None:
    state.write(**{SLUG + "order": Order(order), SLUG + "draw": None})
