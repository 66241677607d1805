"""The visitor's choices: in the link, in this session, or nowhere (then the default holds).

A chosen value is kept twice, as text: in `st.query_params`, so that the address bar is the link to this view and the
browser's back button works; and under a session key of our own, because Streamlit empties the query on a page change
and a widget that is not drawn forgets its value. The names in `TRAVEL` go with the visitor from page to page; any
other name belongs to one page and starts with its slug, `masks.window` (but OF_ONE_PAGE).

    layer = state.read("layer", 0, state.whole_number(0, 5))
    state.write(layer=3)

A parser takes the text and returns the value; it raises `Unusable` (or any ValueError) for nonsense, and then the
visitor reads what is wrong, the rule, and what is shown instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

import streamlit as st

from core.text.tokenizer import readable_part
from viz.labels import shorten, visible
from viz.languages import _
from viz.platform import run_context
from viz.shell import notices, selection

T = TypeVar("T")

CARRIED = (*selection.NAMES, "present", "convention", "lang")
OF_THE_VISIT = ("present", "convention", "lang")
"""Carried names that stay when a page is brought back to its opening state."""
OF_ONE_PAGE = {"view": "look"}
"""Names without a prefix that belong to one page all the same."""
LONGEST = 2_000  # letters of one value that are still put in the link

_HOME = "atlas.chosen"  # name -> text, what this session has chosen
_PAGE = "atlas.page"  # the slug of the page that ran last
_LENT = "atlas.lent"  # the text that came along from a page that opens with it: nobody chose it
_BY_LINK = "atlas.by_link"  # names that the link of this run chooses and the run before did not have
_STALE = "atlas.stale"  # name -> (the link's text that was replaced, when)
_FRAMED = "atlas.framed"  # whether the browser said that another page shows this one in a frame
_PATIENCE = 2.0  # seconds in which a browser may still send the link of before
_DEFAULT = object()


class Unusable(ValueError):
    """A value that cannot be used: the rule it broke, and the nearest value that can (none: the default)."""

    def __init__(self, rule: str, nearest: Any = _DEFAULT) -> None:
        super().__init__(rule)
        self.rule, self.nearest = rule, nearest


def read(name: str, default: T, parse: Callable[[str], T] = readable_part) -> T:
    """Return the value of `name`: from the link, else as chosen earlier in this session, else the default.

    Nonsense gives the nearest usable value (or the default) and a notice on the page; the link is put right.
    """
    chosen, in_link = _choices(), st.query_params.get(name)
    linked, remembered = _choice_in_link(name, in_link, chosen), chosen.get(name)
    raw = linked if linked is not None else remembered
    if raw is None:
        return default
    try:
        value = parse(raw)
    except ValueError as error:
        nearest = getattr(error, "nearest", _DEFAULT)
        value = default if nearest is _DEFAULT else cast("T", nearest)
        if raw != remembered:  # the visitor's own nonsense, not a value that another page or model left
            rule = getattr(error, "rule", _("It must be a value that this page offers."))
            notices.show_in_area(
                _(
                    "The link says {name}={raw}, and that cannot be shown.",
                    name=name,
                    raw=visible(shorten(raw, 40)),
                ),
                rule,
                _(
                    "Shown instead: {value}. Choose another with the controls.",
                    value=visible(shorten(_text(value), 40)),
                ),
            )
        raw = _text(value)
    chosen[name] = raw
    if raw != in_link or not fits_link(raw):
        _link({name: raw})
    if name == "text":
        selection.set_selection(text=raw)
    return value


def read_all(slug: str, start: Any, parsers: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
    """Return the values of several fields of a page's `start`, its Params, each read under `slug` + its name."""
    return {name: read(slug + name, getattr(start, name), parse) for name, parse in parsers.items()}


def peek(name: str) -> str:
    """Return the text of `name` in the link, or else in this session, unchecked; "" for none. To use the value, `read` it."""
    chosen = _choices()
    linked = _choice_in_link(name, st.query_params.get(name), chosen)
    return (linked if linked is not None else chosen.get(name)) or ""


def write(**values: Any) -> None:
    """Choose values: in the session and in the link. None takes a choice back. Dotted names: `write(**{"a.b": 1})`."""
    chosen, now = _choices(), time.monotonic()
    texts = {name: None if value is None else _text(value) for name, value in values.items()}
    for name, raw in texts.items():
        before = st.query_params.get(name)
        if before is not None and before != raw:
            _stale()[name] = (before, now)
        if raw is None:
            chosen.pop(name, None)
        else:
            chosen[name] = raw
    _link(texts)


