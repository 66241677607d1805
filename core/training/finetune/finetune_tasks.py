"""What a fine-tuning teaches: labelled texts of our grammar, as the network reads them, and what of it counts as right.

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
from core.data.passages import framed, padded
from core.data.spans import spans
from core.models import Batch
from core.text import Tokenizer

Array = np.ndarray
NONE = -100
"""Where nothing is asked."""


@dataclass(frozen=True, eq=False)
class Example:
    """A labelled text as the network reads it: ids and segments (pos,), and `wanted`: (1,) a class, (pos,) tags, or (2,) the first and the last token of the answer."""

    ids: Array
    segments: Array
    wanted: Array


@dataclass(frozen=True)
class Goal:
    """What is taught: its labels, the head it needs (fields of BERTConfig), its labelled texts, and the output of the network that is asked."""

    name: str
    title: str
    says: str
    output: str
    head: Mapping[str, Any]
    draw: Callable[[int, int, Split], Sequence[Any]]
    read: Callable[[Tokenizer, Any], Example]
    labels: tuple[str, ...] = ()

    def examples(self, tokenizer: Tokenizer, n: int, seed: int, split: Split) -> list[Example]:
        """n labelled texts, drawn by a seed."""
        return [self.read(tokenizer, item) for item in self.draw(n, seed, split)]

    def scores(self, network: Any, batch: Batch) -> Tensor:
        """What the head says of each text; of answers (row pos edge), and -inf outside the second text."""
        found = getattr(network, self.output)(network(batch))
        if self.output != "answer":
            return found
        assert batch.segments is not None
        inside = (batch.segments == 1) & batch.real
        return found.masked_fill(~inside[..., None], -torch.inf)

    def loss(self, scores: Tensor, wanted: Tensor) -> Tensor:
        """-log p of what is right, in nats: the mean over texts, over tagged words, or over both ends."""
        if self.output == "answer":
            scores, wanted = scores.transpose(1, 2).flatten(0, 1), wanted.flatten()
        elif self.output == "tags":
            scores, wanted = scores.flatten(0, 1), wanted.flatten()
        else:
            wanted = wanted[:, 0]
        return F.cross_entropy(scores, wanted, ignore_index=NONE)

    def right(self, scores: Tensor, wanted: Tensor) -> Array:
        """True or False for each text, for each tagged word, or for each answer: both ends must be right."""
        if self.output == "answer":
            best = [
                spans(*(row.T.double().numpy()), allowed=row[:, 0].isfinite().numpy()).best for row in scores
            ]
            return (np.array(best) == wanted.numpy()).all(-1)
        if self.output == "tags":
            asked = wanted != NONE
            return (scores.argmax(-1) == wanted)[asked].numpy()
        return (scores.argmax(-1) == wanted[:, 0]).numpy()


@dataclass(frozen=True, eq=False)
class Rows:
    """Several examples as one padded batch, and what is wanted of each."""

    batch: Batch
    wanted: Tensor = field(repr=False)


def collated(examples: Sequence[Example], pad: int) -> Rows:
    """Examples side by side, padded behind; what is wanted beyond a text is nothing."""
    ids, segments, real = (
        torch.from_numpy(array) for array in padded([(one.ids, one.segments) for one in examples], pad)
    )
    wanted = np.full((len(examples), max(len(one.wanted) for one in examples)), NONE, dtype=np.int64)
    for row, one in enumerate(examples):
        wanted[row, : len(one.wanted)] = one.wanted
    return Rows(Batch(ids=ids, real=real, segments=segments), torch.from_numpy(wanted))


PLAIN = 0.8
"""Of the opinions that are learned from, so many say what they mean by one word. Where these were as rare as in the grammar (0.4), no
tuning of a minute left chance: which word is good must be learned before what turns it round. Those that are checked are the grammar's."""


def opinions(n: int, seed: int, split: Split) -> list[grammar.Labelled]:
    """Sentences with an opinion; to learn from, mostly plain ones.

    >>> learnt = opinions(50, 0, "train")
    >>> sum(map(plain, learnt)) / len(learnt)
    0.8
    """
    if split == "test":
        return list(grammar.sentences(n, seed, split))
    found = grammar.sentences(3 * n, seed, split)
    ready, turned = ([item for item in found if plain(item) is kind] for kind in (True, False))
    n_plain = round(PLAIN * n)
    return ready[:n_plain] + turned[: n - n_plain]


def plain(item: grammar.Labelled) -> bool:
    """Whether all that judges in a sentence is of its label: no 'not awful', no 'dull at first, but'.

    >>> plain(grammar.Labelled("The soup was good.", "good")), plain(grammar.Labelled("The soup was not good.", "bad"))
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


def _classed(labels: Sequence[str]) -> Callable[[Tokenizer, Any], Example]:
    """A sentence, or a pair, whose last field is its label."""

    def read(tokenizer: Tokenizer, item: Any) -> Example:
        texts = [np.array(tokenizer.encode(text).ids, dtype=np.int64) for text in item[:-1]]
        return Example(*framed(tokenizer, *texts), np.array([labels.index(item.label)]))

    return read


def _tagged(tokenizer: Tokenizer, item: grammar.Tagged) -> Example:
    """The tag of a word stands at its first piece; the other pieces are not asked."""
    encoded, at, tags = tokenizer.encode(item.text), 0, dict[int, int]()
    for word, tag in zip(item.words, item.tags, strict=True):
        at = item.text.index(word, at)
        tags[at] = grammar.TAGS.index(tag)
        at += len(word)
    wanted = [NONE if span is None else tags.get(span[0], NONE) for span in encoded.spans]
    ids, segments = framed(tokenizer, np.array(encoded.ids, dtype=np.int64))
    return Example(ids, segments, np.array([NONE, *wanted, NONE]))


def _asked(tokenizer: Tokenizer, item: grammar.Question) -> Example:
    """[CLS] question [SEP] passage [SEP]; the answer from its first piece to its last."""
    question, passage = tokenizer.encode(item.question), tokenizer.encode(item.passage)
    before = len(question.ids) + 2
    starts, ends = ([None if span is None else span[edge] for span in passage.spans] for edge in (0, 1))
    first, last = starts.index(item.start), len(ends) - 1 - ends[::-1].index(item.end)
    ids, segments = framed(tokenizer, *(np.array(side.ids, dtype=np.int64) for side in (question, passage)))
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
                opinions,
                _classed(grammar.OPINIONS),
                grammar.OPINIONS,
            ),
            Goal(
                "pairs",
                "Pairs",
                "Does the second sentence follow from the first, contradict it, or neither?",
                "classes",
                {"n_classes": len(grammar.RELATIONS)},
                grammar.pairs,
                _classed(grammar.RELATIONS),
                grammar.RELATIONS,
            ),
            Goal(
                "answers",
                "Answers",
                "Where in the text is the answer to the question?",
                "answer",
                {"answers": True},
                grammar.questions,
                _asked,
            ),
            Goal(
                "tags",
                "Tags",
                "Which part of speech is each word? “Light” is an adjective in one sentence and a noun in another.",
                "tags",
                {"n_tags": len(grammar.TAGS)},
                grammar.tagged,
                _tagged,
                grammar.TAGS,
            ),
        )
    }
)
