"""A BERT on two texts: P(IsNext) from [CLS], the attention between the texts, and the loss of pre-training.

P(IsNext) = softmax(W tanh(W_p h_CLS + b_p) + b)_0
loss = mean over the chosen tokens of -log P(token) + mean over the pairs of -log P(label)        (Devlin et al. 2019, A.2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from core.data.passages import add_special_tokens, hide, pad_rows
from core.edits import Scale
from core.errors import InputError
from core.model import Model
from core.models import Batch
from core.run import Run
from viz.course.bert.masking import IGNORED

Array = NDArray[np.float64]
Texts = tuple[str, str]
GROUPS = ("[CLS]", "A", "B", "[SEP]")
"""Parts of a pair of texts: the token in front, the words of the first text, those of the second, the separators."""
WAYS = ("as trained", "A and B swapped", "all as text A", "no segment embeddings")
AT_ONCE = 32
KEEP = ("layer.*.resid_out",)


@dataclass(frozen=True, eq=False)
class Loss:
    """Pairs with masked words, read once: the loss of each chosen token and of each label, in nats.

    tokens, read: of each row, before and after words were masked. words (chosen,) with the `row` of each; pairs (row,); chances
    (row,) is P(IsNext).
    """

    tokens: tuple[tuple[str, ...], ...]
    read: tuple[tuple[str, ...], ...]
    words: Array
    row: NDArray[np.int64]
    pairs: Array
    chances: Array

    @property
    def masked(self) -> float:
        """Return the mean loss over all chosen tokens, in nats."""
        return float(self.words.mean())

    @property
    def next(self) -> float:
        """Return the mean loss over all pairs, in nats."""
        return float(self.pairs.mean())

    @property
    def total(self) -> float:
        """Return the training loss: the sum of the two means, in nats."""
        return self.masked + self.next

    def of_row(self, row: int) -> tuple[float, float]:
        """Return both parts of the loss of one pair, in nats."""
        return float(self.words[self.row == row].mean()), float(self.pairs[row])


def read(model: Model, first: str, second: str, longest: int) -> int:
    """Return the number of tokens of a pair. Raises InputError for a text without a word, and for more than `longest` tokens."""
    sizes = [len(model.tokenizer.encode(text).ids) for text in (first, second)]
    if 0 in sizes:
        raise InputError(
            f"{'The first' if not sizes[0] else 'The second'} text is empty.",
            "A pair is two texts with at least one word each.",
            "Type a sentence.",
        )
    n = sum(sizes) + 3
    if n > longest:
        raise InputError(
            f"The pair has {n} tokens.",
            f"This page draws pairs of up to {longest}.",
            "Shorten a text, or take an example.",
        )
    return n


def follows(model: Model, pairs: Sequence[Texts], *, one_segment: bool = False) -> Array:
    """Return P(IsNext) of each pair (row,). With `one_segment` all tokens are marked as text A."""
    found = []
    for at in range(0, len(pairs), AT_ONCE):
        ids, segments, real = _rows(model, pairs[at : at + AT_ONCE])
        batch = Batch(
            ids=_tensor(ids),
            real=_tensor(real),
            segments=_tensor(np.zeros_like(segments) if one_segment else segments),
        )
        with torch.inference_mode():
            scores = model.network.next_sentence(model.network.pooled(model.network(batch)))
        found.append(scores.double().softmax(-1)[:, 0].numpy())
    return np.concatenate(found)


def ways(model: Model, first: str, second: str) -> dict[str, float]:
    """Return P(IsNext) of a pair read as trained, in the other order, with all of it marked as text A, and without segment
    vectors."""
    off = model.run(first, pair=second, keep=KEEP, edits=[Scale("embed.segment", 0.0)])
    without = torch.tensor(np.array(off.next_sentence)).double().softmax(-1)[0]
    usual, swapped = follows(model, [(first, second), (second, first)])
    return dict(
        zip(
            WAYS,
            (
                float(usual),
                float(swapped),
                float(follows(model, [(first, second)], one_segment=True)[0]),
                float(without),
            ),
            strict=True,
        )
    )


def groups(run: Run) -> NDArray[np.int64]:
    """Return the index of each token's part in GROUPS (pos,)."""
    segments = np.array(run.segments[: run.side.n_real])
    found = np.where(segments == 0, 1, 2)
    found[[at for at, span in enumerate(run.spans[: run.side.n_real]) if span is None]] = 3
    found[0] = 0
    return found


