"""A small grammar that generates labelled English for live fine-tuning: opinions, pairs of sentences, questions, tagged words.

The same seed gives the same items; none comes twice in a draw. Labels follow from how an item is made, never from a list.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Literal, NamedTuple, TypeVar

from core.data import lexicon
from core.data.lexicon import COLORS, COUNTED, NAMES, NUMBERS, OBJECTS, RULES
from core.errors import InputError

Split = Literal["train", "test"]
OPINIONS = ("good", "bad")
RELATIONS = ("entailment", "neutral", "contradiction")
QUESTION_KINDS = ("who", "what", "where", "when", "color")
TAGS = ("DET", "NOUN", "PROPN", "PRON", "VERB", "AUX", "ADJ", "ADV", "ADP", "NUM", "CONJ", "PUNCT")
TESTED = 5
"""One item in so many is a test item."""
TRIES = 2_000


# Of every item the first field says what it is about: it decides between train and test.


class Labelled(NamedTuple):
    """A sentence that states an opinion; `label` is one of OPINIONS."""

    text: str
    label: str


class Pair(NamedTuple):
    """Two sentences; `label` is the relation of the first to the second, one of RELATIONS."""

    first: str
    second: str
    label: str


class Question(NamedTuple):
    """A question about a passage: `passage[start:end]` is the answer, which occurs there once; `kind` is one of QUESTION_KINDS."""

    passage: str
    question: str
    start: int
    end: int
    kind: str

    @property
    def answer(self) -> str:
        return self.passage[self.start : self.end]


class Tagged(NamedTuple):
    """A sentence, its words (punctuation too), and a part of speech for each, from TAGS."""

    text: str
    words: tuple[str, ...]
    tags: tuple[str, ...]


def sentences(n: int, seed: int, split: Split | None = None) -> tuple[Labelled, ...]:
    """Generate n different sentences of opinion. Every word is as frequent in good ones as in bad ones, so no single word gives the label away.

    >>> [(item.text, item.label) for item in sentences(2, seed=8)]
    [('The school behind the church was dirty this morning.', 'bad'), ('The eggs at the inn were not awful this morning.', 'good')]

    Raises InputError where so many different ones cannot be made (as pairs, questions and tagged do).
    """
    return _draw(n, seed, split, OPINIONS, _opinion)


def pairs(n: int, seed: int, split: Split | None = None) -> tuple[Pair, ...]:
    """Generate n different pairs of sentences whose relation follows from quantifiers, comparatives, the order of events, or numbers."""
    return _draw(n, seed, split, RELATIONS, lambda label, rng: Pair(*rng.choice(FAMILIES)(label, rng), label))


def questions(n: int, seed: int, split: Split | None = None) -> tuple[Question, ...]:
    """Generate n different questions, each about one of the three facts of a passage; the facts share words."""
    return _draw(n, seed, split, QUESTION_KINDS, _question)


def tagged_sentences(n: int, seed: int, split: Split | None = None) -> tuple[Tagged, ...]:
    """Generate n different sentences with parts of speech; some words (walk, can, light, her, that) occur with several tags."""
    return _draw(n, seed, split, ("S",), _tagged)


def split_of(about: str) -> Split:
    """Return "train" or "test" for a text, by its hash: one text in TESTED is for testing."""
    return "test" if zlib.crc32(about.encode()) % TESTED == 0 else "train"


Made = TypeVar("Made", bound=tuple[Any, ...])


def _draw(
    n: int, seed: int, split: Split | None, labels: Sequence[str], make: Callable[[str, Random], Made]
) -> tuple[Made, ...]:
    """Generate n different items of a split with `make(label, rng)`; the labels take turns, in a random order within each turn."""
    if split not in (None, "train", "test"):
        raise InputError(
            f"There is no split {split!r}.",
            "Items are drawn for train, for test, or from all.",
            "Give one of them, or None.",
        )
    rng, found, turn = Random(seed), dict[Made, None](), list[str]()
    while len(found) < n:
        turn = turn or rng.sample(labels, len(labels))
        label = turn.pop()
        made = (make(label, rng) for _ in range(TRIES))
        item = next((item for item in made if item not in found and split in (None, split_of(item[0]))), None)
        if item is None:
            raise InputError(
                f"{n:,} different items were asked for.",
                f"After {len(found):,} the grammar finds no new one.",
                "Ask for fewer.",
            )
        found[item] = None
    return tuple(found)


# --- growing and writing


def grow(symbol: str, rng: Random) -> list[tuple[str, str]]:
    """Expand a symbol of the grammar by random rules until only words are left, and return (word, tag) pairs."""
    found: list[tuple[str, str]] = []
    for part in rng.choice(RULES[symbol]).split():
        if part in RULES:
            found += grow(part, rng)
        else:
            found.append((part, "PUNCT" if part in ",." else symbol.split(".")[0]))
    return found


def _finished(words: Sequence[str]) -> list[str]:
    """Return the words with "a" turned into "an" before a vowel, and with a capital at the start."""
    right = [
        "an" if word == "a" and after[0] in "aeiou" else word
        for word, after in zip(words, [*words[1:], "."], strict=True)
    ]
    return [right[0][0].upper() + right[0][1:], *right[1:]]


def _joined(words: Sequence[str]) -> str:
    return re.sub(r" ([,.?])", r"\1", " ".join(words))


def _sentence(text: str) -> str:
    return _joined(_finished(text.split()))


def _opinion(label: str, rng: Random) -> Labelled:
    return Labelled(_joined(_finished([word for word, _ in grow(f"OPINION.{label}", rng)])), label)


def _tagged(symbol: str, rng: Random) -> Tagged:
    words, tags = zip(*grow(symbol, rng), strict=True)
    right = tuple(_finished(words))
    return Tagged(_joined(right), right, tags)


# --- pairs


def _quantified(label: str, rng: Random) -> tuple[str, str]:
    """Return a premise and a hypothesis with "a" or "no" before nouns of different width: "a small dog" implies "an
    animal", "no animal" implies "no dog".
    """
    kind = rng.choice(sorted(lexicon.BEINGS))
    noun = rng.choice(lexicon.BEINGS[kind])
    names = (f"{rng.choice(lexicon.MANNERS)} {noun}", noun, kind)  # from narrow to wide
    narrow, wide = sorted(rng.choices(range(3), k=2))
    does = f"{rng.choice(lexicon.DOINGS)} {rng.choice(lexicon.WHENS)} ."
    some, none = (lambda i: f"a {names[i]} {does}"), (lambda i: f"no {names[i]} {does}")
    if label != "contradiction":  # the same name would say the same again, or the contrary
        narrow, wide = rng.choice(((0, 1), (0, 2), (1, 2)))
    first, second = {
        "entailment": [(some(narrow), some(wide)), (none(wide), none(narrow))],
        "contradiction": [(some(narrow), none(wide)), (none(wide), some(narrow))],
        "neutral": [
            (some(wide), some(narrow)),
            (none(narrow), none(wide)),
            (some(wide), none(narrow)),
            (none(narrow), some(wide)),
        ],
    }[label][rng.randrange(4 if label == "neutral" else 2)]
    return _sentence(first), _sentence(second)


def _compared(label: str, rng: Random) -> tuple[str, str]:
    """Return a premise and a hypothesis with comparatives: "taller" implies the reverse "shorter", and leaves age open."""
    (more, less), (other, _) = (rng.sample(pair, 2) for pair in rng.sample(lexicon.COMPARED, 2))
    a, b = rng.sample(sorted(NAMES), 2)
    second = {
        "entailment": [f"{b} is {less} than {a} ."],
        "contradiction": [f"{b} is {more} than {a} .", f"{a} is {less} than {b} ."],
        "neutral": [f"{a} is {other} than {b} .", f"{b} is {other} than {a} ."],
    }[label]
    return _sentence(f"{a} is {rng.choice(lexicon.DEGREES)} {more} than {b} ."), _sentence(rng.choice(second))


def _ordered(label: str, rng: Random) -> tuple[str, str]:
    """Return a premise and a hypothesis with "before" and "after": two events of the premise may be named in the other order, a third is left open."""
    name = rng.choice(sorted(NAMES))
    early, late, third = rng.sample(lexicon.ACTS, 3)

    def sentence(earlier: str, later: str) -> str:
        order = (earlier, "before", later) if rng.random() < 0.5 else (later, "after", earlier)
        return _sentence(f"{name} {order[0]} {order[1]} {NAMES[name]} {order[2]} .")

    first = sentence(early, late)
    if label == "entailment":
        return first, next(text for text in iter(lambda: sentence(early, late), "") if text != first)
    return first, sentence(late, early) if label == "contradiction" else sentence(
        *rng.choice(((early, third), (third, late), (third, early), (late, third)))
    )


def _counted(label: str, rng: Random) -> tuple[str, str]:
    """Return a premise with an exact number and a hypothesis with "more than" or "fewer than" another; the number of red ones is left open."""
    name, what = rng.choice(sorted(NAMES)), rng.choice(COUNTED)
    n, bound = rng.sample(range(len(NUMBERS)), 2)
    right, wrong = ("more", "fewer") if n > bound else ("fewer", "more")
    said = {"entailment": right, "contradiction": wrong}
    if label == "neutral":
        said, what_then = (
            {"neutral": rng.choice((right, wrong))},
            rng.choice([other for other in COUNTED if other != what]),
        )
        if n > bound and rng.random() < 0.5:
            what_then = f"{rng.choice(COLORS)} {what}"
    else:
        what_then = what
    return _sentence(f"{name} has exactly {NUMBERS[n]} {what} ."), _sentence(
        f"{name} has {said[label]} than {NUMBERS[bound]} {what_then} ."
    )


FAMILIES = (_quantified, _compared, _ordered, _counted)


# --- questions


def _question(kind: str, rng: Random) -> Question:
    """Generate a passage of three facts and a question of this kind about one. Often all three share the deed or the
    thing, so that one word is not enough to find the answer.
    """
    people, colors = rng.sample(sorted(NAMES), 3), rng.sample(COLORS, 3)
    places, days = rng.sample(lexicon.PLACES, 3), rng.sample(lexicon.DAYS, 3)
    deeds = (
        [rng.choice(sorted(lexicon.DEEDS))] * 3
        if rng.random() < 0.5
        else rng.sample(sorted(lexicon.DEEDS), 3)
    )
    things = [rng.choice(OBJECTS)] * 3 if rng.random() < 0.5 else rng.sample(OBJECTS, 3)
    facts = []
    for who, deed, color, thing, where, when in zip(people, deeds, colors, things, places, days, strict=True):
        what = f"a {color} {thing}"
        order = rng.choice(
            ((who, deed, what, where, when), (when, who, deed, what, where), (where, who, deed, what, when))
        )
        facts.append(_sentence(" ".join((*order, "."))))
    passage, told = " ".join(facts), rng.randrange(3)
    who, color, thing, where, when = people[told], colors[told], things[told], places[told], days[told]
    base, the = lexicon.DEEDS[deeds[told]], f"the {color} {thing}"
    question, answer = {
        "who": (f"Who {deeds[told]} {the} ?", who),
        "what": (f"What did {who} {base} {rng.choice((where, when))} ?", f"a {color} {thing}"),
        "where": (f"Where did {who} {base} {the} ?", where),
        "when": (f"When did {who} {base} {the} ?", when),
        "color": (
            f"What color was the {thing} that {who} {deeds[told]} {rng.choice((where, when))} ?",
            color,
        ),
    }[kind]
    start = passage.lower().index(answer.lower())  # at the head of a fact it has a capital
    return Question(passage, _sentence(question), start, start + len(answer), kind)
