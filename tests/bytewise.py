"""A tiny random model whose vocabulary is Llama 2's kind: pieces of SentencePiece, and each byte a token."""

from __future__ import annotations

from dataclasses import replace

import tokenizers
from kind_shapes import random_network, tiny
from tokenizers import decoders, models, normalizers

from core.model import Model
from core.models import families
from core.text import Tokenizer

MARKS = ("<unk>", "<s>", "</s>", "<pad>")
FIRST_BYTE = len(MARKS)
PIECES = ("▁", "a", "▁a", "n", "▁an")


def fallback() -> Tokenizer:
    """Return the tokenizer: marks, 256 bytes, a few pieces."""
    names = (*MARKS, *(f"<0x{byte:02X}>" for byte in range(256)), *PIECES)
    model = models.BPE(
        {name: index for index, name in enumerate(names)},
        [("▁", "a"), ("▁a", "n")],
        unk_token="<unk>",
        byte_fallback=True,
        fuse_unk=True,
    )
    backend = tokenizers.Tokenizer(model)
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens(list(MARKS))
    return Tokenizer(backend, start=1, end=2, pad=3)


def byte_of(value: int) -> int:
    """Return the id of a byte."""
    return FIRST_BYTE + value


def tiny_llama(name: str = "tiny-bytes") -> Model:
    """Return a random model that reads and writes these tokens."""
    tokenizer = fallback()
    spec = families()["llama"]
    config = replace(tiny("llama"), n_vocab=len(tokenizer), n_ctx=64)
    network = random_network(spec, config, 3)
    return Model(name, spec, config, network, tokenizer)
