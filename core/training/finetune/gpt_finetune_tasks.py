"""What a GPT is tuned to: labelled texts of our grammar for each of the four input layouts, as batches of rows of tokens, and the two terms of a batch."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import tokenizers
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data import gpt_inputs, grammar, lexicon
from core.data.gpt_inputs import CHOICE, CLASSIFICATION, ENTAILMENT, MARKS, SIMILARITY
from core.data.grammar import Split
from core.models import Batch
from core.text import Tokenizer
from core.training.finetune import finetune_tasks

FOLLOWS = ("entailment", "contradiction")
SAME = ("same opinion", "another opinion")
ANSWERS = 4
OTHER = {"good": "bad", "bad": "good"}


class Labelled(NamedTuple):
    """The texts of one example, and the number of its class or of its right answer."""

    texts: tuple[str, ...]
    wanted: int


@dataclass(frozen=True)
class GPTGoal:
    """A task: its layout (a key of `gpt_inputs.TASKS`), what it asks, the names of its classes (of a choice none), its labelled texts."""

    layout: str
    says: str
    labels: tuple[str, ...]
    draw: Callable[[int, int, Split], list[Labelled]]

    @property
    def n_outputs(self) -> int:
        """The columns of W_y: one a class; of a choice one number for each row."""
        return len(self.labels) or 1


def thing_of(text: str) -> str:
    """What a sentence of the grammar judges; "" where it is none.

    >>> thing_of("My uncle's soup was good.")
    'soup'
    """
    return next((word for word in re.findall(r"\w+", text.lower()) if word in _KINDS), "")


def kind_of(text: str) -> str:
    """Whether a sentence speaks of food, a tale, a place or a person.

    >>> kind_of("My uncle's soup was good.")
    'food'
    """
    return _KINDS.get(thing_of(text), "food")


_KINDS = {noun: kind for kind, (one, many, *_) in lexicon.CLASSES.items() for noun in f"{one} {many}".split()}


def _judging(kind: str, label: str) -> list[str]:
    """The words that call such a thing good, or bad."""
    words: dict[str, str] = dict(zip(grammar.OPINIONS, lexicon.CLASSES[kind][3:], strict=True))
    return words[label].split()


def _opinions(n: int, seed: int, split: Split) -> list[Labelled]:
    return [
        Labelled((item.text,), grammar.OPINIONS.index(item.label))
        for item in finetune_tasks.opinions(n, seed, split)
    ]


def _relations(n: int, seed: int, split: Split) -> list[Labelled]:
    """An opinion, and a short one about the same thing, of the same mind or not."""
    rng, made = random.Random(seed), list[Labelled]()
    for item in finetune_tasks.opinions(n, seed, split):
        wanted = rng.randrange(len(FOLLOWS))
        made.append(
            Labelled(
                (
                    item.text,
                    _short(
                        kind_of(item.text),
                        thing_of(item.text),
                        OTHER[item.label] if wanted else item.label,
                        rng,
                    ),
                ),
                wanted,
            )
        )
    return made


def _alike(n: int, seed: int, split: Split) -> list[Labelled]:
    """An opinion and a short one about anything: are both good, or both bad?"""
    rng, made = random.Random(seed), list[Labelled]()
    for item in finetune_tasks.opinions(n, seed, split):
        wanted, kind = rng.randrange(len(SAME)), rng.choice(sorted(lexicon.CLASSES))
        thing = rng.choice(" ".join(lexicon.CLASSES[kind][:2]).split())
        made.append(
            Labelled(
                (item.text, _short(kind, thing, OTHER[item.label] if wanted else item.label, rng)), wanted
            )
        )
    return made


def _short(kind: str, thing: str, label: str, rng: random.Random) -> str:
    """The shortest opinion about a thing."""
    return f"The {thing} {'were' if thing in lexicon.CLASSES[kind][1].split() else 'was'} {rng.choice(_judging(kind, label))}."


def _fitting(n: int, seed: int, split: Split) -> list[Labelled]:
    """An opinion, and four words, of which one says the same."""
    rng, made = random.Random(seed), list[Labelled]()
    for item in finetune_tasks.opinions(n, seed, split):
        kind = kind_of(item.text)
        right = rng.choice(_judging(kind, item.label))
        answers = [right, *rng.sample(_judging(kind, OTHER[item.label]), ANSWERS - 1)]
        rng.shuffle(answers)
        made.append(Labelled((item.text, *(f" {answer}" for answer in answers)), answers.index(right)))
    return made


GOALS: Mapping[str, GPTGoal] = MappingProxyType(
    {
        goal.layout: goal
        for goal in (
            GPTGoal(CLASSIFICATION, "Is the opinion good or bad?", grammar.OPINIONS, _opinions),
            GPTGoal(
                ENTAILMENT,
                "Does the hypothesis follow from the premise, or contradict it?",
                FOLLOWS,
                _relations,
            ),
            GPTGoal(SIMILARITY, "Do both sentences have the same opinion?", SAME, _alike),
            GPTGoal(CHOICE, "Which of the answers says the same as the sentence?", (), _fitting),
        )
    }
)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of tokens in one padded batch, `each` of them a text; where Extract stands in each (row,), where a token of the texts stands
    (row pos), and what is wanted of each text (text,)."""

    batch: Batch
    each: int
    last: Tensor
    told: Tensor
    wanted: Tensor


