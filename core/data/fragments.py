"""Words and short phrases cut out of sentence pairs, so that a translator also learns single words.

Each word is linked to its counterpart by IBM model 1 (Brown et al. 1993) in both directions; a phrase of one to three
linked words goes with its counterpart if these are neighbours too (Koehn et al. 2003, with every word linked).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Pair = tuple[str, str]
Array = np.ndarray

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
WORD = re.compile(r"[^\W\d_]")
ENDS = " .!?¡¿,;:…"
ROUNDS = 5
"""Passes of expectation and maximisation."""
WEAK = 20
"""The commonest words of the target, articles and prepositions: no counterpart grows by one of these at its end."""
LONGEST = 3
"""Words of a phrase."""
OFTEN, SHARE = {1: 4, 2: 6, 3: 10}, {1: 0.05, 2: 0.3, 3: 0.4}
"""By number of words: a phrase is kept that was cut out so often, of its occurrences this share with that counterpart, and of the counterpart's with it."""
EXTENSION_SHARE = 0.6
"""A counterpart grows by a word that is beside it in this share of its occurrences: maybe is tal vez, not tal."""


@dataclass(frozen=True)
class Links:
    """Every pairing of a source word with a target word of the same sentence pair, one row each: sentence, the two
    positions, and the two word ids (e, f).
    """

    sentence: Array
    source: Array
    target: Array
    e: Array
    f: Array


def short_pairs(pairs: Iterable[Pair], longest: int = LONGEST) -> list[Pair]:
    """Return the pairs of at most `longest` words on both sides, without punctuation at their ends, both as written and in lower case.

    >>> short_pairs([("Thank you.", "Gracias."), ("Do you see the big cat?", "¿Ves al gato grande?")])
    [('Thank you', 'Gracias'), ('thank you', 'gracias')]
    """
    kept = [
        (s.strip(ENDS), t.strip(ENDS)) for s, t in pairs if max(len(s.split()), len(t.split())) <= longest
    ]
    return list(dict.fromkeys(pair for s, t in kept if s and t for pair in ((s, t), (s.lower(), t.lower()))))


