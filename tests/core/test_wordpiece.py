"""BERT's pieces of words: what lower case, accents and unknown characters leave of a text, and where it stood."""

import subprocess
import sys
import time

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from core.errors import InputError
from core.text import Tokenizer, words_of
from core.text.learn import BERT_SPECIAL, learn_wordpiece
from core.text.tokenizer import LONGEST

LINES = [
    "The cat sat on the mat, and the cat didn't move.",
    "It's a well-known story: 12 cats, 3 dogs; walking, talking, sitting.",
    "El niño está aquí, im Straßencafé.",
] * 3
BACKEND = learn_wordpiece(LINES, 110)
TOK = Tokenizer(BACKEND, pad=0, start=2, end=3, mask=4)
FAMILY = "\U0001f469‍\U0001f469‍\U0001f467"
PIECES = [
    "cat",
    "Cat",
    "WALKING",
    " ",
    "\n",
    "'s",
    "é",
    "e\u0301",
    "\u0301",
    "İ",
    "ẞ",
    "ﬁ",
    "🎉",
    FAMILY,
    "中",
    "日本",
    "한국",
    "\x00",
    "\u00a0",
    "\u200d",
    "[SEP]",
    "[mask]",
    "didn't",
    "-",
    "12",
    "’",
]
texts = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


def hard(test):
    for text in (
        "",
        " ",
        "  a  b ",
        "\x00",
        FAMILY,
        "İİ",
        "\u0301a",
        "e\u0301\u0301 ñ",
        "한",
        "中a中",
        "[UNK]",
        "a\u0378b",
    ):
        test = example(text=text)(test)
    return given(text=texts)(test)


def plain(text):
    return BACKEND.normalizer.normalize_str(text)


@hard
def test_spans_lie_in_the_text_and_go_forward(text):
    encoded = TOK.encode(text)
    assert len(encoded.ids) == len(encoded.tokens) == len(encoded.spans)
    assert all(0 <= start < end <= len(text) for start, end in encoded.spans)
    assert list(encoded.spans) == sorted(encoded.spans)


@hard
def test_a_token_stands_where_its_letters_stand(text):
    """The letters at its span, made plain, hold the piece; [UNK] stands for letters that are there."""
    encoded = TOK.encode(text)
    for token, span in zip(encoded.tokens, encoded.spans, strict=True):
        here = plain(text[slice(*span)]).strip()
        assert here if token == "[UNK]" else token.removeprefix("##") in here


@hard
def test_a_character_is_covered_or_lost_and_only_those_without_a_letter_are_lost(text):
    encoded = TOK.encode(text)
    covered = {place for span in encoded.spans for place in range(*span)}
    lost = {place for span in encoded.uncovered for place in range(*span)}
    assert covered.isdisjoint(lost)
    assert {place for place, char in enumerate(text) if not char.isspace()} <= covered | lost
    assert not "".join(plain(text[place]) for place in sorted(lost)).strip()


@hard
def test_only_the_case_and_the_accents_of_known_letters_are_lost(text):
    encoded = TOK.encode(text)
    if "[UNK]" not in encoded.tokens:
        assert "".join(TOK.decode(encoded.ids).split()) == "".join(plain(text).split())


@hard
def test_words_hold_every_token_once_and_in_order(text):
    encoded = TOK.encode(text)
    words = words_of(text, encoded.tokens, encoded.spans)
    assert [piece for word in words for piece in word.pieces] == list(range(len(encoded.ids)))


@hard
def test_case_changes_no_token(text):
    if "MASK" not in text.upper() and plain(text.upper()) == plain(text):
        assert TOK.encode(text.upper()).ids == TOK.encode(text).ids


def test_pieces_of_a_word_are_shown_with_their_marks_and_joined():
    text = "The Catsitting"
    encoded = TOK.encode(text)
    assert encoded.tokens[0] == "the"
    assert len(encoded.tokens) > 2
    assert all(token.startswith("##") for token in encoded.tokens[2:])
    assert TOK.decode(encoded.ids) == "the catsitting"
    assert [word.text for word in words_of(text, encoded.tokens, encoded.spans)] == ["The", "Catsitting"]


