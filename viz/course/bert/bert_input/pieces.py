"""The first three steps on the input of BERT: a word and two texts split into tokens, the special tokens around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.course.bert import wordpiece
from viz.course.bert.bert_input.charts import MOST, cutting
from viz.course.bert.bert_input.input_sum import Sum
from viz.course.bert.bert_input.params import MODEL, SLUG, WHOSE, Params
from viz.course.bert.charts.token_rows import Row, token_rows
from viz.course.bert.wordpiece import UNKNOWN
from viz.course.exhibit import Folds
from viz.labels import literal, shorten, visible
from viz.shell import state
from viz.widgets import controls, exhibit_parts, page_parts

A, B, ODD = 0, 1, 3
"""Colours by number: first text, second text, unknown."""


def cut(params: Params, data: Sum) -> Folds:
    """Ask how another vocabulary splits a word, then draw each lookup for it in both vocabularies."""
    word, known = params.chosen_word, wordpiece.vocabulary(params.pieces)
    other, how = altered(word, known)
    now, then = wordpiece.cut(word, known), wordpiece.cut(word, other)
    tried = wordpiece.tries(word, known)
    told = exhibit_parts.predict(
        SLUG + "cut",
        f"“{visible(shorten(word, 24))}” is cut into {shorten(listed(now), 60)}. How is it cut {how}?",
        options_of(word, known, then),
        shorten(listed(then), 60),
        f"{len(wordpiece.tries(word, other))} lookups in the vocabulary {how}. "
        + (
            "No piece fits the rest, so the whole word becomes [UNK]."
            if then == (UNKNOWN,)
            else f"The longest pieces from the left are {listed(then)}."
        ),
    )
    tall = exhibit_parts.by_mode(260, 205)
    left, right = st.columns(2, gap="medium")
    with left:
        st.text(f"{len(known)} pieces: {shorten(listed(now), 40)}")
        page_parts.show(
            cutting(word, looks(word, known), height=tall),
            SLUG + "now",
            f"Lookups in the vocabulary for {visible(word[:24])}: {listed(now)}.",
        )
    with right:
        st.text(f"{how}: {shorten(listed(then), 40) if told else '?'}")
        page_parts.show(
            cutting(word, looks(word, other) if told else None, height=tall),
            SLUG + "then",
            f"The same {how}: " + (listed(then) if told else "covered."),
        )
    page_parts.summary(
        f"“{visible(shorten(word, 40))}”: {len(word)} letters, {len(tried)} lookups in a vocabulary of "
        f"{len(known)}, {len(now)} {'piece' if len(now) == 1 else 'pieces'}."
        + (f" The first {MOST} are drawn." if len(tried) > MOST else "")
    )
    edit_vocabulary(params, wordpiece.DOCUMENTS)
    n = len(word)
    return Folds(
        lambda: pd.DataFrame(
            [(one.piece, one.start, one.end, one.in_vocabulary) for one in tried],
            columns=["piece", "from", "to", "found"],
        ),
        {"found": [float(one.in_vocabulary) for one in tried]},
        revealed=told,
        latex=(
            rf"\text{{{len(tried)} lookups, at most }} \tfrac{{n (n + 1)}}{{2}} = {n * (n + 1) // 2} "
            rf"\text{{ for }} n = {n} \text{{ letters}}",
        ),
    )


def vocabularies(params: Params, data: Sum) -> Folds:
    """Draw the same texts with the visitor's tokens and with the 8,000 of bert-mini."""
    params = replace(params, pieces=state.read(SLUG + "pieces", wordpiece.OTHER))  # here others to begin with
    tokenizer, known = default().open(MODEL).tokenizer, wordpiece.vocabulary(params.pieces)
    words = params.words
    ours = [wordpiece.cut(word, known) for word in words]
    real = [tuple(tokenizer.encode(word).tokens) for word in words]
    shown = slice(0, 24)
    rows = [
        Row(
            name,
            ["|".join(cut) if len(cut) < 3 else f"{cut[0]}+{len(cut) - 1}" for cut in cuts[shown]],
            [ODD if UNKNOWN in cut else (None, 2)[len(cut) > 1] for cut in cuts[shown]],
        )
        for name, cuts in (("yours", ours), ("bert-mini", real))
    ]
    told = "; ".join(
        f"{visible(word)} is {listed(a)} and {listed(b)}"
        for word, a, b in zip(words[shown], ours, real, strict=False)
    )
    page_parts.show(
        token_rows(
            [Row("word", words[shown]), *rows],
            across=exhibit_parts.by_mode(6, 4),
            room=exhibit_parts.by_mode(0, 330),
        ),
        SLUG + "both",
        f"Each word with its pieces in both vocabularies: {told}.",
    )
    lost = [sum(UNKNOWN in cut for cut in cuts) for cuts in (ours, real)]
    counts = [sum(map(len, cuts)) for cuts in (ours, real)]
    page_parts.summary(
        f"{len(words)} words. Your {len(known)} pieces: {counts[0]} tokens, {lost[0]} unknown. "
        f"bert-mini's {len(tokenizer):,}: {counts[1]} tokens, {lost[1]} unknown. "
        "A frequent word is one piece, a rare one is several."
    )
    edit_vocabulary(params, wordpiece.OTHER)
    yours, own = (count / len(words) for count in counts)
    return Folds(
        lambda: pd.DataFrame(
            {
                "word": words,
                "yours": [listed(cut) for cut in ours],
                "bert-mini": [listed(cut) for cut in real],
            }
        ),
        {"yours": [len(cut) for cut in ours], "bert_mini": [len(cut) for cut in real]},
        {"text": f"{params.text} {params.pair}", "pieces": params.pieces},
        latex=(rf"\text{{pieces a word: yours }} {yours:.2f}, \quad \text{{bert-mini }} {own:.2f}",),
    )


