"""The first three steps of what BERT reads: a word cut by two vocabularies, two texts cut by two vocabularies, the marks around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.engine import default
from core.errors import InputError
from viz.course.bert.bert_input.charts import MOST, cutting
from viz.course.bert.bert_input.maths import wordpiece
from viz.course.bert.bert_input.maths.wordpiece import UNKNOWN
from viz.course.bert.charts.token_rows import Row, token_rows
from viz.course.shared.shown import Shown
from viz.labels import distinct, shorten, visible
from viz.shell import state
from viz.widgets import controls, lesson, parts

SLUG = "bert_input."
WHOSE = ("of step 1", "of bert-mini")
LATER = pd.DataFrame({"": ["Guess first: then the numbers are here."]})
A, B, ODD = 0, 1, 3
"""Colours by number: first text, second text, unknown."""


def known_of(params: Any) -> tuple[str, ...]:
    """The visitor's vocabulary."""
    return wordpiece.vocabulary(params.pieces)


def words_of(params: Any) -> tuple[str, ...]:
    """The words of both texts."""
    return wordpiece.words(params.text) + wordpiece.words(params.pair)


def word_of(params: Any) -> str:
    """The word that was chosen; the last where the texts have fewer. Raises InputError where they have none."""
    words = words_of(params)
    if not words:
        raise InputError("There is no word in these texts.", "A word is cut into the pieces of the vocabulary.", "Type a word, or take the example.")
    return words[min(params.word, len(words) - 1)]