def fragments(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the phrase pairs that are each other's usual translation, the most frequent first; a word gets the capitals
    that it has inside a sentence.

    >>> rows = [("the cat sleeps", "el gato duerme"), ("the cat eats", "el gato come"), ("the dog eats", "el perro come"), ("a dog", "un perro")]
    >>> sorted(pair for pair in fragments(rows * 4) if pair[0] in ("cat", "dog", "the cat"))
    [('cat', 'gato'), ('dog', 'perro'), ('the cat', 'el gato')]
    """
    sides = [[TOKEN.findall(text) for text in side] for side in zip(*pairs, strict=True)]
    plain = [[[word.lower() for word in row] for row in side] for side in sides]
    weak = {word for word, _ in Counter(word for row in plain[1] for word in row).most_common(WEAK)}
    phrases: Counter[Pair] = Counter()
    for source, target, links in zip(*plain, align_words(*plain), strict=True):
        phrases.update((" ".join(s), " ".join(t)) for s, t in linked_phrases(source, target, links, weak))
    first, second = (usual_spelling(side) for side in sides)
    return [
        (_spelled(source, first), _spelled(target, second)) for source, target in mutual_counterparts(phrases)
    ]


def _spelled(text: str, forms: Mapping[str, str]) -> str:
    return " ".join(forms.get(word, word) for word in text.split(" "))


def mutual_counterparts(counts: Counter[Pair]) -> list[Pair]:
    """Return (source, target) with the most frequent target of each source, from counts of phrase pairs; pairs that are
    too rare are left out, and a longer target is preferred where it nearly always surrounds the shorter.

    >>> mutual_counterparts(Counter({("cat", "gato"): 9, ("cat", "gata"): 4, ("cats", "gato"): 3, ("maybe", "tal"): 7, ("maybe", "tal vez"): 6}))
    [('cat', 'gato'), ('maybe', 'tal vez')]
    """
    sums: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for pair, n in counts.items():
        for total, text in zip(sums, pair, strict=True):
            total[text] += n
    best: dict[str, tuple[str, int]] = {}
    for (s, t), n in counts.most_common():
        shortest, most = best.get(s, (t, 0))
        enough = n >= OFTEN[s.count(" ") + 1] and n >= SHARE[s.count(" ") + 1] * max(sums[0][s], sums[1][t])
        if (enough and not most) or (most and n >= EXTENSION_SHARE * most and f" {shortest} " in f" {t} "):
            best[s] = (t, n)
    return [(s, t) for s, (t, _) in best.items()]


def linked_phrases(
    source: Sequence[str], target: Sequence[str], links: Mapping[int, int], weak: Container[str] = ()
) -> Iterable[tuple[Sequence[str], Sequence[str]]]:
    """Yield the phrases of one to LONGEST source words whose linked target words are neighbours too, as (source words,
    target words). A single word also goes with the unlinked target words beside it, except one of `weak` at the end.
    Punctuation and numbers are in no phrase.

    >>> list(linked_phrases(["red", "house", "."], ["casa", "roja", "."], {0: 1, 1: 0, 2: 2}))
    [(['red'], ['roja']), (['red', 'house'], ['casa', 'roja']), (['house'], ['casa'])]
    >>> list(linked_phrases(["maybe"], ["tal", "vez"], {0: 0}))
    [(['maybe'], ['tal']), (['maybe'], ['tal', 'vez'])]
    """
    taken = set(links.values())
    for first in range(len(source)):
        places: list[int] = []
        for place in range(first, min(first + LONGEST, len(source))):
            if place not in links or not WORD.match(source[place]) or not WORD.match(target[links[place]]):
                break
            places.append(links[place])
            low, high = min(places), max(places)
            if high - low + 1 != len(places):
                continue
            yield source[first : place + 1], target[low : high + 1]
            if place == first:
                free = [
                    0 <= j < len(target) and j not in taken and bool(WORD.match(target[j]))
                    for j in (low - 1, low + 1)
                ]
                free[1] = free[1] and target[low + 1] not in weak
                yield from (
                    ([source[first]], target[low - left : low + 1 + right])
                    for left, right in ((0, 1), (1, 0), (1, 1))
                    if left <= free[0] and right <= free[1]
                )


def align_words(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> list[dict[int, int]]:
    """Return, for each pair of sentences, the words that choose each other, as {position in the source: position in the target}.

    A word chooses the word of the other sentence with the largest t(f|e) t(e|f), the product of both translation
    probabilities; of equal ones the nearest to its own position.

    >>> align_words([["the", "cat"], ["the", "dog"]] * 2, [["el", "gato"], ["el", "perro"]] * 2)[0]
    {0: 0, 1: 1}
    """
    links, types = _links(sources, targets)
    there, back = (
        _translation_probabilities(links, types, links.e, links.f),
        _translation_probabilities(links, types, links.f, links.e),
    )
    lengths = [np.array([max(len(row), 1) for row in side])[links.sentence] for side in (sources, targets)]
    far = np.abs((links.source + 0.5) / lengths[0] - (links.target + 0.5) / lengths[1])
    score = np.log(there * back + 1e-30) - 0.5 * far
    chosen = _best(links.sentence, links.source, score) & _best(links.sentence, links.target, score)
    out: list[dict[int, int]] = [{} for _ in sources]
    for sentence, i, j in zip(
        *(part[chosen].tolist() for part in (links.sentence, links.source, links.target)), strict=True
    ):
        out[sentence][i] = j
    return out


def _links(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> tuple[Links, Array]:
    """Return the links of all pairs of sentences, and for each link the number of its pair of words, counted from 0 over different pairs."""
    ids: tuple[defaultdict[str, int], defaultdict[str, int]] = (defaultdict(), defaultdict())
    for known in ids:
        known.default_factory = known.__len__
    coded = [
        [np.array([known[word] for word in row], dtype=np.int64) for row in side]
        for known, side in zip(ids, (sources, targets), strict=True)
    ]
    n = [len(s) * len(t) for s, t in zip(*coded, strict=True)]
    rows = [
        (
            np.repeat(np.arange(len(s)), len(t)),
            np.tile(np.arange(len(t)), len(s)),
            np.repeat(s, len(t)),
            np.tile(t, len(s)),
        )
        for s, t in zip(*coded, strict=True)
    ]
    source, target, e, f = (np.concatenate(part) for part in zip(*rows, strict=True))
    return Links(np.repeat(np.arange(len(n)), n), source, target, e, f), np.unique(
        e * len(ids[1]) + f, return_inverse=True
    )[1]


def _translation_probabilities(links: Links, types: Array, condition: Array, outcome: Array) -> Array:
    """Estimate t(outcome | condition) of each link by IBM model 1: the probability that one word is written for the other."""
    place = links.target if outcome is links.f else links.source
    group = links.sentence * 1000 + place
    group = np.unique(group, return_inverse=True)[1]
    of_type = np.zeros(types.max() + 1, dtype=np.int64)
    of_type[types] = condition
    t = np.ones(len(of_type))
    for _ in range(ROUNDS):
        here = t[types]
        counts = np.bincount(types, here / np.bincount(group, here)[group])
        t = counts / np.bincount(of_type, counts)[of_type]
    return t[types]


def _best(sentence: Array, place: Array, score: Array) -> Array:
    """Return a mask of the links, True at the link with the highest score of each word."""
    order = np.lexsort((-score, place, sentence))
    head = np.ones(len(order), dtype=bool)
    head[1:] = (np.diff(sentence[order]) != 0) | (np.diff(place[order]) != 0)
    out = np.zeros(len(order), dtype=bool)
    out[order[head]] = True
    return out


def usual_spelling(rows: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the usual spelling of words that are not in lower case inside a sentence, by their lower-case form.

    >>> usual_spelling([["Today", "I", "saw", "Tom"], ["The", "cat", "saw", "Tom"]])
    {'i': 'I', 'tom': 'Tom'}
    """
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for before, word in pairwise(row):
            if WORD.match(before):
                forms[word.lower()][word] += 1
    return {word: form for word, counts in forms.items() if (form := counts.most_common(1)[0][0]) != word}
