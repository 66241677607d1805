"""Bags of words: two baselines that learn to classify from counted words, without their order.

Naive Bayes (McCallum and Nigam 1998) adds up the evidence of each word by itself. The linear classifier weighs words and pairs of
neighbouring words by their tf-idf (Salton and Buckley 1988), its weights learned by logistic regression.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.documents import Document

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
RARE = 2
"""Pairs and words of fewer documents than this are not weighed."""
FIT, STEPS = 30.0, 60
"""How much fitting the documents counts beside small weights, and the steps that are taken towards the best."""

Bag = Counter[str]


def baseline_classes(
    train: Sequence[Document], test: Sequence[Document], classes: Sequence[str]
) -> Mapping[str, np.ndarray]:
    """Return the class index that each baseline, learned from `train`, predicts for each document of `test`, by the name of the baseline."""
    wanted = np.array([classes.index(each.label) for each in train])
    return {
        "naive Bayes over words": naive_bayes(
            [bag(each, 1) for each in train], wanted, [bag(each, 1) for each in test], len(classes)
        ),
        "linear on tf-idf of words and pairs": linear_scores(
            [bag(each, 2) for each in train], wanted, [bag(each, 2) for each in test], len(classes)
        ).argmax(-1),
    }


def bag(document: Document, n: int) -> Bag:
    """Count the words of a document; with n = 2 also the pairs of neighbouring words inside a sentence.

    >>> sorted(bag(Document("", ("A cat sat.",)), 2))
    ['a', 'a cat', 'cat', 'cat sat', 'sat']
    """
    found: Bag = Counter()
    for sentence in document.sentences:
        words = WORD.findall(sentence.lower())
        found.update(words)
        if n > 1:
            found.update(map(" ".join, pairwise(words)))
    return found


def naive_bayes(train: Sequence[Bag], labels: np.ndarray, test: Sequence[Bag], n_classes: int) -> np.ndarray:
    """Predict the class of each bag of `test`: argmax_c log p(c) + sum_w n_w log p(w | c), with p(w | c) = (count of w
    in c + 1) / (all in c + words known).

    >>> naive_bayes([Counter("ab"), Counter("c")], np.array([0, 1]), [Counter("cc"), Counter("a")], 2).tolist()
    [1, 0]
    """
    place = {word: i for i, word in enumerate(sorted({word for each in train for word in each}))}
    counts = np.zeros((n_classes, len(place)))
    for each, label in zip(train, labels, strict=True):
        for word, count in each.items():
            counts[label, place[word]] += count
    logp = np.log((counts + 1) / (counts.sum(1, keepdims=True) + len(place)))
    prior = np.log(np.bincount(labels, minlength=n_classes) / len(labels))
    found = [
        prior + sum(count * logp[:, place[word]] for word, count in each.items() if word in place)
        for each in test
    ]
    return np.array([int(np.argmax(each)) for each in found])


def linear_scores(
    train: Sequence[Bag], labels: np.ndarray, test: Sequence[Bag], n_classes: int
) -> np.ndarray:
    """Return the scores W x of the classes, (document, class), of a linear classifier on tf-idf: x_w = (1 + log n_w) (1
    + log(N / documents with w)), scaled to length 1.

    Each w is a word or pair that occurs in at least RARE documents of `train`. W minimises FIT times the sum of -log
    softmax(W x)_c over these documents plus half of |W|^2.

    >>> linear_scores([Counter("ab"), Counter("ab"), Counter("cd"), Counter("cd")], np.array([0, 0, 1, 1]), [Counter("c")], 2).argmax(-1).tolist()
    [1]
    """
    seen = Counter(word for each in train for word in each)
    kept = sorted(word for word, count in seen.items() if count >= RARE)
    place = {word: i for i, word in enumerate(kept)}
    idf = np.log(len(train) / np.array([seen[word] for word in kept])) + 1
    read, told = (_table([_weighed(each, place, idf) for each in some], len(kept)) for some in (train, test))
    turned = read.t().coalesce()
    right = F.one_hot(torch.from_numpy(labels), n_classes).float()
    weights = torch.zeros(len(kept), n_classes)
    search = torch.optim.LBFGS([weights], max_iter=STEPS, history_size=10, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        logp = (read @ weights).log_softmax(-1)
        weights.grad = FIT * (turned @ (logp.exp() - right)) + weights
        return weights.square().sum() / 2 - FIT * (right * logp).sum()

    search.step(loss)  # pyright: ignore[reportArgumentType]
    return (told @ weights).numpy()


def _weighed(each: Bag, place: Mapping[str, int], idf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a bag's words, and the tf-idf of each scaled to length 1."""
    found = sorted((place[word], count) for word, count in each.items() if word in place)
    words, often = (
        np.array([at for at, _ in found], dtype=np.int64),
        np.array([n for _, n in found], dtype=float),
    )
    weight = (1 + np.log(often)) * idf[words]
    return words, (weight / max(float(np.linalg.norm(weight)), 1e-9)).astype(np.float32)


def _table(rows: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> Tensor:
    """Return the rows as one sparse matrix, (document, word)."""
    words, weight = (np.concatenate(part) for part in zip(*rows, strict=True))
    of = np.repeat(np.arange(len(rows)), [len(each) for each, _ in rows])
    places, size = torch.from_numpy(np.stack((of, words))), (len(rows), n)
    return torch.sparse_coo_tensor(
        places, torch.from_numpy(weight), size, is_coalesced=True, check_invariants=True
    )
