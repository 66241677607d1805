"""One tiny random model of every shape that people bring, each written into a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tokenizers
import torch
from tokenizers import decoders, models, pre_tokenizers

from core.checkpoints import store
from core.data.texts import texts
from core.models import families
from core.text.learn import byte_level_bpe, whole_words, wordpiece

MARKS = ("<pad>", "<start>", "<end>")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FRAME = {"pad": 0, "start": 2, "end": 3, "mask": 4}
PLAIN = {"pad": 0, "start": 1, "end": 2}
BARE = {"masked_lm": False, "pooler": False, "next_sentence": False}
LINES = [
    text for row in texts("presets") if row.kind not in ("recall", "genre") for text in (row.text, row.second)
]


def _pieces() -> tokenizers.Tokenizer:
    return wordpiece(LINES * 2, 300)


def _renamed() -> tokenizers.Tokenizer:
    rules = _pieces().to_str()
    for name, other in (("[MASK]", "<mask>"), ("[CLS]", "<s>"), ("[SEP]", "</s>")):
        rules = rules.replace(name, other)
    return tokenizers.Tokenizer.from_str(rules)


def _bpe() -> tokenizers.Tokenizer:
    return byte_level_bpe(LINES * 2, 320, MARKS, prefix_space=True)


def _bytes() -> tokenizers.Tokenizer:
    """No piece but the 256 bytes."""
    return byte_level_bpe(LINES, 256 + len(MARKS), MARKS, prefix_space=False)


def _letters() -> tokenizers.Tokenizer:
    """Small letters alone: no token for anything unknown, which is dropped, and none for a space."""
    vocab = {piece: index for index, piece in enumerate((*MARKS, *LETTERS, "."))}
    backend = tokenizers.Tokenizer(models.BPE(vocab, []))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # pyright: ignore[reportAttributeAccessIssue]
    backend.decoder = decoders.Fuse()  # pyright: ignore[reportAttributeAccessIssue]
    backend.add_special_tokens(list(MARKS))
    return backend


def _silent(network: Any) -> None:
    """END is the first token that it writes, always."""
    network.logits_bias.data[0, PLAIN["end"]] = 1e4


@dataclass(frozen=True)
class Shape:
    """A family, the fields of its config that are changed, its tokenizer and marks, and what is done to its weights."""

    family: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Callable[[], tokenizers.Tokenizer] = _bpe
    ids: Mapping[str, int] = field(default_factory=lambda: PLAIN)
    after: Callable[[Any], None] = lambda _: None


def _framed(
    family: str = "bert", made: Callable[[], tokenizers.Tokenizer] = _pieces, **changes: Any
) -> Shape:
    return Shape(family, changes, made, FRAME)


SHAPES: Mapping[str, Shape] = {
    "encoder-alone": _framed(**BARE),
    "encoder-pooled": _framed(**BARE | {"pooler": True}),
    "classifier": _framed(**BARE, n_classes=2),
    "one-score": _framed(**BARE, n_classes=1),
    "tagger": _framed(**BARE, n_tags=5),
    "span-answerer": _framed(**BARE, answers=True),
    "no-mask": Shape("bert", {}, _pieces, {"pad": 0, "start": 2, "end": 3}),
    "other-mask": _framed(made=_renamed),
    "deberta-alone": _framed("deberta", masked_lm=False),
    "writes-nothing": Shape("transformer", {"output_bias": True}, after=_silent),
    "translator-of-16": Shape("transformer", {"n_ctx": 16}),
    "context-of-16": Shape("gpt", {"n_ctx": 16}),
    "blanks-of-16": _framed(n_ctx=16),
    "one-head": Shape("gpt", {"n_layers": 1, "n_heads": 1, "d_model": 8}),
    "one-head-encoder": _framed(n_layers=1, n_heads=1),
    "letters": Shape("gpt", {}, _letters),
    "bytes": Shape("llama", {}, _bytes),
    "gpt-classes": Shape("gpt", {"n_classes": 3}),
    "t5": Shape("t5"),
    "recurrent": Shape("seq2seq", {"attention": "bahdanau"}),
    "without-attention": Shape("seq2seq", {"attention": "none"}),
    "vit": Shape("vit", {"classes": ("fish", "cat", "hat")}, lambda: whole_words(["0"], 4), {"pad": 0}),
    "mae": Shape("mae", {}, lambda: whole_words(["0"], 4), {"pad": 0}),
}


def write(folder: Path, name: str) -> Path:
    """One model, every weight drawn anew."""
    shape = SHAPES[name]
    family, backend = families()[shape.family], shape.tokenizer()
    folder.mkdir(parents=True, exist_ok=True)
    backend.save(str(tokenizer := folder / f"{name}.json"))
    config = family.config.tiny()
    sized = {"n_vocab": backend.get_vocab_size(), "n_ctx": 120} if family.reads is None else {}
    config = replace(config, **sized | dict(shape.changes))
    torch.manual_seed(5)
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    shape.after(network)
    return store.save_model(
        folder / name,
        family=shape.family,
        config=config,
        weights=network.state_dict(),
        tokenizer=tokenizer,
        ids=dict(shape.ids),
        training={},
    )