def seed_widget(key: str, value: T) -> T:
    """Give a widget its value before it is drawn; return the value, to be passed as its default too.

    Streamlit tells the browser of a new value once. A browser that never sees that answer, because a later one took its place
    or the widget's code came late, begins with the default: without one the visitor's sentence would be empty.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    return value


@contextmanager
def visit(slug: str, with_subject: bool = True) -> Iterator[None]:
    """Update the state of this visit, as a context around the drawing of a page: before it from the link, the back button and the page before, after it for the next page.

    with_subject: the page takes text, model and head from the page before; any other takes the visitor's own text alone.
    """
    begin(slug, with_subject)
    try:
        yield
    finally:
        st.session_state.pop(_BY_LINK, None)
        for name, raw in st.query_params.to_dict().items():
            if name in CARRIED:
                _choices().setdefault(name, raw)


def begin(slug: str, with_subject: bool = True) -> None:
    """Do the first half of `visit`, before the page is drawn."""
    chosen = _choices()
    linked = {name: _choice_in_link(name, raw, chosen) for name, raw in st.query_params.to_dict().items()}
    arrived = run_context.went_back() or st.session_state.get(_PAGE) != slug
    st.session_state[_BY_LINK] = {
        name for name, raw in linked.items() if raw is not None and (arrived or raw != chosen.get(name))
    }
    if run_context.went_back():  # the link is the truth: what it does not name was not chosen then
        _stale().clear()
        for name in [name for name in chosen if _is_read_by(name, slug) and name not in st.query_params]:
            if fits_link(chosen[name]):
                del chosen[name]
    elif st.session_state.get(_PAGE) != slug:
        if _PAGE in st.session_state:
            _arrive(with_subject)
        _link(
            {
                name: raw
                for name, raw in chosen.items()
                if _is_read_by(name, slug) and name not in st.query_params
            }
        )
    for name, owner in OF_ONE_PAGE.items():
        if owner != slug and name in st.query_params:  # an old link brought it along
            chosen.setdefault(name, st.query_params[name])
            _link({name: None})
    st.session_state[_PAGE] = slug


def _arrive(with_subject: bool) -> None:
    """Take over the subject on screen: from the link if it names any of it, for then the link is complete, else from the page before."""
    chosen, own = _choices(), user_text()
    linked = {name: raw for name in selection.NAMES if (raw := st.query_params.get(name)) is not None}
    coming = linked or (selection.current_selection() if with_subject else {"text": own})
    if coming.get("text") not in (None, "", own) and coming["text"] == selection.current_selection().get(
        "text"
    ):
        st.session_state[_LENT] = coming["text"]
    for name in selection.NAMES:
        if coming.get(name):
            chosen[name] = coming[name]
        elif fits_link(chosen.get(name, "")):  # one that no link can hold is still the visitor's
            chosen.pop(name, None)


def link_chooses(name: str) -> bool:
    """Return whether the link that was just followed sets `name`. Such a choice belongs to the link's own text and is kept; an older one was made for another text."""
    return name in st.session_state.get(_BY_LINK, ())


def user_text() -> str:
    """Return the text that the visitor chose; "" for one that a page opened with."""
    text = _choices().get("text", "")
    return "" if text == st.session_state.get(_LENT) else text


def page() -> str:
    """Return the slug of the page that runs; "" for one that is drawn on its own."""
    return st.session_state.get(_PAGE, "")


def presenting() -> bool:
    """Return whether the page is in present mode (`present=1`): large type, nothing but the picture and its words, keys only."""
    return peek("present") == "1"


def embedded() -> bool:
    """Return whether another site shows the page in a frame (`embed=true`): no menu, no folds, nothing of a lecture room."""
    return bool(st.context.is_embedded)


def framed() -> bool:
    """Return whether the page is in a frame, with its menu or without (`embedded`)."""
    return embedded() or _FRAMED in st.session_state


def set_framed() -> None:
    """Record, for the rest of this session, that the page is in a frame; a browser says so (stage.js)."""
    st.session_state[_FRAMED] = True


def restore(slug: str | None = None) -> None:
    """Restore the opening state of a page (the R key): forget the selection and the page's own values; present mode and the convention stay."""
    slug = slug or page()
    selection.clear()
    write(
        **{
            name: None
            for name in {*_choices(), *st.query_params} - {*OF_THE_VISIT}
            if _is_read_by(name, slug)
        }
    )


def reset_for_link(slug: str) -> dict[str, str]:
    """Forget earlier choices before a link to this page is followed as in a new visit. Return the parameters that stay: present mode and the convention."""
    going = {name: raw for name in OF_THE_VISIT if (raw := peek(name))}
    selection.clear()
    _stale().clear()
    st.session_state.pop(_LENT, None)
    st.session_state[_HOME] = {
        n: raw for n, raw in _choices().items() if n in going or not _is_read_by(n, slug)
    }
    return going


def query() -> str:
    """Return the part of the link after the question mark, for QR codes."""
    chosen = {name: raw for name, raw in _choices().items() if fits_link(raw) and _is_read_by(name, page())}
    return urlencode(st.query_params.to_dict() | chosen)


