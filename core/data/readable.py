"""Checks whether a model can read a text, from how tokenizers cut it: before anything is computed, and without a list of languages."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable

from core.data.home import assets
from core.errors import InputError
from core.text.tokenizer import Tokenizer

READ = 2_000
"""Letters of a text that are judged: enough to tell, and little to read."""
PER_LETTER, OVER = 0.4, 1.8
"""Everyday English has about a third of a token a letter in the yardstick. A text with more than `OVER` tokens above
`PER_LETTER` of its letters is another language: of 8,606 English sentences of the test sets 0.8% are, of 2,049 Spanish 91%,
of 2,662 German 88%, of 2,353 French 90%, down to sentences of two words."""
SHOUTED = 1.5
"""So many times the tokens of its small letters a text in capitals has at least."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_YARDSTICK = assets("models") / "gpt-mini" / "tokenizer.json"
UNKNOWN = ("[UNK]", "<unk>")
"""The names that tokenizers give their token for the unknown."""


@functools.cache
def english_tokenizer() -> Tokenizer | None:
    """Return the tokenizer that other texts are compared with, learned from English alone; None where its file is missing."""
    try:
        return Tokenizer.from_file(_YARDSTICK)
    except Exception:  # noqa: BLE001 - the library raises Exception itself; without a yardstick nothing is said
        return None


@functools.lru_cache(256)
def is_english(text: str) -> bool:
    """Return whether a text is cut into about as few tokens as English is. Capitalised words count only at its start, for names are in no vocabulary.

    >>> is_english("She has a white car."), is_english("Das weiße Auto steht vor dem Haus."), is_english("")
    (True, False, True)
    """
    yardstick, words = english_tokenizer(), _WORD.findall(text[:READ])
    if yardstick is None or not words:
        return True
    plain = [word.lower() for place, word in enumerate(words) if place == 0 or not word[0].isupper()]
    tokens = len(yardstick.encode_many([" " + " ".join(plain)])[0])
    return tokens - PER_LETTER * sum(map(len, plain)) <= OVER


def to_sentence_case(text: str) -> str:
    """Return a text with small letters, except at the beginning of a sentence and in the word I.

    >>> to_sentence_case("I AM ANGRY. AM I?")
    'I am angry. Am I?'
    """
    small = re.sub(r"\bi\b", "I", text.lower())
    return re.sub(r"(?:^|[.!?]\s+)\W*\w", lambda begin: begin.group().upper(), small)


def capital_token_counts(text: str, reads: Tokenizer) -> tuple[int, int] | None:
    """Return (tokens of a text in capitals, tokens of the same in small letters) where this tokenizer needs many more for capitals; else None."""
    here = _begin(text)
    if sum(letter.isupper() for letter in here) <= sum(letter.islower() for letter in here):
        return None
    loud, small = map(len, reads.encode_many([here, to_sentence_case(here)]))
    return (loud, small) if loud >= SHOUTED * small and loud - small > 1 else None


def unknown_characters(text: str, reads: Tokenizer) -> str:
    """Return the characters, each once, that no token of this tokenizer covers.

    A word in plain letters that a list of words does not hold is an unknown word: its letters are none.
    """
    text = _begin(text)
    encoded = reads.encode(text)
    spans = [
        *encoded.uncovered,
        *(
            span
            for token, span in zip(encoded.tokens, encoded.spans, strict=True)
            if span and token in UNKNOWN and not (span[1] - span[0] > 1 and text[slice(*span)].isascii())
        ),
    ]
    lost = [text[start:end] for start, end in spans]
    return "".join(dict.fromkeys("".join(lost)))


def unknown_share(texts: Iterable[str], reads: Tokenizer) -> float:
    """Return the share of the tokens of these texts that carry nothing for a model: unknown tokens, and characters that none covers.

    >>> from core.text.learn import word_list_tokenizer
    >>> round(unknown_share(["a cat", "a dog"], Tokenizer(word_list_tokenizer(("a", "cat"), ("<unk>",)))), 2)
    0.25
    """
    n, missing = 0, 0
    for text in texts:
        try:
            encoded = reads.encode(_begin(text))
        except InputError:  # no token, and none for unknown words either
            n, missing = n + 1, missing + 1
            continue
        n += len(encoded.ids) + len(encoded.uncovered)
        missing += len(encoded.uncovered) + sum(
            token in (*UNKNOWN, reads.unknown) for token in encoded.tokens
        )
    return missing / max(n, 1)


def characters_in_bytes(text: str, reads: Tokenizer) -> str:
    """Return the characters, each once, that this tokenizer cuts into several tokens, one for each byte: emoji, and rare symbols."""
    text = _begin(text)
    met = Counter(span for span in reads.encode(text).spans if span)
    return "".join(
        dict.fromkeys(text[start] for (start, end), n in met.items() if n > 1 and end == start + 1)
    )


def _begin(text: str) -> str:
    """Return the part of a text that is checked, its first READ letters, without halves of surrogate pairs, which no tokenizer accepts."""
    return text[:READ].encode(errors="ignore").decode()