def marks(params: Params, data: Sum) -> Folds:
    """Ask for the number of tokens, then draw tokens, segments and positions as the table of the sources has them."""
    row, n_words = row_of(params, data), len(params.words)
    n, first = len(row.tokens), row.segments.count(0)
    told = exhibit_parts.predict_number(
        SLUG + "marks",
        f"“{shorten(params.text, 40)}” and “{shorten(params.pair, 40)}” are {n_words} words. "
        "How many tokens does BERT read?",
        1.0,
        float(max(30, 3 * n)),
        float(n),
        f"{n} tokens: the pieces, [CLS] in front, and [SEP] after each text.",
        0.0,
    )
    hues = [A if segment == 0 else B for segment in row.segments]
    odd = [ODD if token == UNKNOWN else hue for token, hue in zip(row.tokens, hues, strict=True)]
    texts = ["AB"[segment] for segment in row.segments]
    table = [Row(name, ["?"] * n_words) for name in ("token", "segment", "position")]
    if told:
        places = [str(place) for place in row.positions]
        table = [Row("token", row.tokens, odd), Row("segment", texts, hues), Row("position", places)]
    counts = f"{first} of text A, {n - first} of text B"
    page_parts.show(
        token_rows(
            table, across=8, breaks=[first] if told else [], high=34, room=exhibit_parts.by_mode(0, 330)
        ),
        SLUG + "marks",
        f"{listed(row.tokens)}; {counts}; positions 0 to {n - 1}." if told else "Covered until you guess.",
    )
    page_parts.summary(
        f"{n} tokens: {counts}, positions 0 to {n - 1}." if told else "The table is shown after your guess."
    )
    tokens = [visible(token) for token in row.tokens]
    return Folds(
        {"token": tokens, "segment": texts, "position": row.positions},
        {"segments": row.segments, "positions": row.positions},
        revealed=told,
        equations={"bert.input": {}},
        latex=(rf"n = {n}, \quad A \times {first}, \quad B \times {n - first}, \quad 0, \dots, {n - 1}",),
    )


def row_of(params: Params, data: Sum) -> wordpiece.Row:
    """Return the tokens of both texts with their special tokens, in the chosen vocabulary."""
    if params.whose == WHOSE[1]:
        return wordpiece.Row(data.tokens, data.segments)
    known = wordpiece.vocabulary(params.pieces)
    return wordpiece.framed(wordpiece.split(params.text, known), wordpiece.split(params.pair, known))


def altered(word: str, vocabulary: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return another vocabulary and its difference: without the word's last token, or with every letter of an unknown word.

    >>> altered("playing", ("play", "##ing"))
    (('play',), 'without ##ing')
    """
    now = wordpiece.cut(word, vocabulary)
    if now == (UNKNOWN,):
        return tuple(
            dict.fromkeys((*vocabulary, *wordpiece.letters_of([word])))
        ), "with every letter of the word"
    return tuple(piece for piece in vocabulary if piece != now[-1]), f"without {now[-1]}"


def options_of(word: str, vocabulary: Sequence[str], answer: tuple[str, ...]) -> tuple[str, ...]:
    """Return the answers to choose from: all unknown, the rest unknown, the whole word, its letters, and the right one."""
    now = wordpiece.cut(word, vocabulary)
    letters = tuple(("" if at == 0 else "##") + letter for at, letter in enumerate(word))
    made = [(UNKNOWN,), (*now[:-1], UNKNOWN), (word,), letters[:12], answer]
    return tuple(sorted({shorten(listed(pieces), 60) for pieces in made}))


def looks(word: str, vocabulary: Sequence[str]) -> list[tuple[int, int, str, bool]]:
    """Return every lookup in the vocabulary, as the picture takes it."""
    return [(one.start, one.end, one.piece, one.in_vocabulary) for one in wordpiece.tries(word, vocabulary)]


def listed(pieces: Sequence[str]) -> str:
    """Return tokens as words of a sentence."""
    return " ".join(visible(piece) for piece in pieces)


def edit_vocabulary(params: Params, usual: str) -> None:
    """Draw the box with the tokens, `usual` by default, and buttons that add or remove some."""
    word, known = params.chosen_word, wordpiece.vocabulary(params.pieces)
    controls.text("The vocabulary: delete a piece, or type one", SLUG + "pieces", usual)
    last = wordpiece.cut(word, known)[-1]
    every = list(dict.fromkeys((*known, *wordpiece.letters_of(params.words))))
    edits = (
        (f"Remove {last}", [piece for piece in known if piece != last], last == UNKNOWN),
        (f"Add {word}", list(dict.fromkeys((*known, word))), word in known),
        ("Add all letters", every[: wordpiece.MOST_PIECES], False),
    )
    with st.container(horizontal=True):
        for name, pieces, off in edits:
            label, key = literal(shorten(name, 30)), f"{SLUG}edit:{name[:8]}"
            st.button(label, key=key, on_click=_put, args=(" ".join(pieces),), disabled=off)
        st.button("From the slides", key=SLUG + "edit:own", on_click=_put, args=(wordpiece.DOCUMENTS,))


def _put(pieces: str) -> None:
    state.write(**{SLUG + "pieces": pieces})
