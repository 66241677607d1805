"""Names of tokens and the text of them: added tokens, bytes, marks of templates, letters that rules replace."""

from functools import cache

import numpy as np
import pytest
import tokenizers
from bytewise import PIECES, byte_of, fallback, tiny_llama
from tokenizers import Regex, models, normalizers, pre_tokenizers, processors

import core
from core.decoding.prompt import continuation
from core.errors import InputError
from core.run.external_attention import ExternalAttention
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe, learn_wordpiece
from core.text.words import word_spans, words_in, words_of

LINES = ["a cafe and a car, abc def", "1 2 3 <num>"] * 3


def with_added(*names: str, special: tuple[str, ...] = ("<|endoftext|>",)) -> Tokenizer:
    backend = learn_byte_level_bpe(LINES, 300, special)
    backend.add_tokens(list(names))
    return Tokenizer(backend)


@pytest.mark.parametrize("name", ["café", "đem", "Öl", "ÿ", "Ġx", "naïve", "日本", "plain", "▁a"])
def test_an_added_token_is_text(name):
    tokenizer = with_added("café", "đem", "Öl", "ÿ", "Ġx", "naïve", "日本", "plain", "▁a")
    text = f"a {name} and é{name}"
    encoded = tokenizer.encode(text)
    assert encoded.tokens.count(name) == 2
    assert tokenizer.decode(encoded.ids) == text
    assert tokenizer.decode_with_spans(encoded.ids)[0] == text


def test_a_special_token_is_no_text_but_where_it_is_asked_for():
    tokenizer = with_added(special=("<|endoftext|>", "<fin é>"))
    ids = tokenizer.encode("a<fin é> car", special=True).ids
    assert tokenizer.decode(ids) == "a car"
    assert tokenizer.decode(ids, keep_special=True) == "a<fin é> car"


@pytest.mark.parametrize(
    ("tokens", "names"),
    [
        (["un", "ĠcafÃ©", ",", "ĠaÃ±o"], ["un", " café", ",", " año"]),
        (["<s>", "ĠÑĤ", "ÐµÑģÑĤ", "</s>"], ["<s>", " т", "ест", "</s>"]),
        (["a", "Ċ", "ĉ", "Ã"], ["a", "\n", "\t", "‹C3›"]),
        (["ĠæĹ¥æľ¬", "Ġx"], [" 日本", " x"]),
        (["año", "señor", "café"], ["año", "señor", "café"]),
        (["▁año", "▁señor"], [" año", " señor"]),
        (["Ġa", "日本"], [" a", "日本"]),
    ],
)
def test_tokens_of_other_programs_are_read_as_letters(tokens, names):
    n = len(tokens)
    given = ExternalAttention(np.full((1, 1, n, n), 1 / n), tokens)
    assert list(given.attention().keys) == names


@pytest.mark.parametrize(
    ("byte", "name"),
    [(0x66, "f"), (0x0A, "\n"), (0xD5, "‹D5›"), (0x20, " "), (0x3C, "<"), (0x80, "‹80›"), (0x09, "\t")],
)
def test_a_byte_token_is_its_letter_or_its_number(byte, name):
    assert fallback().token(byte_of(byte)) == name


def test_letters_that_spell_a_byte_are_letters_where_no_byte_is_a_token():
    backend = learn_byte_level_bpe(LINES, 300, ["<|endoftext|>"])
    backend.add_tokens(["<0x41>"])
    assert Tokenizer(backend).encode("a <0x41>").tokens[-1] == "<0x41>"


WORDS = {"<s>": 0, "</s>": 1, "<pad>": 2, "A": 3, "C": 4, "G": 5, "T": 6, "N": 7}


def letters(processor) -> Tokenizer:
    backend = tokenizers.Tokenizer(models.WordLevel(WORDS, unk_token="<none>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    if processor is not None:
        backend.post_processor = processor
    backend.add_special_tokens(["<s>", "</s>", "<pad>"])
    return Tokenizer(backend)


TEMPLATE = processors.TemplateProcessing
IDS = [("<s>", 0), ("</s>", 1)]


@pytest.mark.parametrize(
    ("processor", "around"),
    [
        (TEMPLATE(single="<s> $A", special_tokens=IDS), ((0,), ())),
        (TEMPLATE(single="$A </s>", special_tokens=IDS), ((), (1,))),
        (TEMPLATE(single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=IDS), ((0,), (1,))),
        (TEMPLATE(single="<s> <s> $A", special_tokens=IDS), ((0, 0), ())),
        (processors.RobertaProcessing(("</s>", 1), ("<s>", 0)), ((0,), (1,))),
        (processors.BertProcessing(("</s>", 1), ("<s>", 0)), ((0,), (1,))),
        (
            processors.Sequence([processors.ByteLevel(), TEMPLATE(single="<s> $A", special_tokens=IDS)]),
            ((0,), ()),
        ),
        (
            processors.Sequence(
                [
                    TEMPLATE(single="<s> $A", special_tokens=IDS),
                    TEMPLATE(single="$A </s>", special_tokens=IDS),
                ]
            ),
            ((0,), ()),  # the library keeps the first of two templates
        ),
        (processors.ByteLevel(), ((), ())),
    ],
)
def test_the_marks_of_a_template_are_those_around_a_text(processor, around):
    tokenizer = letters(processor)
    assert tokenizer.frame_ids == around
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    assert (
        list(tokenizer.with_special(tokenizer.encode("ACGT"), with_end=True).ids)
        == library.encode("ACGT").ids
    )


def spaced(backend: tokenizers.Tokenizer) -> Tokenizer:
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=True)]
    )
    return Tokenizer(backend)


