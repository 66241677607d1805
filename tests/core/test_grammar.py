"""The grammar's labels against worlds counted out one by one; its draws balanced, repeatable, without doubles."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import permutations, product

import pytest
from deep import deep
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from core.data import grammar, lexicon
from core.data.grammar import pairs, questions, sentences, tagged_sentences
from core.text.words import words_in

DRAWS = (sentences, pairs, questions, tagged_sentences)
SEEDS = st.integers(0, 2**32)


def strings(item):
    if isinstance(item, grammar.Pair):
        return (item.first, item.second)
    return (item.question, item.passage) if isinstance(item, grammar.Question) else (item.text,)


@cache
def draw_items(draw, n):
    return draw(n, seed=11)


@pytest.mark.parametrize(("draw", "n"), deep(product(DRAWS, (2_000, 5_000)), lambda case: case[1] == 2_000))
def test_thousands_are_all_different_and_as_many_of_each_label(draw, n):
    items = draw_items(draw, n)
    assert len({strings(item) for item in items}) == len(items) == n
    labels = Counter(getattr(item, "label", getattr(item, "kind", None)) for item in items)
    assert max(labels.values()) - min(labels.values()) <= 1
    assert set(labels) in ({None}, set(grammar.OPINIONS), set(grammar.RELATIONS), set(grammar.QUESTION_KINDS))


@pytest.mark.parametrize("draw", DRAWS)
def test_train_and_test_share_nothing(draw):
    train, test = draw(600, seed=5, split="train"), draw(150, seed=5, split="test")
    assert not {item[0] for item in train} & {item[0] for item in test}
    share = sum(grammar.split_of(item[0]) == "test" for item in draw_items(draw, 2_000)) / 2_000
    assert 0.15 < share < 0.25


@pytest.mark.parametrize("draw", DRAWS)
@settings(max_examples=8)
@given(seed=SEEDS, n=st.integers(0, 20))
def test_the_same_seed_gives_the_same_items_and_more_of_them_begin_alike(draw, seed, n):
    items = draw(23, seed)
    assert draw(n, seed) == items[:n]
    assert items != draw(23, seed + 1)


@pytest.mark.parametrize("draw", DRAWS)
def test_the_english_is_written_right(draw):
    for item in draw_items(draw, 2_000)[:1_000]:
        for text in strings(item):
            assert re.fullmatch(r"([A-Z][\w' ,]*[.?] ?)+(?<! )", text), text
            assert not re.search(r"\ba [aeiou]|\ban [^aeiou]| [,.?]|  |[A-Z]\.sg|[A-Z]{2}", text), text


def test_an_impossible_draw_is_said(monkeypatch):
    monkeypatch.setattr(grammar, "TRIES", 5)
    monkeypatch.setitem(grammar.RULES, "S", ("ADV.only .",))
    monkeypatch.setitem(grammar.RULES, "ADV.only", ("there", "again"))
    assert {item.text for item in tagged_sentences(2, 0)} == {"There.", "Again."}
    with pytest.raises(core.InputError, match="3 different .* After 2 the grammar"):
        tagged_sentences(3, 0)
    with pytest.raises(core.InputError, match="no split 'valid'"):
        tagged_sentences(1, 0, split="valid")


# --- opinions

GOOD, BAD = ({word for kind in lexicon.CLASSES.values() for word in kind[place].split()} for place in (3, 4))
TURNS = re.compile(r"\b(not (?!change|last)|did not last|far from|Nobody)")


def opinion(text: str) -> str:
    """The last word of praise or blame, turned round where something turns it."""
    said = [word for word in words_in(text) if word in GOOD | BAD]
    turned = bool(TURNS.search(text))
    assert len(said) in (1, 2) and not (turned and len(said) == 2), text
    return "good" if (said[-1] in GOOD) != turned else "bad"


@given(SEEDS)
def test_an_opinion_follows_from_the_words_and_what_turns_them(seed):
    for item in sentences(20, seed):
        assert opinion(item.text) == item.label, item.text


@pytest.mark.slow
def test_no_single_word_gives_an_opinion_away():
    """A reader that adds up words does no better than chance: each stands as often in good sentences as in bad ones."""
    seen = {
        label: Counter(
            word
            for item in sentences(6_000, 3)
            if item.label == label
            for word in set(words_in(item.text.lower()))
        )
        for label in grammar.OPINIONS
    }
    for word in {*seen["good"], *seen["bad"]}:
        good, bad = seen["good"][word], seen["bad"][word]
        assert abs(good - bad) < 4.5 * (good + bad) ** 0.5, word
    assert {"not", "nobody", "far"} < set(seen["good"]) and set(seen["bad"]) >= GOOD | BAD


@pytest.mark.parametrize("kind", lexicon.CLASSES.values())
def test_words_of_a_class_fit_together(kind):
    one, many, more, good, bad = kind
    assert len(one.split()) == len(many.split()) and len(good.split()) == len(bad.split()) and more
    assert not set(good.split()) & set(bad.split())


# --- pairs: every world in which the first sentence is true


def relation(first: str, second: str) -> str:
    for solver in (quantified, compared, counted, ordered):
        truths = solver(first, second)
        if truths is not None:
            assert truths, (first, second)
            return "entailment" if all(truths) else "neutral" if any(truths) else "contradiction"
    raise AssertionError(first)


KIND = {noun: kind for kind, nouns in lexicon.BEINGS.items() for noun in nouns}


def quantified(first, second):
    """Three sorts of beings: the one with the quality, others of its noun, others of its kind; each there or not."""
    told = [
        re.fullmatch(
            rf"(An?|No) ((?:{'|'.join(lexicon.MANNERS)}) )?(\w+) ((?:{'|'.join(lexicon.DOINGS)}) .*)\.", text
        )
        for text in (first, second)
    ]
    if told[0] is None:
        return None
    assert told[1] and told[0][4] == told[1][4] and len({KIND.get(m[3], m[3]) for m in told}) == 1
    assert len({m[3] for m in told if m[3] in KIND}) <= 1 and len({m[2] for m in told if m[2]}) <= 1

    def holds(m, world):
        reach = world[:1] if m[2] else world[:2] if m[3] in KIND else world
        return any(reach) == (m[1] != "No")

    worlds = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    return [holds(told[1], world) for world in worlds if holds(told[0], world)]


def compared(first, second):
    """Two people stand in one of two orders in each respect."""
    told = [
        re.fullmatch(r"(\w+) is (?:much |a little )?(\w+) than (\w+)\.", text) for text in (first, second)
    ]
    if told[0] is None:
        return None
    a, b = told[0][1], told[0][3]
    assert told[1] and {told[1][1], told[1][3]} == {a, b} and a != b

    def holds(m, world):
        respect = next(i for i, pair in enumerate(lexicon.COMPARED) if m[2] in pair)
        return (m[1] == world[respect]) == (m[2] == lexicon.COMPARED[respect][0])

    worlds = [
        tuple((a, b)[n >> i & 1] for i in range(len(lexicon.COMPARED)))
        for n in range(2 ** len(lexicon.COMPARED))
    ]
    return [holds(told[1], world) for world in worlds if holds(told[0], world)]


def counted(first, second):
    """So many things, of which any number may have the color; any number of other things."""
    one = re.fullmatch(r"(\w+) has exactly (\w+) (\w+)\.", first)
    if one is None:
        return None
    two = re.fullmatch(
        rf"(\w+) has (more|fewer) than (\w+) ((?:{'|'.join(lexicon.COLORS)}) )?(\w+)\.", second
    )
    assert two and one[1] == two[1]
    n, bound = (lexicon.NUMBERS.index(m) + 2 for m in (one[2], two[3]))
    has = [n] if two[5] == one[3] and not two[4] else range(n + 1) if two[5] == one[3] else range(20)
    return [count > bound if two[2] == "more" else count < bound for count in has]


def ordered(first, second):
    """Three acts in one of six orders."""
    told = [re.fullmatch(r"(\w+) (.*) (before|after) (he|she) (.*)\.", text) for text in (first, second)]
    assert told[0]
    assert told[1]
    assert told[0][1] == told[1][1]
    assert told[0][4] == told[1][4] == lexicon.NAMES[told[0][1]]
    acts = sorted({m[i] for m in told for i in (2, 5)})

    def holds(m, world):
        return (world.index(m[2]) < world.index(m[5])) == (m[3] == "before")

    return [holds(told[1], world) for world in permutations(acts) if holds(told[0], world)]


@given(SEEDS)
def test_the_relation_of_a_pair_is_what_the_worlds_say(seed):
    for item in pairs(30, seed):
        assert relation(item.first, item.second) == item.label, item
        assert item.first != item.second


def test_the_second_sentence_alone_tells_little():
    """In each family every frame of a second sentence comes with several labels."""
    frames = {}
    for item in pairs(3_000, 4):
        frame = "|".join(re.findall(r"^(?:An?|No)\b|\b(?:than|more|fewer|before|after)\b", item.second))
        frames.setdefault(frame, set()).add(item.label)
    assert len(frames) >= 6 and all(len(labels) == 3 for frame, labels in frames.items()), frames


# --- questions


@given(SEEDS)
def test_the_span_is_the_answer_and_the_only_one(seed):
    base = {plain: past for past, plain in lexicon.DEEDS.items()}
    kinds = {
        "who": set(lexicon.NAMES),
        "where": set(lexicon.PLACES),
        "when": set(lexicon.DAYS),
        "color": set(lexicon.COLORS),
    }
    for item in questions(15, seed):
        answer = item.passage[item.start : item.end]
        assert answer == item.answer and len(re.findall(rf"\b{answer}\b", item.passage, re.I)) == 1, item
        assert item.passage.lower().count(answer.lower()) == 1, item
        if item.kind in kinds:
            assert answer in kinds[item.kind] or answer[0].lower() + answer[1:] in kinds[item.kind]
        else:
            assert re.fullmatch(r"an? (\w+) (\w+)", answer)
        facts = re.findall(r"[^.]+\.", item.passage)
        told = {base.get(word, word) for word in words_in(item.question[0].lower() + item.question[1:])}
        told = {word for word in told if word.isalpha() and re.search(rf"\b{word}\b", item.passage, re.I)} - {
            "the",
            "a",
            "that",
        }
        fitting = [fact for fact in facts if all(re.search(rf"\b{word}\b", fact, re.I) for word in told)]
        assert len(facts) == 3 and len(fitting) == 1 and answer in fitting[0], item


# --- tags


@given(SEEDS)
def test_every_word_has_a_tag_and_numbers_agree(seed):
    many = set(f"{lexicon.WORDS['NOUN.pl']} {lexicon.WORDS['NOUN.things']}".split()) - {"fish"}
    one = set(
        f"{lexicon.WORDS['NOUN.sg']} {lexicon.WORDS['NOUN.thing']} {lexicon.WORDS['NOUN.place']}".split()
    ) - {"fish"}
    for item in tagged_sentences(20, seed):
        assert words_in(item.text) == list(item.words) and len(item.words) == len(item.tags)
        assert set(item.tags) <= set(grammar.TAGS) and item.tags[-1] == "PUNCT"
        wanted = None
        for word, tag in zip(item.words, item.tags, strict=True):
            if tag in ("DET", "NUM"):
                wanted = (
                    one
                    if word.lower() in ("a", "an", "this", "that")
                    else many
                    if tag == "NUM" or word.lower() in ("these", "those", "some")
                    else None
                )
            elif tag == "NOUN":
                assert (
                    wanted is None
                    or word in wanted
                    or word in lexicon.WORDS["NOUN.event"].split()
                    or word == "fish"
                ), item.text
                wanted = None


def test_some_words_need_their_neighbors_for_a_tag():
    found = {}
    for item in tagged_sentences(2_000, 1):
        for word, tag in zip(item.words, item.tags, strict=True):
            found.setdefault(word.lower(), set()).add(tag)
    assert set().union(*found.values()) == set(grammar.TAGS)
    assert {word for word, tags in found.items() if len(tags) > 1} >= {
        "that",
        "her",
        "watch",
        "cook",
        "play",
        "can",
        "walk",
        "fish",
        "dance",
        "light",
    }


def test_no_word_is_also_a_symbol_of_the_grammar():
    for symbol, rules in grammar.RULES.items():
        for part in (part for rule in rules for part in rule.split()):
            assert part in grammar.RULES or (not re.search(r"[A-Z]{2}|\w\.\w", part)), (symbol, part)
    assert all("." in symbol or symbol.isupper() for symbol in grammar.RULES)
