"""Answers and tags, the third step: a part of speech for each word, asked at its first piece."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.data import grammar
from core.data.lexicon import RULES
from core.engine import default
from core.errors import InputError
from core.training import tuning
from viz.course.bert import tuning_live as live
from viz.course.bert.spans_and_tags.answers import SLUG, glued, missing
from viz.course.bert.spans_and_tags.maths import Tagged, tagged
from viz.course.shared.shown import Shown, later
from viz.instruments import marked, picked
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import distinct, percent, visible
from viz.shell import room, state
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

SENTENCES = (
    "The boys like that light, and two farmers carry a light boat.",
    "My cook can find that can.",
    "Anna says that my dogs watch her watch.",
    "They light the lamp.",
    "Unfriendly gardeners overwater our sunflowers quietly.",
)
HUES: Mapping[str, int] = MappingProxyType(
    {tag: at for at, tag in enumerate(("NOUN", "VERB", "ADJ", "PROPN", "PRON", "ADV", "DET", "AUX", "ADP", "CONJ", "NUM", "PUNCT"))}
)
"""A colour by number for each tag; from the ninth on a frame."""


@cache
def tags_of_words() -> Mapping[str, frozenset[str]]:
    """Each word of our grammar with the tags that it may have there.

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
    """Sentences of our grammar that no tuning learns from, with a tag for each word."""
    return {item.text: item.tags for item in grammar.tagged(60, 5, "test")}


def read(params: Any, run: live.Using) -> Tagged:
    """The sentence with its tags, by the model that the page uses."""
    return ask.submit(("spans_and_tags.tags", run.model, params.text), lambda: tagged(default().open(run.model or ""), params.text), 6 * len(params.text))


def word_of(params: Any, one: Tagged) -> int:
    """The word that is asked about: the chosen one, else the first that has several tags in our grammar, one that comes twice before others.

    Raises InputError for a text in which there is none.
    """
    if not one.words:
        raise InputError("There is no word in this text.", "Each word gets a tag.", "Type a sentence, or take one of the examples.")
    if 0 <= params.word < len(one.words):
        return params.word
    words = [word.lower() for word in one.words]
    several = [at for at, word in enumerate(words) if len(tags_of_words().get(word, ())) > 1]
    return min(several, key=lambda at: (words.count(words[at]) < 2, at), default=0)


def _take(key: str, firsts: tuple[int, ...], n: int) -> None:
    at = picked(key, n)
    if at is not None:
        state.write(**{SLUG + "word": max(word for word, first in enumerate(firsts) if first <= at[0])})