def test_the_space_before_a_text_is_nobodys_within_a_row_of_rules_too():
    tokenizer = spaced(learn_byte_level_bpe(LINES, 300, ["<|endoftext|>"]))
    encoded = tokenizer.encode("car and a car")
    assert tokenizer.decode(encoded.ids) == "car and a car"
    assert encoded.tokens[0].startswith(" ")


@pytest.mark.parametrize("name", ["<dev>", "<x>", "@", "é", "<a b>"])
@pytest.mark.parametrize("special", [True, False])
def test_a_token_behind_an_added_one_stands_where_it_begins(name, special):
    backend = learn_byte_level_bpe(LINES, 300, ["<|endoftext|>"], prefix_space=True)
    (backend.add_special_tokens if special else backend.add_tokens)([name])
    text = f"{name}car, and a{name}car"
    encoded = Tokenizer(backend).encode(text, special=True)
    assert not encoded.uncovered
    for token, span in zip(encoded.tokens, encoded.spans, strict=True):
        assert span is None or text[slice(*span)].strip() == token.strip()


@pytest.mark.parametrize(
    ("pattern", "content", "text", "covered"),
    [
        (r"\d+", "N", "a 123 C", "123"),
        (r"[a-z]+", "T", "ACG tagc A", "tagc"),
        (r"x+", "G", "xxxx", "xxxx"),
        (r"\.\.\.", "C", "A ... T", "..."),
        (r"[0-9]{2}", "N", "12 A", "12"),
    ],
)
def test_a_replaced_letter_is_not_lost(pattern, content, text, covered):
    backend = tokenizers.Tokenizer(models.WordLevel(WORDS | {" ": 8, "a": 9}, unk_token="<none>"))
    backend.normalizer = normalizers.Replace(Regex(pattern), content)
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    encoded = Tokenizer(backend).encode(text)
    places = [text[slice(*span)] for span in encoded.spans if span]
    assert covered in places
    assert not encoded.uncovered


@pytest.mark.parametrize("text", ["\x00car", "a \x00Café", "car\x00", "\x00\x00CAR and"])
def test_what_no_token_stands_for_is_lost(text):
    encoded = Tokenizer(learn_wordpiece(LINES, 300)).encode(text)
    assert "".join(text[slice(*span)] for span in encoded.uncovered) == "\x00" * text.count("\x00")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("The king", [(1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (7, 8)]),
        ("a é", [(0, 1)]),
        ("éß the", [(3, 5), (5, 6)]),
        ("t1h\U0001f642 e", [(0, 3), (5, 6)]),
        ("the", [(0, 2), (2, 3)]),
    ],
)
def test_what_a_vocabulary_drops_moves_no_token_from_its_letters(text, places):
    """Letters without a space, bytes or an unknown token: the library counts on as if the others were not there."""
    vocabulary = {piece: index for index, piece in enumerate([*"abcdefghijklmnopqrstuvwxyz", "th"])}
    encoded = Tokenizer(tokenizers.Tokenizer(models.BPE(vocabulary, [("t", "h")]))).encode(text)
    assert list(encoded.spans) == places


A = byte_of(255) + 1 + PIECES.index("▁a")


@cache
def run_of(text):
    return tiny_llama().run(text, keep=[])


@pytest.mark.parametrize(
    ("ids", "text", "pending"),
    [
        ((A,), " a", b""),
        ((byte_of(0x0A),), "\n", b""),
        ((byte_of(0xD5),), "", b"\xd5"),
        ((byte_of(0xD5), byte_of(0x8D)), "\u054d", b""),
        ((byte_of(0x66), A), "f a", b""),
        ((byte_of(0xF0), byte_of(0x9F), byte_of(0x8E)), "", b"\xf0\x9f\x8e"),
        ((A, byte_of(0xC3)), " a", b"\xc3"),
        ((byte_of(0xD5), byte_of(0x8D), byte_of(0xD5)), "\u054d", b"\xd5"),
        ((3,), "", b""),
        ((2,), "", b""),
        ((0, A), " a", b""),
    ],
)
@pytest.mark.parametrize("before", ["an a", "é", "a"])
def test_a_continuation_is_the_text_of_tokens_not_their_names(before, ids, text, pending):
    assert continuation(run_of(before), ids) == (text, pending)


@pytest.mark.parametrize("text", ["hello", "ACGX", "A C", "我", "acgt"])
def test_a_word_outside_a_vocabulary_without_unknown_token_is_refused_in_words(text):
    with pytest.raises(InputError, match="not in the model's vocabulary"):
        letters(None).encode(text)


# ---------------- Words of texts in all scripts, from the tokens of several kinds of tokenizers.


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


def spelled(text):
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
    found = [word.text for word in words_of(text, *spelled(text))]
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
