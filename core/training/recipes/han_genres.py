"""han-genres: a hierarchical attention network that classifies books of six kinds by one page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.checkpoints import open_model
from core.data.corpora import PAGES, find_file
from core.data.documents import Document, encode_sentences, pad_documents, read_documents
from core.data.texts import Example, texts
from core.models import Batch
from core.models.han import HANConfig
from core.text import Tokenizer
from core.text.learn import learn_word_list
from core.training.recipe import Recipe

IDS = {"pad": 0}
UNKNOWN = 0
EVERY = 1_000_000
"""More words than there are."""
LABELS = ("detective", "fairy_tale", "history", "nature_science", "sea_story", "western")
ROWS = 64
HIDDEN = 0.2
"""Share of words that are read as unknown in training: no document is classified by one word alone."""
READ = 0.7
"""Share of the sentences of a document that a step reads, sampled again each time."""
JOINED = 0.3
"""Share of documents of which half is replaced by half a page of the same kind, mostly of another book: the label is the book's, and what
books of a kind have in common is to be learned, not one book."""
OTHERS = 0.3
"""Size of the vectors that begin as noise."""
SMOOTH = 0.1
"""Of each answer this share is given to all classes alike: the label is the book's, and many a page does not show it."""


class Documents:
    """Documents in a new order each pass, some of their sentences left out and some of their words unknown."""

    def __init__(
        self,
        train: Sequence[Document],
        valid: Sequence[Document],
        tokenizer: Tokenizer,
        seed: int,
        device: torch.device,
    ) -> None:
        self.tokenizer, self.seed, self.device = tokenizer, seed, device
        self.train, self.valid = encode_sentences(train, tokenizer), encode_sentences(valid, tokenizer)
        self.right, self.wanted = labels(train), labels(valid)

    def batch(self, step: int) -> tuple[tuple[Batch, Tensor], int]:
        per_pass = len(self.train) // ROWS
        turn, part = divmod(step, per_pass)
        order = np.random.default_rng((self.seed, turn)).permutation(len(self.train))
        drawn = np.random.default_rng((self.seed, turn, part))
        chosen = order[part::per_pass][:ROWS]
        batch = self._read([self._sampled(self._joined(int(i), drawn), drawn) for i in chosen])
        batch.ids[torch.from_numpy(drawn.random(batch.ids.shape) < HIDDEN)] = UNKNOWN
        return (batch, torch.from_numpy(self.right[chosen])), int(batch.real.sum())

    def loss(self, network: Any, batch: tuple[Batch, Tensor]) -> Tensor:
        read, right = batch
        with torch.autocast(self.device.type, enabled=False):  # steps of 40 numbers are slower in bfloat16
            scores = network.classes(network(read))
        return F.cross_entropy(scores, right, label_smoothing=SMOOTH)

    def check(self, network: Any) -> Mapping[str, float]:
        scores = torch.cat(
            [
                network.classes(network(self._read(self.valid[i : i + ROWS])))
                for i in range(0, len(self.valid), ROWS)
            ]
        )
        wanted = torch.from_numpy(self.wanted)
        return {
            "document_nats": float(F.cross_entropy(scores.float(), wanted)),
            "accuracy": float((scores.argmax(-1) == wanted).float().mean()),
        }

    def _joined(self, index: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Return a document, or with a chance of JOINED half of it and half of another one of its class."""
        found = self.train[index]
        if rng.random() >= JOINED:
            return found
        other = self.train[rng.choice(np.flatnonzero(self.right == self.right[index]))]
        return [*_half(found, rng), *_half(other, rng)]

    @staticmethod
    def _sampled(sentences: list[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
        """Return a random share of the sentences of a document, in their order."""
        chosen = rng.permutation(len(sentences))[: math.ceil(READ * len(sentences))]
        return [sentences[i] for i in np.sort(chosen)]

    def _read(self, documents: Sequence[Any]) -> Batch:
        ids, numbers, real = (
            torch.from_numpy(each) for each in pad_documents(documents, IDS["pad"], RECIPE.config.n_ctx)
        )
        return Batch(ids=ids, real=real, segments=numbers)


def _half(sentences: list[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    """Return the first or the second half of a document, all of it if it is one sentence."""
    middle = len(sentences) // 2
    return sentences[:middle] if middle and rng.random() < 0.5 else sentences[middle:]


def labels(documents: Sequence[Document]) -> np.ndarray:
    """Return the number of each document's class."""
    return np.array([LABELS.index(each.label) for each in documents])


@torch.no_grad()
def begin(network: Any) -> None:
    """Initialise the word vectors: with those of vectors-mini, scaled to mean 0 and standard deviation 1, and small ones for other words."""
    token, known = network.embed["token"], open_model("vectors-mini").network.embed["token"].weight
    known = known - known[UNKNOWN + 1 :].mean(0)
    nn.init.normal_(token.weight, std=OTHERS / token.scale)
    token.weight[: len(known)] = known / known.std() / token.scale


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Documents:
    train, valid = (
        list(read_documents(find_file(data, f"genres/{split}.jsonl"))) for split in ("train", "valid")
    )
    saved = work / "tokenizer.json"
    if not saved.is_file():
        known = open_model("vectors-mini").tokenizer
        first = [known.token(index) for index in range(UNKNOWN + 1, len(known))]
        learn_word_list(_by_book(train), RECIPE.config.n_vocab, first=first).save(str(saved))
    return Documents(train, valid, Tokenizer.from_file(saved, **IDS), seed, device)


def _by_book(documents: Sequence[Document]) -> Iterator[str]:
    """Return the words of each book, each word once: the most frequent words are then those of the most books."""
    every = learn_word_list((sentence for each in documents for sentence in each.sentences), EVERY)
    words: dict[str, set[str]] = {}
    for each in documents:
        tokens = (encoded.tokens for encoded in every.encode_batch([*each.sentences]))
        words.setdefault(each.book, set()).update(*tokens)
    return (" ".join(sorted(found)) for found in words.values())


RECIPE = Recipe(
    name="han-genres",
    family="han",
    config=HANConfig(d_model=80, n_vocab=45000, classes=LABELS, dropout=0.3),
    steps=500,
    prepare=prepare,
    begin=begin,
    examples=lambda: tuple(Example(row.text) for row in texts("presets") if row.kind == "genre"),
    reads=PAGES,
    ids=IDS,
    lr=5e-3,
    warm_up=50,
)
