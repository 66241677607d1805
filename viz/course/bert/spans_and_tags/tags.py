"""Answers and tags, the third step: a part of speech for each word, predicted at its first token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from types import MappingProxyType

import numpy as np
import pandas as pd
import streamlit as st

from core.data import grammar
from core.data.lexicon import RULES
from core.errors import InputError
from core.training.finetune import tuning
from viz.course.bert import tuning_live
from viz.course.bert.spans_and_tags.answers import glued
from viz.course.bert.spans_and_tags.maths import Tagged, tagged
from viz.course.bert.spans_and_tags.params import SLUG, Params
from viz.course.bert.tuning_live import Using
from viz.course.exhibit import Folds
from viz.instruments import marked, picked_words
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import distinct, percent, visible
from viz.shell import present_layout, state
from viz.widgets import engine_client, exhibit_parts, page_parts

COLOURED = ("NOUN", "VERB", "ADJ", "PROPN", "PRON", "ADV", "DET", "AUX", "ADP", "CONJ", "NUM", "PUNCT")
HUES: Mapping[str, int] = MappingProxyType({tag: at for at, tag in enumerate(COLOURED)})
"""A colour by number for each tag; from the ninth on a frame."""
USUAL = ("NOUN", "VERB", "ADJ")


@tuning_live.needs("tags", SLUG)
def tagging(params: Params, used: Using) -> Folds:
    """Ask for the tag of one word, then draw the sentence with its tags, and the probabilities of that word."""
    origin.tell(model=used.model or "", text=params.text)
    one = read(params, used)
    word, firsts, best = word_of(params, one), one.firsts, one.chances.argmax(-1)
    at, asked, known = firsts[word], visible(one.words[word]), tags_of_words().get(one.words[word].lower())
    mine: dict[str, float] = dict(zip(grammar.TAGS, one.chances[at].tolist(), strict=True))
    likely = [grammar.TAGS[tag] for tag in np.argsort(-one.chances[at], kind="stable")[:3]]
    answer = likely[0]
    options = sorted({*likely, *(known or ()), *USUAL}, key=grammar.TAGS.index)
    learned = "This word is not in the grammar of the training texts."
    if known is not None:
        learned = f"In the grammar of the training texts this word is {' or '.join(sorted(known))}."
    told = exhibit_parts.predict(
        SLUG + "tag",
        f"Which part of speech does the model output for “{asked}”, word {word + 1} of {len(firsts)}?",
        {tag: mine[tag] for tag in options},
        answer,
        f"{answer} {percent(mine[answer])}, then {likely[1]} {percent(mine[likely[1]])}. {learned}",
    )
    notes, hues = _labels(one, best, None if told else at)
    n, key, tags = len(one.tokens), SLUG + "tags", list(grammar.TAGS)
    inside = [k for k in range(n) if not one.begins[k]]
    labelled = f"one.tokens, notes=[{tags}[chances.argmax()] for chances in one.chances]"
    chances = f"{tags}, above=one.chances[{at}], names={('chance', '')}"
    with present_layout.full_width():
        marked(
            one.tokens,
            key=key,
            on_pick=partial(_take, key, firsts, n),
            glued=inside + [k for k in glued(one.places) if one.begins[k]],
            notes=notes,
            hues=hues,
            span=(at, (*firsts, n)[word + 1] - 1),
            pick="word",
            hint="Touch a word to see its tags.",
            python=lines(params, used) + drawing("marked", labelled, origin.now()),
        )
        marked(
            grammar.TAGS,
            key=SLUG + "chances",
            above=one.chances[at] if told else None,
            names=(f"probabilities of “{asked}”", ""),
            hues=[HUES[tag] for tag in tags],
            python=lines(params, used) + drawing("marked", chances, origin.now()),
        )
        page_parts.summary(_sentence(one, best, used, told))
    if not exhibit_parts.presenting():
        st.button("Another sentence of our grammar", key=SLUG + "another", on_click=_next)
    i = at + 1
    return Folds(
        lambda: pd.DataFrame(one.chances, index=distinct(one.tokens), columns=tags).round(4),
        {"chances": one.chances, "begins": one.begins},
        {"model": tuning_live.opening(used), "tags": tags},
        told,
        {"spans.tag": {}},
        (
            rf"P_{{{i}}}(\text{{{answer}}}) = {mine[answer]:.4f}, "
            rf"\qquad \sum_k P_{{{i},k}} = {one.chances[at].sum():.4f}",
        ),
    )


def read(params: Params, used: Using) -> Tagged:
    """Return the sentence with its tags, by the model that the page uses."""
    model, text = used.model or "", params.text
    key = ("spans_and_tags.tags", model, text)
    return engine_client.submit(key, lambda: tagged(engine_client.open(model), text), 6 * len(text))


def word_of(params: Params, one: Tagged) -> int:
    """Return the word in question: the chosen one, else one with several tags, preferably one that comes twice.

    Raises InputError for a text in which there is none.
    """
    if not one.words:
        rule, remedy = "Each word gets a tag.", "Type a sentence, or take one of the examples."
        raise InputError("There is no word in this text.", rule, remedy)
    if 0 <= params.word < len(one.words):
        return params.word
    words = [word.lower() for word in one.words]
    several = [at for at, word in enumerate(words) if len(tags_of_words().get(word, ())) > 1]
    return min(several, key=lambda at: (words.count(words[at]) < 2, at), default=0)


@cache
def tags_of_words() -> Mapping[str, frozenset[str]]:
    """Return each word of our grammar with the tags that it may have there.

    >>> sorted(tags_of_words()["light"]), sorted(tags_of_words()["can"])
    (['ADJ', 'NOUN'], ['AUX', 'NOUN'])
    """
    found: dict[str, set[str]] = {}
    for symbol, rules in RULES.items():
        tag = symbol.split(".")[0]
        for word in (word for rule in rules for word in rule.split()):
            if tag in grammar.TAGS and word not in RULES:
                found.setdefault(word.lower(), set()).add(tag)
    return {word: frozenset(tags) for word, tags in found.items()}


@cache
def taught() -> Mapping[str, tuple[str, ...]]:
    """Return sentences of our grammar that no tuning learns from, with a tag for each word."""
    return {item.text: item.tags for item in grammar.tagged_sentences(60, 5, "test")}


def _labels(one: Tagged, best: np.ndarray, covered: int | None) -> tuple[list[str], list[int | None]]:
    """Return label and colour of each token: those of a word at its first, then dashes; ? where it is covered."""
    notes, hues, tag = list[str](), list[int | None](), ""
    for k in range(len(one.tokens)):
        tag = grammar.TAGS[best[k]] if one.begins[k] else tag
        hidden = covered is not None and max(first for first in one.firsts if first <= k) == covered
        notes.append("?" if hidden and one.begins[k] else tag if one.begins[k] else "–")
        hues.append(None if hidden else HUES[tag])
    return notes, hues


def _sentence(one: Tagged, best: np.ndarray, used: Using, revealed: bool) -> str:
    """Return a sentence on the numbers of words and tokens, and the accuracy on this sentence, if its tags are known, and on
    others."""
    n, cut = len(one.firsts), len(one.tokens) - len(one.firsts)
    here, asked = "", f" ({cut} {'token gets' if cut == 1 else 'tokens get'} no tag)" if cut else ""
    if revealed and one.text in taught():
        both = zip(one.firsts, taught()[one.text], strict=False)
        here = f" {sum(grammar.TAGS[best[at]] == tag for at, tag in both)} of {n} are right here."
    return (
        f"{n} words, {len(one.tokens)} tokens, {n} tags{asked}.{here} In {tuning.CHECKED} synthetic sentences that were not in "
        f"training, {percent(used.reports[-1].right, 2)} of the words get the right tag."
    )


def lines(params: Params, used: Using) -> str:
    """Return the first lines of Python of this step."""
    return (
        f"{tuning_live.opening(used)}\n\nfrom viz.course.bert.spans_and_tags import maths as read_answers\n\n"
        f"one = read_answers.tagged(model, {params.text!r})\n"
    )


def _take(key: str, firsts: tuple[int, ...], n: int) -> None:
    at = picked_words(key, n)
    if at is not None:
        state.write(**{SLUG + "word": max(word for word, first in enumerate(firsts) if first <= at[0])})


def _next() -> None:
    of = list(taught())
    now = state.read("text", "")
    state.write(text=of[(of.index(now) + 1) % len(of) if now in of else 0], **{SLUG + "word": None})