def carried_params(with_subject: bool, values: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a link to the next page, `values` included: the subject on screen (`with_subject`), or the visitor's own text.

    Another model comes with the text that it opens with, unless the visitor chose one or the link names one.
    """
    now, own = selection.current_selection(), {"text": user_text()}
    if with_subject and values.get("model", now.get("model")) != now.get("model"):
        values = own | dict(values)
    along = (
        selection.merge(now, {name: raw for name, raw in values.items() if name in selection.NAMES})
        if with_subject
        else own
    )
    others = {
        name: raw for name, raw in _choices().items() if name in CARRIED and name not in selection.NAMES
    }
    return {name: raw for name, raw in (others | along | dict(values)).items() if raw and fits_link(raw)}


def unlinkable_names() -> tuple[str, ...]:
    """Return the names whose value is too long for the link."""
    return tuple(name for name, raw in _choices().items() if not fits_link(raw))


def fits_link(raw: str) -> bool:
    """Return whether a value is short enough for the link."""
    return len(raw) <= LONGEST


def whole_number(lo: int, hi: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from lo to hi; for a number outside it raises `Unusable` with the nearer end as `nearest`."""
    return _between(int, lo, hi, _("It must be a whole number from {lo} to {hi}.", lo=lo, hi=hi))


def real_number(lo: float, hi: float) -> Callable[[str], float]:
    """Return a parser of numbers from lo to hi; for a number outside it raises `Unusable` with the nearer end as `nearest`."""
    return _between(float, lo, hi, _("It must be a number from {lo:g} to {hi:g}.", lo=lo, hi=hi))


def one_of(options: Sequence[T], default: Any = _DEFAULT) -> Callable[[str], T]:
    """Return a parser of one of the options, by its text; its `Unusable` offers `default`, or for whole numbers the nearest option."""
    table = {_text(option): option for option in options}

    def parse(raw: str) -> T:
        if raw in table:
            return table[raw]
        nearest: Any = default if default in table.values() else options[0]
        if all(type(option) is int for option in options) and raw.lstrip("+-").isdecimal():
            nearest = min(options, key=lambda option: abs(option - int(raw)))  # type: ignore[operator]
        names = ", ".join(list(table)[:8]) + (", …" if len(table) > 8 else "")
        raise Unusable(_("It must be one of: {names}.", names=names), nearest)

    return parse


def some_of(options: Sequence[str], none: str) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of any of the options, separated by commas, in the order of `options`; `none` is the word for none of them."""

    def parse(raw: str) -> tuple[str, ...]:
        wanted = {*raw.split(",")}
        kept = tuple(option for option in options if option in wanted)
        if wanted - {none, *options}:
            raise Unusable(_("It must be of these: {options}.", options=", ".join(options)), kept)
        return kept

    return parse


def yes_or_no(raw: str) -> bool:
    """Parse 1 and 0 of a link as True and False. Raises Unusable for anything else."""
    if raw not in ("0", "1"):
        raise Unusable(_("It must be 1 or 0."))
    return raw == "1"


def _between(kind: Callable[[str], Any], lo: float, hi: float, rule: str) -> Callable[[str], Any]:
    def parse(raw: str) -> Any:
        try:
            value = kind(raw)
        except ValueError:
            raise Unusable(rule) from None
        if lo <= value <= hi:
            return value
        raise Unusable(rule) if value != value else Unusable(rule, min(max(value, lo), hi))

    return parse


def _choices() -> dict[str, str]:
    return st.session_state.setdefault(_HOME, {})


def _stale() -> dict[str, tuple[str | None, float]]:
    return st.session_state.setdefault(_STALE, {})


def _choice_in_link(name: str, raw: str | None, choices: Mapping[str, str]) -> str | None:
    """Return the link's value, unless it is only the browser's echo of the value before the last choice.

    A fast second click is sent before the browser has heard of the first one's new link.
    """
    if raw is None:
        return None
    before, when = _stale().get(name, (None, 0.0))
    return choices.get(name) if raw == before and time.monotonic() - when < _PATIENCE else raw


def _link(values: dict[str, str | None]) -> None:
    """Put values in the link, or take out what is None or too long; one message, and none when nothing changes."""
    if all(
        raw is not None and st.query_params.get(name) == raw and fits_link(raw)
        for name, raw in values.items()
    ):
        return
    now = st.query_params.to_dict()
    wanted = {
        name: raw
        for name, raw in (now | values).items()
        if raw is not None and (name not in values or fits_link(raw))
    }
    if wanted != now:
        st.query_params.from_dict(wanted)


def _is_read_by(name: str, slug: str) -> bool:
    """Return whether a page reads this name: a carried one, its own, or one that its pictures put in the link."""
    if name in OF_ONE_PAGE:
        return OF_ONE_PAGE[name] == slug
    return "." not in name or name.startswith(f"{slug}.")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if type(value) is tuple:  # one of a kind of its own says how it is written
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
