"""One tiny random model of every shape that people bring, each written into a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import kind_shapes
import pytest
import tokenizers
import torch
from safetensors.torch import save_file
from tiny_models import behind_pages
from tokenizers import decoders, models, pre_tokenizers

from core.checkpoints import store
from core.checkpoints.foreign import formats
from core.checkpoints.task_heads import ANSWER, CLASSES, TAGS, HeadSpec
from core.data.texts import texts
from core.models import families
from core.serving.engine import Engine
from core.text.learn import learn_byte_level_bpe, learn_word_list, learn_wordpiece

MARKS = ("<pad>", "<start>", "<end>")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FRAME = {"pad": 0, "start": 2, "end": 3, "mask": 4}
PLAIN = {"pad": 0, "start": 1, "end": 2}
BARE = {"masked_lm": False, "pooler": False, "next_sentence": False}
LINES = [
    text for row in texts("presets") if row.kind not in ("recall", "genre") for text in (row.text, row.second)
]


@cache
def _pieces() -> tokenizers.Tokenizer:
    return learn_wordpiece(LINES * 2, 300)


@cache
def _renamed() -> tokenizers.Tokenizer:
    rules = _pieces().to_str()
    for name, other in (("[MASK]", "<mask>"), ("[CLS]", "<s>"), ("[SEP]", "</s>")):
        rules = rules.replace(name, other)
    return tokenizers.Tokenizer.from_str(rules)


@cache
def _bpe() -> tokenizers.Tokenizer:
    return learn_byte_level_bpe(LINES * 2, 320, MARKS, prefix_space=True)


@cache
def _bytes() -> tokenizers.Tokenizer:
    """No piece but the 256 bytes."""
    return learn_byte_level_bpe(LINES, 256 + len(MARKS), MARKS, prefix_space=False)


@cache
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
    tuned: tuple[str, str, int] | None = None
    """Of a folder in the library's format: its kind, what its class's name ends in, how many classes or tags."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """What its config.json says besides."""


def _tuned(kind: str, task: str, n: int, **said: Any) -> Shape:
    """A folder with a head of fine-tuning, as the transformers library writes it."""
    form = formats()[kind]
    made, ids = (_pieces, FRAME) if families()[form.family].framed else (_bpe, PLAIN)
    return Shape(form.family, kind_shapes.SHAPES.get(kind, {}), made, ids, tuned=(kind, task, n), said=said)


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
    "two-depths": Shape("transformer", {"n_layers": 3, "n_decoder_layers": 1}),
    "context-of-16": Shape("gpt", {"n_ctx": 16}),
    "blanks-of-16": _framed(n_ctx=16),
    "one-head": Shape("gpt", {"n_layers": 1, "n_heads": 1, "d_model": 8}),
    "one-head-encoder": _framed(n_layers=1, n_heads=1),
    "letters": Shape("gpt", {}, _letters),
    "bytes": Shape("llama", {}, _bytes),
    "one-stream": Shape("llama", {**kind_shapes.SHAPES["phi"], "unturned": (1,), "output_scale": 0.5}),
    "norms-behind": Shape("llama", kind_shapes.SHAPES["olmo2"]),
    "embedder": _tuned("distilbert", "", 0),
    "tuned-classes": _tuned("distilbert", CLASSES, 3, id2label={"0": "dull", "1": "so so", "2": "fun"}),
    "tuned-several": _tuned("roberta", CLASSES, 3, problem_type="multi_label_classification"),
    "tuned-score": _tuned("bert", CLASSES, 1),
    "tuned-tags": _tuned("mpnet", TAGS, 3, id2label={"0": "O", "1": "B-PER", "2": "I-PER"}),
    "tuned-answers": _tuned("distilbert", ANSWER, 2),
    "tuned-decoder": _tuned("llama", CLASSES, 2),
    "tuned-stacks": _tuned("bart", CLASSES, 3),
    "gpt-classes": Shape("gpt", {"n_classes": 3}),
    "t5": Shape("t5"),
    "t5-encoder": Shape("t5_encoder"),
    "alibi": Shape("bloom"),
    "alibi-both": _framed("modernbert", places="alibi", block="behind", biases="all", n_segments=2),
    "sink": Shape("gpt_oss"),
    "recurrent": Shape("seq2seq", {"attention": "bahdanau"}),
    "without-attention": Shape("seq2seq", {"attention": "none"}),
    "vit": Shape("vit", {"classes": ("fish", "cat", "hat")}, lambda: learn_word_list(["0"], 4), {"pad": 0}),
    "mae": Shape("mae", {}, lambda: learn_word_list(["0"], 4), {"pad": 0}),
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
    if shape.tuned:
        return _write_tuned(folder / name, shape, config, backend)
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


def _write_tuned(folder: Path, shape: Shape, config: Any, backend: tokenizers.Tokenizer) -> Path:
    assert shape.tuned is not None
    kind, task, n = shape.tuned
    form, spec = formats()[kind], formats()[kind].tasks.get(task, HeadSpec(""))
    bare = {"masked_lm": False, "headless": True, "next_sentence": False, "pooler": spec.pool == "pooled"}
    config = replace(config, **{name: value for name, value in bare.items() if hasattr(config, name)})
    shapes = {form.full(take.name): take.shape for take in form.takes(config)}
    if spec.dense:
        shapes |= {f"{spec.dense}.weight": (config.d_model,) * 2, f"{spec.dense}.bias": (config.d_model,)}
    if spec.out:
        shapes |= {f"{spec.out}.weight": (n, config.d_model)}
        shapes |= {} if spec.out in spec.plain else {f"{spec.out}.bias": (n,)}
    folder.mkdir()
    save_file({name: 0.3 * torch.randn(size) for name, size in shapes.items()}, folder / "model.safetensors")
    ids = {f"{name}_token_id": id for name, id in (("bos", 1), ("eos", 2), ("pad", 0), ("decoder_start", 2))}
    said = {
        "model_type": kind,
        "architectures": [f"{form.kinds[form.model_type]}{f'For{task}' if task else 'Model'}"],
        **(form.values(config) or {}),
    }
    (folder / "config.json").write_text(json.dumps({**ids, **said, **shape.said}))
    backend.save(str(folder / "tokenizer.json"))
    if not task:
        parts = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
        modules = [
            {"path": path, "type": f"sentence_transformers.models.{name}"} for path, name in parts.items()
        ]
        (folder / "modules.json").write_text(json.dumps(modules))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    return folder


@contextmanager
def served_shapes(patch: pytest.MonkeyPatch, folder: Path, *names: str) -> Iterator[Engine]:
    """Serve models of these shapes, and no others, behind the pages."""
    for name in names:
        write(folder, name)
    patch.setattr("core.checkpoints.find.PACKAGES", ())
    with behind_pages(patch, folder) as engine:
        yield engine
