"""han-genres: a hierarchical attention network that tells six kinds of book apart by a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.checkpoints import open_model
from core.data.corpora import PAGES, find
from core.data.documents import Document, encoded, laid_out, read
from core.data.texts import Example, texts
from core.models import Batch
from core.models.han import HANConfig
from core.scoring import bags
from core.text import Tokenizer
from core.text.learn import whole_words
from core.training.recipe import Recipe

IDS = {"pad": 0}
UNKNOWN = 0
LABELS = ("detective", "fairy_tale", "history", "nature_science", "sea_story", "western")
ROWS = 64
HIDDEN = 0.2
"""Share of words that are read as unknown while learning: no document is told by one word alone."""
OTHERS = 0.3
"""Size of the vectors that begin as noise."""
FOLDS, OPINION = 8, 0.6
"""The label is the book's, and many a page does not show it: of each answer this share is the opinion of a linear classifier
that has read the other books alone, a new one for each eighth of the books."""


class Documents:
    """Documents in a new order each pass, some of their words hidden."""

    def __init__(
        self,
        train: Sequence[Document],
        valid: Sequence[Document],
        answers: np.ndarray,
        tokenizer: Tokenizer,
        seed: int,
        device: torch.device,
    ) -> None:
        self.tokenizer, self.seed, self.device = tokenizer, seed, device
        self.train, self.valid = encoded(train, tokenizer), encoded(valid, tokenizer)
        self.answers, self.wanted = answers, labels(valid)

    def batch(self, step: int) -> tuple[tuple[Batch, Tensor], int]:
        per_pass = len(self.train) // ROWS
        turn, part = divmod(step, per_pass)
        order = np.random.default_rng((self.seed, turn)).permutation(len(self.train))
        drawn = np.random.default_rng((self.seed, turn, part))
        chosen = order[part::per_pass][:ROWS]
        batch = self._read([self.train[i] for i in chosen])
        batch.ids[torch.from_numpy(drawn.random(batch.ids.shape) < HIDDEN)] = UNKNOWN
        return (batch, torch.from_numpy(self.answers[chosen])), int(batch.real.sum())

    def loss(self, network: Any, batch: tuple[Batch, Tensor]) -> Tensor:
        read, answers = batch
        return F.cross_entropy(network.classes(network(read)).float(), answers)

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

    def _read(self, documents: Sequence[Any]) -> Batch:
        ids, numbers, real = (
            torch.from_numpy(each) for each in laid_out(documents, IDS["pad"], RECIPE.config.n_ctx)
        )
        return Batch(ids=ids, real=real, segments=numbers)


def labels(documents: Sequence[Document]) -> np.ndarray:
    """The number of each document's class."""
    return np.array([LABELS.index(each.label) for each in documents])


def opinions(documents: Sequence[Document]) -> np.ndarray:
    """The probabilities of the classes (document class), float32, by classifiers of which none has read the document's book."""
    books = sorted({each.book for each in documents})
    np.random.default_rng(0).shuffle(books)
    part = {book: place % FOLDS for place, book in enumerate(books)}
    mine, wanted = np.array([part[each.book] for each in documents]), labels(documents)
    bagged = [bags.bag(each, 2) for each in documents]
    found = np.zeros((len(documents), len(LABELS)), dtype=np.float32)
    for fold in range(FOLDS):
        read, asked = np.flatnonzero(mine != fold), np.flatnonzero(mine == fold)
        if len(read) and len(asked):
            scores = bags.linear(
                [bagged[i] for i in read], wanted[read], [bagged[i] for i in asked], len(LABELS)
            )
            found[asked] = torch.from_numpy(scores).softmax(-1).numpy()
    return found


@torch.no_grad()
def begin(network: Any) -> None:
    """The words that vectors-mini knows begin with its vectors, brought to mean 0 and size 1; the others small."""
    token, known = network.embed["token"], open_model("vectors-mini").network.embed["token"].weight
    known = known - known[UNKNOWN + 1 :].mean(0)
    nn.init.normal_(token.weight, std=OTHERS / token.scale)
    token.weight[: len(known)] = known / known.std() / token.scale


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Documents:
    train, valid = (list(read(find(data, f"genres/{split}.jsonl"))) for split in ("train", "valid"))
    saved = work / "tokenizer.json"
    if not saved.is_file():
        texts = (sentence for document in train for sentence in document.sentences)
        known = open_model("vectors-mini").tokenizer
        first = [known.token(index) for index in range(UNKNOWN + 1, len(known))]
        whole_words(texts, RECIPE.config.n_vocab, first=first).save(str(saved))
    told = work / "opinions.npy"
    if not told.is_file():
        np.save(told, opinions(train))
    right = np.eye(len(LABELS), dtype=np.float32)[labels(train)]
    answers = (1 - OPINION) * right + OPINION * np.load(told)
    return Documents(train, valid, answers, Tokenizer.from_file(saved, **IDS), seed, device)


RECIPE = Recipe(
    name="han-genres",
    family="han",
    config=HANConfig(d_model=80, n_vocab=13000, classes=LABELS, dropout=0.3),
    steps=700,
    prepare=prepare,
    begin=begin,
    examples=lambda: tuple(Example(row.text) for row in texts("presets") if row.kind == "genre"),
    reads=PAGES,
    ids=IDS,
    lr=5e-3,
    warm_up=50,
)