def blocks(weights: NDArray[Any], group: NDArray[np.int64]) -> Array:
    """Return attention (.., query, key) by group: the mean weight of a group's tokens on each group (.., 4, 4); rows sum to 1.

    >>> blocks(np.full((4, 4), 0.25), np.array([0, 1, 2, 3])).tolist()[1]
    [0.25, 0.25, 0.25, 0.25]
    """
    member = np.eye(len(GROUPS))[group]
    looks = member.T @ weights.astype(np.float64) @ member
    return looks / member.sum(0)[:, None]


def negative_logs(
    network: Any, batch: Batch, labels: Tensor, follow: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return -log P of each chosen token (chosen,), -log P of each pair's label (row,), and P(IsNext) (row,).

    labels (row pos): the token to be predicted, -100 for none. follow (row,): whether the second text follows the first.
    """
    hidden = network(batch)
    at = labels != IGNORED
    words = F.cross_entropy(network.logits(hidden[at][None])[0].double(), labels[at], reduction="none")
    scores = network.next_sentence(network.pooled(hidden)).double()
    return words, F.cross_entropy(scores, (~follow).long(), reduction="none"), scores.softmax(-1)[:, 0]


def loss(model: Model, pairs: Sequence[Texts], follow: Sequence[bool], number: int) -> Loss:
    """Mask words of the pairs as in training (each row by the seed `number` and its index), and compute the loss.

    >>> import core
    >>> found = loss(core.open_model("bert-mini"), [("The door was open.", "She went in.")], [True], 0)
    >>> len(found.words), bool(np.isclose(found.total, found.words.mean() - np.log(found.chances[0])))
    (1, True)
    """
    tokenizer = model.tokenizer
    ids, segments, real = _rows(model, pairs)
    special = np.isin(ids, list(tokenizer.special_tokens.values()))
    drawable = np.setdiff1d(np.arange(len(tokenizer)), list(tokenizer.special_tokens.values()))
    assert tokenizer.mask is not None, "a model that fills blanks has a mask"
    read_, labels = ids.copy(), np.full_like(ids, IGNORED)
    for row, n in enumerate(real.sum(1)):
        some, chosen = hide(
            ids[row : row + 1, :n],
            special[row : row + 1, :n],
            np.random.default_rng((number, row)),
            mask=tokenizer.mask,
            drawable=drawable,
        )
        read_[row, :n], labels[row, :n] = some[0], np.where(chosen[0], ids[row, :n], IGNORED)
    batch = Batch(ids=_tensor(read_), real=_tensor(real), segments=_tensor(segments))
    with torch.inference_mode():
        words, next_, chances = negative_logs(
            model.network, batch, _tensor(labels), torch.tensor(list(follow))
        )

    def names(rows: NDArray[Any]) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(tokenizer.token(int(i)) for i in row[:n]) for row, n in zip(rows, real.sum(1), strict=True)
        )

    return Loss(
        names(ids),
        names(read_),
        words.numpy(),
        np.nonzero(labels != IGNORED)[0],
        next_.numpy(),
        chances.numpy(),
    )


def _rows(model: Model, pairs: Sequence[Texts]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    encode = model.tokenizer.encode
    rows = [
        add_special_tokens(model.tokenizer, np.array(encode(a).ids), np.array(encode(b).ids))
        for a, b in pairs
    ]
    assert model.tokenizer.pad is not None, "a model that reads pairs has padding"
    return pad_rows(rows, model.tokenizer.pad)


def _tensor(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
