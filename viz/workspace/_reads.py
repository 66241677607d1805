"""What the model in view can read, at the box where one types; and a word before the picture where a text is nothing that it has read."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import bounds
from core.checkpoints import history
from core.model import Model
from core.text.readable import in_small_letters, is_english, shouted, unknown
from core.training.data import Reads
from core.training.recipe import recipes
from viz.labels import literal, shorten, visible
from viz.remember import Memory
from viz.workspace import _presets
from viz.workspace._toys import kind_of

TOKEN = "A token is a word, a piece of a word or a sign. What a model was trained on, and how well it does, stands in its card (More, Models)."
_judged = Memory(256)


def learnt(model: str) -> Reads | None:
    """The texts that a shipped model learnt from; None for one of letters, or of the visitor's own folder.

    >>> learnt("gpt-twin at step 437").language, learnt("copy-gru")
    ('English', None)
    """
    recipe = recipes().get(history.base(model))
    return recipe.reads if recipe else None


def line(model: Model, box: str) -> str:
    """One line for the box: language, kind of text, how much of it. `box` says what a model of letters reads."""
    if kind_of(model.name):
        return f"Reads no language. {box}."
    found, n = learnt(model.name), f"up to {bounds.most(model):,} tokens"
    if found is None:
        return f"Reads {n}."
    return f"Reads {found.language}: {found.kind}, {n}." + (f" Writes {found.writes}." if found.writes else "")


def show(model: Model, box: str) -> None:
    """The line below the box."""
    st.caption(literal(line(model, box)), help=TOKEN)


@dataclass(frozen=True)
class Note:
    """What is to be said of a text, and whether small letters mend it."""

    says: str
    capitals: bool = False


def told(model: Model, text: str) -> None:
    """A calm note where the text is in another language, in capitals, or has characters without a token; its button mends it. What was typed is kept."""
    note = _judged(model, text, lambda: judge(model, text))
    if note is None:
        return
    row = next(iter(_presets.fitting(model)), None)
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small", key="reads.told"):
        st.text(note.says, width="stretch")
        if note.capitals:
            st.button("Write it in small letters", type="tertiary", icon=":material/text_fields:", on_click=_smaller, args=(text,))
        elif row:
            st.button(f"Try “{literal(shorten(row.text, 40))}”", type="tertiary", icon=":material/lightbulb:", on_click=_presets.take, args=(row,))


def judge(model: Model, text: str) -> Note | None:
    """Capitals first: in small letters the rest can be judged."""
    reads, of = model.tokenizer, learnt(model.name)
    if of and (counted := shouted(text, reads)):
        loud, small = counted
        return Note(f"{model.name} has read little in capitals: they cut this text into {loud} tokens, small letters into {small}.", capitals=True)
    if missing := unknown(text, reads):
        return Note(f"{model.name} has no token for “{visible(shorten(missing, 20))}”. What follows is the same unknown sign wherever such a character stands.")
    if of and of.language == "English" and not is_english(text):
        return Note(f"{model.name} has read only {of.language}; this looks like another language. What follows is what it makes of unknown tokens.")
    return None


def _smaller(text: str) -> None:
    _presets.put(_presets.now() | {"text": in_small_letters(text), "target": ""})