def altered(word: str, known: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Another vocabulary and what was done to it: without the last piece of the word, or with every letter where the word is unknown.

    >>> altered("playing", ("play", "##ing"))
    (('play',), 'without ##ing')
    """
    now = wordpiece.cut(word, known)
    if now == (UNKNOWN,):
        return tuple(dict.fromkeys((*known, *wordpiece.letters_of([word])))), "with every letter of the word"
    return tuple(piece for piece in known if piece != now[-1]), f"without {now[-1]}"


def told(pieces: Sequence[str]) -> str:
    """Pieces as words of a sentence."""
    return " ".join(visible(piece) for piece in pieces)


def options_of(word: str, known: Sequence[str], answer: tuple[str, ...]) -> tuple[str, ...]:
    """Answers one may give: all of it unknown, the rest of it, the word whole, its letters, and the right one."""
    now = wordpiece.cut(word, known)
    letters = tuple(("" if at == 0 else "##") + letter for at, letter in enumerate(word))
    made = [(UNKNOWN,), (*now[:-1], UNKNOWN), (word,), letters[:12], answer]
    return tuple(sorted({shorten(told(pieces), 60) for pieces in made}))


def looks(word: str, known: Sequence[str]) -> list[tuple[int, int, str, bool]]:
    """Every look into the vocabulary as the picture takes it."""
    return [(one.start, one.end, one.piece, one.found) for one in wordpiece.tries(word, known)]


def edit_vocabulary(params: Any, usual: str = wordpiece.DOCUMENTS) -> None:
    """The box with the pieces, `usual` before any choice, and buttons that put some in or take one out."""
    word, known = word_of(params), known_of(params)
    controls.text("The vocabulary: delete a piece, or type one", SLUG + "pieces", usual)
    last = wordpiece.cut(word, known)[-1]
    less = [piece for piece in known if piece != last]
    more = list(dict.fromkeys((*known, word)))
    letters = list(dict.fromkeys((*known, *wordpiece.letters_of(words_of(params)))))[: wordpiece.MOST_PIECES]
    with st.container(horizontal=True):
        for name, pieces, off in ((f"Take {last} out", less, last == UNKNOWN), (f"Put {word} in", more, word in known), ("Put every letter in", letters, False)):
            st.button(controls.literal(shorten(name, 30)), key=f"{SLUG}edit:{name[:8]}", on_click=_put, args=(" ".join(pieces),), disabled=off)
        st.button("From the slides", key=SLUG + "edit:own", on_click=_put, args=(wordpiece.DOCUMENTS,))


def _put(pieces: str) -> None:
    state.write(**{SLUG + "pieces": pieces})


def pick_word(params: Any) -> None:
    """Pills with the words of both texts."""
    words = words_of(params)
    names = distinct(words)
    controls.pills("Word", range(len(words)), SLUG + "word", min(params.word, len(words) - 1), lambda at: shorten(names[at], 16))


def cut(params: Any, data: Any) -> Shown:
    """Each look into the vocabulary for one word; beside it the same with another vocabulary, covered until one guessed."""
    word, known = word_of(params), known_of(params)
    other, how = altered(word, known)
    now, then = wordpiece.cut(word, known), wordpiece.cut(word, other)
    answer = shorten(told(then), 60)
    known_now = lesson.predict(
        SLUG + "cut", f"“{visible(shorten(word, 24))}” is cut into {shorten(told(now), 60)}. And {how}?", options_of(word, known, then), answer,
        f"{len(wordpiece.tries(word, other))} looks into the vocabulary {how}. "
        + ("No piece fits the rest, so the whole word is unknown: nothing of it is kept." if then == (UNKNOWN,) else f"The longest pieces from the left are {told(then)}."),
    )  # fmt: skip
    tall = 205 if lesson.presenting() else 260
    left, right = st.columns(2, gap="medium")
    with left:
        st.text(f"{len(known)} pieces: {shorten(told(now), 40)}")
        parts.show(cutting(word, looks(word, known), height=tall), SLUG + "now", f"Looks into the vocabulary for {visible(word[:24])}: {told(now)}.")
    with right:
        st.text(f"{how}: {shorten(told(then), 40) if known_now else '?'}")
        parts.show(cutting(word, looks(word, other) if known_now else None, height=tall), SLUG + "then", f"The same {how}: " + (told(then) if known_now else "covered."))
    made = len(wordpiece.tries(word, known))
    drawn = f" The first {MOST} are drawn." if made > MOST else ""
    parts.numbers(f"“{visible(shorten(word, 40))}”: {len(word)} letters, {made} looks into a vocabulary of {len(known)}, {len(now)} {'piece' if len(now) == 1 else 'pieces'}.{drawn}")
    edit_vocabulary(params)
    tried = wordpiece.tries(word, known)
    return Shown(
        {}, (rf"\text{{{len(tried)} looks, at most }} \tfrac{{n (n + 1)}}{{2}} = {len(word) * (len(word) + 1) // 2} \text{{ for }} n = {len(word)} \text{{ letters}}",),
        "A line is one look into the vocabulary, from above. A full bar is a piece that was found, a dotted one is not there; then one letter less is tried. "
        "Words are in lower case and without accents, as bert-mini reads them. Nothing is learned here: the pieces were chosen before, by how often they occur.",
        lambda: pd.DataFrame([(one.piece, one.start, one.end, one.found) for one in tried], columns=["piece", "from", "to", "found"]),
        {"found": np.array([one.found for one in tried], float)},
        f"from viz.course.bert.bert_input.maths import wordpiece\n\nknown = wordpiece.vocabulary({params.pieces!r})\nprint(wordpiece.cut({word!r}, known))\n"
        f"for look in wordpiece.tries({word!r}, known):\n    print(look)",
        lambda: pick_word(params),
    )  # fmt: skip


def vocabularies(params: Any, data: Any) -> Shown:
    """The same texts with the visitor's pieces and with the 8,000 of bert-mini."""
    tokenizer, known = default().open("bert-mini").tokenizer, known_of(params)
    words = words_of(params)
    ours = [wordpiece.cut(word, known) for word in words]
    real = [tuple(tokenizer.encode(word).tokens) for word in words]
    shown = slice(0, 24)
    rows = [Row(name, ["|".join(pieces) if len(pieces) < 3 else f"{pieces[0]}+{len(pieces) - 1}" for pieces in cuts[shown]],
                [ODD if UNKNOWN in pieces else (None, 2)[len(pieces) > 1] for pieces in cuts[shown]]) for name, cuts in (("yours", ours), ("bert-mini", real))]  # fmt: skip
    parts.show(token_rows([Row("word", words[shown]), *rows], across=4 if lesson.presenting() else 6), SLUG + "both", "Each word with its pieces in both vocabularies: " + "; ".join(f"{visible(word)} is {told(a)} and {told(b)}" for word, a, b in zip(words[shown], ours, real, strict=False)) + ".")
    lost = [sum(UNKNOWN in pieces for pieces in cuts) for cuts in (ours, real)]
    counts = [sum(map(len, cuts)) for cuts in (ours, real)]
    parts.numbers(
        f"{len(words)} words. Your {len(known)} pieces: {counts[0]} tokens, {lost[0]} unknown. bert-mini's {len(tokenizer):,}: {counts[1]} tokens, {lost[1]} unknown. "
        "A frequent word is one piece, a rare one is several."
    )  # fmt: skip
    edit_vocabulary(params, wordpiece.OTHER)
    return Shown(
        {}, (rf"\text{{pieces a word: yours }} {counts[0] / len(words):.2f}, \quad \text{{bert-mini }} {counts[1] / len(words):.2f}",),
        "Green: a word of several pieces; a first piece and +2 stands for three. Red: the whole word is [UNK], whatever letters it has. bert-mini's pieces were learned from children's books, so their words are whole. "
        "The tokenizer of the library is asked here; our own greedy cut over the same pieces gives the same.",
        lambda: pd.DataFrame({"word": words, "yours": [told(p) for p in ours], "bert-mini": [told(p) for p in real]}),
        {"yours": np.array([len(p) for p in ours]), "bert_mini": np.array([len(p) for p in real])},
        f"import core\nfrom viz.course.bert.bert_input.maths import wordpiece\n\ntext = {params.text + ' ' + params.pair!r}\nprint(wordpiece.split(text, wordpiece.vocabulary({params.pieces!r})))\n"
        "print(core.open_model('bert-mini').tokenizer.encode(text).tokens)",
    )  # fmt: skip


def row_of(params: Any, data: Any) -> wordpiece.Row:
    """The tokens of both texts with their marks, in the pieces that were chosen."""
    if params.whose == WHOSE[1]:
        return wordpiece.Row(data.tokens, data.segments)
    known = known_of(params)
    return wordpiece.framed(wordpiece.split(params.text, known), wordpiece.split(params.pair, known))


def marks(params: Any, data: Any) -> Shown:
    """Tokens, texts and places as the documents' table has them."""
    row = row_of(params, data)
    n, n_first = len(row.tokens), row.segments.count(0)
    known = lesson.predict_number(SLUG + "marks", f"“{shorten(params.text, 40)}” and “{shorten(params.pair, 40)}” are {len(words_of(params))} words. How many tokens does BERT read?",
                                  1.0, float(max(30, 3 * n)), float(n), f"{n} tokens: the pieces, [CLS] in front, and [SEP] after each text.", 0.0)  # fmt: skip
    hues = [A if segment == 0 else B for segment in row.segments]
    odd = [ODD if token == UNKNOWN else hue for token, hue in zip(row.tokens, hues, strict=True)]
    table = [Row("token", row.tokens, odd), Row("text", ["AB"[s] for s in row.segments], hues), Row("place", [str(i) for i in row.positions])]
    covered = [Row(name, ["?"] * len(words_of(params))) for name in ("token", "text", "place")]
    parts.show(token_rows(table if known else covered, across=8, breaks=[n_first] if known else [], high=42 if lesson.presenting() else 34), SLUG + "marks",
               (f"{told(row.tokens)}; {n_first} of text A, {n - n_first} of text B; positions 0 to {n - 1}.") if known else "Covered until you guessed.")  # fmt: skip
    parts.numbers(f"{n} tokens: {n_first} of text A, {n - n_first} of text B, positions 0 to {n - 1}." if known else "Guess, and the table opens.")
    controls.segmented("Pieces", WHOSE, SLUG + "whose", WHOSE[0])
    return Shown(
        {"bert.input": {}}, (rf"n = {n}, \quad A \times {n_first}, \quad B \times {n - n_first}, \quad 0, \dots, {n - 1}",) if known else (),
        "[CLS] is a position without a word: later heads read the whole text from it. [SEP] ends a text and belongs to it. Blue is text A, orange text B, red is unknown. "
        "The positions count on through both texts.",
        lambda: pd.DataFrame({"token": [visible(t) for t in row.tokens], "text": ["AB"[s] for s in row.segments], "place": row.positions}) if known else LATER,
        {"segments": np.array(row.segments), "positions": np.array(row.positions)} if known else {},
        "from viz.course.bert.bert_input.maths import wordpiece\n\n" + (f"known = wordpiece.vocabulary({params.pieces!r})\n"
        f"print(wordpiece.framed(wordpiece.split({params.text!r}, known), wordpiece.split({params.pair!r}, known)))"),
    )  # fmt: skip
