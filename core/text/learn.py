"""Learning of tokenizers from text, with the `tokenizers` library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def learn_byte_level_bpe(
    lines: Iterable[str], n_vocab: int, special: Sequence[str], *, prefix_space: bool = False
) -> tokenizers.Tokenizer:
    """Learn byte-pair encoding over bytes (Sennrich et al. 2016; GPT-2's split into words, numbers and punctuation).

    `special` come first and get the ids 0, 1, .. With `prefix_space` the first word of a text is encoded as any other
    word is, which suits sentences; without, every text is decoded to itself exactly.
    """
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)  # pyright: ignore
    backend.decoder = decoders.ByteLevel()  # pyright: ignore
    backend.post_processor = processors.ByteLevel(trim_offsets=True)  # pyright: ignore
    trainer = trainers.BpeTrainer(
        vocab_size=n_vocab,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(lines, trainer)
    return backend


def learn_wordpiece(lines: Iterable[str], n_vocab: int, *, n_letters: int = 1000) -> tokenizers.Tokenizer:
    """Learn BERT's WordPiece tokens, of words in lower case without accents; `##ing` continues a word.

    [PAD] [UNK] [CLS] [SEP] [MASK] get the ids 0 to 4. Of the letters the `n_letters` most frequent are kept; a word
    with another one is [UNK]. Pieces are joined by frequency, as the library (not the paper of 2012) does it.
    The same lines always give the same ids: the library alone numbers the `##` letters in an order of chance.
    """
    backend = _bert_rules(
        models.WordPiece({name: index for index, name in enumerate(BERT_SPECIAL)}, unk_token="[UNK]")
    )
    words = _words(backend, lines, n_letters)
    within = sorted({f"##{letter}" for word in words for letter in word[1:]})
    pupil = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pupil.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # pyright: ignore
    trainer = trainers.WordPieceTrainer(
        vocab_size=n_vocab, special_tokens=[*BERT_SPECIAL, *within], show_progress=False
    )
    pupil.train_from_iterator((" ".join([word] * count) for word, count in sorted(words.items())), trainer)
    backend = _bert_rules(models.WordPiece(pupil.get_vocab(with_added_tokens=True), unk_token="[UNK]"))
    backend.add_special_tokens(list(BERT_SPECIAL))
    return add_frame(backend, "[CLS]", "[SEP]")


def learn_word_list(lines: Iterable[str], n_vocab: int, *, first: Sequence[str] = ()) -> tokenizers.Tokenizer:
    """Learn a vocabulary of the most frequent words in lower case, without accents; every other word is [UNK], id 0.

    Words are cut as BERT cuts them, numbers and punctuation by themselves; the more frequent has the smaller id. Those of
    `first` have the ids 1, 2, .. however often they occur.

    >>> learn_word_list(["The cat sat.", "The cat?"], 3).encode("A cat, the cat!").ids
    [0, 1, 0, 2, 1, 0]
    """
    backend = _bert_rules(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    counts = _words(backend, lines, n_letters=1000)
    more = sorted(counts.keys() - {*first}, key=lambda word: (-counts[word], word))
    kept = ("[UNK]", *first, *more)[:n_vocab]
    backend = _bert_rules(
        models.WordLevel({word: index for index, word in enumerate(kept)}, unk_token="[UNK]")
    )
    backend.add_special_tokens(["[UNK]"])
    return backend


def character_tokenizer(
    signs: str,
    special: Sequence[str],
    *,
    words: Sequence[str] = (),
    ends_word: str = ":",
    unknown: str = "<unk>",
) -> tokenizers.Tokenizer:
    """Return a tokenizer in which each symbol is a token. White space separates tokens and is none itself, unless a space is one of the symbols.

    `special` come first and get the ids 0, 1, ..; one of them is `unknown`, the token of every other symbol. A word
    of `words` is one token where `ends_word` follows it.

    >>> character_tokenizer("abcopy:", ("<unk>",), words=("copy",)).encode("copy: a copy?").tokens
    ['copy', ':', 'a', 'c', 'o', 'p', 'y', '<unk>']
    >>> character_tokenizer("ab ", ("<unk>",)).encode("a b").tokens
    ['a', ' ', 'b']
    """
    vocab = {name: index for index, name in enumerate((*special, *words, *signs))}
    backend = tokenizers.Tokenizer(models.WordLevel(vocab, unk_token=unknown))
    pieces = "|".join([*(f"{word}(?={ends_word})" for word in words), "." if " " in signs else r"\S"])
    backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(pieces), "removed", invert=True)  # pyright: ignore
    backend.decoder = decoders.Fuse()  # pyright: ignore
    backend.add_special_tokens(list(special))
    return backend


def word_list_tokenizer(
    words: Sequence[str], special: Sequence[str], *, unknown: str = "<unk>"
) -> tokenizers.Tokenizer:
    """Return a tokenizer with each of these words as a token, separated by white space. Ids follow the order given, `special` first.

    >>> word_list_tokenizer(("a", "cat", "."), ("<unk>",)).encode("a red cat .").ids
    [1, 0, 2, 3]
    """
    vocab = {name: index for index, name in enumerate((*special, *words))}
    backend = tokenizers.Tokenizer(models.WordLevel(vocab, unk_token=unknown))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # pyright: ignore
    backend.add_special_tokens(list(special))
    return backend


def add_frame(backend: tokenizers.Tokenizer, start: str, end: str) -> tokenizers.Tokenizer:
    """Set the tokenizer to add START a END, or START a END b END for a pair, where a caller asks for special tokens; return it."""
    ids = [(name, index) for name in (start, end) if (index := backend.token_to_id(name)) is not None]
    single = f"{start}:0 $A:0 {end}:0"
    backend.post_processor = processors.TemplateProcessing(
        single=single, pair=f"{single} $B:1 {end}:1", special_tokens=ids
    )  # pyright: ignore
    return backend


def _bert_rules(model: models.WordPiece | models.WordLevel) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)  # pyright: ignore
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)  # pyright: ignore
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # pyright: ignore
    backend.decoder = decoders.WordPiece(prefix="##")  # pyright: ignore
    return backend


def _words(backend: tokenizers.Tokenizer, lines: Iterable[str], n_letters: int) -> Counter[str]:
    """Count the words of the lines; words with a letter that is not among the `n_letters` most frequent are left out."""
    rules, cut = backend.normalizer, backend.pre_tokenizer
    words: Counter[str] = Counter()
    for line in lines:
        words.update(word for word, _ in cut.pre_tokenize_str(rules.normalize_str(line)))  # pyright: ignore
    letters: Counter[str] = Counter()
    for word, count in words.items():
        letters.update({letter: count * word.count(letter) for letter in set(word)})
    kept = set(sorted(letters, key=lambda letter: (-letters[letter], letter))[:n_letters])
    return Counter({word: count for word, count in words.items() if kept.issuperset(word)})
