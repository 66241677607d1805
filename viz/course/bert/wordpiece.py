"""WordPiece: a word is cut from the left, each time by the longest piece that the vocabulary holds.

A piece that goes on a word begins with ##. Where no piece fits, the whole word is [UNK] (Wu et al. 2016; Devlin et al. 2019).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tokenizers import normalizers, pre_tokenizers

from core.errors import InputError

UNKNOWN, ON, FIRST, BETWEEN = "[UNK]", "##", "[CLS]", "[SEP]"
LONGEST_WORD = 100
"""A longer word is not cut at all."""
MOST_PIECES, LONGEST_PIECE = 120, 24
DOCUMENTS = "my dog is cute he likes play ##ing"
"""The pieces of the documents' example."""
OTHER = "my dog is he like ##s play ##ing"
"""As many pieces, chosen otherwise: one word falls in two, and for one the letters are missing."""
EXAMPLE = ("my dog is cute", "he likes playing")


@dataclass(frozen=True)
class Try:
    """One look into the vocabulary: the letters [start, end) of the word as `piece`, and whether it is there."""

    start: int
    end: int
    piece: str
    found: bool


@dataclass(frozen=True)
class Row:
    """What BERT reads of two texts: tokens, the text each belongs to (0, 1), its place."""

    tokens: tuple[str, ...]
    segments: tuple[int, ...]

    @property
    def positions(self) -> tuple[int, ...]:
        """0, 1, 2, .. through both texts."""
        return tuple(range(len(self.tokens)))


def vocabulary(line: str) -> tuple[str, ...]:
    """The pieces that a visitor typed, each once, in order, in lower case.

    Raises InputError for too many pieces, or one that is too long.

    >>> vocabulary("Play ##ing play")
    ('play', '##ing')
    """
    found = tuple(dict.fromkeys(line.lower().split()))
    if len(found) > MOST_PIECES:
        raise InputError(
            f"The vocabulary has {len(found)} tokens.",
            f"Here it has at most {MOST_PIECES}.",
            "Take some out.",
        )
    for piece in found:
        if len(piece) > LONGEST_PIECE:
            raise InputError(
                f"The token {piece[:LONGEST_PIECE]}… has {len(piece)} letters.",
                f"A token has at most {LONGEST_PIECE}.",
                "Shorten it.",
            )
    return found


def letters_of(words: Collection[str]) -> tuple[str, ...]:
    """Every letter of these words, as a beginning and as a continuation: with them nothing is unknown.

    >>> letters_of(["ab"])
    ('a', '##a', 'b', '##b')
    """
    return tuple(piece for letter in sorted(set("".join(words))) for piece in (letter, ON + letter))


def tries(word: str, known: Collection[str]) -> tuple[Try, ...]:
    """Every look into the vocabulary, in order: from each place the longest piece first, one letter shorter each time.

    >>> [(one.piece, one.found) for one in tries("toy", {"to", "##y"})]
    [('toy', False), ('to', True), ('##y', True)]
    """
    made: list[Try] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = (ON if start else "") + word[start:end]
            made.append(Try(start, end, piece, piece in known))
            if made[-1].found:
                break
        if not made[-1].found:
            break
        start = made[-1].end
    return tuple(made)


def cut(word: str, known: Collection[str]) -> tuple[str, ...]:
    """The pieces of one word; [UNK] for all of it where some part has none.

    >>> cut("playing", {"play", "##ing"}), cut("played", {"play", "##ing"})
    (('play', '##ing'), ('[UNK]',))
    """
    if len(word) > LONGEST_WORD:
        return (UNKNOWN,)
    made = tries(word, known)
    return tuple(one.piece for one in made if one.found) if made and made[-1].found else (UNKNOWN,)


def words(text: str) -> tuple[str, ...]:
    """The words as BERT cuts a text before the pieces: lower case, no accents, each sign by itself.

    >>> words("He LIKES café!")
    ('he', 'likes', 'cafe', '!')
    """
    plain = normalizers.BertNormalizer(lowercase=True).normalize_str(text)  # pyright: ignore
    return tuple(word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(plain))  # pyright: ignore


def split(text: str, known: Collection[str]) -> tuple[str, ...]:
    """The pieces of a text.

    >>> split("He likes playing", vocabulary(DOCUMENTS))
    ('he', 'likes', 'play', '##ing')
    """
    return tuple(piece for word in words(text) for piece in cut(word, known))


def framed(first: Sequence[str], second: Sequence[str] = ()) -> Row:
    """[CLS] first [SEP] second [SEP]; the first text with its marks is segment 0, the second 1.

    >>> row = framed(("my", "dog"), ("he",))
    >>> row.tokens, row.segments
    (('[CLS]', 'my', 'dog', '[SEP]', 'he', '[SEP]'), (0, 0, 0, 0, 1, 1))
    """
    a = (FIRST, *first, BETWEEN)
    b = (*second, BETWEEN) if second else ()
    return Row((*a, *b), (0,) * len(a) + (1,) * len(b))
