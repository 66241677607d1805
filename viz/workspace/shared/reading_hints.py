"""Hints on the input that the model in view reads, on the pages for free work: there a ready-made sentence is one touch away."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from core.model import Model
from core.reading import bounds
from core.text import Tokenizer
from viz.labels import literal, shorten
from viz.languages import _, ngettext
from viz.shell import state
from viz.widgets import input_hints
from viz.workspace.shared import presets
from viz.workspace.shared.toy_models import kind_of


def hint(model: Model, box: str) -> str:
    """Return the hint on what the model reads; `box` is the one for a model of letters."""
    return (
        _("Reads no language. {box}.", box=_(box).removesuffix("."))
        if kind_of(model.name)
        else input_hints.hint(model.name, _most(model))
    )


def _most(model: Model) -> str:
    """Return how much is read, and whether it is the page that reads no more."""
    most = bounds.token_limit(model)
    page = not input_hints.is_shipped(model.name) and most < model.config.n_ctx - bounds.n_special(model)
    return _("up to {n:,} tokens", n=most) + (
        _(" here, of {n:,} at once", n=model.config.n_ctx) if page else ""
    )


def show(model: Model, box: str) -> None:
    """Draw the line below the box; in present mode its place belongs to the picture."""
    if not state.presenting():
        input_hints.show(hint(model, box))


def show_note(model: Model, text: str) -> None:
    """Show the note on a text that the model cannot read, with a remedy, and on names of special tokens in it. The typed text is kept."""
    input_hints.show_note(model.name, text, _smaller, lambda: _offer(model))
    if names := special_names_read_as_text(model, text):
        st.text(
            ngettext(
                "{names} is read as letters here, not as the model's own token.",
                "{names} are read as letters here, not as the model's own tokens.",
                len(names),
                names=", ".join(names),
            )
        )


def show_left_out(model: Model, reads: Collection[str]) -> None:
    """Note the given texts, "target" or "pair", that other pages read with this model and that are not among those that this page `reads`."""
    for name, known, words in (
        ("target", model.spec.has_source, _("The translation that was given")),
        ("pair", model.can("read_pairs"), _("The second text")),
    ):
        if known and name not in reads and (text := state.peek(name)):
            st.caption(
                _(
                    "{words}, “{text}”, is not read on this page; it is kept for the others.",
                    words=words,
                    text=literal(shorten(text, 40)),
                )
            )


def special_names_read_as_text(model: Model, text: str) -> list[str]:
    """Return the names of special tokens that are typed in a text and read as ordinary characters; without that of the mask, which may be typed."""
    if not isinstance(model.reader, Tokenizer):
        return []
    mask = model.tokenizer.mask if model.spec.framed else None
    return [name for name in model.reader.typed_special(text) if model.tokenizer.special_tokens[name] != mask]


def _offer(model: Model) -> None:
    row = next(iter(presets.fitting(model)), None)
    if row:
        st.button(
            _("Try “{text}”", text=literal(shorten(row.text, 40))),
            type="tertiary",
            icon=":material/lightbulb:",
            on_click=presets.take,
            args=(row,),
        )


def _smaller(text: str) -> None:
    presets.put(presets.now() | {"text": text, "target": ""})
