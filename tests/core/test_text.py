"""Text to tokens and back, in bytes and in BERT's pieces: nothing is lost, every token knows its place, words hold every token once."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

import core
from core.errors import InputError
from core.text import Tokenizer, words_of
from core.text.learn import BERT_SPECIAL, learn_byte_level_bpe, learn_wordpiece
from core.text.tokenizer import LONGEST

LINES = [
    "The cat sat on the mat, and the cat didn't move.",
    "It's a well-known story: 12 cats, 3 dogs; walking, talking, sitting.",
    "El niño está aquí, im Straßencafé.",
] * 3
SPECIAL = ("<pad>", "<start>", "<end>", "<|endoftext|>")
FAMILY = "\U0001f469‍\U0001f469‍\U0001f467"  # woman, woman, girl joined: five characters, one picture


def tokenizer(prefix_space: bool, mask: int | None = None) -> Tokenizer:
    backend = learn_byte_level_bpe(LINES, 340, SPECIAL, prefix_space=prefix_space)
    return Tokenizer(backend, pad=0, start=1, end=2, mask=mask)


BACKEND = learn_wordpiece(LINES, 110)
PLAIN, PREFIXED = tokenizer(False), tokenizer(True)
PIECED = Tokenizer(BACKEND, pad=0, start=2, end=3, mask=4)
BOTH = pytest.mark.parametrize("tok", [PLAIN, PREFIXED], ids=["plain", "prefix_space"])
ALL = pytest.mark.parametrize("tok", [PLAIN, PREFIXED, PIECED], ids=["plain", "prefix_space", "pieces"])
PARTS = [
    *(
        "cat",
        "Cat",
        "WALKING",
        "'s",
        "é",
        "e\u0301",
        "ñ",
        "İ",
        "ẞ",
        "ﬁ",
        "🎉",
        "🏳️\u200d🌈",
        "中",
        "日本",
        "한국",
    ),
    *("<end>", "[SEP]", "[mask]", "didn't", "-", "12", "’"),
    *(" ", "  ", "\n", "\t", FAMILY, "\x00", "\u00a0", "\u2028", "\u200d", "\u0301"),
]
texts = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
AWKWARD = (
    *("", " ", "  a  b ", "\x00", FAMILY, "a\n\nb", " \u00a0x", "e\u0301 ñ", "\u200d", "<end>a<end>"),
    *("İİ", "\u0301a", "e\u0301\u0301 ñ", "한", "中a中", "[UNK]", "a\u0378b"),
)


def hard(test):
    for text in AWKWARD:
        test = example(text=text)(test)
    return given(text=texts)(test)


def bare(text):
    """What a tokenizer of pieces reads of a text."""
    return BACKEND.normalizer.normalize_str(text)


@hard
def test_a_text_comes_back_exactly_but_for_one_space_at_its_head(text):
    assert PLAIN.decode(PLAIN.encode(text).ids) == text
    assert PREFIXED.decode(PREFIXED.encode(text).ids) == text.removeprefix(" ")


@hard
def test_of_pieces_only_the_case_and_the_accents_of_known_letters_are_lost(text):
    encoded = PIECED.encode(text)
    if "[UNK]" not in encoded.tokens:
        assert "".join(PIECED.decode(encoded.ids).split()) == "".join(bare(text).split())
    if "MASK" not in text.upper() and bare(text.upper()) == bare(text):
        assert PIECED.encode(text.upper()).ids == encoded.ids


@ALL
@hard
def test_every_character_is_covered_or_declared_lost(tok, text):
    encoded = tok.encode(text)
    covered = {place for span in encoded.spans if span for place in range(*span)}
    lost = {place for span in encoded.uncovered for place in range(*span)}
    assert covered.isdisjoint(lost)
    assert {place for place, char in enumerate(text) if not char.isspace()} <= covered | lost
    if tok is PIECED:
        assert not "".join(bare(text[place]) for place in sorted(lost)).strip()
    else:
        assert not lost  # bytes stand for everything


@ALL
@hard
def test_spans_lie_in_the_text_and_go_forward(tok, text):
    encoded = tok.encode(text)
    assert len(encoded.ids) == len(encoded.tokens) == len(encoded.spans)
    placed = [span for span in encoded.spans if span is not None]
    assert all(0 <= start < end <= len(text) for start, end in placed)
    assert placed == sorted(placed)
    added = [token for token, span in zip(encoded.tokens, encoded.spans, strict=True) if span is None]
    assert not added or (
        tok is PREFIXED and added == [" "] and encoded.spans[0] is None
    )  # the space at the head that nobody typed


@ALL
@hard
def test_a_token_stands_where_its_letters_stand(tok, text):
    """Only white space may be trimmed from it; [UNK] stands for letters that are there."""
    encoded = tok.encode(text)
    for token, span in zip(encoded.tokens, encoded.spans, strict=True):
        if tok is PIECED:
            here = bare(text[slice(*span)]).strip()
            assert here if token == "[UNK]" else token.removeprefix("##") in here
        elif not token.startswith("‹") and span is not None:
            assert text[slice(*span)].strip() == token.strip()


@BOTH
def test_the_pieces_of_one_character_share_its_span(tok):
    text = f"a🎉b 中{FAMILY}é"
    encoded = tok.encode(text)
    for place, char in enumerate(text):
        if len(char.encode()) > 1:
            pieces = [i for i, span in enumerate(encoded.spans) if span and place in range(*span)]
            parts = [i for i in pieces if encoded.tokens[i].startswith("‹")]
            assert all(encoded.spans[i] == (place, place + 1) for i in parts)
            assert tok.decode([encoded.ids[i] for i in pieces]).strip() == char
    spans = zip(encoded.tokens, encoded.spans, strict=True)
    broken = [span for token, span in spans if token.startswith("‹")]
    assert broken.count((1, 2)) == 4  # the four bytes of the party popper


@ALL
@hard
def test_words_hold_every_token_once_and_in_order(tok, text):
    encoded = tok.encode(text)
    words = words_of(text, encoded.tokens, encoded.spans)
    assert [piece for word in words for piece in word.pieces] == list(range(len(encoded.ids)))
    assert all(word.pieces for word in words)
    for word in words:  # a word is one of the text, or a token by itself
        assert word.text in text or word.text == encoded.tokens[word.pieces[0]]


@BOTH
@hard
def test_written_tokens_stay_as_they_were_and_cover_the_text(tok, text):
    ids = tok.encode(text).ids
    back, encoded = tok.decode_with_spans(ids)
    assert (back, encoded.ids) == (tok.decode(ids), ids)
    assert encoded.tokens == tok.encode(text).tokens
    assert all(0 <= start <= end <= len(back) for start, end in encoded.spans)
    if ids:
        covered = {place for span in encoded.spans for place in range(*span)}
        assert {place for place, char in enumerate(back) if not char.isspace()} <= covered
        words = words_of(back, encoded.tokens, encoded.spans)
        assert [piece for word in words for piece in word.pieces] == [*range(len(ids))]


def test_written_pieces_need_not_be_those_that_encode_would_choose():
    ids = [PLAIN.encode(char).ids[0] for char in "cat"]
    back, encoded = PLAIN.decode_with_spans(ids)
    assert (back, encoded.spans) == ("cat", ((0, 1), (1, 2), (2, 3)))
    assert PLAIN.encode("cat").ids != encoded.ids


def words(tok, text):
    encoded = tok.encode(text)
    return [word.text for word in words_of(text, encoded.tokens, encoded.spans)]


def test_words_are_what_people_read():
    text = "The cat didn't see 12 well-known dogs."
    shown = [word for word in words(PLAIN, text) if word.strip()]
    assert shown == ["The", "cat", "didn't", "see", "12", "well-known", "dogs", "."]
    assert len(PLAIN.encode(text).ids) > len(shown)  # some of them were in pieces
    assert words(PLAIN, "cat cat") == ["cat", "cat"]


@BOTH
@pytest.mark.parametrize(
    "text", ["< b > < i >", "* * so * *", "<b>bold</b>", "مرحبا بالعالم", "我有一辆", "?"]
)
def test_no_word_is_a_space_that_nobody_typed(tok, text):
    """A tokenizer sets a space before a text; where the first sign is a token of its own, the space is one as well."""
    shown = words(tok, text)
    assert all(word.strip() for word in shown) and "".join(shown) == "".join(text.split())


def test_a_token_over_several_signs_is_named_by_all_of_them():
    found = words_of('a [MASK]."', ["a", "[MASK]", '."'], [(0, 1), (2, 8), (8, 10)])
    assert [(word.text, word.pieces) for word in found] == [("a", (0,)), ("[MASK]", (1,)), ('."', (2,))]


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
    assert 0 not in PLAIN.encode("the <pad> cat").ids


def test_a_typed_mask_is_the_token_and_other_names_are_letters():
    encoded = PIECED.encode("The cat sat on the [MASK].")
    place = encoded.ids.index(4)
    assert (encoded.tokens[place], encoded.spans[place]) == ("[MASK]", (19, 25))
    assert "[MASK]" not in PIECED.decode(encoded.ids)
    assert "[MASK]" in PIECED.decode(encoded.ids, keep_special=True)
    assert {3, 4}.isdisjoint(PIECED.encode("The [SEP] cat [mask]").ids)
    beside = PIECED.encode("[MASK] and [SEP]").ids
    assert beside[0] == 4 and 3 not in beside, "the blank, and the letters of a separator's name"
    assert PIECED.encode("[MASK] and [SEP]", special=True).ids[0] == 4
    assert PIECED.typed_special("a [MASK] and [SEP]") == ["[SEP]", "[MASK]"]


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
    assert PLAIN.encode("中").tokens == ("‹E4›", "‹B8›", "‹AD›")
    assert PLAIN.token(10**6) == f"‹{10**6}›"


def test_pieces_of_a_word_are_shown_with_their_marks_and_joined():
    encoded = PIECED.encode("The Catsitting")
    assert encoded.tokens[0] == "the" and len(encoded.tokens) > 2
    assert all(token.startswith("##") for token in encoded.tokens[2:])
    assert PIECED.decode(encoded.ids) == "the catsitting"
    assert words(PIECED, "The Catsitting") == ["The", "Catsitting"]


def test_an_unknown_word_is_one_token_that_stands_for_all_of_it():
    encoded = PIECED.encode("the cat🎉s sat")
    assert encoded.tokens == ("the", "[UNK]", *PIECED.encode("sat").tokens)
    assert encoded.spans[1] == (4, 9) and encoded.uncovered == ()


@pytest.mark.parametrize("accented", ["Niño", "Nin\u0303o"])
def test_accents_are_taken_off_and_spans_stay_in_the_text_as_typed(accented):
    encoded = PIECED.encode(f"el {accented} sat")
    assert encoded.ids == PIECED.encode("el nino sat").ids
    last = encoded.spans[-len(PIECED.encode("sat").ids) :]
    assert (last[0][0], last[-1][1]) == (len(f"el {accented} "), len(f"el {accented} sat"))


def test_ids_count_from_the_marks_and_pairs_are_framed():
    for tok, names, n in ((PLAIN, SPECIAL, len(PLAIN)), (PIECED, BERT_SPECIAL, 110)):
        assert [tok.special_tokens[name] for name in names] == [*range(len(names))] and len(tok) == n
    assert max(PLAIN.encode("".join(LINES)).ids) < len(PLAIN)
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


def test_a_tokenizer_survives_saving_here_and_in_the_library(tmp_path):
    from transformers import PreTrainedTokenizerFast

    path = tmp_path / "tokenizer.json"
    path.write_text(PREFIXED.to_json(), encoding="utf-8")
    again = Tokenizer.from_file(path, pad=0, start=1, end=2)
    assert again.encode("The cat’s ñ 🎉") == PREFIXED.encode("The cat’s ñ 🎉")
    assert (again.start, again.end, again.pad) == (1, 2, 0)
    BACKEND.save(str(path))
    assert tokenizers.Tokenizer.from_file(str(path)).to_str() == BACKEND.to_str()
    again = Tokenizer.from_file(path, pad=0, start=2, end=3, mask=4)
    other = PreTrainedTokenizerFast(tokenizer_file=str(path), mask_token="[MASK]", pad_token="[PAD]")
    for text in ("The cat [MASK] 🎉", "El niño"):
        assert again.encode(text) == PIECED.encode(text)
        assert other(text)["input_ids"] == [2, *PIECED.encode(text).ids, 3]


@pytest.mark.quick(3)
@ALL
@pytest.mark.parametrize(
    "text",
    ["the cat sat " * 1667, "a" * LONGEST, " " * LONGEST, "🎉" * LONGEST, "🎉 " * (LONGEST // 2)],
    ids=["words", "a", "space", "emoji", "emoji apart"],
)
def test_the_longest_text_is_read_fast_and_a_longer_one_refused(tok, text):
    text = text[:LONGEST]
    begun = time.process_time()  # what others do on the machine is not the question
    encoded = tok.encode(text)
    found = words_of(text, encoded.tokens, encoded.spans)
    seconds = time.process_time() - begun
    assert sum(len(word.pieces) for word in found) == len(encoded.ids)
    assert seconds < 1.2, f"{seconds:.1f} s"
    with pytest.raises(InputError, match="20,001 letters. At most 20,000 are read"):
        tok.encode(text + "a")


def test_models_of_the_same_tokens_have_one_tokenizer():
    translators = [core.open_model(name).tokenizer for name in ("rnn-en-es", "translator-en-es")]
    assert translators[0] is translators[1] is not core.open_model("gpt-mini").tokenizer
