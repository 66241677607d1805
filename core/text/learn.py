"""Learn a tokenizer from text, with the `tokenizers` library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers


def byte_level_bpe(lines: Iterable[str], n_vocab: int, special: Sequence[str], *, prefix_space: bool = False) -> tokenizers.Tokenizer:
    """Byte-pair encoding over bytes (Sennrich et al. 2016; GPT-2's split into words, numbers and marks).

    `special` come first and get the ids 0, 1, .. With `prefix_space` the first word of a text is written as any
    other word is, which suits sentences; without, every text is given back exactly.
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


def wordpiece(lines: Iterable[str], n_vocab: int) -> tokenizers.Tokenizer:
    """Lower-case WordPiece (Schuster and Nakajima 2012; BERT's split at spaces and marks, accents taken off).

    [PAD] [UNK] [CLS] [SEP] [MASK] are the ids 0 to 4.
    """
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)  # pyright: ignore
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # pyright: ignore
    backend.decoder = decoders.WordPiece()  # pyright: ignore
    trainer = trainers.WordPieceTrainer(vocab_size=n_vocab, special_tokens=special, show_progress=False)
    backend.train_from_iterator(lines, trainer)
    return backend
