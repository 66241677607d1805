"""Views that a visitor pins on one page to see them side by side on another (Compare): kept in the session and in the link."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import streamlit as st

from core.errors import InputError
from viz.labels import head_name
from viz.languages import _, mark, ngettext
from viz.shell import links, state

PINS = "pins"
PANES = "compare.panes"
MAX_PINS = 4
"""So many are kept; with one more the oldest goes."""
AGGREGATES = {"mean": mark("mean"), "max": mark("largest"), "rollout": "rollout"}
"""How the heads of a layer are joined: as a link says it, and as the core does."""
_PLACE = re.compile(r"(\d{1,3})\.(\d{1,3}|mean|max|rollout)")
_NAME = re.compile(r"[a-z]*")
_FORM = mark("A pinned view is written model~kind~layer.head~text, and some more.")
_PIN_AGAIN = mark("Pin it again on the page where it was.")


@dataclass(frozen=True)
class View:
    """One pattern of one run: all that it depends on.

    head: a number, or how the heads of the layer are joined ("mean", "max", "rollout"). kind "": the most telling head.
    target: the given translation, pair: the second text of a model that reads two. edits and strategy: what was changed
    in the run, and how the text was written on, in the words of their pages.

    >>> view = View("gpt-mini", "a ~ b", "causal", 3, "mean")
    >>> view.to_text()
    'gpt-mini~causal~3.mean~a \\\\~ b'
    >>> View.from_text(view.to_text()) == view
    True
    """

    model: str
    text: str
    kind: str = ""
    layer: int = 0
    head: int | str = 0
    target: str = ""
    pair: str = ""
    edits: str = ""
    strategy: str = ""

    def __str__(self) -> str:
        """Return its head as pages name it: L3.H6, or the mean of layer 3."""
        if isinstance(self.head, int):
            return head_name(self.layer, self.head)
        return _("{name} of layer {layer}", name=_(AGGREGATES[self.head]), layer=self.layer)

    def to_text(self) -> str:
        """Return a compact text, fit for a link; `from_text` reads it."""
        parts = [
            self.model,
            self.kind,
            f"{self.layer}.{self.head}",
            self.text,
            self.target,
            self.pair,
            self.edits,
            self.strategy,
        ]
        while not parts[-1] and len(parts) > 3:
            parts.pop()
        return "~".join(re.sub(r"([\\~|])", r"\\\1", part) for part in parts)

    @classmethod
    def from_text(cls, raw: str) -> View:
        """Parse the text that `to_text` returns for a view. Raises InputError for any other text."""
        parts = [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in _split(raw, "~")]
        place = _PLACE.fullmatch(parts[2]) if len(parts) > 2 else None
        if (
            place is None
            or not parts[0]
            or not _NAME.fullmatch(parts[1])
            or len(parts) > len(fields(cls)) - 1
        ):
            raise InputError(_("A pinned view cannot be read."), _(_FORM), _(_PIN_AGAIN))
        head = int(place[2]) if place[2].isdecimal() else place[2]
        return cls(parts[0], parts[3] if len(parts) > 3 else "", parts[1], int(place[1]), head, *parts[4:])


def to_link(views: Iterable[View]) -> str:
    """Return several views as one value of a link.

    >>> to_link([View("a", "x"), View("b", "y | z")])
    'a~~0.0~x|b~~0.0~y \\\\| z'
    """
    return "|".join(view.to_text() for view in views)


def from_link(raw: str) -> tuple[View, ...]:
    """Return the views that `to_link` wrote, the first four of them. Raises InputError for other text."""
    return tuple(View.from_text(part) for part in _split(raw, "|") if part)[:MAX_PINS]


def pinned_views(name: str = PINS) -> tuple[View, ...]:
    """Return the views in the link or the session under `name`; nonsense in a link gives a notice, and none."""

    def checked(raw: str) -> str:
        try:
            from_link(raw)
        except InputError as error:
            raise state.Unusable(f"{error.rule} {error.remedy}", "") from None
        return raw

    return from_link(state.read(name, "", checked))


def pin_button(view: View, key: str = "pin") -> None:
    """Draw the button that pins this view or removes it; and once there is a pinned view, the link to Compare."""
    now = pinned_views()
    here = view in now
    left = tuple(other for other in now if other != view)
    st.button(
        _("Pinned") if here else _("Pin"),
        key=key,
        icon=":material/keep_off:" if here else ":material/keep:",
        type="tertiary",
        help=_("Take it out again")
        if here
        else _("Keep this view to put it beside another one, on this page or any other"),
        on_click=_keep,
        args=(left if here else (*now, view)[-MAX_PINS:],),
    )
    if now:
        to_compare(ngettext("Pinned: {n}, compare it", "Pinned: {n}, compare them", len(now)), now)


def to_compare(label: str, views: tuple[View, ...]) -> None:
    """Draw a link to Compare with these views in its panes."""
    links.page_link("compare", label, icon=":material/compare:", **panes(views))


def panes(views: tuple[View, ...]) -> dict[str, str]:
    """Return the parameters of a link to Compare: the first view's model and text are the page's; views of the same text follow it."""
    first = views[0]
    if not state.fits_link(first.text):
        return {PANES: to_link(views), "model": first.model}
    follow = [
        replace(view, text="") if view.text == first.text and not view.target else view for view in views
    ]
    return {PANES: to_link(follow), "model": first.model, "text": first.text}


def _keep(views: tuple[View, ...]) -> None:
    state.write(**{PINS: to_link(views) or None})


def _split(raw: str, sign: str) -> list[str]:
    """Return the parts between separators that have no backslash before them, as they are written."""
    parts, part, escaped = [], "", False
    for letter in raw:
        if letter == sign and not escaped:
            parts.append(part)
            part = ""
        else:
            part += letter
        escaped = letter == "\\" and not escaped
    return [*parts, part]
