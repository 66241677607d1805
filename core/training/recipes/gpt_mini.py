"""gpt-mini: a small GPT-2 on children's books and everyday sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from core.data.corpora import BOOKS, ENGLISH, NEW_TEXT, PROSE_VALID, english_lines, find_file, read_lines
from core.models import Batch
from core.models.gpt import GPTConfig
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.training.loop.loss import cross_entropy
from core.training.recipe import Recipe

BOUNDARY = "<|endoftext|>"
IDS = {"start": 0, "end": 0, "pad": 0}
BATCH_TOKENS = 16384
FRESH = 0.1  # share of windows that begin as a new text does, behind the boundary token


class Windows:
    """Long stream of tokens cut into windows of 256 and 512; each pass visits every window once."""

    def __init__(
        self,
        stream: np.ndarray,
        valid: np.ndarray,
        tokenizer: Tokenizer,
        seed: int,
        device: torch.device,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self.stream, self.tokenizer, self.seed, self.batch_tokens = stream, tokenizer, seed, batch_tokens
        n = min(len(valid) // 257, 96) * 257
        self.valid = torch.from_numpy(valid[:n].astype(np.int64)).view(-1, 257).to(device)
        self._order: dict[int, np.ndarray] = {}

    def batch(self, step: int) -> tuple[Tensor, int]:
        size = 512 if step % 4 == 3 else 256
        per_batch = self.batch_tokens // 512
        n_blocks = (len(self.stream) - 1) // 512 - 1
        first = step * per_batch
        epoch, place = divmod(first, n_blocks // per_batch * per_batch)
        if epoch not in self._order:
            self._order = {epoch: np.random.default_rng((self.seed, epoch)).permutation(n_blocks)}
        rng = np.random.default_rng((self.seed, epoch, step))
        shift = int(np.random.default_rng((self.seed, epoch)).integers(512))
        starts = self._order[epoch][place : place + per_batch] * 512 + shift
        starts = (starts[:, None] + np.arange(0, 512, size)[None, :]).ravel()
        rows = np.stack([self.stream[s : s + size + 1] for s in starts]).astype(np.int64)
        rows[rng.random(len(rows)) < FRESH, 0] = IDS["start"]
        return torch.from_numpy(rows), rows.shape[0] * size

    def loss(self, network: nn.Module, batch: Tensor) -> Tensor:
        ids = batch[:, :-1]
        hidden = network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)))
        return cross_entropy(hidden.flatten(0, 1), network.embed["token"].weight, batch[:, 1:].flatten())  # pyright: ignore

    def check(self, network: nn.Module) -> Mapping[str, float]:
        losses = [float(self.loss(network, rows)) for rows in self.valid.split(16)]
        return {"valid_nats": sum(losses) / len(losses)}


def encode_file(path: Path, tokenizer: Tokenizer) -> np.ndarray:
    """Return a text file as one stream: each line and its newline; a line `=== ID` is the boundary token."""
    newline, texts = tokenizer.encode("\n").ids, list(read_lines(path))
    stream: list[int] = [IDS["start"]]
    for line, ids in zip(texts, tokenizer.encode_many(texts), strict=True):
        stream.extend((IDS["start"],) if line.startswith(NEW_TEXT) else (*ids, *newline))
    return np.array(stream, dtype=np.uint16)


def prepare(
    data: Path, work: Path, seed: int, device: torch.device, batch_tokens: int = BATCH_TOKENS
) -> Windows:
    saved = work / "tokenizer.json"
    if not saved.is_file():
        learn_byte_level_bpe(english_lines(data), RECIPE.config.n_vocab, (BOUNDARY,)).save(str(saved))
    tokenizer = Tokenizer.from_file(saved, **IDS)
    streams = work / "streams.npz"
    if not streams.is_file():
        train = np.concatenate([encode_file(find_file(data, name), tokenizer) for name in ENGLISH])
        np.savez(streams, train=train, valid=encode_file(find_file(data, PROSE_VALID), tokenizer))
    held = np.load(streams)
    return Windows(held["train"], held["valid"], tokenizer, seed, device, batch_tokens)


RECIPE = Recipe(
    name="gpt-mini",
    family="gpt",
    config=GPTConfig(n_layers=6, n_heads=8, d_model=256, d_ff=1024, n_vocab=4096, n_ctx=512, dropout=0.1),
    steps=20202,
    prepare=prepare,
    ids=IDS,
    reads=BOOKS,
    lr=3e-3,
    matrix_lr=0.02,
)
