"""Fine-tuning tasks: labelled texts of our grammar, as the network reads them, with their loss and their measure.

The four tasks of Devlin et al. 2019, figure 4: the class of a sentence, the class of a pair, an answer in a text, a tag for each word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data import grammar, lexicon
from core.data.grammar import Split
from core.data.passages import add_special_tokens, pad_rows
from core.data.spans import spans
from core.models import Batch
from core.text import Tokenizer

Array = np.ndarray
NONE = -100
"""Where nothing is asked."""


@dataclass(frozen=True, eq=False)
class Example:
    """Labelled text as the network reads it: ids and segments (pos,), and `targets`: (1,) a class, (pos,) tags, or (2,) the first and the last token of the answer."""

    ids: Array
    segments: Array
    targets: Array


@dataclass(frozen=True)
class Goal:
    """Fine-tuning task: its labels, the head it needs (fields of BERTConfig), its labelled texts, and the output of the network that it trains."""

    name: str
    title: str
    says: str
    output: str
    head: Mapping[str, Any]
    draw: Callable[[int, int, Split], Sequence[Any]]
    read: Callable[[Tokenizer, Any], Example]
    labels: tuple[str, ...] = ()

    def examples(self, tokenizer: Tokenizer, n: int, seed: int, split: Split) -> list[Example]:
        """Return n labelled texts, sampled with a seed."""
        return [self.read(tokenizer, item) for item in self.draw(n, seed, split)]

    def scores(self, network: Any, batch: Batch) -> Tensor:
        """Return the head's scores of a batch: (text label), of tags (text pos label), of answers (text pos edge) with -inf outside the second text."""
        scores = getattr(network, self.output)(network(batch))
        if self.output != "answer":
            return scores
        assert batch.segments is not None
        inside = (batch.segments == 1) & batch.real
        return scores.masked_fill(~inside[..., None], -torch.inf)

    def loss(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Return -log p of the targets in nats: the mean over texts, over tagged words, or over both ends."""
        if self.output == "answer":
            scores, targets = scores.transpose(1, 2).flatten(0, 1), targets.flatten()
        elif self.output == "tags":
            scores, targets = scores.flatten(0, 1), targets.flatten()
        else:
            targets = targets[:, 0]
        return F.cross_entropy(scores, targets, ignore_index=NONE)

    def mark_correct(self, scores: Tensor, targets: Tensor) -> Array:
        """Return True or False for each text, for each tagged word, or for each answer: both ends must be right."""
        if self.output == "answer":
            best = [
                spans(*(row.T.double().numpy()), allowed=row[:, 0].isfinite().numpy()).best for row in scores
            ]
            return (np.array(best) == targets.numpy()).all(-1)
        if self.output == "tags":
            asked = targets != NONE
            return (scores.argmax(-1) == targets)[asked].numpy()
        return (scores.argmax(-1) == targets[:, 0]).numpy()


@dataclass(frozen=True, eq=False)
class Rows:
    """Several examples as one padded batch, with their targets."""

    batch: Batch
    targets: Tensor = field(repr=False)


def collate(examples: Sequence[Example], pad: int) -> Rows:
    """Return examples as one batch, padded at the end; padding has the target NONE."""
    ids, segments, real = (
        torch.from_numpy(array) for array in pad_rows([(one.ids, one.segments) for one in examples], pad)
    )
    wanted = np.full((len(examples), max(len(one.targets) for one in examples)), NONE, dtype=np.int64)
    for row, one in enumerate(examples):
        wanted[row, : len(one.targets)] = one.targets
    return Rows(Batch(ids=ids, real=real, segments=segments), torch.from_numpy(wanted))


PLAIN = 0.8
"""Of the opinions that are learned from, so many say what they mean by one word. Where these were as rare as in the grammar (0.4), no
tuning of a minute left chance: which word is good must be learned before what turns it round. Those that are checked are the grammar's."""


def sample_opinions(n: int, seed: int, split: Split) -> list[grammar.Labelled]:
    """Return n sentences with an opinion; in the training split the share PLAIN of them is plain.

    >>> texts = sample_opinions(50, 0, "train")
    >>> sum(map(is_plain, texts)) / len(texts)
    0.8
    """
    if split == "test":
        return list(grammar.sentences(n, seed, split))
    items = grammar.sentences(3 * n, seed, split)
    ready, turned = ([item for item in items if is_plain(item) is kind] for kind in (True, False))
    n_plain = round(PLAIN * n)
    return ready[:n_plain] + turned[: n - n_plain]


def is_plain(item: grammar.Labelled) -> bool:
    """Return whether every opinion word of a sentence has its label: no 'not awful', no 'dull at first, but'.

    >>> is_plain(grammar.Labelled("The soup was good.", "good")), is_plain(grammar.Labelled("The soup was not good.", "bad"))
    (True, False)
    """
    words = re.findall(r"\w+", item.text.lower())
    return all(label == item.label for word in words if (label := _JUDGES.get(word)))


_JUDGES = {
    word: label
    for kind in lexicon.CLASSES.values()
    for label, told in zip(grammar.OPINIONS, kind[3:], strict=True)
    for word in told.split()
}


def _class_reader(labels: Sequence[str]) -> Callable[[Tokenizer, Any], Example]:
    """Return the reader of a sentence, or a pair, whose last field is its label."""

    def read(tokenizer: Tokenizer, item: Any) -> Example:
        texts = [np.array(tokenizer.encode(text).ids, dtype=np.int64) for text in item[:-1]]
        return Example(*add_special_tokens(tokenizer, *texts), np.array([labels.index(item.label)]))

    return read


def _read_tagged(tokenizer: Tokenizer, item: grammar.Tagged) -> Example:
    """Return a sentence with the tag of each word at its first token; other tokens have the target NONE."""
    encoded, at, tags = tokenizer.encode(item.text), 0, dict[int, int]()
    for word, tag in zip(item.words, item.tags, strict=True):
        at = item.text.index(word, at)
        tags[at] = grammar.TAGS.index(tag)
        at += len(word)
    wanted = [NONE if span is None else tags.get(span[0], NONE) for span in encoded.spans]
    ids, segments = add_special_tokens(tokenizer, np.array(encoded.ids, dtype=np.int64))
    return Example(ids, segments, np.array([NONE, *wanted, NONE]))


def _read_question(tokenizer: Tokenizer, item: grammar.Question) -> Example:
    """Return [CLS] question [SEP] passage [SEP], with the first and the last token of the answer."""
    question, passage = tokenizer.encode(item.question), tokenizer.encode(item.passage)
    before = len(question.ids) + 2
    starts, ends = ([None if span is None else span[edge] for span in passage.spans] for edge in (0, 1))
    first, last = starts.index(item.start), len(ends) - 1 - ends[::-1].index(item.end)
    ids, segments = add_special_tokens(
        tokenizer, *(np.array(side.ids, dtype=np.int64) for side in (question, passage))
    )
    return Example(ids, segments, np.array([before + first, before + last]))


GOALS: Mapping[str, Goal] = MappingProxyType(
    {
        goal.name: goal
        for goal in (
            Goal(
                "opinions",
                "Opinions",
                "Is a sentence good or bad? “Not awful” is good: no single word decides.",
                "classes",
                {"n_classes": len(grammar.OPINIONS)},
                sample_opinions,
                _class_reader(grammar.OPINIONS),
                grammar.OPINIONS,
            ),
            Goal(
                "pairs",
                "Pairs",
                "Does the second sentence follow from the first, contradict it, or neither?",
                "classes",
                {"n_classes": len(grammar.RELATIONS)},
                grammar.pairs,
                _class_reader(grammar.RELATIONS),
                grammar.RELATIONS,
            ),
            Goal(
                "answers",
                "Answers",
                "Where in the text is the answer to the question?",
                "answer",
                {"answers": True},
                grammar.questions,
                _read_question,
            ),
            Goal(
                "tags",
                "Tags",
                "Which part of speech is each word? “Light” is an adjective in one sentence and a noun in another.",
                "tags",
                {"n_tags": len(grammar.TAGS)},
                grammar.tagged_sentences,
                _read_tagged,
                grammar.TAGS,
            ),
        )
    }
)
