"""Words of texts in all scripts, from the tokens of several kinds of tokenizers."""

import pytest

import core
from core.text.words import word_spans, words_in, words_of

JOINED = [
    ("cafe\u0301 olé", ["cafe\u0301", "olé"]),
    ("a\u0301\u0323 z\u0308", ["a\u0301\u0323", "z\u0308"]),
    ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
    ("বাংলা ভাষা।", ["বাংলা", "ভাষা", "।"]),
    ("العَرَبِيَّةُ لغةٌ", ["العَرَبِيَّةُ", "لغةٌ"]),
    ("می\u200cروم خانه", ["می\u200cروم", "خانه"]),
    ("צה״ל שָׁלוֹם", ["צה״ל", "שָׁלוֹם"]),
    ("한국어를 배워요", ["한국어를", "배워요"]),
    ("Việt Nam tiê\u0301ng", ["Việt", "Nam", "tiê\u0301ng"]),
    ("I ❤️ you", ["I", "❤️", "you"]),
    ("1️⃣ 👍🏽 👩‍👩‍👧", ["1️⃣", "👍🏽", "👩‍👩‍👧"]),
    ("🇪🇸🇫🇷 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏳️‍🌈", ["🇪🇸", "🇫🇷", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏳️‍🌈"]),
    ("Donau\u00addampf", ["Donau\u00addampf"]),
    ("in\u2011law well-known twenty‐one", ["in\u2011law", "well-known", "twenty‐one"]),
    ("col·lega U.S.A. e.g. x", ["col·lega", "U.S.A", ".", "e.g", ".", "x"]),
    ("3.14 1,000.50 4.", ["3.14", "1,000.50", "4", "."]),
    ("don't l’été rock’n’roll 90's", ["don't", "l’été", "rock’n’roll", "90's"]),
    ("a:b 12:30, x", ["a", ":", "b", "12", ":", "30", ",", "x"]),
    ("我有一辆。", ["我", "有", "一", "辆", "。"]),
    ("東京-大阪 カタカナ", ["東", "京", "-", "大", "阪", "カタカナ"]),
    ("a_b __ \u200b\n", ["a_b", "__", "\u200b"]),
]


@pytest.mark.parametrize(("text", "words"), JOINED)
def test_words_are_those_of_unicode(text, words):
    assert words_in(text) == words
    assert [text[begin:end] for begin, end in word_spans(text)] == words


@pytest.mark.parametrize(
    ("model", "text", "words"),
    [
        ("gpt-mini", "हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("gpt-mini", "The cafe\u0301 was", ["The", "cafe\u0301", "was"]),
        ("gpt-mini", "I ❤️ you", ["I", "❤️", "you"]),
        ("gpt-mini", "She paid 1,000.50 there", ["She", "paid", "1,000.50", "there"]),
        ("gpt-mini", "🇪🇸 and 👩‍👩‍👧 ran", ["🇪🇸", "and", "👩‍👩‍👧", "ran"]),
        ("gpt-mini", "ACGTTGCAACGTGGCATTAC", None),
    ],
)
def test_byte_tokens_join_to_words_of_every_script(model, text, words):
    run = core.open_model(model).run(text, keep=["*.pattern"])
    found = [word.text for word in run.side.words]
    assert found == words if words else len(found) > 5
    assert sorted(piece for word in run.side.words for piece in word.pieces) == list(range(len(run.ids)))


def test_a_chinese_sentence_has_a_word_for_each_token():
    run = core.open_model("bert-mini").run("我有一辆白色的汽车。我很高兴", keep=["*.pattern"])
    assert len(run.side.words) == len(run.tokens) == 16
    assert run.attention("self", by="word").weights.shape[-2:] == (16, 16)


def letters(text):
    return [letter for letter in text if letter != " "], [
        (place, place + 1) for place, letter in enumerate(text) if letter != " "
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ACGT", ["A", "C", "G", "T"]),
        ("ACGTTGCA.", [*"ACGTTGCA."]),
        ("MKTAYIAKQRQISFVK GG", [*"MKTAYIAKQRQISFVK", "GG"]),
        ("CCOCCNCCOCCNCCOCCNCCOCCN and CCOCCNCCOCCNCCOCCNCCOCCN", None),
        ("A cat sat", ["A", "cat", "sat"]),
        ("Hi", ["Hi"]),
        ("Constantinople is an old city of the east", None),
    ],
)
def test_a_word_that_holds_most_tokens_is_shown_by_its_tokens(text, words):
    found = [word.text for word in words_of(text, *letters(text))]
    if words is None:
        words = text.split() if "city" in text else [*text.replace("and", "").replace(" ", "")]
        found = [word for word in found if word != "and"]
    assert found == words


@pytest.mark.parametrize(
    ("tokens", "spans", "words"),
    [
        (["A", " ", "[MASK]", "."], [(0, 1), (1, 2), (2, 8), (8, 9)], ["A", "[MASK]", "."]),
        (["A", "[MASK]", "."], [(0, 1), (1, 8), (8, 9)], ["A", "[MASK]", "."]),
        (["A", " ", "[MA", "SK]."], [(0, 1), (1, 2), (2, 5), (5, 9)], ["A", "[MASK]."]),
        (["A [", "MASK", "]."], [(0, 3), (3, 7), (7, 9)], ["A [", "MASK", "]."]),
        (["A [M", "ASK", "]", "."], [(0, 4), (4, 7), (7, 8), (8, 9)], ["A [MASK", "]", "."]),
    ],
)
def test_a_token_over_several_words_is_named_by_its_whole_text(tokens, spans, words):
    assert [word.text for word in words_of("A [MASK].", tokens, spans)] == words


def test_every_flag_of_a_long_row_is_a_word():
    assert len(word_spans("🇪🇸" * 10_000)) == 10_000  # the library alone takes a quarter of a minute for these
