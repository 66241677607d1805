"""Notes on the texts that a model can read: at the box where one types for it, and above the picture where the text is of another kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from core.checkpoints import history
from core.data.corpora import TextDescription
from core.data.readable import (
    capital_token_counts,
    characters_in_bytes,
    is_english,
    to_sentence_case,
    unknown_characters,
)
from core.errors import InputError
from core.reading import bounds, provenance
from core.training.recipe import recipes
from viz.labels import literal, shorten, visible
from viz.languages import _, mark, ngettext
from viz.memo import remembered
from viz.widgets import engine_client

TOKEN = mark(
    "A token is a word, a piece of a word or a punctuation mark. The model card says what the model was trained on and how well it does (More, Models)."
)


def training_texts(model: str) -> TextDescription | None:
    """Return the texts that a shipped model learned from; None for a model of letters, or of the visitor's own folder.

    >>> training_texts("gpt-twin at step 437").language, training_texts("copy-gru")
    ('English', None)
    """
    recipe = recipes().get(history.base_name(model))
    return recipe.reads if recipe else None


def is_shipped(model: str) -> bool:
    """Return whether a model ships with the app, so that its sentences and promises were made for it.

    >>> is_shipped("gpt-mini"), is_shipped("upload: mine (5f0c22e1)")
    (True, False)
    """
    return not provenance.is_foreign(model)


def hint(model: str, most: str = "") -> str:
    """Return the line below the box: language, kind of text, how much of it (`most`; without it as much as the page can read at once).

    Of a model from elsewhere only its context is known.

    >>> hint("translator-en-es", "up to 24 tokens"), hint("copy-gru", "up to 9 tokens")
    ('Reads English: short everyday sentences, up to 24 tokens. Writes Spanish.', 'Reads up to 256 tokens; this page draws up to 9.')
    """
    found, opened = training_texts(model), engine_client.open(model)
    most = most or _("up to {n:,} tokens", n=bounds.token_limit(opened))
    if found is None:
        whole = _("up to {n:,} tokens", n=opened.config.n_ctx - bounds.n_special(opened))
        return (
            _("Reads {most}.", most=whole)
            if most == whole
            else _(
                "Reads {whole}; this page draws {most}.", whole=whole, most=most.removesuffix(_(" tokens"))
            )
        )
    line = _("Reads {language}: {kind}, {most}.", language=_(found.language), kind=_(found.kind), most=most)
    return f"{line} {_('Writes {language}.', language=_(found.writes))}" if found.writes else line


def check_length(model: str, text: str, longest: int) -> None:
    """Check that a sentence has no more tokens than a page draws. Raises InputError: it has."""
    n = len(engine_client.open(model).reader.encode(text).ids)
    if n > longest:
        rule = _("This page draws sentences of up to {n}.", n=longest)
        raise InputError(
            ngettext("The sentence has {n} token.", "The sentence has {n} tokens.", n),
            rule,
            _("Shorten it, or take an example."),
        )


def show(line: str) -> None:
    """Draw the line below the box."""
    st.caption(literal(line), help=_(TOKEN))


@dataclass(frozen=True)
class Note:
    """A remark on a text, and whether small letters would mend it."""

    says: str
    capitals: bool = False


def show_note(
    model: str,
    text: str,
    small: Callable[[str], None],
    others: Callable[[], object] = lambda: None,
    key: str = "reads.told",
) -> None:
    """Show a note where the text is in another language, in capitals, or has characters without a token.

    Its button hands the text in small letters to `small`; `others` draws what else one may do.
    """
    reader = engine_client.open(model)
    note = remembered(reader, ("reads.note", text), lambda: judge(model, text))
    if note is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small", key=key):
        st.text(note.says, width="stretch")
        if note.capitals:
            st.button(
                _("Write it in small letters"),
                key=f"{key}.small",
                type="tertiary",
                icon=":material/text_fields:",
                on_click=small,
                args=(to_sentence_case(text),),
            )
        else:
            others()


def judge(model: str, text: str) -> Note | None:
    """Return the note on a text, if it needs one: capitals first, because in small letters the rest can be judged."""
    opened = engine_client.open(model)
    if opened.spec.reads is not None:
        return None
    reads, of = opened.tokenizer, training_texts(model)
    if of and (counted := capital_token_counts(text, reads)):
        loud, few = counted
        return Note(
            _(
                "{model} has read little in capitals: they cut this text into {loud} tokens, small letters into {few}.",
                model=model,
                loud=loud,
                few=few,
            ),
            capitals=True,
        )
    if missing := unknown_characters(text, reads):
        instead = _("the same unknown token") if reads.unknown else _("nothing")
        return Note(
            _(
                "{model} has no token for “{missing}”. It reads {instead} wherever such a character stands.",
                model=model,
                missing=visible(shorten(missing, 20)),
                instead=instead,
            )
        )
    if of and of.language == "English" and not is_english(text):
        return Note(
            _(
                "{model} has read only {language}; this looks like another language. What follows is what it makes of unknown tokens.",
                model=model,
                language=_(of.language),
            )
        )
    if of and (rare := characters_in_bytes(text, reads)):
        return Note(
            _(
                "{model} has no token of its own for “{rare}” and reads its bytes, which its training texts hardly had. What follows is little more than a guess.",
                model=model,
                rare=visible(shorten(rare, 20)),
            )
        )
    return None