def tagging(params: Any) -> Shown:
    """The sentence with a tag at the first piece of each word; the chances of the chosen word, covered until one guessed."""
    run = live.using(f"tags-{params.body}", SLUG)
    origin.tell(model=run.model or "", text=params.text)
    if run.model is None:
        return missing(params, "tags")
    one = read(params, run)
    word = word_of(params, one)
    firsts, best = one.firsts, one.chances.argmax(-1)
    at = firsts[word]
    names, mine = distinct(one.words), one.chances[at]
    answer = grammar.TAGS[best[at]]
    likely = [grammar.TAGS[tag] for tag in np.argsort(-mine, kind="stable")[:3]]
    options = sorted({*likely, *tags_of_words().get(one.words[word].lower(), ()), "NOUN", "VERB", "ADJ"}, key=grammar.TAGS.index)
    known = tags_of_words().get(one.words[word].lower())
    learnt = "The grammar that it learnt from does not have this word." if known is None else f"In the grammar that it learnt from this word is {' or '.join(sorted(known))}."
    told = lesson.predict(SLUG + "tag", f"Which part of speech is “{visible(one.words[word])}” for the model, word {word + 1} of {len(names)}?", {tag: float(mine[grammar.TAGS.index(tag)]) for tag in options}, answer,
                          f"{answer} {percent(mine.max())}, then {likely[1]} {percent(mine[grammar.TAGS.index(likely[1])])}. {learnt}")  # fmt: skip
    notes, hues = _labels(one, best, None if told else at)
    key = SLUG + "tags"
    with room.wide():
        marked(one.tokens, key=key, on_pick=partial(_take, key, firsts, len(one.tokens)), glued=[k for k in range(len(one.tokens)) if not one.begins[k]] + [k for k in glued(one.places) if one.begins[k]],
               notes=notes, hues=hues, span=(at, (*firsts, len(one.tokens))[word + 1] - 1), pick="word", hint="Touch a word to ask about it.", python=lines(params, run) + drawing("marked", f"one.tokens, notes=[{list(grammar.TAGS)}[chances.argmax()] for chances in one.chances]", origin.now()))  # fmt: skip
        marked(grammar.TAGS, key=SLUG + "chances", above=mine if told else None, names=(f"probabilities of “{visible(one.words[word])}”", ""), hues=[HUES[tag] for tag in grammar.TAGS],
               python=lines(params, run) + drawing("marked", f"{list(grammar.TAGS)}, above=one.chances[{at}], names={('chance', '')}", origin.now()))  # fmt: skip
        parts.numbers(_sentence(one, best, run, told))
    if not lesson.presenting():
        choose_sentence()
    i = at + 1
    return Shown(
        {"spans.tag": {}}, (rf"P_{{{i}}}(\text{{{answer}}}) = {mine.max():.4f}, \qquad \sum_k P_{{{i},k}} = {mine.sum():.4f}",) if told else (),
        "A colour is a tag. A word in several tokens (## continues a word) has the tag of its **first token**; the other tokens are read, and not asked. Every token has its own softmax over the 12 tags, from its own vector: "
        "n tokens need n vectors, [CLS] alone gives one label. DET: the, a, my. PROPN: a name. AUX: can, is. ADP: in, by, after. CONJ: and, that. NUM: two. PUNCT: signs. The same word gets different tags because its vector depends on its neighbours.",
        lambda: pd.DataFrame(one.chances, index=distinct(one.tokens), columns=list(grammar.TAGS)).round(4) if told else later(),
        {"chances": one.chances, "begins": one.begins} if told else {},
        lines(params, run) + f"print(one.words)\nprint([{list(grammar.TAGS)}[one.chances[at].argmax()] for at in one.firsts])",
    )  # fmt: skip


def lines(params: Any, run: live.Using) -> str:
    """The first lines of Python of this step."""
    return f"{live.opening(run)}\n\nfrom viz.course.bert.spans_and_tags import maths as read_answers\n\none = read_answers.tagged(model, {params.text!r})\n"


def _labels(one: Tagged, best: np.ndarray, covered: int | None) -> tuple[list[str], list[int | None]]:
    """The label and the colour of each piece: those of a word at its first piece, a dash at the others, ? where it is covered."""
    notes, hues, tag = list[str](), list[int | None](), ""
    for k in range(len(one.tokens)):
        tag = grammar.TAGS[best[k]] if one.begins[k] else tag
        hidden = covered is not None and max(first for first in one.firsts if first <= k) == covered
        notes.append("?" if hidden and one.begins[k] else tag if one.begins[k] else "–")
        hues.append(None if hidden else HUES[tag])
    return notes, hues


def _sentence(one: Tagged, best: np.ndarray, run: live.Using, told: bool) -> str:
    """How many words and pieces, how good on this sentence where its tags are known, and on words never read."""
    n, cut = len(one.firsts), len(one.tokens) - len(one.firsts)
    here, asked = "", f" ({cut} {'token is' if cut == 1 else 'tokens are'} not asked)" if cut else ""
    if told and one.text in taught():
        right = sum(grammar.TAGS[best[at]] == tag for at, tag in zip(one.firsts, taught()[one.text], strict=False))
        here = f" {right} of {n} are right here."
    return f"{n} words, {len(one.tokens)} tokens, {n} tags{asked}.{here} In {tuning.CHECKED} sentences that it never read, {percent(run.reports[-1].right, 2)} of the words get the right tag."


def choose_sentence() -> None:
    """A button for the next sentence of our grammar."""
    st.button("Another sentence of our grammar", key=SLUG + "another", on_click=_next)


def _next() -> None:
    of = list(taught())
    now = state.read("text", "")
    state.write(text=of[(of.index(now) + 1) % len(of) if now in of else 0], **{SLUG + "word": None})