def test_an_unknown_word_is_one_token_that_stands_for_all_of_it():
    encoded = TOK.encode("the cat🎉s sat")
    assert encoded.tokens == ("the", "[UNK]", *TOK.encode("sat").tokens)
    assert encoded.spans[1] == (4, 9)
    assert encoded.uncovered == ()


@pytest.mark.parametrize("accented", ["Niño", "Nin\u0303o"])
def test_accents_are_taken_off_and_spans_stay_in_the_text_as_typed(accented):
    encoded = TOK.encode(f"el {accented} sat")
    assert encoded.ids == TOK.encode("el nino sat").ids
    last = encoded.spans[-len(TOK.encode("sat").ids) :]
    assert (last[0][0], last[-1][1]) == (len(f"el {accented} "), len(f"el {accented} sat"))


def test_a_typed_mask_is_the_token_and_other_names_are_letters():
    encoded = TOK.encode("The cat sat on the [MASK].")
    place = encoded.ids.index(4)
    assert (encoded.tokens[place], encoded.spans[place]) == ("[MASK]", (19, 25))
    assert "[MASK]" not in TOK.decode(encoded.ids)
    assert "[MASK]" in TOK.decode(encoded.ids, keep_special=True)
    letters = TOK.encode("The [SEP] cat [mask]")
    assert {3, 4}.isdisjoint(letters.ids)
    beside = TOK.encode("[MASK] and [SEP]").ids
    assert beside[0] == 4 and 3 not in beside, "the blank, and the letters of a separator's name"
    assert TOK.encode("[MASK] and [SEP]", special=True).ids[0] == 4
    assert TOK.typed_special("a [MASK] and [SEP]") == ["[SEP]", "[MASK]"]


def test_ids_count_from_the_marks_and_pairs_are_framed():
    assert list(TOK.special_tokens.items()) == [(name, index) for index, name in enumerate(BERT_SPECIAL)]
    assert len(TOK) == 110
    assert sorted(BACKEND.get_vocab().values()) == list(range(110))
    both = BACKEND.encode("the cat", "the mat")
    assert (both.tokens[0], both.tokens[3], both.tokens[-1]) == ("[CLS]", "[SEP]", "[SEP]")
    assert both.type_ids == [0] * 4 + [1] * (len(both.ids) - 4)


def test_rare_letters_are_left_out():
    few = learn_wordpiece(["aaa bbb aaa bbb ab zebra"] * 2, 30, n_letters=2)
    assert few.encode("ab zebra", add_special_tokens=False).tokens[-1] == "[UNK]"
    assert not any("z" in piece for piece in few.get_vocab())


def test_the_same_lines_give_the_same_ids_in_every_process():
    code = (
        f"from core.text.learn import learn_wordpiece; print(ascii(learn_wordpiece({LINES!r}, 110).to_str()))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ascii(BACKEND.to_str())


def test_it_survives_saving_here_and_in_the_library(tmp_path):
    from transformers import PreTrainedTokenizerFast

    path = tmp_path / "tokenizer.json"
    BACKEND.save(str(path))
    assert tokenizers.Tokenizer.from_file(str(path)).to_str() == BACKEND.to_str()
    again = Tokenizer.from_file(path, pad=0, start=2, end=3, mask=4)
    other = PreTrainedTokenizerFast(tokenizer_file=str(path), mask_token="[MASK]", pad_token="[PAD]")
    for text in ("The cat [MASK] 🎉", "El niño"):
        assert again.encode(text) == TOK.encode(text)
        assert other(text)["input_ids"] == [2, *TOK.encode(text).ids, 3]


@pytest.mark.parametrize(
    "text", ["the cat sat " * 1667, "a" * LONGEST, "🎉 " * (LONGEST // 2)], ids=["words", "a", "emoji"]
)
def test_the_longest_text_is_read_fast_and_a_longer_one_refused(text):
    text = text[:LONGEST]
    begun = time.process_time()
    encoded = TOK.encode(text)
    words = words_of(text, encoded.tokens, encoded.spans)
    seconds = time.process_time() - begun
    assert sum(len(word.pieces) for word in words) == len(encoded.ids)
    assert seconds < 1.2, f"{seconds:.1f} s"
    with pytest.raises(InputError, match="20,001 letters. At most 20,000 are read") as caught:
        TOK.encode(text + "a")
    assert caught.value.remedy
