"""Widgets that keep their value in the link and in the session (`state`), under the names that state uses.

Each reads its value before it is drawn and writes it in a callback, so a widget that was not drawn for a while, a
link, the back button and a preset all agree. Labels of options are taken literally, never as Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

import streamlit as st

from core.text.tokenizer import LONGEST, readable_part
from viz.labels import literal
from viz.languages import _, mark
from viz.shell import notices, state
from viz.widgets import input_hints

T = TypeVar("T")
NONE = "none"
"""In a link: of what is offered nothing is drawn."""
SAME = mark("The seed of what is drawn at random: the same number draws the same again.")


def pills(
    label: str,
    options: Iterable[T],
    name: str,
    default: T,
    format: Callable[[T], str] = str,
    *,
    quiet: bool = False,
) -> T:
    """Draw a choice of one of a few options, as pills; return the chosen one. `quiet` hides the label, except for screen readers."""
    options = list(options)
    key, now = _bind("pills", name, default, state.one_of(options, default))
    st.pills(
        label,
        options,
        required=True,
        format_func=lambda option: literal(format(option)),
        key=key,
        default=_lit(now, options),
        on_change=_store,
        args=(key, name),
        label_visibility="collapsed" if quiet else "visible",
        wrap=True,
    )
    return now


def segmented(
    label: str,
    options: Iterable[T],
    name: str,
    default: T,
    format: Callable[[T], str] = str,
    *,
    quiet: bool = False,
    wrap: bool = True,
) -> T:
    """Draw a choice of one of two to five options as one bar; return the chosen one. A long bar has several rows, or without `wrap` one that scrolls."""
    options = list(options)
    key, now = _bind("segmented", name, default, state.one_of(options, default))
    st.segmented_control(
        label,
        options,
        required=True,
        format_func=lambda option: literal(format(option)),
        key=key,
        default=_lit(now, options),
        on_change=_store,
        args=(key, name),
        label_visibility="collapsed" if quiet else "visible",
        wrap=wrap,
    )
    return now


def optional_pills(
    label: str, options: Sequence[str], name: str, default: str, format: Callable[[str], str]
) -> str:
    """Draw a choice of at most one of several pictures, as pills; return it. A second press of the highlighted one removes it (`NONE` in the link)."""
    key, now = _bind("offered", name, default, state.one_of((NONE, *options), default))
    st.pills(
        label,
        options,
        format_func=lambda option: literal(format(option)),
        key=key,
        default=_lit(now, options),
        on_change=_take,
        args=(key, name),
        wrap=True,
    )
    return now


def multi_pills(
    label: str, options: Sequence[str], name: str, default: Sequence[str], format: Callable[[str], str] = str
) -> tuple[str, ...]:
    """Choose any number of options, as pills; in the link with commas between, in the order of the options (`NONE`: nothing)."""
    key = f"several:{state.page()}:{name}"
    lit = list(state.read(name, tuple(default), state.some_of(options, NONE)))
    state.seed_widget(key, lit)
    st.pills(
        label,
        options,
        default=lit,
        selection_mode="multi",
        format_func=lambda option: literal(format(option)),
        key=key,
        on_change=_gather,
        args=(key, name, options),
        wrap=True,
    )
    return tuple(lit)


def select(
    label: str,
    options: Iterable[T],
    name: str,
    default: T,
    format: Callable[[T], str] = str,
    *,
    quiet: bool = False,
) -> T:
    """Choose one of many, from a list."""
    options = list(options)
    key, now = _bind("select", name, default, state.one_of(options, default))
    st.selectbox(
        label,
        options,
        options.index(now),
        format_func=format,
        key=key,
        on_change=_store,
        args=(key, name),
        label_visibility="collapsed" if quiet else "visible",
    )
    return now


def slider(
    label: str, lo: float, hi: float, name: str, default: float, step: float = 1, help: str | None = None
):
    """Draw a slider; return its number, a whole one if lo, hi, default and step are whole. To choose a head, use `pills`."""
    kind, parse = _numbers(lo, hi, default, step)
    key, now = _bind("slider", name, kind(default), parse)
    st.slider(
        label, kind(lo), kind(hi), now, kind(step), key=key, on_change=_store, args=(key, name), help=help
    )
    return now


def select_slider(
    label: str, options: Sequence[T], name: str, default: T, format: Callable[[T], str] = str
) -> T:
    """Choose a quantity that grows by factors: a slider with named stops."""
    options = list(options)
    key, now = _bind("stops", name, default, state.one_of(options, default))
    st.select_slider(label, options, now, format_func=format, key=key, on_change=_store, args=(key, name))
    return now


def number(
    label: str, lo: float, hi: float, name: str, default: float, step: float = 1, help: str | None = None
):
    """Draw a field for a number between `lo` and `hi`; return the number."""
    kind, parse = _numbers(lo, hi, default, step)
    key, now = _bind("number", name, kind(default), parse)
    st.number_input(
        label, kind(lo), kind(hi), now, kind(step), key=key, on_change=_store, args=(key, name), help=help
    )
    return now


def seed_input(
    name: str,
    default: int = 0,
    most: int = 9999,
    *,
    first: int = 0,
    label: str = mark("Draw"),
    next_label: str = mark("Draw again"),
    strong: bool = False,
    drops: Sequence[str] = (),
) -> int:
    """Return the seed of everything that the page samples at random; draw its box, and a button that takes the next one.

    Every exhibit that draws shows this one control, as "SLUG.draw": the same number draws the same again, here and for
    whoever opens the link. Another draw takes back the choices named in `drops`, which belonged to the last one.
    """
    key, now = _bind("draw", name, default, state.whole_number(first, most))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", width="content"):
        with st.container(
            width=(270 if len(_(label)) < 9 else 350) if state.presenting() else 130
        ):  # before a room the name stands beside the box
            st.number_input(
                _(label), first, most, now, key=key, on_change=_store, args=(key, name, drops), help=_(SAME)
            )
        st.button(
            _(next_label),
            key=f"{name}.again",
            on_click=_next,
            args=(key, name, first, most, drops),
            type="primary" if strong else "secondary",
            icon=":material/casino:",
        )
    return now


def toggle(label: str, name: str, default: bool, help: str | None = None) -> bool:
    """Choose yes or no."""
    key, now = _bind("toggle", name, default, state.yes_or_no)
    st.toggle(label, now, key=key, on_change=_store, args=(key, name), help=help)
    return now


def text(
    label: str,
    name: str,
    default: str,
    *,
    quiet: bool = False,
    placeholder: str | None = None,
    drops: Sequence[str] = (),
    model: str = "",
    most: str = "",
) -> str:
    """Draw the sentence box; return its text, of a longer one the first 20,000 letters. Over 2,000 letters it is not put in the link: a line below says so.

    Another text takes back the choices named in `drops`: a translation belongs to its sentence. `of`: the model that reads it,
    `most`: how much of it here, "up to 24 tokens"; so it is said what it reads, and at the top of the page where it cannot.
    """
    key, given = _bind("text", name, default, str)
    now = readable_part(given)
    st.text_input(
        label,
        given,
        key=key,
        on_change=_store,
        args=(key, name, drops),
        placeholder=placeholder,
        label_visibility="collapsed" if quiet else "visible",
    )
    if len(given) > LONGEST:
        st.caption(_("This text has {n:,} letters. The first {most:,} are read.", n=len(given), most=LONGEST))
    if now != default and not state.fits_link(now):
        st.caption(
            _(
                "This text has {n:,} letters. Above {most:,} it is not put in the link: whoever opens the link sees the opening text instead.",
                n=len(given),
                most=state.LONGEST,
            )
        )
    if model and not state.presenting():
        input_hints.show(input_hints.hint(model, most))
    if model and now not in ("", default):
        with notices.area():
            input_hints.show_note(
                model,
                now,
                lambda small: state.write(**{name: small}, **dict.fromkeys(drops)),
                key=f"reads.{name}",
            )
    return now


def preset_row(sentences: Sequence[str], name: str, default: str = "", label: str = mark("Examples")) -> None:
    """Draw ready-made sentences as one row of pills, in present mode in a menu; the highlighted one is the text in the box, `default` before any choice."""
    key = f"presets:{state.page()}:{name}"
    now = state.read(name, default)
    lit = state.seed_widget(key, now if now in sentences else None)
    with st.popover(_("Try a sentence"), width="content") if state.presenting() else nullcontext():
        st.pills(
            _(label),
            sentences,
            format_func=literal,
            key=key,
            default=lit,
            on_change=_store,
            args=(key, name),
            label_visibility="collapsed",
            wrap=True,
        )


def preset_values(
    examples: Mapping[str, Mapping[str, Any]], key: str, now: Mapping[str, Any], label: str = mark("Examples")
) -> None:
    """Draw ready-made values of several settings as one row of pills; the highlighted one is the one whose values are those of `now`."""
    lit = state.seed_widget(
        key, next((name for name, values in examples.items() if now.items() <= values.items()), None)
    )
    st.pills(
        _(label),
        list(examples),
        format_func=lambda name: literal(_(name)),
        key=key,
        default=lit,
        on_change=_make_ready,
        args=(key, examples),
        label_visibility="collapsed",
    )


def _make_ready(key: str, examples: Mapping[str, Mapping[str, Any]]) -> None:
    state.write(**examples.get(st.session_state.get(key) or "", {}))


def _bind(kind: str, name: str, default: T, parse: Callable[[str], T]) -> tuple[str, T]:
    """Return a widget's session key (kind, page, name) and its value, read from the page's state by `parse`, else `default`; the widget is drawn with it."""
    key = f"{kind}:{state.page()}:{name}"  # the page's slug: one key on two pages would be two widgets
    return key, state.seed_widget(key, state.read(name, default, parse))


def _lit(now: T, options: Sequence[T]) -> list[T]:
    """Return the lit option, if there is one; in a list, because Streamlit takes a tuple for several."""
    return [now] if now in options else []


def _store(key: str, name: str, drops: Sequence[str] = ()) -> None:
    value: Any = st.session_state.get(key)
    if value is not None:  # a pill that was touched twice
        state.write(**{name: value}, **dict.fromkeys(drops))


def _take(key: str, name: str) -> None:
    state.write(**{name: st.session_state.get(key) or NONE})


def _gather(key: str, name: str, options: Sequence[str]) -> None:
    lit = st.session_state.get(key) or ()
    state.write(**{name: tuple(one for one in options if one in lit) or NONE})


def _next(key: str, name: str, first: int, most: int, drops: Sequence[str]) -> None:
    now = st.session_state.get(key)
    now = first if now is None else now  # an emptied box
    state.write(**{name: first + (now + 1 - first) % (most + 1 - first)}, **dict.fromkeys(drops))


def number_rule(lo: float, hi: float, default: float, step: float = 1) -> Callable[[str], Any]:
    """Return the parser of a quantity: whole numbers when lo, hi, default and step are whole."""
    return _numbers(lo, hi, default, step)[1]


def _numbers(lo: float, hi: float, default: float, step: float) -> tuple[type, Callable[[str], Any]]:
    if all(float(x).is_integer() for x in (lo, hi, default, step)):
        return int, state.whole_number(int(lo), int(hi))
    return float, state.real_number(float(lo), float(hi))
