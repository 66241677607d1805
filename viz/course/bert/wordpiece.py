"""WordPiece: a word is split from the left, each time by the longest piece in the vocabulary.

A piece that continues a word begins with ##. Where no piece fits, the whole word is [UNK] (Wu et al. 2016; Devlin et al. 2019).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tokenizers import normalizers, pre_tokenizers

from core.errors import InputError

UNKNOWN, ON, FIRST, BETWEEN = "[UNK]", "##", "[CLS]", "[SEP]"
LONGEST_WORD = 100
"""Length of the longest word that is split, in letters."""
MOST_PIECES, LONGEST_PIECE = 120, 24
DOCUMENTS = "my dog is cute he likes play ##ing"
"""The pieces of the sources' example."""
OTHER = "my dog is he like ##s play ##ing"
"""Another choice of as many pieces: one word is split in two, and for one the letters are missing."""
EXAMPLE = ("my dog is cute", "he likes playing")


@dataclass(frozen=True)
class Try:
    """One lookup in the vocabulary: the letters [start, end) of the word as `piece`, and whether it is in the vocabulary."""

    start: int
    end: int
    piece: str
    in_vocabulary: bool


@dataclass(frozen=True)
class Row:
    """BERT's input for two texts: tokens, the text of each (0, 1), its position."""

    tokens: tuple[str, ...]
    segments: tuple[int, ...]

    @property
    def positions(self) -> tuple[int, ...]:
        """Return 0, 1, 2, .. through both texts."""
        return tuple(range(len(self.tokens)))


def vocabulary(line: str) -> tuple[str, ...]:
    """Return the pieces that a visitor typed, each once, in order, in lower case.

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
    """Return every letter of these words, as a beginning and as a continuation: with them no word is unknown.

    >>> letters_of(["ab"])
    ('a', '##a', 'b', '##b')
    """
    return tuple(piece for letter in sorted(set("".join(words))) for piece in (letter, ON + letter))


def tries(word: str, pieces: Collection[str]) -> tuple[Try, ...]:
    """Return every lookup in the vocabulary, in order: from each position the longest piece first, one letter shorter each
    time.

    >>> [(one.piece, one.in_vocabulary) for one in tries("toy", {"to", "##y"})]
    [('toy', False), ('to', True), ('##y', True)]
    """
    made: list[Try] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = (ON if start else "") + word[start:end]
            made.append(Try(start, end, piece, piece in pieces))
            if made[-1].in_vocabulary:
                break
        if not made[-1].in_vocabulary:
            break
        start = made[-1].end
    return tuple(made)


def cut(word: str, pieces: Collection[str]) -> tuple[str, ...]:
    """Return the pieces of one word; [UNK] for all of it where a part has none.

    >>> cut("playing", {"play", "##ing"}), cut("played", {"play", "##ing"})
    (('play', '##ing'), ('[UNK]',))
    """
    if len(word) > LONGEST_WORD:
        return (UNKNOWN,)
    made = tries(word, pieces)
    return (
        tuple(one.piece for one in made if one.in_vocabulary)
        if made and made[-1].in_vocabulary
        else (UNKNOWN,)
    )


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text before they are split into pieces: lower case, no accents, each punctuation mark by itself.

    >>> words("My DOG café!")
    ('my', 'dog', 'cafe', '!')
    """
    plain = normalizers.BertNormalizer(lowercase=True).normalize_str(text)  # pyright: ignore
    return tuple(word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(plain))  # pyright: ignore


def split(text: str, pieces: Collection[str]) -> tuple[str, ...]:
    """Return the pieces of a text.

    >>> split("My dog playing", vocabulary(DOCUMENTS))
    ('my', 'dog', 'play', '##ing')
    """
    return tuple(piece for word in words(text) for piece in cut(word, pieces))


def framed(first: Sequence[str], second: Sequence[str] = ()) -> Row:
    """Return [CLS] first [SEP] second [SEP]; the first text with its special tokens is segment 0, the second 1.

    >>> row = framed(("my", "dog"), ("it",))
    >>> row.tokens, row.segments
    (('[CLS]', 'my', 'dog', '[SEP]', 'it', '[SEP]'), (0, 0, 0, 0, 1, 1))
    """
    a = (FIRST, *first, BETWEEN)
    b = (*second, BETWEEN) if second else ()
    return Row((*a, *b), (0,) * len(a) + (1,) * len(b))