def marked(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer with three more tokens, behind all others."""
    backend = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    backend.add_special_tokens([f"[{mark}]" for mark in MARKS])
    return Tokenizer(backend, start=tokenizer.start, end=tokenizer.end, pad=tokenizer.pad)


def read(
    tokenizer: Tokenizer, layout: str, texts: Sequence[str], marks: tuple[int, int, int]
) -> tuple[tuple[int, ...], ...]:
    """The ids of the rows of one example."""
    return gpt_inputs.rows(layout, [tokenizer.encode(text).ids for text in texts], marks)


def collated(examples: Sequence[tuple[Sequence[Sequence[int]], int]], marks: tuple[int, int, int]) -> Rows:
    """Examples, each its rows of ids and what is wanted, side by side and padded behind with the first mark."""
    rows = [row for made, _ in examples for row in made]
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), marks[0], dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
    sizes = np.array([len(row) for row in rows])
    real = np.arange(longest) < sizes[:, None]
    held = torch.from_numpy(ids)
    told = torch.from_numpy(real & ~np.isin(ids, marks))
    return Rows(
        Batch(ids=held, real=torch.from_numpy(real)),
        len(examples[0][0]),
        torch.from_numpy(sizes - 1),
        told,
        torch.tensor([wanted for _, wanted in examples]),
    )


@dataclass(frozen=True, eq=False)
class Terms:
    """Of each text: the scores of its classes or answers (text class), minus L_2 (text,) in nats, and minus L_1 of its rows as a mean over tokens."""

    scores: Tensor
    l_2: Tensor
    l_1: Tensor | None


def terms(network: Any, task: str, rows: Rows, *, text: bool) -> Terms:
    """Both terms of a batch; `text` says whether that of the text is wanted."""
    hidden = network(rows.batch)
    vectors = hidden[torch.arange(len(rows.last)), rows.last]
    if task == SIMILARITY:
        vectors = vectors.view(-1, rows.each, vectors.shape[-1]).sum(1)
    scores = network.to_classes(vectors)
    if task == CHOICE:
        scores = scores.view(-1, rows.each)
    l_2 = F.cross_entropy(scores, rows.wanted, reduction="none")
    if not text:
        return Terms(scores, l_2, None)
    asked = rows.told[:, 1:]
    return Terms(
        scores, l_2, F.cross_entropy(network.logits(hidden[:, :-1][asked]), rows.batch.ids[:, 1:][asked])
    )
