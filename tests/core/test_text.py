"""Text to tokens and back: nothing is lost, every token knows its place, words hold every token once."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import core
from core.errors import InputError
from core.text import Tokenizer, words_of
from core.text.learn import learn_byte_level_bpe
from core.text.tokenizer import LONGEST

LINES = [
    "The cat sat on the mat, and the cat didn't move.",
    "It's a well-known story: 12 cats, 3 dogs.",
    "El niño está aquí.",
] * 3
SPECIAL = ("<pad>", "<start>", "<end>", "<|endoftext|>")
FAMILY = "\U0001f469‍\U0001f469‍\U0001f467"  # woman, woman, girl joined: five characters, one picture


def tokenizer(prefix_space: bool, mask: int | None = None) -> Tokenizer:
    backend = learn_byte_level_bpe(LINES, 340, SPECIAL, prefix_space=prefix_space)
    return Tokenizer(backend, pad=0, start=1, end=2, mask=mask)


PLAIN, PREFIXED = tokenizer(False), tokenizer(True)
BOTH = pytest.mark.parametrize("tok", [PLAIN, PREFIXED], ids=["plain", "prefix_space"])
PIECES = [
    "cat",
    " ",
    "  ",
    "\n",
    "\t",
    "'s",
    "é",
    "é",
    "ñ",
    "🎉",
    FAMILY,
    "🏳️‍🌈",
    "中",
    "\x00",
    "\u00a0",
    "\u2028",
    "<end>",
    "didn't",
    "-",
    "12",
    "’",
]
texts = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
awkward = [
    example(text=text)
    for text in (
        "",
        " ",
        "  a  b ",
        "\x00",
        FAMILY,
        "a\n\nb",
        " \u00a0x",
        "e\u0301 ñ",
        "\u200d",
        "<end>a<end>",
    )
]


def hard(test):
    for one in awkward:
        test = one(test)
    return test


@hard
@given(text=texts)
def test_a_text_comes_back_exactly(text):
    assert PLAIN.decode(PLAIN.encode(text).ids) == text


@hard
@given(text=texts)
def test_with_prefix_space_a_text_comes_back_but_for_one_space_at_its_head(text):
    assert PREFIXED.decode(PREFIXED.encode(text).ids) == text.removeprefix(" ")


@BOTH
@hard
@given(text=texts)
def test_every_character_is_covered_or_declared_lost(tok, text):
    encoded = tok.encode(text)
    covered = {place for span in encoded.spans if span for place in range(*span)}
    lost = {place for span in encoded.uncovered for place in range(*span)}
    assert covered.isdisjoint(lost)
    assert {place for place, char in enumerate(text) if not char.isspace()} <= covered | lost
    assert not lost  # bytes stand for everything


@BOTH
@hard
@given(text=texts)
def test_spans_lie_in_the_text_and_go_forward(tok, text):
    encoded = tok.encode(text)
    assert len(encoded.ids) == len(encoded.tokens) == len(encoded.spans)
    placed = [span for span in encoded.spans if span is not None]
    assert all(0 <= start < end <= len(text) for start, end in placed)
    assert placed == sorted(placed)
    added = [token for token, span in zip(encoded.tokens, encoded.spans, strict=True) if span is None]
    assert added in ([], [" "])
    assert not added or (
        tok is PREFIXED and encoded.spans[0] is None
    )  # the space at the head that nobody typed


@BOTH
@hard
@given(text=texts)
def test_a_token_stands_where_its_letters_stand(tok, text):
    """A token that is text is found at its span; only white space may be trimmed from it."""
    encoded = tok.encode(text)
    for token, span in zip(encoded.tokens, encoded.spans, strict=True):
        if not token.startswith("‹") and token.strip():
            assert text[slice(*span)].strip() == token.strip()


@BOTH
def test_the_pieces_of_one_character_share_its_span(tok):
    text = f"a🎉b 中{FAMILY}é"
    encoded = tok.encode(text)
    for place, char in enumerate(text):
        if len(char.encode()) > 1:
            pieces = [i for i, span in enumerate(encoded.spans) if span and place in range(*span)]
            assert all(
                encoded.spans[i] == (place, place + 1) for i in pieces if encoded.tokens[i].startswith("‹")
            )
            assert tok.decode([encoded.ids[i] for i in pieces]).strip() == char
    broken = [
        span for token, span in zip(encoded.tokens, encoded.spans, strict=True) if token.startswith("‹")
    ]
    assert broken.count((1, 2)) == 4  # the four bytes of the party popper


@BOTH
@hard
@given(text=texts)
def test_a_token_of_white_space_stands_on_white_space(tok, text):
    encoded = tok.encode(text)
    for token, span in zip(encoded.tokens, encoded.spans, strict=True):
        if not token.strip() and span is not None:
            assert not text[slice(*span)].strip()


@BOTH
@hard
@given(text=texts)
def test_words_hold_every_token_once_and_in_order(tok, text):
    encoded = tok.encode(text)
    words = words_of(text, encoded.tokens, encoded.spans)
    assert [piece for word in words for piece in word.pieces] == list(range(len(encoded.ids)))
    assert all(word.pieces for word in words)
    for word in words:  # a word is one of the text, or a token by itself
        assert word.text in text or word.text == encoded.tokens[word.pieces[0]]


@BOTH
@hard
@given(text=texts)
def test_written_tokens_stay_as_they_were_and_cover_the_text(tok, text):
    ids = tok.encode(text).ids
    back, encoded = tok.decode_with_spans(ids)
    assert (back, encoded.ids) == (tok.decode(ids), ids)
    assert encoded.tokens == tok.encode(text).tokens
    assert all(0 <= start <= end <= len(back) for start, end in encoded.spans)
    if ids:
        covered = {place for span in encoded.spans for place in range(*span)}
        assert {place for place, char in enumerate(back) if not char.isspace()} <= covered
        assert [piece for word in words_of(back, encoded.tokens, encoded.spans) for piece in word.pieces] == [
            *range(len(ids))
        ]


def test_written_pieces_need_not_be_those_that_encode_would_choose():
    ids = [PLAIN.encode(char).ids[0] for char in "cat"]
    back, encoded = PLAIN.decode_with_spans(ids)
    assert back == "cat"
    assert encoded.spans == ((0, 1), (1, 2), (2, 3))
    assert PLAIN.encode("cat").ids != encoded.ids


def test_words_are_what_people_read():
    text = "The cat didn't see 12 well-known dogs."
    encoded = PLAIN.encode(text)
    shown = [word.text for word in words_of(text, encoded.tokens, encoded.spans) if word.text.strip()]
    assert shown == ["The", "cat", "didn't", "see", "12", "well-known", "dogs", "."]
    assert len(encoded.ids) > len(shown)  # some of them were in pieces


@BOTH
@pytest.mark.parametrize(
    "text", ["< b > < i >", "* * so * *", "<b>bold</b>", "مرحبا بالعالم", "我有一辆", "?"]
)
def test_no_word_is_a_space_that_nobody_typed(tok, text):
    """A tokenizer sets a space before a text; where the first sign is a token of its own, the space is one as well."""
    encoded = tok.encode(text)
    shown = [word.text for word in words_of(text, encoded.tokens, encoded.spans)]
    assert all(word.strip() for word in shown) and "".join(shown) == "".join(text.split())


def test_an_added_token_is_a_word_by_itself():
    encoded = PREFIXED.encode("The cat")
    words = words_of("The cat", ("START", *encoded.tokens), (None, *encoded.spans))
    assert [(word.text, word.pieces[0]) for word in words] == [
        ("START", 0),
        ("The", 1),
        ("cat", words[2].pieces[0]),
    ]


def test_equal_words_side_by_side_stay_two():
    encoded = PLAIN.encode("cat cat")
    assert [word.text for word in words_of("cat cat", encoded.tokens, encoded.spans)] == ["cat", "cat"]


@BOTH
@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_name_typed_is_letters_unless_asked_for(tok, name):
    index = tok.special_tokens[name]
    text = f"the {name} cat"
    letters, special = tok.encode(text), tok.encode(text, special=True)
    assert index not in letters.ids
    assert tok.decode(letters.ids) == text
    assert special.ids.count(index) == 1
    place = special.ids.index(index)
    assert special.tokens[place] == name
    assert text[slice(*special.spans[place])].strip() == name
    assert name not in tok.decode(special.ids)
    assert name in tok.decode(special.ids, keep_special=True)
    assert tok.typed_special(text) == [name]
    assert tok.typed_special("the cat") == []


def test_a_name_that_is_meant_to_be_typed_is_read_as_the_token():
    tok = tokenizer(False, mask=0)
    assert 0 in tok.encode("the <pad> cat").ids
    assert 2 not in tok.encode("the <end> cat").ids
    both = tok.encode("the <pad> cat <end><pad>")
    assert both.ids.count(0) == 2 and 2 not in both.ids  # a name beside it is letters all the same
    assert "".join(both.tokens) == "the <pad> cat <end><pad>"
    assert 0 not in tokenizer(False).encode("the <pad> cat").ids


@pytest.mark.parametrize(("text", "place"), [("\ud83d", 1), ("ab\udc00c", 3), ("🎉\ud83c\udf89", 2)])
def test_half_a_surrogate_pair_is_named(text, place):
    with pytest.raises(InputError, match=f"Character {place} is half"):
        PLAIN.encode(text)


@BOTH
def test_empty_text_has_no_token(tok):
    assert tok.encode("").ids == ()
    assert words_of("", (), ()) == []
    assert tok.decode(()) == ""


def test_bytes_that_are_no_character_are_shown_as_bytes():
    tokens = PLAIN.encode("中").tokens
    assert tokens == ("‹E4›", "‹B8›", "‹AD›")
    assert PLAIN.token(10**6) == f"‹{10**6}›"


def test_ids_count_from_the_special_tokens():
    assert [PLAIN.special_tokens[name] for name in SPECIAL] == [0, 1, 2, 3]
    assert max(PLAIN.encode("".join(LINES)).ids) < len(PLAIN)


def test_a_tokenizer_survives_saving(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(PREFIXED.to_json(), encoding="utf-8")
    again = Tokenizer.from_file(path, pad=0, start=1, end=2)
    assert again.encode("The cat’s ñ 🎉") == PREFIXED.encode("The cat’s ñ 🎉")
    assert (again.start, again.end, again.pad) == (1, 2, 0)


@pytest.mark.quick(2)
@BOTH
@pytest.mark.parametrize(
    "text",
    ["the cat sat " * 1667, "a" * LONGEST, " " * LONGEST, "🎉" * LONGEST],
    ids=["words", "a", "space", "emoji"],
)
def test_the_longest_text_is_read_fast_and_a_longer_one_refused(tok, text):
    text = text[:LONGEST]
    begun = time.process_time()  # what others do on the machine is not the question
    encoded = tok.encode(text)
    words = words_of(text, encoded.tokens, encoded.spans)
    seconds = time.process_time() - begun
    assert sum(len(word.pieces) for word in words) == len(encoded.ids)
    assert seconds < 1.2, f"{seconds:.1f} s"
    with pytest.raises(InputError, match="20,001 letters. At most 20,000 are read") as caught:
        tok.encode(text + "a")
    assert caught.value.remedy


def test_a_token_over_several_signs_is_named_by_all_of_them():
    words = words_of('a [MASK]."', ["a", "[MASK]", '."'], [(0, 1), (2, 8), (8, 10)])
    assert [(word.text, word.pieces) for word in words] == [("a", (0,)), ("[MASK]", (1,)), ('."', (2,))]


def test_models_of_the_same_tokens_have_one_tokenizer():
    translators = [core.open_model(name).tokenizer for name in ("rnn-en-es", "translator-en-es")]
    assert translators[0] is translators[1] is not core.open_model("gpt-mini").tokenizer
